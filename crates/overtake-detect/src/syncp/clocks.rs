//! The closed clock of every thread, kept up to date event by event.
//!
//! **State.** Per thread an [`Ideal`]: the smallest closed set that holds all the thread did. A thread's time is over, and
//! the next one begins, when the thread acquires a lock and when its clock is handed out: at a release, fork or post, when
//! it is joined, and at a write, which a read may see. All events of one time are inside a closed set or none is, unless
//! the set ends with the thread's current time; so nothing finer is needed to tell events of different threads apart.
//!
//! With many threads, a past is brought up to date only when it is looked at, or when enough is new: until then what is new are entries of the thread
//! that its past has not taken in ([`Clocks::settle`]). Many at once are followed in runs of each thread's entries, and a thread of which no one asks is not followed at all.
//!
//! Because the clocks are closed, the closure of what precedes two accesses starts from the second thread's ideal and
//! adds what precedes the first; and an access that the second thread's ideal covers needs no closure at all.

use overtake_clock::{Epoch, Time};
use overtake_rules::{OpenSection, OpenSections};
use overtake_trace::{Id, IdVec, LockId, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::closure::{Buffers, Changes, Ideal, LockTable, NO_GOAL, Overlay};
use super::sections::{Learned, Sections};
use crate::detector::LockMode;

/// The clocks of all threads, with what they share.
#[derive(Debug)]
pub(crate) struct Clocks {
    pub(super) sections: Sections,
    threads: IdVec<ThreadId, ThreadState>,
    posts: IdVec<SyncId, Posts>,
    pending: Vec<Epoch>,
    /// Of what is pending, what has to be followed entry by entry.
    to_follow: Vec<Epoch>,
    scratch: Scratch,
    /// Per heap block that another thread may use, its allocation.
    allocations: FxHashMap<VarId, Epoch>,
    /// What every closure to come contains. Whoever learns something for the first time begins with it.
    known: Ideal<LockTable>,
}

impl Default for Clocks {
    fn default() -> Self {
        Clocks {
            sections: Sections::default(),
            threads: IdVec::new(),
            posts: IdVec::new(),
            pending: Vec::new(),
            to_follow: Vec::new(),
            scratch: Scratch::default(),
            allocations: FxHashMap::default(),
            known: Ideal::of_no_thread(LockTable::default()),
        }
    }
}

/// The posts of an object.
#[derive(Debug)]
enum Posts {
    /// The last one of each thread, if these are few.
    Few(Vec<Epoch>),
    Hub(u32),
}

impl Default for Posts {
    fn default() -> Self {
        Posts::Few(Vec::new())
    }
}

impl Posts {
    fn heap_bytes(&self) -> usize {
        match self {
            Posts::Few(posts) => posts.capacity() * size_of::<Epoch>(),
            Posts::Hub(_) => 0,
        }
    }
}

/// An object to which more threads post is a hub.
const MOST_POSTERS: usize = 4;

/// With fewer threads every past is kept up to date.
const FEWEST_THREADS_TO_WAIT: usize = if cfg!(test) { 3 } else { 64 };

/// So many entries may be missing in a thread's past. They take less room than the past itself.
fn most_waiting(threads: usize) -> u32 {
    if cfg!(test) { 3 } else { (threads / 4).max(256) as u32 }
}

#[derive(Debug)]
struct ThreadState {
    past: Ideal<LockTable>,
    /// The thread's time. Its past covers the times before.
    time: Time,
    /// The time at which its past last got what it had not learned: see [`Clocks::forget`].
    widened: Time,
    /// Sections not ended, with their places.
    open: OpenSections<Vec<OpenSection<LockId, u32>>>,
    /// If the thread's past was given back: what it was taught since, by late forks of it.
    retired: Option<Vec<Epoch>>,
}

/// An ideal to look at and throw away.
#[derive(Default, Debug)]
struct Scratch {
    buffers: Buffers,
    changes: Changes,
}

impl ThreadState {
    fn new(thread: ThreadId) -> ThreadState {
        ThreadState {
            past: Ideal::new(thread, LockTable::default()),
            time: 1,
            widened: 0,
            open: OpenSections::default(),
            retired: None,
        }
    }

    /// Whether all that its past has taken in was before an epoch of the thread.
    #[inline]
    fn is_before(&self, epoch: Epoch) -> bool {
        self.retired.is_none() && self.widened <= epoch.time && self.past.own_entered <= epoch.time
    }

    /// The thread's time is over.
    #[inline]
    fn tick(&mut self) {
        self.past.advance(self.time);
        // The last time is never over: what happens in it may look ordered, so races may be missed, never invented.
        self.time = self.time.saturating_add(1).min(Time::MAX - 1);
    }
}

impl Clocks {
    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.sections.reserve(sizes.threads, sizes.locks);
        for thread in self.threads.len()..sizes.threads {
            self.threads.push(ThreadState::new(ThreadId(thread as u32)));
        }
        self.posts.grow_to(sizes.objects);
    }

    /// The thread's time, and whose it is.
    #[inline]
    pub(crate) fn epoch(&self, thread: ThreadId) -> Epoch {
        Epoch { thread: thread.0, time: self.threads[thread].time }
    }

    /// What the thread's events so far need of others.
    #[inline]
    pub(crate) fn learned(&self, thread: ThreadId) -> Learned {
        self.sections.learned(thread)
    }

    /// The event that ended this time has allocated a block.
    pub(crate) fn allocate(&mut self, block: VarId, epoch: Epoch) {
        self.allocations.insert(block, epoch);
    }

    /// What the thread's events so far need of others, and what it takes to have a block allocated.
    pub(crate) fn learned_with(&mut self, thread: ThreadId, block: Option<VarId>) -> Learned {
        let allocation = block.and_then(|block| self.allocations.get(&block)).copied();
        if allocation.is_some_and(|allocation| !self.threads[thread].past.covers(allocation)) {
            self.settle(thread);
        }
        let past = &self.threads[thread].past;
        match allocation.filter(|&allocation| !past.covers(allocation)) {
            Some(allocation) => self.sections.learned_with(thread, allocation),
            None => self.sections.learned(thread),
        }
    }

    /// The closed set of the thread's events before its current time, and of what those and the events of its current
    /// time need. If the past is not [settled](Self::settle), a part of it that is closed but for the thread's own entries.
    #[inline]
    pub(super) fn past(&self, thread: ThreadId) -> &Ideal<LockTable> {
        &self.threads[thread].past
    }

    /// The time that ends with all the thread did so far. It is over.
    #[inline]
    pub(crate) fn publish(&mut self, thread: ThreadId) -> Epoch {
        let state = &mut self.threads[thread];
        let epoch = Epoch { thread: thread.0, time: state.time };
        state.tick();
        epoch
    }

    /// Brings the thread's past up to date. Returns how many entries were new.
    #[inline]
    pub(super) fn settle(&mut self, thread: ThreadId) -> usize {
        if self.is_settled(thread) { 0 } else { self.take_in(thread) }
    }

    /// Whether the thread's past has all its entries.
    #[inline]
    pub(super) fn is_settled(&self, thread: ThreadId) -> bool {
        self.waiting(thread) == 0
    }

    /// How many of the thread's entries its past has not taken in.
    #[inline]
    fn waiting(&self, thread: ThreadId) -> u32 {
        self.sections.threads[thread].next().wrapping_sub(self.threads[thread].past.own_begun)
    }

    /// The thread's entries come into its past, and all they take. Returns how many entries there were.
    #[inline]
    fn take_in(&mut self, thread: ThreadId) -> usize {
        let Clocks { sections, threads, pending, known, .. } = self;
        let are_few = threads.len() < FEWEST_THREADS_TO_WAIT;
        let ThreadState { past, retired, .. } = &mut threads[thread];
        if retired.is_some() {
            return 0;
        }
        if past.is_fresh() && !known.is_fresh() {
            past.begin_with(known);
        }
        let new = past.enter_own(sections, pending);
        if are_few {
            past.settle(sections, pending, NO_GOAL);
        } else {
            self.settle_by_others(thread);
        }
        new
    }

    /// Adds all that is pending to a thread's past, with the help of other threads' pasts: these first, because what they bring need not be followed.
    #[inline(never)]
    fn settle_by_others(&mut self, thread: ThreadId) {
        let Clocks { sections, threads, pending, to_follow, .. } = self;
        let fresh = Ideal::new(thread, LockTable::default());
        let mut past = std::mem::replace(&mut threads[thread].past, fresh);
        loop {
            while let Some(epoch) = pending.pop() {
                if past.covers(epoch) {
                    continue; // I2 of `closure.rs`
                }
                let teacher = &threads[ThreadId(epoch.thread)];
                if teacher.is_before(epoch) && past.can_join(&teacher.past) {
                    past.join(&teacher.past, sections, pending);
                }
                to_follow.push(epoch);
            }
            let Some(epoch) = to_follow.pop() else { break };
            if !past.covers(epoch) {
                past.include(epoch.thread as usize, epoch.time, sections, pending);
            }
        }
        threads[thread].past = past;
    }

    /// The thread has a new entry, which its past takes in now or later.
    #[inline]
    fn enter(&mut self, thread: ThreadId) {
        let threads = self.threads.len();
        if threads < FEWEST_THREADS_TO_WAIT || self.waiting(thread) > most_waiting(threads) {
            self.take_in(thread);
        }
    }

    /// Brings all pasts up to date. Returns how much there was to do.
    pub(super) fn settle_all(&mut self) -> usize {
        let new: usize =
            (0..self.threads.len()).map(|thread| self.settle(ThreadId::from_index(thread))).sum();
        new * self.threads.len()
    }

    /// Records the read that the thread is about to end; see `chart.rs`. Returns its number.
    pub(super) fn record_read(&mut self, thread: ThreadId) -> u32 {
        self.settle(thread);
        let state = &mut self.threads[thread];
        let (number, place) = self.sections.read(thread, state.time);
        state.past.begin_own(place, state.time);
        number
    }

    /// From now on the thread's events need the events up to `epoch`, which was published.
    #[inline]
    pub(crate) fn learn(&mut self, thread: ThreadId, epoch: Epoch) {
        let state = &mut self.threads[thread];
        if state.past.covers(epoch) {
            return;
        }
        if let Some(late) = &mut state.retired {
            late.push(epoch);
            return;
        }
        if self.sections.has_learned(thread, self.waiting(thread), epoch) {
            return;
        }
        self.sections.learn(thread, self.threads[thread].time, epoch);
        self.enter(thread);
    }

    pub(crate) fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let state = &mut self.threads[thread];
        let place = self.sections.begin(thread, state.time, lock, mode);
        state.open.acquire(lock, mode, place);
        state.tick();
        self.enter(thread);
    }

    pub(crate) fn release(&mut self, thread: ThreadId, lock: LockId) {
        let Some(open) = self.threads[thread].open.release(lock) else { return };
        let released = self.publish(thread).time;
        self.sections.end(thread, open.section, released);
    }

    /// A child that has done nothing knows what its parent knows.
    pub(crate) fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        let state = &self.threads[child];
        let is_new =
            state.time == 1 && state.past.is_fresh() && state.retired.is_none() && self.is_settled(child);
        if !is_new || thread == child || self.threads[thread].retired.is_some() {
            self.hand_over(thread, child);
            return;
        }
        self.settle(thread);
        let epoch = self.publish(thread);
        let mut past = Ideal::new(child, LockTable::default());
        past.copy(&self.threads[thread].past, epoch.time);
        let time = self.threads[child].time;
        let place = self.sections.learn(child, time, epoch);
        past.begin_own(place, time);
        self.threads[child].past = past;
    }

    pub(crate) fn join(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_over(child, thread);
    }

    /// Gives the past of a thread that does nothing any more back, so that many threads that come and go take little room.
    /// Its last clock stays, for further joins.
    pub(super) fn retire(&mut self, thread: ThreadId) {
        let state = &mut self.threads[thread];
        state.past = Ideal::new(thread, LockTable::default());
        state.retired.get_or_insert_default();
    }

    fn hand_over(&mut self, from: ThreadId, to: ThreadId) {
        let epoch = self.publish(from);
        self.learn(to, epoch);
        for at in 0..self.threads[from].retired.as_ref().map_or(0, Vec::len) {
            let late = self.threads[from].retired.as_ref().map(|late| late[at]);
            late.into_iter().for_each(|epoch| self.learn(to, epoch));
        }
    }

    pub(crate) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let epoch = self.publish(thread);
        match &mut self.posts[object] {
            Posts::Hub(hub) => self.sections.post(*hub, epoch),
            Posts::Few(posts) => {
                match posts.iter_mut().find(|post| post.thread == thread.0) {
                    Some(post) => *post = epoch,
                    None => posts.push(epoch),
                }
                if posts.len() > MOST_POSTERS {
                    let posts = std::mem::take(posts);
                    self.posts[object] = Posts::Hub(self.sections.new_hub(posts));
                }
            }
        }
    }

    pub(crate) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        match &self.posts[object] {
            &Posts::Hub(hub) => self.wait_for_hub(thread, hub),
            Posts::Few(posts) => {
                for post in 0..posts.len() {
                    let Posts::Few(posts) = &self.posts[object] else { return };
                    self.learn(thread, posts[post]);
                }
            }
        }
    }

    fn wait_for_hub(&mut self, thread: ThreadId, hub: u32) {
        let state = &mut self.threads[thread];
        if state.retired.is_none() && !state.past.covers_posts(hub, &self.sections) {
            self.sections.gather(thread, state.time, hub);
            self.enter(thread);
        }
    }

    /// Whether `first` is in the closure of what precedes it (its thread's times before its own, and `learned`) and of
    /// the past of `thread`. If it is not, and conflicts with the next event of `thread`, the two race.
    pub(super) fn reaches(&mut self, thread: ThreadId, first: Epoch, learned: Learned) -> bool {
        self.with_closure(thread, first, learned, first, |_, reached| reached)
    }

    /// The closure of what precedes `first` and of the past of `thread`: the time up to which each thread is inside.
    pub(crate) fn closure(&mut self, thread: ThreadId, first: Epoch, learned: Learned) -> Vec<Time> {
        let threads = self.threads.len() as u32;
        self.with_closure(thread, first, learned, NO_GOAL, |ideal, _| {
            (0..threads).map(|thread| ideal.time(thread)).collect()
        })
    }

    fn with_closure<R>(
        &mut self,
        thread: ThreadId,
        first: Epoch,
        learned: Learned,
        goal: Epoch,
        answer: impl FnOnce(&Ideal<Overlay<'_>>, bool) -> R,
    ) -> R {
        self.settle(thread);
        let Scratch { buffers, changes } = &mut self.scratch;
        let mut ideal = self.threads[thread].past.overlaid(changes, std::mem::take(buffers));
        let reached = ideal.extend_by_past_of(first, learned, &self.sections, &mut self.pending, goal);
        let result = answer(&ideal, reached);
        *buffers = ideal.into_buffers();
        result
    }

    /// What the thread's past contains of each thread; nothing if no event so far named the thread.
    pub(super) fn times(&self, thread: ThreadId) -> Vec<Time> {
        let Some(ThreadState { past, .. }) = self.threads.get(thread) else { return Vec::new() };
        let mut times = past.learned().to_vec();
        let own = past.time(thread.0);
        if own > 0 {
            times.resize(times.len().max(thread.index() + 1), 0);
            times[thread.index()] = own;
        }
        times
    }

    /// Forgets sections that ended within `known`, which every closure to come contains, and what was learned within it. The pasts of all
    /// threads get all of `known`: that of a thread that waits for others may be without it.
    pub(super) fn forget(&mut self, known: &[Time]) {
        let Clocks { sections, threads, pending, .. } = self;
        for state in threads.iter_mut().filter(|state| !state.past.is_fresh()) {
            if !state.past.covers_all(known) {
                state.past.extend_by_all(&[], known, sections, pending, NO_GOAL);
                state.widened = state.time;
            }
        }
        self.known.extend_by_all(&[], known, sections, pending, NO_GOAL);
        sections.forget(known);
        threads.iter_mut().for_each(|state| state.past.forget_hubs(sections));
    }

    /// How many entries the tables of threads have that a collection visits.
    pub(super) fn table_entries(&self) -> usize {
        self.threads.iter().map(|state| state.past.learned().len()).sum()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        let threads: usize = self.threads.iter().map(|state| state.past.state_bytes()).sum();
        let posts: usize = self.posts.iter().map(Posts::heap_bytes).sum();
        self.sections.state_bytes()
            + self.threads.table_bytes()
            + self.posts.table_bytes()
            + threads
            + posts
            + self.scratch.changes.state_bytes()
    }
}
