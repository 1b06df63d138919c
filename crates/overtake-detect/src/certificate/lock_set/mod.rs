//! Certificates of locking discipline: short proofs that a trace has a lock-set race, or that it has none.
//!
//! **Source.** Theorems 7 and 9 of Kulkarni, Mathur and Pavlogiannis, *Dynamic Data-Race Detection Through the Fine-Grained Lens*, CONCUR 2021. Whoever has a certificate needs one pass and no sets of
//! locks to check it, while finding it takes, as far as is known, the product of events and locks.
//! **Certificate.** That there is a race: a variable. That there is none: for each variable a lock that protects all its accesses, or that no two of its
//! accesses conflict.
//! **Checking.** A lock protects a variable if every read holds it and every write holds it exclusively; that is one look for each access. No two accesses conflict if
//! no class of them conflicts with one of another thread: two threads for each class are enough to remember. A race on one variable is checked by the locks that protected all of its accesses so far, at most
//! as many as the first access held, and by its conflicts.
//! **Cost.** Checking takes O(1) for each event, and for accesses to a variable that is claimed to race one look at each lock that is left.
//! **Independent of the detector.** Checking shares no code with `lock-set`; what is held is followed lock by lock.

#[cfg(test)]
mod tests;

use overtake_trace::{EventIndex, EventSource, Id, IdVec, LockId, Result, Sizes, ThreadId, VarId};

use crate::access::{AccessKind, At, Class};
use crate::detector::LockMode;
use crate::locks::{HeldLocks, SetId};
use crate::run::{LiveBlocks, read_checked, visit};
use crate::visitor::{Touch, Visitor};

/// Why a variable has no race.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum Claim {
    /// No two of its accesses conflict.
    #[default]
    NoConflict,
    /// This lock is held at all its accesses, at writes exclusively.
    Lock(LockId),
}

/// A proof that a trace has a lock-set race, or that it has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// This variable has conflicting accesses, and no lock protects all of its accesses.
    Race(VarId),
    /// No variable does, for these reasons.
    NoRace(IdVec<VarId, Claim>),
}

/// Where a certificate is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Flaw {
    /// The access at this event does not hold the lock as claimed.
    NotHeld(EventIndex, VarId, LockId),
    /// The access at this event conflicts with an earlier one, which was claimed not to be.
    Conflict(EventIndex, VarId),
    /// This lock protects the variable that was claimed to race.
    Protected(VarId, LockId),
    /// No two accesses to the variable that was claimed to race conflict.
    NoPair(VarId),
}

/// Makes the certificate of a trace: of the first variable with a race, if there is one.
pub fn certify(source: &mut dyn EventSource) -> Result<Certificate> {
    let mut certifier = Certifier::default();
    let mut blocks = LiveBlocks::new();
    read_checked(source, None, |checked| visit(&mut certifier, &mut blocks, checked))?;
    let mut claims = IdVec::new();
    for (at, variable) in certifier.variables.iter().enumerate() {
        let var = VarId::from_index(at);
        let claim = match certifier.held.sets.locks(variable.candidates.unwrap_or(SetId::EMPTY)).first() {
            _ if !variable.accessors.conflict => Claim::NoConflict,
            Some(&lock) => Claim::Lock(lock),
            None => return Ok(Certificate::Race(var)),
        };
        *claims.entry(var) = claim;
    }
    Ok(Certificate::NoRace(claims))
}

/// Checks a certificate. None if it holds, else the first flaw.
pub fn check(source: &mut dyn EventSource, certificate: &Certificate) -> Result<Option<Flaw>> {
    let held = HeldByLock::default();
    let mut blocks = LiveBlocks::new();
    match certificate {
        Certificate::NoRace(claims) => {
            let mut check = NoRaceCheck { claims, held, accessors: IdVec::new(), flaw: None };
            read_checked(source, None, |checked| visit(&mut check, &mut blocks, checked))?;
            Ok(check.flaw)
        }
        &Certificate::Race(var) => {
            let mut check = RaceCheck { var, held, left: None, accessors: Accessors::default() };
            read_checked(source, None, |checked| visit(&mut check, &mut blocks, checked))?;
            let lock = check.left.as_ref().and_then(|left| left.first().copied());
            let flaw = match (check.accessors.conflict, lock) {
                (false, _) => Some(Flaw::NoPair(var)),
                (true, Some(lock)) => Some(Flaw::Protected(var, lock)),
                (true, None) => None,
            };
            Ok(flaw)
        }
    }
}

