//! What is remembered of accesses: a log of them in trace order, and per variable how to find the ones that matter.
//!
//! **State.** One log of accesses. Per variable either a *chain*, its latest access from which each leads to the one
//! before, or *lists*, its accesses by thread and by whether they write. A chain costs nothing but its link. It is enough
//! as long as no pair of accesses needs a look: all are of one thread, all conflicting ones share a lock, or none
//! conflict. The first access for which this does not hold turns the chain into lists. From then on lists are searched
//! while there is an access among those kept that shares no lock with the rest.
//!
//! **Cost.** O(1) per access of a chain; O(threads that accessed the variable) otherwise.

use std::collections::VecDeque;

use overtake_clock::{Epoch, Time};
use overtake_trace::{EventIndex, LocationId, Pages, ThreadId, VarId};

use super::held::{HeldId, HeldSets};
use super::sections::Learned;
use crate::access::{Access, AccessKind, At};

/// One access.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) index: EventIndex,
    /// The thread and its time.
    pub(super) epoch: Epoch,
    /// What the thread had learned from others before the access.
    pub(super) learned: Learned,
    /// What the thread held.
    pub(super) held: HeldId,
    pub(super) location: LocationId,
    /// The thread's time in the happens-before order.
    pub(super) happened: Time,
    /// How far back in the log the previous access of the variable is; 0 is none.
    previous: u32,
    pub(super) kind: AccessKind,
}

const _: () = assert!(size_of::<Entry>() == 40);

impl Entry {
    /// The access as a report names it.
    pub(super) fn access(&self) -> Access {
        let at = At { index: self.index, thread: ThreadId(self.epoch.thread), location: self.location };
        Access { at, kind: self.kind }
    }
}

/// What is new of an access, before it is in the log.
#[derive(Clone, Copy, Debug)]
pub(super) struct NewEntry {
    pub(super) at: At,
    pub(super) kind: AccessKind,
    pub(super) epoch: Epoch,
    pub(super) learned: Learned,
    pub(super) held: HeldId,
    pub(super) happened: Time,
}

/// Accesses in trace order, numbered from 0 since the start of the trace; old ones may be gone.
#[derive(Default, Debug)]
pub(super) struct Log {
    entries: VecDeque<Entry>,
    /// How many entries are gone.
    gone: u64,
}

impl Log {
    /// The entry with this number, which is there.
    #[inline]
    pub(super) fn at(&self, number: u64) -> &Entry {
        &self.entries[(number - self.gone) as usize]
    }

    /// The number the next entry will have.
    #[inline]
    fn next(&self) -> u64 {
        self.gone + self.entries.len() as u64
    }

    /// The number of the oldest entry that is there.
    #[inline]
    pub(super) fn oldest(&self) -> u64 {
        self.gone
    }

    /// Removes the oldest entry if it is `window` events or more before `now`.
    #[inline]
    pub(super) fn pop_older(&mut self, now: EventIndex, window: u64) -> Option<Entry> {
        let oldest = self.entries.front()?;
        if now.0 - oldest.index.0 < window {
            return None;
        }
        self.gone += 1;
        self.entries.pop_front()
    }

    /// Removes the oldest entry if it is within `known`.
    pub(super) fn pop_known(&mut self, known: &[Time]) -> Option<Entry> {
        let Epoch { thread, time } = self.entries.front()?.epoch;
        if known.get(thread as usize).is_none_or(|&known| time > known) {
            return None;
        }
        self.gone += 1;
        self.entries.pop_front()
    }

    /// How many entries there are.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }
}

/// What is known of a variable.
#[derive(Clone, Copy, Debug)]
pub(super) struct VarState {
    /// The time that the latest write ended.
    pub(super) last_write: Epoch,
    /// Locks common to all accesses that are kept.
    common: HeldId,
    shape: Shape,
    /// Whether there is a plain access among them, and a write.
    plain: bool,
    written: bool,
    /// Number of the latest access, while the accesses are a chain.
    latest: u64,
}

/// How a variable's accesses are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shape {
    /// There are none.
    Untouched,
    /// A chain; all are of this thread.
    Private(ThreadId),
    /// A chain; no two that conflict lack a common lock.
    Protected,
    /// Lists, at this place.
    Listed(u32),
}

impl Default for VarState {
    fn default() -> Self {
        VarState {
            last_write: Epoch::NONE,
            common: HeldId::NOTHING,
            shape: Shape::Untouched,
            plain: false,
            written: false,
            latest: 0,
        }
    }
}

