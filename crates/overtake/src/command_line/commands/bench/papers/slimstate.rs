//! SlimState: what sharing state between array elements saves.

use overtake::measure::{Cell, Measured, Setup, Table};
use overtake_detect::Partitions;

use super::corpus::{self, Corpus};
use super::{Exhibit, Figures, Maker, by_trace, geometric_mean, share};

/// What the tables are made by.
pub(super) const MAKERS: [Maker; 3] = [tables, sets, ablations];

fn tables(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut setups = figures.setups(&["fasttrack"]);
    for partitions in Partitions::ALL {
        let label = format!("--partitions {}", partitions.name());
        setups.extend(figures.setup("slimstate", &label, |options| options.partitions = partitions));
    }
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.arrays, &setups, figures, cell)
    };
    let mut exhibits = vec![
        table("slimstate-time", "Seconds in the detector", |measured| Cell::Seconds(measured.seconds)),
        table("slimstate-space", "Peak state in KiB", |measured| {
            Cell::Count(measured.state_bytes.div_ceil(1024))
        }),
    ];
    let ways: Vec<_> = setups.iter().filter(|setup| setup.entry.name == "slimstate").cloned().collect();
    let title = "Race checks; fasttrack makes one for each access";
    exhibits.push(by_trace(("slimstate-checks", title), &corpus.arrays, &ways, figures, |measured| {
        Cell::Count(measured.figure("race checks"))
    }));
    exhibits.push(Exhibit::Table(cells_of(corpus, &setups, figures)));
    exhibits.extend(modes(corpus, &setups, figures));
    exhibits
}

/// How many cells every way of partitioning needs, and what it costs beside fasttrack.
fn cells_of(corpus: &Corpus, setups: &[Setup], figures: &mut Figures<'_>) -> Table {
    let ways: Vec<_> = setups.iter().filter(|setup| setup.entry.name == "slimstate").cloned().collect();
    let columns = ["trace", "elements", "percent of the variables"].map(str::to_owned).into_iter();
    let title = "Shadow cells for array elements, and state and time as parts of fasttrack's";
    let of_ways = ways.iter().flat_map(|setup| {
        ["cells", "state", "time"].map(|what| format!("{}: {what}", setup.options.partitions.name()))
    });
    let mut cells = Table::new("slimstate-cells", title, columns.chain(of_ways));
    let mut ratios = vec![Vec::new(); 2 * ways.len()];
    for workload in &corpus.arrays {
        let yardstick: Vec<_> =
            figures.setups(&["fasttrack"]).into_iter().map(|setup| figures.of(workload, setup)).collect();
        let Some(yardstick) = yardstick.first() else { continue };
        let mut row = vec![workload.name.as_str().into()];
        for (at, setup) in ways.iter().enumerate() {
            let measured = figures.of(workload, setup.clone());
            if at == 0 {
                let elements = measured.figure("array elements");
                let part = share(elements as f64, measured.variables as f64);
                row.extend([Cell::Count(elements), Cell::Figure(100.0 * part, 1)]);
            }
            let state = share(measured.state_bytes as f64, yardstick.state_bytes as f64);
            let time = share(measured.seconds, yardstick.seconds);
            ratios[2 * at].push(state);
            ratios[2 * at + 1].push(time);
            row.extend([
                Cell::Count(measured.figure("array shadow cells")),
                Cell::Figure(state, 2),
                Cell::Figure(time, 2),
            ]);
        }
        cells.rows.push(row);
    }
    let mut means = vec!["geometric mean".into(), Cell::Empty, Cell::Empty];
    for pair in ratios.chunks(2) {
        means.push(Cell::Empty);
        means.extend(pair.iter().map(|ratios| Cell::Figure(geometric_mean(ratios.iter().copied()), 2)));
    }
    cells.rows.push(means);
    cells.note = corpus::note(&corpus.arrays);
    cells
}

/// How arrays are divided in the end: columns, and what figures call them.
const MODES: [(&str, &str); 8] = [
    ("coarse", "coarse arrays"),
    ("blocks", "blocks"),
    ("strides", "strides"),
    ("strides of blocks", "strides of blocks"),
    ("split", "split arrays"),
    ("prefix", "prefixed arrays"),
    ("classes", "classes"),
    ("fine", "fine arrays"),
];

