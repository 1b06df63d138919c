//! Variables that no lock protects.
//!
//! **Source.** The definition of `docs/semantics.md`; with `eraser`, the state machine of Savage et al., *Eraser: A Dynamic
//! Data Race Detector for Multithreaded Programs*, TOCS 1997, in its version for reader-writer locks.
//! **Answer.** One report per racy variable, at the access where its conditions first hold: it has a conflicting pair, and
//! no lock protected all of its accesses. The pair is that access and the latest earlier one it conflicts with; if it
//! conflicts with none, the latest conflicting pair. Nothing here looks at order: a suspicion, never a proof.
//! **Eraser** looks away while one thread initialises: the locks of accesses count from the first access of a second
//! thread on, and it asks for a write since then. What it reports depends on the schedule. An atomic access holds its
//! variable's own lock, so variables with atomic accesses only are left alone. A report needs a conflicting pair here
//! too; without one it waits for it.
//! **State.** Per variable the set of locks that protected all accesses (by [`held`](super::held)), and its recent accesses: per
//! class the last one, and the last one of another thread. Classes of atomic accesses are in a second table.
//! **Invariant.** I1  Of those recent accesses, the latest one that conflicts with an access of a given thread and class is
//! always kept, and so is the latest conflicting pair: what pushes an access out is of its class, and either of its
//! thread or of a third one, which would conflict with the same accesses and be later.
//! **Cost.** O(1) per access plus each intersection of two sets once (see `held`).

use std::marker::PhantomData;

use overtake_trace::{EventIndex, IdVec, LocationId, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use super::held::{HeldLocks, SetId};
use crate::access::{Access, AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::race::{Race, RaceLog, Verdict};
use crate::registry::{Analysis, OnePass, OptionError, Options};

/// Starts the detector.
pub(crate) fn start(options: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(if options.eraser {
        Box::new(OnePass::new(LockSet::<Eraser>::default()))
    } else {
        Box::new(OnePass::new(LockSet::<Definition>::default()))
    })
}

/// Which accesses count, and what else is asked for.
pub(crate) trait Discipline: Default {
    /// Whether accesses count while one thread alone has accessed the variable.
    const COUNTS_FIRST_THREAD: bool;
    /// Whether an access that counts has to be a write, and some counted access plain.
    const ASKS_FOR_WRITE: bool;
}

/// The definition: every access counts.
#[derive(Default, Debug)]
pub(crate) struct Definition;

impl Discipline for Definition {
    const COUNTS_FIRST_THREAD: bool = true;
    const ASKS_FOR_WRITE: bool = false;
}

/// Eraser's state machine.
#[derive(Default, Debug)]
pub(crate) struct Eraser;

impl Discipline for Eraser {
    const COUNTS_FIRST_THREAD: bool = false;
    const ASKS_FOR_WRITE: bool = true;
}

/// The detector.
#[derive(Default, Debug)]
pub(crate) struct LockSet<D> {
    held: HeldLocks,
    variables: IdVec<VarId, Variable>,
    /// Recent atomic accesses of the variables that have them.
    atomics: Vec<Recent>,
    free_atomics: Vec<u32>,
    discipline: PhantomData<D>,
}

/// A variable; a little more than a cache line, of which the variables of one thread use the first half.
#[derive(Debug)]
struct Variable {
    /// The locks that protected every access that counts.
    candidates: SetId,
    /// Its first thread.
    owner: ThreadId,
    status: Status,
    /// Whether an access that counts wrote.
    written: bool,
    /// Whether an access that counts was not atomic.
    plain: bool,
    /// Its place in the second table, or [`NO_ATOMICS`].
    atomics: u32,
    recent: Recent,
}

const NO_ATOMICS: u32 = u32::MAX;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Untouched,
    OneThread,
    ManyThreads,
    Reported,
}

impl Default for Variable {
    fn default() -> Self {
        Variable {
            candidates: SetId::EVERYTHING,
            owner: ThreadId(u32::MAX),
            status: Status::Untouched,
            written: false,
            plain: false,
            atomics: NO_ATOMICS,
            recent: Recent::default(),
        }
    }
}

impl Variable {
    /// Notes who accesses the variable.
    #[inline]
    fn enter(&mut self, thread: ThreadId) -> Status {
        match self.status {
            Status::Untouched => (self.owner, self.status) = (thread, Status::OneThread),
            Status::OneThread if self.owner != thread => self.status = Status::ManyThreads,
            _ => {}
        }
        self.status
    }

    #[inline]
    fn count(&mut self, held: &mut HeldLocks, at: At, kind: AccessKind) {
        let protecting = held.of(at.thread).protecting(kind.writes());
        self.candidates = held.sets.intersect(self.candidates, protecting);
        self.written |= kind.writes();
        self.plain |= !kind.is_atomic();
    }

    #[inline]
    fn is_unprotected<D: Discipline>(&self) -> bool {
        self.candidates == SetId::EMPTY && (!D::ASKS_FOR_WRITE || (self.written && self.plain))
    }
}

impl<D: Discipline> LockSet<D> {
    #[inline]
    fn access(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        let variable = &mut self.variables[var];
        let status = variable.enter(at.thread);
        if status == Status::Reported {
            return;
        }
        if D::COUNTS_FIRST_THREAD || status == Status::ManyThreads {
            variable.count(&mut self.held, at, kind);
        }
        let new = Access { at, kind };
        if status == Status::ManyThreads && variable.is_unprotected::<D>() && self.judge(var, new, races) {
            return;
        }
        if kind.is_atomic() {
            self.atomics_of(var).add(new);
        } else {
            self.variables[var].recent.add(new);
        }
    }

    /// Reports an unprotected variable, if it has a conflicting pair.
    fn judge(&mut self, var: VarId, new: Access, races: &mut RaceLog) -> bool {
        let variable = &mut self.variables[var];
        let atomics = self.atomics.get(variable.atomics as usize);
        let kept = || variable.recent.kept().chain(atomics.into_iter().flat_map(Recent::kept));
        let Some((first, second)) = pair_to_report(kept, new) else { return false };
        variable.status = Status::Reported;
        if variable.atomics != NO_ATOMICS {
            self.free_atomics.push(variable.atomics);
        }
        races.report(Race { var, verdict: Verdict::Suspected, first, second });
        true
    }

    fn atomics_of(&mut self, var: VarId) -> &mut Recent {
        let place = &mut self.variables[var].atomics;
        if *place == NO_ATOMICS {
            *place = self.free_atomics.pop().unwrap_or_else(|| {
                self.atomics.push(Recent::default());
                self.atomics.len() as u32 - 1
            });
            self.atomics[*place as usize] = Recent::default();
        }
        &mut self.atomics[*place as usize]
    }

    #[cold]
    fn collect(&mut self) {
        self.held.collect(self.variables.iter().map(|variable| variable.candidates));
    }
}

/// Recent accesses of a variable, plain ones or atomic ones: of reads and of writes the last one, and the last one of
/// another thread.
#[derive(Debug)]
#[repr(C)] // the last ones first: one thread needs no more
struct Recent {
    last: [Seen; 2],
    of_another_thread: [Seen; 2],
}

impl Default for Recent {
    fn default() -> Self {
        Recent { last: [Seen::NOTHING; 2], of_another_thread: [Seen::NOTHING; 2] }
    }
}

impl Recent {
    #[inline]
    fn add(&mut self, new: Access) {
        let class = usize::from(new.kind.writes());
        let last = &mut self.last[class];
        if last.thread != new.at.thread && *last != Seen::NOTHING {
            self.of_another_thread[class] = *last;
        }
        *last = Seen::new(new);
    }

    fn kept(&self) -> impl Iterator<Item = Access> {
        self.last.iter().chain(&self.of_another_thread).filter_map(|seen| seen.access())
    }
}

/// An access in 16 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Seen {
    /// The index, shifted, and the kind in the lowest bits.
    index_and_kind: u64,
    thread: ThreadId,
    location: LocationId,
}