/// The accesses of a variable, by thread.
#[derive(Default, Debug)]
pub(super) struct Lists {
    var: Option<VarId>,
    /// The times of each thread's last accesses, apart from the lists: most checks need no more.
    pub(super) threads: Vec<LastTimes>,
    /// Reads and writes of the threads in the order of `threads`.
    lists: Vec<[List; 2]>,
}

/// The times of a thread's last read and last write of a variable; 0 is none.
#[derive(Clone, Copy, Debug)]
pub(super) struct LastTimes {
    pub(super) thread: ThreadId,
    last: [Time; 2],
}

/// Accesses that only read, or those that write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Side {
    Reads = 0,
    Writes = 1,
}

impl Side {
    #[inline]
    fn of(kind: AccessKind) -> Side {
        if kind.writes() { Side::Writes } else { Side::Reads }
    }

    /// The sides that an access may conflict with.
    #[inline]
    pub(super) fn against(kind: AccessKind) -> &'static [Side] {
        if kind.writes() { &[Side::Writes, Side::Reads] } else { &[Side::Writes] }
    }
}

impl LastTimes {
    /// The time of the last access on one side.
    #[inline]
    pub(super) fn on(&self, side: Side) -> Time {
        self.last[side as usize]
    }

    /// The time of the last access that an access of this kind may conflict with.
    #[inline]
    pub(super) fn against(&self, kind: AccessKind) -> Time {
        if kind.writes() { self.last[0].max(self.last[1]) } else { self.last[1] }
    }
}

/// Accesses of one thread to one variable on one side, oldest first.
#[derive(Default, Debug)]
pub(super) struct List {
    pub(super) items: Vec<Item>,
    /// How many of the first items are gone from the log.
    pub(super) gone: usize,
    /// Locks common to all items.
    pub(super) common: HeldId,
}

/// An access in a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Item {
    pub(super) time: Time,
    /// The low half of the number in the log. It is unique, because items do not outlive their entries for long.
    number: u32,
}

impl Lists {
    pub(super) fn list(&self, slot: usize, side: Side) -> &List {
        &self.lists[slot][side as usize]
    }

    /// Where a thread's accesses are.
    #[inline]
    fn slot(&mut self, thread: ThreadId) -> usize {
        if let Some(slot) = self.threads.iter().position(|times| times.thread == thread) {
            return slot;
        }
        self.threads.push(LastTimes { thread, last: [0; 2] });
        self.lists.push(Default::default());
        self.threads.len() - 1
    }

    #[inline]
    fn push(&mut self, number: u64, access: &NewEntry, held: &mut HeldSets) -> Bytes {
        let (slot, side) = (self.slot(access.at.thread), Side::of(access.kind));
        self.threads[slot].last[side as usize] = access.epoch.time;
        let list = &mut self.lists[slot][side as usize];
        let before = list.items.capacity();
        let is_first = list.items.is_empty();
        list.common = if is_first { access.held } else { held.meet(list.common, access.held) };
        list.items.push(Item { time: access.epoch.time, number: number as u32 });
        (list.items.capacity() - before) * size_of::<Item>()
    }

    /// Drops what is gone from the log, and finds out anew what is common to the rest. Returns how much there was to do.
    fn compact(&mut self, log: &Log, state: &mut VarState, held: &mut HeldSets) -> usize {
        let mut is_first = true;
        for list in self.lists.iter_mut().flatten() {
            list.compact(log);
            for (at, &item) in list.items.iter().enumerate() {
                let access = NewEntry::from(log.at(log.number(item)));
                list.common = if at == 0 { access.held } else { held.meet(list.common, access.held) };
                if std::mem::take(&mut is_first) { state.begin(&access) } else { state.join(&access, held) }
            }
        }
        let is_used = |[reads, writes]: &[List; 2]| !(reads.items.is_empty() && writes.items.is_empty());
        let mut used = self.lists.iter().map(is_used).collect::<Vec<_>>().into_iter();
        self.threads.retain(|_| used.next().unwrap_or(true));
        self.lists.retain(is_used);
        self.threads.len() + self.lists.iter().flatten().map(|list| list.items.len()).sum::<usize>()
    }

