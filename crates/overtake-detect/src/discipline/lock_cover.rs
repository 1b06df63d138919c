//! Conflicting accesses without a common lock.
//!
//! **Source.** The definition of `docs/semantics.md`; lock-cover races as in Dinning and Schonberg, *Detecting access
//! anomalies in programs with critical sections*, PADD 1991.
//! **Answer.** Exactly the accesses that conflict with an earlier access such that no lock is held at both, by one of the
//! two exclusively; each with one such earlier access. Nothing here looks at order: a suspicion, never a proof.
//! **State.** Per variable the *combinations* of class and held locks that occurred, each with the first access of two
//! different threads: whoever asks for a partner of another thread finds it among two. Per combination what was found so
//! far when an access of that combination looked for partners.
//! **Invariants.**
//!   I1  Combinations are only added, so of the list a combination has seen a prefix, and looks at the rest only.
//!   I2  While some lock protects all accesses of a variable, it has no pair; then nothing is compared.
//! **Cost.** Per variable O(c²) comparisons of interned sets for c combinations, O(1) for an access that repeats one; the
//! square is unavoidable in general (a reduction from orthogonal vectors).

use overtake_trace::{EventIndex, IdVec, LocationId, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;
use smallvec::SmallVec;

use super::held::{Held, HeldLocks, SetId};
use crate::access::{Access, AccessKind, At, Class};
use crate::detector::{Detector, LockMode};
use crate::race::{Race, RaceLog, Verdict};
use crate::registry::{Analysis, OnePass, OptionError, Options};

/// Starts the detector.
pub(crate) fn start(_options: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(Box::new(OnePass::new(LockCover::default())))
}

/// The detector.
#[derive(Default, Debug)]
pub(crate) struct LockCover {
    held: HeldLocks,
    variables: IdVec<VarId, Variable>,
    heap_bytes: usize,
}

#[derive(Debug)]
struct Variable {
    /// The locks that protected every access.
    candidates: SetId,
    accesses: Accesses,
}

#[derive(Debug)]
enum Accesses {
    /// One thread alone, plainly and with the same locks held: what most variables of most programs see.
    Private(Private),
    /// Anything else. An access whose locks are settled for its class brings nothing new, whoever makes it.
    Any { settled: [Held; Class::COUNT], combinations: Box<Combinations> },
}

/// No set of locks that is ever held.
const UNSETTLED: Held = Held { all: SetId::EVERYTHING, exclusive: SetId::EVERYTHING };

/// Plain accesses of one thread under one set of locks: the first read and the first write.
#[derive(Clone, Copy, Debug)]
struct Private {
    thread: ThreadId,
    held: Held,
    read: Stamp,
    write: Stamp,
}

/// Where the first access of a kind was.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Stamp {
    index: EventIndex,
    location: LocationId,
}

impl Stamp {
    const NEVER: Stamp = Stamp { index: EventIndex(u64::MAX), location: LocationId::UNKNOWN };
}

const NOBODY: ThreadId = ThreadId(u32::MAX);

impl Default for Variable {
    fn default() -> Self {
        let private =
            Private { thread: NOBODY, held: Held::default(), read: Stamp::NEVER, write: Stamp::NEVER };
        Variable { candidates: SetId::EVERYTHING, accesses: Accesses::Private(private) }
    }
}

impl Private {
    /// Takes an access if it fits.
    #[inline]
    fn take(&mut self, held: Held, new: Access) -> bool {
        if self.thread == NOBODY {
            (self.thread, self.held) = (new.at.thread, held);
        }
        let first = match new.kind {
            AccessKind::Read => &mut self.read,
            AccessKind::Write => &mut self.write,
            _ => return false,
        };
        let fits = self.thread == new.at.thread && self.held == held;
        if fits && *first == Stamp::NEVER {
            *first = Stamp { index: new.at.index, location: new.at.location };
        }
        fits
    }

