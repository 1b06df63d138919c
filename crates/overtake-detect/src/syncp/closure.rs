//! Sets of events that are closed under sync-preservation, as clocks.
//!
//! A closed set holds of each thread a prefix of its events, so it is a vector of times. What makes extending it cheap is
//! that each [`Ideal`] knows, besides its times, how many critical sections of each thread it has begun and, per lock, the
//! latest acquire inside. An event is added by its thread and time. The entries of its thread that this newly includes are looked at
//! once: acquires against the latest acquire of their lock, and what must have ended is added in turn; what the thread learned from
//! others, which is added as well.
//!
//! **Invariants.**
//!   I1  Between extensions an ideal is closed: of two acquires of one lock inside, not both shared, the earlier one's
//!       section has ended inside. So per lock only the latest acquire inside, and shared ones after it, can be open.
//!   I2  A thread's time is over when its epoch is handed out. So an ideal whose time of the thread has reached that epoch contains
//!       all that the thread did and all that this takes.
//!   I3  Entries of a thread are recorded in the order of their times. Acquires have distinct, increasing times.
//!   I4  Every ideal that is extended contains what was forgotten ([`Sections::forget`]).
//!
//! **Cost.** An extension is O(entries newly inside); each entry is looked at once in the life of an ideal.

use overtake_clock::{Epoch, Time};
use overtake_trace::{Id, LockId, ThreadId};
use rustc_hash::FxHashMap;

use super::sections::{GATHERED, LEARNED, Learned, Section, Sections};
use crate::detector::LockMode;

/// A section by its place among its thread's sections, as an ideal remembers it.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Latest {
    /// The acquire's number; 0 is none.
    pub(super) number: u32,
    thread: u32,
    place: u32,
}

/// Never covered: the goal of an extension that is not to stop early.
pub(crate) const NO_GOAL: Epoch = Epoch { thread: 0, time: Time::MAX };

/// Per lock, the latest exclusive acquire inside an ideal and the shared ones after it.
pub(crate) trait LatestAcquires {
    /// The latest exclusive acquire of `lock` inside.
    fn latest(&self, lock: LockId) -> Latest;
    /// Replaces it.
    fn set_latest(&mut self, lock: LockId, latest: Latest);
    /// The shared acquires of `lock` inside that follow the latest exclusive one, the last one of each thread.
    fn readers(&mut self, lock: LockId) -> &mut Vec<Latest>;
}

/// Locks below this number are looked up in an array that grows to the largest one used; others in a hash table, so that
/// many threads times many locks is no table of their product.
const DENSE_LOCKS: usize = 1024;

/// The latest acquires inside a thread's ideal.
#[derive(Clone, Default, Debug)]
pub(crate) struct LockTable {
    pub(super) dense: Vec<Latest>,
    pub(super) sparse: FxHashMap<LockId, Latest>,
    pub(super) readers: FxHashMap<LockId, Vec<Latest>>,
}

impl LatestAcquires for LockTable {
    #[inline]
    fn latest(&self, lock: LockId) -> Latest {
        if lock.index() < DENSE_LOCKS {
            return self.dense.get(lock.index()).copied().unwrap_or_default();
        }
        self.sparse.get(&lock).copied().unwrap_or_default()
    }

    #[inline]
    fn set_latest(&mut self, lock: LockId, latest: Latest) {
        match self.dense.get_mut(lock.index()) {
            Some(place) => *place = latest,
            None => self.set_outside(lock, latest),
        }
    }

    fn readers(&mut self, lock: LockId) -> &mut Vec<Latest> {
        self.readers.entry(lock).or_default()
    }
}

impl LockTable {
    /// Sets the latest acquire of a lock that the array does not reach to.
    #[inline(never)]
    fn set_outside(&mut self, lock: LockId, latest: Latest) {
        if lock.index() >= DENSE_LOCKS {
            self.sparse.insert(lock, latest);
            return;
        }
        self.dense.resize(lock.index() + 1, Latest::default());
        self.dense[lock.index()] = latest;
    }

