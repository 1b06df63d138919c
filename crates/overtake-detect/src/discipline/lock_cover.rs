//! Conflicting accesses without a common lock.
//!
//! **Source.** The definition of `docs/semantics.md`; lock-cover races as in Dinning and Schonberg, *Detecting access
//! anomalies in programs with critical sections*, PADD 1991.
//! **Answer.** Exactly the accesses that conflict with an earlier access such that no lock is held at both, by one of the
//! two exclusively; each with one such earlier access. Nothing here looks at order: a suspicion, never a proof.
//! **State.** Per variable *samples*: accesses that stand for all others. An access stands for a later one if it conflicts
//! with whatever that conflicts with, holds no lock that the later one does not hold, and is of the same thread; two such
//! accesses of different threads stand for accesses of any thread. An access that has the later one as a partner also has
//! one of them. So a variable that is always accessed under its lock and sometimes under more has four samples: two reads
//! and two writes under that lock alone.
//! **Invariants.**
//!   I1  Samples are only added, so an access that was compared with a prefix of them is compared with the rest only.
//!   I2  While some lock protects all accesses of a variable, or one thread makes them all, or no two classes of them
//!       conflict, it has no pair; then nothing is compared.
//!   I3  The settled access of a class stands for every later access of that class that holds its locks: of any thread,
//!       or while there is one thread only, of that thread.
//! **Cost.** O(1) for an access that a settled one stands for. Otherwise one test per sample; where they are many, one per
//! distinct thread, class and set of locks, and the verdict is remembered. The square of their number is unavoidable in
//! general (a reduction from orthogonal vectors).

use overtake_trace::{IdVec, ThreadId, VarId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::by_locks::{ByLocks, LockJudge};
use super::open_cover::OpenCover;
use super::seen::Seen;
use crate::access::{Access, AccessKind, At, Class};
use crate::findings::Findings;
use crate::locks::{Held, HeldLocks, SetId};
use crate::passes::Analysis;
use crate::race::{Race, Verdict};
use crate::settings::{OptionError, Options};

/// Starts the detector.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(match options.unforked {
        true => Analysis::one_pass(ByLocks::<OpenCover>::default()),
        false => Analysis::one_pass(ByLocks::<LockCover>::default()),
    })
}

/// The detector.
#[derive(Default, Debug)]
pub(crate) struct LockCover {
    /// What every access looks at, apart from what most do not need.
    summaries: IdVec<VarId, Summary>,
    variables: IdVec<VarId, CoverState>,
    heap_bytes: usize,
}

/// What can be said of a variable without its samples.
#[derive(Debug)]
struct Summary {
    /// The locks that protected every access.
    candidates: SetId,
    /// The only thread so far, or [`NOBODY`], or [`MANY`].
    owner: ThreadId,
    /// The classes of samples.
    sampled: u8,
    /// What settled plain writes and plain reads hold, or [`UNSETTLED`]. I3.
    settled: [Held; 2],
    /// The locks of settled plain writes and plain reads that hold one lock and nothing else, as bits. I3.
    under_one_lock: [u64; 2],
}

#[derive(Default, Debug)]
struct CoverState {
    samples: SmallVec<[Sample; 2]>,
    /// What is known of accesses, once there are many samples.
    answers: Option<Box<FxHashMap<Key, Answer>>>,
}

const _: () = assert!(size_of::<Summary>() == 48);

/// Positions in pairs.
const WRITES: usize = 0;
const READS: usize = 1;

const NOBODY: ThreadId = ThreadId(u32::MAX);
const MANY: ThreadId = ThreadId(u32::MAX - 1);

/// Nobody ever holds this.
const UNSETTLED: Held = Held { all: SetId::EVERYTHING, exclusive: SetId::EVERYTHING };

/// More samples than this are not searched again for the same question.
const SEARCHED: usize = 64;

/// An access that stands for others.
#[derive(Clone, Copy, Debug)]
struct Sample {
    seen: Seen,
    held: Held,
    /// Of all locks held: rules most comparisons out without a look at the sets.
    signature: u64,
}

/// What accesses have in common that get the same answer.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    held: Held,
    thread: ThreadId,
    class: Class,
}