    /// The accesses taken so far, in trace order.
    fn accesses(&self) -> impl Iterator<Item = Access> {
        let mut taken = [(self.read, AccessKind::Read), (self.write, AccessKind::Write)];
        taken.sort_by_key(|(stamp, _)| stamp.index);
        let thread = self.thread;
        taken.into_iter().filter(|&(stamp, _)| stamp != Stamp::NEVER).map(move |(stamp, kind)| Access {
            at: At { index: stamp.index, thread, location: stamp.location },
            kind,
        })
    }
}

/// The combinations of a variable.
#[derive(Default, Debug)]
struct Combinations {
    /// The combination of the last access.
    latest: u32,
    /// Where a combination is, once there are many.
    index: Option<Box<FxHashMap<Key, u32>>>,
    list: SmallVec<[Combination; 2]>,
    /// The first accesses of combinations, in trace order.
    samples: SmallVec<[Sample; 4]>,
}

/// What accesses have in common that make the same demands on partners.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Key {
    held: Held,
    class: Class,
}

/// A key that occurred, and what is known of its partners.
#[derive(Clone, Copy, Debug)]
struct Combination {
    key: Key,
    /// The thread of its first sample, and whether there is a second one.
    thread: ThreadId,
    has_second: bool,
    /// How many samples it has been compared with.
    seen: u32,
    /// Samples without a common lock, of two different threads, or [`NONE`].
    partners: [u32; 2],
}

const NONE: u32 = u32::MAX;

/// A combination is searched among this many one by one.
const SEARCHED: usize = 12;

#[derive(Clone, Copy, Debug)]
struct Sample {
    access: Access,
    held: Held,
}

impl Combinations {
    fn from_private(private: &Private) -> Box<Combinations> {
        let mut combinations = Box::<Combinations>::default();
        for access in private.accesses() {
            combinations.add(Key { held: private.held, class: Class::of(access.kind) }, access);
        }
        combinations
    }

    fn latest(&self) -> &Combination {
        &self.list[self.latest as usize]
    }

    /// Makes the combination of an access the latest one, if that needs nothing new.
    #[inline]
    fn select(&mut self, key: Key, thread: ThreadId) -> bool {
        let fits = |combination: &Combination| {
            combination.key == key && (combination.has_second || combination.thread == thread)
        };
        if self.list.get(self.latest as usize).is_some_and(fits) {
            return true;
        }
        let position = self.find(key).filter(|&position| fits(&self.list[position]));
        position.inspect(|&position| self.latest = position as u32).is_some()
    }

    /// Makes the combination of an access the latest one; adds it if it is new, and a sample of a second thread.
    #[cold]
    fn add(&mut self, key: Key, new: Access) {
        let thread = new.at.thread;
        let position = self.find(key).unwrap_or_else(|| {
            self.samples.push(Sample { access: new, held: key.held });
            self.add_combination(key, thread)
        });
        self.latest = position as u32;
        let combination = &mut self.list[position];
        if !combination.has_second && combination.thread != thread {
            combination.has_second = true;
            self.samples.push(Sample { access: new, held: key.held });
        }
    }

    #[inline]
    fn find(&self, key: Key) -> Option<usize> {
        match &self.index {
            Some(index) => index.get(&key).map(|&position| position as usize),
            None => self.list.iter().position(|combination| combination.key == key),
        }
    }

    fn add_combination(&mut self, key: Key, thread: ThreadId) -> usize {
        let combination = Combination { key, thread, has_second: false, seen: 0, partners: [NONE; 2] };
        self.list.push(combination);
        if let Some(index) = &mut self.index {
            index.insert(key, self.list.len() as u32 - 1);
        } else if self.list.len() > SEARCHED {
            let keys = self.list.iter().map(|combination| combination.key);
            self.index = Some(Box::new(keys.zip(0..).collect()));
        }
        self.list.len() - 1
    }