    fn heap_bytes(&self) -> Bytes {
        let items: usize = self.lists.iter().flatten().map(|list| list.items.capacity()).sum();
        items * size_of::<Item>()
            + self.threads.capacity() * size_of::<LastTimes>()
            + self.lists.capacity() * size_of::<[List; 2]>()
    }
}

type Bytes = usize;

impl List {
    /// Drops the items that are gone from the log.
    fn compact(&mut self, log: &Log) {
        self.skip_gone(log);
        self.items.drain(..self.gone);
        self.gone = 0;
        if self.items.capacity() > 4 * self.items.len() + 16 {
            self.items.shrink_to(2 * self.items.len());
        }
    }

    #[inline]
    fn skip_gone(&mut self, log: &Log) {
        while self.items.get(self.gone).is_some_and(|&item| log.number(item) < log.oldest()) {
            self.gone += 1;
        }
    }
}

impl Log {
    /// The number of the entry that an item stands for.
    #[inline]
    pub(super) fn number(&self, item: Item) -> u64 {
        let next = self.next();
        next - u64::from((next as u32).wrapping_sub(item.number))
    }

    #[inline]
    fn push(&mut self, access: &NewEntry, previous: u32) {
        if self.entries.len() == self.entries.capacity() {
            self.grow();
        }
        self.entries.push_back(Entry {
            index: access.at.index,
            epoch: access.epoch,
            learned: access.learned,
            held: access.held,
            location: access.at.location,
            happened: access.happened,
            previous,
            kind: access.kind,
        });
    }

    /// Makes room by an eighth: how many accesses a window holds hardly changes, and twice the room would mostly be empty.
    #[cold]
    fn grow(&mut self) {
        self.entries.reserve_exact(self.entries.len() / 8 + 64);
    }

    /// Whether an access is indistinguishable from an earlier one: same thread, same time, nothing learned in between, same
    /// kind. Then it races with whatever the earlier one races with.
    #[inline]
    fn repeats(&self, number: u64, access: &NewEntry) -> bool {
        let entry = self.at(number);
        entry.epoch == access.epoch && entry.learned == access.learned && entry.kind == access.kind
    }
}

/// All accesses that can still matter. Unless they are `BOUNDED` to a window, accesses that nothing tells apart are kept
/// once; a window needs the latest of them.
#[derive(Default, Debug)]
pub(super) struct History<const BOUNDED: bool> {
    pub(super) log: Log,
    vars: Pages<VarId, VarState>,
    lists: Vec<Lists>,
    free_lists: Vec<u32>,
    /// Bytes that lists own on the heap, as far as they grow with every access.
    list_bytes: Bytes,
    not_recorded: u64,
}

impl<const BOUNDED: bool> History<BOUNDED> {
    /// What is known of a variable.
    #[inline]
    pub(super) fn var(&mut self, var: VarId) -> &mut VarState {
        &mut self.vars[var]
    }

    /// Accesses that could not be remembered: their races with later accesses are missed.
    pub(super) fn not_recorded(&self) -> u64 {
        self.not_recorded
    }

    /// Where the lists are that an access must be checked against, if it must be checked at all.
    #[inline]
    pub(super) fn lists_to_check(
        &mut self,
        var: VarId,
        access: &NewEntry,
        held: &mut HeldSets,
    ) -> Option<u32> {
        let state = &self.vars[var];
        let check = state.shape != Shape::Untouched
            && state.shape != Shape::Private(access.at.thread)
            && (state.written || access.kind.writes())
            && (state.plain || !access.kind.is_atomic())
            && !held.protect(state.common, access.held);
        match state.shape {
            _ if !check => None,
            Shape::Listed(place) => Some(place),
            _ => self.spread(var, held),
        }
    }

    /// The lists at a place.
    #[inline]
    pub(super) fn lists(&self, place: u32) -> &Lists {
        &self.lists[place as usize]
    }

    /// The list of one thread and side, without the items that are gone from the log.
    #[inline]
    pub(super) fn list(&mut self, place: u32, slot: usize, side: Side) -> &List {
        let list = &mut self.lists[place as usize].lists[slot][side as usize];
        list.skip_gone(&self.log);
        list
    }

    /// Adds an access to the log and to its variable, unless it need not, or cannot, be kept.
    #[inline]
    pub(super) fn record(&mut self, var: VarId, access: &NewEntry, held: &mut HeldSets) {
        if self.log.len() >= u32::MAX as usize - 1 {
            self.not_recorded += 1;
            return;
        }
        match self.vars[var].shape {
            Shape::Listed(place) => self.record_in_list(var, place, access, held),
            _ => self.record_in_chain(var, access, held),
        }
    }

