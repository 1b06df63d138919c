//! What reads of a recording may have seen.
//!
//! In a recording the order between operations that synchronise is known; the accesses between them may have happened in any
//! order that happens-before allows. So it is not known what a read saw that races with a write. It may have seen any write
//! `w` of its variable such that the read is not known to come before `w`, and such that no other write `x` is known to come
//! after `w` and before the read. These are the read's *sources*.
//!
//! *Known before* is happens-before, and for two atomic accesses of one variable their order in the trace: each has a stamp.
//!
//! A set of events that contains, with a read, all of its sources contains the write that the read saw, and no new write
//! between the two, whatever the real order was. That is why predictions from recordings close over all sources.
//!
//! **Only variables with a happens-before race have reads with several sources.** A read of any other variable comes after all
//! earlier writes and before all later ones, and writes come one after the other. So only accesses to such variables are
//! collected, and those of one thread between which nothing happened to its clock are kept once.
//!
//! **Algorithm.** Per variable and thread the plain and the atomic writes are two lists in thread order. Along a list both
//! "known before the read" and "known after the read" are monotone. If the last write of a list that is not known to come after
//! the read is hidden by another one, so are the writes before it. So a read has at most one source in each list, apart from
//! writes before that one in its thread, which are needed with the source anyway.
//! **Cost.** A read takes O(lists²) and a binary search in each list.

use std::sync::Arc;

use overtake_clock::{Epoch, ThreadClock, Time};
use overtake_trace::{EventIndex, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::access::AccessKind;

/// Accesses to variables that race, with a place of the caller's choice for each.
#[derive(Debug)]
pub(crate) struct Sources<P> {
    vars: FxHashMap<VarId, Accesses<P>>,
}

/// The accesses of a variable.
#[derive(Debug)]
struct Accesses<P> {
    reads: Vec<Seen<P>>,
    writes: Vec<Writes<P>>,
}

/// Plain or atomic writes of one thread, in its order.
#[derive(Debug)]
struct Writes<P> {
    thread: u32,
    atomic: bool,
    items: Vec<Seen<P>>,
    /// The thread read the variable after the last of them.
    was_read: bool,
}

/// An access, with what its thread knew.
#[derive(Clone, Debug)]
pub(crate) struct Seen<P> {
    thread: u32,
    index: EventIndex,
    time: Time,
    clock: Arc<[Time]>,
    atomic: bool,
    place: P,
}

impl<P: Copy> Seen<P> {
    /// An access in an epoch of a thread that knows what `clock` says. An atomic access may have ended its epoch before the read of
    /// its heap block is noted.
    pub(crate) fn new(
        index: EventIndex,
        kind: AccessKind,
        epoch: Epoch,
        clock: &ThreadClock,
        place: P,
    ) -> Seen<P> {
        Seen {
            thread: epoch.thread,
            index,
            time: epoch.time,
            clock: clock.learned().times().into(),
            atomic: kind.is_atomic(),
            place,
        }
    }

    /// Whether this is known to come before `other`.
    fn is_before(&self, other: &Seen<P>) -> bool {
        if self.thread == other.thread || self.atomic && other.atomic {
            return self.index < other.index;
        }
        other.clock.get(self.thread as usize).is_some_and(|&time| time >= self.time)
    }

    /// Whether nothing happened to the thread's clock between the two.
    fn knows_the_same(&self, other: &Seen<P>) -> bool {
        self.time == other.time && self.clock == other.clock
    }

    /// Where it is.
    pub(crate) fn place(&self) -> P {
        self.place
    }

    /// The same, to be changed.
    pub(crate) fn place_mut(&mut self) -> &mut P {
        &mut self.place
    }
}

impl<P: Copy> Default for Sources<P> {
    fn default() -> Self {
        Sources { vars: FxHashMap::default() }
    }
}

impl<P: Copy> Sources<P> {
    /// Notes an access. Of reads only those that [`Reads::is_new`] says are new have to be noted.
    pub(crate) fn note(&mut self, var: VarId, kind: AccessKind, access: Seen<P>) {
        let accesses = self.vars.entry(var).or_insert_with(|| Accesses { reads: vec![], writes: vec![] });
        if kind.reads() {
            accesses.reads.push(access.clone());
            let own = accesses.writes.iter_mut().filter(|writes| writes.thread == access.thread);
            own.for_each(|writes| writes.was_read = true);
        }
        if kind.writes() {
            accesses.add_write(access);
        }
    }

    /// Each read with its sources in other threads, if it has any. In the order of variables and events.
    pub(crate) fn of_reads(&self) -> Vec<(P, Vec<P>)> {
        let mut vars: Vec<_> = self.vars.iter().collect();
        vars.sort_unstable_by_key(|(var, _)| **var);
        vars.into_iter()
            .flat_map(|(_, accesses)| accesses.reads.iter().map(move |read| (accesses, read)))
            .map(|(accesses, read)| (read.place, accesses.sources(read)))
            .filter(|(_, sources)| !sources.is_empty())
            .collect()
    }
}

impl<P: Copy> Sources<P> {
    /// The reads of which it is not known what they saw, in the order of variables and events.
    pub(crate) fn unsure_reads(&self) -> Vec<P> {
        let mut vars: Vec<_> = self.vars.iter().collect();
        vars.sort_unstable_by_key(|(var, _)| **var);
        let reads = vars.into_iter().flat_map(|(_, accesses)| {
            accesses.reads.iter().filter(|read| accesses.leaves_open(read)).map(Seen::place)
        });
        reads.collect()
    }
}

impl<P: Copy> Accesses<P> {
    /// Whether it is not known what a read saw: it may have seen several writes, or one that is not known to come before it.
    fn leaves_open<'a>(&'a self, read: &Seen<P>) -> bool {
        let before: Vec<&Seen<P>> = self.writes.iter().filter_map(|list| list.last_before(read)).collect();
        let last = |list: &'a Writes<P>| match list.thread == read.thread {
            true => list.last_before(read),
            false => list.last_not_after(read),
        };
        let mut sources = self
            .writes
            .iter()
            .filter_map(last)
            .filter(|write| !before.iter().any(|hiding| write.is_before(hiding)));
        sources.next().is_some_and(|source| !source.is_before(read)) || sources.next().is_some()
    }

    fn add_write(&mut self, access: Seen<P>) {
        let (thread, atomic) = (access.thread, access.atomic);
        let known = self.writes.iter().position(|list| list.thread == thread && list.atomic == atomic);
        let at = known.unwrap_or_else(|| {
            self.writes.push(Writes { thread, atomic, items: Vec::new(), was_read: false });
            self.writes.len() - 1
        });
        let list = &mut self.writes[at];
        let was_read = std::mem::take(&mut list.was_read);
        match list.items.last_mut() {
            // The last one of those that are known to the same threads answers for all of them.
            Some(last) if !atomic && !was_read && last.knows_the_same(&access) => *last = access,
            _ => list.items.push(access),
        }
    }

    fn sources(&self, read: &Seen<P>) -> Vec<P> {
        let before: Vec<&Seen<P>> = self.writes.iter().filter_map(|list| list.last_before(read)).collect();
        let may_be_seen = self.writes.iter().filter(|list| list.thread != read.thread);
        may_be_seen
            .filter_map(|list| list.last_not_after(read))
            .filter(|write| !before.iter().any(|hiding| write.is_before(hiding)))
            .map(|write| write.place)
            .collect()
    }
}

