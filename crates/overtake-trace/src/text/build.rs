//! From words and names to events, for STD and CSV.
//!
//! Most words are one event. The others become several events here, so that detectors need to know only the operations of
//! [`Op`](crate::Op):
//!
//! - `sync(x)` is `acq`, `r(x)`, `w(x)`, `rel` with the lock called `sync(x)`.
//! - `wait(l)` by a thread that holds lock `l` releases it, as often as it was acquired, and acquires it again just
//!   before the thread's next event. A thread without a next event never acquires it again.
//! - `notify(l)` posts a new generation of the object `notify(l)`. When a waiter returns, it waits for the latest
//!   generation posted since its own wait began, if there is one: a notify must have woken it.
//! - `wait(o)` by a thread that holds no lock of that name waits for the object `o`.
//! - `sempost(s)` posts `s#1`, `s#2`, ... and each `semwait(s)` waits for the first of these that nobody has waited for.
//!   Without such a post (the semaphore had a start value) it waits for `s` itself, which orders nothing.
//!
//! After `alloc(p)` or `free(p)`, an access to `p` is one to the first element of the block, `p[0]`.

use overtake_rules::MemoryOrder;
use rustc_hash::FxHashMap;

use crate::error::{Error, ErrorKind, Result};
use crate::event::{Action, Event, Op};
use crate::id::{ArrayId, IdVec, LocationId, LockId, SyncId, ThreadId, VarId};
use crate::symbols::{Symbols, split_element};

use super::lines::shown;
use super::place::Place;
use super::spelling::{Call, Verb, split_call, split_length, verb_of};

/// How often a thread may have acquired a monitor before a `wait`, which releases it as often. The limit keeps a short input
/// from producing very many events.
const DEEPEST_MONITOR: u32 = 1000;

/// Names seen so far, and the state of the rules above.
#[derive(Default, Debug)]
pub(super) struct Builder {
    pub(super) symbols: Symbols,
    holders: IdVec<LockId, Option<Holder>>,
    /// Threads inside a monitor's `wait`.
    waiting: FxHashMap<ThreadId, Waiting>,
    /// How often each monitor was notified.
    notified: FxHashMap<Vec<u8>, u64>,
    semaphores: FxHashMap<Vec<u8>, Semaphore>,
    /// The blocks that were allocated or freed so far, by name.
    blocks: FxHashMap<Vec<u8>, ArrayId>,
    /// Names of variables that became names of blocks.
    renamed: u64,
}

#[derive(Clone, Copy, Debug)]
struct Holder {
    thread: ThreadId,
    depth: u32,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    lock: LockId,
    depth: u32,
    location: LocationId,
    /// How often the monitor had been notified when the wait began.
    notified: u64,
}

#[derive(Clone, Copy, Default, Debug)]
struct Semaphore {
    posts: u64,
    waits: u64,
}

impl Builder {
    /// Appends the events of the operation `text` of `thread` at the location called `location`, which may be empty.
    pub(super) fn operation(
        &mut self,
        thread: ThreadId,
        text: &[u8],
        location: &[u8],
        place: Place,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let call = split_call(text).map_err(|(offset, message)| place.error(offset, message))?;
        let verb = verb_of(call.word).map_err(|message| place.error(0, message))?;
        self.come_back(thread, out)?;
        let action = match verb {
            Verb::Plain(op) | Verb::Try(op) => self.plain(op, &call, place)?,
            Verb::Marker(op) => {
                let marker = self.symbols.markers.intern(text)?;
                if op == Op::Begin { Action::Begin(marker) } else { Action::End(marker) }
            }
            Verb::Atomic(op, order) => self.atomic(op, order, &call, place)?,
            Verb::Notify => Action::Post(self.notify(operand(&call, place)?)?),
            Verb::SemaphorePost => Action::Post(self.semaphore_post(operand(&call, place)?)?),
            Verb::SemaphoreWait => Action::Wait(self.semaphore_wait(operand(&call, place)?)?),
            Verb::Wait => return self.wait(thread, &call, location, place, out),
            Verb::Sync => return self.synchronized_update(thread, &call, location, place, out),
        };
        let location = self.location(location)?;
        self.push(thread, action, location, out);
        if let (Verb::Try(_), Some(acquire)) = (verb, out.last_mut()) {
            *acquire = acquire.as_try();
        }
        Ok(())
    }

    /// An atomic access or a fence.
    fn atomic(&mut self, op: Op, order: MemoryOrder, call: &Call<'_>, place: Place) -> Result<Action> {
        Ok(match op {
            Op::Load => Action::Load(self.variable(call, place)?, order),
            Op::Store => Action::Store(self.variable(call, place)?, order),
            Op::Rmw => Action::Rmw(self.variable(call, place)?, order),
            _ => {
                nothing(call, place)?;
                Action::Fence(order)
            }
        })
    }

