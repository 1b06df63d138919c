//! Well-formedness: what detectors may rely on, and how imperfect traces are brought there.
//!
//! The theory assumes that a lock is acquired only when free and released only by its holder, that a thread is forked
//! once and before it runs, and that it does nothing after it was joined. Recorded traces break each of these.
//! [`Checker::strict`] refuses such a trace; [`Checker::repairing`] mends it as [`Repair`] says and counts what it did.
//!
//! Detectors take [`Checked`] blocks only, and only the checker makes them. What they may rely on (W for well-formed):
//!   W1  Every id is within its table.
//!   W2  `acquire l` by a thread: nobody holds `l` exclusively, and nobody holds it shared. `shared acquire l`: nobody
//!       holds it exclusively, and the thread does not hold it shared.
//!   W3  A release names a lock that its thread holds in that mode; mid-trace (below), possibly one held from before.
//!   W4  No thread forks or joins itself.
//!   W5  `free b` comes after `alloc b`, mid-trace possibly one from before, and there is one `alloc` per block.
//!
//! A thread may run before its fork and after its join; a fork is an edge to the thread's *next* event, a join an edge
//! from its *last* one, and what comes after is ordered with nothing by it.
//!
//! Events keep the index they have in the input: a dropped event stays as [`Op::Skip`], an inserted one has the index
//! of the event it was inserted before.

mod landmarks;
mod ordinary;
mod repairs;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use landmarks::{HeldLock, Landmark, Landmarks, Seen};
pub use repairs::{Repair, Repairs};

use landmarks::Lives;
use ordinary::{Holder, Ordinary};

use crate::block::Block;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Action, Event, Op, OperandKind};
use crate::id::{ArrayId, EventIndex, Id, IdVec, LocationId, LockId, SyncId, ThreadId, VarId};
use crate::symbols::{Sizes, Symbols, Variable};

/// Checks blocks of one trace, in order, and mends or refuses what is not well formed.
#[derive(Debug)]
pub struct Checker {
    mode: Mode,
    threads: IdVec<ThreadId, ThreadState>,
    ordinary: Ordinary,
    /// What the words of `ordinary` do not say of locks.
    locks: IdVec<LockId, LockState>,
    arrays: IdVec<ArrayId, ArrayState>,
    any_reused_blocks: bool,
    lives: Lives,
    repairs: Repairs,
    insertions: Vec<Insertion>,
    /// The number of the window that is being checked: what states say of another one is over.
    window: u32,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Strict,
    Repair,
    /// As `Repair`, for a window of a trace: locks may be held since before it.
    RepairMidTrace,
}

#[derive(Clone, Copy, Default, Debug)]
struct ThreadState {
    status: Status,
    forked: bool,
    /// The thread that events under this id belong to, since the id was reused; `None` is the id itself.
    incarnation: Option<ThreadId>,
    /// Events under this id so far.
    events: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
enum Status {
    #[default]
    Unseen,
    Running,
    Joined,
    /// The id was reused; see `incarnation`.
    Reused,
}

#[derive(Default, Debug)]
struct LockState {
    holder: Option<ThreadId>,
    /// How often the holder has acquired the lock.
    depth: u32,
    readers: Vec<(ThreadId, u32)>,
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

#[derive(Clone, Copy, Default, Debug)]
struct ArrayState {
    allocated: bool,
    freed: bool,
    incarnation: Option<ArrayId>,
    window: u32,
}

/// An event that was not in the input, to come before `events[before]`.
#[derive(Clone, Copy, Debug)]
struct Insertion {
    before: usize,
    event: Event,
}

/// Where the ids of events end.
struct Limits {
    threads: usize,
    locations: usize,
    /// By operation: a table look-up costs less than a jump that depends on the operation, once per event.
    operands: [usize; Op::ALL.len()],
}

impl Limits {
    fn new(sizes: &Sizes) -> Limits {
        let operands = Op::ALL.map(|op| match op.operand_kind() {
            OperandKind::Variable => sizes.variables,
            OperandKind::Lock => sizes.locks,
            OperandKind::Thread => sizes.threads,
            OperandKind::Sync => sizes.objects,
            OperandKind::Marker => sizes.markers,
            OperandKind::None => usize::MAX,
        });
        Limits { threads: sizes.threads, locations: sizes.locations, operands }
    }

    /// W1.
    #[inline]
    fn check(&self, event: &Event, index: EventIndex) -> Result<()> {
        let is_known = event.thread().index() < self.threads && self.hold(event);
        if is_known { Ok(()) } else { Err(unknown_id(event, index)) }
    }

