//! The table of detectors. A row says what the command line, help, `compare`, reports and `bench speed` need to know about a detector: they
//! know no detector by its name. Comparisons with the definitions run over the table for happens-before and schedulable happens-before;
//! those of other notions are written for their detectors, in `tests/`.
//!
//! A program uses the table through a [`Registry`]: the standard one, or one with more rows.

use overtake_trace::Parameters;

use crate::detector::Detector;
use crate::discipline;
use crate::hb::{self, FastTrack, HappensBefore};
use crate::links::OwnVariables;
use crate::meaning::{Notion, Promise};
use crate::passes::Analysis;
use crate::race::Verdict;
use crate::sampling::{Effort, RandomAccess, Sample, SampleError};
use crate::settings::{OptionError, Options};
use crate::stretch::StartStretched;
use crate::succession::OWN_NUMBERS;

/// How schedules of a detector's predicted races are built and checked (see [`witness`](crate::witness)). A later one allows more
/// schedules than an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Witness {
    /// There are none: its races happened, or are suspicions.
    None,
    /// By reorderings that keep the order of each lock's critical sections. A race without one is a false report.
    LockOrderKept,
    /// By such a reordering where there is one, else by any correct one.
    AnyLockOrder,
}

/// What is known about two conflicting accesses that a detector does not report. Later variants say more.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Silence {
    /// Nothing.
    Nothing,
    /// They were ordered in this run.
    OrderedInThisRun,
    /// They are ordered in every schedule that keeps the order of each lock's critical sections.
    OrderedWhileLocksKeepTheirs,
}

/// When a detector runs although it is not named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unasked {
    /// Never.
    Never,
    /// On every trace.
    Always,
    /// On traces that are not long.
    IfShort,
    /// On long traces.
    IfLong,
    /// With `--hunt`, which tries out suspicions, whichever detectors are named.
    IfHunting,
}

/// Which part of a trace a detector reads.
#[derive(Clone, Copy, Debug)]
pub enum Reads {
    /// Every event, in order.
    Everything,
    /// A few windows; the rest of a sealed file is not read. If several detectors share a reading of the trace, the detector takes its
    /// windows from that.
    Windows(ReadWindows),
}

/// Finds races in some windows of a trace with these parameters.
pub type ReadWindows =
    fn(&dyn RandomAccess, Parameters, &Options, &Effort<'_>) -> Result<Sample, SampleError>;

/// Says that a detector takes the place of another one on some traces. Both find the same races.
#[derive(Clone, Copy, Debug)]
pub struct Stand {
    /// The name of the other detector.
    pub instead_of: &'static str,
    /// Whether this detector suits a trace with these numbers of threads and locks better.
    pub suits: fn(threads: u64, locks: u64) -> bool,
}

/// Another detector whose work a detector does on the way: if both are asked for, one run serves both.
#[derive(Clone, Copy, Debug)]
pub struct Included {
    /// The name of the other detector.
    pub name: &'static str,
    /// Starts an analysis that hands out what the other one finds ([`After::Split`](crate::After::Split)).
    pub start: fn(&Options) -> Result<Analysis, OptionError>,
}

/// Whether several workers can share the work of a detector.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// No: one worker sees every event.
    Sequential,
    /// By variable. A worker sees all events but the plain accesses of other workers' variables, and finds the races of its own, each when it
    /// judges the second access. An element of a heap block and the block have the same worker.
    ByVariable,
    /// By variable, in several readings: from the second one on a worker also sees what others have marked in the one before.
    Linked(StartShared),
}

/// Starts the analysis of a worker that has these variables.
pub type StartShared = fn(&Options, OwnVariables) -> Result<Analysis, OptionError>;