/// Who accessed a variable: of each class the first thread, and whether there are others.
#[derive(Clone, Copy, Default, Debug)]
struct Accessors {
    threads: [Option<(ThreadId, bool)>; 4],
    /// Whether two accesses of different threads conflict.
    conflict: bool,
}

impl Accessors {
    /// Adds an access. Returns whether it conflicts with an earlier one.
    fn add(&mut self, thread: ThreadId, kind: AccessKind) -> bool {
        const CLASSES: [Class; 4] =
            [Class::PlainWrite, Class::AtomicWrite, Class::PlainRead, Class::AtomicLoad];
        let class = Class::of(kind);
        let conflicts = CLASSES.iter().zip(&self.threads).any(|(other, threads)| {
            class.conflicts(*other) && threads.is_some_and(|(first, others)| first != thread || others)
        });
        self.conflict |= conflicts;
        let entry = self.threads[class as usize].get_or_insert((thread, false));
        entry.1 |= entry.0 != thread;
        conflicts
    }
}

/// What is known of a variable while a certificate is made.
#[derive(Default, Debug)]
struct Candidates {
    /// The locks that protect all accesses so far; none before the first.
    candidates: Option<SetId>,
    accessors: Accessors,
}

/// Makes certificates.
#[derive(Default, Debug)]
struct Certifier {
    held: HeldLocks,
    variables: IdVec<VarId, Candidates>,
}

impl Visitor for Certifier {
    fn reserve(&mut self, sizes: &Sizes) {
        self.held.grow_to(sizes.threads);
        self.variables.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each() {
            let protecting = self.held.of(at.thread).protecting(kind.writes());
            let Candidates { candidates, accessors } = &mut self.variables[var];
            *candidates = Some(match *candidates {
                None => protecting,
                Some(before) => self.held.sets.intersect(before, protecting),
            });
            accessors.add(at.thread, kind);
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
        if self.held.wants_collection() {
            let used: Vec<_> = self.variables.iter().filter_map(|variable| variable.candidates).collect();
            self.held.collect(used.into_iter());
        }
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }
}

/// Who holds each lock.
#[derive(Default, Debug)]
struct HeldByLock {
    locks: IdVec<LockId, Vec<(ThreadId, LockMode)>>,
}

impl HeldByLock {
    fn acquire(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        self.locks.entry(lock).push((thread, mode));
    }

    fn release(&mut self, thread: ThreadId, lock: LockId, mode: LockMode) {
        let holders = self.locks.entry(lock);
        if let Some(at) = holders.iter().position(|&holder| holder == (thread, mode)) {
            holders.swap_remove(at);
        }
    }

    /// Whether a lock protects an access of a thread.
    fn protects(&self, lock: LockId, thread: ThreadId, kind: AccessKind) -> bool {
        let holders = self.locks.get(lock).map_or(&[][..], Vec::as_slice);
        let is_enough = |mode: LockMode| mode == LockMode::Exclusive || !kind.writes();
        holders.iter().any(|&(holder, mode)| holder == thread && is_enough(mode))
    }
}

/// Checks that no variable races.
struct NoRaceCheck<'a> {
    claims: &'a IdVec<VarId, Claim>,
    held: HeldByLock,
    accessors: IdVec<VarId, Accessors>,
    flaw: Option<Flaw>,
}

impl Visitor for NoRaceCheck<'_> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.accessors.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each() {
            let flaw = match self.claims.get(var).copied().unwrap_or_default() {
                Claim::Lock(lock) if self.held.protects(lock, at.thread, kind) => continue,
                Claim::Lock(lock) => Flaw::NotHeld(at.index, var, lock),
                Claim::NoConflict if !self.accessors[var].add(at.thread, kind) => continue,
                Claim::NoConflict => Flaw::Conflict(at.index, var),
            };
            self.flaw.get_or_insert(flaw);
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }
}

/// Checks that a variable races.
struct RaceCheck {
    var: VarId,
    held: HeldByLock,
    /// The locks that protect all accesses so far; none before the first.
    left: Option<Vec<LockId>>,
    accessors: Accessors,
}

impl Visitor for RaceCheck {
    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (_, kind) in touch.each().filter(|(var, _)| *var == self.var) {
            let RaceCheck { held, left, accessors, .. } = self;
            let all = || (0..held.locks.len()).map(LockId::from_index).collect();
            let left = left.get_or_insert_with(all);
            left.retain(|&lock| held.protects(lock, at.thread, kind));
            accessors.add(at.thread, kind);
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }
}
