//! The detector behind `syncp` and `short-syncp`.
//!
//! **Answer.** Every access that is in a sync-preserving race with an earlier one that is within the horizon, with the
//! first such access of each thread.
//! **State.** `clocks.rs` for closed clocks, `history.rs` for accesses, `held.rs` for what threads hold; the
//! happens-before clocks beside them tell observed races from predicted ones. Per second thread and list of accesses a
//! cursor, made when first needed.
//! **Check.** For an access `e2` of `t` and each other thread's list of conflicting accesses: skip what the past of `t`
//! covers, skip what a common lock protects, and ask the closure about the rest, oldest first, until one is a race.
//! **Invariants.**
//!   I1  Everything before a cursor can never race with an access of its thread again: an access that is in the closure
//!       for `e2` is in the closure for every later access of the same thread, whatever the variable.
//!   I2  The past of a thread does not contain its current event until that event is over: an event may touch a variable
//!       and its heap block, and both are checked against what precedes the event.
//!   I3  What precedes an access that lies in a heap block includes the allocation of the block where the access is the first of
//!       a pair. As the second one it does not: so an allocation races with accesses, and no other race does without it.

use overtake_clock::{Epoch, Time};
use overtake_trace::{EventIndex, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::chart::{Past, RacyReads};
use super::clocks::Clocks;
use super::collect::Collections;
use super::filter::Census;
use super::held::HeldSets;
use super::history::{Entry, History, NewEntry, Side};
use super::sections::Learned;
use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::hb::SyncClocks;
use crate::hinge::Hinge;
use crate::race::{Race, Verdict};
use crate::visitor::Touch;

/// Finds sync-preserving races. If `BOUNDED`, only those with a span of at most `window`.
#[derive(Debug)]
pub(crate) struct SyncPreserving<const BOUNDED: bool> {
    pub(super) window: u64,
    pub(super) census: Census,
    pub(super) clocks: Clocks,
    order: SyncClocks,
    pub(super) held: HeldSets,
    pub(super) history: History<BOUNDED>,
    pub(super) cursors: FxHashMap<Cursor, u32>,
    candidates: Vec<Candidate>,
    pub(super) collections: Collections,
    counts: Counts,
    /// What racy reads may have seen, if the trace is a recording in which that matters.
    pub(super) racy_reads: Option<Box<RacyReads>>,
}

/// The most reads that are named for a possible race.
const MOST_HINGES: usize = 4;

/// The clocks that an access begins with.
#[derive(Clone, Copy, Debug)]
struct Beginning {
    epoch: Epoch,
    learned: Learned,
    /// The thread's time in the happens-before order.
    happened: Time,
}

/// Whose cursor into which list.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Cursor {
    lists: u32,
    /// Slot and side of the list, and whether the second access is atomic: atomic accesses pass each other.
    list: u32,
    thread: ThreadId,
}

/// A thread whose accesses need a look.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    thread: ThreadId,
    slot: usize,
    /// The time up to which the thread's accesses need none.
    known: Time,
}

#[derive(Clone, Copy, Default, Debug)]
struct Counts {
    checks: u64,
    protected: u64,
    predicted: u64,
    /// Those of them that hinge on racy reads.
    possible: u64,
    /// Racy events of which no reported race was observed.
    only_predicted_events: u64,
    /// Accesses to variables that matter.
    accesses: u64,
    /// Acquires of locks that matter.
    acquires: u64,
}

impl SyncPreserving<false> {
    /// A detector that needs no first pass.
    pub(crate) fn of_everything() -> Self {
        SyncPreserving::new(u64::MAX, Census::everything())
    }
}

impl<const BOUNDED: bool> SyncPreserving<BOUNDED> {
    /// A detector for a trace that the census is of.
    pub(crate) fn new(window: u64, census: Census) -> Self {
        SyncPreserving {
            window,
            census,
            clocks: Clocks::default(),
            order: SyncClocks::default(),
            held: HeldSets::default(),
            history: History::default(),
            cursors: FxHashMap::default(),
            candidates: Vec::new(),
            collections: Collections::default(),
            counts: Counts::default(),
            racy_reads: None,
        }
    }

    /// How many races were found that happens-before misses.
    pub(super) fn predicted(&self) -> u64 {
        self.counts.predicted
    }

    /// Whether this reading of the trace only finds out what racy reads may have seen.
    fn is_drawing(&self) -> bool {
        self.racy_reads.as_ref().is_some_and(|reads| reads.is_drawing())
    }

