//! Test after test with ever smaller epsilon and delta, until a race is found or no time or budget is left.
//!
//! The paper recommends this to practitioners: few races need a small epsilon, and how small is not known in advance. Each
//! step halves both, so a step reads about four times as many events as the one before, and all steps together a third
//! more than the last one.

use std::time::Instant;

use overtake_trace::Result;

use super::judge::Judge;
use super::plan::Plan;
use super::tester::{RandomAccess, Stop, Tested, test};

/// When to stop.
#[derive(Clone, Copy, Default, Debug)]
pub struct Limits {
    /// Not longer than this.
    pub until: Option<Instant>,
    /// Not more events than this, all steps together.
    pub budget: Option<u64>,
}

/// What came of it.
#[derive(Debug)]
pub struct Refined {
    /// The last plan whose windows were all judged, or in one of whose windows a race was found; none if the limits
    /// were too tight even for the first.
    pub plan: Option<Plan>,
    /// Steps begun.
    pub steps: u64,
    /// Events read, all steps together.
    pub events: u64,
    /// What the last complete step found.
    pub tested: Option<Tested>,
}

/// Delta is not made smaller than this: it costs time and changes nothing any more.
const SMALLEST_DELTA: f64 = 1e-9;

/// Tests with smaller and smaller epsilon and delta, beginning with `first`.
pub fn refine(
    source: &dyn RandomAccess,
    first: Plan,
    judge: Judge,
    workers: usize,
    limits: Limits,
) -> Result<Refined> {
    let mut refined = Refined { plan: None, steps: 0, events: 0, tested: None };
    let mut next = Some(first);
    while let Some(plan) = next.take() {
        if limits.budget.is_some_and(|budget| refined.events + plan.events() > budget) {
            break;
        }
        refined.steps += 1;
        let tested = test(source, &plan, judge, workers, Stop { at_first_race: true, at: limits.until })?;
        refined.events += tested.events;
        if !tested.is_complete && tested.races.is_empty() {
            break;
        }
        if tested.races.is_empty() && !plan.is_whole {
            next = smaller(&plan);
        }
        (refined.plan, refined.tested) = (Some(plan), Some(tested));
    }
    Ok(refined)
}

/// The plan of the next step; none if epsilon cannot be made smaller.
fn smaller(plan: &Plan) -> Option<Plan> {
    let delta = (plan.delta / 2.0).max(SMALLEST_DELTA);
    Plan::new(plan.parameters, plan.epsilon / 2.0, delta, plan.seed).ok()
}
