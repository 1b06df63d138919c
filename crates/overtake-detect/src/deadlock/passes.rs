//! The analysis: one pass over the trace, or two if locks are taken in different orders.

use overtake_trace::Checked;

use super::analysis::{Collection, Question, Survey};
use crate::findings::Findings;
use crate::registry::{Analysis, OptionError, Options, Outcome};
use crate::run::{LiveBlocks, visit};

/// How many steps the search for patterns may take. Programs have few; this is a second or so.
const STEPS: u64 = 10_000_000;

/// Starts `deadlock`.
pub(crate) fn start_deadlock(_: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(Box::new(Deadlocks::new(Question::Reordering)))
}

/// Starts `lock-order`.
pub(crate) fn start_lock_order(_: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(Box::new(Deadlocks::new(Question::LockOrder)))
}

/// The analysis behind `deadlock` and `lock-order`.
#[derive(Debug)]
pub(crate) struct Deadlocks {
    question: Question,
    stage: Stage,
    blocks: LiveBlocks,
    findings: Findings,
}

#[derive(Debug)]
enum Stage {
    Survey(Box<Survey>),
    Collection(Box<Collection>),
    /// Locks are taken in one order.
    Ordered,
}

impl Deadlocks {
    pub(super) fn new(question: Question) -> Deadlocks {
        Deadlocks {
            question,
            stage: Stage::Survey(Box::default()),
            blocks: LiveBlocks::new(),
            findings: Findings::new(),
        }
    }
}

impl Analysis for Deadlocks {
    fn feed(&mut self, checked: &Checked<'_>) {
        match &mut self.stage {
            Stage::Survey(survey) => visit(&mut **survey, &mut self.blocks, checked),
            Stage::Collection(collection) => visit(&mut **collection, &mut self.blocks, checked),
            Stage::Ordered => {}
        }
    }

    fn end_of_trace(&mut self) -> Outcome {
        match &mut self.stage {
            Stage::Survey(survey) => {
                let survey = std::mem::take(&mut **survey);
                self.blocks = LiveBlocks::new();
                let collection = survey.into_collection(self.question, STEPS);
                self.stage = collection.map_or(Stage::Ordered, |found| Stage::Collection(Box::new(found)));
            }
            Stage::Collection(collection) => {
                let deadlocks = collection.deadlocks(self.question.verdict());
                deadlocks.for_each(|deadlock| self.findings.report(deadlock));
                return Outcome::Done;
            }
            Stage::Ordered => {}
        }
        if matches!(self.stage, Stage::Ordered) { Outcome::Done } else { Outcome::AnotherPass }
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }

    fn state_bytes(&self) -> usize {
        match &self.stage {
            Stage::Survey(survey) => survey.state_bytes(),
            Stage::Collection(collection) => collection.state_bytes(),
            Stage::Ordered => 0,
        }
    }

    fn passes(&self) -> u32 {
        if matches!(self.stage, Stage::Survey(_)) { 2 } else { 1 }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let Stage::Collection(collection) = &self.stage else { return Vec::new() };
        collection.figures().to_vec()
    }

    fn remarks(&self) -> Vec<String> {
        match &self.stage {
            Stage::Collection(collection) if collection.is_incomplete() => {
                vec![format!(
                    "locks are taken in so many orders that the search for cycles stopped after {STEPS} steps; \
                     there may be more deadlocks"
                )]
            }
            _ => Vec::new(),
        }
    }
}
