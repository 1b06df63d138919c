//! Time to generate a million events of each shape, without writing them anywhere.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use overtake_gen::{Parameters, SHAPES, Workload};
use overtake_trace::{Block, EventSource};

const EVENTS: u64 = 1_000_000;

fn generate(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("generate");
    group.throughput(Throughput::Elements(EVENTS)).sample_size(10);
    for shape in SHAPES {
        let parameters = Parameters { events: EVENTS, ..shape.defaults };
        let mut block = Block::default();
        group.bench_function(shape.name, |bencher| {
            bencher.iter_batched_ref(
                || Workload::new(shape, parameters).expect("the defaults are possible"),
                |workload| {
                    while workload.next_block(&mut block).expect("generators do not fail") {
                        black_box(&block.events);
                    }
                },
                criterion::BatchSize::PerIteration,
            );
        });
    }
    group.finish();
}

criterion_group!(benches, generate);
criterion_main!(benches);
