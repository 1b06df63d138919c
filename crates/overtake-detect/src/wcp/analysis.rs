//! The passes of `wcp`: the survey; the detector; then, if it suspects races that happens-before does not show, a search for schedules of them.

use overtake_trace::{Checked, Symbols};

use super::detector::WeakOrder;
use super::survey::Survey;
use crate::access::AccessKind;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::race::{Race, Verdict};
use crate::run::{LiveBlocks, feed, visit};
use crate::settings::{OptionError, Options};
use crate::summary::{SUPPORT_READINGS, support};

/// Starts `wcp`.
pub(crate) fn start(_: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::new(First(Survey::default())))
}

/// The first pass: what matters.
struct First(Survey);

impl Pass for First {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.0, blocks, checked);
    }

    /// Where no variable matters, there is no race to be found, and the trace need not be read again.
    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let census = self.0.into_census();
        let is_over = census.slot_count == 0;
        let detector = Box::new(Weak(WeakOrder::new(census)));
        if is_over { After::Done(detector) } else { After::Pass(detector) }
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn readings(&self) -> u32 {
        2 + SUPPORT_READINGS
    }
}

/// The second pass.
struct Weak(WeakOrder);

impl Pass for Weak {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        let races = findings.groups().iter().map(|group| group.example);
        // What a recording shows as handed over is not said to be possible in another order.
        let is_handed_over =
            |race: &Race| symbols.program.is_recorded() && race.first.kind == AccessKind::Alloc;
        let suspected: Vec<_> =
            races.filter(|race| race.verdict == Verdict::Suspected && !is_handed_over(race)).collect();
        match suspected.is_empty() {
            true => After::Done(self),
            false => {
                let mut census = self.0.census().for_schedules();
                census.look_at(symbols);
                After::Pass(Box::new(support(&suspected, census, self.figures())))
            }
        }
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn readings(&self) -> u32 {
        1 + SUPPORT_READINGS
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.0.figures()
    }
}
