//! `windowed`: a trace cut into pieces of equal length, each judged as if there were nothing else.
//!
//! **Source.** This is how windows were used before short races had algorithms of their own, and what those are compared with.
//! **Answer.** The races of each piece. Every report is a race of the whole trace; a race across a cut is missed, however close its accesses are.
//! **State.** That of a judge of windows (`judge.rs`), which forgets everything at a cut.

use overtake_trace::{Checked, Symbols};

use super::judge::WindowJudge;
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::LiveBlocks;
use crate::settings::{OptionError, Options};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(Analysis::new(Pieces { length: options.window.max(1), begun: None, judge: options.judge.start() }))
}

struct Pieces {
    length: u64,
    /// Where the present piece begins.
    begun: Option<u64>,
    judge: Box<dyn WindowJudge>,
}

impl Pass for Pieces {
    fn feed(&mut self, checked: &Checked<'_>, _: &mut LiveBlocks, findings: &mut Findings) {
        let (mut at, end) = (checked.first().0, checked.first().0 + checked.len() as u64);
        while at < end {
            let piece = at - at % self.length;
            if self.begun != Some(piece) {
                if self.begun.replace(piece).is_some() {
                    self.judge.end(checked.symbols(), findings);
                }
                self.judge.begin(piece);
            }
            let stop = piece.saturating_add(self.length).min(end);
            self.judge.feed(checked, at..stop, findings);
            at = stop;
        }
    }

    fn end(mut self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        if self.begun.is_some() {
            self.judge.end(symbols, findings);
        }
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.judge.state_bytes()
    }
}