    fn is_empty(&self) -> bool {
        self.dense.is_empty() && self.sparse.is_empty() && self.readers.is_empty()
    }

    fn state_bytes(&self) -> usize {
        self.dense.capacity() * size_of::<Latest>()
            + self.sparse.capacity() * size_of::<(LockId, Latest)>()
            + self.readers.len() * 64
    }
}

/// A closed set of events: a prefix of each thread. Every ideal belongs to a thread all of whose past is inside, but for what entries of the thread take that have
/// not been [entered](Ideal::enter_own).
#[derive(Debug)]
pub(crate) struct Ideal<L> {
    /// The thread it belongs to, with the last time that is over.
    pub(super) own: Epoch,
    /// How many of that thread's entries are inside, and the time of the last of them.
    pub(super) own_begun: u32,
    pub(super) own_entered: Time,
    /// Per thread, the time up to which its events are inside; 0 beyond the end, except for the own thread. What a thread
    /// learned rarely reaches its own number when there are many threads, so the own entry may be missing.
    pub(super) times: Vec<Time>,
    /// Per thread, how many of its recorded sections have begun inside. As long as `times`.
    pub(super) begun: Vec<u32>,
    /// Per hub, how many of its posts are inside, as far as anyone asked.
    pub(super) gathered: FxHashMap<u32, u32>,
    pub(super) latest: L,
}

impl<L> Ideal<L> {
    /// The past of a thread that has not begun.
    pub(super) fn new(thread: ThreadId, latest: L) -> Ideal<L> {
        let own = Epoch { thread: thread.0, time: 0 };
        Ideal {
            own,
            own_begun: 0,
            own_entered: 0,
            times: Vec::new(),
            begun: Vec::new(),
            gathered: FxHashMap::default(),
            latest,
        }
    }

    /// The empty set, which belongs to no thread of the trace.
    pub(crate) fn of_no_thread(latest: L) -> Ideal<L> {
        Ideal::new(ThreadId(u32::MAX), latest)
    }

    /// The time up to which the events of `thread` are inside.
    #[inline]
    pub(super) fn time(&self, thread: u32) -> Time {
        if thread == self.own.thread {
            return self.own.time;
        }
        self.times.get(thread as usize).copied().unwrap_or(0)
    }

    /// Whether the events of an epoch are inside.
    #[inline]
    pub(crate) fn covers(&self, epoch: Epoch) -> bool {
        self.time(epoch.thread) >= epoch.time
    }

    /// Whether the events of each thread up to its time are inside.
    pub(super) fn covers_all(&self, times: &[Time]) -> bool {
        times.iter().zip(0..).all(|(&time, thread)| self.time(thread) >= time)
    }

    /// What others' clocks need to hold: the times of other threads, up to the last one known.
    pub(super) fn learned(&self) -> &[Time] {
        let mut known = self.times.len();
        while known > 0 && (self.times[known - 1] == 0 || known - 1 == self.own.thread as usize) {
            known -= 1;
        }
        &self.times[..known]
    }

    #[inline]
    pub(super) fn grow_to(&mut self, threads: usize) {
        if self.times.len() < threads {
            self.grow_slowly(threads);
        }
    }

    #[cold]
    fn grow_slowly(&mut self, threads: usize) {
        self.times.resize(threads, 0);
        self.begun.resize(threads, 0);
        self.write_own();
    }

    #[inline]
    pub(super) fn write_own(&mut self) {
        let own = self.own.thread as usize;
        if own < self.times.len() {
            self.times[own] = self.own.time;
            self.begun[own] = self.own_begun;
        }
    }

    /// The thread's own entries up to `place`, the last one of them of a time, are inside.
    #[inline]
    pub(super) fn begin_own(&mut self, place: u32, time: Time) {
        self.own_begun = place.wrapping_add(1);
        self.own_entered = time;
        self.write_own();
    }

