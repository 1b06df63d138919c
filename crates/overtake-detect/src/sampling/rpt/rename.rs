//! A detector that sees only as many ids as a window uses.
//!
//! Variables, locks and objects are numbered anew in each window, in the order in which they first come up. So the tables
//! of a fresh detector grow with the window, not with the trace. The tables from old numbers to new ones are as long as
//! the trace's, are kept from window to window, and are not cleared: each entry says which window it is of.

use overtake_trace::{Id, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::At;
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::visitor::Touch;

/// Numbers of one kind of id.
#[derive(Debug)]
struct Renaming<I> {
    numbers: IdVec<I, Number>,
    originals: Vec<I>,
}

impl<I> Default for Renaming<I> {
    fn default() -> Self {
        Renaming { numbers: IdVec::default(), originals: Vec::new() }
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct Number {
    window: u32,
    number: u32,
}

impl<I: Id + Copy> Renaming<I> {
    #[inline]
    fn rename(&mut self, window: u32, id: I) -> I {
        let entry = &mut self.numbers[id];
        if entry.window != window {
            *entry = Number { window, number: self.originals.len() as u32 };
            self.originals.push(id);
        }
        I::from_index(entry.number as usize)
    }

    /// How long the detector's table must be: doubles when it grows, so that it seldom does.
    fn table(&self) -> usize {
        self.originals.len().next_power_of_two().max(64)
    }

    fn state_bytes(&self) -> usize {
        self.numbers.table_bytes() + self.originals.capacity() * size_of::<I>()
    }
}

/// New numbers for the ids of windows.
#[derive(Default, Debug)]
pub(super) struct Renamings {
    window: u32,
    variables: Renaming<VarId>,
    locks: Renaming<LockId>,
    objects: Renaming<SyncId>,
}

impl Renamings {
    /// Forgets all numbers.
    pub(super) fn begin_window(&mut self) {
        self.variables.originals.clear();
        self.locks.originals.clear();
        self.objects.originals.clear();
        match self.window.checked_add(1) {
            Some(window) => self.window = window,
            None => *self = Renamings { window: 1, ..Renamings::default() },
        }
    }

    /// The variable behind a number.
    pub(super) fn original(&self, number: VarId) -> VarId {
        self.variables.originals[number.index()]
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.variables.state_bytes() + self.locks.state_bytes() + self.objects.state_bytes()
    }
}

/// A detector behind new numbers, to which it does not matter what variables stand for.
#[derive(Debug)]
pub(super) struct Renamed<'a, D> {
    pub(super) detector: &'a mut D,
    pub(super) renamings: &'a mut Renamings,
    pub(super) sizes: &'a mut Sizes,
}

impl<D: Detector> Renamed<'_, D> {
    #[inline]
    fn variable(&mut self, var: VarId) -> VarId {
        let number = self.renamings.variables.rename(self.renamings.window, var);
        if number.index() >= self.sizes.variables {
            self.sizes.variables = self.renamings.variables.table();
            self.detector.reserve(self.sizes);
        }
        number
    }

    #[inline]
    fn lock(&mut self, lock: LockId) -> LockId {
        let number = self.renamings.locks.rename(self.renamings.window, lock);
        if number.index() >= self.sizes.locks {
            self.sizes.locks = self.renamings.locks.table();
            self.detector.reserve(self.sizes);
        }
        number
    }

    fn object(&mut self, object: SyncId) -> SyncId {
        let number = self.renamings.objects.rename(self.renamings.window, object);
        if number.index() >= self.sizes.objects {
            self.sizes.objects = self.renamings.objects.table();
            self.detector.reserve(self.sizes);
        }
        number
    }
}

impl<D: Detector> Detector for Renamed<'_, D> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.renamings.variables.numbers.grow_to(sizes.variables);
        self.renamings.locks.numbers.grow_to(sizes.locks);
        self.renamings.objects.numbers.grow_to(sizes.objects);
        if sizes.threads > self.sizes.threads {
            self.sizes.threads = sizes.threads;
            self.detector.reserve(self.sizes);
        }
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        let var = self.variable(touch.var);
        let block = touch.block.map(|block| self.variable(block));
        self.detector.access(at, Touch { var, block, ..touch }, races);
    }

    fn fence(&mut self, at: At, order: MemoryOrder, findings: &mut Findings) {
        self.detector.fence(at, order, findings);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, findings: &mut Findings) {
        let lock = self.lock(lock);
        self.detector.acquire(at, lock, mode, findings);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode, findings: &mut Findings) {
        let lock = self.lock(lock);
        self.detector.release(at, lock, mode, findings);
    }

    fn fork(&mut self, at: At, child: ThreadId, findings: &mut Findings) {
        self.detector.fork(at, child, findings);
    }

    fn join(&mut self, at: At, child: ThreadId, findings: &mut Findings) {
        self.detector.join(at, child, findings);
    }

    fn post(&mut self, at: At, object: SyncId, findings: &mut Findings) {
        let object = self.object(object);
        self.detector.post(at, object, findings);
    }

    fn wait(&mut self, at: At, object: SyncId, findings: &mut Findings) {
        let object = self.object(object);
        self.detector.wait(at, object, findings);
    }

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes() + self.renamings.state_bytes()
    }
}
