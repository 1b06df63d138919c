//! Ten thousand races.

mod support;

use std::io;

use overtake_report::triage::{self, Baseline, Suppressions};
use overtake_report::{RENDERERS, find_renderer};
use support::{many, rendered};

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
fn reports_of_ten_thousand_races_have_a_bounded_size() {
    let report = many(10_000);
    for renderer in RENDERERS {
        let mut counter = Counter(0);
        (renderer.write)(&mut counter, &report).expect("a counter takes everything");
        eprintln!("{}: {} bytes", renderer.name, counter.0);
        assert!(counter.0 < 100_000_000, "{} has {} bytes", renderer.name, counter.0);
    }
}

/// Code scanning accepts no larger file.
#[test]
fn sarif_of_ten_thousand_races_shrinks_below_ten_megabytes() {
    let sarif = find_renderer("sarif").expect("there is one");
    let bytes = rendered(sarif.write, &many(10_000));
    let mut encoder = flate2::write::GzEncoder::new(Counter(0), flate2::Compression::fast());
    io::Write::write_all(&mut encoder, &bytes).expect("a counter takes everything");
    let compressed = encoder.finish().expect("a counter takes everything").0;
    eprintln!("{} bytes of {}", compressed, bytes.len());
    assert!(compressed < 10_000_000, "{compressed} bytes of {}", bytes.len());
}

#[test]
fn ten_thousand_races_are_all_judged() {
    let mut report = many(10_000);
    let mut baseline = Baseline::default();
    baseline.merge(&report, "start here", "2026-11-15", false);
    let baseline = Baseline::parse(&baseline.to_text()).expect("it was written by us");
    let text: String = (0..500).map(|number| format!("race:Nobody{number}*::run$\n")).collect();
    let rules = Suppressions::parse("x", text.as_bytes()).expect("these are rules");
    triage::apply(&mut report, Some(&rules), Some(("known.toml", &baseline)));
    assert_eq!(report.new_findings().count(), 0);
    assert_eq!(report.triage.unused_suppressions.len(), 500);
}
