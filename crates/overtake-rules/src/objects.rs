//! Semaphores, barriers, condition variables and file descriptors as posts and waits.
//!
//! Happens-before knows one kind of object: a wait comes after every earlier post of the same object. This module turns the objects of
//! programs into such objects. Where the program's object pairs each wait with certain posts only, it becomes several objects, so that
//! no more is ordered than the program may rely on:
//!
//! | operation | becomes |
//! | --- | --- |
//! | semaphore: a token is added | a post of a new object |
//! | semaphore: a token is taken | a wait for the oldest object whose token is still there; nothing for a token that was there from the start |
//! | barrier: a thread arrives | a post of the object of the round |
//! | barrier: a thread leaves | a wait for the object of the round in which it arrived |
//! | condition variable: a signal, a broadcast | a post of an object that no other thread posts; nothing if it is certain that nobody waits |
//! | condition variable: a waiter wakes | a wait for the object of the latest signal |
//! | descriptor: a write, a send | a post of the object of its channel |
//! | descriptor: a read, a receive | a wait for the object of its channel |
//!
//! The user of this module makes the objects and keeps their names and ids. Here an object is an `O`, or a number from which the user
//! makes one.

use crate::store::{Map, Queue};

/// The tokens of a semaphore.
///
/// Waiters take the tokens that were there from the start first, then the posted ones in the order of their posts. A real semaphore
/// does not say which token a waiter got. Another choice would order other pairs of threads; this one follows the order in which
/// the posts let waiters through.
#[derive(Clone, Default, Debug)]
pub struct Semaphore<Q> {
    /// Tokens that nobody posted.
    tokens: u64,
    /// Objects of the tokens that were posted and are still there.
    posts: Q,
}

impl<O, Q: Queue<Item = O>> Semaphore<Q> {
    /// The semaphore starts with tokens that nobody posted.
    pub fn init(&mut self, tokens: u64) {
        self.tokens = tokens;
        self.posts.clear();
    }

    /// A named semaphore is opened and has this many tokens. If the known posts and waits give another number, it is another
    /// semaphore, or another process has posted to it: then it is not known who posted its tokens.
    pub fn open(&mut self, tokens: u64) {
        if self.tokens.saturating_add(self.posts.count() as u64) != tokens {
            self.init(tokens);
        }
    }

    /// A token is added by a post of `object`.
    pub fn post(&mut self, object: O) {
        self.posts.push(object);
    }

    /// A token is taken. Returns the object to wait for, if somebody posted the token.
    pub fn wait(&mut self) -> Option<O> {
        if self.tokens > 0 {
            self.tokens -= 1;
            return None;
        }
        self.posts.pop()
    }
}

/// The rounds of a barrier.
#[derive(Clone, Default, Debug)]
pub struct Barrier<M> {
    /// Threads per round; 0 if the start of the barrier is not known.
    width: u64,
    arrivals: u64,
    /// The round of each thread that has arrived and not left.
    rounds: M,
}

impl<M: Map> Barrier<M> {
    /// The barrier lets `width` threads through at a time.
    pub fn init(&mut self, width: u64)
    where
        M: Default,
    {
        *self = Barrier { width, arrivals: 0, rounds: M::default() };
    }

    /// A thread arrives. Returns the number of its round, whose object it posts. Rounds count from 1.
    pub fn arrive(&mut self, thread: M::Key) -> u64 {
        // If the start of a barrier is not known, only this is sure: a thread leaves after all earlier arrivals.
        let round = self.arrivals.checked_div(self.width).unwrap_or(0) + 1;
        self.arrivals += 1;
        self.rounds.set(thread, round);
        round
    }

    /// A thread leaves. Returns the number of the round in which it arrived, whose object it waits for; None if it did not arrive. If
    /// the start of the barrier is not known, the arrival may be missing, and the thread comes after all known arrivals.
    pub fn leave(&mut self, thread: M::Key) -> Option<u64> {
        let lost = (self.width == 0).then_some(1);
        self.rounds.take(thread).or(lost)
    }
}

/// A condition variable.
///
/// A waiter comes after the latest signal. In truth an earlier signal may have woken it, or none: this can hide a race with what
/// the latest signaller did, never invent one.
#[derive(Clone, Copy, Debug)]
pub struct Condition<O> {
    signal: Option<O>,
}

impl<O> Default for Condition<O> {
    fn default() -> Self {
        Condition { signal: None }
    }
}

impl<O: Copy> Condition<O> {
    /// A signal or broadcast posts `object`.
    pub fn signal(&mut self, object: O) {
        self.signal = Some(object);
    }

    /// A waiter wakes. Returns the object that it waits for, if there was a signal.
    pub fn wake(&self) -> Option<O> {
        self.signal
    }
}