/// How many elements are divided in each way in the end, and how many cells they need.
fn modes(corpus: &Corpus, setups: &[Setup], figures: &mut Figures<'_>) -> [Exhibit; 2] {
    let tables = [
        (
            "slimstate-modes",
            "Array elements by the partition that they are in at the end, in percent",
            "elements in",
        ),
        ("slimstate-modes-cells", "Shadow cells by partition, in percent of the array elements", "cells of"),
    ];
    tables.map(|(name, title, what)| {
        let columns = ["trace", "partitions", "elements"].into_iter();
        let columns = columns.chain(MODES.map(|(mode, _)| mode)).map(str::to_owned);
        let mut table = Table::new(name, title, columns);
        for workload in &corpus.arrays {
            for setup in setups.iter().filter(|setup| setup.entry.name == "slimstate") {
                let measured = figures.of(workload, setup.clone());
                let elements = measured.figure("array elements");
                let percent = |(_, mode): (&str, &str)| match measured.figure(&format!("{what} {mode}")) {
                    0 => Cell::Empty,
                    count => Cell::Figure(100.0 * share(count as f64, elements as f64), 3),
                };
                let names = [workload.name.as_str(), setup.options.partitions.name()].map(Cell::from);
                let row = names.into_iter().chain([Cell::Count(elements)]).chain(MODES.map(percent));
                table.rows.push(row.collect());
            }
        }
        table.note = corpus::note(&corpus.arrays);
        Exhibit::Table(table)
    })
}

/// The shadow fraction: cells as a part of the elements, with ranges and with sets of any form.
fn sets(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let ways = [
        ("paper", Partitions::Paper, false),
        ("footprints are sets", Partitions::Paper, true),
        ("parts are sets", Partitions::Sets, false),
        ("both", Partitions::Sets, true),
        ("extended", Partitions::Extended, false),
    ];
    let columns = ["trace"].into_iter().chain(ways.map(|(name, ..)| name)).map(str::to_owned);
    let title = "Shadow cells as a part of the array elements, with sets of any form";
    let mut table = Table::new("slimstate-sets", title, columns);
    let mut sums = [0.0; 5];
    for workload in &corpus.arrays {
        let mut row = vec![workload.name.as_str().into()];
        for ((_, partitions, set_footprints), sum) in ways.into_iter().zip(&mut sums) {
            let flag = if set_footprints { " --set-footprints" } else { "" };
            let label = format!("--partitions {}{flag}", partitions.name());
            let setup = figures.setup("slimstate", &label, |options| {
                (options.partitions, options.set_footprints) = (partitions, set_footprints);
            });
            let Some(measured) = setup.map(|setup| figures.of(workload, setup)) else { continue };
            let cells = measured.figure("array shadow cells") as f64;
            let fraction = share(cells, measured.figure("array elements") as f64);
            *sum += fraction;
            row.push(Cell::Figure(fraction, 5));
        }
        table.rows.push(row);
    }
    let mean = |sum: f64| Cell::Figure(sum / corpus.arrays.len().max(1) as f64, 5);
    table.rows.push(["mean".into()].into_iter().chain(sums.map(mean)).collect());
    table.note = corpus::note(&corpus.arrays);
    vec![Exhibit::Table(table)]
}

/// What becomes of time and state if a part of the method is left out.
fn ablations(corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let extended = Partitions::Extended.name();
    let whole = figures.setup("slimstate", &format!("--partitions {extended}"), |_| ());
    let no_small = figures.setup("slimstate", "--small-array 1", |options| options.small_array = 1);
    let no_buffer = figures.setup("slimstate", "--commit-buffer 1", |options| options.commit_buffer = 1);
    let setups: Vec<_> = [whole, no_small, no_buffer].into_iter().flatten().collect();
    let mut table = |name: &str, title: &str, cell: fn(&Measured) -> Cell| {
        by_trace((name, title), &corpus.arrays, &setups, figures, cell)
    };
    vec![
        table("slimstate-ablation-time", "Seconds in the detector with other limits", |measured| {
            Cell::Seconds(measured.seconds)
        }),
        table("slimstate-ablation-space", "Peak state in KiB with other limits", |measured| {
            Cell::Count(measured.state_bytes.div_ceil(1024))
        }),
    ]
}
