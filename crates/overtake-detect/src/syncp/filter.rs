//! A first pass that finds out which variables and locks can matter at all, without changing any verdict.
//!
//! **Variables.** Call a variable *ordered* if each of its accesses comes after all earlier ones it conflicts with (atomic or
//! not), by thread order, fork and join, posts and waits, and by each read coming after the write that it sees,
//! already before the access itself: up to its `prev`. It has no race. Nor do its accesses matter for other races: that a
//! read needs the write it sees follows, along the trace, from edges that are kept. Variables of one thread and
//! variables that are only read are ordered. Judging an access by what it has seen itself instead of by its `prev` would
//! drop variables with races.
//! **Open variables.** Variables that are not ordered, and whose accesses are not kept apart by locks either (`guards.rs`). Only they have races, so
//! that a trace without one is not read again. Variables that locks protect matter all the same: what their reads saw decides about other races.
//! **Locks.** A lock that only one thread uses excludes no other thread.
//! **Threads.** Which are started by no fork, when each makes its last access that can be the second of a race, and which threads it waits for before: it
//! finds out what can be forgotten (`collect.rs`).
//!
//! **Source.** The idea of dropping ordered variables is used by Mathur, Pavlogiannis and Viswanathan in the experiments of
//! *Optimal Prediction of Synchronization-Preserving Races*, POPL 2021. It does not change sync-preserving verdicts; it
//! would change those of happens-before, so the happens-before clocks of the second pass see every atomic access.
//! **State.** Per thread a clock; per variable the clock of the last write and the reads since that are not ordered among
//! each other.
//! With hundreds of threads, clocks of last writes are left out when they take [`MOST_BYTES`]: then fewer variables are found to be ordered.
//! **Cost.** O(1) per access that learns nothing, O(threads) for one that does.

use std::ops::Range;

use overtake_clock::{Epoch, Snapshots, ThreadClock};
use overtake_trace::{
    EventIndex, Id, IdVec, LockId, MemoryOrder, Pages, Sizes, Symbols, SyncId, ThreadId, VarId, Variable,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::facts::{Marks, VarFacts};
use super::guards::{Guards, Standing};
use crate::access::{AccessKind, At};
use crate::detector::LockMode;
use crate::links::Finder;
use crate::posts::Posts;
use crate::visitor::{Touch, Visitor};

/// About how much room the clocks of last writes may take if there are many threads.
pub(crate) const MOST_BYTES: usize = 8 << 20;

/// What the first pass found out.
#[derive(Clone, Default, Debug)]
pub(crate) struct Census {
    /// Nothing was filtered.
    everything: bool,
    variables: Bits,
    /// Those that can have races.
    open: Bits,
    locks: Bits,
    /// No variable that matters is a heap block.
    pub(crate) no_block_matters: bool,
    /// The trace is a recording. In one, an allocation that happens before a use of its block was handed over, perhaps by code that is not
    /// instrumented: nobody knows that the order can be another one.
    pub(crate) is_recorded: bool,
    pub(super) threads: IdVec<ThreadId, ThreadFacts>,
    /// The joins of each thread, in their order.
    joins: IdVec<ThreadId, Vec<PlannedJoin>>,
}

/// A thread waits for another one.
#[derive(Clone, Copy, Debug)]
struct PlannedJoin {
    at: EventIndex,
    child: ThreadId,
    /// The thread's last event before that can be the second of a race, or that forks a thread.
    needed_before: Option<EventIndex>,
}

/// When a thread is heard of.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Life {
    /// No fork starts it.
    pub(crate) is_root: bool,
    pub(crate) last_event: Option<EventIndex>,
    /// The last event of its own, or that joins it.
    pub(crate) last_mention: Option<EventIndex>,
}

/// What is known of a thread in advance.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ThreadFacts {
    /// It did something before any fork of it, if there is one.
    pub(super) is_root: bool,
    /// None if it does nothing.
    pub(super) last_event: Option<EventIndex>,
    /// The last event that can be the second of a race, or that forks a thread.
    pub(super) last_needed: Option<EventIndex>,
}

#[derive(Clone, Default, Debug)]
struct Bits {
    words: Vec<u64>,
}

