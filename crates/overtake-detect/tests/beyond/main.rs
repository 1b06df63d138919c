//! Prediction beyond sync-preservation, the weak order, and deadlocks: detectors of the table against the definitions.
//!
//! `OVERTAKE_RANDOM_TRACES=100000` makes each test look at this many random traces; `OVERTAKE_RANDOM_SEED=70277` at this one only.

mod ask;
#[path = "../common/mod.rs"]
mod common;
mod constructions;
mod deadlock;
mod races;
mod witness;

use overtake_detect::{Findings, Options};
use overtake_oracle::trace;
use overtake_trace::Trace;

/// Runs a detector of the table, which judges all pairs, and hands what it found to `look`.
fn find<T>(name: &str, trace: &Trace, look: impl FnOnce(&Findings) -> T) -> T {
    let mut options = Options::default();
    (options.instances, options.schedule_limit) = (0, 1_000);
    find_with(name, &options, trace, look)
}

fn find_with<T>(name: &str, options: &Options, trace: &Trace, look: impl FnOnce(&Findings) -> T) -> T {
    let entry = overtake_detect::find(name).expect("in the table");
    common::run(entry, options, trace, |job| look(job.findings()))
}

#[test]
fn with_first_nothing_is_read_after_the_block_with_the_first_finding() {
    let text = "T0 w x; T1 w x; T0 w y; T0 w y; T0 w y; T0 w y; T0 w y; T0 w y; T1 w y; T1 w y";
    let read = |first| {
        let mut options = Options::default();
        options.first = first;
        let entry = overtake_detect::find("hb").expect("in the table");
        common::run(entry, &options, &trace(text), |job| {
            (job.events_read, job.findings().racy_events().len())
        })
    };
    assert_eq!((read(false), read(true)), ((10, 3), (7, 1)));
}
