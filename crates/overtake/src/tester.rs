//! The property tester (`rpt`): a sealed trace is read only where windows lie.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use overtake_detect::{Entry, Limits, Options, Plan, Refined, Stop, Strictness, Tested, refine, test};
use overtake_report::{Analysed, Findings};

use crate::examine::NOTHING;
use crate::files::{Input, Sealed};
use crate::{Error, Listener};

/// Epsilon to begin with where it is made smaller step by step and none is given.
const FIRST_EPSILON: f64 = 0.1;

/// How long the tester goes on. With a limit it goes on with ever smaller epsilon and delta, and stops at the first race.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Effort {
    /// So much time.
    pub until: Option<Duration>,
    /// So many events are read.
    pub budget: Option<u64>,
    /// It starts with the epsilon of the options instead of a large one.
    pub has_epsilon: bool,
}

/// A trace with what the tester made of it.
pub struct TestedTrace {
    sealed: Sealed,
    entry: &'static Entry,
    plan: Plan,
    tested: Tested,
    events_read: u64,
    remarks: Vec<String>,
    time: Duration,
}

impl TestedTrace {
    /// Tests the trace.
    pub fn of(
        input: &mut Input,
        entry: &'static Entry,
        options: &Options,
        effort: &Effort,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<TestedTrace, Error> {
        let start = Instant::now();
        let steps = effort.until.is_some() || effort.budget.is_some();
        let Options { epsilon, delta, seed, judge, .. } = *options;
        let epsilon = if steps && !effort.has_epsilon { FIRST_EPSILON } else { epsilon };
        Plan::new(overtake_trace::Parameters::default(), epsilon, delta, seed)?;
        let sealed = input.sealed(strictness, listener)?;
        if sealed.file.parameters().events == 0 {
            return Err(input.failure(NOTHING));
        }
        let plan = Plan::new(sealed.file.parameters(), epsilon, delta, seed)?;
        let failure = |error| Error::in_file(sealed.facts.file.as_ref(), error);
        let workers = workers();
        let mut remarks = Vec::new();
        let (plan, tested, events_read) = match steps {
            false => {
                let tested = test(&sealed, &plan, judge, workers, Stop::default()).map_err(failure)?;
                let events = tested.events;
                (plan, tested, events)
            }
            true => {
                let until = effort.until.map(|time| start + time);
                let limits = Limits { until, budget: effort.budget };
                let least = plan.events();
                let refined = refine(&sealed, plan, judge, workers, limits).map_err(failure)?;
                let Refined { plan: Some(plan), tested: Some(tested), steps, events } = refined else {
                    return Err(too_tight(epsilon, delta, least));
                };
                remarks
                    .push(format!("step {steps} with epsilon = {} and delta = {}", plan.epsilon, plan.delta));
                (plan, tested, events)
            }
        };
        remarks.extend(plan.remarks(judge, events_read, !tested.races.is_empty()));
        remarks.push(again(&sealed, &plan, judge.name()));
        Ok(TestedTrace { sealed, entry, plan, tested, events_read, remarks, time: start.elapsed() })
    }

    /// The results as renderers take them.
    pub fn analysed(&self) -> Analysed<'_> {
        let mut figures = self.plan.figures();
        figures.push(("bytes read", self.sealed.file.bytes_read()));
        figures.push(("bytes of the file", self.sealed.file.bytes_total()));
        figures.push(("repairs in windows", self.tested.repairs));
        let findings = Findings {
            detector: self.entry,
            races: &self.tested.races,
            figures,
            remarks: self.remarks.clone(),
            time: self.time,
            events_read: self.events_read,
            peak_state_bytes: self.tested.peak_state_bytes,
        };
        Analysed {
            trace: &self.sealed.facts,
            symbols: &self.tested.symbols,
            findings: vec![findings],
            time: self.time,
        }
    }
}

/// How many windows are judged at the same time.
pub fn workers() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The command that draws the same windows.
fn again(sealed: &Sealed, plan: &Plan, judge: &str) -> String {
    let Plan { epsilon, delta, seed, .. } = plan;
    let file = &sealed.facts.file;
    format!(
        "again: overtake analyze {file} -d rpt --epsilon {epsilon} --delta {delta} --seed {seed} --judge {judge}"
    )
}

fn too_tight(epsilon: f64, delta: f64, least: u64) -> Error {
    Error::usage(format!(
        "expected time or a budget for at least the {least} events of epsilon {epsilon} and delta {delta}, found less"
    ))
}