/// An access that may be a sample or have a partner.
struct Doubtful {
    var: VarId,
    key: Key,
    at: At,
    kind: AccessKind,
    is_settled: bool,
    may_have_pair: bool,
}

/// A partner, if one was found, and how many samples were looked at.
#[derive(Clone, Copy, Default, Debug)]
struct Answer {
    partner: Option<u32>,
    looked_at: u32,
}

impl Default for Summary {
    fn default() -> Self {
        Summary {
            candidates: SetId::EVERYTHING,
            owner: NOBODY,
            sampled: 0,
            settled: [UNSETTLED; 2],
            under_one_lock: [0; 2],
        }
    }
}

impl Summary {
    /// Notes who accesses the variable.
    #[inline]
    fn enter(&mut self, thread: ThreadId) {
        if self.owner != thread && self.owner != MANY {
            if self.owner == NOBODY {
                self.owner = thread;
            } else {
                (self.owner, self.settled, self.under_one_lock) = (MANY, [UNSETTLED; 2], [0; 2]); // I3
            }
        }
    }

    /// Whether a settled access stands for this one.
    #[inline]
    fn is_settled(&self, held: &mut HeldLocks, key: Key) -> bool {
        if !matches!(key.class, Class::PlainWrite | Class::PlainRead) {
            return false;
        }
        let reads = key.class == Class::PlainRead;
        let of_either = self.under_one_lock[READS] & u64::from(reads).wrapping_neg();
        if held.sets.exact_signature(key.held.exclusive) & (self.under_one_lock[WRITES] | of_either) != 0 {
            return true;
        }
        let stands = |held: &mut HeldLocks, settled: Held| {
            settled != UNSETTLED && held.sets.holds_all_of(key.held, settled)
        };
        stands(held, self.settled[WRITES]) || (reads && stands(held, self.settled[READS]))
    }

    /// Makes an access settled. Of those that hold several locks, or none, the one that stands for most is kept.
    fn settle(&mut self, held: &mut HeldLocks, class: Class, new: Held) {
        let at = match class {
            Class::PlainWrite => WRITES,
            Class::PlainRead => READS,
            Class::AtomicWrite | Class::AtomicLoad => return,
        };
        let bits = held.sets.exact_signature(new.exclusive);
        if new.all == new.exclusive && bits.is_power_of_two() {
            self.under_one_lock[at] |= bits;
        }
        let settled = &mut self.settled[at];
        if *settled == UNSETTLED || held.sets.holds_all_of(*settled, new) {
            *settled = new;
        }
    }
}

impl CoverState {
    /// Adds an access as a sample unless samples stand for it.
    fn add(&mut self, summary: &mut Summary, held: &mut HeldLocks, key: Key, new: Access) {
        if !self.is_represented(summary, held, key) {
            summary.sampled |= key.class.bit();
            if summary.owner != MANY {
                summary.settle(held, key.class, key.held); // I3
            }
            let signature = held.sets.signature(key.held.all);
            self.samples.push(Sample { seen: Seen::new(new), held: key.held, signature });
        }
    }

    /// Whether samples stand for an access; if one of them may be settled, it is.
    fn is_represented(&self, summary: &mut Summary, held: &mut HeldLocks, key: Key) -> bool {
        let mut other: Option<Sample> = None;
        let missing = !held.sets.signature(key.held.all);
        for sample in self.samples.iter().filter(|sample| sample.signature & missing == 0) {
            let class = sample.seen.class();
            if !class.supersedes(key.class) || !held.sets.holds_all_of(key.held, sample.held) {
                continue;
            }
            let same_thread = sample.seen.thread == key.thread;
            let of_two_threads = other.filter(|other| other.seen.thread != sample.seen.thread);
            if same_thread && summary.owner != MANY {
                summary.settle(held, class, sample.held);
            }
            if let Some(other) = of_two_threads
                && other.seen.class() == class
                && other.held == sample.held
            {
                summary.settle(held, class, sample.held);
            }
            if same_thread || of_two_threads.is_some() {
                return true;
            }
            other = Some(*sample);
        }
        false
    }

