//! Seals a lock-heavy trace of the given number of events (10 million by default) in a temporary file and prints what
//! it costs: bytes and nanoseconds per event, and how long it takes to reach the middle of the file.
#![allow(clippy::print_stdout, reason = "printing is what this example does")]

#[path = "../benches/random_events/mod.rs"]
mod random_events;

use std::error::Error;
use std::time::Instant;

use overtake_trace::{Block, EventSink, EventSource, OtrFile, OtrReader, OtrWriter};

/// Events made at once; longer traces repeat them.
const PIECE: u64 = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let events: u64 = std::env::args().nth(1).map_or(Ok(10_000_000), |count| count.parse())?;
    let piece = random_events::lock_heavy(PIECE as usize);
    let file = tempfile::NamedTempFile::new()?;

    let start = Instant::now();
    let mut writer = OtrWriter::new(file.reopen()?)?;
    let mut written = 0;
    while written < events {
        let count = (events - written).min(PIECE);
        writer.write(&piece.events[..count as usize], &piece.symbols)?;
        written += count;
    }
    writer.finish(&piece.symbols)?;
    let per_event = |start: Instant| start.elapsed().as_nanos() as f64 / events as f64;
    println!("write  {:6.2} ns per event", per_event(start));
    println!("size   {:6.2} bytes per event", writer.bytes_written() as f64 / events as f64);

    let mut block = Block::default();
    for _ in 0..3 {
        let start = Instant::now();
        let mut reader = OtrReader::open(file.path())?;
        while reader.next_block(&mut block)? {}
        println!("read   {:6.2} ns per event", per_event(start));
    }

    let start = Instant::now();
    let sealed = OtrFile::open(file.path())?;
    sealed.read_events(events / 2..events / 2 + 1000, &mut block)?;
    let micros = start.elapsed().as_micros();
    println!("middle {micros:6} us to open and read 1000 events, {} bytes read", sealed.bytes_read());
    Ok(())
}
