//! The property tester: how often it finds a race, and what it costs.

use overtake::measure::{Cell, Curve, Measured, Plot, Scale, Setup, Table};

use super::corpus::{self, Corpus, Workload};
use super::{Exhibit, Figures, Maker, by_trace, share};

/// Parts of the events that must change to make a trace race free.
const DISTANCES: [f64; 6] = [0.04, 0.01, 0.001, 0.0001, 0.00001, 0.000_002];
const EPSILONS: [f64; 9] = [0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];
const SEEDS: u64 = 10;
/// How far from race free the trace is on which epsilon shrinks.
const FAR: f64 = 0.001;
/// An epsilon for short traces.
const COARSE: f64 = 0.1;
/// Lengths as multiples of the usual one.
const LENGTHS: [u64; 4] = [1, 4, 16, 64];

/// What the tables and figures are made by.
pub(super) const MAKERS: [Maker; 6] = [traces, success, detection, times, epsilons, tables];

fn tables(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut setups = testers(figures);
    setups.extend(figures.setups(&["pacer", "sampled-hb", "fasttrack"]));
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.tested, &setups, figures, cell)
    };
    vec![
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
    ]
}

/// The tester as it is usually, and with an epsilon for which short traces need not be read as a whole.
fn testers(figures: &Figures<'_>) -> Vec<Setup> {
    let coarse = figures.setup("rpt", &format!("--epsilon {COARSE}"), |options| options.epsilon = COARSE);
    figures.setups(&["rpt"]).into_iter().chain(coarse).collect()
}

/// The traces, and what the tester reads of each.
fn traces(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let columns = [
        "trace",
        "N",
        "T",
        "L",
        "V",
        "m = 4T + 2h",
        "epsilon",
        "in a window",
        "windows",
        "events read",
        "percent",
    ];
    let mut table =
        Table::new("tester-traces", "The traces, and how many events the tester reads of them", columns);
    for workload in &corpus.tested {
        for setup in testers(figures) {
            let epsilon = setup.options.epsilon;
            let measured = figures.of(workload, setup);
            let [m, window, windows] = ["m", "k", "windows after merging"].map(|name| measured.figure(name));
            let Measured { events, threads, locks, variables, covered, .. } = measured;
            let mut row = vec![workload.name.as_str().into()];
            row.extend([events, threads, locks, variables, m].map(Cell::Count));
            row.push(Cell::Figure(epsilon, 2));
            row.extend([window, windows, covered].map(Cell::Count));
            row.push(Cell::Figure(measured.coverage(), 1));
            table.rows.push(row);
        }
    }
    table.note = corpus::note(&corpus.tested);
    vec![Exhibit::Table(table)]
}

/// Whose success is compared.
fn ways(figures: &Figures<'_>) -> Vec<Setup> {
    testers(figures).into_iter().chain(figures.setups(&["pacer", "fasttrack"])).collect()
}

/// How often a detector finds a race, by its seed, in percent; and the mean of the seconds it takes.
fn success_of(workload: &Workload, figures: &mut Figures<'_>, setup: &Setup) -> (f64, f64) {
    let seeds = if setup.entry.name == "fasttrack" { 1 } else { SEEDS }; // no seed changes what it finds
    let (mut found, mut seconds) = (0, 0.0);
    for seed in 0..seeds {
        let mut setup = setup.clone();
        setup.label = format!("{} --seed {seed}", setup.label);
        setup.options.seed = seed;
        let measured = figures.of(workload, setup);
        found += u64::from(measured.racy_events > 0);
        seconds += measured.seconds;
    }
    (100.0 * found as f64 / seeds as f64, seconds / seeds as f64)
}