impl Bits {
    #[inline]
    fn has(&self, bit: usize) -> bool {
        self.words.get(bit / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    fn set(&mut self, bit: usize) {
        if bit / 64 >= self.words.len() {
            self.words.resize(bit / 64 + 1, 0);
        }
        self.words[bit / 64] |= 1 << (bit % 64);
    }

    fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        let words = self.words.iter().enumerate().filter(|(_, word)| **word != 0);
        words.flat_map(|(at, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit)
        })
    }

    fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }
}

impl Census {
    /// Says that everything matters.
    pub(crate) fn everything() -> Census {
        Census { everything: true, ..Census::default() }
    }

    /// Says that these variables and locks can matter, and nothing about threads: all state is kept to the end.
    pub(crate) fn of(variables: impl Iterator<Item = VarId>, locks: impl Iterator<Item = LockId>) -> Census {
        let mut census = Census::default();
        variables.for_each(|var| census.variables.set(var.index()));
        locks.for_each(|lock| census.locks.set(lock.index()));
        census
    }

    /// Notes what was found out about a variable.
    fn note(&mut self, var: VarId, facts: &VarFacts) {
        if facts.marks.has(Marks::MATTERS) {
            self.variables.set(var.index());
        }
        if facts.marks.has(Marks::IS_OPEN) && facts.marks.has(Marks::HAS_PLAIN) {
            self.open.set(var.index());
        }
    }

    /// Whether it tells what can matter from what cannot.
    pub(crate) fn is_filtered(&self) -> bool {
        !self.everything
    }

    /// Whether accesses to a variable can matter.
    #[inline]
    pub(crate) fn matters(&self, var: VarId) -> bool {
        self.everything || self.variables.has(var.index())
    }

    /// Whether sections of a lock can matter.
    #[inline]
    pub(crate) fn lock_matters(&self, lock: LockId) -> bool {
        self.everything || self.locks.has(lock.index())
    }

    /// Whether any variable can have races.
    pub(crate) fn any_variable_is_open(&self) -> bool {
        self.everything || self.open.words.iter().any(|word| *word != 0)
    }

    /// The variables that can have races, ascending, if that was found out.
    pub(crate) fn open_variables(&self) -> Option<Vec<VarId>> {
        (!self.everything).then(|| self.open.ones().map(VarId::from_index).collect())
    }

    /// The threads that a thread has waited for when it comes to its next event that can be the second of a race or forks a thread, if its present event
    /// is the one at `now` or an earlier one; and those that they wait for themselves until they end.
    pub(super) fn joined_first(&self, thread: ThreadId, now: EventIndex) -> Vec<ThreadId> {
        let to_come = |thread: ThreadId| {
            let joins = self.joins.get(thread).map_or(&[][..], Vec::as_slice);
            joins[joins.partition_point(|join| join.at < now)..].iter()
        };
        let mut joins: Vec<_> =
            to_come(thread).take_while(|join| join.needed_before < Some(now)).copied().collect();
        let mut seen: FxHashSet<_> = joins.iter().map(|join| join.child).chain([thread]).collect();
        let mut next = 0;
        while let Some(&PlannedJoin { at, child, .. }) = joins.get(next) {
            // What the child joins later, it does not bring: another thread may have its number by then.
            let brought = to_come(child).take_while(|join| join.at < at);
            joins.extend(brought.filter(|join| seen.insert(join.child)).copied());
            next += 1;
        }
        joins.into_iter().map(|join| join.child).collect()
    }

    /// When each thread is heard of.
    pub(crate) fn lives(&self) -> IdVec<ThreadId, Life> {
        let mut lives: IdVec<ThreadId, Life> = IdVec::new();
        for (thread, facts) in self.threads.enumerate() {
            let ThreadFacts { is_root, last_event, .. } = *facts;
            *lives.entry(thread) = Life { is_root, last_event, last_mention: last_event };
        }
        for join in self.joins.iter().flatten() {
            let life = lives.entry(join.child);
            life.last_mention = life.last_mention.max(Some(join.at));
        }
        lives
    }

    /// Finds out whether any heap block can matter: if none can, nobody needs to know which block an access lies in. And whether the trace
    /// is a recording.
    pub(crate) fn look_at(&mut self, symbols: &Symbols) {
        self.is_recorded = symbols.program.is_recorded();
        let is_block = |var: VarId| matches!(symbols.variables.get(var), Variable::Block(_));
        self.no_block_matters =
            !self.everything && !self.variables.ones().any(|bit| is_block(VarId::from_index(bit)));
    }