    /// W1, but for the thread.
    #[inline(always)]
    fn hold(&self, event: &Event) -> bool {
        const { assert!(LocationId::UNKNOWN.0 == u32::MAX) } // behind which comes 0
        let location = event.location().0.wrapping_add(1) as usize;
        (event.operand() as usize) < self.operands[event.op() as usize] && location <= self.locations
    }
}

impl Checker {
    /// A checker that refuses what is not well formed.
    pub fn strict() -> Checker {
        Checker::new(Mode::Strict)
    }

    /// A checker that mends what is not well formed and counts it.
    pub fn repairing() -> Checker {
        Checker::new(Mode::Repair)
    }

    /// A mending checker for a window of a trace: a lock that nobody holds may be released, because it may have been
    /// acquired, even several times, before the window. Dropping such a release would lose an edge and report races
    /// that are none; keeping one too many can only hide some. In the same way a block may be freed that was allocated
    /// before.
    pub fn repairing_mid_trace() -> Checker {
        Checker::new(Mode::RepairMidTrace)
    }

    fn new(mode: Mode) -> Checker {
        Checker {
            mode,
            threads: IdVec::new(),
            ordinary: Ordinary::new(mode != Mode::RepairMidTrace),
            locks: IdVec::new(),
            arrays: IdVec::new(),
            any_reused_blocks: false,
            lives: Lives::default(),
            repairs: Repairs::default(),
            insertions: Vec::new(),
            window: 0,
        }
    }

    /// From here on another window of the trace is checked, of which nothing is known yet. Costs O(threads): states of
    /// locks and blocks are not cleared but renewed when they are next used.
    pub fn begin_window(&mut self) {
        match self.window.checked_add(1) {
            Some(window) => self.window = window,
            None => {
                self.window = 0;
                (self.locks, self.arrays) = (IdVec::new(), IdVec::new());
            }
        }
        self.threads = IdVec::new();
        self.any_reused_blocks = false;
        if self.mode == Mode::RepairMidTrace {
            self.ordinary.leave_accesses_out(false);
        } else {
            self.ordinary = Ordinary::new(true);
        }
    }

    /// What was mended so far.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// Checks the next block of the trace, mending it in place.
    pub fn check<'a>(&'a mut self, block: &'a mut Block, symbols: &'a mut Symbols) -> Result<Checked<'a>> {
        self.insertions.clear();
        let mut limits = self.fit(symbols);
        let mut at = 0;
        loop {
            at += self.pass_ordinary(&block.events[at..], &limits);
            let Some(&event) = block.events.get(at) else { break };
            let index = EventIndex(block.first.0 + at as u64);
            limits.check(&event, index)?;
            self.threads[event.thread()].events += 1;
            let entered = self.enter_thread(event, symbols, index)?;
            let mended = self.check_action(entered, at, symbols, index)?;
            if mended != event {
                block.events[at] = mended;
                limits = self.fit(symbols); // a repair that adds a name puts it into the event
            }
            at += 1;
        }
        Ok(Checked { block, insertions: &self.insertions, symbols })
    }

    /// Passes over events that need no thought; how many there are before the first one that does.
    #[inline(never)]
    fn pass_ordinary(&mut self, events: &[Event], limits: &Limits) -> usize {
        let Checker { threads, ordinary, .. } = self;
        let needs_thought = |event: &Event| {
            let Some(thread) = threads.get_mut(event.thread()) else { return true };
            if thread.status != Status::Running || !limits.hold(event) || !ordinary.take(event) {
                return true;
            }
            thread.events += 1;
            false
        };
        events.iter().position(needs_thought).unwrap_or(events.len())
    }

    /// Makes the tables as long as those of `symbols`.
    fn fit(&mut self, symbols: &Symbols) -> Limits {
        let sizes = symbols.sizes();
        self.threads.grow_to(sizes.threads);
        self.locks.grow_to(sizes.locks);
        self.ordinary.reserve_locks(sizes.locks);
        self.arrays.grow_to(symbols.variables.array_count());
        Limits::new(&sizes)
    }

    /// The slow side of the thread check: first events, renamed and joined threads.
    fn enter_thread(&mut self, event: Event, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        let thread = self.incarnation(event.thread());
        let state = &mut self.threads[thread];
        match state.status {
            Status::Unseen => state.status = Status::Running,
            Status::Joined => self.mend(Repair::EventAfterJoin, index, || {
                format!("thread `{}` goes on after it was joined", symbols.threads.display(thread))
            })?,
            Status::Running | Status::Reused => {}
        }
        Ok(event.with_thread(thread))
    }

    fn check_action(
        &mut self,
        event: Event,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        match event.action() {
            Action::Read(var)
            | Action::Write(var)
            | Action::Load(var, _)
            | Action::Store(var, _)
            | Action::Rmw(var, _)
                if self.any_reused_blocks =>
            {
                Ok(event.with_operand(self.current_element(var, symbols)?.0))
            }
            Action::Acquire(lock)
            | Action::Release(lock)
            | Action::AcquireShared(lock)
            | Action::ReleaseShared(lock) => self.lock_step(event, lock, at, symbols, index),
            Action::Fork(child) => self.fork(event, child, symbols, index),
            Action::Join(child) => self.join(event, child, symbols, index),
            Action::Alloc(block) => self.alloc(event, block, symbols, index),
            Action::Free(block) => self.free(event, block, symbols, index),
            _ => Ok(event),
        }
    }

