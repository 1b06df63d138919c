//! The property tester: how often it finds a race, and what it costs.

use overtake::measure::{Cell, Curve, Measured, Plot, Scale, Setup, Table};

use super::corpus::{Corpus, Workload};
use super::{Exhibit, Figures, by_trace, share};

/// Parts of the events that must change to make a trace race free.
const DISTANCES: [f64; 6] = [0.04, 0.01, 0.001, 0.0001, 0.00001, 0.000_002];
const EPSILONS: [f64; 4] = [0.005, 0.01, 0.02, 0.05];
const SEEDS: u64 = 10;
/// Lengths as multiples of the usual one.
const LENGTHS: [u64; 4] = [1, 8, 64, 512];

pub(super) fn exhibits(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut exhibits = vec![success(corpus, figures), times(corpus, figures), epsilons(corpus, figures)];
    let setups = figures.setups(&["rpt", "pacer", "sampled-hb", "fasttrack"]);
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.programs, &setups, figures, cell)
    };
    exhibits.extend([
        table("tester-warnings", "Racy events", |measured| Cell::Count(measured.racy_events)),
        table("tester-variables", "Racy variables", |measured| Cell::Count(measured.racy_variables)),
        table("tester-lines", "Source locations of racy events", |measured| {
            Cell::Count(measured.racy_locations)
        }),
        table(
            "tester-short",
            "Percent of the races whose accesses are at most 1024 events apart",
            |measured| {
                let short: u64 = measured.distances.iter().take(11).sum();
                match measured.distances.iter().sum::<u64>() {
                    0 => Cell::Empty,
                    all => Cell::Figure(100.0 * share(short as f64, all as f64), 1),
                }
            },
        ),
    ]);
    exhibits
}

fn far(distance: f64, events: u64, name: &str) -> Option<Workload> {
    Workload::shape("epsilon-far", name, |parameters| {
        parameters.events = events;
        parameters.threads = 4;
        parameters.locks = 4;
        parameters.epsilon = distance.min(overtake_gen::most_epsilon(4) * 0.999);
    })
}

/// A detector with a seed.
fn seeded(figures: &Figures<'_>, name: &str, seed: u64) -> Option<Setup> {
    figures.setup(name, &format!("--seed {seed}"), |options| options.seed = seed)
}

/// How often a race is found, against how many there are.
fn success(corpus: &Corpus, figures: &mut Figures<'_>) -> Exhibit {
    let curves = ["rpt", "pacer", "fasttrack"].map(|name| {
        let points = DISTANCES.iter().filter_map(|&distance| {
            let workload = far(distance, 8 * corpus.events, &format!("{distance}"))?;
            let seeds = if name == "fasttrack" { 1 } else { SEEDS };
            let found = (0..seeds).filter_map(|seed| seeded(figures, name, seed)).collect::<Vec<_>>();
            let found = found
                .into_iter()
                .filter(|setup| figures.of(&workload, setup.clone()).racy_events > 0)
                .count();
            Some((distance, 100.0 * found as f64 / seeds as f64))
        });
        let mut points: Vec<_> = points.collect();
        points.reverse();
        Curve { name: name.to_owned(), points }
    });
    Exhibit::Plot(Plot {
        name: "tester-success".to_owned(),
        title: format!("How often a race is found ({SEEDS} seeds)"),
        labels: [
            "part of the events that must change to make the trace race free".to_owned(),
            "percent".to_owned(),
        ],
        scales: [Scale::Logarithmic, Scale::Linear],
        curves: curves.into(),
    })
}

/// Time against the length of the trace.
fn times(corpus: &Corpus, figures: &mut Figures<'_>) -> Exhibit {
    let coarse = figures.setup("rpt", "--epsilon 0.05", |options| options.epsilon = 0.05);
    let curves = figures.setups(&["rpt", "pacer", "fasttrack"]).into_iter().chain(coarse).map(|setup| {
        let points = LENGTHS.iter().filter_map(|&times| {
            let events = times * corpus.events;
            let workload = Workload::shape("lock-heavy", &format!("length-{events}"), |parameters| {
                parameters.events = events;
                parameters.threads = 4;
                parameters.locks = 4;
                parameters.variables = 1000;
            });
            Some((events as f64, figures.of(&workload?, setup.clone()).seconds))
        });
        Curve { name: setup.label.clone(), points: points.collect() }
    });
    Exhibit::Plot(Plot {
        name: "tester-time".to_owned(),
        title: "Time as the trace grows".to_owned(),
        labels: ["events".to_owned(), "seconds".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        curves: curves.collect(),
    })
}

/// What a finer test costs.
fn epsilons(corpus: &Corpus, figures: &mut Figures<'_>) -> Exhibit {
    let columns = ["epsilon", "events read", "percent of the trace", "seconds", "racy events"];
    let mut table = Table::new("tester-epsilon", "The tester as epsilon shrinks", columns);
    let workload = far(0.01, 8 * corpus.events, "0.01");
    for epsilon in EPSILONS {
        let setup =
            figures.setup("rpt", &format!("--epsilon {epsilon}"), |options| options.epsilon = epsilon);
        let (Some(setup), Some(workload)) = (setup, &workload) else { continue };
        let measured = figures.of(workload, setup);
        table.rows.push(vec![
            Cell::Figure(epsilon, 3),
            Cell::Count(measured.covered),
            Cell::Figure(measured.coverage(), 1),
            Cell::Figure(measured.seconds, 3),
            Cell::Count(measured.racy_events),
        ]);
    }
    Exhibit::Table(table)
}
