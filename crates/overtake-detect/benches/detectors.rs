//! Every detector of the table on two workloads in memory: one full of locks, one full of accesses to very many variables.
//!
//! Times are per event and include checking, which is measured alone as `checker`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use overtake_detect::{DETECTORS, Driver, Options, Outcome, Strictness};
use overtake_gen::{Parameters, Workload, find_shape};
use overtake_trace::{Block, Checker, EventSource, Trace};

const EVENTS: u64 = 2_000_000;

fn workload(name: &str) -> Trace {
    let shape = find_shape(name).expect("it is in the table");
    let parameters = Parameters { events: EVENTS, ..shape.defaults };
    let mut workload = Workload::new(shape, parameters).expect("possible parameters");
    Trace::read(&mut workload).expect("workloads do not fail")
}

fn check(trace: &Trace) {
    let (mut source, mut checker, mut block) = (trace.source(), Checker::repairing(), Block::default());
    while source.next_block(&mut block).expect("memory does not fail") {
        black_box(checker.check(&mut block, source.symbols_mut()).expect("a well-formed trace"));
    }
}

fn detectors(criterion: &mut Criterion) {
    for name in ["lock-heavy", "compute"] {
        let trace = workload(name);
        let mut group = criterion.benchmark_group(name);
        group.throughput(Throughput::Elements(EVENTS)).sample_size(10);
        group.bench_function("checker", |bencher| bencher.iter(|| check(&trace)));
        for entry in DETECTORS {
            group.bench_function(BenchmarkId::from_parameter(entry.name), |bencher| {
                bencher.iter(|| {
                    let driver = Driver::start(&[entry], &Options::default(), Strictness::Repair);
                    let mut driver = driver.expect("default options");
                    while driver.pass(&mut trace.source(), &mut |_| ()).expect("a well-formed trace")
                        != Outcome::Done
                    {}
                    driver.jobs()[0].findings().races()
                });
            });
        }
    }
}

criterion_group!(benches, detectors);
criterion_main!(benches);
