//! Sync-preserving prediction beside the methods that it is compared with.

use overtake::measure::{Cell, Curve, Measured, Plot, Scale, Table};

use super::corpus::{self, Corpus};
use super::{Exhibit, Figures, Maker, by_trace};

/// What the tables and figures are made by.
pub(super) const MAKERS: [Maker; 3] = [tables, distances, core];

fn tables(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let setups = figures.setups(&["hb", "shb", "wcp", "m2", "syncp", "osr"]);
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.programs, &setups, figures, cell)
    };
    vec![
        table("sync-preserving-races", "Racy events", |measured| Cell::Count(measured.racy_events)),
        table("sync-preserving-variables", "Racy variables", |measured| Cell::Count(measured.racy_variables)),
        table("sync-preserving-lines", "Source locations of racy events", |measured| {
            Cell::Count(measured.racy_locations)
        }),
        table("sync-preserving-distance", "Largest distance of a race", |measured| {
            Cell::Count(measured.max_distance)
        }),
        table("sync-preserving-time", "Seconds in the detector", |measured| Cell::Seconds(measured.seconds)),
    ]
}

/// What remains of each trace when everything is left out that cannot matter.
fn core(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let columns = ["trace", "N", "T", "L", "V", "core accesses", "core A", "core L", "core V"];
    let title = "The traces, and what can matter for sync-preserving races";
    let mut table = Table::new("sync-preserving-core", title, columns);
    for workload in &corpus.programs {
        for setup in figures.setups(&["syncp"]) {
            let measured = figures.of(workload, setup);
            let sizes = [measured.events, measured.threads, measured.locks, measured.variables];
            let of_core = ["accesses", "acquires", "locks", "variables"];
            let of_core = of_core.map(|what| measured.figure(&format!("{what} that matter")));
            let figures = sizes.into_iter().chain(of_core).map(Cell::Count);
            table.rows.push(std::iter::once(workload.name.as_str().into()).chain(figures).collect());
        }
    }
    table.note = corpus::note(&corpus.programs);
    vec![Exhibit::Table(table)]
}

/// The races of all traces by their distance.
fn distances(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let curves = figures.setups(&["hb", "shb", "syncp", "osr"]).into_iter().map(|setup| {
        let mut counts: Vec<u64> = Vec::new();
        for workload in &corpus.programs {
            let measured = figures.of(workload, setup.clone());
            counts.resize(counts.len().max(measured.distances.len()), 0);
            counts.iter_mut().zip(&measured.distances).for_each(|(count, more)| *count += more);
        }
        let mut sum = 0;
        let points = counts.iter().enumerate().map(|(power, count)| {
            sum += count;
            (2f64.powi(power as i32), sum as f64)
        });
        Curve { name: setup.label.clone(), points: points.collect() }
    });
    vec![Exhibit::Plot(Plot {
        name: "sync-preserving-distances".to_owned(),
        title: "Races whose accesses are at most so many events apart".to_owned(),
        labels: ["distance in events".to_owned(), "races".to_owned()],
        scales: [Scale::Logarithmic, Scale::Logarithmic],
        curves: curves.collect(),
        note: String::new(),
    })]
}
