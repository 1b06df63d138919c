//! The passes of `wcp`: the detector; then, if it suspects races that happens-before does not show, a search for schedules of them.

use overtake_trace::{Checked, Symbols};

use super::detector::WeakOrder;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::race::Verdict;
use crate::run::{LiveBlocks, feed};
use crate::settings::{OptionError, Options};
use crate::summary::Support;

/// Starts `wcp`.
pub(crate) fn start(_: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::new(Weak(WeakOrder::default())))
}

/// The first pass.
struct Weak(WeakOrder);

impl Pass for Weak {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        let races = findings.groups().iter().map(|group| group.example);
        let suspected: Vec<_> = races.filter(|race| race.verdict == Verdict::Suspected).collect();
        match suspected.is_empty() {
            true => After::Done(self),
            false => After::Pass(Box::new(Support::new(&suspected, self.figures()))),
        }
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn readings(&self) -> u32 {
        1 + Support::READINGS
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.0.figures()
    }
}
