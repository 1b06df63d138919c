//! Reading STD text: names interned, events checked. Throughput is in events.
#![allow(missing_docs, reason = "criterion's macros make public items")]

mod workload;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use overtake_trace::{Block, Checker, EventSource, StdReader};

const EVENTS: usize = 1_000_000;

/// Reads everything, and checks it if there is a checker.
fn read(text: &[u8], mut checker: Option<Checker>) -> u64 {
    let mut reader = StdReader::new(text);
    let mut block = Block::default();
    let mut events = 0;
    while reader.next_block(&mut block).expect("the workload is well formed") {
        events += block.events.len() as u64;
        if let Some(checker) = &mut checker {
            let checked =
                checker.check(&mut block, reader.symbols_mut()).expect("the workload is well formed");
            black_box(checked.len());
        }
    }
    events
}

fn std_text(criterion: &mut Criterion) {
    let text = workload::lock_heavy(EVENTS).into_bytes();
    let events = read(&text, None);
    let mut group = criterion.benchmark_group("std");
    group.sample_size(10).throughput(Throughput::Elements(events));
    group.bench_function("count lines", |bencher| {
        bencher.iter(|| memchr::memchr_iter(b'\n', black_box(&text)).count());
    });
    group.bench_function("read", |bencher| bencher.iter(|| read(black_box(&text), None)));
    group.bench_function("read and check", |bencher| {
        bencher.iter(|| read(black_box(&text), Some(Checker::strict())));
    });
    group.finish();
}

criterion_group!(benches, std_text);
criterion_main!(benches);
