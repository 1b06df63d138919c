//! The passes of `syncp` and `short-syncp`: the survey of `filter.rs`, then the detector.

use overtake_trace::{Checked, Symbols};

use super::core::SyncPreserving;
use super::filter::{Census, Survey};
use crate::detector::Detector;
use crate::findings::Findings;
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

    /// Where no variable matters, there is no race to be found, and the trace need not be read again.
    fn end(self: Box<Self>, symbols: &Symbols, _: &mut Findings) -> After {
        let mut census = self.survey.into_census();
        census.look_for_blocks(&symbols.variables);
        let is_over = !census.any_variable_matters();
        let detector = Box::new(SyncPreserving::<BOUNDED>::new(self.window, census));
        if is_over { After::Done(detector) } else { After::Pass(detector) }
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass.
impl<const BOUNDED: bool> Pass for SyncPreserving<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        if self.census.no_block_matters {
            blocks.leave_out();
        }
        feed(self, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(self)
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        SyncPreserving::figures(self)
    }
}