    /// A variable that is read and written under a lock of its own.
    fn synchronized_update(
        &mut self,
        thread: ThreadId,
        call: &Call<'_>,
        location: &[u8],
        place: Place,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let var = self.variable(call, place)?;
        let lock = self.symbols.locks.intern(text_of_sync(call).as_slice())?;
        let location = self.location(location)?;
        for action in [Action::Acquire(lock), Action::Read(var), Action::Write(var), Action::Release(lock)] {
            self.push(thread, action, location, out);
        }
        Ok(())
    }

    /// The action of a word that is one event.
    fn plain(&mut self, op: Op, call: &Call<'_>, place: Place) -> Result<Action> {
        Ok(match op {
            Op::Read => Action::Read(self.variable(call, place)?),
            Op::Write => Action::Write(self.variable(call, place)?),
            Op::Acquire => Action::Acquire(self.lock(call, place)?),
            Op::Release => Action::Release(self.lock(call, place)?),
            Op::AcquireShared => Action::AcquireShared(self.lock(call, place)?),
            Op::ReleaseShared => Action::ReleaseShared(self.lock(call, place)?),
            Op::Request => Action::Request(self.lock(call, place)?),
            Op::Fork => Action::Fork(self.symbols.threads.intern(operand(call, place)?)?),
            Op::Join => Action::Join(self.symbols.threads.intern(operand(call, place)?)?),
            Op::Branch => Action::Branch(self.symbols.markers.intern(call.operand.unwrap_or_default())?),
            Op::Misuse => Action::Misuse(self.symbols.markers.intern(operand(call, place)?)?),
            Op::Post => Action::Post(self.symbols.objects.intern(operand(call, place)?)?),
            Op::Wait => Action::Wait(self.symbols.objects.intern(operand(call, place)?)?),
            Op::Alloc => Action::Alloc(self.block(call, place)?),
            Op::Free => Action::Free(self.block(call, place)?),
            Op::Gap => {
                nothing(call, place)?;
                Action::Gap
            }
            _ => {
                nothing(call, place)?;
                Action::Skip
            }
        })
    }

    fn variable(&mut self, call: &Call<'_>, place: Place) -> Result<VarId> {
        self.variable_named(operand(call, place)?)
    }

    /// The variable that an access calls `name`. After `alloc(p)` or `free(p)`, `p` is the first element of the block.
    pub(super) fn variable_named(&mut self, name: &[u8]) -> Result<VarId> {
        match self.blocks.get(name) {
            // `A[3]` is an element of `A`, even if a block is called `A[3]`.
            Some(&block) if split_element(name).is_none() => self.symbols.variables.intern_element(block, 0),
            _ => self.symbols.variables.intern(name),
        }
    }

    /// How many names stood for variables of their own, and stand for blocks by now.
    pub(super) fn renamed(&self) -> u64 {
        self.renamed
    }

    fn lock(&mut self, call: &Call<'_>, place: Place) -> Result<LockId> {
        self.symbols.locks.intern(operand(call, place)?)
    }

    fn block(&mut self, call: &Call<'_>, place: Place) -> Result<VarId> {
        let (name, length) = split_length(operand(call, place)?);
        let variables = &mut self.symbols.variables;
        let array = variables.intern_array(name)?;
        if !self.blocks.contains_key(name) {
            self.blocks.insert(name.to_vec(), array);
            self.renamed += u64::from(variables.has_named(name));
        }
        if let Some(length) = length {
            variables.set_length(array, length);
        }
        variables.intern_block(array)
    }

    /// The location called `name`; none if it is empty.
    pub(super) fn location(&mut self, name: &[u8]) -> Result<LocationId> {
        if name.is_empty() { Ok(LocationId::UNKNOWN) } else { self.symbols.locations.intern(name) }
    }

    /// Appends one event, keeping track of who holds what.
    pub(super) fn push(
        &mut self,
        thread: ThreadId,
        action: Action,
        location: LocationId,
        out: &mut Vec<Event>,
    ) {
        let event = Event::new(thread, action, location);
        if let Action::Acquire(lock) | Action::Release(lock) = action {
            self.track(thread, event.op(), lock);
        }
        out.push(event);
    }

    /// Updates who holds `lock` when it is acquired or released.
    #[inline]
    pub(super) fn track(&mut self, thread: ThreadId, op: Op, lock: LockId) {
        let holder = self.holders.entry(lock);
        match holder {
            Some(held) if held.thread == thread => {
                held.depth = if op == Op::Acquire { held.depth.saturating_add(1) } else { held.depth - 1 };
                if held.depth == 0 {
                    *holder = None;
                }
            }
            _ if op == Op::Acquire => *holder = Some(Holder { thread, depth: 1 }),
            _ => {}
        }
    }

