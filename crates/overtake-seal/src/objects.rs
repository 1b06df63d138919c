//! Locks and other synchronisation objects, keyed by address and generation.

use std::collections::BTreeMap;
use std::collections::VecDeque;

use overtake_trace::{Action, Event, LocationId, LockId, Result, Symbols, SyncId, ThreadId};
use rustc_hash::FxHashMap;

/// The synchronisation objects at their addresses now.
#[derive(Default)]
pub(crate) struct Objects {
    at: BTreeMap<u64, Object>,
    /// How many objects bore each name.
    names: FxHashMap<String, u32>,
    descriptors: FxHashMap<u64, u64>,
    next_channel: u64,
    /// How many locks each thread holds.
    held: FxHashMap<ThreadId, u32>,
}

/// One address may serve several roles in the eyes of the log (a condition variable has its own posts); it has one name.
#[derive(Default)]
struct Object {
    name: String,
    lock: Option<LockId>,
    holds: Vec<Hold>,
    post: Option<SyncId>,
    generation: u64,
    /// Semaphore: tokens from its initialisation, and posts not yet taken.
    tokens: u64,
    posts: VecDeque<SyncId>,
    /// Barrier: threads per round, and arrivals so far.
    width: u64,
    arrivals: u64,
    rounds: FxHashMap<ThreadId, u64>,
    /// Condition variable: the latest signal.
    signal: Option<SyncId>,
    /// The post of a thread that gave the lock back although another held it.
    given_back: Option<SyncId>,
}

#[derive(Clone, Copy)]
struct Hold {
    thread: ThreadId,
    shared: bool,
    depth: u32,
}

impl Hold {
    fn ends(self, lock: LockId) -> Released {
        if self.shared { Released::Shared(lock) } else { Released::Exclusive(lock) }
    }
}

/// How a release ends a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Released {
    /// Not at all: an inner level of a recursive lock, or not held.
    Nothing,
    /// An exclusive section ends.
    Exclusive(LockId),
    /// A shared section ends.
    Shared(LockId),
    /// The exclusive section of another thread ends.
    ByOther {
        /// Whose section it is.
        holder: ThreadId,
    },
}

impl Released {
    /// The event that says so.
    pub(crate) fn event(self, thread: ThreadId, location: LocationId) -> Option<Event> {
        let action = match self {
            Released::Exclusive(lock) => Action::Release(lock),
            Released::Shared(lock) => Action::ReleaseShared(lock),
            Released::Nothing | Released::ByOther { .. } => return None,
        };
        Some(Event::new(thread, action, location))
    }
}

/// A lock that was taken.
pub(crate) struct Taken {
    pub(crate) lock: LockId,
    /// Who held it against the rules, and how that ends.
    pub(crate) stale: Vec<(ThreadId, Released)>,
    /// The thread comes after this post as well.
    pub(crate) after: Option<SyncId>,
}

impl Objects {
    /// What was at these addresses is gone.
    pub(crate) fn forget(&mut self, start: u64, bytes: u64) {
        let end = start.saturating_add(bytes.max(1));
        let gone: Vec<u64> = self.at.range(start..end).map(|(&address, _)| address).collect();
        for address in gone {
            self.at.remove(&address);
        }
    }

