//! Reads that see what another thread wrote, where workers share the variables of a trace.
//!
//! Some notions order a write before every read that sees it. For a worker that has only some of the variables such an edge is visible only if
//! the variable is its own; but it orders the threads, and with them the accesses of all other variables. So the trace is read twice:
//!
//! 1. Each worker looks for the edges of its own variables with clocks that know synchronisation and these edges. An edge whose write the
//!    reader knows already follows from others. The two events of every other edge are *marked* ([`Finder`]).
//! 2. Marked events go to all workers, as synchronisation does. A worker judges accesses of its own variables; of others it follows the edges.
//!
//! **Invariants.**
//!   I1  The write that a read sees goes to all workers if the read does: if it is marked, and if it is atomic, because atomic accesses go to all. So
//!       the last write of a variable that a worker knows when it gets a read is the one that the read sees, whoever owns the variable.
//!   I2  In the first reading nothing is learned from variables of others: of those a worker does not know the last write.
//!
//! Clocks of the first reading know less than those of the second, never more. What they call ordered is ordered.

use std::sync::Arc;

use overtake_rules::LockMode;
use overtake_trace::{EventIndex, Id, IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::At;
use crate::visitor::{Touch, Visitor};

/// The variables of one worker.
#[derive(Clone, Debug)]
pub struct OwnVariables {
    words: Arc<[u64]>,
}

impl OwnVariables {
    /// The variables for which `is_own` says so, by number.
    pub fn new(is_own: impl Iterator<Item = bool>) -> OwnVariables {
        let mut words = Vec::new();
        for (number, is_own) in is_own.enumerate() {
            if number % 64 == 0 {
                words.push(0);
            }
            words[number / 64] |= u64::from(is_own) << (number % 64);
        }
        OwnVariables { words: words.into() }
    }

    /// Whether a variable belongs to the worker.
    #[inline]
    pub fn has(&self, var: VarId) -> bool {
        self.words.get(var.index() / 64).is_some_and(|word| word >> (var.index() % 64) & 1 == 1)
    }
}

/// Events of a page.
const PAGE: usize = 1 << 15;

/// A set of events, small where they are few or close together.
#[derive(Clone, Default, Debug)]
pub struct EventSet {
    pages: Vec<Option<Box<[u64; PAGE / 64]>>>,
    used_pages: usize,
}

impl EventSet {
    /// Adds an event.
    pub fn insert(&mut self, event: EventIndex) {
        let (page, bit) = (event.0 as usize / PAGE, event.0 as usize % PAGE);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        let used_pages = &mut self.used_pages;
        let words = self.pages[page].get_or_insert_with(|| {
            *used_pages += 1;
            Box::new([0; PAGE / 64])
        });
        words[bit / 64] |= 1 << (bit % 64);
    }

    /// Whether an event is in the set.
    pub fn has(&self, event: EventIndex) -> bool {
        let (page, bit) = (event.0 as usize / PAGE, event.0 as usize % PAGE);
        let page = self.pages.get(page).and_then(Option::as_deref);
        page.is_some_and(|words| words[bit / 64] >> (bit % 64) & 1 == 1)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.used_pages == 0
    }

    /// All of them, in trace order.
    pub fn iter(&self) -> impl Iterator<Item = EventIndex> + '_ {
        let pages = self.pages.iter().enumerate().filter_map(|(page, words)| Some((page, words.as_deref()?)));
        let words = pages.flat_map(|(page, words)| (page * PAGE..).step_by(64).zip(words));
        words.filter(|(_, word)| **word != 0).flat_map(|(first, word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| EventIndex((first + bit) as u64))
        })
    }

    /// Bytes on the heap.
    pub fn heap_bytes(&self) -> usize {
        self.used_pages * (PAGE / 8) + self.pages.capacity() * size_of::<Option<Box<[u64; PAGE / 64]>>>()
    }
}

/// What a worker tells all others at the end of a reading.
#[derive(Default, Debug)]
pub struct News {
    /// Events that all workers must see in the next reading.
    pub marked: EventSet,
    /// Anything else.
    pub words: Vec<u64>,
}

/// Finds the edges of a worker's variables, in the first reading.
#[derive(Debug)]
pub(crate) struct Finder {
    own: OwnVariables,
    /// Per variable, the number of the last write, and one more; 0 is none.
    last_writes: IdVec<VarId, u64>,
    marked: EventSet,
}

impl Finder {
    pub(crate) fn new(own: OwnVariables) -> Finder {
        Finder { own, last_writes: IdVec::new(), marked: EventSet::default() }
    }

    pub(crate) fn reserve(&mut self, variables: usize) {
        self.last_writes.grow_to(variables);
    }

    /// Whether the worker has the variable.
    #[inline]
    pub(crate) fn owns(&self, touch: Touch<'_>) -> bool {
        // Plain accesses come to their worker only.
        touch.order.is_none() || self.own.has(touch.var)
    }

    /// An access of an own variable is over; `learned` says whether it saw a write that its thread did not know.
    #[inline]
    pub(crate) fn end_access(&mut self, at: At, touch: Touch<'_>, learned: bool) {
        if learned || touch.order.is_some() {
            self.mark(at, touch);
        }
        if touch.kind.writes() {
            self.last_writes[touch.var] = at.index.0 + 1;
        }
    }

    #[inline(never)]
    fn mark(&mut self, at: At, touch: Touch<'_>) {
        if touch.order.is_none() {
            self.marked.insert(at.index);
        }
        let seen = [Some(touch.var).filter(|_| touch.kind.reads()), touch.block];
        for write in seen.into_iter().flatten().map(|var| self.last_writes[var]).filter(|write| *write > 0) {
            self.marked.insert(EventIndex(write - 1)); // I1
        }
    }

    pub(crate) fn take_marked(&mut self) -> EventSet {
        std::mem::take(&mut self.marked)
    }

    pub(crate) fn into_own(self) -> OwnVariables {
        self.own
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.last_writes.table_bytes() + self.marked.heap_bytes()
    }
}

/// A visitor with another handler of accesses.
pub(crate) struct WithAccess<'a, V, A> {
    pub(crate) visitor: &'a mut V,
    pub(crate) access: A,
}

impl<V: Visitor, A: FnMut(&mut V, At, Touch<'_>)> Visitor for WithAccess<'_, V, A> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.visitor.reserve(sizes);
    }

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        (self.access)(self.visitor, at, touch);
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.visitor.fence(at, order);
    }

    #[inline(always)]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.visitor.acquire(at, lock, mode);
    }

    #[inline(always)]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.visitor.release(at, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.visitor.fork(at, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.visitor.join(at, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.visitor.post(at, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.visitor.wait(at, object);
    }

    fn other(&mut self, at: At) {
        self.visitor.other(at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_has_the_events_that_were_added() {
        let mut set = EventSet::default();
        assert!(set.is_empty());
        let events = [5, 63, 64, 5, 3 * PAGE as u64 - 1, 9 * PAGE as u64];
        events.iter().for_each(|&event| set.insert(EventIndex(event)));
        let found: Vec<_> = set.iter().map(|event| event.0).collect();
        assert_eq!(found, [5, 63, 64, 3 * PAGE as u64 - 1, 9 * PAGE as u64]);
        assert!(set.has(EventIndex(64)) && !set.has(EventIndex(65)) && !set.has(EventIndex(1 << 40)));
    }

    #[test]
    fn a_worker_has_its_variables_only() {
        let own = OwnVariables::new((0..200).map(|number| number % 3 == 0));
        for number in 0..300 {
            assert_eq!(own.has(VarId(number)), number < 200 && number % 3 == 0);
        }
    }
}