    /// An earlier access of another thread than `thread` that has no lock in common with the latest combination. I1.
    fn partner(&mut self, held: &mut HeldLocks, thread: ThreadId) -> Option<Access> {
        let combination = &mut self.list[self.latest as usize];
        let unseen = combination.seen as usize;
        combination.seen = self.samples.len() as u32;
        if combination.partners[1] == NONE {
            for (number, sample) in self.samples.iter().enumerate().skip(unseen) {
                if !combination.key.conflicts(sample)
                    || held.have_common_lock(combination.key.held, sample.held)
                {
                    continue;
                }
                match combination.partners[0] {
                    NONE => combination.partners[0] = number as u32,
                    first if self.samples[first as usize].access.at.thread == sample.access.at.thread => {}
                    _ => {
                        combination.partners[1] = number as u32;
                        break;
                    }
                }
            }
        }
        let partners = combination.partners.iter().filter(|&&number| number != NONE);
        let mut accesses = partners.map(|&number| self.samples[number as usize].access);
        accesses.find(|access| access.at.thread != thread)
    }

    fn bytes(&self) -> usize {
        let list = if self.list.spilled() { self.list.capacity() * size_of::<Combination>() } else { 0 };
        let samples = if self.samples.spilled() { self.samples.capacity() * size_of::<Sample>() } else { 0 };
        let index = self.index.as_ref().map_or(0, |index| index.capacity() * (size_of::<(Key, u32)>() + 1));
        size_of::<Combinations>() + list + samples + index
    }
}

impl Key {
    fn conflicts(self, sample: &Sample) -> bool {
        self.class.conflicts(Class::of(sample.access.kind))
    }
}

impl LockCover {
    #[inline]
    fn access(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        let held = self.held.of(at.thread);
        let variable = &mut self.variables[var];
        let new = Access { at, kind };
        let protecting = held.protecting(kind.writes());
        variable.candidates = self.held.sets.intersect(variable.candidates, protecting);
        let class = Class::of(kind);
        match &mut variable.accesses {
            Accesses::Private(private) => {
                if private.take(held, new) {
                    return;
                }
                let combinations = Combinations::from_private(private);
                self.heap_bytes += combinations.bytes();
                variable.accesses = Accesses::Any { settled: [UNSETTLED; Class::COUNT], combinations };
            }
            Accesses::Any { settled, .. } => {
                if variable.candidates != SetId::EMPTY && settled[class as usize] == held {
                    return; // I2
                }
            }
        }
        let Accesses::Any { settled, combinations } = &mut variable.accesses else { return };
        let key = Key { held, class };
        if !combinations.select(key, at.thread) {
            let before = combinations.bytes();
            combinations.add(key, new);
            self.heap_bytes += combinations.bytes() - before;
        }
        if combinations.latest().has_second {
            settled[class as usize] = held;
        }
        if variable.candidates == SetId::EMPTY // I2
            && let Some(first) = combinations.partner(&mut self.held, at.thread)
        {
            races.report(Race { var, verdict: Verdict::Suspected, first, second: new });
        }
    }

    #[cold]
    fn collect(&mut self) {
        let used = self.variables.iter().flat_map(|variable| {
            let (private, list) = match &variable.accesses {
                Accesses::Private(private) => (Some(private.held), [].as_slice()),
                Accesses::Any { combinations, .. } => (None, combinations.list.as_slice()),
            };
            let held = list.iter().map(|combination| combination.key.held).chain(private);
            held.flat_map(|held| [held.all, held.exclusive]).chain([variable.candidates])
        });
        self.held.collect(used);
    }
}

impl Detector for LockCover {
    fn reserve(&mut self, sizes: &Sizes) {
        self.held.grow_to(sizes.threads);
        self.variables.grow_to(sizes.variables);
    }

    #[inline]
    fn read(&mut self, at: At, var: VarId, races: &mut RaceLog) {
        self.access(at, var, AccessKind::Read, races);
    }

    #[inline]
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        self.access(at, var, kind, races);
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, _order: MemoryOrder, races: &mut RaceLog) {
        self.access(at, var, kind, races);
    }

    fn fence(&mut self, _at: At, _order: MemoryOrder) {}

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
        if self.held.wants_collection() {
            self.collect();
        }
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }

    fn fork(&mut self, _at: At, _child: ThreadId) {}

    fn join(&mut self, _at: At, _child: ThreadId) {}

    fn post(&mut self, _at: At, _object: SyncId) {}

    fn wait(&mut self, _at: At, _object: SyncId) {}

    fn state_bytes(&self) -> usize {
        self.held.state_bytes() + self.variables.table_bytes() + self.heap_bytes
    }
}