    /// What workers with other variables must know: whether any variable is open, whether a heap block matters, and the last event of each
    /// thread, and one more.
    pub(super) fn to_words(&self) -> Vec<u64> {
        let flags = [self.any_variable_is_open(), !self.no_block_matters].map(u64::from);
        let last_events = self.threads.iter().map(|facts| facts.last_event.map_or(0, |event| event.0 + 1));
        flags.into_iter().chain(last_events).collect()
    }

    /// Takes what all workers know. What is needed of a thread stays what this worker needs.
    pub(super) fn hear(&mut self, words: &[Vec<u64>]) {
        self.no_block_matters = words.iter().all(|words| words.get(1) == Some(&0));
        for words in words {
            for (facts, &last) in self.threads.iter_mut().zip(words.get(2..).unwrap_or_default()) {
                facts.last_event = facts.last_event.max(last.checked_sub(1).map(EventIndex));
            }
        }
    }

    /// Says that a variable matters whatever was found out.
    pub(crate) fn keep(&mut self, var: VarId) {
        self.variables.set(var.index());
    }

    /// How many variables and locks can matter, if that was found out.
    pub(super) fn figures(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let figures =
            [("variables that matter", self.variables.count()), ("locks that matter", self.locks.count())];
        figures.into_iter().filter(|_| !self.everything)
    }

    pub(super) fn state_bytes(&self) -> usize {
        let joins: usize = self.joins.iter().map(Vec::capacity).sum();
        [&self.variables, &self.open, &self.locks].map(|bits| bits.words.capacity() * 8).iter().sum::<usize>()
            + self.threads.table_bytes()
            + self.joins.table_bytes()
            + joins * size_of::<PlannedJoin>()
    }
}

/// The first pass.
#[derive(Debug)]
pub(crate) struct Survey {
    census: Census,
    clocks: IdVec<ThreadId, ThreadClock>,
    snapshots: Snapshots,
    variables: Pages<VarId, VarFacts>,
    /// Reads since the last write, of variables with more than one that are not ordered.
    readers: FxHashMap<VarId, Vec<Epoch>>,
    guards: Guards,
    lock_users: IdVec<LockId, Option<ThreadId>>,
    posts: IdVec<SyncId, Posts>,
}

impl Survey {
    /// A survey that finds out what can be dropped, or, without a filter, about threads only.
    pub(crate) fn new(filter: bool) -> Survey {
        let census = if filter { Census::default() } else { Census::everything() };
        Survey {
            census,
            clocks: IdVec::new(),
            snapshots: Snapshots::new(),
            variables: Pages::new(),
            readers: FxHashMap::default(),
            guards: Guards::default(),
            lock_users: IdVec::new(),
            posts: IdVec::new(),
        }
    }

    /// What was found out.
    pub(crate) fn into_census(self) -> Census {
        let mut census = self.census;
        self.variables.enumerate().for_each(|(var, facts)| census.note(var, facts));
        census
    }

    /// No further event names these variables: what was found out about them stays, the rest is forgotten.
    pub(crate) fn end_variables(&mut self, ended: &[Range<VarId>]) {
        for ended in ended {
            let ended = ended.start.index()..ended.end.index();
            for var in ended.clone().map(VarId::from_index) {
                let Some(facts) = self.variables.get_mut(var) else { continue };
                self.census.note(var, facts);
                self.snapshots.release(facts.last_write.snapshot);
                if facts.marks.has(Marks::MANY_READERS) {
                    self.readers.remove(&var);
                }
                if let Some(guard) = facts.marks.guard() {
                    self.guards.end(guard);
                }
            }
            self.variables.end(ended);
        }
    }

    /// An access, in a trace of which other workers have other variables. Marks what they must know of.
    #[inline]
    pub(super) fn find_links(&mut self, finder: &mut Finder, at: At, touch: Touch<'_>) {
        self.note(at);
        if finder.owns(touch) {
            let learned = self.judge_event(at, touch);
            finder.end_access(at, touch, learned);
        }
    }

    fn note(&mut self, at: At) {
        self.census.threads[at.thread].last_event = Some(at.index);
    }

