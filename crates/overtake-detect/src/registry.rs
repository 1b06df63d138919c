//! The table of detectors. Help text, `compare`, docs, oracle tests and benches all walk over it.

use std::fmt;

use crate::detector::Detector;
use crate::discipline;
use crate::hb::shb::Schedulable;
use crate::hb::{self, FastTrack, HappensBefore};
use crate::passes::Analysis;
use crate::race::Verdict;
use crate::sampling::Judge;

/// Which order between events a detector asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notion {
    /// Happens-before.
    HappensBefore,
    /// Schedulable happens-before.
    Schedulable,
    /// Sync-preserving reorderings.
    SyncPreserving,
    /// Reorderings that may swap critical sections.
    SyncReversal,
    /// Any correct reordering.
    Predictable,
    /// Weak causal precedence.
    WeakOrder,
    /// Locking discipline.
    Discipline,
    /// Threads that wait for each other.
    Deadlock,
}

/// What a detector's answer means, in terms of its notion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Promise {
    /// Exactly the accesses that race with an earlier access.
    Exact,
    /// Exactly the accesses that race with an access at most `window` events back.
    ExactInWindow,
    /// Exact up to the first race of each variable; later reports are races, some may be missing.
    ExactToFirstRace,
    /// Every report is a race; which races are found is left to chance.
    Sampled,
    /// Every report is a race; if many events must change to make the trace race free, one is probably found.
    PropertyTester,
    /// Exactly the variables that race, each with a pair of accesses that race; further pairs may be missing.
    ExactVariables,
    /// Every report can happen; some of what can happen may be missing.
    NoFalseReport,
    /// Every pattern of locks that has a deadlock of the notion, each with one, and no other.
    ExactPatterns,
    /// The first report is a race or a deadlock that can happen; others may be neither.
    FirstReport,
    /// Suspicion, not proof.
    Suspicion,
}

impl Promise {
    /// The promise in words.
    pub fn describe(self) -> &'static str {
        match self {
            Promise::Exact => "every access that races with an earlier one, and no other",
            Promise::ExactInWindow => {
                "every access that races with one in the window before it, and no other"
            }
            Promise::ExactToFirstRace => {
                "first race of each variable exact; later ones real, some may be missing"
            }
            Promise::Sampled => "every report is a race; which races are found is left to chance",
            Promise::PropertyTester => {
                "every report is a race; one is found with probability 1 - delta if at least epsilon of all events must \
                 change to make the trace race free"
            }
            Promise::ExactVariables => {
                "every variable that races, and no other; every pair is a race, further ones may be missing"
            }
            Promise::NoFalseReport => "every report can happen; some that can happen may be missing",
            Promise::ExactPatterns => {
                "every pattern of locks that can deadlock in this way, each once, and no other"
            }
            Promise::FirstReport => {
                "the first report is a race or a deadlock that can happen; others may be neither"
            }
            Promise::Suspicion => "suspicion, not proof",
        }
    }
}

/// Settings of detectors. Each detector uses some of them.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub struct Options {
    /// Largest span `j - i + 1` of a reported pair (`short-*`).
    pub window: u64,
    /// Eraser's state machine instead of the definition (`lock-set`).
    pub eraser: bool,
    /// No first pass that drops variables and locks which cannot matter (`syncp`, `short-syncp`). Verdicts are the same.
    pub no_filter: bool,
    /// Pairs of accesses between the same two locations that are judged beyond `syncp` (`osr`, `short-osr`, `m2`); 0 is all.
    pub instances: u64,
    /// Events that a schedule may take for its pair to be judged (`m2`).
    pub schedule_limit: u64,
    /// The trace is read no further once something was found.
    pub first: bool,
    /// The part of the accesses that is sampled, above 0 and at most 1 (`pacer`, `sampled-hb`).
    pub rate: f64,
    /// Events of a sampling period (`pacer`).
    pub period: u64,
    /// The part of all events that must change to make the trace race free, for a race to be found probably (`rpt`).
    pub epsilon: f64,
    /// The probability that none is found nevertheless (`rpt`).
    pub delta: f64,
    /// What is asked of each window (`rpt`).
    pub judge: Judge,
    /// Seed of all random choices (`pacer`, `sampled-hb`, `rpt`).
    pub seed: u64,
    /// How arrays are divided into parts that share their state (`slimstate`). Verdicts are the same.
    pub partitions: Partitions,
}

