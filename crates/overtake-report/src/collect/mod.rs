//! From what detectors found, in ids, to a [`Report`] that is complete in itself.
//!
//! One path for recorded programs and for traces of any format. The caller reads the trace for it, as often as it asks:
//!
//! 1. [`Collector::new`] brings the races of all detectors together;
//! 2. [`Collector::finish`] spells everything out.

mod fingerprint;
mod group;
mod merge;
mod names;

use std::path::PathBuf;

use overtake_detect::{Access, AccessKind, Promise};

use self::group::Group;
pub use self::merge::merge;
use self::names::Names;
use crate::model::Analysed;
use crate::result::{self, DetectorRun, Finding, RESULT_SCHEMA, Report, Run};

/// What to collect.
#[derive(Clone, Default, Debug)]
pub struct Settings {
    /// The working directory: files below it are named relative to it.
    pub directory: PathBuf,
}

/// Findings on their way into a report.
pub struct Collector<'a> {
    analysed: &'a Analysed<'a>,
    names: Names<'a>,
    groups: Vec<Group>,
}

impl<'a> Collector<'a> {
    /// The findings of all detectors.
    pub fn new(analysed: &'a Analysed<'a>, settings: &Settings) -> Collector<'a> {
        let names = Names::new(analysed.symbols, &settings.directory);
        let groups = group::groups(analysed, &names);
        Collector { analysed, names, groups }
    }

    /// The report.
    pub fn finish(self) -> Report {
        let mut findings: Vec<_> = self.groups.iter().map(|group| self.finding(group)).collect();
        fingerprint::assign(&mut findings);
        for (finding, id) in findings.iter_mut().zip(1..) {
            finding.id = id;
        }
        Report {
            schema: RESULT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            runs: vec![self.run()],
            findings,
            sources: Default::default(),
            triage: Default::default(),
        }
    }

    fn run(&self) -> Run {
        let Analysed { trace, symbols, findings, .. } = self.analysed;
        Run {
            trace: trace.file.clone(),
            format: trace.format.clone(),
            command: symbols.program.command.clone(),
            process: symbols.program.pid,
            events: trace.events,
            threads: trace.sizes.threads as u64,
            locks: trace.sizes.locks as u64,
            variables: trace.sizes.variables as u64,
            detectors: findings.iter().map(detector_run).collect(),
            notes: crate::text::notes(trace).lines().map(str::to_owned).collect(),
        }
    }

    fn finding(&self, group: &Group) -> Finding {
        let [first, second] = group.accesses(&self.names).map(|access| self.access(&access));
        let memory = self.names.memory(group.race.var, group.extent);
        let detectors = group.detectors.iter().map(|&at| self.analysed.findings[at].detector.name.to_owned());
        Finding {
            id: 0,
            fingerprint: String::new(),
            verdict: group.race.verdict,
            headline: headline(&memory, &first, &second),
            memory,
            first,
            second,
            count: group.count,
            observed: group.observed,
            detectors: detectors.collect(),
            runs: vec![0],
            why: String::new(),
            remedy: String::new(),
            schedule: None,
            status: Default::default(),
        }
    }

    fn access(&self, access: &Access) -> result::Access {
        result::Access {
            operation: access.kind.describe().to_owned(),
            writes: access.kind.writes(),
            bytes: self.names.bytes(access),
            event: access.at.index.0,
            thread: self.names.thread(access.at.thread),
            stack: self.names.stack(access.at.location),
            held: Vec::new(),
        }
    }
}

fn detector_run(findings: &crate::Findings<'_>) -> DetectorRun {
    DetectorRun {
        name: findings.detector.name.to_owned(),
        promise: findings.detector.promise.describe().to_owned(),
        sampled: matches!(findings.detector.promise, Promise::Sampled | Promise::PropertyTester),
        races: findings.races.races(),
        remarks: findings.remarks.clone(),
    }
}

/// `counter: main.c:8 writes while worker.c:9 reads`.
fn headline(memory: &result::Memory, first: &result::Access, second: &result::Access) -> String {
    let by_place = !first.stack.is_empty() && !second.stack.is_empty();
    let [first, second] =
        [first, second].map(|access| format!("{} {}", actor(access, by_place), does(access)));
    format!("{}: {first} while {second}", memory.name)
}

/// Who does it: the function, else where it is, else the thread.
fn actor(access: &result::Access, by_place: bool) -> String {
    match access.site() {
        Some(frame) if !frame.function.is_empty() => frame.function.clone(),
        Some(frame) if by_place && !frame.file.is_empty() => frame.file.clone(),
        Some(frame) if by_place => format!("{}+{:#x}", frame.module, frame.offset),
        _ => access.thread.name.clone(),
    }
}

fn does(access: &result::Access) -> &'static str {
    let kinds = [
        (AccessKind::Read, "reads"),
        (AccessKind::Write, "writes"),
        (AccessKind::Load, "loads atomically"),
        (AccessKind::Store, "stores atomically"),
        (AccessKind::Rmw, "updates atomically"),
        (AccessKind::Free, "frees it"),
    ];
    kinds
        .into_iter()
        .find(|(kind, _)| kind.describe() == access.operation)
        .map_or("accesses it", |(_, does)| does)
}
