//! Happens-before races whose accesses are at most a window apart, in memory that the window bounds.
//!
//! **Source.** Zhang and Viswanathan, *Efficient Dynamic Algorithms to Predict Short Races*, arXiv 2603.03141, 2026: Algorithm 2 and Theorem 5.
//! **Answer.** Exactly the accesses that race with one at most `w` events back, each with the latest such: pairs at `i < j`
//! with `j - i + 1 <= w`. Whether `i` happens before `j` depends only on what lies between them, so everything older is dropped.
//! **State.** Times count within the window: the event at index `i` has time `i + 1 - base`, in the narrowest integer that
//! holds two windows. Per thread and per carrier of knowledge a clock of such times ([`sync`]); per variable the
//! accesses of the window that can still race ([`variable`]); rings of what the last `w` events put into those.
//! **Invariants.**
//!   I1  A ring has a record of the event that a stored access or carrier is from. At each cleaning
//!       ([`Upkeep`]) what is more than `w - 1` events old is freed.
//!   I2  A component of a clock that is older than the window orders nothing of the window, the same as 0.
//!   I3  Times are in `1..=2 * period`, where `period` is the larger of `w` and 4096.
//! **Differs from the paper.** Times are not slots of a circular array, which need comparators that know where the array's
//! head is, and lists of everyone who refers to a slot. Instead every `period` events all times are moved back by the
//! same amount (`age`), stale ones to 0; plain comparison and plain maximum are right in between. The last access of
//! every thread is kept and not only the last write, so that all second events are found and not only one. All
//! operations of `docs/semantics.md` are covered.
//! **Cost.** O(N·T) time. O(w) for ring, variables and carriers, times T·log w for each clock, as in Theorem 5; clocks
//! hold only neighbourhoods of threads they know of, so that it is less where threads do not all meet.

mod slots;
mod sync;
mod table;
mod variable;

use std::collections::VecDeque;

use overtake_clock::Tick;
use overtake_rules::flow;
use overtake_trace::{EventIndex, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use self::slots::Slots;
use self::sync::Knowledge;
use self::table::SlotTable;
use self::variable::RecentAccesses;
use super::last_accesses::Entry;
use crate::access::{Access, AccessKind, At, Class};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::passes::Analysis;
use crate::race::{Race, Verdict};
use crate::settings::{OptionError, Options};
use crate::visitor::Touch;

/// How often to do what need not be done at every event.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Upkeep {
    /// What has left the window is freed after this many events at the latest. Freed together, entries cost fewer cache
    /// misses: their loads do not wait for each other.
    pub(crate) cleaning: u64,
    /// Times are moved back after at least this many events, more than `cleaning`.
    pub(crate) least_period: u64,
}

impl Upkeep {
    pub(crate) const USUAL: Upkeep = Upkeep { cleaning: 256, least_period: 4096 };

    fn period(self, window: u64) -> u64 {
        window.max(self.least_period)
    }
}

/// This many variables for each event of the window have a place of their own in the table that finds them; more are hashed. The
/// state is in the order of the window either way, and below a hash table's.
const DIRECT_VARIABLES: u64 = 4;

/// Starts the detector with the narrowest time that holds the window.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    let window = options.window.min(u64::MAX / 2); // no trace is longer
    Ok(if fits::<u16>(window) {
        Analysis::one_pass(ShortHb::<u16>::new(window, Upkeep::USUAL))
    } else if fits::<u32>(window) {
        Analysis::one_pass(ShortHb::<u32>::new(window, Upkeep::USUAL))
    } else {
        Analysis::one_pass(ShortHb::<u64>::new(window, Upkeep::USUAL))
    })
}

/// I3.
fn fits<T: Tick>(window: u64) -> bool {
    Upkeep::USUAL.period(window) <= T::LIMIT / 2
}

/// The detector; `T` counts time within the window.
#[derive(Debug)]
pub(crate) struct ShortHb<T> {
    window: u64,
    upkeep: Upkeep,
    /// The event at index `i` has time `i + 1 - base`.
    base: u64,
    /// The index at which to clean next.
    next_cleaning: u64,
    /// The accesses of the window, and apart from them what its events left at carriers.
    accesses: VecDeque<AccessRecord<T>>,
    fillings: VecDeque<FillRecord<T>>,
    knowledge: Knowledge<T>,
    variables: Slots<RecentAccesses<T>>,
    slot_of: SlotTable,
    access_bytes: usize,
}

/// An access of the window, to the variable in `slot`.
#[derive(Clone, Copy, Debug)]
struct AccessRecord<T> {
    slot: u32,
    thread: ThreadId,
    time: T,
    class: Class,
}

/// An event of the window that left something at the carrier in `slot`.
#[derive(Clone, Copy, Debug)]
struct FillRecord<T> {
    slot: u32,
    time: T,
}

impl<T: Tick> ShortHb<T> {
    pub(crate) fn new(window: u64, upkeep: Upkeep) -> Self {
        debug_assert!(fits::<T>(window));
        ShortHb {
            window,
            upkeep,
            base: 0,
            next_cleaning: 0,
            accesses: VecDeque::new(),
            fillings: VecDeque::new(),
            knowledge: Knowledge::default(),
            variables: Slots::default(),
            slot_of: SlotTable::default(),
            access_bytes: 0,
        }
    }

    /// The time of the event at `index`.
    #[inline]
    fn advance(&mut self, index: EventIndex) -> T {
        if index.0 >= self.next_cleaning {
            self.clean(index);
        }
        T::from_number(index.0 + 1 - self.base)
    }

