//! Follows a recording to learn what its reads may have seen (see `sources.rs`), by the order that it tells.

use overtake_trace::{IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::access::{AccessKind, At};
use crate::detector::LockMode;
use crate::hb::SyncClocks;
use crate::sources::{Reads, Seen, Sources};
use crate::visitor::{Touch, Visitor};

/// Where an access is in the repaired trace, and in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spot {
    /// The number of its event, repairs included.
    pub(crate) place: usize,
    pub(crate) at: At,
    pub(crate) var: VarId,
}

/// Where blocks are allocated, and which block a variable lies in.
#[derive(Default)]
pub(crate) struct Allocations {
    places: FxHashMap<VarId, usize>,
    blocks: FxHashMap<VarId, VarId>,
}

impl Allocations {
    /// Where the block of a variable is allocated.
    pub(crate) fn of(&self, var: VarId) -> Option<usize> {
        self.places.get(self.blocks.get(&var).unwrap_or(&var)).copied()
    }
}

/// What reads may have seen: of racy variables any source, of others the write before them.
#[derive(Default)]
pub(crate) struct ReadSources {
    racy: FxHashSet<VarId>,
    /// Reads of other variables are wanted as well.
    takes_all: bool,
    order: SyncClocks,
    reads: Reads,
    /// Of racy variables.
    pub(crate) sources: Sources<Spot>,
    last_writes: IdVec<VarId, Option<usize>>,
    /// Of others, each read with its write, by their places.
    pub(crate) single: Vec<(usize, usize)>,
    pub(crate) allocations: Allocations,
    /// Events so far.
    events: usize,
}

impl ReadSources {
    /// Follows reads of all variables.
    pub(crate) fn of_all_reads(racy: FxHashSet<VarId>) -> ReadSources {
        ReadSources { racy, takes_all: true, ..ReadSources::default() }
    }

    /// Follows reads of these variables, which race.
    pub(crate) fn of_racy_variables(racy: FxHashSet<VarId>) -> ReadSources {
        ReadSources { racy, ..ReadSources::default() }
    }

    fn begin(&mut self) -> usize {
        self.events += 1;
        self.events - 1
    }

    fn note(&mut self, at: At, var: VarId, kind: AccessKind, place: usize) {
        if !self.racy.contains(&var) {
            if self.takes_all && kind.reads() {
                self.single.extend(self.last_writes[var].map(|write| (place, write)));
            }
            if kind.writes() {
                self.last_writes[var] = Some(place);
            }
            return;
        }
        let clock = self.order.thread(at.thread);
        if self.reads.is_new(var, kind, clock.epoch(), clock) || kind.writes() {
            let spot = Spot { place, at, var };
            self.sources.note(var, kind, Seen::new(at.index, kind, clock.epoch(), clock, spot));
        }
    }
}

impl Visitor for ReadSources {
    fn reserve(&mut self, sizes: &Sizes) {
        self.order.reserve(sizes);
        self.last_writes.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        let place = self.begin();
        if let Some(block) = touch.block {
            self.allocations.blocks.insert(touch.var, block);
        }
        if touch.kind == AccessKind::Alloc {
            self.allocations.places.insert(touch.var, place);
        }
        if let Some(order) = touch.order {
            self.order.atomic_acquire(at.thread, touch.var, touch.kind, order);
        }
        for (var, kind) in touch.each() {
            self.note(at, var, kind, place);
        }
        if let Some(order) = touch.order {
            self.order.atomic_release(at.thread, touch.var, touch.kind, order);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.begin();
        self.order.fence(at.thread, order);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.begin();
        self.order.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.begin();
        self.order.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.begin();
        self.order.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.begin();
        self.order.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.begin();
        self.order.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.begin();
        self.order.wait(at.thread, object);
    }

    fn other(&mut self, _: At) {
        self.begin();
    }
}
