//! Locks and other synchronisation objects, keyed by address and generation.
//!
//! This is a store: it knows which object is at which address, names it, and makes ids. `overtake_rules` says what operations mean:
//! who holds a lock, and which posts and waits semaphores, barriers, condition variables and descriptors become.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use overtake_rawlog::{RecordKind, ReleaseMode, lock_flags};
use overtake_rules::objects::{Barrier, Condition, Descriptors, Semaphore};
use overtake_rules::{Acquired, Claim, Handover, Holders, Holding, LockMode, Released};
use overtake_trace::{
    Action, Event, IdVec, LocationId, LockId, MisuseKind, Result, Symbols, SyncId, ThreadId,
};
use rustc_hash::FxHashMap;

/// The synchronisation objects at their addresses now.
#[derive(Default)]
pub(crate) struct Objects {
    at: FxHashMap<u64, Object>,
    /// Where there is one. Programs use objects much more often than they make them.
    addresses: BTreeSet<u64>,
    /// How many objects had each name.
    names: FxHashMap<String, u32>,
    descriptors: Descriptors<BTreeMap<u64, u64>>,
    /// The objects of channels, named by the descriptors that were first seen for them.
    channels: FxHashMap<u64, SyncId>,
    /// How many channels were named by each descriptor.
    channels_of: FxHashMap<u64, u64>,
    /// How many locks each thread holds.
    held: IdVec<ThreadId, u32>,
    /// Records are missing, so that the earlier states of objects are not known.
    lost_track: bool,
}

/// The object at an address. The log may use one address in several roles (a condition variable has its own posts), but it has one name.
#[derive(Default)]
struct Object {
    name: String,
    lock: Option<LockId>,
    holders: Holders<Vec<Claim<ThreadId>>>,
    handover: Handover<SyncId>,
    post: Option<SyncId>,
    generation: u64,
    /// Everything that happened to it since it was set up is known.
    is_known: bool,
    semaphore: Semaphore<VecDeque<SyncId>>,
    barrier: Barrier<BTreeMap<ThreadId, u64>>,
    condition: Condition<SyncId>,
    /// What each thread posts when it signals the condition variable.
    signals: BTreeMap<ThreadId, SyncId>,
    /// Threads that may be waiting for it, as a condition variable.
    waiters: u64,
    /// It was destroyed and not created again.
    destroyed: bool,
    /// It was misused, which is reported once.
    misused: bool,
    /// It was created or acquired in this log, so that a release without an acquire is wrong.
    known: bool,
    /// How the program says that it was created: [`lock_flags`].
    flags: u8,
}

/// Objects that are being moved, with their offsets.
#[derive(Default)]
pub(crate) struct MovedObjects(Vec<(u64, Object)>);

/// A critical section that ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Section {
    lock: LockId,
    thread: ThreadId,
    mode: LockMode,
}

impl Section {
    fn new(lock: LockId, Holding { thread, mode, .. }: Holding<ThreadId>) -> Section {
        Section { lock, thread, mode }
    }

    /// The release that ends it.
    pub(crate) fn release(self, location: LocationId) -> Event {
        let action = match self.mode {
            LockMode::Exclusive => Action::Release(self.lock),
            LockMode::Shared => Action::ReleaseShared(self.lock),
        };
        Event::new(self.thread, action, location)
    }
}

/// Which section a release ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Release {
    /// None: it leaves an inner level of a recursive lock, or another acquire ended the section before.
    Nothing,
    /// None: the thread does not seem to hold the lock.
    Unheld,
    /// The section of the releasing thread ends.
    Own(Section),
    /// The exclusive section of another thread ends, and the releasing thread posts.
    ByOther(Section, SyncId),
}

/// The result of an acquire.
pub(crate) struct Taken {
    pub(crate) lock: LockId,
    /// Sections of threads whose release is missing.
    pub(crate) stale: Vec<Section>,
    /// A post that the acquire has to wait for.
    pub(crate) after: Option<SyncId>,
}

impl Objects {
    /// Records before this point are missing: what they did to existing objects is not known.
    pub(crate) fn lose_track(&mut self) {
        self.lost_track = true;
        self.held = IdVec::new();
        self.descriptors.lose_track();
        for object in self.at.values_mut() {
            let Object { name, lock, generation, .. } = std::mem::take(object);
            *object = Object { name, lock, generation, ..Object::default() };
        }
    }

    /// The objects at these addresses are gone.
    pub(crate) fn forget(&mut self, start: u64, bytes: u64) {
        let end = start.saturating_add(bytes.max(1));
        while let Some(&address) = self.addresses.range(start..end).next() {
            self.remove(address);
        }
    }

