//! Ten thousand races.

mod support;

use std::io;
use std::time::{Duration, Instant};

use overtake_report::result::Report;
use overtake_report::triage::{self, Baseline, Suppressions};
use overtake_report::{perfetto, sarif, tsan};
use support::many;

/// What a renderer is.
type Write = fn(&mut dyn io::Write, &Report) -> io::Result<()>;

/// What each format may take.
const ENOUGH: Duration = Duration::from_secs(2);

/// Counts bytes.
struct Counter(u64);

impl io::Write for Counter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn ten_thousand_races_are_rendered_at_once() {
    let report = many(10_000);
    let formats: [(&str, Write, u64); 3] = [
        // What shrinks below 10 MB.
        ("sarif", sarif::write, 90_000_000),
        ("tsan", tsan::write, 50_000_000),
        ("perfetto", perfetto::write, 50_000_000),
    ];
    for (name, write, most) in formats {
        let (mut counter, start) = (Counter(0), Instant::now());
        write(&mut counter, &report).expect("a counter takes everything");
        let time = start.elapsed();
        eprintln!("{name}: {} bytes in {time:?}", counter.0);
        assert!(time < ENOUGH, "{name} took {time:?}");
        assert!(counter.0 < most, "{name} has {} bytes", counter.0);
    }
}

#[test]
fn ten_thousand_races_are_judged_at_once() {
    let mut report = many(10_000);
    let mut baseline = Baseline::default();
    let start = Instant::now();
    baseline.merge(&report, "start here", "2026-11-15", false);
    let baseline = Baseline::parse(&baseline.to_text()).expect("it was written by us");
    let text: String = (0..500).map(|number| format!("race:Nobody{number}*::run$\n")).collect();
    let rules = Suppressions::parse("x", text.as_bytes()).expect("these are rules");
    triage::apply(&mut report, Some(&rules), Some(("known.toml", &baseline)));
    let time = start.elapsed();
    eprintln!("triage: {time:?}");
    assert_eq!(report.new_findings().count(), 0);
    assert_eq!(report.triage.unused_suppressions.len(), 500);
    assert!(time < ENOUGH, "triage took {time:?}");
}
