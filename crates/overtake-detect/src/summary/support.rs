//! Which of some suspected races can happen: those with a schedule, sync-preserving, by sync-reversal or by saturation.

use super::analysis::Method;
use super::doubt;
use super::finder::Candidate;
use super::search::{READINGS, Search};
use crate::race::Race;
use crate::syncp::Census;

/// How often a search for schedules reads the trace, at most.
pub(crate) const SUPPORT_READINGS: u32 = READINGS + doubt::READINGS;

/// A search for schedules of these races. `census` says what can matter for them. `figures` are kept for people.
pub(crate) fn support(suspected: &[Race], census: Census, figures: Vec<(&'static str, u64)>) -> Search {
    let candidate = |(question, race): (u64, &Race)| {
        let Race { var, first, second, .. } = *race;
        Candidate { var, first, second, is_known: false, question }
    };
    let candidates = (0..).zip(suspected).map(candidate).collect();
    Search::new(Method::Support, census, candidates, 0).with_figures(figures)
}
