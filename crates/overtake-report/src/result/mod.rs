//! A result: what was found, complete in itself.
//!
//! Names, stacks, source lines and schedules are all spelled out, so that a result can be stored, read again and rendered
//! without the trace, the program or its sources. It is what `--report result=FILE` stores and what every renderer of findings
//! takes. The stored form is this very structure as JSON; `docs/result.schema.json` describes it, `docs/json.md` in words.
//!
//! Same findings, same bytes: nothing here depends on hash order or on the clock. What another run of the same program numbers
//! otherwise (events, processes, how often something happened) is in fields of its own, so that renderers can leave it out.

mod finding;
mod frame;
mod schedule;
mod stored;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::finding::{Access, Confirmed, Finding, HeldLock, Kind, Memory, NOT_CONFIRMED, Stand, Thread};
pub use self::frame::{Frame, innermost_own};
pub use self::schedule::{Arrow, ArrowKind, Reversal, Schedule, Section, Step};
pub(crate) use self::stored::VerdictForm;

/// The version of the stored form. Within one version fields are added, never changed.
pub const RESULT_SCHEMA: u32 = 2;

/// Everything that was found, in one run or in several processes of one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Report {
    /// [`RESULT_SCHEMA`].
    pub schema: u32,
    /// The version of Overtake that made it.
    pub version: String,
    /// What was examined.
    pub runs: Vec<Run>,
    /// The findings, those with one cause together, the most severe first: confirmed, observed, predicted, possible, suspected.
    /// Among equals, those of a recorded program by where they are, which no timing changes; those of a trace the most
    /// frequent first.
    pub findings: Vec<Finding>,
    /// Excerpts of source files, by path: those lines that stacks name, and their neighbours.
    pub sources: BTreeMap<String, Excerpt>,
    /// What triage made of the findings.
    #[serde(default)]
    pub triage: Triage,
}

/// One trace that was examined.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Run {
    /// The trace's file as it was given; empty for a recording that was not kept.
    pub trace: String,
    /// The format it was read as.
    pub format: String,
    /// The recorded program and its arguments; empty if it was not recorded.
    pub command: Vec<String>,
    /// The directory in which it ran; empty unless the environment was to be kept.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub directory: String,
    /// Its environment variables; empty unless they were to be kept.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub environment: BTreeMap<String, String>,
    /// The modules of the recorded program that findings are in, as they were then.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub modules: Vec<Module>,
    /// Process id of the recorded program; 0 if it was not recorded.
    pub process: u64,
    /// Number of events.
    pub events: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of locks.
    pub locks: u64,
    /// Number of variables.
    pub variables: u64,
    /// The detectors at work.
    pub detectors: Vec<DetectorRun>,
    /// What is missing, was repaired or was passed over, a sentence each.
    pub notes: Vec<String>,
    /// Its threads and critical sections. None unless a renderer wanted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// An executable or a shared library.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Module {
    /// Its file.
    pub path: String,
    /// Its build id in hexadecimal.
    pub build_id: String,
}

/// The threads and critical sections of a whole run, in event indices.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Timeline {
    /// The threads, in order of their first event.
    pub threads: Vec<ThreadSpan>,
    /// The critical sections, in order of their first event; of too many the longest.
    pub sections: Vec<SectionSpan>,
    /// How many sections are not among them.
    pub sections_left_out: u64,
}

/// From the first to the last event of a thread.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct ThreadSpan {
    /// Its name.
    pub name: String,
    /// Its first event.
    pub from: u64,
    /// Its last event.
    pub to: u64,
}

/// From the acquire to the release of a lock.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct SectionSpan {
    /// The lock.
    pub lock: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// The thread, as a position in [`Timeline::threads`].
    pub thread: u32,
    /// The acquire.
    pub from: u64,
    /// The release; of a section that stays open the last event of its thread.
    pub to: u64,
}

/// A detector at work on one trace.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct DetectorRun {
    /// Its name.
    pub name: String,
    /// What its answer means.
    pub promise: String,
    /// Whether it looks at a sample of the trace only.
    #[serde(default)]
    pub sampled: bool,
    /// Races that it reported, each second access counted once per partner.
    pub races: u64,
    /// What people must know to understand its answer, a sentence each.
    pub remarks: Vec<String>,
}

/// Lines of a source file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Excerpt {
    /// The lines that are known, by number.
    pub lines: BTreeMap<u32, String>,
    /// For lines that are too long, how many bytes are left out before the part that is in `lines`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cut: BTreeMap<u32, u32>,
}

impl Excerpt {
    /// The column of a frame within the part of its line that is known; 0 if it is not known.
    pub fn column(&self, frame: &Frame) -> u32 {
        frame.column.saturating_sub(self.cut.get(&frame.line).copied().unwrap_or_default())
    }
}

/// What triage says of a finding.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Status {
    /// Nobody has judged it yet.
    #[default]
    New,
    /// The baseline has it.
    Known {
        /// Why it is there.
        reason: String,
        /// Since when: `2026-11-15`.
        since: String,
        /// How sure it was when it was accepted, as [`Finding::standing`] says; empty if that is not known.
        #[serde(default, skip_serializing_if = "String::is_empty")]
        verdict: String,
    },
    /// A suppression matches it.
    Suppressed {
        /// The suppression as written, with its file and line.
        by: String,
    },
}

/// What suppressions and baseline made of all findings.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Triage {
    /// The baseline that was compared with; empty if there was none.
    pub baseline: String,
    /// Races of the baseline that were not found: fixed, or not exercised.
    pub fixed: Vec<FixedRace>,
    /// Suppressions that matched nothing, as written, with file and line.
    pub unused_suppressions: Vec<String>,
}

/// A race of the baseline that was not found again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct FixedRace {
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its headline when it was found.
    pub headline: String,
}

impl Run {
    /// Whether it is a recorded program, whose next run numbers events, threads and processes otherwise.
    pub fn is_recorded(&self) -> bool {
        !self.command.is_empty()
    }
}
