//! Which of some suspected races can happen: those with a schedule, sync-preserving, by sync-reversal or by saturation.

use overtake_trace::{Checked, Symbols};

use super::analysis::Method;
use super::doubt;
use super::finder::Candidate;
use super::search::{READINGS, Search};
use crate::findings::Findings;
use crate::passes::{After, Pass};
use crate::race::Race;
use crate::run::{LiveBlocks, visit};
use crate::syncp::Survey;

/// The survey before the search: what can matter for schedules.
pub(crate) struct Support {
    survey: Survey,
    candidates: Vec<Candidate>,
    figures: Vec<(&'static str, u64)>,
}

impl Support {
    /// How often the trace is read, at most.
    pub(crate) const READINGS: u32 = 1 + READINGS + doubt::READINGS;

    /// A search for schedules of these races. `figures` are kept for people.
    pub(crate) fn new(suspected: &[Race], figures: Vec<(&'static str, u64)>) -> Support {
        let candidate = |(question, race): (u64, &Race)| {
            let Race { var, first, second, .. } = *race;
            Candidate { var, first, second, is_known: false, question }
        };
        let candidates = (0..).zip(suspected).map(candidate).collect();
        Support { survey: Survey::new(true), candidates, figures }
    }
}

impl Pass for Support {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.survey, blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let Support { survey, candidates, figures } = *self;
        let search = Search::new(Method::Support, survey.into_census(), candidates, 0);
        After::Pass(Box::new(search.with_figures(figures)))
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        Support::READINGS
    }
}