/// One detector of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name on the command line.
    pub name: &'static str,
    /// One line for help and docs.
    pub summary: &'static str,
    /// Which order it asks about.
    pub notion: Notion,
    /// What its answer means.
    pub promise: Promise,
    /// The verdict of its races (predictive detectors say observed where the run exhibits the race).
    pub verdict: Verdict,
    /// Names of the [`SETTINGS`](crate::SETTINGS) it uses.
    pub options: &'static [&'static str],
    /// What it reads.
    pub reads: Reads,
    /// How its predicted races are shown to be possible.
    pub witness: Witness,
    /// What is known about two conflicting accesses that it does not report.
    pub silence: Silence,
    /// When it runs although it is not named.
    pub unasked: Unasked,
    /// Which detector it takes the place of where that is faster.
    pub stand: Option<Stand>,
    /// Which detector's work it does on the way.
    pub includes: Option<Included>,
    /// How its work is shared by several workers.
    pub distribution: Distribution,
    /// Starts it on a stretch of a trace, if several workers can judge a stretch each.
    pub stretched: Option<StartStretched>,
    /// Whether threads of a recording that come one after the other, by fork and join, may count as one: its clocks stay short.
    pub merges_threads: bool,
    /// The most time on the lock-heavy benchmark, as a multiple of the time of `wc -l` on the same events.
    pub speed_goal: Option<f64>,
    /// Starts an analysis.
    pub start: fn(&Options) -> Result<Analysis, OptionError>,
}

impl Entry {
    /// A row to fill in: what most detectors have in common. Name, summary, notion, promise, verdict and start are to be given.
    pub const BASIC: Entry = Entry {
        name: "",
        summary: "",
        notion: Notion::HappensBefore,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        options: &[],
        reads: Reads::Everything,
        witness: Witness::None,
        silence: Silence::Nothing,
        unasked: Unasked::Never,
        stand: None,
        includes: None,
        distribution: Distribution::Sequential,
        stretched: None,
        merges_threads: false,
        speed_goal: None,
        start: |_| Err(OptionError("expected a detector, found a row without one".into())),
    };

    /// What its answer means: its verdict, its notion and its promise.
    pub fn meaning(&self) -> String {
        format!("{}; {}: {}", self.verdict.word(), self.notion.describe(), self.promise.describe())
    }

    /// Whether it does the work of another detector on the way.
    pub(crate) fn does_work_of(&self, other: &Entry) -> bool {
        self.includes.is_some_and(|included| included.name == other.name)
    }

    /// Whether workers can share its work.
    pub fn can_be_shared(&self) -> bool {
        self.can_be_sliced() || matches!(self.distribution, Distribution::Linked(_))
    }

    /// Whether variables can be judged one after the other: what it learns of one is not needed for others.
    pub fn can_be_sliced(&self) -> bool {
        matches!(self.distribution, Distribution::ByVariable)
    }

    /// Whether threads of a trace with so many of them have numbers of their own.
    pub fn numbers_all(&self, threads: u64) -> bool {
        !self.merges_threads || threads <= OWN_NUMBERS
    }

    /// Starts an analysis, if the settings that it uses are in range.
    pub fn analysis(&self, options: &Options) -> Result<Analysis, OptionError> {
        self.started(options, |options| (self.start)(options))
    }

    /// Starts the analysis of a worker that has these variables.
    pub fn shared_analysis(&self, options: &Options, own: OwnVariables) -> Result<Analysis, OptionError> {
        match self.distribution {
            Distribution::Linked(start) => self.started(options, |options| start(options, own)),
            _ => self.analysis(options),
        }
    }

    fn started(
        &self,
        options: &Options,
        start: impl FnOnce(&Options) -> Result<Analysis, OptionError>,
    ) -> Result<Analysis, OptionError> {
        options.check(self.options)?;
        let analysis = start(options)?;
        Ok(if self.merges_threads { analysis.sharing_numbers_after(OWN_NUMBERS) } else { analysis })
    }
}

/// A table of detectors: ours, or ours and more.
#[derive(Clone, Copy, Debug)]
pub struct Registry {
    entries: &'static [Entry],
}

impl Default for Registry {
    fn default() -> Self {
        Registry { entries: DETECTORS }
    }
}

impl Registry {
    /// Our detectors, and others after them. The table lives as long as the program does.
    pub fn with(more: &[Entry]) -> Registry {
        Registry { entries: [DETECTORS, more].concat().leak() }
    }

    /// All rows, in the order in which they are shown.
    pub fn entries(self) -> &'static [Entry] {
        self.entries
    }

    /// The detector called `name`.
    pub fn find(self, name: &str) -> Option<&'static Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// The detectors that run if none is named, on a trace that is long or not.
    pub fn defaults(self, is_long: bool) -> impl Iterator<Item = &'static Entry> {
        self.entries.iter().filter(move |entry| match entry.unasked {
            Unasked::Never => false,
            Unasked::Always => true,
            Unasked::IfShort => !is_long,
            Unasked::IfLong => is_long,
            Unasked::IfHunting => false,
        })
    }

    /// The detectors that run with `--hunt`, named or not.
    pub fn hunting(self) -> impl Iterator<Item = &'static Entry> {
        self.entries.iter().filter(|entry| entry.unasked == Unasked::IfHunting)
    }
}

