//! The passes of an analysis: the detector, then, if elements race, the accesses that their races are between.

use overtake_trace::{Checked, Symbols};

use super::SlimState;
use super::commit::ArrayLimits;
use super::naming::Naming;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::registry::{Analysis, OptionError, Options, Outcome};
use crate::run::{LiveBlocks, feed, visit};

/// Starts an analysis.
pub(crate) fn start(options: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(Box::new(SlimAnalysis::new(ArrayLimits::of(options.partitions))))
}

/// The detector with its log, and with figures.
pub(super) struct SlimAnalysis {
    stage: Stage,
    blocks: LiveBlocks,
    races: Findings,
    /// Figures of the detector, once it is done.
    figures: Vec<(&'static str, u64)>,
}

enum Stage {
    Detection(Box<SlimState>),
    Naming(Box<Naming>),
}

impl SlimAnalysis {
    pub(super) fn new(limits: ArrayLimits) -> SlimAnalysis {
        SlimAnalysis {
            stage: Stage::Detection(Box::new(SlimState::new(limits))),
            blocks: LiveBlocks::new(),
            races: Findings::new(),
            figures: Vec::new(),
        }
    }
}

impl Analysis for SlimAnalysis {
    fn feed(&mut self, checked: &Checked<'_>) {
        match &mut self.stage {
            Stage::Detection(detector) => feed(&mut **detector, &mut self.blocks, checked, &mut self.races),
            Stage::Naming(naming) => visit(&mut **naming, &mut self.blocks, checked),
        }
    }

    fn end_of_trace(&mut self) -> Outcome {
        match &mut self.stage {
            Stage::Detection(detector) => {
                detector.finish(&mut self.races);
                self.figures = detector.figures();
                let found = detector.take_found();
                if found.is_empty() {
                    return Outcome::Done;
                }
                self.stage = Stage::Naming(Box::new(Naming::new(found)));
                self.blocks = LiveBlocks::new();
                Outcome::AnotherPass
            }
            Stage::Naming(naming) => {
                naming.finish(&mut self.races);
                Outcome::Done
            }
        }
    }

    fn name_elements(&mut self, symbols: &Symbols) {
        self.races.name_elements(symbols);
    }

    fn findings(&self) -> &Findings {
        &self.races
    }

    fn state_bytes(&self) -> usize {
        match &self.stage {
            Stage::Detection(detector) => detector.state_bytes(),
            Stage::Naming(naming) => naming.state_bytes(),
        }
    }

    fn passes(&self) -> u32 {
        match &self.stage {
            Stage::Detection(_) => 2,
            Stage::Naming(_) => 1,
        }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.figures.clone()
    }

    fn remarks(&self) -> Vec<String> {
        let together = self.races.groups().iter().filter_map(|group| group.extent);
        match together.map(|extent| extent.elements()).any(|elements| elements > 1) {
            true => vec![TOGETHER.to_owned()],
            false => Vec::new(),
        }
    }
}

/// What a race of several elements means.
const TOGETHER: &str = "of array elements that race together the accesses to the first are shown; the same threads race on \
                        the others in the same regions, within which neither releases, posts or forks";
