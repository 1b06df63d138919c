//! The passes of `slimstate`: the detector, then, if elements race, the accesses that their races are between.

use overtake_trace::{Checked, Symbols};

use super::SlimState;
use super::limits::ArrayLimits;
use super::naming::Naming;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, feed, visit};
use crate::settings::{OptionError, Options};

/// Starts an analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::new(SlimState::new(ArrayLimits::of(options))))
}

/// The first pass.
impl Pass for SlimState {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(self, blocks, checked, findings);
    }

    fn end(mut self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        self.finish(findings);
        self.count_elements(&symbols.variables);
        let found = self.take_found();
        match found.is_empty() {
            true => After::Done(self),
            false => {
                let figures = SlimState::figures(&self);
                After::Pass(Box::new(Second { naming: Naming::new(found), figures }))
            }
        }
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(self)
    }

    fn readings(&self) -> u32 {
        2
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        SlimState::figures(self)
    }
}

/// The second pass, with the figures of the first.
struct Second {
    naming: Naming,
    figures: Vec<(&'static str, u64)>,
}

impl Pass for Second {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        blocks.leave_out(); // a block is no element: its races have their names
        visit(&mut self.naming, blocks, checked);
    }

    fn end(mut self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        self.naming.finish(findings);
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.naming.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.figures.clone()
    }

    fn remarks(&self, findings: &Findings) -> Vec<String> {
        let together = findings.groups().iter().filter_map(|group| group.extent);
        match together.map(|extent| extent.elements()).any(|elements| elements > 1) {
            true => vec![TOGETHER.to_owned()],
            false => Vec::new(),
        }
    }
}

/// What a race of several elements means.
const TOGETHER: &str = "of array elements that race together the accesses to the first are shown; the same threads race on \
                        the others in the same regions, within which neither releases, posts or forks";
