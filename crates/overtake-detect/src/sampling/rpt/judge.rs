//! What finds the races of windows.
//!
//! **A fresh state for each window.** Nothing is cleared. Between two windows there is a barrier of all threads: every
//! epoch so far is made known to every thread that enters the next window, and it advances its own time. What a variable,
//! lock, object or fence keeps from earlier windows is then ordered before everything to come: it races with nothing and
//! teaches nothing. This costs O(T) for a window and O(T) for each thread that takes part in it.
//! **Invariants.**
//!   I1  At the barrier every time that was used is at most `barrier[thread]`, and a thread advances its time when it enters,
//!       so that what it does in the window is beyond the barrier and known to nobody.
//!   I2  A thread enters before its first event of the window is judged. A thread that was only forked or joined there
//!       makes no access; what it learned it keeps, and it has nothing of its own to teach.

use std::ops::Range;

use overtake_clock::Time;
use overtake_trace::{Checked, IdVec, Symbols, ThreadId};

use super::predict::PredictingJudge;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::hb::HappensBefore;
use crate::run::{LiveBlocks, visit_range};
use crate::visitor::Reporting;

/// What is asked of a window.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub enum Judge {
    /// Its happens-before races: what the promise is about.
    #[default]
    HappensBefore,
    /// Its sync-preserving races that are races of the whole trace. Nothing is promised beyond what happens-before finds;
    /// where there are no atomics, the first happens-before race of a window is among them (`predict.rs`).
    SyncPreserving,
}

impl Judge {
    /// All of them, with the detectors they are called after.
    pub const NAMES: [(&'static str, Judge); 2] =
        [("hb", Judge::HappensBefore), ("short-syncp", Judge::SyncPreserving)];

    pub(super) fn start(self) -> Box<dyn WindowJudge> {
        match self {
            Judge::HappensBefore => Box::<ObservingJudge>::default(),
            Judge::SyncPreserving => Box::<PredictingJudge>::default(),
        }
    }
}

/// Finds the races of one window after the other.
pub(super) trait WindowJudge: Send {
    /// A window begins at the event with index `start`.
    fn begin(&mut self, start: u64);

    /// Takes the events of a checked block whose indices lie in `range`: the next ones of the window.
    fn feed(&mut self, checked: &Checked<'_>, range: Range<u64>, races: &mut Findings);

    /// The window is over.
    fn end(&mut self, symbols: &Symbols, races: &mut Findings);

    /// Bytes of state held now.
    fn state_bytes(&self) -> usize;
}

/// Finds the happens-before races of windows.
#[derive(Default)]
struct ObservingJudge {
    detector: HappensBefore,
    blocks: LiveBlocks,
    window: u64,
    /// The last window that each thread entered.
    entered: IdVec<ThreadId, u64>,
    barrier: Vec<Time>,
}

/// From this time on the next window gets a new state: times must not run out.
const LATEST_TIME: Time = 1 << 31;

impl WindowJudge for ObservingJudge {
    fn begin(&mut self, _: u64) {
        self.window += 1;
        self.blocks.begin_window();
        self.detector.clocks.times(&mut self.barrier);
        if self.barrier.iter().any(|&time| time > LATEST_TIME) {
            self.detector = HappensBefore::default();
            self.barrier.clear();
        }
    }

    fn feed(&mut self, checked: &Checked<'_>, range: Range<u64>, races: &mut Findings) {
        let sizes = checked.symbols().sizes();
        self.detector.reserve(&sizes);
        self.entered.grow_to(sizes.threads);
        for run in checked.runs().map(|run| run.within(&range)) {
            for event in run.events {
                let entered = &mut self.entered[event.thread()];
                if *entered != self.window {
                    *entered = self.window;
                    self.detector.clocks.pass_barrier(event.thread(), &self.barrier); // I2
                }
            }
        }
        let mut visitor = Reporting { detector: &mut self.detector, findings: races };
        visit_range(&mut visitor, &mut self.blocks, checked, range);
    }

    fn end(&mut self, _: &Symbols, _: &mut Findings) {}

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes() + self.entered.table_bytes()
    }
}
