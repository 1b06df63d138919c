//! Short races: windows against the full detectors.

use overtake::measure::{Cell, Curve, Measured, Plot, Scale, Setup, Table};
use overtake_detect::{Allowance, Judge};

use super::corpus::{self, Corpus};
use super::{Exhibit, Figures, Maker, by_trace, geometric_mean, share};

/// Windows as parts of the trace.
const PARTS: [f64; 6] = [0.0003, 0.001, 0.003, 0.01, 0.1, 1.0];

/// Traces from this length on are judged with the windows of the paper.
const LONG: u64 = 10_000_000;

/// What syncp and its window may hold when memory is scarce.
const SCARCE: usize = 256 << 10;

/// What the tables and figures are made by.
pub(super) const MAKERS: [Maker; 5] = [groups, tables, budget, yardstick, sweep];

fn tables(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let setups = families(corpus, figures).concat();
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.programs, &setups, figures, cell)
    };
    vec![
        table("short-races-time", "Seconds in the detector", |measured| Cell::Seconds(measured.seconds)),
        table("short-races-memory", "Peak state in KiB", |measured| {
            Cell::Count(measured.state_bytes.div_ceil(1024))
        }),
        table("short-races-events", "Racy events", |measured| Cell::Count(measured.racy_events)),
        table("short-races-variables", "Racy variables", |measured| Cell::Count(measured.racy_variables)),
    ]
}

/// The full detectors, each with windows behind it: those of the paper if traces are long enough for them.
fn families(corpus: &Corpus, figures: &Figures<'_>) -> [Vec<Setup>; 2] {
    let (of_hb, of_syncp) = match corpus.longest() >= LONG {
        true => ([3_000, 30_000], [1_000_000, 10_000_000]),
        false => ([1_000, 10_000], [1_000, 10_000]),
    };
    [("hb", "short-hb", of_hb), ("syncp", "short-syncp", of_syncp)].map(|(full, short, windows)| {
        let windowed = windows.into_iter().filter_map(|window| {
            figures.setup(short, &format!("--window {window}"), |options| options.window = window)
        });
        figures.setups(&[full]).into_iter().chain(windowed).collect()
    })
}

/// A detector beside its full detector, over the traces of a group.
#[derive(Default)]
struct InGroup {
    traces: u64,
    /// Of all traces: events read, seconds, bytes, racy events and racy variables.
    sums: [f64; 5],
    /// The part of each trace that was read, in percent.
    coverage: Vec<f64>,
    /// By trace, as parts of what the full detector has: time, state, racy events, racy variables.
    ratios: [Vec<f64>; 4],
}

impl InGroup {
    fn add(&mut self, measured: &Measured, full: &Measured) {
        let figures = |measured: &Measured| {
            let Measured { covered, seconds, state_bytes, racy_events, racy_variables, .. } = *measured;
            [covered as f64, seconds, state_bytes as f64, racy_events as f64, racy_variables as f64]
        };
        let (own, full_figures) = (figures(measured), figures(full));
        self.traces += 1;
        self.sums.iter_mut().zip(own).for_each(|(sum, figure)| *sum += figure);
        self.coverage.push(measured.coverage());
        // What was stopped has no time or state to compare with; what it found counts.
        let is_whole = !full.is_partial && !measured.is_partial;
        for (at, ratios) in self.ratios.iter_mut().enumerate() {
            if full_figures[at + 1] > 0.0 && (at >= 2 || is_whole) {
                ratios.push(own[at + 1] / full_figures[at + 1]);
            }
        }
    }

    /// The mean of the traces.
    fn ratio(&self, at: usize) -> Cell {
        let ratios = &self.ratios[at];
        match ratios.is_empty() {
            true => Cell::Empty,
            false => Cell::Figure(ratios.iter().sum::<f64>() / ratios.len() as f64, 2),
        }
    }