    /// Figures for people.
    pub(super) fn figures(&self) -> Vec<(&'static str, u64)> {
        let mut figures: Vec<_> = self.census.figures().collect();
        figures.extend([
            ("accesses that matter", self.counts.accesses),
            ("acquires that matter", self.counts.acquires),
            ("closures computed", self.counts.checks),
            ("pairs settled by a common lock", self.counts.protected),
            ("races that happens-before misses", self.counts.predicted),
            ("of these, races that hinge on racy reads", self.counts.possible),
            ("racy events with such races only", self.counts.only_predicted_events),
            ("accesses kept", self.history.log.len() as u64),
            ("accesses collected", self.history.log.oldest()),
            ("critical sections kept", self.clocks.sections.kept() as u64),
            ("critical sections collected", self.clocks.sections.forgotten()),
        ]);
        if self.history.not_recorded() > 0 {
            figures.push(("accesses not recorded", self.history.not_recorded()));
        }
        figures
    }

    /// An access event: what it touches, as far as it matters.
    #[inline]
    fn access_event(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        let var = Some(touch.var).filter(|&var| self.census.matters(var));
        let block = touch.block.filter(|&block| self.census.matters(block));
        if var.is_some() || block.is_some() {
            self.counts.accesses += u64::from(!self.is_drawing());
            self.judge_event(at, (var, touch.kind), block, races);
        }
    }

    /// Judges everything that an event touches by what precedes it (I2). Then the thread's past needs what the event saw,
    /// and its write can be seen.
    fn judge_event(
        &mut self,
        at: At,
        (var, kind): (Option<VarId>, AccessKind),
        block: Option<VarId>,
        races: &mut Findings,
    ) {
        let beginning = Beginning {
            epoch: self.clocks.epoch(at.thread),
            learned: self.clocks.learned_with(at.thread, block.or(var.filter(|_| kind == AccessKind::Free))), // I3
            happened: self.order.thread(at.thread).epoch().time,
        };
        let is_drawing = self.is_drawing();
        if !is_drawing {
            self.forget(at.index);
        }
        let touched = [var.map(|var| (var, kind)), block.map(|block| (block, AccessKind::Read))];
        for (touched, kind) in touched.into_iter().flatten() {
            if let Some(reads) = &mut self.racy_reads {
                reads.access(at, touched, kind, &self.order);
            }
            if !is_drawing {
                self.judge(at, touched, kind, beginning, races);
            }
        }
        self.learn_and_publish(at.thread, (var, kind), block);
        if let Some(block) = var.filter(|_| kind == AccessKind::Alloc) {
            self.clocks.allocate(block, self.history.var(block).last_write);
        }
    }

    /// The thread's past needs what an access saw; then the access is over, and its write can be seen.
    fn learn_and_publish(
        &mut self,
        thread: ThreadId,
        (var, kind): (Option<VarId>, AccessKind),
        block: Option<VarId>,
    ) {
        for seen in [var.filter(|_| kind.reads()), block].into_iter().flatten() {
            let write = self.history.var(seen).last_write;
            self.clocks.learn(thread, write);
        }
        self.end_event(thread, var.filter(|_| kind.writes()));
    }

    /// An access of a variable that another worker judges: only what it orders counts.
    pub(super) fn follow(&mut self, at: At, touch: Touch<'_>) {
        let Touch { var, kind, order, block, .. } = touch;
        self.forget(at.index);
        if let Some(order) = order {
            self.order.atomic_acquire(at.thread, var, kind, order);
        }
        self.learn_and_publish(at.thread, (Some(var), kind), block);
        if let Some(order) = order {
            self.order.atomic_release(at.thread, var, kind, order);
        }
    }

    /// An access event is over, except that its write cannot be seen yet.
    fn end_event(&mut self, thread: ThreadId, written: Option<VarId>) {
        let ends_time =
            self.racy_reads.as_mut().is_some_and(|reads| reads.end_reading(thread, &mut self.clocks));
        let epoch = (ends_time || written.is_some()).then(|| self.clocks.publish(thread));
        if let Some(reads) = &mut self.racy_reads {
            reads.end(epoch);
        }
        if let Some((var, epoch)) = written.zip(epoch) {
            self.history.var(var).last_write = epoch;
        }
    }

    #[inline]
    fn judge(&mut self, at: At, var: VarId, kind: AccessKind, beginning: Beginning, races: &mut Findings) {
        let Beginning { epoch, learned, happened } = beginning;
        let access = NewEntry { at, kind, epoch, learned, held: self.held.of(at.thread), happened };
        if let Some(lists) = self.history.lists_to_check(var, &access, &mut self.held) {
            self.check(lists, var, &access, races);
        }
        self.history.record(var, &access, &mut self.held);
    }

