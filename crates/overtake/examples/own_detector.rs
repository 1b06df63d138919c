//! A detector of your own: `cargo run --example own_detector`.
//!
//! It asks a simple question: which variables did two threads write? Locks do not matter to it, so what it reports is a
//! suspicion, not a race.

use std::error::Error;
use std::io::Write;
use std::path::Path;

use overtake::detect::{
    Access, At, Detector, Entry, Findings, LockMode, Notion, Promise, Race, Touch, Verdict, one_pass,
};
use overtake::trace::{IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use overtake::{Search, report::find_renderer};

/// The state: who wrote each variable last. Ids are dense, so that tables are vectors.
#[derive(Default)]
struct TwoWriters {
    last_writes: IdVec<VarId, Option<Access>>,
}

impl Detector for TwoWriters {
    fn reserve(&mut self, sizes: &Sizes) {
        self.last_writes.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>, found: &mut Findings) {
        if !touch.kind.writes() {
            return;
        }
        let second = Access { at, kind: touch.kind };
        if let Some(first) = self.last_writes[touch.var].replace(second)
            && first.at.thread != at.thread
            && first.kind.conflicts(second.kind)
        {
            found.report(Race { var: touch.var, first, second, verdict: Verdict::Suspected });
        }
    }

    // All other events mean nothing to this detector.
    fn fence(&mut self, _: At, _: MemoryOrder, _: &mut Findings) {}
    fn acquire(&mut self, _: At, _: LockId, _: LockMode, _: &mut Findings) {}
    fn release(&mut self, _: At, _: LockId, _: LockMode, _: &mut Findings) {}
    fn fork(&mut self, _: At, _: ThreadId, _: &mut Findings) {}
    fn join(&mut self, _: At, _: ThreadId, _: &mut Findings) {}
    fn post(&mut self, _: At, _: SyncId, _: &mut Findings) {}
    fn wait(&mut self, _: At, _: SyncId, _: &mut Findings) {}

    fn state_bytes(&self) -> usize {
        self.last_writes.table_bytes()
    }
}

/// The row that says what the detector is.
static TWO_WRITERS: Entry = Entry {
    name: "two-writers",
    summary: "variables that two threads wrote",
    notion: Notion::Discipline,
    promise: Promise::Suspicion,
    verdict: Verdict::Suspected,
    start: one_pass::<TwoWriters>,
    ..Entry::BASIC
};

fn main() -> Result<(), Box<dyn Error>> {
    show_suspects(&mut std::io::stdout().lock())
}

/// Runs the detector and prints what it found.
fn show_suspects(out: &mut dyn Write) -> Result<(), Box<dyn Error>> {
    let trace = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/bank.std");
    let search = Search { detectors: vec![&TWO_WRITERS], ..Search::default() };
    let report = search.in_file(trace)?;
    let text = find_renderer("text").ok_or("no such renderer")?;
    Ok((text.write)(out, &report)?)
}

#[test]
fn variables_with_two_writers_are_suspected() {
    let mut out = Vec::new();
    show_suspects(&mut out).expect("the example works");
    let text = String::from_utf8_lossy(&out);
    assert!(text.contains("suspected race on balance"), "{text}");
    assert!(text.contains("suspected race on transfers"), "{text}");
}
