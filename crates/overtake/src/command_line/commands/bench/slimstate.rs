//! `overtake bench slimstate`: what sharing state between array elements saves, on every pattern of array accesses.
//!
//! Each pattern is a generated trace that `fasttrack` and `slimstate` with either kind of partitions read in turn. Ratios are
//! to `fasttrack`, whose checks are one per access and whose cells are one per element.

use std::time::Duration;

use overtake::{Error, Listener};
use overtake_detect::{Driver, Options, Outcome as Pass, Partitions, Strictness, find};
use overtake_gen::{Parameters, SHAPES, Shape, Workload};
use overtake_report::{Goal, Measurement, text};
use overtake_trace::{Action, Block, EventSource, Variable};

use super::lab::median;
use crate::command_line::args::SlimstateArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Goals of the geometric means over all patterns, as ratios to `fasttrack`.
const TIME_GOAL: f64 = 0.83;
const STATE_GOAL: f64 = 0.65;
/// What regular sweeps may cost, as a ratio to `fasttrack`, in checks and in state.
const SWEEP_GOAL: f64 = 0.01;
const SWEEPS: [&str; 3] = ["array-whole", "array-blocks", "array-strided"];
/// What accesses without a pattern, or with one that does not divide the array evenly, may cost, in time and in state.
const RANDOM_GOAL: f64 = 1.1;
const RANDOM: [&str; 2] = ["array-random", "array-sparse"];
/// Ranges of many lengths and strides, for which the paper has no partition.
const TRIANGULAR: &str = "array-triangular";
/// The average shadow fraction that arbitrary partitions reach.
const FRACTION_GOAL: f64 = 0.13;

/// Measures and prints the tables.
pub(crate) fn run(arguments: &SlimstateArguments, console: Console) -> Outcome {
    let mut patterns = Vec::new();
    for shape in SHAPES.iter().filter(|shape| shape.name.starts_with("array-")) {
        console.say(&format!("measuring {} ({} rounds)", shape.name, arguments.runs));
        patterns.push(Pattern::measure(shape, arguments)?);
    }
    let layout = console.layout(0);
    let total = Pattern::total(&patterns);
    let rows: Vec<_> = patterns.iter().chain([&total]).flat_map(Pattern::rows).collect();
    console.print(&text::figures(&HEADING, &rows, &layout))?;
    console.print("\n")?;
    console.print(&text::bench(&goals(&patterns), &layout))?;
    Ok(Verdict::Fine)
}

const HEADING: [&str; 9] = [
    "pattern",
    "cells / elements",
    "checks",
    "ratio",
    "state",
    "ratio",
    "time",
    "ratio",
    "partitions at the end",
];

/// What the detectors cost on one pattern.
struct Pattern {
    name: &'static str,
    fasttrack: Cost,
    /// By [`Partitions::ALL`].
    slimstate: [Cost; 2],
}

/// What one detector cost.
#[derive(Default)]
struct Cost {
    /// Race checks on elements; all checks while being measured, `None` for one per access.
    checks: Option<u64>,
    state: usize,
    time: Duration,
    /// Time as a ratio to that of `fasttrack` in the same round: the median of all rounds.
    time_ratio: f64,
    elements: u64,
    cells: u64,
    modes: String,
}

impl Pattern {
    fn measure(shape: &'static Shape, arguments: &SlimstateArguments) -> Result<Pattern, Error> {
        let parameters =
            Parameters { events: arguments.events, variables: arguments.elements, ..shape.defaults };
        let detectors = [
            ("fasttrack", Partitions::Paper),
            ("slimstate", Partitions::Paper),
            ("slimstate", Partitions::Extended),
        ];
        let (elements, others) = count_accesses(shape, parameters)?;
        let mut times = [Vec::new(), Vec::new(), Vec::new()];
        let mut costs = [Cost::default(), Cost::default(), Cost::default()];
        for _ in 0..arguments.runs.max(1) {
            for (at, (name, partitions)) in detectors.into_iter().enumerate() {
                costs[at] = cost(shape, parameters, name, partitions)?;
                times[at].push(costs[at].time);
            }
        }
        let yardstick = times[0].clone();
        for (cost, times) in costs.iter_mut().zip(times) {
            cost.time_ratio = median_ratio(&times, &yardstick);
            cost.time = median(times);
            // Accesses to what is no element are checked one by one.
            cost.checks = cost.checks.map_or(Some(elements), |checks| Some(checks.saturating_sub(others)));
        }
        let [fasttrack, paper, extended] = costs;
        Ok(Pattern { name: shape.name, fasttrack, slimstate: [paper, extended] })
    }