    /// Takes the objects of a range out, with their offsets.
    pub(crate) fn take(&mut self, start: u64, bytes: u64) -> MovedObjects {
        let addresses: Vec<u64> = self.addresses.range(start..start.saturating_add(bytes)).copied().collect();
        let moved = addresses.into_iter().filter_map(|address| {
            self.addresses.remove(&address);
            Some((address - start, self.at.remove(&address)?))
        });
        MovedObjects(moved.collect())
    }

    /// Puts objects that were taken out where they are now. What was there before is gone.
    pub(crate) fn put(&mut self, start: u64, moved: MovedObjects) {
        for (offset, object) in moved.0 {
            self.addresses.insert(start + offset);
            self.at.insert(start + offset, object);
        }
    }

    fn remove(&mut self, address: u64) {
        if self.at.remove(&address).is_some() {
            self.addresses.remove(&address);
        }
    }

    fn object(&mut self, address: u64, describe: impl FnOnce() -> String) -> &mut Object {
        let Objects { at, addresses, names, lost_track, .. } = self;
        let is_known = !*lost_track;
        at.entry(address).or_insert_with(|| {
            addresses.insert(address);
            let place = describe();
            let count = names.entry(place.clone()).or_default();
            *count += 1;
            let name = if *count == 1 { place } else { format!("{place}~{count}") };
            Object { name, is_known, ..Object::default() }
        })
    }

    /// An object is created at an address. What was there before is gone, unless the linker made the object.
    pub(crate) fn create(&mut self, address: u64, flags: u8, describe: impl FnOnce() -> String) {
        if flags & lock_flags::STATIC == 0 {
            self.remove(address);
        }
        let object = self.object(address, describe);
        object.known = true;
        object.flags = flags;
    }

    /// Whether creating or destroying the object, as a record with these flags says, changes nothing: the linker made it, or the program
    /// destroys an object as if it were no static one that is one.
    pub(crate) fn is_static(&self, address: u64, kind: RecordKind, flags: u8) -> bool {
        match kind {
            RecordKind::Forget => flags & lock_flags::STATIC != 0,
            RecordKind::Destroy => {
                let created = self.at.get(&address).map_or(0, |object| object.flags);
                (flags | created) & lock_flags::STATIC != 0 || flags & !created & lock_flags::NOT_STATIC != 0
            }
            _ => false,
        }
    }

    /// The object at an address is destroyed. Nobody holds it any longer: returns the sections that end.
    pub(crate) fn destroy(&mut self, address: u64, describe: impl FnOnce() -> String) -> Vec<Section> {
        let object = self.object(address, describe);
        object.destroyed = true;
        let lock = object.lock;
        let section = |holding: &Holding<ThreadId>| Some(Section::new(lock?, *holding));
        let ended: Vec<Section> = object.holders.holdings().filter_map(section).collect();
        object.holders.clear();
        for section in &ended {
            self.count_release(section.thread);
        }
        ended
    }

    /// What is wrong with acquiring the lock now.
    pub(crate) fn fault_of_acquire(
        &self,
        address: u64,
        thread: ThreadId,
        mode: LockMode,
    ) -> Option<MisuseKind> {
        let object = self.at.get(&address)?;
        if object.destroyed {
            return Some(MisuseKind::UseOfDestroyed);
        }
        let holder = object.holders.holdings().find(|holding| holding.mode.is_exclusive())?;
        match mode {
            LockMode::Shared => Some(MisuseKind::ReadLockOfWriteLocked),
            LockMode::Exclusive => (holder.thread != thread).then_some(MisuseKind::DoubleLock),
        }
    }

    /// What is wrong with releasing the lock now. `inherited` says whether a lock that is new to the log may have been acquired before
    /// the log began.
    pub(crate) fn fault_of_release(
        &self,
        address: u64,
        thread: ThreadId,
        mode: ReleaseMode,
        inherited: bool,
    ) -> Option<MisuseKind> {
        let Some(object) = self.at.get(&address).filter(|object| object.known) else {
            return (!inherited).then_some(MisuseKind::UnlockOfUnlocked);
        };
        let others = object.holders.holdings().next().map(|holding| holding.mode);
        match (mode, object.holders.mode_of(thread), others) {
            (ReleaseMode::Shared, Some(LockMode::Exclusive), _) => Some(MisuseKind::ReadUnlockOfWriteLocked),
            (ReleaseMode::Exclusive, Some(LockMode::Shared), _) => Some(MisuseKind::WriteUnlockOfReadLocked),
            (_, Some(_), _) => None,
            (_, None, None) => Some(MisuseKind::UnlockOfUnlocked),
            // Any thread may release a lock that is held shared, as often as it was acquired.
            (ReleaseMode::Any | ReleaseMode::Shared, None, Some(LockMode::Shared)) => None,
            (ReleaseMode::Shared, None, _) => Some(MisuseKind::ReadUnlockOfWriteLocked),
            (_, None, _) => Some(MisuseKind::UnlockByOther),
        }
    }

