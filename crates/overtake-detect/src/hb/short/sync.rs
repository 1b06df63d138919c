//! Knowledge of threads and carriers in window-relative time.
//!
//! Component `u` of a clock is the time of the last event of `u` that left knowledge which arrived here. An access of `u`
//! is therefore ordered before a thread exactly if its time is not after that component.

use overtake_clock::{ChunkedClock, Tick};
use overtake_rules::Flows;
use overtake_trace::{Id, IdVec, ThreadId, TraceIds, VarId};

use super::slots::Slots;
use super::table::SlotTable;
use crate::hb::Carrier;

/// What threads know and what carriers hold.
#[derive(Debug)]
pub(super) struct Knowledge<T> {
    pub(super) threads: IdVec<ThreadId, ChunkedClock<T>>,
    carriers: Slots<Carried<T>>,
    /// One map per kind of carrier, from its number to its slot: a kind that does not occur costs a test for emptiness.
    slots: [SlotTable; Carrier::KINDS],
    /// The time of the current event.
    now: T,
    /// Slots that got knowledge at the current event, for the window to record.
    touched: Vec<u32>,
    heap_bytes: usize,
}

/// What a carrier holds.
#[derive(Debug)]
struct Carried<T> {
    clock: ChunkedClock<T>,
    /// When something was last left here. The carrier is freed when that leaves the window.
    latest: T,
    carrier: Option<Carrier>,
}

impl<T: Tick> Default for Carried<T> {
    fn default() -> Self {
        Carried { clock: ChunkedClock::new(), latest: T::default(), carrier: None }
    }
}

impl<T: Tick> Default for Knowledge<T> {
    fn default() -> Self {
        Knowledge {
            threads: IdVec::new(),
            carriers: Slots::default(),
            slots: Default::default(),
            now: T::default(),
            touched: Vec::new(),
            heap_bytes: 0,
        }
    }
}

impl<T: Tick> Knowledge<T> {
    /// Applies the rules of one event at time `now`, and returns the carriers that got knowledge.
    #[inline]
    pub(super) fn at(&mut self, now: T, rule: impl FnOnce(&mut Self)) -> &[u32] {
        self.now = now;
        self.touched.clear();
        rule(self);
        &self.touched
    }

    /// An event at `time` that left something in `slot` has left the window.
    #[inline]
    pub(super) fn evict(&mut self, slot: u32, time: T) {
        if self.carriers.get(slot).latest == time {
            self.free(slot);
        }
    }

    fn free(&mut self, slot: u32) {
        let held = self.carriers.get(slot);
        if let Some(carrier) = held.carrier {
            let (kind, number) = carrier.key();
            self.slots[kind].remove(number);
            self.heap_bytes -= held.clock.heap_bytes();
            self.carriers.remove(slot);
        }
    }

    /// Moves every time back by `by`; what reaches 0 is out of the window and forgotten.
    pub(super) fn age(&mut self, by: T) {
        self.heap_bytes = 0;
        for clock in self.threads.iter_mut() {
            clock.age(by);
            self.heap_bytes += clock.heap_bytes();
        }
        for held in self.carriers.iter_mut() {
            held.clock.age(by);
            held.latest = held.latest.earlier(by);
            self.heap_bytes += held.clock.heap_bytes();
        }
    }

    /// Carriers that hold something.
    #[cfg(test)]
    pub(super) fn live_carriers(&self) -> usize {
        self.carriers.live()
    }

    #[cfg(test)]
    pub(super) fn heap_bytes(&self) -> usize {
        self.heap_bytes
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.threads.table_bytes()
            + self.carriers.table_bytes()
            + self.slots.iter().map(SlotTable::table_bytes).sum::<usize>()
            + self.heap_bytes
    }

    #[inline]
    fn slot(&self, carrier: Carrier) -> Option<u32> {
        let (kind, number) = carrier.key();
        self.slots[kind].get(number)
    }

    /// The slot of a carrier that gets knowledge now.
    #[inline]
    fn slot_to_fill(&mut self, carrier: Carrier) -> u32 {
        let (kind, number) = carrier.key();
        let slot = self.slots[kind].get_or_insert(number, || self.carriers.add());
        let held = self.carriers.get_mut(slot);
        held.latest = self.now;
        held.carrier = Some(carrier);
        self.touched.push(slot);
        slot
    }

    /// Brings a thread's own component to the current event, before others learn what it knows.
    #[inline]
    fn mark(&mut self, thread: ThreadId) {
        self.heap_bytes += self.threads[thread].raise(thread.0, self.now);
    }

    /// `to` holds what `from` holds, besides what it held.
    fn transfer(&mut self, from: Carrier, to: Carrier) {
        let Some(from) = self.slot(from) else { return };
        let to = self.slot_to_fill(to);
        let (from, to) = self.carriers.pair_mut(from, to);
        self.heap_bytes += to.clock.join(&from.clock);
    }

    fn between_threads(&mut self, from: ThreadId, to: ThreadId) {
        self.mark(from);
        let (from, to) = self.threads.pair_mut(from, to);
        self.heap_bytes += to.join(from);
    }
}

impl<T: Tick> Flows for Knowledge<T> {
    type Ids = TraceIds;

    #[inline]
    fn publish(&mut self, from: ThreadId, to: Carrier) {
        let slot = self.slot_to_fill(to);
        self.mark(from);
        self.heap_bytes += self.carriers.get_mut(slot).clock.join(&self.threads[from]);
    }

    #[inline(always)] // in the event loop
    fn replace(&mut self, from: ThreadId, to: Carrier) {
        let slot = self.slot_to_fill(to);
        self.mark(from);
        self.heap_bytes += self.carriers.get_mut(slot).clock.copy_from(&self.threads[from]);
    }

    #[inline(always)] // in the event loop
    fn receive(&mut self, to: ThreadId, from: Carrier) {
        if let Some(slot) = self.slot(from) {
            self.heap_bytes += self.threads[to].join(&self.carriers.get(slot).clock);
        }
    }

    fn keep_for_fence(&mut self, thread: ThreadId, var: VarId) {
        self.transfer(Carrier::Sequence(var), Carrier::AcquireFence(thread));
    }

    fn release_by_fence(&mut self, thread: ThreadId, var: VarId) {
        self.transfer(Carrier::ReleaseFence(thread), Carrier::Sequence(var));
    }

    #[inline]
    fn forget(&mut self, carrier: Carrier) {
        if let Some(slot) = self.slot(carrier) {
            self.free(slot);
        }
    }

    fn start(&mut self, parent: ThreadId, child: ThreadId) {
        self.between_threads(parent, child);
    }

    fn end(&mut self, child: ThreadId, parent: ThreadId) {
        self.between_threads(child, parent);
    }
}

/// Whether an access of `thread` at `time` comes before a thread with this clock.
#[inline]
pub(super) fn covers<T: Tick>(clock: &ChunkedClock<T>, thread: ThreadId, time: T) -> bool {
    time <= clock.get(thread.index() as u32)
}