    /// Adds everything its own thread did up to `time`.
    #[inline]
    pub(super) fn advance(&mut self, time: Time) {
        self.own.time = time;
        self.write_own();
    }
}

impl Ideal<LockTable> {
    /// A copy to extend and throw away, in buffers used before.
    pub(super) fn overlaid<'a>(&'a self, changes: &'a mut Changes, buffers: Buffers) -> Ideal<Overlay<'a>> {
        let Buffers { mut times, mut begun, mut gathered } = buffers;
        times.clear();
        times.extend_from_slice(&self.times);
        begun.clear();
        begun.extend_from_slice(&self.begun);
        gathered.clear();
        changes.clear();
        let latest = Overlay { base: &self.latest, changes };
        let Ideal { own, own_begun, own_entered, .. } = *self;
        Ideal { own, own_begun, own_entered, times, begun, gathered, latest }
    }

    /// Makes the set equal to another thread's set with the times of that thread up to `over`, which are inside it.
    pub(super) fn copy(&mut self, other: &Ideal<LockTable>, over: Time) {
        self.begin_with(other);
        let owner = other.own.thread as usize;
        self.grow_to(owner + 1);
        self.times[owner] = over;
        self.begun[owner] = other.own_begun;
    }

    /// Adds another set to one with nothing inside but events of its own thread that are no acquires.
    pub(super) fn begin_with(&mut self, other: &Ideal<LockTable>) {
        self.times.clone_from(&other.times);
        self.begun.clone_from(&other.begun);
        self.gathered.clone_from(&other.gathered);
        self.latest.clone_from(&other.latest);
        self.write_own();
    }

    /// Whether nothing is inside but events of its own thread that are no acquires.
    #[inline]
    pub(super) fn is_fresh(&self) -> bool {
        self.times.is_empty() && self.latest.is_empty()
    }

    /// Whether all posts of a hub are inside.
    pub(super) fn covers_posts(&self, hub: u32, sections: &Sections) -> bool {
        let inside = self.gathered.get(&hub).copied().unwrap_or(0);
        sections.posts(hub, inside, sections.posts_of(hub)).iter().all(|&post| self.covers(post))
    }

    /// Forgets how much is inside of hubs of which nothing is left.
    pub(super) fn forget_hubs(&mut self, sections: &Sections) {
        self.gathered.retain(|&hub, _| !sections.posts(hub, 0, sections.posts_of(hub)).is_empty());
    }

    pub(super) fn state_bytes(&self) -> usize {
        (self.times.capacity() + self.begun.capacity()) * size_of::<u32>()
            + self.gathered.capacity() * size_of::<(u32, u32)>()
            + self.latest.state_bytes()
    }
}

impl Ideal<Overlay<'_>> {
    /// Hands the buffers back.
    pub(super) fn into_buffers(self) -> Buffers {
        Buffers { times: self.times, begun: self.begun, gathered: self.gathered }
    }
}

/// The arrays of an ideal that is no longer needed, for the next one.
#[derive(Default, Debug)]
pub(super) struct Buffers {
    times: Vec<Time>,
    begun: Vec<u32>,
    gathered: FxHashMap<u32, u32>,
}

impl<L: LatestAcquires> Ideal<L> {
    /// Adds what precedes an event, and everything it takes to stay closed: its thread's times before its own, and what it had learned since.
    ///
    /// Stops early, with true, once `goal` is inside; the ideal is then not closed and must not be used any more.
    pub(crate) fn extend_by_past_of(
        &mut self,
        event: Epoch,
        learned: Learned,
        sections: &Sections,
        pending: &mut Vec<Epoch>,
        goal: Epoch,
    ) -> bool {
        debug_assert!(pending.is_empty());
        sections.for_each_new(event, learned, |epoch| pending.push(epoch));
        pending.push(Epoch { thread: event.thread, time: event.time - 1 });
        self.settle(sections, pending, goal)
    }