    /// Name of the object at an address, if this is its first misuse.
    pub(crate) fn first_misuse(&mut self, address: u64, describe: impl FnOnce() -> String) -> Option<String> {
        let object = self.object(address, describe);
        let is_first = !std::mem::replace(&mut object.misused, true);
        is_first.then(|| object.name.clone())
    }

    /// The locks that a thread holds.
    pub(crate) fn held_by(&self, thread: ThreadId) -> impl Iterator<Item = &str> {
        let objects = self.addresses.iter().filter_map(|address| self.at.get(address));
        let held = objects.filter(move |object| object.holders.mode_of(thread).is_some());
        held.map(|object| &*object.name)
    }

    /// The lock at an address, if somebody holds it in a mode that excludes this one.
    pub(crate) fn lock_that_excludes(&self, address: u64, mode: LockMode) -> Option<LockId> {
        let object = self.at.get(&address)?;
        let excludes = |holding: &Holding<ThreadId>| mode.is_exclusive() || holding.mode.is_exclusive();
        object.holders.holdings().any(excludes).then_some(object.lock)?
    }

    /// A lock is acquired. `None` if the thread already holds it.
    pub(crate) fn acquire(
        &mut self,
        address: u64,
        thread: ThreadId,
        mode: LockMode,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<Option<Taken>> {
        let object = self.object(address, describe);
        object.known = true;
        let lock = match object.lock {
            Some(lock) => lock,
            None => symbols.locks.intern(object.name.as_bytes())?,
        };
        object.lock = Some(lock);
        let mut stale = Vec::new();
        let evict = |holding| stale.push(Section::new(lock, holding));
        if object.holders.acquire(thread, mode, || (), evict) == Acquired::Deeper {
            return Ok(None);
        }
        let after = object.handover.after(mode);
        *self.held.entry(thread) += 1;
        for section in &stale {
            self.count_release(section.thread);
        }
        Ok(Some(Taken { lock, stale, after }))
    }

    /// A lock is released.
    pub(crate) fn release(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
    ) -> Result<Release> {
        let Some(object) = self.at.get_mut(&address) else { return Ok(Release::Unheld) };
        let Some(lock) = object.lock else { return Ok(Release::Unheld) };
        let (release, holder) = match object.holders.release_any(thread) {
            Released::Ended(holding) => (Release::Own(Section::new(lock, holding)), thread),
            Released::Foreign(holding) => {
                let post = object.next_generation(symbols)?;
                object.handover.leave(post);
                (Release::ByOther(Section::new(lock, holding), post), holding.thread)
            }
            Released::Shallower | Released::Settled => return Ok(Release::Nothing),
            Released::Unheld => return Ok(Release::Unheld),
        };
        self.count_release(holder);
        Ok(release)
    }

    /// A thread has ended, and so do its sections.
    pub(crate) fn release_all(&mut self, thread: ThreadId) -> Vec<Section> {
        if std::mem::take(self.held.entry(thread)) == 0 {
            return Vec::new();
        }
        let Objects { at, addresses, .. } = self;
        let end = |address| {
            let object = at.get_mut(address)?;
            let (lock, holding) = (object.lock?, object.holders.release_all(thread)?);
            Some(Section::new(lock, holding))
        };
        addresses.iter().filter_map(end).collect()
    }

    fn count_release(&mut self, thread: ThreadId) {
        if let Some(held) = self.held.get_mut(thread) {
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
        self.remove(address);
        let object = self.object(address, describe);
        object.semaphore.init(tokens);
        object.is_known = true;
    }

    /// A named semaphore is opened and has this many tokens.
    pub(crate) fn semaphore_open(&mut self, address: u64, tokens: u64, describe: impl FnOnce() -> String) {
        self.object(address, describe).semaphore.open(tokens);
    }

    /// A token is added. Each is an object of its own, unless it is not known who took which: then all tokens are one object.
    pub(crate) fn semaphore_post(
        &mut self,
        address: u64,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        if !object.is_known {
            return self.post(address, symbols, String::new);
        }
        let post = object.next_generation(symbols)?;
        object.semaphore.post(post);
        Ok(post)
    }

    /// A token is taken: the oldest that is still there. `None` for a token that nobody posted.
    pub(crate) fn semaphore_wait(&mut self, address: u64) -> Option<SyncId> {
        let object = self.at.get_mut(&address)?;
        if object.is_known { object.semaphore.wait() } else { object.post }
    }

    /// A barrier is initialised with `width` threads per round.
    pub(crate) fn barrier_init(&mut self, address: u64, width: u64, describe: impl FnOnce() -> String) {
        self.remove(address);
        self.object(address, describe).barrier.init(width);
    }

    /// A thread arrives at a barrier. Returns the object of its round.
    pub(crate) fn barrier_arrive(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        let round = object.barrier.arrive(thread);
        symbols.objects.intern_generation(object.name.as_bytes(), round)
    }

    /// A thread leaves a barrier. Returns the object of the round it arrived in.
    pub(crate) fn barrier_leave(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
    ) -> Result<Option<SyncId>> {
        let Some(object) = self.at.get_mut(&address) else { return Ok(None) };
        let Some(round) = object.barrier.leave(thread) else { return Ok(None) };
        symbols.objects.intern_generation(object.name.as_bytes(), round).map(Some)
    }

    /// A thread is about to wait for a condition variable.
    pub(crate) fn begin_wait(&mut self, address: u64, describe: impl FnOnce() -> String) {
        self.object(address, describe).waiters += 1;
    }

    /// Whether some thread may be waiting for a condition variable. A signal that nobody waits for orders nothing.
    pub(crate) fn has_waiters(&self, address: u64) -> bool {
        self.at.get(&address).is_some_and(|object| object.waiters > 0)
    }

    /// A condition variable is signalled. Returns the object that the thread posts. It is the same at each of its signals: whoever waits
    /// for the latest one comes after what that thread did before it anyway.
    pub(crate) fn signal(
        &mut self,
        address: u64,
        thread: ThreadId,
        symbols: &mut Symbols,
        describe: impl FnOnce() -> String,
    ) -> Result<SyncId> {
        let object = self.object(address, describe);
        let signal = match object.signals.get(&thread) {
            Some(&signal) => signal,
            None => object.next_generation(symbols)?,
        };
        object.signals.insert(thread, signal);
        object.condition.signal(signal);
        Ok(signal)
    }

    /// A waiter of a condition variable wakes. Returns the object of the latest signal.
    pub(crate) fn wake(&mut self, address: u64) -> Option<SyncId> {
        let object = self.at.get_mut(&address)?;
        object.waiters = object.waiters.saturating_sub(1);
        object.condition.wake()
    }

    /// The object of a file descriptor. Both ends of a pipe have the same object.
    pub(crate) fn descriptor(&mut self, descriptor: u64, symbols: &mut Symbols) -> Result<SyncId> {
        let channel = self.descriptors.channel(descriptor);
        self.channel(channel, descriptor, symbols)
    }

    /// The object of a channel that this descriptor belongs to.
    fn channel(&mut self, channel: u64, descriptor: u64, symbols: &mut Symbols) -> Result<SyncId> {
        if let Some(&known) = self.channels.get(&channel) {
            return Ok(known);
        }
        let earlier = self.channels_of.entry(descriptor).or_default();
        let name = format!("file descriptor {descriptor}");
        let object = symbols.objects.intern_generation(name.as_bytes(), *earlier)?;
        *earlier += 1;
        self.channels.insert(channel, object);
        Ok(object)
    }

    /// `descriptor` has the object of `other` from now on.
    pub(crate) fn alias_descriptor(&mut self, descriptor: u64, other: u64) {
        self.descriptors.alias(descriptor, other);
    }

    /// All descriptors with the object of `from` have the object of `to` from now on. Returns the old object of `from`, if it was
    /// another one.
    pub(crate) fn merge_descriptors(
        &mut self,
        from: u64,
        to: u64,
        symbols: &mut Symbols,
    ) -> Result<Option<SyncId>> {
        let Some(channel) = self.descriptors.merge(from, to) else { return Ok(None) };
        self.channel(channel, from, symbols).map(Some)
    }

    /// A descriptor is closed.
    pub(crate) fn forget_descriptor(&mut self, descriptor: u64) {
        self.descriptors.forget(descriptor);
    }
}

impl Object {
    fn next_generation(&mut self, symbols: &mut Symbols) -> Result<SyncId> {
        self.generation += 1;
        symbols.objects.intern_generation(self.name.as_bytes(), self.generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn channels_are_named_by_their_descriptors() {
        let (mut objects, mut symbols) = (Objects::default(), Symbols::default());
        let mut name_of = |objects: &mut Objects, descriptor| {
            let object = objects.descriptor(descriptor, &mut symbols).expect("few objects");
            let mut name = Vec::new();
            symbols.objects.write_name(object, &mut name);
            String::from_utf8(name).expect("text")
        };
        assert_eq!(name_of(&mut objects, 3), "file descriptor 3");
        objects.alias_descriptor(4, 3);
        assert_eq!(name_of(&mut objects, 4), "file descriptor 3");
        objects.forget_descriptor(3);
        assert_eq!(name_of(&mut objects, 3), "file descriptor 3#1");
        assert_eq!(name_of(&mut objects, 4), "file descriptor 3");
    }
}