    fn record_in_list(&mut self, var: VarId, place: u32, access: &NewEntry, held: &mut HeldSets) {
        let lists = &mut self.lists[place as usize];
        if !BOUNDED {
            let slot = lists.slot(access.at.thread);
            let last = lists.list(slot, Side::of(access.kind)).items.last();
            let last = last.map(|&item| self.log.number(item)).filter(|&number| number >= self.log.oldest());
            if last.is_some_and(|number| self.log.repeats(number, access)) {
                return;
            }
        }
        self.list_bytes += lists.push(self.log.next(), access, held);
        self.vars[var].join(access, held);
        self.log.push(access, 0);
    }

    fn record_in_chain(&mut self, var: VarId, access: &NewEntry, held: &mut HeldSets) {
        let state = &mut self.vars[var];
        let number = self.log.next();
        let mut previous = 0;
        if state.shape == Shape::Untouched || state.latest < self.log.oldest() {
            state.shape = Shape::Private(access.at.thread);
            state.begin(access);
        } else {
            if !BOUNDED && self.log.repeats(state.latest, access) {
                return;
            }
            previous = (number - state.latest) as u32;
            if state.shape != Shape::Private(access.at.thread) {
                state.shape = Shape::Protected;
            }
            state.join(access, held);
        }
        state.latest = number;
        self.log.push(access, previous);
    }

    /// Turns the chain of a variable into lists; `None` if all of it is gone from the log.
    #[cold]
    fn spread(&mut self, var: VarId, held: &mut HeldSets) -> Option<u32> {
        let numbers = self.chain(var);
        if numbers.is_empty() {
            return None;
        }
        let place = self.free_lists.pop().unwrap_or_else(|| {
            self.lists.push(Lists::default());
            self.lists.len() as u32 - 1
        });
        self.vars[var].shape = Shape::Listed(place);
        let lists = &mut self.lists[place as usize];
        lists.var = Some(var);
        for number in numbers.into_iter().rev() {
            let access = NewEntry::from(self.log.at(number));
            self.list_bytes += lists.push(number, &access, held);
        }
        Some(place)
    }

    /// The numbers of a variable's accesses, latest first.
    fn chain(&self, var: VarId) -> Vec<u64> {
        let mut numbers = Vec::new();
        let mut number = self.vars[var].latest;
        while number >= self.log.oldest() {
            numbers.push(number);
            match u64::from(self.log.at(number).previous) {
                0 => break,
                back if back > number => break,
                back => number -= back,
            }
        }
        numbers
    }

    /// Drops what is gone from the log from all lists, and lists with nothing left. What is common to the accesses of a
    /// variable is found anew: a stray access stops to matter when it is gone. Returns how much there was to do.
    pub(super) fn sweep(&mut self, held: &mut HeldSets) -> usize {
        let mut work = self.lists.len();
        self.list_bytes = 0;
        for (place, lists) in self.lists.iter_mut().enumerate() {
            let Some(var) = lists.var else { continue };
            let state = &mut self.vars[var];
            work += lists.compact(&self.log, state, held);
            if lists.threads.is_empty() {
                *lists = Lists::default();
                self.free_lists.push(place as u32);
                state.shape = Shape::Untouched;
            }
            self.list_bytes += lists.heap_bytes();
        }
        work
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.log.entries.capacity() * size_of::<Entry>()
            + self.vars.table_bytes()
            + self.lists.capacity() * size_of::<Lists>()
            + self.list_bytes
    }
}

impl VarState {
    /// Notes the first of the accesses that are kept.
    fn begin(&mut self, access: &NewEntry) {
        self.common = access.held;
        self.plain = !access.kind.is_atomic();
        self.written = access.kind.writes();
    }

    /// Notes a further access.
    fn join(&mut self, access: &NewEntry, held: &mut HeldSets) {
        self.common = held.meet(self.common, access.held);
        self.plain |= !access.kind.is_atomic();
        self.written |= access.kind.writes();
    }
}

impl From<&Entry> for NewEntry {
    fn from(entry: &Entry) -> NewEntry {
        let Access { at, kind } = entry.access();
        let Entry { epoch, learned, held, happened, .. } = *entry;
        NewEntry { at, kind, epoch, learned, held, happened }
    }
}