/// Which channel each file descriptor belongs to. Both ends of a pipe are one channel, and so are copies of a descriptor.
#[derive(Clone, Default, Debug)]
pub struct Descriptors<M> {
    channels: M,
    /// How many channels there were; they count from 1.
    count: u64,
    /// The channel of all descriptors about which nothing is known.
    unknown: Option<u64>,
}

impl<M: Map> Descriptors<M> {
    /// Operations before this point are missing. Any two descriptors may be ends of the same pipe, so that all share one channel.
    pub fn lose_track(&mut self)
    where
        M: Default,
    {
        self.count += 1;
        (self.channels, self.unknown) = (M::default(), Some(self.count));
    }

    /// The number of the channel whose object is posted and waited for.
    pub fn channel(&mut self, descriptor: M::Key) -> u64 {
        self.channels.number(descriptor).unwrap_or_else(|| {
            let channel = self.unknown.unwrap_or(self.count + 1);
            self.count = self.count.max(channel);
            self.channels.set(descriptor, channel);
            channel
        })
    }

    /// `descriptor` belongs to the channel of `other` from now on.
    pub fn alias(&mut self, descriptor: M::Key, other: M::Key) {
        let channel = self.channel(other);
        self.channels.set(descriptor, channel);
    }

    /// All descriptors of the channel of `from` belong to the channel of `to` from now on. Returns the old channel of `from`, so that
    /// the thread can wait for it and post the new one; None if both had one channel before. This orders too much rather than too
    /// little: in truth, what is written to `to` cannot be read from `from`.
    pub fn merge(&mut self, from: M::Key, to: M::Key) -> Option<u64> {
        let (old, new) = (self.channel(from), self.channel(to));
        if old == new {
            return None;
        }
        self.channels.renumber(old, new);
        Some(old)
    }

    /// A descriptor is closed.
    pub fn forget(&mut self, descriptor: M::Key) {
        self.channels.take(descriptor);
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use alloc::collections::{BTreeMap, VecDeque};

    use super::*;

    #[test]
    fn tokens_are_taken_in_the_order_in_which_they_came() {
        let mut semaphore = Semaphore::<VecDeque<char>>::default();
        semaphore.init(1);
        semaphore.post('a');
        semaphore.post('b');
        assert_eq!([(); 4].map(|()| semaphore.wait()), [None, Some('a'), Some('b'), None]);
    }

    #[test]
    fn a_semaphore_with_other_tokens_than_expected_is_another_one() {
        let mut semaphore = Semaphore::<VecDeque<char>>::default();
        semaphore.post('a');
        semaphore.open(1);
        assert_eq!(semaphore.wait(), Some('a'));
        semaphore.post('b');
        semaphore.open(2);
        assert_eq!([(); 3].map(|()| semaphore.wait()), [None; 3]);
    }

    #[test]
    fn a_thread_leaves_the_round_in_which_it_arrived() {
        let mut barrier = Barrier::<BTreeMap<u32, u64>>::default();
        barrier.init(2);
        assert_eq!([1, 2, 1].map(|thread| barrier.arrive(thread)), [1, 1, 2]);
        assert_eq!([2, 1, 1].map(|thread| barrier.leave(thread)), [Some(1), Some(2), None]);
    }

    #[test]
    fn a_barrier_whose_start_is_unknown_has_one_round() {
        let mut barrier = Barrier::<BTreeMap<u32, u64>>::default();
        assert_eq!([1, 2, 3].map(|thread| barrier.arrive(thread)), [1, 1, 1]);
        assert_eq!([1, 4].map(|thread| barrier.leave(thread)), [Some(1); 2]);
    }

    #[test]
    fn a_waiter_comes_after_the_latest_signal() {
        let mut condition = Condition::default();
        assert_eq!(condition.wake(), None);
        condition.signal('a');
        condition.signal('b');
        assert_eq!([condition.wake(), condition.wake()], [Some('b'); 2]);
    }

    #[test]
    fn copies_of_a_descriptor_share_its_channel_and_merged_ones_become_one() {
        let mut descriptors = Descriptors::<BTreeMap<u64, u64>>::default();
        assert_eq!([3, 4].map(|descriptor| descriptors.channel(descriptor)), [1, 2]);
        descriptors.alias(5, 3);
        assert_eq!(descriptors.merge(3, 4), Some(1));
        assert_eq!(descriptors.merge(3, 4), None);
        assert_eq!([3, 4, 5].map(|descriptor| descriptors.channel(descriptor)), [2; 3]);
        descriptors.forget(5);
        assert_eq!(descriptors.channel(5), 3);
        descriptors.lose_track();
        assert_eq!([3, 5, 9].map(|descriptor| descriptors.channel(descriptor)), [4; 3]);
    }
}
