//! `rpt` as its row in the registry starts it: one test, or ever finer ones within limits.

use overtake_trace::{Error, Parameters};

use super::plan::Plan;
use super::refine::{Limits, Refined, refine};
use super::tester::{RandomAccess, Stop, Tested, test};
use crate::settings::{OptionError, Options};

/// Epsilon to begin with where it is made smaller step by step and none is given.
const FIRST_EPSILON: f64 = 0.1;

/// How much work a detector that reads windows may do.
#[derive(Clone, Copy, Default, Debug)]
pub struct Effort<'a> {
    /// With a limit the detector goes on, ever finer, until it finds a race or reaches the limit.
    pub limits: Limits,
    /// Names of the settings that were chosen. The detector may begin with another value of the others.
    pub given: &'a [&'static str],
    /// How many windows are judged at the same time.
    pub workers: usize,
}

/// What a detector that reads windows found.
#[derive(Debug)]
pub struct Sample {
    /// What the last windows show.
    pub tested: Tested,
    /// The settings with which exactly these windows are drawn again.
    pub options: Options,
    /// Events read, all steps together.
    pub events_read: u64,
    /// What was counted, for those who compare detectors.
    pub figures: Vec<(&'static str, u64)>,
    /// What the result means, in sentences.
    pub remarks: Vec<String>,
}

/// Why a sample could not be taken.
#[derive(Debug)]
pub enum SampleError {
    /// The settings do not allow it.
    Options(OptionError),
    /// The trace cannot be read.
    Trace(Error),
}

impl From<OptionError> for SampleError {
    fn from(error: OptionError) -> Self {
        SampleError::Options(error)
    }
}

impl From<Error> for SampleError {
    fn from(error: Error) -> Self {
        SampleError::Trace(error)
    }
}

/// Tests a trace with these parameters.
pub(crate) fn sample(
    source: &dyn RandomAccess,
    parameters: Parameters,
    options: &Options,
    effort: &Effort<'_>,
) -> Result<Sample, SampleError> {
    let Effort { limits, workers, .. } = *effort;
    let is_limited = limits.until.is_some() || limits.budget.is_some();
    let Options { mut epsilon, delta, seed, judge, .. } = *options;
    if is_limited && !effort.given.contains(&"epsilon") {
        epsilon = FIRST_EPSILON;
    }
    let mut plan = Plan::new(parameters, epsilon, delta, seed)?;
    let mut remarks = Vec::new();
    let (tested, events_read) = if is_limited {
        let least = plan.events();
        let refined = refine(source, plan, judge, workers, limits)?;
        let Refined { plan: Some(last), tested: Some(tested), steps, events } = refined else {
            return Err(too_tight(epsilon, delta, least).into());
        };
        remarks.push(format!("step {steps} with epsilon = {} and delta = {}", last.epsilon, last.delta));
        plan = last;
        (tested, events)
    } else {
        let tested = test(source, &plan, judge, workers, Stop::default())?;
        let events = tested.events;
        (tested, events)
    };
    remarks.extend(plan.remarks(judge, events_read, !tested.races.is_empty()));
    let options = Options { epsilon: plan.epsilon, delta: plan.delta, ..options.clone() };
    Ok(Sample { tested, options, events_read, figures: plan.figures(), remarks })
}

fn too_tight(epsilon: f64, delta: f64, least: u64) -> OptionError {
    OptionError(format!(
        "expected time or a budget for at least the {least} events of epsilon {epsilon} and delta {delta}, found less"
    ))
}
