//! Which variables have a pair of accesses that no lock keeps apart, as far as the locks common to all accesses tell.
//!
//! A lock that every access to a variable holds, and every write exclusively, keeps all conflicting accesses apart in every
//! reordering. In programs that lock properly this settles nearly all variables, before anything is remembered of them.

use overtake_trace::{Id, IdVec, LockId, Sizes, VarId};

use crate::access::At;
use crate::detector::LockMode;
use crate::locks::{HeldLocks, SetId};
use crate::syncp::Census;
use crate::visitor::{Touch, Visitor};

/// A visitor that finds out which locks the accesses to each variable have in common.
#[derive(Default, Debug)]
pub(crate) struct Cover {
    held: HeldLocks,
    variables: IdVec<VarId, Common>,
}

/// The locks that protect all accesses so far.
#[derive(Clone, Copy, Debug)]
struct Common(SetId);

impl Default for Common {
    fn default() -> Self {
        Common(SetId::EVERYTHING)
    }
}

impl Cover {
    /// The variables that matter and that no lock protects, ascending.
    pub(crate) fn open_variables(&self, census: &Census) -> Vec<VarId> {
        let variables = (0..self.variables.len()).map(VarId::from_index);
        variables.filter(|&var| census.matters(var) && self.variables[var].0 == SetId::EMPTY).collect()
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.held.state_bytes() + self.variables.table_bytes()
    }
}

impl Visitor for Cover {
    fn reserve(&mut self, sizes: &Sizes) {
        self.held.grow_to(sizes.threads);
        self.variables.grow_to(sizes.variables);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let held = self.held.of(at.thread);
        for (var, kind) in touch.each() {
            let Common(common) = &mut self.variables[var];
            let protecting = held.protecting(kind.writes());
            if *common != protecting && *common != SetId::EMPTY {
                *common = self.held.sets.intersect(*common, protecting);
            }
        }
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
        if self.held.wants_collection() {
            self.held.collect(self.variables.iter().map(|common| common.0));
        }
    }
}
