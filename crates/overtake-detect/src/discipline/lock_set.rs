//! Variables that no lock protects.
//!
//! **Source.** The definition of `docs/semantics.md`; with `eraser`, the state machine of Savage et al., *Eraser: A Dynamic
//! Data Race Detector for Multithreaded Programs*, TOCS 1997, in its version for reader-writer locks.
//! **Answer.** One report per racy variable, at the access where its conditions first hold: it has a conflicting pair, and
//! no lock protected all of its accesses. The pair is that access and the latest earlier one it conflicts with; if it
//! conflicts with none, the latest conflicting pair. Nothing here looks at order: a suspicion, never a proof.
//! **Eraser** ignores accesses while one thread initialises the variable: the locks of accesses count from the first access of a second
//! thread on, and it asks for a write since then. What it reports depends on the schedule. An atomic access holds its
//! variable's own lock, so variables with atomic accesses only are left alone. A report needs a conflicting pair here
//! too; without one it waits for it.
//! **State.** Per variable the set of locks that protected all accesses (by [`locks`](crate::locks)), and its recent accesses: per
//! class the last one, and the last one of another thread, in a second table where most variables do not need it.
//! **Invariant.** I1  Of those recent accesses, the latest one that conflicts with an access of a given thread and class is
//! always kept, and so is the latest conflicting pair: what pushes an access out is of its class, and either of its
//! thread or of a third one, which would conflict with the same accesses and be later.
//! **Cost.** O(1) per access plus each intersection of two sets once (see `locks`).

use std::marker::PhantomData;

use overtake_trace::{IdVec, ThreadId, VarId};

use super::by_locks::{ByLocks, LockJudge};
use super::seen::Seen;
use crate::access::{Access, AccessKind, At, Class};
use crate::findings::Findings;
use crate::locks::{HeldLocks, SetId};
use crate::passes::Analysis;
use crate::race::{Race, Verdict};
use crate::settings::{OptionError, Options};

/// Starts the detector.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(if options.eraser {
        Analysis::one_pass(ByLocks::<LockSet<Eraser>>::default())
    } else {
        Analysis::one_pass(ByLocks::<LockSet<Definition>>::default())
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
    variables: IdVec<VarId, LockSetState>,
    /// The rest of the variables with several threads or atomic accesses.
    others: Vec<Others>,
    free_others: Vec<u32>,
    /// How many of them have atomic accesses.
    with_atomics: usize,
    discipline: PhantomData<D>,
}

/// One to a cache line: two accesses in a row seldom go to neighbours, and 48 bytes would often lie on two lines.
#[derive(Debug)]
#[repr(align(64))]
struct LockSetState {
    /// The locks that protected every access that counts.
    candidates: SetId,
    /// Its first thread.
    owner: ThreadId,
    status: Status,
    /// Whether an access that counts wrote.
    written: bool,
    /// Whether an access that counts was not atomic.
    plain: bool,
    /// The classes of all accesses.
    classes: u8,
    /// Its place in the second table, or [`NO_OTHERS`].
    others: u32,
    /// The last plain read and the last plain write.
    last: [Seen; 2],
}

const _: () = assert!(size_of::<LockSetState>() == 64);

const NO_OTHERS: u32 = u32::MAX;

/// What variables of one thread without atomic accesses do not have.
#[derive(Debug)]
struct Others {
    /// The last plain read and write of another thread than the very last ones.
    of_another_thread: [Seen; 2],
    atomic: Option<Box<Atomics>>,
}