    /// Adds all of `epochs` and of `times`, of each thread up to its time.
    pub(super) fn extend_by_all(
        &mut self,
        epochs: &[Epoch],
        times: &[Time],
        sections: &Sections,
        pending: &mut Vec<Epoch>,
        goal: Epoch,
    ) -> bool {
        debug_assert!(pending.is_empty());
        pending.extend_from_slice(epochs);
        let times = times.iter().zip(0..).map(|(&time, thread)| Epoch { thread, time });
        pending.extend(times.filter(|&epoch| !self.covers(epoch)));
        self.settle(sections, pending, goal)
    }

    /// Adds all that is pending.
    pub(super) fn settle(&mut self, sections: &Sections, pending: &mut Vec<Epoch>, goal: Epoch) -> bool {
        while let Some(epoch) = pending.pop() {
            if self.covers(epoch) {
                continue; // I2
            }
            self.include(epoch.thread as usize, epoch.time, sections, pending);
            if self.covers(goal) {
                pending.clear();
                return true;
            }
        }
        false
    }

    /// Adds the events of a thread up to `time`, looking at its entries.
    #[inline]
    pub(super) fn include(
        &mut self,
        thread: usize,
        time: Time,
        sections: &Sections,
        pending: &mut Vec<Epoch>,
    ) {
        self.grow_to(thread + 1);
        self.times[thread] = time;
        let (mut place, entries) = sections.threads[ThreadId::from_index(thread)].since(self.begun[thread]);
        for entry in entries {
            if entry.acquired > time {
                break;
            }
            self.enter(thread as u32, place, entry, sections, pending);
            place = place.wrapping_add(1);
        }
        self.begun[thread] = place;
    }

    /// Adds the entries of its own thread that are not inside yet, and queues what they take. Returns how many there were.
    #[inline]
    pub(super) fn enter_own(&mut self, sections: &Sections, pending: &mut Vec<Epoch>) -> usize {
        let thread = self.own.thread;
        let (mut place, entries) = sections.threads[ThreadId(thread)].since(self.own_begun);
        for entry in entries {
            self.enter(thread, place, entry, sections, pending);
            self.own_entered = entry.acquired;
            place = place.wrapping_add(1);
        }
        self.own_begun = place;
        self.write_own();
        entries.len()
    }

    /// Restores I1 for one entry that came inside: queues what has to come inside with it.
    #[inline]
    fn enter(
        &mut self,
        thread: u32,
        place: u32,
        section: &Section,
        sections: &Sections,
        pending: &mut Vec<Epoch>,
    ) {
        if section.lock >= GATHERED {
            self.enter_other(section, sections, pending);
            return;
        }
        let facts = sections.locks[section.lock];
        if section.number < facts.forgotten_for(section.mode) {
            self.finish(thread, section, pending);
        }
        let this = Latest { number: section.number, thread, place };
        if facts.ever_shared {
            self.enter_shared_lock(this, section, sections, pending);
            return;
        }
        let latest = self.latest.latest(section.lock);
        if this.number > latest.number {
            self.latest.set_latest(section.lock, this);
            self.finish_latest(latest, sections, pending);
        } else {
            self.finish(thread, section, pending);
        }
    }

    /// As `enter`, for an entry that is no section.
    #[inline]
    fn enter_other(&mut self, entry: &Section, sections: &Sections, pending: &mut Vec<Epoch>) {
        match entry.lock {
            LEARNED => self.finish(entry.number, entry, pending),
            GATHERED => self.gather(entry.number, entry.released, sections, pending),
            _ => {
                let seen = &sections.seen[entry.number as usize];
                pending.extend(seen.iter().filter(|&&write| !self.covers(write)));
            }
        }
    }