impl<P: Copy> Writes<P> {
    /// The last one that is known to come before `read`.
    fn last_before(&self, read: &Seen<P>) -> Option<&Seen<P>> {
        let before = self.items.partition_point(|write| write.is_before(read));
        self.items[..before].last()
    }

    /// The last one that is not known to come after `read`.
    fn last_not_after(&self, read: &Seen<P>) -> Option<&Seen<P>> {
        let not_after = self.items.partition_point(|write| !read.is_before(write));
        self.items[..not_after].last()
    }
}

/// Finds the reads that may have other sources than the read before them. A read has the same sources if it is of the same thread and variable, without
/// a write or new knowledge of the thread in between.
#[derive(Default, Debug)]
pub(crate) struct Reads {
    latest: FxHashMap<(VarId, ThreadId), Knowledge>,
}

/// A thread's time, and what it knows of the others.
type Knowledge = (Time, Arc<[Time]>);

impl Reads {
    /// Notes an access in an epoch; whether it is a read with sources of its own.
    pub(crate) fn is_new(&mut self, var: VarId, kind: AccessKind, epoch: Epoch, clock: &ThreadClock) -> bool {
        let key = (var, ThreadId(epoch.thread));
        if kind.writes() {
            self.latest.remove(&key);
            return kind.reads();
        }
        if kind.is_atomic() {
            return true; // its order among atomic accesses counts
        }
        let known = clock.learned().times();
        if self.latest.get(&key).is_some_and(|(time, times)| *time == epoch.time && **times == *known) {
            return false;
        }
        self.latest.insert(key, (epoch.time, known.into()));
        true
    }
}
