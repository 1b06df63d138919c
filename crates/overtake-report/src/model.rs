//! Results in ids, as the detectors left them.

use std::time::Duration;

use overtake_detect::witness::{DeadlockSchedule, Schedule};
use overtake_detect::{Entry, RaceGroup};
use overtake_trace::{EventIndex, Misuse, Repairs, Sizes, Symbols, TraceSummary, VarId};

/// What is known of a trace once it has been read.
#[derive(Clone, Default, Debug)]
pub struct TraceFacts {
    /// The name of the input; `-` is standard input.
    pub file: String,
    /// The format it was read as.
    pub format: String,
    /// Number of events.
    pub events: u64,
    /// Number of threads, locks, variables, ... after repairs.
    pub sizes: Sizes,
    /// What the checker mended.
    pub repairs: Repairs,
    /// Misuses of single operations that the trace records.
    pub misuses: Vec<Misuse>,
    /// Input lines that carry no event, by what they were.
    pub ignored: Vec<(String, u64)>,
    /// What a damaged file no longer has; empty when it is whole.
    pub missing: Vec<String>,
    /// After how many events nothing more was looked for, because only the first finding was asked for.
    pub first_after: Option<u64>,
}

/// What one detector found.
pub struct Findings<'a> {
    /// The detector.
    pub detector: &'a Entry,
    /// What it found.
    pub races: &'a overtake_detect::Findings,
    /// Figures of the detector's own.
    pub figures: Vec<(&'static str, u64)>,
    /// What people must know to understand the result, a sentence each.
    pub remarks: Vec<String>,
    /// Time spent in the detector.
    pub time: Duration,
    /// Events handed to the detector, all passes together.
    pub events_read: u64,
    /// The most state it held.
    pub peak_state_bytes: usize,
}

impl Findings<'_> {
    /// Events handed to the detector per second of its time.
    pub fn events_per_second(&self) -> f64 {
        self.events_read as f64 / self.time.as_secs_f64().max(1e-9)
    }
}

/// What the detectors found in one trace.
pub struct Analysed<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// The names of the ids in the findings.
    pub symbols: &'a Symbols,
    /// One entry per detector, in the order in which they were asked for.
    pub findings: Vec<Findings<'a>>,
    /// Time from opening the trace to the last detector's end.
    pub time: Duration,
}

impl Analysed<'_> {
    /// Whether some detector reported a race.
    pub fn has_races(&self) -> bool {
        self.findings.iter().any(|findings| !findings.races.is_empty())
    }
}

/// A race with a schedule in which it happens. The schedule has been checked.
pub struct WitnessFacts<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// The names of the ids in the schedule.
    pub symbols: &'a Symbols,
    /// The race and its number.
    pub group: &'a RaceGroup,
    /// The schedule.
    pub schedule: &'a Schedule,
}

/// A deadlock with a schedule that leads to it. The schedule has been checked.
pub struct DeadlockWitnessFacts<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// The names of the ids in the schedule.
    pub symbols: &'a Symbols,
    /// The number of the deadlock.
    pub id: u32,
    /// The schedule.
    pub schedule: &'a DeadlockSchedule,
}

/// What a trace is made of.
pub struct StatisticsFacts<'a> {
    /// The trace.
    pub trace: &'a TraceFacts,
    /// Its statistics.
    pub summary: &'a TraceSummary,
    /// Its names.
    pub symbols: &'a Symbols,
    /// Its size as stored, where it is known.
    pub bytes: Option<u64>,
}

/// What is known of a trace once it has been written.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct WrittenFacts {
    /// The name of the file; `-` is standard output.
    pub file: String,
    /// The format it was written in.
    pub format: String,
    /// Number of events.
    pub events: u64,
    /// Size of the file.
    pub bytes: u64,
    /// How many events had a source location that the format cannot hold.
    pub lost_locations: u64,
}

/// A trace that was generated.
pub struct GeneratedFacts<'a> {
    /// What sort of trace it is.
    pub shape: &'a str,
    /// The seed of all random choices.
    pub seed: u64,
    /// The command that makes the same trace again.
    pub command: String,
    /// What was written.
    pub written: WrittenFacts,
    /// Its races by construction, where they are known.
    pub expected: Vec<ExpectedFacts>,
    /// The names of the trace.
    pub symbols: &'a Symbols,
}

/// The races of one notion that a generated trace has by construction: exactly these.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ExpectedFacts {
    /// The notion, as its detector is called.
    pub notion: &'static str,
    /// Pairs of an earlier and a later event.
    pub pairs: Option<Vec<(EventIndex, EventIndex)>>,
    /// The variable whose races these pairs are, where others may race as well.
    pub on: Option<VarId>,
    /// The variables that race, where pairs are not known.
    pub variables: Option<Vec<VarId>>,
}

/// One figure of a benchmark.
#[derive(Clone, PartialEq, Debug)]
pub struct Measurement {
    /// What was measured.
    pub what: String,
    /// How much it was.
    pub figure: f64,
    /// The unit, as written behind the figure: ` W`, ` ms`.
    pub unit: &'static str,
    /// What it should be.
    pub goal: Option<Goal>,
}

/// What a figure should be.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Goal {
    /// Not more than this.
    AtMost(f64),
    /// Not less than this.
    AtLeast(f64),
}