    /// Queues the first posts of a hub, up to a count.
    #[cold]
    fn gather(&mut self, hub: u32, count: u32, sections: &Sections, pending: &mut Vec<Epoch>) {
        let inside = self.gathered.get(&hub).copied().unwrap_or(0);
        if inside < count {
            self.gathered.insert(hub, count);
            let posts = sections.posts(hub, inside, count);
            pending.extend(posts.iter().filter(|&&post| !self.covers(post)));
        }
    }

    /// As `enter`, for a lock that is also held shared.
    #[cold]
    fn enter_shared_lock(
        &mut self,
        this: Latest,
        section: &Section,
        sections: &Sections,
        pending: &mut Vec<Epoch>,
    ) {
        let latest = self.latest.latest(section.lock);
        let is_later = this.number > latest.number;
        if is_later {
            self.finish_latest(latest, sections, pending);
        } else {
            self.finish(this.thread, section, pending);
        }
        match (section.mode, is_later) {
            (LockMode::Shared, true) => {
                let readers = self.latest.readers(section.lock);
                match readers.iter_mut().find(|reader| reader.thread == this.thread) {
                    Some(reader) => *reader = this,
                    None => readers.push(this),
                }
            }
            (LockMode::Exclusive, true) => {
                self.latest.set_latest(section.lock, this);
                let readers = std::mem::take(self.latest.readers(section.lock));
                let (later, earlier): (Vec<_>, Vec<_>) =
                    readers.into_iter().partition(|reader| reader.number > this.number);
                for reader in earlier {
                    self.finish_latest(reader, sections, pending);
                }
                if !later.is_empty() {
                    self.finish(this.thread, section, pending);
                    *self.latest.readers(section.lock) = later;
                }
            }
            (_, false) => {}
        }
    }

    #[inline]
    pub(super) fn finish_latest(&mut self, latest: Latest, sections: &Sections, pending: &mut Vec<Epoch>) {
        if latest.number > 0
            && let Some(section) = sections.at(latest.thread, latest.place)
        {
            self.finish(latest.thread, section, pending);
        }
    }

    /// Queues the end of a section, or what was learned, unless it is inside.
    #[inline]
    fn finish(&mut self, thread: u32, section: &Section, pending: &mut Vec<Epoch>) {
        let epoch = Epoch { thread, time: section.released };
        if !self.covers(epoch) {
            pending.push(epoch);
        }
    }
}

/// The latest acquires of a thread's ideal with changes on top, for ideals that are looked at and thrown away.
pub(super) struct Overlay<'a> {
    pub(super) base: &'a LockTable,
    pub(super) changes: &'a mut Changes,
}

/// Changed latest acquires; cleared in constant time.
#[derive(Default, Debug)]
pub(super) struct Changes {
    generation: u32,
    latest: Vec<(u32, Latest)>,
    readers: FxHashMap<LockId, Vec<Latest>>,
}

impl Changes {
    /// No changes.
    pub(super) fn clear(&mut self) {
        if self.generation == u32::MAX {
            self.latest.clear();
            self.generation = 0;
        }
        self.generation += 1;
        if !self.readers.is_empty() {
            self.readers.clear();
        }
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.latest.capacity() * size_of::<(u32, Latest)>()
    }
}

impl LatestAcquires for Overlay<'_> {
    #[inline]
    fn latest(&self, lock: LockId) -> Latest {
        match self.changes.latest.get(lock.index()) {
            Some(&(generation, latest)) if generation == self.changes.generation => latest,
            _ => self.base.latest(lock),
        }
    }

    #[inline]
    fn set_latest(&mut self, lock: LockId, latest: Latest) {
        let Changes { generation, latest: changed, .. } = &mut *self.changes;
        if lock.index() >= changed.len() {
            changed.resize(lock.index() + 1, (0, Latest::default()));
        }
        changed[lock.index()] = (*generation, latest);
    }

    fn readers(&mut self, lock: LockId) -> &mut Vec<Latest> {
        let base = self.base;
        let original = || base.readers.get(&lock).cloned().unwrap_or_default();
        self.changes.readers.entry(lock).or_insert_with(original)
    }
}
