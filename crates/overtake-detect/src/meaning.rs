//! What a detector's answer means: which order it asks about, and what it promises.

/// Which order between events a detector asks about.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Notion {
    /// Happens-before.
    HappensBefore,
    /// Schedulable happens-before.
    Schedulable,
    /// Sync-preserving reorderings.
    SyncPreserving,
    /// Reorderings that may swap critical sections.
    SyncReversal,
    /// Any correct reordering.
    Predictable,
    /// Weak causal precedence.
    WeakOrder,
    /// Locking discipline.
    Discipline,
    /// Threads that wait for each other.
    Deadlock,
}

impl Notion {
    /// The notion in words.
    pub fn describe(self) -> &'static str {
        match self {
            Notion::HappensBefore => "happens-before",
            Notion::Schedulable => "schedulable happens-before",
            Notion::SyncPreserving => "sync-preserving reorderings",
            Notion::SyncReversal => "reorderings that may swap critical sections",
            Notion::Predictable => "any correct reordering",
            Notion::WeakOrder => "weak causal precedence",
            Notion::Discipline => "locking discipline",
            Notion::Deadlock => "deadlocks",
        }
    }
}

/// What a detector's answer means, in terms of its notion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Promise {
    /// Exactly the accesses that race with an earlier access.
    Exact,
    /// Exactly the accesses that race with an access at most `window` events back.
    ExactInWindow,
    /// Exact up to the first race of each variable; later reports are races, some may be missing.
    ExactToFirstRace,
    /// Every report is a race; which races are found is left to chance.
    Sampled,
    /// Every report is a race; if many events must change to make the trace race free, one is probably found.
    PropertyTester,
    /// Exactly the variables that race, each with a pair of accesses that race; further pairs may be missing.
    ExactVariables,
    /// Every report can happen; some of what can happen may be missing.
    NoFalseReport,
    /// Every pattern of locks that has a deadlock of the notion, each with one, and no other.
    ExactPatterns,
    /// The first report is a race or a deadlock that can happen, provided that locks are nested; others may be neither.
    FirstReport,
    /// Suspicion, not proof.
    Suspicion,
}

impl Promise {
    /// Whether races are missed by chance, so that finding none says little.
    pub fn is_sampled(self) -> bool {
        matches!(self, Promise::Sampled | Promise::PropertyTester)
    }

    /// The promise in words.
    pub fn describe(self) -> &'static str {
        match self {
            Promise::Exact => "every access that races with an earlier one, and no other",
            Promise::ExactInWindow => {
                "every access that races with one in the window before it, and no other"
            }
            Promise::ExactToFirstRace => {
                "first race of each variable exact; later ones real, some may be missing"
            }
            Promise::Sampled => "every report is a race; which races are found is left to chance",
            Promise::PropertyTester => {
                "every report is a race; one is found with probability 1 - delta if at least epsilon of all events must \
                 change to make the trace race free"
            }
            Promise::ExactVariables => {
                "every variable that races, and no other; every pair is a race, further ones may be missing"
            }
            Promise::NoFalseReport => "every report can happen; some that can happen may be missing",
            Promise::ExactPatterns => {
                "every pattern of locks that can deadlock in this way, each once, and no other"
            }
            Promise::FirstReport => {
                "the first report is a race or a deadlock that can happen, if locks are nested; others may be neither"
            }
            Promise::Suspicion => "suspicion, not proof",
        }
    }
}