    /// An earlier access of another thread that has no lock in common with an access of this kind.
    fn partner(&mut self, held: &mut HeldLocks, key: Key) -> Option<Access> {
        let mut alone = Answer::default();
        let answer = match &mut self.answers {
            Some(answers) => answers.entry(key).or_default(),
            None => &mut alone,
        };
        if answer.partner.is_none() {
            let rest = self.samples.iter().enumerate().skip(answer.looked_at as usize); // I1
            let found = rest
                .filter(|(_, sample)| {
                    sample.seen.thread != key.thread && sample.seen.class().conflicts(key.class)
                })
                .find(|(_, sample)| !held.sets.have_common_lock(key.held, sample.held));
            answer.partner = found.map(|(number, _)| number as u32);
            answer.looked_at = self.samples.len() as u32;
        }
        answer.partner.and_then(|number| self.samples[number as usize].seen.access())
    }

    /// Whether accesses of this kind were seen since there are many samples.
    fn is_answered(&self, key: Key) -> bool {
        self.answers.as_ref().is_some_and(|answers| answers.contains_key(&key))
    }

    /// Notes an access of a kind that the variable is to remember, if it remembers any.
    fn remember(&mut self, key: Key) {
        if self.samples.len() > SEARCHED {
            self.answers.get_or_insert_default().entry(key).or_default();
        }
    }

    fn heap_bytes(&self) -> usize {
        let samples = if self.samples.spilled() { self.samples.capacity() * size_of::<Sample>() } else { 0 };
        let entry = size_of::<(Key, Answer)>() + 1;
        samples + self.answers.as_ref().map_or(0, |answers| answers.capacity() * entry)
    }
}

impl LockJudge for LockCover {
    fn grow_to(&mut self, _threads: usize, variables: usize) {
        self.summaries.grow_to(variables);
        self.variables.grow_to(variables);
    }

    #[inline]
    fn access(&mut self, locks: &mut HeldLocks, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        let held = locks.of(at.thread);
        let summary = &mut self.summaries[var];
        let protecting = held.protecting(kind.writes());
        summary.candidates = locks.sets.intersect(summary.candidates, protecting);
        summary.enter(at.thread);
        let key = Key { held, thread: at.thread, class: Class::of(kind) };
        let is_settled = summary.is_settled(locks, key);
        let may_have_pair = summary.candidates == SetId::EMPTY
            && summary.owner == MANY
            && key.class.conflicting() & summary.sampled != 0; // I2
        if !is_settled || may_have_pair {
            self.look_closer(locks, Doubtful { var, key, at, kind, is_settled, may_have_pair }, races);
        }
    }

    fn used_sets(&mut self, mut used: impl FnMut(SetId)) {
        // Answers are by sets too, and are found again when asked for.
        for variable in self.variables.iter_mut().filter(|variable| variable.answers.is_some()) {
            self.heap_bytes -= variable.heap_bytes();
            variable.answers = None;
            self.heap_bytes += variable.heap_bytes();
        }
        for sample in self.variables.iter().flat_map(|variable| &variable.samples) {
            used(sample.held.all);
            used(sample.held.exclusive);
        }
        self.summaries.iter().for_each(|summary| used(summary.candidates));
    }

    fn state_bytes(&self) -> usize {
        self.summaries.table_bytes() + self.variables.table_bytes() + self.heap_bytes
    }
}

impl LockCover {
    #[inline(never)]
    fn look_closer(&mut self, locks: &mut HeldLocks, access: Doubtful, races: &mut Findings) {
        let Doubtful { var, key, at, kind, is_settled, may_have_pair } = access;
        let new = Access { at, kind };
        let variable = &mut self.variables[var];
        let before = variable.heap_bytes();
        if !is_settled && !variable.is_answered(key) {
            variable.add(&mut self.summaries[var], locks, key, new);
            variable.remember(key);
        }
        if may_have_pair && let Some(first) = variable.partner(locks, key) {
            races.report(Race { var, verdict: Verdict::Suspected, first, second: new });
        }
        self.heap_bytes = self.heap_bytes + variable.heap_bytes() - before;
    }
}
