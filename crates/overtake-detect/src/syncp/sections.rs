//! All critical sections of a trace that can still matter, and what is entered like them: what threads learned from others, and the racy reads of
//! recordings.
//!
//! The entries of a thread say all that a closed set has to contain with the thread's events: the ends of other sections, and other threads' events.
//! No clock is kept for an event. A closed set that takes the event in follows the entries up to it, each once. So state grows with
//! what threads learn from each other, not with its product with their number.
//!
//! **Numbers.** A thread's entries are counted from its start; old ones may be gone. Counts wrap around: only differences matter.
//! **Hubs.** Whoever waits for an object learns the posts of many threads, and many may wait for it: a barrier. Such an object has one list of its posts, and
//! a wait is one entry with the length of the list at that time.

use overtake_clock::{Epoch, Time};
use overtake_trace::{IdVec, LockId, ThreadId};

use crate::detector::LockMode;

/// One critical section of a thread, or what is entered like one: see [`LEARNED`], [`GATHERED`] and [`READ`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Section {
    /// When the thread acquired the lock, in its own time.
    pub(super) acquired: Time,
    /// The acquire's number among all acquires of the lock, from 1.
    pub(super) number: u32,
    pub(super) lock: LockId,
    /// When the section ended, in the thread's own time; 0 while it is open.
    pub(super) released: Time,
    pub(super) mode: LockMode,
}

/// What is known of a lock whatever the ideal.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct LockFacts {
    acquires: u32,
    pub(super) ever_shared: bool,
    /// The largest numbers of acquires whose sections were forgotten: of any acquire, and of an exclusive one.
    forgotten: u32,
    forgotten_exclusive: u32,
}

/// All critical sections that can still matter, and what is entered like them.
#[derive(Default, Debug)]
pub(crate) struct Sections {
    pub(super) threads: IdVec<ThreadId, Entries>,
    pub(super) locks: IdVec<LockId, LockFacts>,
    kept: usize,
    forgotten: u64,
    /// How many entries are no sections.
    others: usize,
    /// What reads that are entered like sections may have seen; see `chart.rs`.
    pub(super) seen: Vec<Vec<Epoch>>,
    hubs: Vec<Hub>,
    /// What some accesses need besides what their threads know.
    needs: Vec<Need>,
}

/// What a thread did that a closed set has to follow, in the order of its times.
#[derive(Default, Debug)]
pub(super) struct Entries {
    /// How many entries are gone.
    gone: u32,
    list: Vec<Section>,
    /// Sections among those gone that have not ended within what all know, with their places.
    unfinished: Vec<(u32, Section)>,
}

/// The posts of an object, in their order.
#[derive(Default, Debug)]
struct Hub {
    /// How many posts are gone.
    gone: u32,
    posts: Vec<Epoch>,
}

/// How much a thread knew at an event: a count of its entries, or the number of a [`Need`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Learned(u32);

/// What an access needs: what its thread knew, and an allocation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Need {
    entries: u32,
    allocation: Epoch,
}

/// Marks the number of a need.
const NEED: u32 = 1 << 31;

/// Stands for a lock in the entry of a read that may have seen several writes; its number is its place in [`Sections::seen`].
pub(super) const READ: LockId = LockId(u32::MAX);

/// Stands for a lock in the entry of an event that needs one of another thread: `number` is that thread, `released` its time.
pub(super) const LEARNED: LockId = LockId(u32::MAX - 1);

/// Stands for a lock in the entry of a wait: `number` is the hub, `released` the number of posts.
pub(super) const GATHERED: LockId = LockId(u32::MAX - 2);

/// So many entries are looked through for one that says the same as a new one.
const MOST_LOOKED_THROUGH: u32 = 128;

impl Entries {
    /// The entries from a place on, and where they begin. What is gone is inside every closed set.
    #[inline]
    pub(super) fn since(&self, place: u32) -> (u32, &[Section]) {
        match self.list.get(place.wrapping_sub(self.gone) as usize..) {
            Some(list) => (place, list),
            None => (self.gone, &self.list),
        }
    }

    /// The place of the next entry.
    #[inline]
    pub(super) fn next(&self) -> u32 {
        self.gone.wrapping_add(self.list.len() as u32)
    }

    /// The entry at a place, unless it is one that ended inside every closed set.
    #[inline]
    pub(super) fn at(&self, place: u32) -> Option<&Section> {
        let entry = self.list.get(place.wrapping_sub(self.gone) as usize);
        entry.or_else(|| self.unfinished.iter().find(|(old, _)| *old == place).map(|(_, section)| section))
    }

    fn at_mut(&mut self, place: u32) -> Option<&mut Section> {
        match self.list.get_mut(place.wrapping_sub(self.gone) as usize) {
            Some(entry) => Some(entry),
            None => self.unfinished.iter_mut().find(|(old, _)| *old == place).map(|(_, section)| section),
        }
    }

