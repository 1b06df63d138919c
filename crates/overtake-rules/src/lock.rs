//! Who holds a lock.
//!
//! In a well-formed trace this is simple: a thread acquires a lock only when no other holder excludes it, and releases it in the mode
//! in which it holds it. Recorded programs break these rules: they take a recursive lock several times, the release of a lock
//! may be missing from the recording, and some use a mutex as a semaphore. [`Holders`] gives each of these cases a meaning:
//!
//! | operation of `t` | meaning |
//! | --- | --- |
//! | acquire by the exclusive holder; shared acquire by any holder | the section becomes one level deeper; no new section begins |
//! | exclusive acquire by a shared holder | its shared section ends, an exclusive one begins |
//! | acquire of a lock that others hold, in a mode that excludes theirs | their releases are missing: their sections end here |
//! | release by a thread whose section ended that way | ends nothing: this is the missing release |
//! | release by a holder | one level less deep, or the end of its section, in the mode in which the section began |
//! | exclusive release by `t` while another thread holds the lock exclusively | ends that thread's section ([`Handover`] says what it orders) |
//! | any other release | ends nothing |
//!
//! For traces that are known to be well formed, [`OpenSections`] lists the locks of one thread, and [`HoldingCount`] counts the locks
//! of all threads. The tests compare both with [`Holders`].

use core::mem;

use crate::store::List;

/// How a lock is held.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum LockMode {
    /// By one thread alone.
    Exclusive,
    /// Together with other shared holders.
    Shared,
}

impl LockMode {
    /// Whether only one thread can hold the lock.
    #[inline]
    pub fn is_exclusive(self) -> bool {
        self == LockMode::Exclusive
    }

    /// Whether two threads cannot hold a lock in these modes at the same time.
    #[inline]
    pub fn excludes(self, other: LockMode) -> bool {
        self.is_exclusive() || other.is_exclusive()
    }
}

/// A thread holds a lock.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Holding<T, S = ()> {
    /// The thread.
    pub thread: T,
    /// How it holds the lock.
    pub mode: LockMode,
    /// How often it has acquired the lock without releasing it.
    pub depth: u32,
    /// What the user of [`Holders`] keeps for the section.
    pub section: S,
}

/// A thread that holds a lock, or whose release of it is missing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Claim<T, S = ()> {
    /// The thread holds the lock.
    Holds(Holding<T, S>),
    /// An acquire by another thread ended the section of this thread. If its own release comes later, that ends nothing.
    Evicted(T),
}

impl<T: Copy, S> Claim<T, S> {
    #[inline]
    fn holding(&self) -> Option<&Holding<T, S>> {
        match self {
            Claim::Holds(holding) => Some(holding),
            Claim::Evicted(_) => None,
        }
    }
}

/// What an acquire did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Acquired {
    /// A section began.
    Begun,
    /// The thread held the lock already; its section is one level deeper now.
    Deeper,
}

/// What a release did.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Released<T, S = ()> {
    /// The section of the releasing thread ended.
    Ended(Holding<T, S>),
    /// The section of the releasing thread goes on, one level less deep.
    Shallower,
    /// The exclusive section of another thread ended.
    Foreign(Holding<T, S>),
    /// Nothing: an acquire by another thread had ended the section before.
    Settled,
    /// Nothing: the thread does not hold the lock, and the release does not end the section of another thread.
    Unheld,
}

/// Who holds one lock, whether or not the trace is well formed. `L` is a list of [`Claim`]s, such as a `Vec`.
#[derive(Clone, Default, Debug)]
pub struct Holders<L> {
    claims: L,
}

