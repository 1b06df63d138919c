//! Operations on locks that need thought: sections within sections, shared sections, and what is missing or wrong.
//!
//! A lock's full state is kept here; while one word says it all, it may be behind that word (see [`super::ordinary`]), so every
//! step begins by recalling the word and ends by writing it.

use super::ordinary::Holder;
use super::{Checker, Mode, Repair, skip, thread_name};
use crate::error::Result;
use crate::event::{Action, Event, Op};
use crate::id::{EventIndex, LockId, SyncId, ThreadId};
use crate::symbols::Symbols;

#[derive(Default, Debug)]
pub(super) struct LockState {
    pub(super) holder: Option<ThreadId>,
    /// How often the holder has acquired the lock.
    depth: u32,
    pub(super) readers: Vec<(ThreadId, u32)>,
    /// Threads whose release was inserted: when it comes after all, it is dropped.
    evicted: Vec<ThreadId>,
    /// The post that the next acquire has to wait for, after a release by a thread that did not hold the lock.
    posted: Option<SyncId>,
    posts: u64,
    window: u32,
}

impl LockState {
    /// Brings the state up to date with what happened while one word was enough.
    fn recall(&mut self, holder: Holder) {
        match holder {
            Holder::Involved => {}
            Holder::Nobody => (self.holder, self.depth) = (None, 0),
            Holder::Thread(thread) => (self.holder, self.depth) = (Some(ThreadId(thread)), 1),
        }
    }

    /// The state as one word, if that is enough.
    fn in_a_word(&self) -> Holder {
        let more = !self.readers.is_empty() || !self.evicted.is_empty() || self.posted.is_some();
        match self.holder {
            _ if more => Holder::Involved,
            None => Holder::Nobody,
            Some(ThreadId(thread)) if self.depth == 1 => Holder::Thread(thread),
            Some(_) => Holder::Involved,
        }
    }

    /// Whether a release was inserted for `thread` that it still owes; it owes none from now on.
    fn forget_eviction(&mut self, thread: ThreadId) -> bool {
        let owed = self.evicted.iter().position(|&evicted| evicted == thread);
        owed.map(|at| self.evicted.swap_remove(at)).is_some()
    }
}

