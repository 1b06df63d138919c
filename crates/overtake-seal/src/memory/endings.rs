//! Variables that no further event names: those of an area all of whose memory got another use.
//!
//! Detectors need not keep anything of them ([`EventSink::end_variables`](overtake_trace::EventSink::end_variables)). A program that allocates
//! and frees makes many more variables than it has at any time.

use std::ops::Range;

use overtake_trace::{ArrayId, VarId};
use rustc_hash::FxHashMap;

/// Which variables belong to which area, and which of them have ended.
#[derive(Default)]
pub(super) struct Endings {
    /// The variables that were made last, if they have consecutive numbers.
    latest: Option<Made>,
    /// Those that were made before, by the start of their area.
    made: FxHashMap<u64, Vec<Range<u32>>>,
    ended: Vec<Range<VarId>>,
}

struct Made {
    area: u64,
    array: ArrayId,
    variables: Range<u32>,
}

impl Endings {
    /// Notes a variable, an element of an array or its block, if it continues the last ones of its area. Returns whether it does.
    #[inline]
    pub(super) fn continues(&mut self, area: u64, array: ArrayId, var: VarId) -> bool {
        match &mut self.latest {
            Some(made) if (made.area, made.array, made.variables.end) == (area, array, var.0) => {
                made.variables.end += 1;
                true
            }
            _ => false,
        }
    }

    /// Notes another variable of an area.
    pub(super) fn note(&mut self, area: u64, array: ArrayId, var: VarId) {
        if !self.continues(area, array, var) {
            self.keep_latest();
            self.latest = Some(Made { area, array, variables: var.0..var.0 + 1 });
        }
    }

    /// The area is gone, and all words that it had are forgotten.
    pub(super) fn end(&mut self, area: u64) {
        let variables = self.forget(area).unwrap_or_default();
        self.ended.extend(variables.into_iter().map(|range| VarId(range.start)..VarId(range.end)));
    }

    /// The area is gone, but not all of its words: events may still name its variables.
    pub(super) fn forget(&mut self, area: u64) -> Option<Vec<Range<u32>>> {
        if self.latest.as_ref().is_some_and(|made| made.area == area) {
            self.keep_latest();
        }
        self.made.remove(&area)
    }

    /// What ended since this was asked last.
    pub(super) fn take(&mut self) -> Vec<Range<VarId>> {
        std::mem::take(&mut self.ended)
    }

    fn keep_latest(&mut self) {
        if let Some(Made { area, variables, .. }) = self.latest.take() {
            self.made.entry(area).or_default().push(variables);
        }
    }
}
