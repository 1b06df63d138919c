//! `syncp` by several workers, each with some of the variables.
//!
//! **Passes.** The survey of `filter.rs` finds, beside what matters, the reads of the worker's variables that see writes which their threads do
//! not know otherwise (`links.rs`); then the detector judges the worker's variables, and follows these edges of all variables. Clocks of the survey do not
//! know the edges of others yet, so it may keep variables that a survey of everything drops. That changes no verdict.
//! **Recordings** in which races are predicted need to know what racy reads of any variable saw: one worker does it.

use overtake_trace::{Checked, Symbols};

use super::core::SyncPreserving;
use super::filter::{Census, Survey};
use crate::access::At;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::links::{Finder, News, OwnVariables, WithAccess};
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, visit};
use crate::settings::{OptionError, Options};
use crate::visitor::{Reporting, Touch, Visitor};

/// Starts the analysis of a worker that has these variables.
pub(crate) fn start(_: &Options, own: OwnVariables) -> Result<Analysis, OptionError> {
    let (survey, census) = (Survey::new(true), Census::default());
    Ok(Analysis::new(Surveying { survey, finder: Finder::new(own), census, any_is_open: true }))
}

/// The first pass.
struct Surveying {
    survey: Survey,
    finder: Finder,
    /// What was found out, at the end.
    census: Census,
    /// Some variable of some worker can have races.
    any_is_open: bool,
}

impl Pass for Surveying {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        let Surveying { survey, finder, .. } = self;
        finder.reserve(checked.symbols().sizes().variables);
        let mut survey = WithAccess {
            visitor: survey,
            access: |survey: &mut Survey, at: At, touch: Touch<'_>| survey.find_links(finder, at, touch),
        };
        visit(&mut survey, blocks, checked);
    }

    fn news(&mut self, symbols: &Symbols, _: &Findings) -> News {
        self.census = std::mem::replace(&mut self.survey, Survey::new(true)).into_census();
        self.census.look_at(symbols);
        News { marked: self.finder.take_marked(), words: self.census.to_words() }
    }

    fn hear(&mut self, words: &[Vec<u64>], _: &Symbols) -> Result<(), &'static str> {
        self.any_is_open = words.iter().any(|words| words.first() == Some(&1));
        self.census.hear(words);
        Ok(())
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let Surveying { finder, census, any_is_open, .. } = *self;
        let own_is_open = census.any_variable_is_open();
        let detector = SyncPreserving::new(u64::MAX, census);
        let judging = Box::new(Judging { detector, own: finder.into_own(), own_is_open });
        if any_is_open { After::Pass(judging) } else { After::Done(judging) }
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes() + self.finder.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass.
struct Judging {
    detector: SyncPreserving<false>,
    own: OwnVariables,
    /// Some variable of this worker can have races.
    own_is_open: bool,
}

impl Pass for Judging {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        let Judging { detector, own, own_is_open } = self;
        if !*own_is_open {
            return;
        }
        if detector.census.no_block_matters {
            blocks.leave_out();
        }
        let mut visitor = WithAccess {
            visitor: &mut Reporting { detector, findings },
            access: |reporting: &mut Reporting<'_, SyncPreserving<false>>, at: At, touch: Touch<'_>| match own
                .has(touch.var)
            {
                true => reporting.access(at, touch),
                false => reporting.detector.follow(at, touch),
            },
        };
        visit(&mut visitor, blocks, checked);
    }

    fn news(&mut self, _: &Symbols, _: &Findings) -> News {
        News { words: vec![self.detector.predicted()], ..News::default() }
    }

    fn hear(&mut self, words: &[Vec<u64>], symbols: &Symbols) -> Result<(), &'static str> {
        let predicts = words.iter().flatten().any(|predicted| *predicted > 0);
        match predicts && symbols.program.is_recorded() {
            true => Err("in recordings, one worker finds out what racy reads may have seen"),
            false => Ok(()),
        }
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(&self.detector)
    }
}
