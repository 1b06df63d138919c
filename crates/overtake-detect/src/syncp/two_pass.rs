//! The passes of an analysis: the survey of `filter.rs`, then the detector.

use overtake_trace::Checked;

use super::core::SyncPreserving;
use super::filter::{Census, Survey};
use crate::findings::Findings;
use crate::registry::{Analysis, Outcome};
use crate::run::{LiveBlocks, feed, visit};

/// The analysis behind `syncp` and, if `BOUNDED`, `short-syncp`.
#[derive(Debug)]
pub(super) struct TwoPass<const BOUNDED: bool> {
    window: u64,
    stage: Stage<BOUNDED>,
    blocks: LiveBlocks,
    races: Findings,
}

#[derive(Debug)]
enum Stage<const BOUNDED: bool> {
    Survey(Box<Survey>),
    Detection(Box<SyncPreserving<BOUNDED>>),
}

impl<const BOUNDED: bool> TwoPass<BOUNDED> {
    pub(super) fn new(window: u64, filter: bool) -> Self {
        let stage = if filter || BOUNDED {
            Stage::Survey(Box::new(Survey::new(filter)))
        } else {
            Stage::detection(window, Census::everything())
        };
        TwoPass { window, stage, blocks: LiveBlocks::new(), races: Findings::new() }
    }
}

impl<const BOUNDED: bool> Stage<BOUNDED> {
    fn detection(window: u64, census: Census) -> Self {
        Stage::Detection(Box::new(SyncPreserving::new(window, census)))
    }
}

impl<const BOUNDED: bool> Analysis for TwoPass<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>) {
        match &mut self.stage {
            Stage::Survey(survey) => visit(&mut **survey, &mut self.blocks, checked),
            Stage::Detection(detector) => feed(&mut **detector, &mut self.blocks, checked, &mut self.races),
        }
    }

    fn end_of_trace(&mut self) -> Outcome {
        let Stage::Survey(survey) = &mut self.stage else { return Outcome::Done };
        let survey = std::mem::replace(&mut **survey, Survey::new(false));
        self.stage = Stage::detection(self.window, survey.into_census());
        self.blocks = LiveBlocks::new();
        Outcome::AnotherPass
    }

    fn findings(&self) -> &Findings {
        &self.races
    }

    fn state_bytes(&self) -> usize {
        use crate::detector::Detector;
        match &self.stage {
            Stage::Survey(survey) => survey.state_bytes(),
            Stage::Detection(detector) => detector.state_bytes(),
        }
    }

    fn passes(&self) -> u32 {
        match &self.stage {
            Stage::Survey(_) => 2,
            Stage::Detection(_) => 1,
        }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        match &self.stage {
            Stage::Survey(_) => Vec::new(),
            Stage::Detection(detector) => detector.figures(),
        }
    }
}
