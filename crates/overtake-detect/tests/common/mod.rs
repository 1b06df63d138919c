//! Running a detector of the table on a trace in memory.

use overtake_detect::{Driver, Entry, Job, Options, Outcome, Strictness};
use overtake_trace::Trace;

/// Runs a detector on `trace`, mended where it needs to be, and hands what it found to `look`.
pub(crate) fn run<T>(
    entry: &'static Entry,
    options: &Options,
    trace: &Trace,
    look: impl FnOnce(&Job) -> T,
) -> T {
    run_together(&[entry], options, trace, |jobs| look(&jobs[0]))
}

/// Runs detectors together, and hands what they found to `look`.
pub(crate) fn run_together<T>(
    entries: &[&'static Entry],
    options: &Options,
    trace: &Trace,
    look: impl FnOnce(&[Job]) -> T,
) -> T {
    let mut driver = Driver::start(entries, options, Strictness::Repair).expect("options that fit");
    loop {
        let mut source = trace.source();
        if trace.events.len() < 1000 {
            source = source.with_block_events(7); // so that small traces have block borders
        }
        if driver.pass(&mut source, &mut |_| ()).expect("ids in range") == Outcome::Done {
            return look(driver.jobs());
        }
    }
}
