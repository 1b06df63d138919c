//! Shared by all detectors that compare the clocks of threads: the clocks, and how each operation except an access changes them.

use std::ops::Range;

use overtake_trace::{LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::sync::SyncClocks;
use crate::access::{Access, AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::visitor::Touch;

/// The handlers of everything but accesses, for a detector whose field `clocks` is a [`SyncClocks`].
macro_rules! synchronise_by_clocks {
    () => {
        fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
            self.clocks.fence(at.thread, order);
        }

        #[inline]
        fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
            self.clocks.acquire(at.thread, lock, mode);
        }

        #[inline]
        fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
            self.clocks.release(at.thread, lock, mode);
        }

        fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
            self.clocks.fork(at.thread, child);
        }

        fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
            self.clocks.join(at.thread, child);
        }

        fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
            self.clocks.post(at.thread, object);
        }

        fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
            self.clocks.wait(at.thread, object);
        }
    };
}
pub(super) use synchronise_by_clocks;

/// A judge of accesses by what their threads know.
pub(crate) trait Judge<const LAZY: bool> {
    /// Whether it judges sweeps faster than their accesses one by one.
    const TAKES_SWEEPS: bool = false;

    /// A plain access.
    fn plain(&mut self, clocks: &mut SyncClocks<LAZY>, var: VarId, access: Access, races: &mut Findings);

    /// An atomic access, when what it acquires is known and what it releases is not published yet.
    fn atomic(&mut self, clocks: &mut SyncClocks<LAZY>, var: VarId, access: Access, races: &mut Findings);

    /// A sweep of plain accesses, of which this is the first one.
    fn sweep(
        &mut self,
        clocks: &mut SyncClocks<LAZY>,
        first: VarId,
        count: u32,
        access: Access,
        races: &mut Findings,
    ) {
        for number in 0..count {
            let access = Access { at: access.at.later(number), ..access };
            self.plain(clocks, VarId(first.0 + number), access, races);
        }
    }

    /// Whether all that is kept of a variable is surely ordered before the next event of `thread`.
    fn is_ordered(&self, clocks: &SyncClocks<LAZY>, thread: ThreadId, var: VarId) -> bool {
        let _ = (clocks, thread, var);
        false
    }

    /// No further event names these variables.
    fn end_variables(&mut self, ended: &Range<VarId>) {
        let _ = ended;
    }

    /// Bytes of state.
    fn state_bytes(&self) -> usize;

    /// Figures of its own, for people.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

/// The detector that a judge makes; `LAZY` as in [`SyncClocks`].
#[derive(Default, Debug)]
pub(crate) struct ByClocks<J, const LAZY: bool = false> {
    pub(crate) clocks: SyncClocks<LAZY>,
    pub(super) judge: J,
}

impl<J, const LAZY: bool> ByClocks<J, LAZY> {
    pub(crate) fn new(judge: J) -> Self {
        ByClocks { clocks: SyncClocks::default(), judge }
    }
}

impl<J: Judge<LAZY>, const LAZY: bool> ByClocks<J, LAZY> {
    /// An access reads the heap block that it goes to, in the same epoch.
    #[inline(always)]
    fn read_block(&mut self, at: At, block: Option<VarId>, races: &mut Findings) {
        if let Some(block) = block {
            self.judge.plain(&mut self.clocks, block, Access { at, kind: AccessKind::Read }, races);
        }
    }

    #[inline(never)]
    fn atomic(&mut self, at: At, touch: Touch<'_>, order: MemoryOrder, races: &mut Findings) {
        let Touch { var, kind, block, .. } = touch;
        self.clocks.atomic_acquire(at.thread, var, kind, order);
        self.judge.atomic(&mut self.clocks, var, Access { at, kind }, races);
        self.read_block(at, block, races);
        self.clocks.atomic_release(at.thread, var, kind, order);
    }
}

impl<J: Judge<LAZY>, const LAZY: bool> Detector for ByClocks<J, LAZY> {
    const TAKES_SWEEPS: bool = J::TAKES_SWEEPS;

    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        if let Some(order) = touch.order {
            return self.atomic(at, touch, order, races);
        }
        self.judge.plain(&mut self.clocks, touch.var, Access { at, kind: touch.kind }, races);
        self.read_block(at, touch.block, races);
    }

    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32, races: &mut Findings) {
        let Touch { var, kind, block, .. } = touch;
        let is_ordered = |block| self.judge.is_ordered(&self.clocks, at.thread, block);
        if block.is_none_or(is_ordered) {
            // Reads of the block are no races, and only the last one is kept.
            self.judge.sweep(&mut self.clocks, var, count, Access { at, kind }, races);
            self.read_block(at.later(count - 1), block, races);
        } else {
            (0..count).for_each(|number| self.access(at.later(number), touch.further(number), races));
        }
    }

    synchronise_by_clocks!();

    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        for ended in ended {
            self.clocks.end_variables(ended);
            self.judge.end_variables(ended);
        }
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.judge.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.judge.figures()
    }
}