    /// An operation on a lock, with all that is known of the lock.
    fn lock_step(
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

    /// Forgets what is known of a lock from another window.
    fn renew_lock(&mut self, lock: LockId) {
        let state = &mut self.locks[lock];
        if state.window != self.window {
            // Names of posts are never used twice.
            *state = LockState { posts: state.posts, window: self.window, ..LockState::default() };
        }
    }

    /// The state of an array in this window.
    fn array(&mut self, array: ArrayId) -> &mut ArrayState {
        let state = &mut self.arrays[array];
        if state.window != self.window {
            *state = ArrayState { window: self.window, ..ArrayState::default() };
        }
        state
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
            self.mend(Repair::ReentrantAcquire, index, || {
                format!(
                    "{} acquired again by its holder {}",
                    lock_name(symbols, lock),
                    thread_name(symbols, thread)
                )
            })?;
            return Ok(skip(event));
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
            self.mend(Repair::ReentrantAcquire, index, || {
                format!(
                    "{} acquired again by its holder {}",
                    lock_name(symbols, lock),
                    thread_name(symbols, thread)
                )
            })?;
            return Ok(skip(event));
        }
        self.evict_holder(event, lock, at, symbols, index)?;
        self.await_post(event, lock, at);
        let state = &mut self.locks[lock];
        state.forget_eviction(thread);
        state.readers.push((thread, 1));
        Ok(event)
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

    fn fork(
        &mut self,
        event: Event,
        child: ThreadId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let mut current = self.incarnation(child);
        if current == event.thread() {
            return self.drop_self(event, symbols, index);
        }
        let state = self.threads[current];
        if state.status == Status::Joined {
            self.mend(Repair::ReusedThread, index, || {
                format!("thread `{}` forked again after it was joined", symbols.threads.display(child))
            })?;
            let fresh = symbols.threads.intern_fresh(symbols.threads.name(child).to_vec().as_slice())?;
            self.threads.grow_to(symbols.threads.len());
            let original = &mut self.threads[child];
            original.status = Status::Reused;
            original.incarnation = Some(fresh);
            current = fresh;
        } else if state.forked || state.status == Status::Running {
            self.mend(Repair::LateFork, index, || {
                let what = if state.forked { "forked twice" } else { "forked after it ran" };
                format!("thread `{}` {what}", symbols.threads.display(child))
            })?;
        }
        self.threads[current].forked = true;
        let seen = self.seen(index, event);
        self.lives.forks.entry(current).or_insert(seen);
        Ok(event.with_operand(current.0))
    }

    fn join(&mut self, event: Event, child: ThreadId, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        let current = self.incarnation(child);
        if current == event.thread() {
            return self.drop_self(event, symbols, index);
        }
        self.threads[current].status = Status::Joined;
        let seen = self.seen(index, event);
        self.lives.joins.insert([current, event.thread()], seen);
        Ok(event.with_operand(current.0))
    }

    fn drop_self(&mut self, event: Event, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        self.mend(Repair::SelfForkOrJoin, index, || {
            let verb = if event.op() == Op::Fork { "forks" } else { "joins" };
            format!("{} {verb} itself", thread_name(symbols, event.thread()))
        })?;
        Ok(skip(event))
    }

    fn alloc(
        &mut self,
        event: Event,
        block: VarId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let Some(array) = block_array(symbols, block) else { return Err(not_a_block(symbols, block, index)) };
        let mut current = self.array(array).incarnation.unwrap_or(array);
        if self.array(current).allocated {
            self.mend(Repair::ReusedBlock, index, || {
                format!(
                    "block `{}` allocated again",
                    String::from_utf8_lossy(symbols.variables.array_name(array))
                )
            })?;
            current = symbols.variables.fresh_array(array)?;
            self.arrays.grow_to(symbols.variables.array_count());
            self.array(array).incarnation = Some(current);
            self.any_reused_blocks = true;
            self.ordinary.leave_accesses_out(true);
        }
        self.array(current).allocated = true;
        Ok(event.with_operand(symbols.variables.intern_block(current)?.0))
    }

    fn free(
        &mut self,
        event: Event,
        block: VarId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let Some(array) = block_array(symbols, block) else { return Err(not_a_block(symbols, block, index)) };
        let is_mid_trace = self.mode == Mode::RepairMidTrace;
        let current = self.array(array).incarnation.unwrap_or(array);
        let state = self.array(current);
        if !(state.allocated || is_mid_trace) || state.freed {
            self.mend(Repair::UnallocatedFree, index, || {
                let name = String::from_utf8_lossy(symbols.variables.array_name(array)).into_owned();
                format!("block `{name}` freed but not allocated")
            })?;
            return Ok(skip(event));
        }
        (state.allocated, state.freed) = (true, true);
        Ok(event.with_operand(symbols.variables.intern_block(current)?.0))
    }

    fn current_element(&self, var: VarId, symbols: &mut Symbols) -> Result<VarId> {
        if let Variable::Element { array, index } = symbols.variables.get(var)
            && let Some(state) = self.arrays.get(array)
            && state.window == self.window
            && let Some(current) = state.incarnation
        {
            return symbols.variables.intern_element(current, index);
        }
        Ok(var)
    }

    fn incarnation(&self, thread: ThreadId) -> ThreadId {
        self.threads[thread].incarnation.unwrap_or(thread)
    }

    fn insert(&mut self, before: usize, event: Event) {
        self.insertions.push(Insertion { before, event });
    }

    /// Counts a repair, or refuses in strict mode.
    fn mend(&mut self, repair: Repair, index: EventIndex, message: impl FnOnce() -> String) -> Result<()> {
        if self.mode == Mode::Strict {
            return Err(Error::new(ErrorKind::IllFormed, Position::Event(index), message()));
        }
        self.repairs.count(repair);
        Ok(())
    }
}

fn skip(event: Event) -> Event {
    Event::new(event.thread(), Action::Skip, event.location())
}

fn lock_name(symbols: &Symbols, lock: LockId) -> String {
    format!("lock `{}`", symbols.locks.display(lock))
}

fn thread_name(symbols: &Symbols, thread: ThreadId) -> String {
    symbols.threads.display(thread)
}

fn block_array(symbols: &Symbols, block: VarId) -> Option<ArrayId> {
    match symbols.variables.get(block) {
        Variable::Block(array) => Some(array),
        Variable::Named(_) | Variable::Element { .. } => None,
    }
}

#[cold]
fn not_a_block(symbols: &Symbols, var: VarId, index: EventIndex) -> Error {
    let message = format!("expected a block as operand, found variable `{}`", symbols.variables.display(var));
    Error::new(ErrorKind::IllFormed, Position::Event(index), message)
}

#[cold]
fn unknown_id(event: &Event, index: EventIndex) -> Error {
    let message = format!(
        "{} by thread {} on operand {} at location {}: an id is outside its table",
        event.op().describe(),
        event.thread().0,
        event.operand(),
        event.location().0
    );
    Error::new(ErrorKind::IllFormed, Position::Event(index), message)
}

/// A block of a well-formed trace: what detectors take. Only a [`Checker`] makes it.
#[derive(Debug)]
pub struct Checked<'a> {
    block: &'a Block,
    insertions: &'a [Insertion],
    symbols: &'a Symbols,
}