/// How arrays are divided into parts that share their state.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Partitions {
    /// As in the paper: whole, blocks, strides, two pieces, a prefix of single elements, or single elements.
    #[default]
    Paper,
    /// Where that would end in single elements, any elements that share their state.
    Extended,
}

impl Partitions {
    /// All of them.
    pub const ALL: [Partitions; 2] = [Partitions::Paper, Partitions::Extended];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Partitions::Paper => "paper",
            Partitions::Extended => "extended",
        }
    }
}

impl Default for Options {
    fn default() -> Self {
        Options {
            window: 30_000,
            eraser: false,
            no_filter: false,
            instances: 4,
            schedule_limit: 300,
            first: false,
            rate: 0.1,
            period: 1000,
            epsilon: 0.01,
            delta: 0.1,
            judge: Judge::HappensBefore,
            seed: 1,
            partitions: Partitions::default(),
        }
    }
}

impl Options {
    /// How many pairs of accesses between the same two locations are judged.
    pub(crate) fn instances(&self) -> u64 {
        if self.instances == 0 { u64::MAX } else { self.instances }
    }
}

/// The options do not fit the detector.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OptionError(pub String);

impl fmt::Display for OptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for OptionError {}

/// One detector of the table.
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line for help and docs.
    pub summary: &'static str,
    /// What it asks.
    pub notion: Notion,
    /// What its answer means.
    pub promise: Promise,
    /// The verdict of its races (predictive detectors say observed where the run exhibits the race).
    pub verdict: Verdict,
    /// Names of the [`Options`] it uses, as on the command line.
    pub options: &'static [&'static str],
    /// Starts an analysis.
    pub start: fn(&Options) -> Result<Analysis, OptionError>,
}

