//! What threads cannot run without of each other, as the steps by which they come to need it.
//!
//! A clock for each event would say at once what the event needs, but with ten thousand threads it takes 40 KB. So only the steps are kept: thread `t`
//! needs, from here on, the first `n` events of thread `u` and what `u` needed for them. What an event needs is found by following the steps
//! back.
//!
//! **State.** Per thread its steps, in order. Per object the posts to it: a wait is one step, whoever posted. A clock of all that a thread needs comes
//! after as many steps as a clock has components ([`FEWEST_STEPS`] at least), so clocks take no more room than steps, and no thread's steps are followed further
//! back than that.
//! **Invariants.**
//!   I1  A set that holds event `n + 1` of a thread holds all that the thread needs for its first `n` events, or will when it is closed.
//! **Cost.** A step takes 16 bytes. A closed set takes the steps inside it, at most once each; and for each thread that it reaches at most the steps since
//! a clock, and the clock.

use overtake_clock::{SnapshotId, Snapshots, Time};
use overtake_trace::{Id, IdVec, SyncId, ThreadId};
use rustc_hash::FxHashMap;

/// A clock stands after at least so many steps.
const FEWEST_STEPS: usize = if cfg!(test) { 3 } else { 64 };

/// What a thread did up to some point, and needed for it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reach {
    pub(super) thread: ThreadId,
    /// How many events it did.
    pub(super) count: Time,
    /// How many steps it had made.
    pub(super) steps: u32,
}

/// A step: what a thread needs from there on.
#[derive(Clone, Copy, Debug)]
enum Step {
    Of(Reach),
    /// The first posts to an object, so many of them.
    Posts(SyncId, u32),
}

const _: () = assert!(size_of::<Step>() == 16);

#[derive(Default, Debug)]
struct OfThread {
    steps: Vec<Step>,
    /// All that the thread needs after so many steps.
    clocks: Vec<(u32, SnapshotId)>,
    /// Up to which event of each other thread it made a step.
    heard: FxHashMap<ThreadId, Time>,
}

/// The steps of all threads.
#[derive(Default, Debug)]
pub(super) struct Needs {
    threads: IdVec<ThreadId, OfThread>,
    posts: FxHashMap<SyncId, Vec<Reach>>,
    snapshots: Snapshots,
}

impl Needs {
    pub(super) fn reserve(&mut self, threads: usize) {
        self.threads.grow_to(threads);
    }

    /// How many steps a thread has made.
    pub(super) fn steps(&self, thread: ThreadId) -> u32 {
        self.threads[thread].steps.len() as u32
    }

    /// Whether a thread made a step to what another one did.
    pub(super) fn has_heard(&self, thread: ThreadId, reach: Reach) -> bool {
        let heard = self.threads[thread].heard.get(&reach.thread);
        thread == reach.thread || heard.is_some_and(|&count| count >= reach.count)
    }

    /// From now on a thread, which has done `count` events, needs what another one did.
    pub(super) fn add(&mut self, thread: ThreadId, count: Time, reach: Reach) {
        let heard = self.threads[thread].heard.entry(reach.thread).or_default();
        *heard = reach.count.max(*heard);
        self.add_step(thread, count, Step::Of(reach));
    }

    pub(super) fn post(&mut self, object: SyncId, reach: Reach) {
        self.posts.entry(object).or_default().push(reach);
    }

    /// From now on a thread, which has done `count` events, needs all posts to an object.
    pub(super) fn add_posts(&mut self, thread: ThreadId, count: Time, object: SyncId) {
        if let Some(posts) = self.posts.get(&object) {
            self.add_step(thread, count, Step::Posts(object, posts.len() as u32));
        }
    }

    fn add_step(&mut self, thread: ThreadId, count: Time, step: Step) {
        let threads = self.threads.len();
        let own = &mut self.threads[thread];
        own.steps.push(step);
        let since_clock = own.steps.len() - own.clocks.last().map_or(0, |(steps, _)| *steps as usize);
        if since_clock >= threads.max(FEWEST_STEPS) {
            self.add_clock(Reach { thread, count, steps: self.steps(thread) });
        }
    }