    fn cost(&self) -> [Cell; 7] {
        let [covered, seconds, bytes, ..] = self.sums;
        [
            Cell::Count(self.traces),
            Cell::Count(covered as u64),
            Cell::Figure(self.coverage.iter().sum::<f64>() / self.coverage.len().max(1) as f64, 1),
            Cell::Seconds(seconds),
            self.ratio(0),
            Cell::Count((bytes / 1024.0).ceil() as u64),
            self.ratio(1),
        ]
    }

    fn races(&self) -> [Cell; 5] {
        let [.., events, variables] = self.sums;
        [
            Cell::Count(self.traces),
            Cell::Count(events as u64),
            self.ratio(2),
            Cell::Count(variables as u64),
            self.ratio(3),
        ]
    }
}

/// Sums over groups of traces, and means of the ratios to the full detector.
fn groups(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let families = families(corpus, figures);
    let names = ["group", "detector", "traces"];
    let of_cost = ["events read", "percent read", "seconds", "time ratio", "KiB", "state ratio"];
    let of_races = ["racy events", "ratio", "racy variables", "ratio"];
    let table = |name: &str, title: &str, columns: &[&str]| {
        Table::new(name, title, names.iter().chain(columns).map(|&column| column.to_owned()))
    };
    let mut cost = table(
        "short-races-groups-cost",
        "How much is read, and what it costs, by groups of traces: sums, and means of the ratios to the full detector",
        &of_cost,
    );
    let mut races = table(
        "short-races-groups-races",
        "What is found, by groups of traces: sums, and means of the ratios to the full detector",
        &of_races,
    );
    for (group, workloads) in corpus.groups() {
        for family in &families {
            let Some(full) = family.first() else { continue };
            for setup in family {
                let mut of_group = InGroup::default();
                for workload in &workloads {
                    let (own, full) =
                        (figures.of(workload, setup.clone()), figures.of(workload, full.clone()));
                    of_group.add(&own, &full);
                }
                let names = || [group.into(), setup.label.as_str().into()].into_iter();
                cost.rows.push(names().chain(of_group.cost()).collect());
                races.rows.push(names().chain(of_group.races()).collect());
            }
        }
    }
    let note = corpus::note(&corpus.programs);
    cost.note = format!("{note} Ratios of time and state leave out traces on which an analysis was stopped.");
    races.note = format!("{note} Ratios leave out traces in which the full detector found nothing.");
    vec![Exhibit::Table(cost), Exhibit::Table(races)]
}

/// What is found when the state may not grow: how far each detector comes.
fn budget(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let scarce = |name: &str, figures: &Figures<'_>| {
        figures.setup(name, "in 256 KiB", |options| {
            options.window = 1_000;
            options.allowance = Allowance { state_bytes: Some(SCARCE), time: None };
        })
    };
    let setups: Vec<_> =
        ["hb", "short-hb", "syncp", "short-syncp"].iter().filter_map(|name| scarce(name, figures)).collect();
    let title = "Racy events found with at most 256 KiB of state (window 1000), and the part of the trace that was read";
    vec![by_trace(("short-races-budget", title), &corpus.programs, &setups, figures, |measured| {
        Cell::Count(measured.racy_events)
    })]
}