    /// Judges what an event touches, by what precedes it. Returns whether it sees a write that its thread did not know.
    #[inline]
    fn judge_event(&mut self, at: At, touch: Touch<'_>) -> bool {
        // Each is judged by what precedes the event, so effects come last.
        let var_goes_on = self.goes_on(at, touch.var, touch.kind);
        let block = touch.block.filter(|&block| !self.goes_on(at, block, AccessKind::Read));
        if !var_goes_on {
            self.judge_one(at, touch.var, touch.kind);
        }
        if let Some(block) = block {
            self.judge_one(at, block, AccessKind::Read);
        }
        let mut learned = false;
        if !var_goes_on && touch.kind.reads() {
            learned |= self.see(at.thread, touch.var);
        }
        if let Some(block) = block {
            learned |= self.see(at.thread, block);
        }
        if touch.kind.writes() {
            let Survey { clocks, snapshots, variables, .. } = self;
            clocks[at.thread].publish_sparingly_to(
                &mut variables[touch.var].last_write,
                snapshots,
                MOST_BYTES,
            );
        }
        learned
    }

    /// Whether an access follows accesses of its own thread only, since the last write that the thread has seen: it is ordered
    /// as they were, and sees nothing new. Notes it.
    #[inline]
    fn goes_on(&mut self, at: At, var: VarId, kind: AccessKind) -> bool {
        let facts = &mut self.variables[var];
        let own_or_none = |epoch: Epoch| !epoch.is_some() || epoch.thread == at.thread.0;
        let sees_own = own_or_none(facts.last_write.epoch) || (facts.read.is_some() && !kind.writes());
        let is_alone = own_or_none(facts.read) && sees_own;
        if !is_alone || kind == AccessKind::Rmw || facts.marks.has(Marks::MATTERS | Marks::MANY_READERS) {
            return false;
        }
        let protecting = self.guards.protecting(at.thread, kind);
        if self.guards.must_note(facts.marks.guard(), protecting) {
            facts.be_guarded(&mut self.guards, &self.clocks[at.thread], protecting, Standing::AfterAll);
        }
        facts.marks.set_if_plain(kind);
        facts.read = if kind.writes() { Epoch::NONE } else { self.clocks[at.thread].epoch() };
        true
    }

    fn judge_one(&mut self, at: At, var: VarId, kind: AccessKind) {
        let was_ordered = !self.variables[var].marks.has(Marks::MATTERS);
        if was_ordered {
            self.judge(at.thread, var, kind);
        }
        let facts = &mut self.variables[var];
        facts.marks.set_if_plain(kind);
        if facts.marks.has(Marks::MATTERS) {
            if let Some(guard) = facts.marks.guard().filter(|_| !was_ordered) {
                let protecting = self.guards.protecting(at.thread, kind);
                if !self.guards.beside(guard, &self.clocks[at.thread], protecting) {
                    facts.marks.open();
                }
            }
            // Accesses before this one were ordered, so none was the second of a race.
            self.census.threads[at.thread].last_needed = Some(at.index);
        }
    }

    /// The thread knows the write that it sees. Returns whether it did not before.
    #[inline]
    fn see(&mut self, thread: ThreadId, var: VarId) -> bool {
        let stamp = self.variables[var].last_write;
        stamp.epoch.is_some() && self.clocks[thread].join(&self.snapshots, stamp)
    }