    /// Reports the races of an access with accesses in the lists.
    fn check(&mut self, lists: u32, var: VarId, access: &NewEntry, races: &mut Findings) {
        self.choose_candidates(lists, access);
        if !self.candidates.is_empty() && self.clocks.settle(access.at.thread) > 0 {
            self.choose_candidates(lists, access);
        }
        // The order of lists depends on what was forgotten; the order of reports must not.
        self.candidates.sort_unstable_by_key(|candidate| candidate.thread);
        let (mut racy, mut observed) = (false, false);
        for candidate in 0..self.candidates.len() {
            let candidate = self.candidates[candidate];
            for &side in Side::against(access.kind) {
                let Some((first, at)) = self.first_race(lists, candidate, side, access) else { continue };
                racy = true;
                let verdict = self.verdict_of(&first, access);
                observed |= verdict == Verdict::Observed;
                self.report(&first, var, access, verdict, races);
                if verdict != Verdict::Possible {
                    break;
                }
                if let Some((first, verdict)) = self.next_sure_race(lists, candidate, side, access, at) {
                    observed |= verdict == Verdict::Observed;
                    self.report(&first, var, access, verdict, races);
                    break;
                }
            }
        }
        self.counts.only_predicted_events += u64::from(racy && !observed);
    }

    /// Finds the threads with accesses that may race with `access`: the past of its thread does not cover them.
    #[inline]
    fn choose_candidates(&mut self, lists: u32, access: &NewEntry) {
        let past = self.clocks.past(access.at.thread);
        self.candidates.clear();
        for (slot, times) in self.history.lists(lists).threads.iter().enumerate() {
            let known = past.time(times.thread.0);
            if times.against(access.kind) > known && times.thread != access.at.thread {
                self.candidates.push(Candidate { thread: times.thread, slot, known });
            }
        }
    }

    /// The first access of a list that races with `access`, and its place in the list.
    fn first_race(
        &mut self,
        lists: u32,
        candidate: Candidate,
        side: Side,
        access: &NewEntry,
    ) -> Option<(Entry, usize)> {
        let Candidate { slot, known, .. } = candidate;
        if self.history.lists(lists).threads[slot].on(side) <= known {
            return None;
        }
        let list = self.history.list(lists, slot, side);
        let (common, gone) = (list.common, list.gone);
        if self.held.protect(common, access.held) {
            return None;
        }
        let is_atomic = access.kind.is_atomic();
        let list_number = (slot as u32) << 2 | (side as u32) << 1 | u32::from(is_atomic);
        let key = Cursor { lists, list: list_number, thread: access.at.thread };
        let cursor = self.cursors.get(&key).copied().unwrap_or(0) as usize;
        let mut next = cursor.max(gone);
        let items = &self.history.lists(lists).list(slot, side).items;
        next += items[next..].partition_point(|item| item.time <= known);
        let mut found = None;
        while let Some(&item) = self.history.lists(lists).list(slot, side).items.get(next) {
            let entry = *self.history.log.at(self.history.log.number(item));
            if self.races_with(&entry, access) {
                found = Some((entry, next));
                break;
            }
            next += 1; // I1
        }
        if next != cursor {
            self.cursors.insert(key, next as u32);
        }
        found
    }

    /// The first access of a list behind place `after` that is sure to race with `access`.
    #[cold]
    fn next_sure_race(
        &mut self,
        lists: u32,
        candidate: Candidate,
        side: Side,
        access: &NewEntry,
        after: usize,
    ) -> Option<(Entry, Verdict)> {
        let items = self.history.lists(lists).list(candidate.slot, side).items[after + 1..].to_vec();
        items.into_iter().find_map(|item| {
            let entry = *self.history.log.at(self.history.log.number(item));
            let verdict = self.races_with(&entry, access).then(|| self.verdict_of(&entry, access));
            verdict.filter(|&verdict| verdict != Verdict::Possible).map(|verdict| (entry, verdict))
        })
    }

    /// How sure a race is.
    #[cold]
    fn verdict_of(&mut self, first: &Entry, second: &NewEntry) -> Verdict {
        let happened = Epoch { thread: first.epoch.thread, time: first.happened };
        if !self.order.thread(second.at.thread).covers(happened) {
            return Verdict::Observed;
        }
        let Some(chart) = self.racy_reads.as_mut().and_then(|reads| reads.chart()) else {
            return Verdict::Predicted;
        };
        let mut learned = vec![Epoch { time: first.epoch.time - 1, ..first.epoch }];
        self.clocks.sections.for_each_new(first.epoch, first.learned, |epoch| learned.push(epoch));
        let first = Past { access: first.epoch, learned: &learned };
        let past = self.clocks.past(second.at.thread);
        let over = Epoch { time: past.time(second.epoch.thread), ..second.epoch };
        let second = Past { access: second.epoch, learned: &[over] };
        if chart.supports(first, second, past.learned()) { Verdict::Predicted } else { Verdict::Possible }
    }

