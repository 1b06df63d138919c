//! Sweeps, which the loop hands out whole, mean what their accesses mean one by one, in every detector.

use std::fmt::Write;

use overtake_trace::Trace;

use super::EXPANDS_SWEEPS;
use crate::drive::{Driver, Strictness};
use crate::passes::Outcome;
use crate::registry::{DETECTORS, Entry};
use crate::settings::Options;
use crate::testing::Random;

const ELEMENTS: u64 = 24;

/// Threads that sweep over arrays, some of them heap blocks, with and without locks.
fn sweeping(random: &mut Random) -> Trace {
    let mut text = String::new();
    for array in ["a", "h"] {
        let elements = (0..ELEMENTS).map(|element| format!("T0|w({array}[{element}])|1\n"));
        if array == "h" {
            text.push_str("T0|alloc(h)|1\n");
        }
        text.extend(elements);
    }
    text.push_str("T0|fork(T1)|2\nT0|fork(T2)|2\n");
    for line in 3..8 + random.below(40) {
        let thread = random.below(3);
        let (array, operation) = (["a", "h"][random.below(2) as usize], ["r", "w"][random.below(2) as usize]);
        let lock = Some(random.below(2)).filter(|_| random.below(2) == 0);
        let first = random.below(ELEMENTS);
        let elements = first..(first + 1 + random.below(ELEMENTS)).min(ELEMENTS);
        if let Some(lock) = lock {
            let _ = writeln!(text, "T{thread}|acq(m{lock})|{line}");
        }
        for element in elements {
            let _ = writeln!(text, "T{thread}|{operation}({array}[{element}])|{line}");
        }
        if let Some(lock) = lock {
            let _ = writeln!(text, "T{thread}|rel(m{lock})|{line}");
        }
        let _ = match random.below(30) {
            0 => writeln!(text, "T{thread}|free(h)|{line}\nT{thread}|alloc(h)|{line}"),
            1 => writeln!(text, "T{thread}|free(h)|{line}"),
            2 => writeln!(text, "T{thread}|store.release(a[{first}])|{line}"),
            3 => writeln!(text, "T{thread}|post(s)|{line}"),
            4 => writeln!(text, "T{thread}|wait(s)|{line}"),
            _ => Ok(()),
        };
    }
    text.push_str(
        "T0|join(T1)|99\nT0|join(T2)|99\nT0|r(a[0])|99\nT0|r(a[1])|99\nT0|r(a[2])|99\nT0|r(a[3])|99\n",
    );
    let mut trace = Trace::parse_std(text.as_bytes()).expect("a good trace");
    trace.symbols.program.pid = random.below(2); // some are recordings
    trace
}

/// What a detector finds, given sweeps whole or one access at a time.
fn found(entry: &'static Entry, trace: &Trace, is_expanded: bool) -> String {
    EXPANDS_SWEEPS.set(is_expanded);
    let mut driver = Driver::start(&[entry], &Options::default(), Strictness::Repair).expect("good options");
    let source = || trace.source().with_block_events(40);
    while driver.pass(&mut source(), &mut |_| ()).expect("a trace in memory") == Outcome::AnotherPass {}
    let job = &driver.jobs()[0];
    let findings = job.findings();
    format!("{:?} {:?} {:?}", findings.racy_events(), findings.racy_variables(), findings.groups())
}

#[test]
fn a_sweep_means_what_its_accesses_mean() {
    let mut random = Random(5);
    let mut racy = 0;
    for number in 0..150 {
        let trace = sweeping(&mut random);
        for entry in DETECTORS {
            let whole = found(entry, &trace, false);
            assert_eq!(whole, found(entry, &trace, true), "{} on trace {number}", entry.name);
            racy += usize::from(whole.contains("Race"));
        }
    }
    assert!(racy > 500, "{racy}");
}