/// Every detector.
pub const DETECTORS: &[Entry] = &[
    Entry {
        name: "hb",
        summary: "every happens-before race",
        notion: Notion::HappensBefore,
        promise: Promise::Exact,
        verdict: Verdict::Observed,
        options: &[],
        start: one_pass::<HappensBefore>,
    },
    Entry {
        name: "fasttrack",
        summary: "happens-before races with adaptive epochs, the fast one",
        notion: Notion::HappensBefore,
        promise: Promise::ExactToFirstRace,
        verdict: Verdict::Observed,
        options: &[],
        start: one_pass::<FastTrack>,
    },
    Entry {
        name: "slimstate",
        summary: "happens-before races with one state for array elements that are used alike",
        notion: Notion::HappensBefore,
        promise: Promise::ExactVariables,
        verdict: Verdict::Observed,
        options: &["partitions"],
        start: crate::slimstate::start,
    },
    Entry {
        name: "shb",
        summary: "schedulable happens-before: races that can all happen side by side",
        notion: Notion::Schedulable,
        promise: Promise::Exact,
        verdict: Verdict::Predicted,
        options: &[],
        start: one_pass::<Schedulable>,
    },
    Entry {
        name: "short-hb",
        summary: "happens-before races within a window, in memory that the window bounds",
        notion: Notion::HappensBefore,
        promise: Promise::ExactInWindow,
        verdict: Verdict::Observed,
        options: &["window"],
        start: hb::short::start,
    },
    Entry {
        name: "lockstamp",
        summary: "happens-before races by lock-indexed time, in two passes",
        notion: Notion::HappensBefore,
        promise: Promise::Exact,
        verdict: Verdict::Observed,
        options: &[],
        start: hb::lockstamp::start,
    },
    Entry {
        name: "syncp",
        summary: "sync-preserving races: predicted by reorderings that keep each lock's order, each with a witness",
        notion: Notion::SyncPreserving,
        promise: Promise::Exact,
        verdict: Verdict::Predicted,
        options: &["no-filter"],
        start: crate::syncp::start_full,
    },
    Entry {
        name: "short-syncp",
        summary: "sync-preserving races of at most `window` events, in memory that the window bounds",
        notion: Notion::SyncPreserving,
        promise: Promise::ExactInWindow,
        verdict: Verdict::Predicted,
        options: &["window", "no-filter"],
        start: crate::syncp::start_short,
    },
    Entry {
        name: "osr",
        summary: "sync-preserving races and those that need critical sections swapped, each with a witness",
        notion: Notion::SyncReversal,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["no-filter", "instances"],
        start: crate::osr::start_full,
    },
    Entry {
        name: "short-osr",
        summary: "the races of `osr` of at most `window` events",
        notion: Notion::SyncReversal,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["window", "no-filter", "instances"],
        start: crate::osr::start_short,
    },
    Entry {
        name: "m2",
        summary: "races by saturation: all that two threads can have, few missing with more; for small traces",
        notion: Notion::Predictable,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["no-filter", "instances", "schedule-limit"],
        start: crate::m2::start,
    },
    Entry {
        name: "wcp",
        summary: "pairs of accesses that weak causal precedence does not order",
        notion: Notion::WeakOrder,
        promise: Promise::FirstReport,
        verdict: Verdict::Suspected,
        options: &[],
        start: one_pass::<crate::wcp::WeakOrder>,
    },
    Entry {
        name: "deadlock",
        summary: "deadlocks of any number of threads that the run, or a reordering that keeps each lock's order, leads to",
        notion: Notion::Deadlock,
        promise: Promise::ExactPatterns,
        verdict: Verdict::Predicted,
        options: &[],
        start: crate::deadlock::start_deadlock,
    },
    Entry {
        name: "lock-order",
        summary: "locks that threads take in different orders, unless forks, joins or a common lock keep the threads apart",
        notion: Notion::Deadlock,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        options: &[],
        start: crate::deadlock::start_lock_order,
    },
    Entry {
        name: "lock-set",
        summary: "variables that no lock protects at all of their accesses",
        notion: Notion::Discipline,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        options: &["eraser"],
        start: discipline::lock_set::start,
    },
    Entry {
        name: "lock-cover",
        summary: "pairs of accesses without a common lock",
        notion: Notion::Discipline,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        options: &[],
        start: discipline::lock_cover::start,
    },
    Entry {
        name: "pacer",
        summary: "happens-before races whose first access falls into a sampled period",
        notion: Notion::HappensBefore,
        promise: Promise::Sampled,
        verdict: Verdict::Observed,
        options: &["rate", "period", "seed"],
        start: crate::sampling::start_pacer,
    },
    Entry {
        name: "sampled-hb",
        summary: "happens-before races between sampled accesses",
        notion: Notion::HappensBefore,
        promise: Promise::Sampled,
        verdict: Verdict::Observed,
        options: &["rate", "seed"],
        start: crate::sampling::start_sampled,
    },
    Entry {
        name: "rpt",
        summary: "property tester for happens-before races: reads constantly many events of a sealed trace, however long",
        notion: Notion::HappensBefore,
        promise: Promise::PropertyTester,
        verdict: Verdict::Observed,
        options: &["epsilon", "delta", "seed", "judge"],
        start: crate::sampling::start_rpt,
    },
];

/// Starts a detector without settings that needs one pass.
pub fn one_pass<D: Detector + Default + 'static>(_: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::one_pass(D::default()))
}

/// The detector called `name`.
pub fn find(name: &str) -> Option<&'static Entry> {
    DETECTORS.iter().find(|entry| entry.name == name)
}
