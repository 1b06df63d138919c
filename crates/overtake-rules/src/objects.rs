//! Semaphores, barriers, condition variables and file descriptors as posts and waits.
//!
//! Happens-before knows one kind of object: a wait comes after every earlier post of the same object. What programs use becomes such
//! objects here. Where the real object says which operation let which other one through, it becomes several objects, so that no
//! more is ordered than the program may rely on:
//!
//! | operation | becomes |
//! | --- | --- |
//! | semaphore: a token is added | a post of a new object |
//! | semaphore: a token is taken | a wait for the oldest object whose token is still there; nothing for a token that was there from the start |
//! | barrier: a thread arrives | a post of the object of the round |
//! | barrier: a thread leaves | a wait for the object of the round in which it arrived |
//! | condition variable: a signal, a broadcast | a post of a new object |
//! | condition variable: a waiter wakes | a wait for the object of the latest signal |
//! | descriptor: a write, a send | a post of the object of its channel |
//! | descriptor: a read, a receive | a wait for the object of its channel |
//!
//! A store makes the objects: names, ids and tables are its own. Here they are `O`, or numbers from which it makes them.

use crate::store::{Map, Queue};

/// The tokens of a semaphore.
///
/// Tokens that were posted are taken in the order in which they came, after those that were there from the start. A real
/// semaphore does not say which token a waiter got; any other choice would order other threads, and this one is the order in which
/// posts made progress possible.
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

    /// A named semaphore is opened and has so many tokens. If they are not those that were seen coming, it is another semaphore, or
    /// another process has posted to it: then nobody is known to have posted what is there.
    pub fn open(&mut self, tokens: u64) {
        if self.tokens.saturating_add(self.posts.count() as u64) != tokens {
            self.init(tokens);
        }
    }

    /// A token is added by a post of `object`.
    pub fn post(&mut self, object: O) {
        self.posts.push(object);
    }

    /// A token is taken: the object to wait for, if somebody posted the token.
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

    /// A thread arrives: the number of its round, whose object it posts. Rounds count from 1.
    pub fn arrive(&mut self, thread: M::Key) -> u64 {
        // Of a barrier whose start is not known only this is sure: who leaves comes after all who arrived.
        let round = self.arrivals.checked_div(self.width).unwrap_or(0) + 1;
        self.arrivals += 1;
        self.rounds.set(thread, round);
        round
    }

    /// A thread leaves: the number of the round in which it arrived, whose object it waits for. None if it did not arrive. If the
    /// start of the barrier is not known, the arrival may be what is missing, and the thread comes after all who arrived.
    pub fn leave(&mut self, thread: M::Key) -> Option<u64> {
        let lost = (self.width == 0).then_some(1);
        self.rounds.take(thread).or(lost)
    }
}

/// A condition variable.
///
/// A waiter comes after the latest signal. It may have been an earlier one that woke it, or none: this can hide a race with what
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

    /// A waiter wakes: the object that it waits for, if there was a signal.
    pub fn wake(&self) -> Option<O> {
        self.signal
    }
}

/// Which channel each file descriptor stands for. Both ends of a pipe are one channel, and so are copies of a descriptor.
#[derive(Clone, Default, Debug)]
pub struct Descriptors<M> {
    channels: M,
    /// How many channels there were; they count from 1.
    count: u64,
    /// The channel of all descriptors that nothing is known of.
    unknown: Option<u64>,
}

impl<M: Map> Descriptors<M> {
    /// Operations are missing up to here. Which descriptors are two ends of one thing is not known: any may be.
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

    /// `descriptor` means the same as `other` from now on.
    pub fn alias(&mut self, descriptor: M::Key, other: M::Key) {
        let channel = self.channel(other);
        self.channels.set(descriptor, channel);
    }

    /// Whatever means the same as `from` means the same as `to` from now on. Returns the channel that `from` was until then, so that
    /// the thread can wait for it and pass it on; none if they were the same before. Orders too much rather than too little:
    /// what `to` carries does not come back out of `from`.
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