    /// The last of the first `count` entries that belong to `time`, latest first. Counts are known up to the mark of needs.
    fn of_time(&self, count: u32, time: Time) -> impl Iterator<Item = &Section> {
        let count = (count.wrapping_sub(self.gone) & !NEED) as usize;
        let list = self.list.get(..count).unwrap_or_default();
        list.iter().rev().take_while(move |entry| entry.acquired == time)
    }

    #[inline]
    fn push(&mut self, entry: Section) -> u32 {
        let place = self.next();
        self.list.push(entry);
        place
    }

    /// Takes out the entries up to a time, except sections that end later. Hands each one that is gone for good to `gone`.
    fn forget(&mut self, known: Time, mut gone: impl FnMut(&Section)) {
        let is_over = |section: &Section| section.released > 0 && section.released <= known;
        self.unfinished.retain(|(_, section)| {
            let is_over = is_over(section);
            if is_over {
                gone(section);
            }
            !is_over
        });
        let count = self.list.partition_point(|entry| entry.acquired <= known);
        for (place, entry) in self.list.drain(..count).enumerate() {
            if entry.lock >= GATHERED || is_over(&entry) {
                gone(&entry);
            } else {
                self.unfinished.push((self.gone.wrapping_add(place as u32), entry));
            }
        }
        self.gone = self.gone.wrapping_add(count as u32);
        if self.list.capacity() > 4 * self.list.len() + 64 {
            self.list.shrink_to(2 * self.list.len());
        }
    }

    fn heap_bytes(&self) -> usize {
        self.list.capacity() * size_of::<Section>() + self.unfinished.capacity() * size_of::<(u32, Section)>()
    }
}

impl Sections {
    pub(super) fn reserve(&mut self, threads: usize, locks: usize) {
        self.threads.grow_to(threads);
        self.locks.grow_to(locks);
    }

    /// Records an acquire; the result is the section's place and what an ideal needs to know of it.
    #[inline]
    pub(super) fn begin(&mut self, thread: ThreadId, acquired: Time, lock: LockId, mode: LockMode) -> u32 {
        let facts = &mut self.locks[lock];
        facts.acquires = facts.acquires.saturating_add(1);
        facts.ever_shared |= mode == LockMode::Shared;
        let number = facts.acquires;
        self.kept += 1;
        self.threads[thread].push(Section { acquired, number, lock, released: 0, mode })
    }

    /// Records that the thread's events of `time`, from now on, need another thread's events up to `epoch`. Returns the place.
    #[inline]
    pub(super) fn learn(&mut self, thread: ThreadId, time: Time, epoch: Epoch) -> u32 {
        self.add(thread, time, LEARNED, epoch.thread, epoch.time)
    }

    /// Whether one of the last entries of a thread says that it has learned of an epoch. Not all are looked through: to learn it twice does no harm.
    #[inline]
    pub(super) fn has_learned(&self, thread: ThreadId, last: u32, epoch: Epoch) -> bool {
        let list = &self.threads[thread].list;
        let last = &list[list.len().saturating_sub(last.min(MOST_LOOKED_THROUGH) as usize)..];
        last.iter().any(|entry| {
            entry.lock == LEARNED && entry.number == epoch.thread && entry.released >= epoch.time
        })
    }

    /// As [`learn`](Self::learn), for all posts that a hub has.
    pub(super) fn gather(&mut self, thread: ThreadId, time: Time, hub: u32) -> u32 {
        self.add(thread, time, GATHERED, hub, self.posts_of(hub))
    }

    /// Records a read that may have seen several writes, in the order of the thread's acquires. Returns its number and place.
    pub(super) fn read(&mut self, thread: ThreadId, time: Time) -> (u32, u32) {
        let number = self.seen.len() as u32;
        self.seen.push(Vec::new());
        (number, self.add(thread, time, READ, number, 0))
    }

    #[inline]
    fn add(&mut self, thread: ThreadId, acquired: Time, lock: LockId, number: u32, released: Time) -> u32 {
        self.others += 1;
        self.threads[thread].push(Section { acquired, number, lock, released, mode: LockMode::Exclusive })
    }

    /// Makes a hub of these posts.
    pub(super) fn new_hub(&mut self, posts: Vec<Epoch>) -> u32 {
        self.hubs.push(Hub { gone: 0, posts });
        self.hubs.len() as u32 - 1
    }

    /// A hub has one more post.
    pub(super) fn post(&mut self, hub: u32, epoch: Epoch) {
        self.hubs[hub as usize].posts.push(epoch);
    }

    /// How many posts a hub has had.
    pub(super) fn posts_of(&self, hub: u32) -> u32 {
        let Hub { gone, posts } = &self.hubs[hub as usize];
        gone + posts.len() as u32
    }