/// The last atomic accesses that only read, and those that write; of each the last one, and the last one of another
/// thread.
#[derive(Debug)]
struct Atomics {
    last: [Seen; 2],
    of_another_thread: [Seen; 2],
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Status {
    Untouched,
    OneThread,
    ManyThreads,
    Reported,
}

impl Default for Others {
    fn default() -> Self {
        Others { of_another_thread: [Seen::NOTHING; 2], atomic: None }
    }
}

impl Default for Atomics {
    fn default() -> Self {
        Atomics { last: [Seen::NOTHING; 2], of_another_thread: [Seen::NOTHING; 2] }
    }
}

impl Default for LockSetState {
    fn default() -> Self {
        LockSetState {
            candidates: SetId::EVERYTHING,
            owner: ThreadId(u32::MAX),
            status: Status::Untouched,
            written: false,
            plain: false,
            classes: 0,
            others: NO_OTHERS,
            last: [Seen::NOTHING; 2],
        }
    }
}

impl LockSetState {
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

impl<D: Discipline> LockJudge for LockSet<D> {
    fn grow_to(&mut self, _threads: usize, variables: usize) {
        self.variables.grow_to(variables);
    }

    #[inline]
    fn access(&mut self, held: &mut HeldLocks, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        let variable = &mut self.variables[var];
        let status = variable.enter(at.thread);
        if status == Status::Reported {
            return;
        }
        if D::COUNTS_FIRST_THREAD || status == Status::ManyThreads {
            variable.count(held, at, kind);
        }
        let new = Access { at, kind };
        variable.classes |= Class::of(kind).bit();
        if status == Status::ManyThreads
            && variable.is_unprotected::<D>()
            && Class::any_conflict(variable.classes)
            && self.judge(var, new, races)
        {
            return;
        }
        self.keep(var, new, status);
    }

    fn used_sets(&mut self, used: impl FnMut(SetId)) {
        self.variables.iter().map(|variable| variable.candidates).for_each(used);
    }

    fn state_bytes(&self) -> usize {
        self.variables.table_bytes()
            + self.others.capacity() * size_of::<Others>()
            + self.with_atomics * size_of::<Atomics>()
            + self.free_others.capacity() * size_of::<u32>()
    }
}

impl<D: Discipline> LockSet<D> {
    #[inline]
    fn keep(&mut self, var: VarId, new: Access, status: Status) {
        let variable = &mut self.variables[var];
        let class = usize::from(new.kind.writes());
        if !new.kind.is_atomic() {
            let previous = std::mem::replace(&mut variable.last[class], Seen::new(new));
            if status == Status::ManyThreads && previous.is_of_another_thread(new) {
                self.others_of(var).of_another_thread[class] = previous;
            }
            return;
        }
        let atomic = &mut self.others_of(var).atomic;
        let is_first = atomic.is_none();
        let atomic = atomic.get_or_insert_default();
        let previous = std::mem::replace(&mut atomic.last[class], Seen::new(new));
        if previous.is_of_another_thread(new) {
            atomic.of_another_thread[class] = previous;
        }
        self.with_atomics += usize::from(is_first);
    }

    /// Reports an unprotected variable, if it has a conflicting pair.
    fn judge(&mut self, var: VarId, new: Access, races: &mut Findings) -> bool {
        let variable = &mut self.variables[var];
        let others = self.others.get(variable.others as usize);
        let atomic = others.and_then(|others| others.atomic.as_ref());
        let kept = || {
            let others = others.into_iter().flat_map(|others| &others.of_another_thread);
            let atomic =
                atomic.into_iter().flat_map(|atomic| atomic.last.iter().chain(&atomic.of_another_thread));
            variable.last.iter().chain(others).chain(atomic).filter_map(|seen| seen.access())
        };
        let Some((first, second)) = pair_to_report(kept, new) else { return false };
        variable.status = Status::Reported;
        if variable.others != NO_OTHERS {
            let freed = std::mem::take(&mut self.others[variable.others as usize]);
            self.with_atomics -= usize::from(freed.atomic.is_some());
            self.free_others.push(variable.others);
        }
        races.report_late(Race { var, verdict: Verdict::Suspected, first, second }, new.at.index);
        true
    }

    fn others_of(&mut self, var: VarId) -> &mut Others {
        let place = &mut self.variables[var].others;
        if *place == NO_OTHERS {
            *place = self.free_others.pop().unwrap_or_else(|| {
                self.others.push(Others::default());
                self.others.len() as u32 - 1
            });
        }
        &mut self.others[*place as usize]
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
