//! How many elements of each array the trace has named so far: what is kept of an array must not take more than cells for these would.

use overtake_trace::{ArrayId, Id, IdVec, VarId, Variables};

/// The counts.
#[derive(Default, Debug)]
pub(super) struct Named {
    counts: IdVec<ArrayId, u32>,
    /// How many variables are counted.
    counted: usize,
}

impl Named {
    /// Counts the variables that are new.
    #[inline]
    pub(super) fn count(&mut self, variables: &Variables) {
        if variables.len() > self.counted {
            self.count_more(variables);
        }
    }

    #[cold]
    fn count_more(&mut self, variables: &Variables) {
        for var in self.counted..variables.len() {
            if let Some(array) = variables.array_of(VarId::from_index(var)) {
                *self.counts.entry(array) += 1;
            }
        }
        self.counted = variables.len();
    }

    /// How many elements an array has.
    pub(super) fn of(&self, array: ArrayId) -> u64 {
        self.counts.get(array).map_or(0, |&count| u64::from(count))
    }

    pub(super) fn heap_bytes(&self) -> usize {
        self.counts.table_bytes()
    }
}