impl<T: Copy + PartialEq, S, L: List<Item = Claim<T, S>>> Holders<L> {
    /// `thread` acquires the lock. `section` makes the value that is kept for a new section; `evicted` gets the holdings that end
    /// because their release is missing, in the order in which they began.
    #[inline]
    pub fn acquire(
        &mut self,
        thread: T,
        mode: LockMode,
        section: impl FnOnce() -> S,
        mut evicted: impl FnMut(Holding<T, S>),
    ) -> Acquired {
        let own = self.claims.entries_mut().iter_mut().find_map(|claim| match claim {
            Claim::Holds(holding) if holding.thread == thread => Some(holding),
            _ => None,
        });
        if let Some(own) = own
            && (mode == LockMode::Shared || own.mode == LockMode::Exclusive)
        {
            own.depth = own.depth.saturating_add(1);
            return Acquired::Deeper;
        }
        for claim in self.claims.entries_mut() {
            if let Claim::Holds(holding) = claim
                && mode.excludes(holding.mode)
            {
                let gone = Claim::Evicted(holding.thread);
                if let Claim::Holds(holding) = mem::replace(claim, gone) {
                    evicted(holding);
                }
            }
        }
        self.settle(thread);
        self.claims.push(Claim::Holds(Holding { thread, mode, depth: 1, section: section() }));
        Acquired::Begun
    }

    /// `thread` releases the lock in `mode`, whether or not it holds it.
    #[inline]
    pub fn release(&mut self, thread: T, mode: LockMode) -> Released<T, S> {
        let holds = self.mode_of(thread).is_some_and(|own| mode == LockMode::Shared || own == mode);
        if !holds && self.settle(thread) {
            return Released::Settled;
        }
        if let Some(at) = self.position(|holding| holding.thread == thread) {
            if let Claim::Holds(holding) = &mut self.claims.entries_mut()[at]
                && holding.depth > 1
            {
                holding.depth -= 1;
                return Released::Shallower;
            }
            return self.end(at).map_or(Released::Unheld, Released::Ended);
        }
        let foreign = |holding: &Holding<T, S>| mode.is_exclusive() && holding.mode.is_exclusive();
        let foreign = self.position(foreign).and_then(|at| self.end(at));
        foreign.map_or(Released::Unheld, Released::Foreign)
    }

    /// `thread` releases the lock in the mode in which it holds it: for releases that do not name a mode.
    pub fn release_any(&mut self, thread: T) -> Released<T, S> {
        self.release(thread, self.mode_of(thread).unwrap_or(LockMode::Exclusive))
    }

    /// `thread` has ended. Its section ends, however deep it is.
    pub fn release_all(&mut self, thread: T) -> Option<Holding<T, S>> {
        let at = self.position(|holding| holding.thread == thread)?;
        self.end(at)
    }

    /// Whether a thread that does not hold the lock can acquire it in a mode.
    pub fn is_free_for(&self, mode: LockMode) -> bool {
        !self.holdings().any(|holding| mode.excludes(holding.mode))
    }

    /// How `thread` holds the lock.
    #[inline]
    pub fn mode_of(&self, thread: T) -> Option<LockMode> {
        self.holdings().find(|holding| holding.thread == thread).map(|holding| holding.mode)
    }

    /// Who holds the lock, in the order in which their sections began.
    #[inline]
    pub fn holdings<'a>(&'a self) -> impl Iterator<Item = &'a Holding<T, S>>
    where
        T: 'a,
        S: 'a,
    {
        self.claims.entries().iter().filter_map(Claim::holding)
    }

    /// The only holding, if the lock has one holder and no release is missing.
    #[inline]
    pub fn only(&self) -> Option<&Holding<T, S>> {
        match self.claims.entries() {
            [claim] => claim.holding(),
            _ => None,
        }
    }

    /// Whether nobody holds the lock and nobody's release is missing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.claims.entries().is_empty()
    }

    /// Forgets all holders and all missing releases.
    pub fn clear(&mut self) {
        self.claims.clear();
    }

    /// Forgets that the release of `thread` is missing. Returns whether it was.
    #[inline]
    fn settle(&mut self, thread: T) -> bool {
        let is_owed = |claim: &Claim<T, S>| matches!(claim, Claim::Evicted(evicted) if *evicted == thread);
        let owed = self.claims.entries().iter().position(is_owed);
        owed.map(|at| self.claims.remove(at)).is_some()
    }

    #[inline]
    fn position(&self, is_it: impl Fn(&Holding<T, S>) -> bool) -> Option<usize> {
        self.claims.entries().iter().position(|claim| claim.holding().is_some_and(&is_it))
    }

    #[inline]
    fn end(&mut self, at: usize) -> Option<Holding<T, S>> {
        match self.claims.remove(at) {
            Claim::Holds(holding) => Some(holding),
            Claim::Evicted(_) => None,
        }
    }
}

