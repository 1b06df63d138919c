//! Races, and how sure they are.

use overtake_trace::{ArrayId, LocationId, VarId};

use crate::access::Access;
use crate::extent::Extent;
use crate::findings::Grouped;

/// How sure a finding is. Four words, never mixed; the surest comes first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Verdict {
    /// Nothing orders the accesses in this very run.
    Observed,
    /// A correct reordering of this run brings the accesses side by side.
    Predicted,
    /// A correct reordering does so, if reads that race saw what the order of the trace suggests.
    Possible,
    /// A locking discipline is violated; it may be harmless.
    Suspected,
}

impl Verdict {
    /// Every verdict, the surest first.
    pub const ALL: [Verdict; 4] =
        [Verdict::Observed, Verdict::Predicted, Verdict::Possible, Verdict::Suspected];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Observed => "observed",
            Verdict::Predicted => "predicted",
            Verdict::Possible => "possible",
            Verdict::Suspected => "suspected",
        }
    }
}

/// Two conflicting accesses; `second` comes later in the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Race {
    /// The variable.
    pub var: VarId,
    /// How sure it is.
    pub verdict: Verdict,
    /// The earlier access.
    pub first: Access,
    /// The later access.
    pub second: Access,
}

impl Race {
    /// How many events apart the accesses are: `j - i`.
    pub fn distance(&self) -> u64 {
        self.second.at.index.0 - self.first.at.index.0
    }
}

/// What accesses without a location are grouped by.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Subject {
    /// The variable.
    Variable(VarId),
    /// The array whose elements race together.
    Array(ArrayId),
}

/// Races between the same locations are one group. Accesses without a location are grouped by variable instead, or all of
/// them would be one group.
impl Grouped for Race {
    type Key = (LocationId, LocationId, Option<Subject>);

    fn key(&self, extent: Option<Extent>) -> Self::Key {
        let (first, second) = (self.first.at.location, self.second.at.location);
        let subject = extent.map_or(Subject::Variable(self.var), |extent| Subject::Array(extent.array));
        let subject = (!first.is_known() || !second.is_known()).then_some(subject);
        (first.min(second), first.max(second), subject)
    }

    fn verdict(&self) -> Verdict {
        self.verdict
    }

    fn set_verdict(&mut self, verdict: Verdict) {
        self.verdict = verdict;
    }
}