    /// The posts of a hub from one count to another. What is gone is inside every closed set.
    pub(super) fn posts(&self, hub: u32, from: u32, to: u32) -> &[Epoch] {
        let Hub { gone, posts } = &self.hubs[hub as usize];
        &posts[from.saturating_sub(*gone) as usize..to.saturating_sub(*gone) as usize]
    }

    /// What a thread knows now.
    #[inline]
    pub(super) fn learned(&self, thread: ThreadId) -> Learned {
        Learned(self.threads[thread].next() & !NEED)
    }

    /// What a thread knows now, and an allocation.
    pub(super) fn learned_with(&mut self, thread: ThreadId, allocation: Epoch) -> Learned {
        let need = Need { entries: self.threads[thread].next(), allocation };
        if self.needs.last() != Some(&need) {
            self.needs.push(need);
        }
        Learned(NEED | (self.needs.len() as u32 - 1))
    }

    /// What an event needs that its thread had learned in the same time, and perhaps an allocation. What the thread knew before that time is not
    /// among it.
    pub(super) fn for_each_new(&self, event: Epoch, learned: Learned, mut take: impl FnMut(Epoch)) {
        let mut entries = learned.0;
        if learned.0 & NEED != 0 {
            let need = self.needs[(learned.0 & !NEED) as usize];
            entries = need.entries;
            take(need.allocation);
        }
        for entry in self.threads[ThreadId(event.thread)].of_time(entries, event.time) {
            match entry.lock {
                LEARNED => take(Epoch { thread: entry.number, time: entry.released }),
                GATHERED => {
                    self.posts(entry.number, 0, entry.released).iter().copied().for_each(&mut take);
                }
                _ => {}
            }
        }
    }

    /// The numbers of a thread's reads up to a time.
    pub(super) fn reads_until(&self, thread: ThreadId, time: Time) -> impl Iterator<Item = u32> {
        let entries = self.threads.get(thread).map_or(&[][..], |entries| &entries.list);
        let until = entries.iter().take_while(move |entry| entry.acquired <= time);
        until.filter(|entry| entry.lock == READ).map(|entry| entry.number)
    }

    pub(super) fn end(&mut self, thread: ThreadId, place: u32, released: Time) {
        if let Some(section) = self.threads[thread].at_mut(place) {
            section.released = released;
        }
    }

    #[inline]
    pub(super) fn at(&self, thread: u32, place: u32) -> Option<&Section> {
        self.threads[ThreadId(thread)].at(place)
    }

    /// How many entries are recorded, of sections and of all else.
    pub(super) fn entries(&self) -> usize {
        self.kept + self.others
    }

    /// How many sections are recorded.
    pub(super) fn kept(&self) -> usize {
        self.kept
    }

    /// How many sections were forgotten.
    pub(super) fn forgotten(&self) -> u64 {
        self.forgotten
    }

    pub(super) fn state_bytes(&self) -> usize {
        let entries: usize = self.threads.iter().map(Entries::heap_bytes).sum();
        let posts: usize = self.hubs.iter().map(|hub| hub.posts.capacity() * size_of::<Epoch>()).sum();
        self.threads.table_bytes()
            + self.locks.table_bytes()
            + entries
            + posts
            + self.hubs.capacity() * size_of::<Hub>()
            + self.needs.capacity() * size_of::<Need>()
    }

    /// Forgets every section that ended within `known`, which every ideal there is contains, and what was learned within it.
    ///
    /// Of such a section an ideal needs to know only that a later acquire of its lock is inside, for the sake of sections
    /// that did not end within `known`; that is the largest forgotten number of each lock.
    pub(super) fn forget(&mut self, known: &[Time]) {
        let Sections { threads, locks, kept, forgotten, others, hubs, .. } = self;
        for (entries, &known) in threads.iter_mut().zip(known) {
            entries.forget(known, |entry| match locks.get_mut(entry.lock) {
                Some(lock) => {
                    lock.forget(entry);
                    *kept -= 1;
                    *forgotten += 1;
                }
                None => *others -= 1,
            });
        }
        let is_known =
            |post: &Epoch| known.get(post.thread as usize).is_some_and(|&known| post.time <= known);
        for hub in hubs {
            let count = hub.posts.iter().take_while(|post| is_known(post)).count();
            hub.posts.drain(..count);
            hub.gone += count as u32;
        }
    }
}

impl LockFacts {
    fn forget(&mut self, section: &Section) {
        self.forgotten = self.forgotten.max(section.number);
        if section.mode == LockMode::Exclusive {
            self.forgotten_exclusive = self.forgotten_exclusive.max(section.number);
        }
    }

    /// The largest number of a forgotten acquire that may not overlap one of this mode.
    #[inline]
    pub(super) fn forgotten_for(&self, mode: LockMode) -> u32 {
        match mode {
            LockMode::Exclusive => self.forgotten,
            LockMode::Shared => self.forgotten_exclusive,
        }
    }
}
