//! Who learns of an event by happens-before, and from whom.
//!
//! The clocks decide who knows of the event; beside them, the latest release of each lock, post of each object and atomic access
//! of each variable by a thread that knew. So a thread that has learned of it at one of its events is linked to the event from which it
//! learned, and the links back from the second event are the chain.

use overtake_clock::Epoch;
use overtake_trace::{EventIndex, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::{Link, LinkReason};
use crate::access::At;
use crate::detector::LockMode;
use crate::hb::SyncClocks;
use crate::visitor::{Touch, Visitor};

/// Follows what is known of an event up to another one.
#[derive(Default, Debug)]
pub(super) struct Spread {
    wanted: [Option<EventIndex>; 2],
    found: [Option<At>; 2],
    /// The time of the first event's thread at the event.
    epoch: Option<Epoch>,
    is_known_at_second: bool,
    order: SyncClocks,
    /// How each thread came to know, if it does.
    learned: FxHashMap<ThreadId, Link>,
    released: FxHashMap<LockId, At>,
    posted: FxHashMap<SyncId, At>,
    stored: FxHashMap<VarId, At>,
    latest: FxHashMap<ThreadId, At>,
}

impl Spread {
    pub(super) fn new(first: EventIndex, second: EventIndex) -> Spread {
        Spread { wanted: [Some(first), Some(second)], ..Spread::default() }
    }

    pub(super) fn first(&self) -> Option<At> {
        self.found[0]
    }

    pub(super) fn second(&self) -> Option<At> {
        self.found[1]
    }

    /// The links from the first event to the second; none if it does not happen before it.
    pub(super) fn chain(&self) -> Option<Vec<Link>> {
        let (first, second) = (self.found[0]?, self.found[1]?);
        if first.thread == second.thread {
            return Some(vec![Link { from: first, to: second, reason: LinkReason::Thread }]);
        }
        if !self.is_known_at_second {
            return None;
        }
        let mut links = Vec::new();
        let mut thread = second.thread;
        while thread != first.thread && links.len() <= self.learned.len() {
            let link = self.learned.get(&thread)?;
            links.push(*link);
            thread = link.from.thread;
        }
        links.reverse();
        Some(links)
    }

    fn knows(&self, thread: ThreadId) -> bool {
        let Some(first) = self.found[0] else { return false };
        thread == first.thread || self.epoch.is_some_and(|epoch| self.order.thread(thread).covers(epoch))
    }

    /// An event: whether one of the two begins here. Inserted events have the index of the event behind them, so the last counts.
    fn note(&mut self, at: At) {
        if Some(at.index) == self.wanted[0] {
            self.found[0] = Some(at);
            self.epoch = Some(self.order.thread(at.thread).epoch());
        }
        if Some(at.index) == self.wanted[1] {
            self.found[1] = Some(at);
            self.is_known_at_second = self.knows(at.thread);
        }
        if self.latest.insert(at.thread, at).is_none()
            && let Some(link) = self.learned.get_mut(&at.thread)
            && link.reason == LinkReason::Fork
        {
            link.to = at;
        }
    }

    fn is_over(&self, at: At) -> bool {
        Some(at.index) > self.wanted[1]
    }

    /// An event by which `thread` may come to know.
    fn learning(
        &mut self,
        at: At,
        thread: ThreadId,
        from: Option<At>,
        reason: LinkReason,
        learn: impl FnOnce(&mut SyncClocks),
    ) {
        let knew = self.knows(thread);
        learn(&mut self.order);
        if !knew
            && self.knows(thread)
            && let Some(from) = from.or(self.found[0])
        {
            self.learned.insert(thread, Link { from, to: at, reason });
        }
        if Some(at.index) == self.wanted[1] {
            self.is_known_at_second = self.knows(at.thread); // what comes into the event itself counts
        }
    }
}

impl Visitor for Spread {
    fn reserve(&mut self, sizes: &Sizes) {
        self.order.reserve(sizes);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        if self.is_over(at) {
            return;
        }
        self.note(at);
        let Some(order) = touch.order else { return };
        let from = self.stored.get(&touch.var).copied();
        self.learning(at, at.thread, from, LinkReason::Atomic, |clocks| {
            clocks.atomic_acquire(at.thread, touch.var, touch.kind, order);
        });
        if touch.kind.writes() && self.knows(at.thread) {
            self.stored.insert(touch.var, at);
        }
        self.order.atomic_release(at.thread, touch.var, touch.kind, order);
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        if !self.is_over(at) {
            self.note(at);
            self.learning(at, at.thread, None, LinkReason::Atomic, |clocks| clocks.fence(at.thread, order));
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        if !self.is_over(at) {
            self.note(at);
            let from = self.released.get(&lock).copied();
            self.learning(at, at.thread, from, LinkReason::Lock(lock), |clocks| {
                clocks.acquire(at.thread, lock, mode);
            });
        }
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        if !self.is_over(at) {
            self.note(at);
            if self.knows(at.thread) {
                self.released.insert(lock, at);
            }
            self.order.release(at.thread, lock, mode);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        if !self.is_over(at) {
            self.note(at);
            self.learning(at, child, Some(at), LinkReason::Fork, |clocks| clocks.fork(at.thread, child));
        }
    }

    fn join(&mut self, at: At, child: ThreadId) {
        if !self.is_over(at) {
            self.note(at);
            let from = self.latest.get(&child).copied();
            self.learning(at, at.thread, from, LinkReason::Join, |clocks| clocks.join(at.thread, child));
        }
    }

    fn post(&mut self, at: At, object: SyncId) {
        if !self.is_over(at) {
            self.note(at);
            if self.knows(at.thread) {
                self.posted.insert(object, at);
            }
            self.order.post(at.thread, object);
        }
    }

    fn wait(&mut self, at: At, object: SyncId) {
        if !self.is_over(at) {
            self.note(at);
            let from = self.posted.get(&object).copied();
            self.learning(at, at.thread, from, LinkReason::Object(object), |clocks| {
                clocks.wait(at.thread, object);
            });
        }
    }

    fn other(&mut self, at: At) {
        if !self.is_over(at) {
            self.note(at);
        }
    }
}
