//! Where races go: those of variables to the log, those of elements to be named first (`naming.rs`).

use overtake_trace::{Id, VarId};

use super::cells::CellId;
use super::commit::{PAGE, PartSink};
use super::naming::{FoundRaces, Subject};
use super::range::StridedRange;
use crate::access::Access;
use crate::extent::Extent;
use crate::hb::history::RaceSink;
use crate::race::{Race, RaceLog, Verdict};

/// What is needed to tell races of variables from those of elements, and the latter.
#[derive(Default, Debug)]
pub(super) struct Reports {
    /// One more than the first cell for variables that are no elements with a shadow, by pages; 0 for none.
    pub(super) own: Vec<u32>,
    pub(super) found: FoundRaces,
}

/// Races of a cell that stands for one variable.
pub(super) struct OnVariable<'a> {
    pub(super) var: VarId,
    pub(super) reports: &'a mut Reports,
    pub(super) races: &'a mut RaceLog,
}

impl RaceSink<CellId> for OnVariable<'_> {
    fn race(&mut self, cell: CellId, verdict: Verdict, first: Access, second: Access) {
        let (page, offset) = (self.var.index() / PAGE as usize, self.var.index() as u64 % PAGE);
        let own = self.reports.own[page].checked_sub(1).map(|first| CellId(first).plus(offset));
        if own == Some(cell) {
            self.races.report(Race { var: self.var, verdict, first, second });
        } else {
            self.reports.found.add(Subject::Variable(self.var), first, second);
        }
    }
}

/// Races of a part of an array.
pub(super) struct OnPart<'a> {
    pub(super) extent: Extent,
    pub(super) found: &'a mut FoundRaces,
}

impl PartSink for OnPart<'_> {
    #[inline]
    fn about(&mut self, part: StridedRange, end: u64) {
        let end = part.last.saturating_add(part.step).min(end);
        self.extent = Extent { first: part.first, end, step: part.step, ..self.extent };
    }
}

impl RaceSink<CellId> for OnPart<'_> {
    fn race(&mut self, _: CellId, _: Verdict, first: Access, second: Access) {
        self.found.add(Subject::Elements(self.extent), first, second);
    }
}
