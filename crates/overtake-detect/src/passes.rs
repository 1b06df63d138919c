//! How an analysis reads a trace: in one pass or several, by one mechanism.
//!
//! An [`Analysis`] is a chain of passes over the same events. A [`Pass`] sees the whole trace, block by block; at its end
//! it is done or makes the next pass, which begins with what it found out. The analysis keeps what all passes share: the
//! log of findings, and which heap blocks are allocated.
//!
//! A detector may do the work of another one on the way. Where both are wanted, a pass can end with a [`After::Split`]: from there on
//! the other one is an analysis of its own, with what was found until then.

use std::ops::Range;

use overtake_trace::{Checked, Symbols, VarId};

use crate::detector::Detector;
use crate::findings::Findings;
use crate::links::News;
use crate::race::Verdict;
use crate::run::{LiveBlocks, feed};
use crate::succession::Succession;

/// What remains to be done after a pass over the trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The log is complete.
    Done,
    /// The analysis needs to see the trace again, from the start.
    AnotherPass,
}

/// One reading of the whole trace, whatever reads it: one virtual call per block, none per event.
pub trait Pass {
    /// Takes the next checked block. `blocks` are the heap blocks allocated before it in this pass.
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings);

    /// No further event names these variables.
    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        let _ = ended;
    }

    /// The trace is over, and all its names are known.
    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After;

    /// Bytes of state held now.
    fn state_bytes(&self) -> usize;

    /// How often the trace is read from this pass on, at most: an input that can be read only once is kept for the others.
    fn readings(&self) -> u32 {
        1
    }

    /// Figures of the detector's own, for people: `("clock joins", 1234)`.
    fn figures(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }

    /// What people must know to understand the result, a sentence each.
    fn remarks(&self, findings: &Findings) -> Vec<String> {
        let _ = findings;
        Vec::new()
    }

    /// The trace is over for this worker: what others must know before the pass ends. Asked only where workers share the variables
    /// (`links.rs`).
    fn news(&mut self, symbols: &Symbols, findings: &Findings) -> News {
        let _ = (symbols, findings);
        News::default()
    }

    /// Takes the news of all workers, its own too. Fails with the reason if one worker has to see everything.
    fn hear(&mut self, words: &[Vec<u64>], symbols: &Symbols) -> Result<(), &'static str> {
        let _ = (words, symbols);
        Ok(())
    }
}

/// What comes after a pass.
pub enum After {
    /// Nothing: this was the last one, kept for its figures.
    Done(Box<dyn Pass>),
    /// Another pass.
    Pass(Box<dyn Pass>),
    /// Two analyses go on from here.
    Split {
        /// What comes in this one.
        own: Box<After>,
        /// What comes in the one of the detector whose work was done on the way.
        included: Box<After>,
        /// What that one has found.
        found: Box<Findings>,
    },
}

/// A detector at work on one trace, in as many passes as it needs.
pub struct Analysis {
    pass: Box<dyn Pass>,
    blocks: LiveBlocks,
    findings: Findings,
    /// The analysis of the detector whose work was done on the way, if it is wanted, until it is taken.
    included: Option<Box<(Analysis, Outcome)>>,
    /// If threads that come one after the other share a number.
    succession: Option<Succession>,
    /// What to say if they do and a race is called possible, and whether they do.
    on_sharing: Option<&'static str>,
    shares_numbers: bool,
}

impl Analysis {
    /// An analysis that begins with `first`.
    pub fn new(first: impl Pass + 'static) -> Analysis {
        Analysis::going_on(Box::new(first), Findings::new())
    }

    fn going_on(pass: Box<dyn Pass>, findings: Findings) -> Analysis {
        Analysis {
            pass,
            blocks: LiveBlocks::new(),
            findings,
            included: None,
            succession: None,
            on_sharing: None,
            shares_numbers: false,
        }
    }

    /// Stands in for an analysis that another one does on the way.
    pub(crate) fn included_elsewhere() -> Analysis {
        Analysis::new(Nothing)
    }

    /// The analysis of the detector whose work was done on the way, and what remains to be done in it.
    pub(crate) fn take_included(&mut self) -> Option<(Analysis, Outcome)> {
        self.included.take().map(|included| *included)
    }

    /// The same analysis, in which threads that come one after the other share a number after so many threads.
    pub(crate) fn sharing_numbers_after(self, own_numbers: u64) -> Analysis {
        Analysis { succession: Some(Succession::after(own_numbers)), ..self }
    }

