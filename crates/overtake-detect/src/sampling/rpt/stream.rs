//! The tester over a trace that passes by: once to count, once to judge the windows.

use overtake_rules::HoldingCount;
use overtake_trace::{Checked, Op, Parameters};

use super::judge::WindowJudge;
use super::plan::Plan;
use crate::findings::Findings;
use crate::registry::{Analysis, OptionError, Options, Outcome};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Plan::new(Parameters::default(), options.epsilon, options.delta, options.seed)?;
    Ok(Box::new(StreamTester {
        options: options.clone(),
        stage: Stage::Counting { parameters: Parameters::default(), holdings: HoldingCount::default() },
        judge: options.judge.start(),
        races: Findings::new(),
    }))
}

struct StreamTester {
    options: Options,
    stage: Stage,
    judge: Box<dyn WindowJudge>,
    races: Findings,
}

enum Stage {
    Counting {
        parameters: Parameters,
        holdings: HoldingCount,
    },
    Judging {
        plan: Plan,
        /// The window that is next or has begun.
        window: usize,
    },
}

impl Analysis for StreamTester {
    fn feed(&mut self, checked: &Checked<'_>) {
        match &mut self.stage {
            Stage::Counting { parameters, holdings } => count(parameters, holdings, checked),
            Stage::Judging { plan, window } => {
                let (first, end) = (checked.first().0, checked.first().0 + checked.len() as u64);
                while let Some(range) = plan.windows.get(*window)
                    && range.start < end
                {
                    if range.start >= first {
                        self.judge.begin(range.start);
                    }
                    self.judge.feed(checked, range.clone(), &mut self.races);
                    if range.end > end {
                        break;
                    }
                    self.judge.end(checked.symbols(), &mut self.races);
                    *window += 1;
                }
            }
        }
    }

    fn end_of_trace(&mut self) -> Outcome {
        let Stage::Counting { parameters, .. } = &self.stage else { return Outcome::Done };
        let Options { epsilon, delta, seed, .. } = self.options;
        let Ok(plan) = Plan::new(*parameters, epsilon, delta, seed) else { return Outcome::Done };
        self.stage = Stage::Judging { plan, window: 0 };
        Outcome::AnotherPass
    }

    fn findings(&self) -> &Findings {
        &self.races
    }

    fn state_bytes(&self) -> usize {
        self.judge.state_bytes()
    }

    fn passes(&self) -> u32 {
        2
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        match &self.stage {
            Stage::Counting { .. } => Vec::new(),
            Stage::Judging { plan, .. } => plan.figures(),
        }
    }

    fn remarks(&self) -> Vec<String> {
        match &self.stage {
            Stage::Counting { .. } => Vec::new(),
            Stage::Judging { plan, .. } => {
                plan.remarks(self.options.judge, plan.events(), !self.races.is_empty())
            }
        }
    }
}

/// Counts events, threads and the most locks held at once. The checker has made sure that each acquire begins a holding and each release
/// ends one, so that numbers are enough and no lock has to be looked up.
fn count(parameters: &mut Parameters, holdings: &mut HoldingCount, checked: &Checked<'_>) {
    parameters.events += checked.len() as u64;
    parameters.threads = checked.symbols().sizes().threads as u64;
    for event in checked.runs().flat_map(|run| run.events) {
        match event.op() {
            Op::Acquire | Op::AcquireShared => holdings.begin(),
            Op::Release | Op::ReleaseShared => holdings.end(),
            _ => {}
        }
    }
    parameters.most_held = holdings.most_held;
}