/// What a window saves beside the yardstick of the paper: all accesses matter, and nothing is forgotten. Beside it `syncp` as it is here.
fn yardstick(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let columns = ["trace", "N", "window", "as printed: seconds", "KiB"].into_iter().map(str::to_owned);
    let ways = ["with a window", "syncp", "short-syncp"];
    let of_ways = ways.iter().flat_map(|way| ["time", "state"].map(|what| format!("{way}: {what}")));
    let title = "A window of a tenth of the trace beside syncp as printed (no filter, nothing forgotten)";
    let mut table = Table::new("short-races-yardstick", title, columns.chain(of_ways));
    let mut ratios = vec![Vec::new(); 2 * ways.len()];
    for workload in &corpus.programs {
        let window = (workload.events.unwrap_or(corpus.events) / 10).max(2);
        let label = format!("--window {window}");
        let setups = [
            figures.setup("syncp", "--no-filter", |options| options.no_filter = true),
            figures.setup("short-syncp", &format!("--no-filter {label}"), |options| {
                (options.no_filter, options.window) = (true, window);
            }),
            figures.setup("syncp", "", |_| ()),
            figures.setup("short-syncp", &label, |options| options.window = window),
        ];
        let measured: Vec<_> =
            setups.into_iter().flatten().map(|setup| figures.of(workload, setup)).collect();
        let [printed, ways @ ..] = &measured[..] else { continue };
        let partial = |cell: Cell| match printed.is_partial {
            true => Cell::Partial(Box::new(cell), printed.coverage()),
            false => cell,
        };
        let mut row = vec![workload.name.as_str().into(), Cell::Count(printed.events), Cell::Count(window)];
        row.push(partial(Cell::Seconds(printed.seconds)));
        row.push(partial(Cell::Count(printed.state_bytes.div_ceil(1024))));
        for (way, ratios) in ways.iter().zip(ratios.chunks_mut(2)) {
            let time = share(way.seconds, printed.seconds);
            let state = share(way.state_bytes as f64, printed.state_bytes as f64);
            ratios[0].push(time);
            ratios[1].push(state);
            row.extend([Cell::Figure(time, 2), Cell::Figure(state, 2)]);
        }
        table.rows.push(row);
    }
    let mut means = vec!["geometric mean".into(), Cell::Empty, Cell::Empty, Cell::Empty, Cell::Empty];
    means.extend(ratios.into_iter().map(|ratios| Cell::Figure(geometric_mean(ratios.into_iter()), 2)));
    table.rows.push(means);
    table.note = corpus::note(&corpus.programs);
    vec![Exhibit::Table(table)]
}

/// Races and time as the window grows to the whole trace.
fn sweep(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut found = ["short-syncp", "windowed"].map(|name| (name, Vec::new()));
    let mut costs = [("time", Vec::new()), ("state", Vec::new())];
    for part in PARTS {
        let (mut races, mut forgetful, mut all) = (0, 0, 0);
        let (mut times, mut states) = (Vec::new(), Vec::new());
        for workload in &corpus.programs {
            let window = ((workload.events.unwrap_or(corpus.events) as f64 * part) as u64).max(2);
            let label = format!("--window {window}");
            let pieces = figures.setup("windowed", &format!("{label} --judge short-syncp"), |options| {
                (options.window, options.judge) = (window, Judge::SyncPreserving);
            });
            forgetful += pieces.map_or(0, |setup| figures.of(workload, setup).racy_events);
            let Some(short) = figures.setup("short-syncp", &label, |options| options.window = window) else {
                continue;
            };
            let short = figures.of(workload, short);
            for full in figures.setups(&["syncp"]) {
                let full = figures.of(workload, full);
                races += short.racy_events;
                all += full.racy_events;
                times.push(share(short.seconds, full.seconds));
                states.push(share(short.state_bytes as f64, full.state_bytes as f64));
            }
        }
        for ((_, points), races) in found.iter_mut().zip([races, forgetful]) {
            points.push((100.0 * part, 100.0 * share(races as f64, all as f64)));
        }
        for ((_, points), ratios) in costs.iter_mut().zip([times, states]) {
            points.push((100.0 * part, geometric_mean(ratios.into_iter())));
        }
    }
    let labels = |what: &str| ["window in percent of the trace".to_owned(), what.to_owned()];
    let curve = |(name, points): (&str, Vec<(f64, f64)>)| Curve { name: name.to_owned(), points };
    let (costs, found) = (costs.map(curve), found.map(curve));
    vec![
        Exhibit::Plot(Plot {
            name: "short-races-windows".to_owned(),
            title: "Racy events of syncp that are found by windows that slide or forget".to_owned(),
            labels: labels("percent"),
            scales: [Scale::Logarithmic, Scale::Linear],
            curves: found.into(),
            note: String::new(),
        }),
        Exhibit::Plot(Plot {
            name: "short-races-cost".to_owned(),
            title: "Cost of a window, syncp is 1 (geometric means)".to_owned(),
            labels: labels("ratio to syncp"),
            scales: [Scale::Logarithmic, Scale::Linear],
            curves: costs.into(),
            note: String::new(),
        }),
    ]
}