/// Consecutive events of a checked block. Event `i` of the run has index `first + i`.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Index of the first event.
    pub first: EventIndex,
    /// The events.
    pub events: &'a [Event],
}

impl<'a> Run<'a> {
    /// The part of the run whose indices lie in `range`.
    pub fn within(self, range: &Range<u64>) -> Run<'a> {
        let length = self.events.len() as u64;
        let start = range.start.saturating_sub(self.first.0).min(length);
        let end = range.end.saturating_sub(self.first.0).clamp(start, length);
        let events = &self.events[start as usize..end as usize];
        Run { first: EventIndex(self.first.0 + start), events }
    }
}

impl<'a> Checked<'a> {
    /// The events as runs of consecutive indices. A block without insertions is one run.
    pub fn runs(&self) -> impl Iterator<Item = Run<'a>> {
        let (block, insertions) = (self.block, self.insertions);
        let mut next = 0; // position in the block
        let mut pending = 0; // position in the insertions
        std::iter::from_fn(move || {
            let inserted = insertions.get(pending);
            if let Some(insertion) = inserted
                && insertion.before == next
            {
                pending += 1;
                let first = EventIndex(block.first.0 + next as u64);
                return Some(Run { first, events: std::slice::from_ref(&insertion.event) });
            }
            let end = inserted.map_or(block.events.len(), |insertion| insertion.before);
            let Range { start, end } = next..end;
            next = end;
            (start < end).then(|| Run {
                first: EventIndex(block.first.0 + start as u64),
                events: &block.events[start..end],
            })
        })
    }

    /// Index of the first event.
    pub fn first(&self) -> EventIndex {
        self.block.first
    }

    /// Number of input events in this block.
    pub fn len(&self) -> usize {
        self.block.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.block.events.is_empty()
    }

    /// The names.
    pub fn symbols(&self) -> &'a Symbols {
        self.symbols
    }
}
