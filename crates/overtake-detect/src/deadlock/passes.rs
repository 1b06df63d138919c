//! The passes: one over the trace, or two if locks are taken in different orders.

use overtake_trace::{Checked, Symbols};

use super::analysis::{Collection, Question, Survey};
use super::observed::{Held, Observing};
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, visit};
use crate::settings::{OptionError, Options};
use crate::summary::{DOUBTS, doubt};
use crate::syncp::Census;

/// How many steps the search for patterns may take. Programs have few; this is a second or so.
const STEPS: u64 = 10_000_000;

/// Starts `deadlock`.
pub(crate) fn start_deadlock(_: &Options) -> Result<Analysis, OptionError> {
    Ok(analysis(Question::Reordering))
}

/// Starts `lock-order`.
pub(crate) fn start_lock_order(_: &Options) -> Result<Analysis, OptionError> {
    Ok(analysis(Question::LockOrder))
}

/// The analysis behind `deadlock` and `lock-order`.
fn analysis(question: Question) -> Analysis {
    Analysis::new(First { question, survey: Survey::default() })
}

/// The first pass: in which orders locks are taken.
struct First {
    question: Question,
    survey: Survey,
}

impl Pass for First {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.survey, blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let First { question, survey } = *self;
        if question == Question::Reordering && survey.ends_waiting() {
            let next = survey.into_collection(question, STEPS);
            return After::Pass(Box::new(Observing { held: Held::default(), question, next }));
        }
        match survey.into_collection(question, STEPS) {
            Some(collection) => After::Pass(Box::new(Second { question, collection })),
            None => After::Done(Box::new(First { question, survey: Survey::default() })), // locks are taken in one order
        }
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        3 + DOUBTS
    }
}

/// The second pass: where threads take locks in orders that form a cycle.
pub(super) struct Second {
    pub(super) question: Question,
    pub(super) collection: Collection,
}

impl Pass for Second {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.collection, blocks, checked);
    }

    /// What reads of a recording saw may not be known.
    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        let deadlocks = self.collection.deadlocks(self.question.verdict());
        deadlocks.for_each(|deadlock| findings.report(deadlock));
        doubt(symbols, findings, Census::everything(), self)
    }

    fn readings(&self) -> u32 {
        1 + DOUBTS
    }

    fn state_bytes(&self) -> usize {
        self.collection.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.collection.figures().to_vec()
    }

    fn remarks(&self, _: &Findings) -> Vec<String> {
        match self.collection.is_incomplete() {
            true => vec![format!(
                "locks are taken in so many orders that the search for cycles stopped after {STEPS} steps; \
                 there may be more deadlocks"
            )],
            false => Vec::new(),
        }
    }
}
