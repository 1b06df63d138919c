//! Running detectors in tests, and sequences of operations to compare stores with.

use overtake_rules::{Claim, Holders};
use overtake_trace::{Block, Checked, Checker, EventSource, Id, LockId, Symbols, ThreadId, Trace};

use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::passes::{Analysis, Outcome};
use crate::registry::find;
use crate::run::{LiveBlocks, feed, visit};
use crate::settings::Options;
use crate::visitor::Visitor;

/// Runs a registered detector over a trace, mended as the oracle mends it, in blocks of a few events.
pub(crate) fn run(name: &str, options: &Options, trace: &Trace) -> Analysis {
    let entry = find(name).expect("a registered detector");
    let mut analysis = entry.analysis(options).expect("good options");
    run_analysis(&mut analysis, trace);
    analysis
}

/// Runs an analysis over a trace, as often as it asks for.
pub(crate) fn run_analysis(analysis: &mut Analysis, trace: &Trace) {
    run_analysis_with(analysis, trace, |_| {});
}

/// The same, looking at the analysis after each block.
pub(crate) fn run_analysis_with(analysis: &mut Analysis, trace: &Trace, mut look: impl FnMut(&Analysis)) {
    loop {
        let symbols = read(trace, |checked| {
            analysis.feed(checked);
            look(analysis);
        });
        if analysis.end_of_trace(&symbols) == Outcome::Done {
            return;
        }
    }
}

/// Runs a detector over a trace, once.
pub(crate) fn run_detector(detector: &mut impl Detector, trace: &Trace) {
    let (mut blocks, mut findings) = (LiveBlocks::new(), Findings::new());
    read(trace, |checked| feed(detector, &mut blocks, checked, &mut findings));
    detector.finish(&mut findings);
}

/// Lets a visitor see a trace, mended.
pub(crate) fn visit_trace(visitor: &mut impl Visitor, trace: &Trace) {
    let mut blocks = LiveBlocks::new();
    read(trace, |checked| visit(visitor, &mut blocks, checked));
}

/// Hands out a trace, mended, in blocks of a few events; then its names.
fn read(trace: &Trace, mut take: impl FnMut(&Checked<'_>)) -> Symbols {
    let (mut source, mut checker) = (trace.source().with_block_events(11), Checker::repairing());
    let mut block = Block::default();
    while source.next_block(&mut block).expect("a trace in memory") {
        take(&checker.check(&mut block, source.symbols_mut()).expect("mended"));
    }
    source.symbols().clone()
}

/// A stream of random numbers, from a seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    /// A number below `bound`, which is not 0.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// A thread takes a lock or gives it back.
pub(crate) struct LockStep {
    pub(crate) thread: ThreadId,
    pub(crate) lock: LockId,
    pub(crate) mode: LockMode,
    pub(crate) takes: bool,
}

/// Which threads hold each of several locks, by the shared rules.
pub(crate) struct LocksByRule(Vec<Holders<Vec<Claim<ThreadId>>>>);

impl LocksByRule {
    /// The locks that a thread holds, in order, and those that it holds exclusively.
    pub(crate) fn of(&self, thread: ThreadId) -> [Vec<LockId>; 2] {
        let held = |wanted: fn(LockMode) -> bool| {
            let holds = |holders: &Holders<_>| holders.mode_of(thread).is_some_and(wanted);
            (0..self.0.len()).filter(|&lock| holds(&self.0[lock])).map(LockId::from_index).collect()
        };
        [held(|_| true), held(LockMode::is_exclusive)]
    }
}

/// Runs random steps of a well-formed trace of three threads and nine locks; after each step `look` sees the step and who holds what.
pub(crate) fn random_lock_steps(steps: usize, mut look: impl FnMut(LockStep, &LocksByRule)) {
    let mut random = Random(3);
    let mut locks = LocksByRule((0..9).map(|_| Holders::default()).collect());
    for _ in 0..steps {
        let (thread, number) = (ThreadId(random.below(3) as u32), random.below(9) as usize);
        let wanted = if random.below(3) == 0 { LockMode::Shared } else { LockMode::Exclusive };
        let lock = LockId::from_index(number);
        let holders = &mut locks.0[number];
        let step = match holders.mode_of(thread) {
            Some(mode) => {
                holders.release(thread, mode);
                LockStep { thread, lock, mode, takes: false }
            }
            None if holders.is_free_for(wanted) => {
                holders.acquire(thread, wanted, || (), |_| ());
                LockStep { thread, lock, mode: wanted, takes: true }
            }
            None => continue,
        };
        look(step, &locks);
    }
}