/// What a release by a thread that does not hold the lock orders. Such a lock is used as a semaphore: what the releasing thread
/// did comes before the next acquire. The release becomes a post of an object of its own, and the next acquires wait
/// for it, up to and including the first exclusive one. Later acquires come after that one anyway.
///
/// The section of the holder ends at the same place, so that the holder's accesses are ordered before the next acquire as well. A
/// semaphore would not order them: this can hide a race, never invent one.
#[derive(Clone, Copy, Debug)]
pub struct Handover<O> {
    post: Option<O>,
}

impl<O> Default for Handover<O> {
    fn default() -> Self {
        Handover { post: None }
    }
}

impl<O: Copy> Handover<O> {
    /// A thread that does not hold the lock has released it, by posting `object`.
    pub fn leave(&mut self, object: O) {
        self.post = Some(object);
    }

    /// The lock is acquired. Returns the object that the acquire has to wait for.
    pub fn after(&mut self, mode: LockMode) -> Option<O> {
        match mode {
            LockMode::Exclusive => self.post.take(),
            LockMode::Shared => self.post,
        }
    }

    /// Whether the next acquire has to wait.
    pub fn is_empty(&self) -> bool {
        self.post.is_none()
    }
}

/// Counts holdings (a thread and a lock that it holds) in a trace that is known to be well formed: each acquire begins one and
/// each release ends one.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct HoldingCount {
    /// Holdings now.
    pub held: u64,
    /// The largest number of holdings at any time.
    pub most_held: u64,
    /// Holdings that ever began.
    pub begun: u64,
}

impl HoldingCount {
    /// A section begins.
    #[inline]
    pub fn begin(&mut self) {
        self.begun += 1;
        self.held += 1;
        self.most_held = self.most_held.max(self.held);
    }

    /// A section ends. If only a part of a trace is read, the section may have begun before that part.
    #[inline]
    pub fn end(&mut self) {
        self.held = self.held.saturating_sub(1);
    }
}

/// A lock that a thread holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OpenSection<K, S = ()> {
    /// The lock.
    pub lock: K,
    /// How it is held.
    pub mode: LockMode,
    /// What the user of [`OpenSections`] keeps for the section.
    pub section: S,
}

/// The locks that one thread holds, each once, in a trace that is known to be well formed. `L` is a list of [`OpenSection`]s, such as
/// a `Vec`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct OpenSections<L> {
    open: L,
}

impl<K: Copy + PartialEq, S, L: List<Item = OpenSection<K, S>>> OpenSections<L> {
    /// A section of `lock` begins.
    #[inline]
    pub fn acquire(&mut self, lock: K, mode: LockMode, section: S) {
        self.open.push(OpenSection { lock, mode, section });
    }

    /// The section of `lock` ends. Returns None if it began before the part of the trace that is read.
    #[inline]
    pub fn release(&mut self, lock: K) -> Option<OpenSection<K, S>> {
        let at = self.open.entries().iter().rposition(|open| open.lock == lock)?;
        Some(self.open.remove(at))
    }

    /// The sections in the order in which they began.
    #[inline]
    pub fn sections(&self) -> &[OpenSection<K, S>] {
        self.open.entries()
    }

    /// The sections in the order in which they began, to change what is kept for them.
    #[inline]
    pub fn sections_mut(&mut self) -> &mut [OpenSection<K, S>] {
        self.open.entries_mut()
    }

    /// Forgets all sections.
    pub fn clear(&mut self) {
        self.open.clear();
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests;
