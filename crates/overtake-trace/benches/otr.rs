//! Writing and reading sealed traces, from and to memory. Throughput is in events.
#![allow(missing_docs, reason = "a benchmark has no API")]

mod random_events;

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use overtake_trace::{Block, EventSink, EventSource, OtrFile, OtrReader, OtrWriter, Trace};

const EVENTS: usize = 1 << 20;

fn write(trace: &Trace) -> Vec<u8> {
    let mut writer = OtrWriter::new(Vec::new()).expect("memory takes everything");
    writer.write(&trace.events, &trace.symbols).expect("memory takes everything");
    writer.finish(&trace.symbols).expect("memory takes everything");
    writer.into_inner()
}

fn sealed(criterion: &mut Criterion) {
    let trace = random_events::lock_heavy(EVENTS);
    let bytes = write(&trace);
    eprintln!("{:.2} bytes per event", bytes.len() as f64 / EVENTS as f64);
    let mut group = criterion.benchmark_group("otr");
    group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(20);
    group.bench_function("write", |bencher| bencher.iter(|| write(black_box(&trace)).len()));
    group.bench_function("read", |bencher| {
        let mut block = Block::default();
        bencher.iter(|| {
            let mut reader = OtrReader::new(bytes.as_slice()).expect("just written");
            while reader.next_block(&mut block).expect("just written") {
                black_box(&block.events);
            }
        });
    });
    group.finish();
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(file.path(), &bytes).expect("a temporary file");
    criterion.bench_function("otr/open and read 1000 events", |bencher| {
        let mut block = Block::default();
        bencher.iter(|| {
            let file = OtrFile::open(file.path()).expect("just written");
            file.read_events(EVENTS as u64 / 2..EVENTS as u64 / 2 + 1000, &mut block).expect("just written");
        });
    });
}

criterion_group!(benches, sealed);
criterion_main!(benches);