    /// All patterns together.
    fn total(patterns: &[Pattern]) -> Pattern {
        let fasttrack = sum(patterns, |pattern| &pattern.fasttrack);
        let slimstate = [0, 1].map(|at| {
            let total = sum(patterns, |pattern| &pattern.slimstate[at]);
            let time_ratio = total.time.as_secs_f64() / fasttrack.time.as_secs_f64().max(1e-9);
            Cost { time_ratio, ..total }
        });
        Pattern { name: "all", fasttrack, slimstate }
    }

    fn fraction(&self, partitions: Partitions) -> f64 {
        let cost = &self.slimstate[partitions as usize];
        cost.cells as f64 / cost.elements.max(1) as f64
    }

    fn checks(&self, partitions: Partitions) -> f64 {
        let checks = |cost: &Cost| cost.checks.unwrap_or(0) as f64;
        checks(&self.slimstate[partitions as usize]) / checks(&self.fasttrack).max(1.0)
    }

    fn state(&self, partitions: Partitions) -> f64 {
        self.slimstate[partitions as usize].state as f64 / self.fasttrack.state.max(1) as f64
    }

    fn time(&self, partitions: Partitions) -> f64 {
        self.slimstate[partitions as usize].time_ratio
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |name: &str, cost: &Cost, ratios: [String; 4]| {
            let [fraction, checks, state, time] = ratios;
            vec![
                format!("{}: {name}", self.name),
                fraction,
                cost.checks.unwrap_or(0).to_string(),
                checks,
                format!("{:.2} MB", cost.state as f64 / 1e6),
                state,
                format!("{:.0} ms", cost.time.as_secs_f64() * 1e3),
                time,
                cost.modes.clone(),
            ]
        };
        let mut rows = vec![row("fasttrack", &self.fasttrack, ["1"; 4].map(str::to_owned))];
        rows.extend(Partitions::ALL.map(|partitions| {
            let ratios = [
                format!("{:.5}", self.fraction(partitions)),
                format!("{:.5}", self.checks(partitions)),
                format!("{:.4}", self.state(partitions)),
                format!("{:.2}", self.time(partitions)),
            ];
            row(partitions.name(), &self.slimstate[partitions as usize], ratios)
        }));
        rows
    }
}

/// What a detector cost on all patterns.
fn sum<'a>(patterns: &'a [Pattern], cost: impl Fn(&'a Pattern) -> &'a Cost) -> Cost {
    let mut total = Cost::default();
    for Cost { checks, state, time, elements, cells, .. } in patterns.iter().map(cost) {
        total.checks = Some(total.checks.unwrap_or(0) + checks.unwrap_or(0));
        total.state += state;
        total.time += *time;
        total.elements += elements;
        total.cells += cells;
    }
    total
}