/// Every detector.
pub static DETECTORS: &[Entry] = &[
    Entry {
        name: "hb",
        summary: "every happens-before race",
        notion: Notion::HappensBefore,
        promise: Promise::Exact,
        verdict: Verdict::Observed,
        silence: Silence::OrderedInThisRun,
        unasked: Unasked::Always,
        speed_goal: Some(9.0),
        distribution: Distribution::ByVariable,
        stretched: Some(hb::stretched::start::<true>),
        merges_threads: true,
        start: one_pass::<HappensBefore>,
        ..Entry::BASIC
    },
    Entry {
        name: "fasttrack",
        summary: "happens-before races with adaptive epochs, the fast one",
        notion: Notion::HappensBefore,
        promise: Promise::ExactToFirstRace,
        verdict: Verdict::Observed,
        speed_goal: Some(6.0),
        distribution: Distribution::ByVariable,
        stretched: Some(hb::stretched::start::<false>),
        merges_threads: true,
        start: one_pass::<FastTrack>,
        ..Entry::BASIC
    },
    Entry {
        name: "slimstate",
        summary: "happens-before races with one state for array elements that are used alike",
        notion: Notion::HappensBefore,
        promise: Promise::ExactVariables,
        verdict: Verdict::Observed,
        options: &["partitions", "set-footprints", "small-array", "commit-buffer"],
        merges_threads: true,
        start: crate::slimstate::start,
        ..Entry::BASIC
    },
    Entry {
        name: "shb",
        summary: "schedulable happens-before: races that can all happen side by side",
        notion: Notion::Schedulable,
        promise: Promise::Exact,
        verdict: Verdict::Predicted,
        witness: Witness::LockOrderKept,
        speed_goal: Some(15.0),
        distribution: Distribution::Linked(hb::shb::start_shared),
        merges_threads: true,
        start: hb::shb::start,
        ..Entry::BASIC
    },
    Entry {
        name: "short-hb",
        summary: "happens-before races within a window, in memory that the window bounds",
        notion: Notion::HappensBefore,
        promise: Promise::ExactInWindow,
        verdict: Verdict::Observed,
        options: &["window"],
        speed_goal: Some(12.0),
        merges_threads: true,
        start: hb::short::start,
        ..Entry::BASIC
    },
    Entry {
        name: "lockstamp",
        summary: "happens-before races by lock-indexed time, in two passes",
        notion: Notion::HappensBefore,
        promise: Promise::Exact,
        verdict: Verdict::Observed,
        silence: Silence::OrderedInThisRun,
        stand: Some(Stand { instead_of: "hb", suits: hb::lockstamp::suits }),
        merges_threads: true,
        start: hb::lockstamp::start,
        ..Entry::BASIC
    },
    Entry {
        name: "syncp",
        summary: "sync-preserving races: predicted by reorderings that keep each lock's order, each with a witness",
        notion: Notion::SyncPreserving,
        promise: Promise::Exact,
        verdict: Verdict::Predicted,
        options: &["no-filter"],
        witness: Witness::LockOrderKept,
        silence: Silence::OrderedWhileLocksKeepTheirs,
        unasked: Unasked::IfShort,
        distribution: Distribution::Linked(crate::syncp::start_shared),
        merges_threads: true,
        start: crate::syncp::start_full,
        ..Entry::BASIC
    },
    Entry {
        name: "short-syncp",
        summary: "sync-preserving races of at most `window` events, in memory that the window bounds",
        notion: Notion::SyncPreserving,
        promise: Promise::ExactInWindow,
        verdict: Verdict::Predicted,
        options: &["window", "no-filter"],
        witness: Witness::LockOrderKept,
        unasked: Unasked::IfLong,
        merges_threads: true,
        start: crate::syncp::start_short,
        ..Entry::BASIC
    },
    Entry {
        name: "osr",
        summary: "sync-preserving races and those that need critical sections swapped, each with a witness",
        notion: Notion::SyncReversal,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["no-filter", "instances"],
        witness: Witness::AnyLockOrder,
        unasked: Unasked::IfShort,
        includes: Some(Included { name: "syncp", start: crate::osr::start_full::<true> }),
        start: crate::osr::start_full::<false>,
        ..Entry::BASIC
    },
    Entry {
        name: "short-osr",
        summary: "the races of `osr` of at most `window` events",
        notion: Notion::SyncReversal,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["window", "no-filter", "instances"],
        witness: Witness::AnyLockOrder,
        unasked: Unasked::IfLong,
        includes: Some(Included { name: "short-syncp", start: crate::osr::start_short::<true> }),
        start: crate::osr::start_short::<false>,
        ..Entry::BASIC
    },
    Entry {
        name: "m2",
        summary: "races by saturation: all that two threads can have, few missing with more; for small traces",
        notion: Notion::Predictable,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Predicted,
        options: &["no-filter", "instances", "schedule-limit"],
        witness: Witness::AnyLockOrder,
        start: crate::m2::start,
        ..Entry::BASIC
    },
    Entry {
        name: "wcp",
        summary: "pairs of accesses that weak causal precedence does not order",
        notion: Notion::WeakOrder,
        promise: Promise::FirstReport,
        verdict: Verdict::Suspected,
        witness: Witness::AnyLockOrder,
        merges_threads: true,
        start: crate::wcp::start,
        ..Entry::BASIC
    },
    Entry {
        name: "deadlock",
        summary: "deadlocks of any number of threads that the run, or a reordering that keeps each lock's order, leads to",
        notion: Notion::Deadlock,
        promise: Promise::ExactPatterns,
        verdict: Verdict::Predicted,
        unasked: Unasked::Always,
        start: crate::deadlock::start_deadlock,
        ..Entry::BASIC
    },
    Entry {
        name: "lock-order",
        summary: "locks that threads take in different orders, unless forks, joins or a common lock keep the threads apart",
        notion: Notion::Deadlock,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        start: crate::deadlock::start_lock_order,
        ..Entry::BASIC
    },
    Entry {
        name: "lock-set",
        summary: "variables that no lock protects at all of their accesses",
        notion: Notion::Discipline,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        options: &["eraser"],
        speed_goal: Some(8.0),
        distribution: Distribution::ByVariable,
        start: discipline::lock_set::start,
        ..Entry::BASIC
    },
    Entry {
        name: "lock-cover",
        summary: "pairs of accesses without a common lock",
        notion: Notion::Discipline,
        promise: Promise::Suspicion,
        verdict: Verdict::Suspected,
        speed_goal: Some(12.0),
        options: &["unforked"],
        unasked: Unasked::IfHunting,
        distribution: Distribution::ByVariable,
        start: discipline::lock_cover::start,
        ..Entry::BASIC
    },
    Entry {
        name: "pacer",
        summary: "happens-before races whose first access falls into a sampled period",
        notion: Notion::HappensBefore,
        promise: Promise::Sampled,
        verdict: Verdict::Observed,
        options: &["rate", "period", "seed"],
        merges_threads: true,
        start: crate::sampling::start_pacer,
        ..Entry::BASIC
    },
    Entry {
        name: "sampled-hb",
        summary: "happens-before races between sampled accesses",
        notion: Notion::HappensBefore,
        promise: Promise::Sampled,
        verdict: Verdict::Observed,
        options: &["rate", "seed"],
        merges_threads: true,
        start: crate::sampling::start_sampled,
        ..Entry::BASIC
    },
    Entry {
        name: "rpt",
        summary: "property tester for happens-before races: reads constantly many events of a sealed trace, however long",
        notion: Notion::HappensBefore,
        promise: Promise::PropertyTester,
        verdict: Verdict::Observed,
        options: &["epsilon", "delta", "seed", "judge"],
        reads: Reads::Windows(crate::sampling::sample_rpt),
        start: crate::sampling::start_rpt,
        ..Entry::BASIC
    },
    Entry {
        name: "windowed",
        summary: "races within windows that forget what came before; what short-hb and short-syncp are compared with",
        notion: Notion::HappensBefore,
        promise: Promise::NoFalseReport,
        verdict: Verdict::Observed,
        options: &["window", "judge"],
        start: crate::sampling::start_pieces,
        ..Entry::BASIC
    },
];

/// Starts a detector without settings that needs one pass.
pub fn one_pass<D: Detector + Default + 'static>(_: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::one_pass(D::default()))
}

/// The detector called `name` of the standard table.
pub fn find(name: &str) -> Option<&'static Entry> {
    Registry::default().find(name)
}
