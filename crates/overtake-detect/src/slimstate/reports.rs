//! Where races go: those of variables to the log, those of elements to be named first (`naming.rs`).

use overtake_trace::VarId;

use super::cells::CellId;
use super::naming::{FoundRaces, Racing};
use super::own::Own;
use super::range::StridedRange;
use crate::access::Access;
use crate::extent::Extent;
use crate::findings::Findings;
use crate::hb::history::RaceSink;
use crate::race::{Race, Verdict};

/// The cells of single variables, which tell races of elements from those of others, and the races of elements.
#[derive(Default, Debug)]
pub(super) struct Reports {
    pub(super) own: Own,
    pub(super) found: FoundRaces,
}

/// Where races of a part go.
pub(super) trait PartSink: RaceSink<CellId> {
    /// Names the indices, counted from 0, that the next race is about, and where their stretch ends.
    fn about(&mut self, part: StridedRange, end: u64);
}

/// Takes the races of elements that are never accessed.
pub(super) struct Unheard;

impl RaceSink<CellId> for Unheard {
    fn race(&mut self, _: CellId, _: Verdict, _: Access, _: Access) {}
}

/// Races of a variable's own cell.
pub(super) struct OnVariable<'a> {
    pub(super) var: VarId,
    pub(super) reports: &'a mut Reports,
    pub(super) races: &'a mut Findings,
}

impl RaceSink<CellId> for OnVariable<'_> {
    fn race(&mut self, _: CellId, verdict: Verdict, first: Access, second: Access) {
        if self.reports.own.is_element(self.var) {
            self.reports.found.add(Racing::Variable(self.var), first, second);
        } else {
            self.races.report(Race { var: self.var, verdict, first, second });
        }
    }
}

/// Races of an element that has no cell of its own, or did not when it was accessed.
pub(super) struct OnElement<'a> {
    pub(super) var: VarId,
    pub(super) found: &'a mut FoundRaces,
}

impl RaceSink<CellId> for OnElement<'_> {
    fn race(&mut self, _: CellId, _: Verdict, first: Access, second: Access) {
        self.found.add(Racing::Variable(self.var), first, second);
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
        self.found.add(Racing::Elements(self.extent), first, second);
    }
}
