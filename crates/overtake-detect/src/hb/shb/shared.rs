//! Schedulable races by several workers, each with some of the variables.
//!
//! **Passes.** The first one judges by clocks that know what reads of the worker's own variables see (`links.rs`). If no worker has such a read that
//! learns something, as in traces without a race between a write and a read, these clocks know everything and the answer is complete. Else a
//! second pass judges again, with the edges of all variables.
//! **Recordings** with races need to know which variables race before the races are judged: one worker does it.

use overtake_trace::{Checked, Symbols};

use super::Schedulable;
use crate::access::At;
use crate::detector::Detector;
use crate::findings::Findings;
use crate::links::{Finder, News, OwnVariables, WithAccess};
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, visit};
use crate::settings::{OptionError, Options};
use crate::visitor::{Reporting, Touch, Visitor};

type Reporter<'a> = Reporting<'a, Schedulable>;

/// Starts the analysis of a worker that has these variables.
pub(crate) fn start(_: &Options, own: OwnVariables) -> Result<Analysis, OptionError> {
    let detector = Schedulable::default();
    Ok(Analysis::new(Linking { detector, finder: Finder::new(own), any_marked: false }))
}

/// The first pass.
struct Linking {
    detector: Schedulable,
    finder: Finder,
    /// Some worker has marked an event.
    any_marked: bool,
}

impl Pass for Linking {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        let Linking { detector, finder, .. } = self;
        finder.reserve(checked.symbols().sizes().variables);
        let mut visitor = WithAccess {
            visitor: &mut Reporting { detector, findings },
            access: |Reporting { detector, findings }: &mut Reporter<'_>, at: At, touch: Touch<'_>| {
                match finder.owns(touch) {
                    true => {
                        let learned = detector.judge(at, touch, findings);
                        finder.end_access(at, touch, learned);
                    }
                    false => detector.follow(at, touch, false),
                }
            },
        };
        visit(&mut visitor, blocks, checked);
    }

    fn news(&mut self, _: &Symbols, findings: &Findings) -> News {
        let marked = self.finder.take_marked();
        News { words: [!marked.is_empty(), !findings.is_empty()].map(u64::from).to_vec(), marked }
    }

    fn hear(&mut self, words: &[Vec<u64>], symbols: &Symbols) -> Result<(), &'static str> {
        let any = |at: usize| words.iter().any(|words| words.get(at) == Some(&1));
        self.any_marked = any(0);
        match any(1) && symbols.program.is_recorded() {
            true => Err("in recordings, one worker finds out which races hinge on racy reads"),
            false => Ok(()),
        }
    }

    fn end(self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        if !self.any_marked {
            return After::Done(self);
        }
        *findings = Findings::new();
        After::Pass(Box::new(Judging { detector: Schedulable::default(), own: self.finder.into_own() }))
    }

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes() + self.finder.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass.
struct Judging {
    detector: Schedulable,
    own: OwnVariables,
}

impl Pass for Judging {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        let Judging { detector, own } = self;
        let mut visitor = WithAccess {
            visitor: &mut Reporting { detector, findings },
            access: |reporter: &mut Reporter<'_>, at: At, touch: Touch<'_>| match own.has(touch.var) {
                true => reporter.access(at, touch),
                false => reporter.detector.follow(at, touch, true),
            },
        };
        visit(&mut visitor, blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.detector.state_bytes()
    }
}