    /// Finds out whether the variable stays ordered with this access.
    #[inline]
    fn judge(&mut self, thread: ThreadId, var: VarId, kind: AccessKind) {
        let Survey { variables, clocks, readers, guards, .. } = self;
        let facts = &mut variables[var];
        let clock = &clocks[thread];
        let protecting = guards.protecting(thread, kind);
        let mut ordered = clock.covers(facts.last_write.epoch);
        if kind.writes() {
            ordered &= clock.covers(facts.read);
            if facts.marks.has(Marks::MANY_READERS) {
                ordered &= readers[&var].iter().all(|&read| clock.covers(read));
            }
        }
        if !ordered {
            facts.marks.set(Marks::MATTERS);
            let others = readers.remove(&var).unwrap_or_default();
            let last = [facts.last_write.epoch, facts.read].into_iter().chain(others);
            // Without a guard, the access that this one stands beside was under no lock.
            if !facts.marks.guard().is_some_and(|guard| guards.part(guard, clock, protecting, last)) {
                facts.marks.open();
            }
            return;
        }
        if guards.must_note(facts.marks.guard(), protecting) {
            let has_many = facts.marks.has(Marks::MANY_READERS);
            let is_after_all = kind.writes() || (clock.covers(facts.read) && !has_many);
            let standing = if is_after_all { Standing::AfterAll } else { Standing::AfterConflicting };
            facts.be_guarded(guards, clock, protecting, standing);
        }
        if kind.writes() {
            facts.read = Epoch::NONE;
            if facts.marks.take(Marks::MANY_READERS) {
                readers.remove(&var);
            }
        } else if clock.covers(facts.read) {
            facts.read = clock.epoch();
        } else {
            facts.marks.set(Marks::MANY_READERS);
            let readers = readers.entry(var).or_default();
            readers.retain(|read| read.thread != thread.0);
            readers.push(clock.epoch());
        }
    }

    fn use_lock(&mut self, at: At, lock: LockId) {
        self.note(at);
        match self.lock_users[lock] {
            None => self.lock_users[lock] = Some(at.thread),
            Some(user) if user != at.thread => self.census.locks.set(lock.index()),
            Some(_) => {}
        }
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.census.state_bytes()
            + self.clocks.table_bytes()
            + self.clocks.iter().map(ThreadClock::heap_bytes).sum::<usize>()
            + self.snapshots.heap_bytes()
            + self.variables.table_bytes()
            + self.guards.state_bytes()
            + self.lock_users.table_bytes()
            + self.posts.table_bytes()
            + self.posts.iter().map(Posts::heap_bytes).sum::<usize>()
    }

    fn hand_over(&mut self, from: ThreadId, to: ThreadId) {
        let stamp = self.clocks[from].publish(&mut self.snapshots);
        self.clocks[to].join(&self.snapshots, stamp);
        self.snapshots.release(stamp.snapshot);
    }
}

impl Visitor for Survey {
    const TAKES_SWEEPS: bool = true;

    fn reserve(&mut self, sizes: &Sizes) {
        while self.clocks.len() < sizes.threads {
            self.clocks.push(ThreadClock::new(self.clocks.len() as u32));
            // A thread is a root until a fork of it comes before its first event.
            self.census.threads.push(ThreadFacts { is_root: true, last_event: None, last_needed: None });
        }
        self.lock_users.grow_to(sizes.locks);
        self.posts.grow_to(sizes.objects);
        if !self.census.everything {
            self.guards.grow_to(sizes.threads);
        }
    }

    /// A block that only this thread uses since it was last written is looked at twice: at the first access and at the last.
    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32) {
        self.access(at, touch);
        let next = at.later(1);
        let block = touch
            .block
            .filter(|&block| self.census.everything || !self.goes_on(next, block, AccessKind::Read));
        for number in 1..count - 1 {
            self.access(at.later(number), Touch { block, ..touch.further(number) });
        }
        self.access(at.later(count - 1), touch.further(count - 1));
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        self.note(at);
        match self.census.everything {
            true => self.census.threads[at.thread].last_needed = Some(at.index),
            false => _ = self.judge_event(at, touch),
        }
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.note(at);
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.use_lock(at, lock);
        if !self.census.everything {
            self.guards.acquire(at.thread, lock, mode);
        }
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.use_lock(at, lock);
        if !self.census.everything {
            self.guards.release(at.thread, lock, mode);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.note(at);
        let facts = &mut self.census.threads[child];
        facts.is_root &= facts.last_event.is_some();
        self.census.threads[at.thread].last_needed = Some(at.index);
        self.hand_over(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.note(at);
        let needed_before = self.census.threads[at.thread].last_needed;
        self.census.joins.entry(at.thread).push(PlannedJoin { at: at.index, child, needed_before });
        self.hand_over(child, at.thread);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.note(at);
        let stamp = self.clocks[at.thread].publish(&mut self.snapshots);
        self.posts[object].add(stamp, &mut self.snapshots);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.note(at);
        self.posts[object].hand_to(&mut self.clocks[at.thread], &self.snapshots);
    }

    fn other(&mut self, at: At) {
        self.note(at);
    }
}