    /// The reads that a possible race hinges on.
    fn hinges(&mut self, first: &Entry, second: &NewEntry) -> Vec<Hinge> {
        let inside = self.clocks.closure(second.at.thread, first.epoch, first.learned);
        let Some(chart) = self.racy_reads.as_mut().and_then(|reads| reads.chart()) else { return Vec::new() };
        let reads = chart.open_reads(&inside, MOST_HINGES);
        reads.into_iter().map(|(read, var)| Hinge { read, var }).collect()
    }

    /// Whether an access that the past of the second one's thread does not cover races with it.
    #[inline]
    fn races_with(&mut self, first: &Entry, second: &NewEntry) -> bool {
        if !first.kind.conflicts(second.kind)
            || (first.kind == AccessKind::Alloc && self.is_handed_over(first, second))
        {
            return false;
        }
        if self.held.protect(first.held, second.held) {
            self.counts.protected += 1;
            return false;
        }
        self.counts.checks += 1;
        !self.clocks.reaches(second.at.thread, first.epoch, first.learned)
    }

    /// Whether, in a recording, happens-before orders an allocation before a use of the block (see [`Census::is_recorded`]). Later uses by
    /// the thread are ordered as well (I1).
    fn is_handed_over(&self, allocation: &Entry, second: &NewEntry) -> bool {
        let happened = Epoch { thread: allocation.epoch.thread, time: allocation.happened };
        (self.census.is_recorded || self.racy_reads.is_some())
            && self.order.thread(second.at.thread).covers(happened)
    }

    /// Reports a race.
    #[cold]
    fn report(
        &mut self,
        first: &Entry,
        var: VarId,
        second: &NewEntry,
        verdict: Verdict,
        races: &mut Findings,
    ) {
        self.counts.predicted += u64::from(verdict != Verdict::Observed);
        let access = crate::Access { at: second.at, kind: second.kind };
        let race = Race { var, verdict, first: first.access(), second: access };
        if verdict == Verdict::Possible {
            self.counts.possible += 1;
            races.report_possible(race, self.hinges(first, second));
        } else {
            races.report(race);
        }
    }

    /// Drops accesses that are too old for a race with the event at `now`, and from time to time all that cannot matter.
    #[inline]
    fn forget(&mut self, now: EventIndex) {
        if BOUNDED {
            while self.history.log.pop_older(now, self.window).is_some() {}
        }
        if self.collections.is_due() {
            self.collect(now);
        }
    }
}

impl<const BOUNDED: bool> Detector for SyncPreserving<BOUNDED> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.order.reserve(sizes);
        self.held.reserve(sizes.threads);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        let Some(order) = touch.order else { return self.access_event(at, touch, races) };
        // Happens-before sees every atomic access, also of a variable that does not matter.
        self.order.atomic_acquire(at.thread, touch.var, touch.kind, order);
        self.access_event(at, touch, races);
        self.order.atomic_release(at.thread, touch.var, touch.kind, order);
    }

    fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
        self.order.fence(at.thread, order);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        if self.census.lock_matters(lock) {
            self.counts.acquires += u64::from(!self.is_drawing());
            self.order.acquire(at.thread, lock, mode);
            self.clocks.acquire(at.thread, lock, mode);
            self.held.acquire(at.thread, lock, mode);
        }
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        if self.census.lock_matters(lock) {
            self.order.release(at.thread, lock, mode);
            self.clocks.release(at.thread, lock);
            self.held.release(at.thread, lock, mode);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.order.fork(at.thread, child);
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.order.join(at.thread, child);
        self.clocks.join(at.thread, child);
        if self.census.threads.get(child).is_some_and(|facts| facts.last_event < Some(at.index)) {
            self.clocks.retire(child);
        }
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.order.post(at.thread, object);
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.order.wait(at.thread, object);
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes()
            + self.order.state_bytes()
            + self.held.state_bytes()
            + self.history.state_bytes()
            + self.census.state_bytes()
            + self.racy_reads.as_ref().map_or(0, |reads| reads.state_bytes())
            + self.cursors.capacity() * (size_of::<(Cursor, u32)>() + 1)
    }
}
