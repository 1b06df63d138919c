//! What each thread cannot run without, event by event: thread order, fork, join, posts, and reads after the writes that they see.
//!
//! **Forgetting.** With ten thousand threads that come and go, a clock takes 40 KB. So the clock of a thread that is not heard of again is
//! dropped, at once if it is joined, and so is that of a last write which all other threads at work know: they learn nothing when they see it. A thread that is yet
//! to be forked will know what its starter knows; one that no fork starts knows nothing before it begins. If clocks of last writes still take [`MOST_BYTES`],
//! further ones are left out: then more pairs get a closer look than need one.
//! **Cost.** A sweep looks at the clocks of the threads at work and at the variables with a last write. It comes when the number of clocks has
//! doubled, so that it costs no more than making them.

use overtake_clock::{Epoch, Snapshots, Stamp, ThreadClock, Time};
use overtake_trace::{EventIndex, Id, IdVec, Pages, Sizes, SyncId, ThreadId, VarId};

use crate::posts::Posts;
use crate::syncp::{Life, MOST_BYTES};

/// A sweep comes when there are at least so many clocks.
const FEWEST_CLOCKS: usize = if cfg!(test) { 1 } else { 1 << 10 };

/// The clocks of all threads.
pub(super) struct Order {
    clocks: IdVec<ThreadId, ThreadClock>,
    snapshots: Snapshots,
    last_writes: Pages<VarId, Stamp>,
    /// The variables with a last write, each once.
    written: Vec<VarId>,
    posts: IdVec<SyncId, Posts>,
    lives: IdVec<ThreadId, Life>,
    /// The next sweep comes when there are so many clocks.
    sweep_at: usize,
}

impl Order {
    /// Clocks of threads that live so long.
    pub(super) fn new(lives: IdVec<ThreadId, Life>) -> Order {
        Order {
            clocks: IdVec::new(),
            snapshots: Snapshots::default(),
            last_writes: Pages::new(),
            written: Vec::new(),
            posts: IdVec::new(),
            lives,
            sweep_at: FEWEST_CLOCKS,
        }
    }

    pub(super) fn reserve(&mut self, sizes: &Sizes) {
        while self.clocks.len() < sizes.threads {
            self.clocks.push(ThreadClock::new(self.clocks.len() as u32));
        }
        self.posts.grow_to(sizes.objects);
    }

    /// The time of a thread.
    pub(super) fn time(&self, thread: ThreadId) -> Time {
        self.clocks[thread].epoch().time
    }

    /// The time of another thread up to which a thread cannot run without it.
    pub(super) fn known(&self, thread: ThreadId, other: ThreadId) -> Time {
        self.clocks[thread].get(other.0)
    }

    /// A thread sees the last write of a variable.
    #[inline]
    pub(super) fn see(&mut self, thread: ThreadId, var: VarId) {
        let stamp = self.last_writes[var];
        if stamp.epoch.is_some() {
            self.clocks[thread].join(&self.snapshots, stamp);
        }
    }

    /// A thread writes a variable, with the event at `now`.
    #[inline]
    pub(super) fn write(&mut self, thread: ThreadId, var: VarId, now: EventIndex) {
        let place = &mut self.last_writes[var];
        if !place.epoch.is_some() {
            self.written.push(var);
        }
        self.clocks[thread].publish_sparingly_to(place, &mut self.snapshots, MOST_BYTES);
        if self.snapshots.live() >= self.sweep_at {
            self.sweep(now);
        }
    }

    /// A thread waited for another one's end, with the event at `now`.
    pub(super) fn join(&mut self, thread: ThreadId, child: ThreadId, now: EventIndex) {
        self.hand_over(child, thread);
        if thread != child && self.lives.get(child).is_some_and(|life| life.last_mention <= Some(now)) {
            self.forget(child);
        }
    }

    /// Drops the clock of a thread that is not heard of again.
    fn forget(&mut self, thread: ThreadId) {
        self.clocks[thread].forget(&mut self.snapshots);
        self.clocks[thread] = ThreadClock::new(thread.0);
    }

    /// What a thread did, another one cannot run without from now on.
    pub(super) fn hand_over(&mut self, from: ThreadId, to: ThreadId) {
        let stamp = self.clocks[from].publish(&mut self.snapshots);
        self.clocks[to].join(&self.snapshots, stamp);
        self.snapshots.release(stamp.snapshot);
    }

    pub(super) fn post(&mut self, thread: ThreadId, object: SyncId) {
        let stamp = self.clocks[thread].publish(&mut self.snapshots);
        self.posts[object].add(stamp, &mut self.snapshots);
    }

    pub(super) fn wait(&mut self, thread: ThreadId, object: SyncId) {
        self.posts[object].hand_to(&mut self.clocks[thread], &self.snapshots);
    }

    /// Drops what nobody can learn from any more. The event at `now` is the last one that took effect.
    #[cold]
    fn sweep(&mut self, now: EventIndex) {
        let known = self.known_to_all(now);
        let Order { snapshots, last_writes, written, .. } = self;
        let is_known = |epoch: Epoch| epoch.time <= known.get(epoch.thread as usize).copied().unwrap_or(0);
        written.retain(|&var| {
            let place = &mut last_writes[var];
            let is_known = is_known(place.epoch);
            if is_known {
                snapshots.release(std::mem::take(place).snapshot);
            }
            !is_known
        });
        for thread in (0..self.clocks.len().min(self.lives.len())).map(ThreadId::from_index) {
            let is_over = self.lives[thread].last_mention < Some(now);
            if is_over && !self.clocks[thread].learned().times().is_empty() {
                self.forget(thread);
            }
        }
        self.sweep_at = FEWEST_CLOCKS.max(2 * self.snapshots.live()).max(self.written.len() / 8);
    }

    /// By thread, the time up to which all other threads with events left know it, or will know it when they begin.
    fn known_to_all(&self, now: EventIndex) -> Vec<Time> {
        let mut known = vec![Time::MAX; self.clocks.len()];
        for (thread, clock) in self.clocks.enumerate() {
            let life = self.lives.get(thread).copied().unwrap_or_default();
            let times = clock.learned().times();
            if life.last_event < Some(now) || (times.is_empty() && !life.is_root) {
                continue;
            }
            let of_itself = known[thread.index()];
            let (common, rest) = known.split_at_mut(times.len().min(self.clocks.len()));
            common.iter_mut().zip(times).for_each(|(known, &time)| *known = time.min(*known));
            rest.fill(0);
            known[thread.index()] = of_itself;
        }
        known
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.snapshots.heap_bytes()
            + self.clocks.table_bytes()
            + self.clocks.iter().map(ThreadClock::heap_bytes).sum::<usize>()
            + self.last_writes.table_bytes()
            + self.written.capacity() * size_of::<VarId>()
            + self.posts.table_bytes()
            + self.posts.iter().map(Posts::heap_bytes).sum::<usize>()
    }
}
