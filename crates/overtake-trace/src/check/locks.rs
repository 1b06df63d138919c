//! The operations on locks that [`super::ordinary`] does not handle: nested sections, shared sections, and what is missing or wrong.
//!
//! [`Holders`] decides who holds a lock; here are the repairs that follow from it.
//!
//! A lock's full state is kept here. While one word is enough to say who holds the lock, only that word is updated (see
//! [`super::ordinary`]), and the full state may be out of date. So every step begins by taking over the word and ends by writing it.

use overtake_rules::{Acquired, Claim, Handover, Holders, Holding, LockMode, Released};

use super::ordinary::Holder;
use super::{Checker, Mode, Repair, skip, thread_name};
use crate::error::Result;
use crate::event::{Action, Event, Op};
use crate::id::{EventIndex, LocationId, LockId, SyncId, ThreadId};
use crate::symbols::Symbols;

#[derive(Default, Debug)]
pub(super) struct LockState {
    pub(super) holders: Holders<Vec<Claim<ThreadId>>>,
    /// What the next acquires have to wait for, after a release by a thread that did not hold the lock.
    handover: Handover<SyncId>,
    /// How many such releases there were, so that no two posts get the same name.
    posts: u64,
    window: u32,
}

impl LockState {
    /// Brings the state up to date with what happened while one word was enough.
    fn recall(&mut self, holder: Holder) {
        if holder != Holder::Involved {
            self.holders.clear();
        }
        if let Holder::Thread(thread) = holder {
            self.holders.acquire(ThreadId(thread), LockMode::Exclusive, || (), |_| ());
        }
    }

    /// The state as one word, if that is enough.
    fn in_a_word(&self) -> Holder {
        match self.holders.only() {
            _ if !self.handover.is_empty() => Holder::Involved,
            None if self.holders.is_empty() => Holder::Nobody,
            Some(&Holding { thread, mode: LockMode::Exclusive, depth: 1, .. }) => Holder::Thread(thread.0),
            _ => Holder::Involved,
        }
    }

    /// Ends all sections. Returns who held the lock.
    pub(super) fn end_all(&mut self, holder: Holder) -> Vec<Holding<ThreadId>> {
        self.recall(holder);
        self.handover = Handover::default();
        let holdings = self.holders.holdings().copied().collect();
        self.holders.clear();
        holdings
    }
}

/// The release of a section.
pub(super) fn release_of(
    Holding { thread, mode, .. }: Holding<ThreadId>,
    lock: LockId,
    location: LocationId,
) -> Event {
    let action = match mode {
        LockMode::Exclusive => Action::Release(lock),
        LockMode::Shared => Action::ReleaseShared(lock),
    };
    Event::new(thread, action, location)
}

impl Checker {
    /// Handles an operation on a lock with the lock's full state.
    pub(super) fn lock_step(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        self.renew_lock(lock);
        self.locks[lock].recall(self.ordinary.holder(lock));
        let mended = match event.op() {
            Op::Acquire | Op::AcquireShared => self.acquire(event, lock, at, symbols, index),
            _ => self.release(event, lock, at, symbols, index),
        };
        let holder = self.note_lock_step(event, lock, index, self.locks[lock].in_a_word());
        self.ordinary.set_holder(lock, holder);
        mended
    }

    /// Forgets what is known of a lock from another window. Mid-trace, the first operation on each lock in a window comes here,
    /// because the lock's word is unknown then.
    pub(super) fn renew_lock(&mut self, lock: LockId) {
        let state = &mut self.locks[lock];
        if state.window != self.window {
            state.holders.clear();
            (state.handover, state.window) = (Handover::default(), self.window);
            self.ordinary.note_known(lock);
        }
    }

    fn acquire(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let (thread, mode) = (event.thread(), mode_of(event));
        let state = &mut self.locks[lock];
        let mut evicted = Vec::new();
        let acquired = state.holders.acquire(thread, mode, || (), |holding| evicted.push(holding));
        if acquired == Acquired::Deeper {
            return self.flatten(event, lock, symbols, index);
        }
        let after = state.handover.after(mode);
        for holding in evicted {
            self.mend(Repair::MissingRelease, index, || {
                let shared = if holding.mode == LockMode::Shared { " shared" } else { "" };
                let [thread, holder] = [thread, holding.thread].map(|thread| thread_name(symbols, thread));
                format!("{} acquired by {thread} but held{shared} by {holder}", lock_name(symbols, lock))
            })?;
            self.insert(at, release_of(holding, lock, event.location()));
        }
        if let Some(object) = after {
            self.insert(at, Event::new(thread, Action::Wait(object), event.location()));
        }
        Ok(event)
    }

    /// Drops an acquire by a thread that already holds the lock.
    fn flatten(&mut self, event: Event, lock: LockId, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        self.mend(Repair::ReentrantAcquire, index, || {
            let (lock, thread) = (lock_name(symbols, lock), thread_name(symbols, event.thread()));
            format!("{lock} acquired again by its holder {thread}")
        })?;
        Ok(skip(event))
    }

    fn release(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let (thread, mode) = (event.thread(), mode_of(event));
        match self.locks[lock].holders.release(thread, mode) {
            Released::Shallower => Ok(skip(event)), // counted at its acquire
            Released::Settled => Ok(skip(event)),   // counted where it was inserted
            Released::Ended(holding) if holding.mode == mode => Ok(event),
            Released::Ended(holding) => {
                self.mend(Repair::ReleaseMode, index, || {
                    let (lock, thread) = (lock_name(symbols, lock), thread_name(symbols, thread));
                    match mode {
                        LockMode::Exclusive => {
                            format!("{lock} held shared by {thread} but released as exclusive")
                        }
                        LockMode::Shared => format!("{lock} held by {thread} but released as shared"),
                    }
                })?;
                Ok(release_of(holding, lock, event.location()))
            }
            Released::Foreign(holding) => self.release_by_other(event, lock, holding, at, symbols, index),
            Released::Unheld => self.release_unheld(event, lock, at, symbols, index),
        }
    }

    fn release_unheld(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        if self.release_after_gap(at, index, symbols)? {
            return Ok(skip(event));
        }
        if self.mode == Mode::RepairMidTrace {
            self.note_end_of_open(event, lock, index);
            return Ok(event);
        }
        self.mend(Repair::UnheldRelease, index, || {
            let thread = thread_name(symbols, event.thread());
            format!("{} released by {thread}, who does not hold it", lock_name(symbols, lock))
        })?;
        Ok(skip(event))
    }

    /// A lock used as a semaphore ([`Handover`]): what the releasing thread did so far is ordered before the next acquire.
    fn release_by_other(
        &mut self,
        event: Event,
        lock: LockId,
        holding: Holding<ThreadId>,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = event.thread();
        self.mend(Repair::ForeignRelease, index, || {
            let [thread, holder] = [thread, holding.thread].map(|thread| thread_name(symbols, thread));
            format!("{} released by {thread} but held by {holder}", lock_name(symbols, lock))
        })?;
        let state = &mut self.locks[lock];
        state.posts += 1;
        let object = symbols.objects.intern_generation(symbols.locks.name(lock), state.posts)?;
        state.handover.leave(object);
        self.insert(at, release_of(holding, lock, event.location()));
        Ok(Event::new(thread, Action::Post(object), event.location()))
    }
}

/// The mode in which an operation acquires or releases a lock.
fn mode_of(event: Event) -> LockMode {
    event.op().lock_mode().unwrap_or(LockMode::Exclusive)
}

fn lock_name(symbols: &Symbols, lock: LockId) -> String {
    format!("lock `{}`", symbols.locks.display(lock))
}
