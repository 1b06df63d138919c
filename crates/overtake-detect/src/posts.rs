//! What the posts of an object hand to those who wait for it.
//!
//! The last post of each thread is kept as a stamp, which shares its clock with others. If several threads post, as at a barrier, the clocks are joined into
//! one instead: with ten thousand threads at a barrier, each of them would otherwise join ten thousand clocks when it goes on.

use overtake_clock::{Snapshots, Stamp, ThreadClock, VectorClock};

/// So many stamps are kept. Few, so that random tests have more posts than that.
const MOST_STAMPS: usize = 2;

/// The posts of one object.
#[derive(Default, Debug)]
pub(crate) struct Posts {
    /// The last post of each thread.
    stamps: Vec<Stamp>,
    /// The join of all posts, in place of the stamps.
    joined: Option<Box<VectorClock>>,
}

impl Posts {
    /// Adds a post, and takes over the caller's reference.
    pub(crate) fn add(&mut self, stamp: Stamp, snapshots: &mut Snapshots) {
        if let Some(joined) = &mut self.joined {
            snapshots.join_into(joined, stamp);
            return snapshots.release(stamp.snapshot);
        }
        match self.stamps.iter_mut().find(|post| post.epoch.thread == stamp.epoch.thread) {
            Some(post) => snapshots.release(std::mem::replace(post, stamp).snapshot),
            None => self.stamps.push(stamp),
        }
        if self.stamps.len() > MOST_STAMPS {
            let mut joined = VectorClock::default();
            for stamp in std::mem::take(&mut self.stamps) {
                snapshots.join_into(&mut joined, stamp);
                snapshots.release(stamp.snapshot);
            }
            self.joined = Some(Box::new(joined));
        }
    }

    /// A thread has waited for the object.
    pub(crate) fn hand_to(&self, thread: &mut ThreadClock, snapshots: &Snapshots) {
        for &stamp in &self.stamps {
            thread.join(snapshots, stamp);
        }
        if let Some(joined) = &self.joined {
            thread.join_times(joined.times());
        }
    }

    /// Bytes on the heap, without shared clocks.
    pub(crate) fn heap_bytes(&self) -> usize {
        let joined = self.joined.as_ref().map_or(0, |joined| size_of::<VectorClock>() + joined.heap_bytes());
        self.stamps.capacity() * size_of::<Stamp>() + joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_of_many_threads_keeps_one_clock() {
        const THREADS: u32 = 500;
        let mut snapshots = Snapshots::new();
        let mut threads: Vec<_> = (0..THREADS).map(ThreadClock::new).collect();
        let mut posts = Posts::default();
        let first = threads[0].publish(&mut snapshots);
        for thread in &mut threads[1..] {
            thread.join(&snapshots, first);
            posts.add(thread.publish(&mut snapshots), &mut snapshots);
        }
        threads.iter_mut().for_each(|thread| thread.forget(&mut snapshots));
        snapshots.release(first.snapshot);
        assert_eq!(snapshots.live(), 0, "no post keeps a clock of its own");
        assert!(posts.heap_bytes() < 16 * THREADS as usize, "{}", posts.heap_bytes());
        let mut waiting = ThreadClock::new(THREADS);
        posts.hand_to(&mut waiting, &snapshots);
        assert!((0..THREADS).all(|thread| waiting.get(thread) == 1), "it knows them all");
    }
}