impl Checker {
    /// An operation on a lock, with all that is known of the lock.
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
            Op::Acquire => self.acquire(event, lock, at, symbols, index),
            Op::Release => self.release(event, lock, at, symbols, index),
            Op::AcquireShared => self.acquire_shared(event, lock, at, symbols, index),
            _ => self.release_shared(event, lock, symbols, index),
        };
        self.ordinary.set_holder(lock, self.locks[lock].in_a_word());
        mended
    }

    /// Forgets what is known of a lock from another window. Mid-trace every lock comes here at its first operation in a
    /// window: its word says nothing before.
    fn renew_lock(&mut self, lock: LockId) {
        let state = &mut self.locks[lock];
        if state.window != self.window {
            // Names of posts are never used twice.
            *state = LockState { posts: state.posts, window: self.window, ..LockState::default() };
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
        let thread = event.thread();
        let state = &mut self.locks[lock];
        if state.holder == Some(thread) {
            state.depth += 1;
            return self.flatten(event, lock, symbols, index);
        }
        self.evict_holder(event, lock, at, symbols, index)?;
        for (reader, _) in std::mem::take(&mut self.locks[lock].readers) {
            self.mend(Repair::MissingRelease, index, || {
                let (lock, reader) = (lock_name(symbols, lock), thread_name(symbols, reader));
                format!("{lock} acquired by {} but held shared by {reader}", thread_name(symbols, thread))
            })?;
            self.insert(at, Event::new(reader, Action::ReleaseShared(lock), event.location()));
            self.locks[lock].evicted.push(reader);
        }
        self.await_post(event, lock, at);
        let state = &mut self.locks[lock];
        state.forget_eviction(thread);
        state.holder = Some(thread);
        state.depth = 1;
        Ok(event)
    }

    fn acquire_shared(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = event.thread();
        let state = &mut self.locks[lock];
        let depth = match state.holder {
            Some(holder) if holder == thread => Some(&mut state.depth),
            _ => state.readers.iter_mut().find(|(reader, _)| *reader == thread).map(|(_, depth)| depth),
        };
        if let Some(depth) = depth {
            *depth += 1;
            return self.flatten(event, lock, symbols, index);
        }
        self.evict_holder(event, lock, at, symbols, index)?;
        self.await_post(event, lock, at);
        let state = &mut self.locks[lock];
        state.forget_eviction(thread);
        state.readers.push((thread, 1));
        Ok(event)
    }

    /// Drops an acquire by a thread that holds the lock.
    fn flatten(&mut self, event: Event, lock: LockId, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        self.mend(Repair::ReentrantAcquire, index, || {
            let (lock, thread) = (lock_name(symbols, lock), thread_name(symbols, event.thread()));
            format!("{lock} acquired again by its holder {thread}")
        })?;
        Ok(skip(event))
    }

    /// Inserts the release that a lock's holder owes when another thread acquires it.
    fn evict_holder(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<()> {
        let Some(holder) = self.locks[lock].holder.take() else { return Ok(()) };
        self.mend(Repair::MissingRelease, index, || {
            let (lock, holder) = (lock_name(symbols, lock), thread_name(symbols, holder));
            format!("{lock} acquired by {} but held by {holder}", thread_name(symbols, event.thread()))
        })?;
        self.insert(at, Event::new(holder, Action::Release(lock), event.location()));
        self.locks[lock].evicted.push(holder);
        Ok(())
    }

    fn await_post(&mut self, event: Event, lock: LockId, at: usize) {
        if let Some(object) = self.locks[lock].posted.take() {
            self.insert(at, Event::new(event.thread(), Action::Wait(object), event.location()));
        }
    }

    fn release(
        &mut self,
        event: Event,
        lock: LockId,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = event.thread();
        let state = &mut self.locks[lock];
        if state.holder != Some(thread) && state.forget_eviction(thread) {
            return Ok(skip(event)); // counted where it was inserted
        }
        match state.holder {
            Some(holder) if holder == thread => {
                state.depth -= 1;
                if state.depth > 0 {
                    return Ok(skip(event)); // counted at its acquire
                }
                state.holder = None;
                Ok(event)
            }
            Some(holder) => self.release_by_other(event, lock, holder, at, symbols, index),
            None if state.readers.iter().any(|&(reader, _)| reader == thread) => {
                self.mend(Repair::ReleaseMode, index, || {
                    let thread = thread_name(symbols, thread);
                    format!("{} held shared by {thread} but released as exclusive", lock_name(symbols, lock))
                })?;
                self.release_shared(event, lock, symbols, index)
            }
            None => self.release_unheld(event, lock, symbols, index),
        }
    }

    fn release_shared(
        &mut self,
        event: Event,
        lock: LockId,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = event.thread();
        let state = &mut self.locks[lock];
        if let Some(position) = state.readers.iter().position(|&(reader, _)| reader == thread) {
            let depth = &mut state.readers[position].1;
            *depth -= 1;
            if *depth > 0 {
                return Ok(skip(event)); // counted at its acquire
            }
            state.readers.swap_remove(position);
            return Ok(Event::new(thread, Action::ReleaseShared(lock), event.location()));
        }
        if state.holder == Some(thread) {
            state.depth -= 1;
            if state.depth > 0 {
                return Ok(skip(event));
            }
            state.holder = None;
            self.mend(Repair::ReleaseMode, index, || {
                let thread = thread_name(symbols, thread);
                format!("{} held by {thread} but released as shared", lock_name(symbols, lock))
            })?;
            return Ok(Event::new(thread, Action::Release(lock), event.location()));
        }
        if state.forget_eviction(thread) {
            return Ok(skip(event)); // counted where it was inserted
        }
        self.release_unheld(event, lock, symbols, index)
    }

    fn release_unheld(
        &mut self,
        event: Event,
        lock: LockId,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        if self.mode == Mode::RepairMidTrace {
            return Ok(event);
        }
        self.mend(Repair::UnheldRelease, index, || {
            let thread = thread_name(symbols, event.thread());
            format!("{} released by {thread}, who does not hold it", lock_name(symbols, lock))
        })?;
        Ok(skip(event))
    }

    /// A lock used as a semaphore: the holder's section ends here, and what the releasing thread did so far is ordered
    /// before the next acquire. The holder's release is ordered before that acquire as well, which a semaphore would
    /// not do: this can hide a race, never invent one.
    fn release_by_other(
        &mut self,
        event: Event,
        lock: LockId,
        holder: ThreadId,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = event.thread();
        self.mend(Repair::ForeignRelease, index, || {
            let (thread, holder) = (thread_name(symbols, thread), thread_name(symbols, holder));
            format!("{} released by {thread} but held by {holder}", lock_name(symbols, lock))
        })?;
        let state = &mut self.locks[lock];
        state.holder = None;
        state.posts += 1;
        let object = symbols.objects.intern_generation(symbols.locks.name(lock), state.posts)?;
        state.posted = Some(object);
        self.insert(at, Event::new(holder, Action::Release(lock), event.location()));
        Ok(Event::new(thread, Action::Post(object), event.location()))
    }
}

fn lock_name(symbols: &Symbols, lock: LockId) -> String {
    format!("lock `{}`", symbols.locks.display(lock))
}
