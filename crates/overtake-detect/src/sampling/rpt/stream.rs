//! The tester over a trace that passes by: once to count, once to judge the windows.

use overtake_rules::HoldingCount;
use overtake_trace::{Checked, Op, Parameters, Symbols};

use super::judge::{Judge, WindowJudge};
use super::plan::Plan;
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::LiveBlocks;
use crate::settings::{OptionError, Options};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Plan::new(Parameters::default(), options.epsilon, options.delta, options.seed)?;
    Ok(Analysis::new(Counting {
        options: options.clone(),
        parameters: Parameters::default(),
        holdings: HoldingCount::default(),
    }))
}

/// The first pass.
struct Counting {
    options: Options,
    parameters: Parameters,
    holdings: HoldingCount,
}

impl Pass for Counting {
    fn feed(&mut self, checked: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {
        count(&mut self.parameters, &mut self.holdings, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let Options { epsilon, delta, seed, judge, .. } = self.options;
        match Plan::new(self.parameters, epsilon, delta, seed) {
            Ok(plan) => {
                let windows = Windows { plan, next: 0, question: judge, judge: judge.start() };
                After::Pass(Box::new(windows))
            }
            Err(_) => After::Done(self), // the options were tried at the start
        }
    }

    fn state_bytes(&self) -> usize {
        0
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass.
struct Windows {
    plan: Plan,
    /// The window that is next or has begun.
    next: usize,
    question: Judge,
    judge: Box<dyn WindowJudge>,
}

impl Pass for Windows {
    fn feed(&mut self, checked: &Checked<'_>, _: &mut LiveBlocks, findings: &mut Findings) {
        let (first, end) = (checked.first().0, checked.first().0 + checked.len() as u64);
        while let Some(range) = self.plan.windows.get(self.next)
            && range.start < end
        {
            if range.start >= first {
                self.judge.begin(range.start);
            }
            self.judge.feed(checked, range.clone(), findings);
            if range.end > end {
                break;
            }
            self.judge.end(checked.symbols(), findings);
            self.next += 1;
        }
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.judge.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.plan.figures()
    }

    fn remarks(&self, findings: &Findings) -> Vec<String> {
        self.plan.remarks(self.question, self.plan.events(), !findings.is_empty())
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