/// The median of the ratios of times to those of the same rounds of a yardstick. Other work on the machine slows both.
fn median_ratio(times: &[Duration], yardstick: &[Duration]) -> f64 {
    let rounds = times.iter().zip(yardstick);
    let mut ratios: Vec<_> =
        rounds.map(|(time, yardstick)| time.as_secs_f64() / yardstick.as_secs_f64().max(1e-9)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios.get(ratios.len() / 2).copied().unwrap_or(1.0)
}

/// How many accesses of a pattern go to elements, and how many to other variables.
fn count_accesses(shape: &'static Shape, parameters: Parameters) -> Result<(u64, u64), Error> {
    let failure = |error: &dyn std::fmt::Display| Error::failed(format!("{}: {error}", shape.name));
    let mut workload = Workload::new(shape, parameters).map_err(|error| failure(&error))?;
    let (mut block, mut elements, mut others) = (Block::default(), 0, 0);
    while workload.next_block(&mut block).map_err(|error| failure(&error))? {
        let variables = &workload.symbols().variables;
        for event in &block.events {
            let (Action::Read(var) | Action::Write(var)) = event.action() else { continue };
            match variables.get(var) {
                Variable::Element { .. } => elements += 1,
                _ => others += 1,
            }
        }
    }
    Ok((elements, others))
}

/// Runs a detector over a pattern.
fn cost(
    shape: &'static Shape,
    parameters: Parameters,
    name: &str,
    partitions: Partitions,
) -> Result<Cost, Error> {
    let entry = find(name).ok_or_else(|| Error::failed(format!("there is no detector called {name}")))?;
    let mut options = Options::default();
    options.partitions = partitions;
    let mut driver = Driver::start(&[entry], &options, Strictness::Refuse)?;
    let failure = |error: &dyn std::fmt::Display| Error::failed(format!("{}: {error}", shape.name));
    let mut workload = Workload::new(shape, parameters).map_err(|error| failure(&error))?;
    let pass = driver.pass(&mut workload, &mut |_| ()).map_err(|error| failure(&error))?;
    debug_assert_eq!(pass, Pass::Done, "detectors of one pass");
    let job = &driver.jobs()[0];
    let figures = job.figures();
    let figure = |name: &str| figures.iter().find(|(figure, _)| *figure == name).map(|&(_, count)| count);
    let modes = figures.iter().filter_map(|&(name, count)| {
        let mode = name.strip_prefix("elements in ")?;
        Some(format!("{mode} {:.0} %", 100.0 * count as f64 / figure("array elements")?.max(1) as f64))
    });
    Ok(Cost {
        checks: figure("race checks"),
        state: job.peak_state_bytes,
        time: job.time,
        elements: figure("array elements").unwrap_or(0),
        cells: figure("array shadow cells").unwrap_or(0),
        modes: modes.collect::<Vec<_>>().join(", "),
        ..Cost::default()
    })
}

/// The totals, and what the patterns with goals of their own reached: parts of what `fasttrack` needs, in percent.
fn goals(patterns: &[Pattern]) -> Vec<Measurement> {
    let mut rows = Vec::new();
    let mut row = |what: String, ratio: f64, goal: Option<f64>| {
        let goal = goal.map(|most| Goal::AtMost(100.0 * most));
        rows.push(Measurement { what, figure: 100.0 * ratio, unit: " %", goal });
    };
    for partitions in Partitions::ALL {
        let name = partitions.name();
        let fractions = patterns.iter().map(|pattern| pattern.fraction(partitions));
        let average = fractions.sum::<f64>() / patterns.len().max(1) as f64;
        let goal = (partitions == Partitions::Extended).then_some(FRACTION_GOAL);
        row(format!("{name}: cells / elements, average"), average, goal);
        let checks = geometric_mean(patterns, |pattern| pattern.checks(partitions));
        row(format!("{name}: checks, geometric mean"), checks, None);
        let state = geometric_mean(patterns, |pattern| pattern.state(partitions));
        row(format!("{name}: state, geometric mean"), state, Some(STATE_GOAL));
        let time = geometric_mean(patterns, |pattern| pattern.time(partitions));
        row(format!("{name}: time, geometric mean"), time, Some(TIME_GOAL));
        for pattern in patterns.iter().filter(|pattern| SWEEPS.contains(&pattern.name)) {
            row(format!("{name}: {}, checks", pattern.name), pattern.checks(partitions), Some(SWEEP_GOAL));
            row(format!("{name}: {}, state", pattern.name), pattern.state(partitions), Some(SWEEP_GOAL));
        }
        let is_irregular = |pattern: &&Pattern| {
            RANDOM.contains(&pattern.name)
                || (pattern.name == TRIANGULAR && partitions == Partitions::Extended)
        };
        for pattern in patterns.iter().filter(is_irregular) {
            row(format!("{name}: {}, state", pattern.name), pattern.state(partitions), Some(RANDOM_GOAL));
            row(format!("{name}: {}, time", pattern.name), pattern.time(partitions), Some(RANDOM_GOAL));
        }
    }
    rows
}

fn geometric_mean(patterns: &[Pattern], of: impl Fn(&Pattern) -> f64) -> f64 {
    let logarithms: f64 = patterns.iter().map(|pattern| of(pattern).max(1e-12).ln()).sum();
    (logarithms / patterns.len().max(1) as f64).exp()
}