    fn wait(
        &mut self,
        thread: ThreadId,
        call: &Call<'_>,
        location: &[u8],
        place: Place,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let name = operand(call, place)?;
        let location = self.location(location)?;
        let held = self.symbols.locks.find(name).filter(|&lock| self.depth(thread, lock) > 0);
        match held {
            Some(lock) => self.wait_on_monitor(thread, lock, location, place, out),
            None => {
                let object = self.symbols.objects.intern(name)?;
                self.push(thread, Action::Wait(object), location, out);
                Ok(())
            }
        }
    }

    /// How often `thread` has acquired `lock` and not released it.
    fn depth(&self, thread: ThreadId, lock: LockId) -> u32 {
        match self.holders.get(lock) {
            Some(Some(holder)) if holder.thread == thread => holder.depth,
            _ => 0,
        }
    }

    /// `thread` releases `lock` until its next event, as often as it acquired it. If the input has no acquire, the lock was
    /// acquired before the input begins.
    pub(super) fn wait_on_monitor(
        &mut self,
        thread: ThreadId,
        lock: LockId,
        location: LocationId,
        place: Place,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let depth = self.depth(thread, lock).max(1);
        if depth > DEEPEST_MONITOR {
            let message = format!("expected at most {DEEPEST_MONITOR} acquires before a wait, found {depth}");
            return Err(Error::new(ErrorKind::Unsupported, place.position(), message));
        }
        for _ in 0..depth {
            self.push(thread, Action::Release(lock), location, out);
        }
        let notified = self.notified.get(self.symbols.locks.name(lock)).copied().unwrap_or(0);
        self.waiting.insert(thread, Waiting { lock, depth, location, notified });
        Ok(())
    }

    /// Whether `thread` is inside a monitor's wait.
    pub(super) fn is_waiting(&self, thread: ThreadId) -> bool {
        self.waiting.contains_key(&thread)
    }

    /// Whether any thread is inside a monitor's wait.
    #[inline]
    pub(super) fn anyone_waits(&self) -> bool {
        !self.waiting.is_empty()
    }

    /// Before a thread's next event, ends the monitor's wait that the thread may be in.
    #[inline]
    pub(super) fn come_back(&mut self, thread: ThreadId, out: &mut Vec<Event>) -> Result<()> {
        if self.anyone_waits() { self.end_wait(thread, out) } else { Ok(()) }
    }

    #[cold]
    fn end_wait(&mut self, thread: ThreadId, out: &mut Vec<Event>) -> Result<()> {
        let Some(Waiting { lock, depth, location, notified }) = self.waiting.remove(&thread) else {
            return Ok(());
        };
        let latest = self.notified.get(self.symbols.locks.name(lock)).copied().unwrap_or(0);
        if latest > notified {
            let base = notify_base(self.symbols.locks.name(lock));
            let object = self.symbols.objects.intern_generation(&base, latest)?;
            self.push(thread, Action::Wait(object), location, out);
        }
        for _ in 0..depth {
            self.push(thread, Action::Acquire(lock), location, out);
        }
        Ok(())
    }

    /// The new generation that a notify of `monitor` posts.
    pub(super) fn notify(&mut self, monitor: &[u8]) -> Result<SyncId> {
        let count = self.notified.entry(monitor.to_vec()).or_default();
        *count += 1;
        self.symbols.objects.intern_generation(&notify_base(monitor), *count)
    }

    fn semaphore_post(&mut self, name: &[u8]) -> Result<SyncId> {
        let semaphore = self.semaphores.entry(name.to_vec()).or_default();
        semaphore.posts += 1;
        self.symbols.objects.intern_generation(name, semaphore.posts)
    }

    fn semaphore_wait(&mut self, name: &[u8]) -> Result<SyncId> {
        let semaphore = self.semaphores.entry(name.to_vec()).or_default();
        if semaphore.waits == semaphore.posts {
            return self.symbols.objects.intern(name);
        }
        semaphore.waits += 1;
        self.symbols.objects.intern_generation(name, semaphore.waits)
    }
}

fn text_of_sync(call: &Call<'_>) -> Vec<u8> {
    [b"sync(", call.operand.unwrap_or_default(), b")"].concat()
}

fn notify_base(monitor: &[u8]) -> Vec<u8> {
    [b"notify(", monitor, b")"].concat()
}

/// The operand that the word needs.
fn operand<'a>(call: &Call<'a>, place: Place) -> Result<&'a [u8]> {
    match call.operand {
        Some(operand) if !operand.is_empty() => Ok(operand),
        Some(_) => {
            Err(place.error(call.operand_at, "expected an operand between `(` and `)`, found nothing"))
        }
        None => {
            let message = format!("expected `(` and an operand after {}, found nothing", shown(call.word));
            Err(place.error(call.operand_at, message))
        }
    }
}

/// Checks that the word has no operand.
fn nothing(call: &Call<'_>, place: Place) -> Result<()> {
    match call.operand {
        None | Some([]) => Ok(()),
        Some(operand) => {
            let message = format!("expected no operand of {}, found {}", shown(call.word), shown(operand));
            Err(place.error(call.operand_at, message))
        }
    }
}