/// How often a race is found in each trace, the raciest first.
fn detection(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let ways = ways(figures);
    let columns = ["trace", "N", "raciness"].map(str::to_owned).into_iter();
    let columns = columns.chain(ways.iter().map(|setup| setup.label.clone()));
    let title = format!("In how many percent of the runs a race is found ({SEEDS} seeds)");
    let mut table = Table::new("tester-detection", &title, columns);
    let mut rows = Vec::new();
    for workload in &corpus.tested {
        for setup in figures.setups(&["fasttrack"]) {
            let full = figures.of(workload, setup);
            let raciness = share(full.racy_events as f64, full.events as f64);
            let percents = ways.iter().map(|setup| Cell::Figure(success_of(workload, figures, setup).0, 0));
            let percents: Vec<_> = percents.collect();
            let names = [workload.name.as_str().into(), Cell::Count(full.events)];
            let scientific = Cell::Text(format!("{raciness:.1e}"));
            rows.push((raciness, names.into_iter().chain([scientific]).chain(percents).collect()));
        }
    }
    rows.sort_by(|(one, _), (other, _)| other.total_cmp(one));
    table.rows = rows.into_iter().map(|(_, row)| row).collect();
    let note = corpus::note(&corpus.tested);
    table.note = format!("{note} Raciness is the number of racy events that fasttrack finds as a part of N.");
    vec![Exhibit::Table(table)]
}

fn far(distance: f64, events: u64, name: &str) -> Option<Workload> {
    Workload::shape("epsilon-far", name, |parameters| {
        parameters.events = events;
        parameters.threads = 4;
        parameters.locks = 4;
        parameters.epsilon = distance.min(overtake_gen::most_epsilon(4) * 0.999);
    })
}

/// How often a race is found, against how many there are.
fn success(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut curves = Vec::new();
    for setup in ways(figures) {
        let points = DISTANCES.iter().rev().filter_map(|&distance| {
            let workload = far(distance, 2 * corpus.events, &format!("{distance}"))?;
            Some((distance, success_of(&workload, figures, &setup).0))
        });
        curves.push(Curve { points: points.collect(), name: setup.label });
    }
    vec![Exhibit::Plot(Plot {
        name: "tester-success".to_owned(),
        title: format!("How often a race is found ({SEEDS} seeds)"),
        labels: [
            "part of the events that must change to make the trace race free".to_owned(),
            "percent of the runs".to_owned(),
        ],
        scales: [Scale::Logarithmic, Scale::Linear],
        curves,
        note: format!(
            "Generated traces of {} events. With an epsilon of 0.01, the tester reads traces as short as these as a whole.",
            2 * corpus.events
        ),
    })]
}

/// Time against the length of the trace.
fn times(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
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
    vec![Exhibit::Plot(Plot {
        name: "tester-time".to_owned(),
        title: "Time as the trace grows".to_owned(),
        labels: ["events".to_owned(), "seconds".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        curves: curves.collect(),
        note: String::new(),
    })]
}

/// What a finer test costs.
fn epsilons(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let columns =
        ["epsilon", "events read", "percent of the trace", "seconds", "percent of runs that find a race"];
    let title = format!("The tester as epsilon shrinks ({SEEDS} seeds)");
    let mut table = Table::new("tester-epsilon", &title, columns);
    let Some(workload) = far(FAR, 2 * corpus.events, &format!("{FAR}")) else { return Vec::new() };
    for epsilon in EPSILONS {
        let label = format!("--epsilon {epsilon}");
        let Some(setup) = figures.setup("rpt", &label, |options| options.epsilon = epsilon) else { continue };
        let (found, seconds) = success_of(&workload, figures, &setup);
        let one = figures.of(&workload, setup);
        table.rows.push(vec![
            Cell::Figure(epsilon, 3),
            Cell::Count(one.covered),
            Cell::Figure(one.coverage(), 1),
            Cell::Seconds(seconds),
            Cell::Figure(found, 0),
        ]);
    }
    table.note = format!(
        "A generated trace of {} events, of which a part of {FAR} must change to make it race free.",
        2 * corpus.events
    );
    vec![Exhibit::Table(table)]
}