const KINDS: [AccessKind; 6] = [
    AccessKind::Read,
    AccessKind::Write,
    AccessKind::Load,
    AccessKind::Store,
    AccessKind::Rmw,
    AccessKind::Free,
];
const KIND_BITS: u32 = 3;

impl Seen {
    const NOTHING: Seen =
        Seen { index_and_kind: u64::MAX, thread: ThreadId(u32::MAX), location: LocationId::UNKNOWN };

    #[inline]
    fn new(access: Access) -> Seen {
        let At { index, thread, location } = access.at;
        Seen { index_and_kind: index.0 << KIND_BITS | access.kind as u64, thread, location }
    }

    fn access(self) -> Option<Access> {
        let kind = *KINDS.get((self.index_and_kind & ((1 << KIND_BITS) - 1)) as usize)?;
        let index = EventIndex(self.index_and_kind >> KIND_BITS);
        Some(Access { at: At { index, thread: self.thread, location: self.location }, kind })
    }
}

/// The pair to report when `new` comes: with `new`, or else the latest one of those kept. I1.
fn pair_to_report<I: Iterator<Item = Access>>(kept: impl Fn() -> I, new: Access) -> Option<(Access, Access)> {
    let latest =
        |second: Access| kept().filter(|&first| is_pair(first, second)).max_by_key(|first| first.at.index);
    latest(new).map(|first| (first, new)).or_else(|| {
        let pairs = kept().filter_map(|second| latest(second).map(|first| (first, second)));
        pairs.max_by_key(|(first, second)| (second.at.index, first.at.index))
    })
}

fn is_pair(first: Access, second: Access) -> bool {
    first.at.thread != second.at.thread
        && first.at.index < second.at.index
        && first.kind.conflicts(second.kind)
}

impl<D: Discipline> Detector for LockSet<D> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.held.grow_to(sizes.threads);
        self.variables.grow_to(sizes.variables);
    }

    #[inline]
    fn read(&mut self, at: At, var: VarId, races: &mut RaceLog) {
        self.access(at, var, AccessKind::Read, races);
    }

    #[inline]
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        self.access(at, var, kind, races);
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, _order: MemoryOrder, races: &mut RaceLog) {
        self.access(at, var, kind, races);
    }

    fn fence(&mut self, _at: At, _order: MemoryOrder) {}

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
        if self.held.wants_collection() {
            self.collect();
        }
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }

    fn fork(&mut self, _at: At, _child: ThreadId) {}

    fn join(&mut self, _at: At, _child: ThreadId) {}

    fn post(&mut self, _at: At, _object: SyncId) {}

    fn wait(&mut self, _at: At, _object: SyncId) {}

    fn state_bytes(&self) -> usize {
        self.held.state_bytes()
            + self.variables.table_bytes()
            + self.atomics.capacity() * size_of::<Recent>()
            + self.free_atomics.capacity() * size_of::<u32>()
    }
}
