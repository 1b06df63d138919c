//! How fast STD text is read and checked, as a multiple of the time that `wc -l` needs for the same file.
//!
//! `cargo run --release -p overtake-trace --example text_speed [events]` writes a lock-heavy trace (16 threads, 32 locks,
//! 20,000 variables) to the temporary directory, runs both five times in turn and compares the best of each.
#![allow(clippy::print_stdout, reason = "the figures are the output")]

#[path = "../benches/workload/mod.rs"]
mod workload;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use overtake_trace::{Block, Checker, open};

const ROUNDS: usize = 5;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let events = std::env::args().nth(1).map_or(Ok(10_000_000), |count| count.parse())?;
    let path = std::env::temp_dir().join(format!("overtake-text-speed-{}.std", std::process::id()));
    std::fs::write(&path, workload::lock_heavy(events))?;
    let figures = measure(&path);
    std::fs::remove_file(&path)?;
    let (count, wc, read, checked) = figures?;
    let nanoseconds = |time: Duration| time.as_nanos() as f64 / count as f64;
    let ratio = |time: Duration| time.as_secs_f64() / wc.as_secs_f64();
    println!("{count} events");
    println!("wc -l           {:6.1} ns an event", nanoseconds(wc));
    println!("read            {:6.1} ns an event  {:5.1} W", nanoseconds(read), ratio(read));
    println!("read and check  {:6.1} ns an event  {:5.1} W", nanoseconds(checked), ratio(checked));
    Ok(())
}

type Figures = (u64, Duration, Duration, Duration);

fn measure(path: &Path) -> Result<Figures, Box<dyn std::error::Error>> {
    let mut best = (0, Duration::MAX, Duration::MAX, Duration::MAX);
    for _ in 0..ROUNDS {
        let start = Instant::now();
        Command::new("wc").arg("-l").arg(path).output()?;
        best.1 = best.1.min(start.elapsed());
        let start = Instant::now();
        best.0 = read(path, None)?;
        best.2 = best.2.min(start.elapsed());
        let start = Instant::now();
        read(path, Some(Checker::repairing()))?;
        best.3 = best.3.min(start.elapsed());
    }
    Ok(best)
}

fn read(path: &Path, mut checker: Option<Checker>) -> overtake_trace::Result<u64> {
    let mut source = open(path, None)?;
    let mut block = Block::default();
    let mut events = 0;
    while source.next_block(&mut block)? {
        events += block.events.len() as u64;
        if let Some(checker) = &mut checker {
            checker.check(&mut block, source.symbols_mut())?;
        }
    }
    Ok(events)
}
