//! The passes of `syncp` and `short-syncp`: the survey of `filter.rs`, then the detector. If it predicts races of a recording, three more:
//! which variables race, what racy reads may have seen, and the detector again (`chart.rs`).

use std::ops::Range;

use overtake_trace::{Checked, Symbols, VarId};

use super::chart::{RacyReads, RacyVariables};
use super::core::SyncPreserving;
use super::filter::{Census, Survey};
use crate::detector::Detector;
use crate::findings::Findings;
use crate::hb::FastTrack;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, feed, visit};

/// The analysis behind `syncp` and, if `BOUNDED`, `short-syncp`. Without a filter `syncp` needs no survey.
pub(super) fn analysis<const BOUNDED: bool>(window: u64, filter: bool) -> Analysis {
    match filter || BOUNDED {
        true => Analysis::new(Surveying::<BOUNDED> { window, survey: Survey::new(filter) }),
        false => Analysis::new(SyncPreserving::<BOUNDED>::new(window, Census::everything())),
    }
}

/// The first pass.
struct Surveying<const BOUNDED: bool> {
    window: u64,
    survey: Survey,
}

impl<const BOUNDED: bool> Pass for Surveying<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.survey, blocks, checked);
    }

    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        self.survey.end_variables(ended);
    }

    /// Where no variable is open, there is no race to be found, and the trace need not be read again.
    fn end(self: Box<Self>, symbols: &Symbols, _: &mut Findings) -> After {
        let mut census = self.survey.into_census();
        census.look_at(symbols);
        let is_over = !census.any_variable_is_open();
        let detector = Box::new(SyncPreserving::<BOUNDED>::new(self.window, census));
        if is_over { After::Done(detector) } else { After::Pass(detector) }
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        5
    }
}

/// The second pass, and in recordings the fifth.
impl<const BOUNDED: bool> Pass for SyncPreserving<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        if self.census.no_block_matters {
            blocks.leave_out();
        }
        feed(self, blocks, checked, findings);
    }

    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        if self.racy_reads.is_some() || self.predicted() == 0 || !symbols.program.is_recorded() {
            return After::Done(self);
        }
        *findings = Findings::new();
        let SyncPreserving { window, census, .. } = *self;
        After::Pass(Box::new(Racing::<BOUNDED> { window, census, detector: FastTrack::default() }))
    }

    /// A recording may need three more.
    fn readings(&self) -> u32 {
        if self.racy_reads.is_some() { 1 } else { 4 }
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(self)
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        SyncPreserving::figures(self)
    }
}

/// The third pass: which variables race.
struct Racing<const BOUNDED: bool> {
    window: u64,
    census: Census,
    detector: FastTrack,
}

impl<const BOUNDED: bool> Pass for Racing<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.detector, blocks, checked, findings);
    }

    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        let Racing { window, mut census, .. } = *self;
        let variables = std::mem::take(findings).racy_variables();
        variables.iter().for_each(|&var| census.keep(var));
        census.look_at(symbols);
        let racy = RacyVariables { variables: variables.into_iter().collect() };
        let mut detector = SyncPreserving::<BOUNDED>::new(window, census);
        detector.racy_reads = Some(Box::new(RacyReads::drawing(racy)));
        After::Pass(Box::new(Drawing(detector)))
    }

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes() + self.census.state_bytes()
    }

    fn readings(&self) -> u32 {
        3
    }
}

/// The fourth pass: what racy reads may have seen.
struct Drawing<const BOUNDED: bool>(SyncPreserving<BOUNDED>);

impl<const BOUNDED: bool> Pass for Drawing<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let SyncPreserving { window, census, clocks, racy_reads, .. } = self.0;
        let mut detector = SyncPreserving::<BOUNDED>::new(window, census);
        detector.racy_reads = racy_reads.map(|reads| Box::new(reads.finish(clocks)));
        After::Pass(Box::new(detector))
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(&self.0)
    }

    fn readings(&self) -> u32 {
        2
    }
}
