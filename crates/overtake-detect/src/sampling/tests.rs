//! The sampling detectors against the definition, on random traces.

use std::collections::BTreeSet;

use overtake_oracle::random::Shape;
use overtake_oracle::{History, Pair, for_each_random_trace, happens_before_races, same, second_events};
use overtake_trace::{EventIndex, Trace};

use super::random::Chance;
use crate::drive::{Driver, Strictness};
use crate::passes::Outcome;
use crate::race::Race;
use crate::registry::find;
use crate::settings::Options;

/// Random traces per test; the shapes take turns, and one in ten needs repairs.
const TRACES: u64 = 100_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(26);
    shapes.push(Shape { threads: 5, variables: 1, ..Shape::everything() });
    shapes.push(Shape::ill_formed().with_events(26));
    shapes
}

/// What a detector reports: second events, and one pair for each pair of locations, which are all different.
struct Reported {
    seconds: Vec<EventIndex>,
    pairs: BTreeSet<Pair>,
}

fn run(name: &str, options: &Options, trace: &Trace) -> Reported {
    let entry = find(name).expect("it is in the table");
    let mut driver = Driver::start(&[entry], options, Strictness::Repair).expect("options that fit");
    while driver.pass(&mut trace.source().with_block_events(7), &mut |_| ()).expect("ids in range")
        == Outcome::AnotherPass
    {}
    let races = driver.jobs()[0].findings();
    let pairs = races.groups().iter().map(|group| pair(&group.example)).collect();
    Reported { seconds: races.racy_events(), pairs }
}

fn pair(race: &Race) -> Pair {
    Pair { first: race.first.at.index, second: race.second.at.index, var: race.var }
}

fn subset(what: &str, reported: &BTreeSet<Pair>, expected: &BTreeSet<Pair>) -> Result<(), String> {
    match reported.difference(expected).next() {
        Some(pair) => Err(format!("{what}: {pair:?} is no race")),
        None => Ok(()),
    }
}

/// Settings that vary from trace to trace.
fn options(trace: &Trace) -> Options {
    let mix = trace.events.iter().fold(0_u64, |mix, event| {
        mix.wrapping_mul(31).wrapping_add(u64::from(event.operand()) + 7 * u64::from(event.thread().0))
    });
    let rate = [0.1, 0.3, 0.5, 0.8][(mix % 4) as usize];
    Options { seed: mix / 4 % 1000, rate, period: 1 + mix / 4000 % 6, ..Options::default() }
}

#[test]
fn sampled_hb_finds_exactly_the_races_between_sampled_accesses() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let options = options(trace);
        let chance = Chance::new(options.seed, options.rate);
        let mut expected = happens_before_races(trace);
        expected.retain(|pair| chance.at(pair.first.0) && chance.at(pair.second.0));
        let reported = run("sampled-hb", &options, trace);
        same("sampled-hb", second_events(&expected), reported.seconds)?;
        subset("sampled-hb", &reported.pairs, &expected)
    });
}

#[test]
fn with_rate_one_sampled_hb_and_pacer_are_hb() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let options = Options { rate: 1.0, ..options(trace) };
        let full = run("hb", &options, trace);
        for sampling in ["sampled-hb", "pacer"] {
            let reported = run(sampling, &options, trace);
            same(sampling, full.seconds.iter(), reported.seconds.iter())?;
            same(sampling, full.pairs.iter(), reported.pairs.iter())?;
        }
        Ok(())
    });
}

/// The races whose first access is the last of the variable before the second.
fn adjacent_races(trace: &Trace, races: &BTreeSet<Pair>) -> BTreeSet<Pair> {
    let history = History::new(trace);
    let is_last = |pair: &&Pair| {
        !history.steps.iter().any(|step| {
            (pair.first.0 + 1..pair.second.0).contains(&step.index.0)
                && step.touches().any(|touch| touch.var == pair.var)
        })
    };
    races.iter().filter(is_last).copied().collect()
}

#[test]
fn pacer_reports_races_with_sampled_accesses_and_each_whose_accesses_are_neighbours() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let options = options(trace);
        let chance = Chance::new(options.seed, options.rate);
        let mut expected = happens_before_races(trace);
        expected.retain(|pair| chance.at(pair.first.0 / options.period));
        let reported = run("pacer", &options, trace);
        subset("pacer", &reported.pairs, &expected)?;
        let missed = |pair: &&Pair| !reported.seconds.contains(&pair.second);
        match adjacent_races(trace, &expected).iter().find(missed) {
            Some(pair) => Err(format!("pacer misses {pair:?}")),
            None => Ok(()),
        }
    });
}

/// Over 1,000 seeds, each race between neighbouring accesses is reported at least as often as the rate says, less five
/// standard deviations: a fair sampler fails one such test in three million. Races further apart count as well, where their
/// second access is reported with another partner.
#[test]
fn each_race_is_reported_with_at_least_the_probability_of_the_rate() {
    const SEEDS: u64 = 1000;
    let mut races_seen = 0;
    for (seed, shape) in Shape::all_well_formed(30).iter().cycle().take(40).enumerate() {
        let trace = overtake_oracle::random::trace(shape, seed as u64);
        let races = adjacent_races(&trace, &happens_before_races(&trace));
        for (rate, period) in [(0.05, 1), (0.3, 7)] {
            let mut hits = vec![0_u64; races.len()];
            for seed in 0..SEEDS {
                let reported = run("pacer", &Options { seed, rate, period, ..Options::default() }, &trace);
                for (pair, hits) in races.iter().zip(&mut hits) {
                    *hits += u64::from(reported.seconds.contains(&pair.second));
                }
            }
            let deviation = (SEEDS as f64 * rate * (1.0 - rate)).sqrt();
            let least = SEEDS as f64 * rate - 5.0 * deviation;
            assert!(hits.iter().all(|&hits| hits as f64 >= least), "rate {rate}: {hits:?} below {least}");
            races_seen += races.len();
        }
    }
    assert!(races_seen > 100, "only {races_seen} races to find");
}
