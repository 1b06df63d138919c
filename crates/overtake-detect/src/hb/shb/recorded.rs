//! Schedulable races of recordings.
//!
//! In a recording it is not known what a read saw that races with a write (`sources.rs`). A race is sure if what precedes its accesses
//! has no read of a racy variable: then the order from writes to the reads that see them is known. Other races are
//! possible, if racy reads saw what stands before them.
//!
//! **Approximation.** All reads of variables with a race count as racy reads, and a race whose past has one is possible even if all
//! that the read may have seen is in that past. Races are lost to *possible* this way, none is invented.
//! **Passes.** One for traces that are no recordings or have no race. Else two more: which variables race, and the detector
//! again, which follows where threads learn what racy reads did.
//! **State.** Beside that of the detector, per thread the first event whose past has a racy read.

use overtake_clock::Epoch;
use overtake_trace::{Checked, EventIndex, LockId, MemoryOrder, Sizes, Symbols, SyncId, ThreadId, VarId};
use rustc_hash::FxHashSet;

use super::Schedulable;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::hb::FastTrack;
use crate::hinge::Hinge;
use crate::passes::{After, Analysis, Detection, Pass};
use crate::run::{LiveBlocks, feed};
use crate::settings::{OptionError, Options};
use crate::visitor::Touch;

/// Starts the analysis.
pub(crate) fn start(_: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::new(Detecting::default()))
}

/// The first pass.
#[derive(Default)]
struct Detecting(Schedulable);

impl Pass for Detecting {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        if !symbols.program.is_recorded() || findings.is_empty() {
            return After::Done(self);
        }
        *findings = Findings::new();
        After::Pass(Box::<Racing>::default())
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    /// A recording may need two more.
    fn readings(&self) -> u32 {
        3
    }
}

/// The second pass: which variables race.
#[derive(Default)]
struct Racing(FastTrack);

impl Pass for Racing {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        let racy = std::mem::take(findings).racy_variables().into_iter().collect();
        After::Pass(Box::new(Detection(Doubting { racy, ..Doubting::default() })))
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The detector, and what racy reads make doubtful.
#[derive(Default, Debug)]
struct Doubting {
    detector: Schedulable,
    racy: FxHashSet<VarId>,
    /// The first racy read of each thread that has one, with the time it was made in.
    reads: Vec<(Epoch, Hinge)>,
    doubtful: FxHashSet<ThreadId>,
}

impl Doubting {
    /// Before an access: its past may have a racy read that its thread has just learned of.
    fn begin(&mut self, at: At, races: &mut Findings) {
        if self.reads.is_empty() || self.doubtful.contains(&at.thread) {
            return;
        }
        let clock = self.detector.clock(at.thread);
        if let Some(&(_, hinge)) = self.reads.iter().find(|(epoch, _)| clock.covers(*epoch)) {
            self.doubtful.insert(at.thread);
            races.doubt(at.thread, at.index, hinge);
        }
    }

    /// After an access: it may be a racy read, which is in the past of what follows.
    fn end(&mut self, at: At, var: VarId, kind: AccessKind, epoch: Epoch, races: &mut Findings) {
        if kind.reads() && self.racy.contains(&var) && self.doubtful.insert(at.thread) {
            let hinge = Hinge { read: at, var };
            self.reads.push((epoch, hinge));
            races.doubt(at.thread, EventIndex(at.index.0 + 1), hinge);
        }
    }
}

impl Detector for Doubting {
    fn reserve(&mut self, sizes: &Sizes) {
        self.detector.reserve(sizes);
    }

    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        self.begin(at, races);
        let epoch = self.detector.clock(at.thread).epoch();
        self.detector.access(at, touch, races);
        for (var, kind) in touch.each() {
            self.end(at, var, kind, epoch, races);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder, races: &mut Findings) {
        self.detector.fence(at, order, races);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, races: &mut Findings) {
        self.detector.acquire(at, lock, mode, races);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode, races: &mut Findings) {
        self.detector.release(at, lock, mode, races);
    }

    fn fork(&mut self, at: At, child: ThreadId, races: &mut Findings) {
        self.detector.fork(at, child, races);
    }

    fn join(&mut self, at: At, child: ThreadId, races: &mut Findings) {
        self.detector.join(at, child, races);
    }

    fn post(&mut self, at: At, object: SyncId, races: &mut Findings) {
        self.detector.post(at, object, races);
    }

    fn wait(&mut self, at: At, object: SyncId, races: &mut Findings) {
        self.detector.wait(at, object, races);
    }

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes()
    }
}