    /// The same analysis, which says this if threads share a number and a race is called possible.
    pub(crate) fn remarking_on_sharing(self, remark: &'static str) -> Analysis {
        Analysis { on_sharing: Some(remark), ..self }
    }

    /// An analysis in one pass, in which the detector sees every event.
    pub fn one_pass(detector: impl Detector + 'static) -> Analysis {
        Analysis::new(Detection(detector))
    }

    /// Takes the next checked block.
    pub fn feed(&mut self, checked: &Checked<'_>) {
        let Analysis { pass, blocks, findings, succession, .. } = self;
        match succession {
            None => pass.feed(checked, blocks, findings),
            Some(succession) => {
                succession.renumber(checked, |renumbered| pass.feed(renumbered, blocks, findings));
            }
        }
    }

    /// No event behind what was taken names these variables: what is kept of them may be forgotten.
    pub fn end_variables(&mut self, ended: &[Range<VarId>]) {
        if !ended.is_empty() {
            self.pass.end_variables(ended);
        }
    }

    /// What other workers must know before [`end_of_trace`](Self::end_of_trace).
    pub fn news(&mut self, symbols: &Symbols) -> News {
        self.pass.news(symbols, &self.findings)
    }

    /// Takes the news of all workers. Fails with the reason if one worker has to do everything.
    pub fn hear(&mut self, words: &[Vec<u64>], symbols: &Symbols) -> Result<(), &'static str> {
        self.pass.hear(words, symbols)
    }

    /// The trace is over; `symbols` are its names.
    pub fn end_of_trace(&mut self, symbols: &Symbols) -> Outcome {
        let readings = self.pass.readings();
        let pass = std::mem::replace(&mut self.pass, Box::new(Nothing));
        self.blocks = LiveBlocks::new();
        let after = pass.end(symbols, &mut self.findings);
        self.go_on(after, readings, symbols)
    }

    fn go_on(&mut self, after: After, readings: u32, symbols: &Symbols) -> Outcome {
        match after {
            After::Split { own, included, found } => {
                let mut other = Analysis::going_on(Box::new(Nothing), *found);
                other.succession.clone_from(&self.succession);
                let outcome = other.go_on(*included, readings, symbols);
                self.included = Some(Box::new((other, outcome)));
                self.go_on(*own, readings, symbols)
            }
            After::Done(last) => {
                self.pass = last;
                self.name(symbols);
                Outcome::Done
            }
            After::Pass(next) => {
                debug_assert!(next.readings() < readings, "more passes than the first one announced");
                self.pass = next;
                self.succession.iter_mut().for_each(Succession::begin_pass);
                Outcome::AnotherPass
            }
        }
    }

    /// The analysis is stopped in the middle of a pass: what it found until now is named, and nothing more is looked at.
    pub fn abandon(&mut self, symbols: &Symbols) {
        self.name(symbols);
    }

    /// Findings get the names of the trace.
    fn name(&mut self, symbols: &Symbols) {
        self.findings.name_elements(symbols);
        if let Some(succession) = self.succession.take().filter(|succession| !succession.is_empty()) {
            self.findings.name_threads(&|at| succession.name(at));
            self.shares_numbers = true;
        }
    }

    /// What was found so far.
    pub fn findings(&self) -> &Findings {
        &self.findings
    }

    /// Bytes of state held now.
    pub fn state_bytes(&self) -> usize {
        self.pass.state_bytes()
    }

    /// How often it asks to see the trace from now on, at most: an input that can be read only once is kept for it.
    pub fn readings(&self) -> u32 {
        self.pass.readings()
    }

    /// Figures of the detector's own, for people.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        self.pass.figures()
    }

    /// What people must know to understand the result, a sentence each.
    pub fn remarks(&self) -> Vec<String> {
        let is_possible = |group: &crate::RaceGroup| group.surest.verdict == Verdict::Possible;
        let may_be_sure = self.shares_numbers && self.findings.groups().iter().any(is_possible);
        let on_sharing = self.on_sharing.filter(|_| may_be_sure).map(str::to_owned);
        self.pass.remarks(&self.findings).into_iter().chain(on_sharing).collect()
    }
}

/// The pass of a detector that needs no other.
pub(crate) struct Detection<D>(pub(crate) D);

impl<D: Detector + 'static> Pass for Detection<D> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        self.0.end_variables(ended);
    }

    fn end(mut self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        self.0.finish(findings);
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.0.figures()
    }
}

/// Stands in for a pass that is ending.
struct Nothing;

impl Pass for Nothing {
    fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        0
    }
}
