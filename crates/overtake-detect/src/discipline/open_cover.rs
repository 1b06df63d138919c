//! Conflicting accesses without a common lock that fork and join leave open.
//!
//! **Source.** `docs/semantics.md`. Of the pairs that `lock_cover` reports, many are accesses of the main thread before a thread starts or after
//! it was joined: no schedule brings them together. Here these pairs are left out, so that what remains is worth a try.
//! **Answer.** Exactly the accesses that conflict with an earlier access such that no lock is held at both, by one of the two exclusively, and
//! the earlier one is not ordered before by thread order, fork and join alone; each with one such earlier access. Nothing else counts
//! as order: a suspicion, never a proof.
//! **State.** Per thread a clock that counts *segments*: a thread ends its segment when it forks and when it is joined. Per variable samples: an
//! access stands for later ones of its segment that hold its locks and conflict with nothing that it does not conflict with.
//! **Approximation.** A variable keeps [`MOST_SAMPLES`] samples, the newest ones. Pairs with older accesses are lost.
//! **Cost.** One test per sample of the variable; O(threads) for fork and join.

use overtake_clock::{Epoch, Time, VectorClock};
use overtake_trace::{IdVec, ThreadId, VarId};
use smallvec::SmallVec;

use super::by_locks::LockJudge;
use super::seen::Seen;
use crate::access::{Access, AccessKind, At, Class};
use crate::findings::Findings;
use crate::locks::{Held, HeldLocks, SetId};
use crate::race::{Race, Verdict};

/// More samples of a variable are not kept.
const MOST_SAMPLES: usize = 64;

/// The judge.
#[derive(Default, Debug)]
pub(crate) struct OpenCover {
    /// What each thread knows to be over: how many segments of each thread. Its own component counts its own segments that are over.
    known: IdVec<ThreadId, VectorClock>,
    samples: IdVec<VarId, SmallVec<[Sample; 1]>>,
    heap_bytes: usize,
}

/// An access that stands for others.
#[derive(Clone, Copy, Debug)]
struct Sample {
    seen: Seen,
    held: Held,
    segment: Time,
}

impl Sample {
    fn epoch(&self) -> Epoch {
        Epoch { thread: self.seen.thread.0, time: self.segment }
    }
}

impl OpenCover {
    /// The segment that a thread is in, from 1.
    fn segment(&self, thread: ThreadId) -> Time {
        self.known[thread].get(thread.0).saturating_add(1)
    }

    /// Ends the segment of a thread: another thread now knows all that it knows, and that this segment is over.
    fn hand_on(&mut self, from: ThreadId, to: ThreadId) {
        let ended = Epoch { thread: from.0, time: self.segment(from) };
        self.known[from].raise(ended);
        let known = self.known[from].clone();
        self.known[to].join(known.times());
    }
}

impl LockJudge for OpenCover {
    fn grow_to(&mut self, threads: usize, variables: usize) {
        self.known.grow_to(threads);
        self.samples.grow_to(variables);
    }

    fn access(&mut self, locks: &mut HeldLocks, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        let (held, class, segment) = (locks.of(at.thread), Class::of(kind), self.segment(at.thread));
        let known = &self.known[at.thread];
        let samples = &mut self.samples[var];
        let mut is_represented = false;
        let mut partner = None;
        for sample in samples.iter() {
            let its_class = sample.seen.class();
            if sample.seen.thread == at.thread {
                is_represented |= sample.segment == segment
                    && its_class.supersedes(class)
                    && locks.sets.holds_all_of(held, sample.held);
            } else if partner.is_none()
                && its_class.conflicts(class)
                && !known.covers(sample.epoch())
                && !locks.sets.have_common_lock(held, sample.held)
            {
                partner = sample.seen.access();
            }
        }
        let second = Access { at, kind };
        if !is_represented {
            if samples.len() == MOST_SAMPLES {
                samples.remove(0);
            }
            let before = samples.capacity();
            samples.push(Sample { seen: Seen::new(second), held, segment });
            self.heap_bytes += (samples.capacity() - before) * size_of::<Sample>();
        }
        if let Some(first) = partner {
            races.report(Race { var, verdict: Verdict::Suspected, first, second });
        }
    }

    fn fork(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_on(thread, child);
    }

    fn join(&mut self, thread: ThreadId, child: ThreadId) {
        self.hand_on(child, thread);
    }

    fn used_sets(&mut self, mut used: impl FnMut(SetId)) {
        for sample in self.samples.iter().flatten() {
            used(sample.held.all);
            used(sample.held.exclusive);
        }
    }

    fn state_bytes(&self) -> usize {
        let clocks: usize = self.known.iter().map(VectorClock::heap_bytes).sum();
        self.known.table_bytes() + clocks + self.samples.table_bytes() + self.heap_bytes
    }
}