    #[cold]
    fn add_clock(&mut self, reach: Reach) {
        let mut reached = Reached::new(vec![0; self.threads.len()]);
        reached.add(self, reach);
        let length = reached.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        let clock = self.snapshots.insert(&reached.counts[..length]);
        self.threads[reach.thread].clocks.push((reach.steps, clock));
    }

    pub(super) fn state_bytes(&self) -> usize {
        let of_thread = |own: &OfThread| {
            own.steps.capacity() * size_of::<Step>()
                + own.clocks.capacity() * size_of::<(u32, SnapshotId)>()
                + own.heard.capacity() * size_of::<(ThreadId, Time)>()
        };
        let posts: usize = self.posts.values().map(|posts| posts.capacity() * size_of::<Reach>()).sum();
        self.threads.table_bytes()
            + self.threads.iter().map(of_thread).sum::<usize>()
            + posts
            + self.snapshots.heap_bytes()
    }
}

/// A set of events that is closed under what they need: how many of each thread are inside.
#[derive(Clone, Default, Debug)]
pub(super) struct Reached {
    pub(super) counts: Vec<Time>,
    /// By thread, how many of its steps were followed.
    followed: Vec<u32>,
    posts: FxHashMap<SyncId, u32>,
    /// What was changed by the last addition: the values before it.
    changed: Vec<(ThreadId, Time, u32)>,
    changed_posts: Vec<(SyncId, u32)>,
    pending: Vec<Reach>,
}

impl Reached {
    /// A set that is closed already.
    pub(super) fn new(counts: Vec<Time>) -> Reached {
        Reached { followed: vec![0; counts.len()], counts, ..Reached::default() }
    }

    /// Adds what a thread did, and all that it needed.
    pub(super) fn add(&mut self, needs: &Needs, reach: Reach) {
        self.changed.clear();
        self.changed_posts.clear();
        self.pending.push(reach);
        while let Some(reach) = self.pending.pop() {
            self.follow(needs, reach);
        }
    }

    /// Takes the last addition back.
    pub(super) fn take_back(&mut self) {
        for (thread, count, followed) in self.changed.drain(..).rev() {
            self.counts[thread.index()] = count;
            self.followed[thread.index()] = followed;
        }
        for (object, followed) in self.changed_posts.drain(..).rev() {
            self.posts.insert(object, followed);
        }
    }

    fn follow(&mut self, needs: &Needs, reach: Reach) {
        let Reach { thread, count, steps } = reach;
        let (known, followed) = (self.counts[thread.index()], self.followed[thread.index()]);
        if count < known || (count == known && steps <= followed) {
            return; // I1
        }
        self.changed.push((thread, known, followed));
        self.counts[thread.index()] = count;
        if steps <= followed {
            return;
        }
        self.followed[thread.index()] = steps;
        let own = &needs.threads[thread];
        let clocks = own.clocks.partition_point(|(at, _)| *at <= steps);
        let clock = own.clocks[..clocks].last().filter(|(at, _)| *at > followed);
        if let Some(&(_, clock)) = clock {
            self.add_times(needs.snapshots.times(clock));
        }
        let start = clock.map_or(followed, |(at, _)| *at);
        for step in &own.steps[start as usize..steps as usize] {
            match *step {
                Step::Of(reach) => self.pending.push(reach),
                Step::Posts(object, count) => self.follow_posts(needs, object, count),
            }
        }
    }

    /// Adds a set that is closed.
    fn add_times(&mut self, times: &[Time]) {
        for (at, &time) in times.iter().enumerate() {
            if time > self.counts[at] {
                self.changed.push((ThreadId::from_index(at), self.counts[at], self.followed[at]));
                self.counts[at] = time;
            }
        }
    }

    fn follow_posts(&mut self, needs: &Needs, object: SyncId, count: u32) {
        let followed = self.posts.entry(object).or_default();
        if let Some(posts) = needs.posts.get(&object).filter(|_| *followed < count) {
            self.pending.extend(&posts[*followed as usize..count as usize]);
            self.changed_posts.push((object, *followed));
            *followed = count;
        }
    }
}