    fn object(&mut self, address: u64, describe: impl FnOnce() -> String) -> &mut Object {
        let Objects { at, names, .. } = self;
        at.entry(address).or_insert_with(|| {
            let place = describe();
            let count = names.entry(place.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { place } else { format!("{place}~{count}") };
            Object { name, ..Object::default() }
        })
    }

    /// A lock is taken. `None` if the thread has it already.
    pub(crate) fn acquire(
        &mut self,
        address: u64,
        thread: ThreadId,
        shared: bool,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<Option<Taken>> {
        let object = self.object(address, describe);
        if let Some(hold) = object.holds.iter_mut().find(|hold| hold.thread == thread) {
            hold.depth += 1;
            return Ok(None);
        }
        let lock = match object.lock {
            Some(lock) => lock,
            None => symbols.locks.intern(object.name.as_bytes())?,
        };
        object.lock = Some(lock);
        let (stale, kept): (Vec<Hold>, _) = object.holds.iter().partition(|hold| !shared || !hold.shared);
        object.holds = kept;
        object.holds.push(Hold { thread, shared, depth: 1 });
        let after = object.given_back;
        *self.held.entry(thread).or_default() += 1;
        for hold in &stale {
            self.count_release(hold.thread);
        }
        let stale = stale.iter().map(|hold| (hold.thread, hold.ends(lock))).collect();
        Ok(Some(Taken { lock, stale, after }))
    }

    /// A lock is given back.
    pub(crate) fn release(&mut self, address: u64, thread: ThreadId) -> Released {
        let Some(object) = self.at.get_mut(&address) else { return Released::Nothing };
        let Some(at) = object.holds.iter().position(|hold| hold.thread == thread) else {
            return match object.holds[..] {
                [Hold { thread: holder, shared: false, .. }] => Released::ByOther { holder },
                _ => Released::Nothing,
            };
        };
        object.holds[at].depth -= 1;
        match (object.holds[at].depth, object.lock) {
            (0, Some(lock)) => {
                let hold = object.holds.swap_remove(at);
                self.count_release(thread);
                hold.ends(lock)
            }
            _ => Released::Nothing,
        }
    }

    /// Another thread ends the section of `holder`: how it ends, and the post of the one that ended it.
    pub(crate) fn end_for(
        &mut self,
        address: u64,
        holder: ThreadId,
        symbols: &mut Symbols,
    ) -> Result<Option<(Released, SyncId)>> {
        let Some(object) = self.at.get_mut(&address) else { return Ok(None) };
        let (Some(lock), Some(hold)) = (object.lock, object.holds.pop()) else { return Ok(None) };
        let post = object.next_generation(symbols)?;
        object.given_back = Some(post);
        self.count_release(holder);
        Ok(Some((hold.ends(lock), post)))
    }

    /// A thread is over: its sections end.
    pub(crate) fn release_all(&mut self, thread: ThreadId) -> Vec<Released> {
        if self.held.remove(&thread).unwrap_or(0) == 0 {
            return Vec::new();
        }
        let mut ended = Vec::new();
        for object in self.at.values_mut() {
            let Some(lock) = object.lock else { continue };
            ended
                .extend(object.holds.iter().filter(|hold| hold.thread == thread).map(|hold| hold.ends(lock)));
            object.holds.retain(|hold| hold.thread != thread);
        }
        ended
    }

    fn count_release(&mut self, thread: ThreadId) {
        if let Some(held) = self.held.get_mut(&thread) {
            *held = held.saturating_sub(1);
        }
    }

    /// The object of plain posts and waits at an address.
    pub(crate) fn post(
        &mut self,
        address: u64,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        let post = match object.post {
            Some(post) => post,
            None => symbols.objects.intern_generation(object.name.as_bytes(), 0)?,
        };
        object.post = Some(post);
        Ok(post)
    }

    /// A semaphore starts with tokens that nobody posted.
    pub(crate) fn semaphore_init(&mut self, address: u64, tokens: u64, describe: impl FnOnce() -> String) {
        self.at.remove(&address);
        self.object(address, describe).tokens = tokens;
    }

    /// A named semaphore is opened and has so many tokens. If they are not those that were seen coming, it is another one, or
    /// another process has posted to it.
    pub(crate) fn semaphore_open(&mut self, address: u64, tokens: u64, describe: impl FnOnce() -> String) {
        let object = self.object(address, describe);
        if object.tokens + object.posts.len() as u64 != tokens {
            object.tokens = tokens;
            object.posts.clear();
        }
    }

    /// A token is added; each is an object of its own.
    pub(crate) fn semaphore_post(
        &mut self,
        address: u64,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        let post = object.next_generation(symbols)?;
        object.posts.push_back(post);
        Ok(post)
    }

    /// A token is taken: the first added that is still there. `None` for one that nobody posted.
    pub(crate) fn semaphore_wait(&mut self, address: u64) -> Option<SyncId> {
        let object = self.at.get_mut(&address)?;
        if object.tokens > 0 {
            object.tokens -= 1;
            return None;
        }
        object.posts.pop_front()
    }

    /// A barrier is set up for `width` threads a round.
    pub(crate) fn barrier_init(&mut self, address: u64, width: u64, describe: impl FnOnce() -> String) {
        self.at.remove(&address);
        self.object(address, describe).width = width;
    }

    /// A thread arrives at a barrier: the object of its round.
    pub(crate) fn barrier_arrive(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        // Of a barrier whose start is not recorded only this is sure: who leaves comes after all who arrived.
        let round = object.arrivals.checked_div(object.width).unwrap_or(0) + 1;
        object.arrivals += 1;
        object.rounds.insert(thread, round);
        symbols.objects.intern_generation(object.name.as_bytes(), round)
    }

    /// A thread leaves a barrier: the object of the round it arrived in.
    pub(crate) fn barrier_leave(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
    ) -> Result<Option<SyncId>> {
        let Some(object) = self.at.get_mut(&address) else { return Ok(None) };
        let Some(round) = object.rounds.remove(&thread) else { return Ok(None) };
        symbols.objects.intern_generation(object.name.as_bytes(), round).map(Some)
    }

    /// A condition variable is signalled: the object of this signal.
    pub(crate) fn signal(
        &mut self,
        address: u64,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        let signal = object.next_generation(symbols)?;
        object.signal = Some(signal);
        Ok(signal)
    }

    /// A waiter of a condition variable wakes: the latest signal let it through.
    pub(crate) fn wake(&self, address: u64) -> Option<SyncId> {
        self.at.get(&address)?.signal
    }

    /// The object of a file descriptor; both ends of a pipe are one.
    pub(crate) fn descriptor(&mut self, descriptor: u64, symbols: &mut Symbols) -> Result<SyncId> {
        let channel = self.channel(descriptor);
        symbols.objects.intern_generation(b"file", channel)
    }

    fn channel(&mut self, descriptor: u64) -> u64 {
        *self.descriptors.entry(descriptor).or_insert_with(|| {
            self.next_channel += 1;
            self.next_channel
        })
    }

    /// `descriptor` means the same as `other` from now on.
    pub(crate) fn alias_descriptor(&mut self, descriptor: u64, other: u64) {
        let channel = self.channel(other);
        self.descriptors.insert(descriptor, channel);
    }

    /// Whatever means the same as `from` means the same as `to` from now on. What `from` was until then, for a thread that
    /// waits for it to pass it on; `None` if they were the same before. Orders too much rather than too little: what `to`
    /// carries does not come back out of `from`.
    pub(crate) fn merge_descriptors(
        &mut self,
        from: u64,
        to: u64,
        symbols: &mut Symbols,
    ) -> Result<Option<SyncId>> {
        let (old, new) = (self.channel(from), self.channel(to));
        if old == new {
            return Ok(None);
        }
        self.descriptors.values_mut().filter(|channel| **channel == old).for_each(|channel| *channel = new);
        symbols.objects.intern_generation(b"file", old).map(Some)
    }

    /// A descriptor is closed.
    pub(crate) fn forget_descriptor(&mut self, descriptor: u64) {
        self.descriptors.remove(&descriptor);
    }
}

impl Object {
    fn next_generation(&mut self, symbols: &mut Symbols) -> Result<SyncId> {
        self.generation += 1;
        symbols.objects.intern_generation(self.name.as_bytes(), self.generation)
    }
}
