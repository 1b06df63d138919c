//! Short races: windows against the full detectors.

use overtake::measure::{Cell, Curve, Measured, Plot, Scale, Setup, Table};
use overtake_detect::{Allowance, Judge};

use super::corpus::{self, Corpus};
use super::{Exhibit, Figures, by_trace, geometric_mean, share};

/// Windows as parts of the trace.
const PARTS: [f64; 6] = [0.0003, 0.001, 0.003, 0.01, 0.1, 1.0];

/// What syncp and its window may hold when memory is scarce.
const SCARCE: usize = 256 << 10;

pub(super) fn exhibits(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let full = figures.setups(&["hb", "syncp"]);
    let windowed = [1_000, 10_000].into_iter().flat_map(|window| {
        let setups = ["short-hb", "short-syncp"].map(|name| {
            figures.setup(name, &format!("--window {window}"), |options| options.window = window)
        });
        setups.into_iter().flatten()
    });
    let mut setups: Vec<Setup> = full;
    setups.extend(windowed.collect::<Vec<_>>());
    setups.sort_by_key(|setup| setup.entry.name.contains("syncp")); // stable: happens-before first
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.programs, &setups, figures, cell)
    };
    let mut exhibits = vec![
        table("short-races-time", "Seconds in the detector", |measured| Cell::Figure(measured.seconds, 3)),
        table("short-races-memory", "Peak state in KiB", |measured| {
            Cell::Count(measured.state_bytes.div_ceil(1024))
        }),
        table("short-races-events", "Racy events", |measured| Cell::Count(measured.racy_events)),
        table("short-races-variables", "Racy variables", |measured| Cell::Count(measured.racy_variables)),
    ];
    exhibits.push(budget(corpus, figures));
    exhibits.push(Exhibit::Table(yardstick(corpus, figures)));
    exhibits.extend(sweep(corpus, figures));
    exhibits
}

/// What is found when the state may not grow: how far each detector comes.
fn budget(corpus: &Corpus, figures: &mut Figures<'_>) -> Exhibit {
    let scarce = |name: &str, figures: &Figures<'_>| {
        figures.setup(name, "in 256 KiB", |options| {
            options.window = 1_000;
            options.allowance = Allowance { state_bytes: Some(SCARCE), time: None };
        })
    };
    let setups: Vec<_> =
        ["hb", "short-hb", "syncp", "short-syncp"].iter().filter_map(|name| scarce(name, figures)).collect();
    let title = "Racy events found with at most 256 KiB of state (window 1000), and the part of the trace that was read";
    by_trace(("short-races-budget", title), &corpus.programs, &setups, figures, |measured| {
        Cell::Count(measured.racy_events)
    })
}

/// What a window saves beside the yardstick of the paper: all accesses matter, and nothing is forgotten. Beside it `syncp` as it is here.
fn yardstick(corpus: &Corpus, figures: &mut Figures<'_>) -> Table {
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
        row.push(partial(Cell::Figure(printed.seconds, 3)));
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
    table
}

/// Races and time as the window grows to the whole trace.
fn sweep(corpus: &Corpus, figures: &mut Figures<'_>) -> [Exhibit; 2] {
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
    [
        Exhibit::Plot(Plot {
            name: "short-races-windows".to_owned(),
            title: "Racy events of syncp that are found by windows that slide or forget".to_owned(),
            labels: labels("percent"),
            scales: [Scale::Logarithmic, Scale::Linear],
            curves: found.into(),
        }),
        Exhibit::Plot(Plot {
            name: "short-races-cost".to_owned(),
            title: "Cost of a window, syncp is 1 (geometric means)".to_owned(),
            labels: labels("ratio to syncp"),
            scales: [Scale::Logarithmic, Scale::Linear],
            curves: costs.into(),
        }),
    ]
}