    /// Frees what has left the window, and keeps times small.
    #[cold]
    fn clean(&mut self, index: EventIndex) {
        self.next_cleaning = index.0 + self.upkeep.cleaning;
        let time = index.0 + 1 - self.base;
        let oldest = (time + 1).saturating_sub(self.window);
        while let Some(record) = self.accesses.pop_front_if(|record| record.time.number() < oldest) {
            self.evict(record);
        }
        while let Some(record) = self.fillings.pop_front_if(|record| record.time.number() < oldest) {
            self.knowledge.evict(record.slot, record.time);
        }
        if time > 2 * self.upkeep.period(self.window) - self.upkeep.cleaning {
            self.age(time.saturating_sub(self.window)); // I3
        }
    }

    /// Frees an access, unless a newer one took its place.
    #[inline]
    fn evict(&mut self, AccessRecord { slot, thread, time, class }: AccessRecord<T>) {
        let variable = self.variables.get_mut(slot);
        variable.forget(class, thread, time);
        if variable.is_empty() {
            self.access_bytes -= variable.heap_bytes();
            self.slot_of.remove(variable.var.0);
            self.variables.remove(slot);
        }
    }

    /// Moves all times back by `by`. I3.
    #[cold]
    fn age(&mut self, by: u64) {
        self.base += by;
        let by = T::from_number(by.min(T::LIMIT));
        self.knowledge.age(by);
        self.accesses.iter_mut().for_each(|record| record.time = record.time.earlier(by));
        self.fillings.iter_mut().for_each(|record| record.time = record.time.earlier(by));
        self.variables.iter_mut().for_each(|variable| variable.age(by));
    }

    /// Applies the rules of one synchronising event.
    #[inline]
    fn synchronise(&mut self, at: At, rule: impl FnOnce(&mut Knowledge<T>)) {
        let time = self.advance(at.index);
        for &slot in self.knowledge.at(time, rule) {
            self.fillings.push_back(FillRecord { slot, time });
        }
    }

    /// Compares an access with the ones of the window, and keeps it.
    #[inline(always)] // in the event loop
    fn judge(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        let time = self.advance(at.index);
        let slot = self.slot_of.get_or_insert(var.0, || {
            let slot = self.variables.add();
            self.variables.get_mut(slot).var = var;
            slot
        });
        let variable = self.variables.get_mut(slot);
        let new = Entry { thread: at.thread, location: at.location, mark: time, kind };
        let partner = variable.access(new, &self.knowledge.threads[at.thread], &mut self.access_bytes);
        self.accesses.push_back(AccessRecord { slot, thread: at.thread, time, class: Class::of(kind) });
        // The latest partner may be out of the window and not yet freed; then all are.
        if let Some(entry) = partner
            && entry.mark.number() + self.window > time.number()
        {
            report(races, self.base, var, &entry, Access { at, kind });
        }
    }

    /// The same for the heap block that an access reads; out of line, so that traces without blocks do not pay for it.
    #[inline(never)]
    fn judge_block(&mut self, at: At, block: VarId, races: &mut Findings) {
        self.judge(at, block, AccessKind::Read, races);
    }
}

/// What is stored, in numbers.
#[cfg(test)]
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Live {
    pub(crate) records: usize,
    pub(crate) variables: usize,
    pub(crate) carriers: usize,
    pub(crate) threads_that_know: usize,
    pub(crate) heap_bytes: usize,
}

#[cfg(test)]
impl<T: Tick> ShortHb<T> {
    pub(crate) fn live(&self) -> Live {
        assert_eq!(self.variables.live(), self.slot_of.len());
        Live {
            records: self.accesses.len() + self.fillings.len(),
            variables: self.variables.live(),
            carriers: self.knowledge.live_carriers(),
            threads_that_know: self.knowledge.threads.iter().filter(|clock| !clock.is_empty()).count(),
            heap_bytes: self.access_bytes + self.knowledge.heap_bytes(),
        }
    }
}

#[cold]
fn report<T: Tick>(races: &mut Findings, base: u64, var: VarId, entry: &Entry<T>, second: Access) {
    let index = EventIndex(entry.mark.number() + base - 1);
    let at = At { index, thread: entry.thread, location: entry.location };
    let first = Access { at, kind: entry.kind };
    races.report(Race { var, verdict: Verdict::Observed, first, second });
}

impl<T: Tick> Detector for ShortHb<T> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.knowledge.threads.grow_to(sizes.threads);
        self.slot_of.reserve(sizes.variables, self.window.saturating_mul(DIRECT_VARIABLES));
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        let Touch { var, kind, order, block, .. } = touch;
        // What an atomic access acquires is ordered before it, so the rules come before the check.
        if let Some(order) = order {
            self.synchronise(at, |knowledge| flow::atomic(knowledge, at.thread, var, kind, order));
        }
        self.judge(at, var, kind, races);
        if let Some(block) = block {
            self.judge_block(at, block, races);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::fence(knowledge, at.thread, order));
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::acquire(knowledge, at.thread, lock, mode));
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::release(knowledge, at.thread, lock, mode));
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::fork(knowledge, at.thread, child));
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::join(knowledge, at.thread, child));
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::post(knowledge, at.thread, object));
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        self.synchronise(at, |knowledge| flow::wait(knowledge, at.thread, object));
    }

    fn other(&mut self, at: At, _: &mut Findings) {
        self.advance(at.index);
    }

    fn state_bytes(&self) -> usize {
        self.accesses.capacity() * size_of::<AccessRecord<T>>()
            + self.fillings.capacity() * size_of::<FillRecord<T>>()
            + self.variables.table_bytes()
            + self.slot_of.table_bytes()
            + self.access_bytes
            + self.knowledge.state_bytes()
    }
}
