//! `overtake bench papers`: the tables and figures of the papers, made again.
//!
//! Each paper is a function that asks for measurements and makes tables and plots of them. It is called twice. The first time
//! it gets no figures, and what it asks for is noted; then everything is measured, on several threads if there are, and each result
//! goes to a file at once, so that stopped work can be resumed. The second time it gets the figures.

mod complexity;
mod corpus;
mod originals;
mod pages;
mod short_races;
mod slimstate;
mod sync_preserving;
mod tester;

use std::collections::HashSet;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use overtake::measure::{Cell, Manner, Measured, Plot, Setup, Store, Table, measure};
use overtake::{Error, Input, Listener};
use overtake_detect::{Allowance, Options, Registry, Strictness};

use self::corpus::{Corpus, Workload};
use crate::command_line::args::PapersArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// A paper whose evaluation is made again.
struct Paper {
    /// The name on the command line.
    name: &'static str,
    title: &'static str,
    source: &'static str,
    makers: &'static [Maker],
}

/// Makes exhibits that share their measurements.
type Maker = fn(&Corpus, &mut Figures<'_>) -> Vec<Exhibit>;

const PAPERS: [Paper; 5] = [
    Paper {
        name: "short-races",
        title: "Efficient Dynamic Algorithms to Predict Short Races",
        source: "Zhang, Viswanathan; arXiv 2603.03141, 2026",
        makers: &short_races::MAKERS,
    },
    Paper {
        name: "slimstate",
        title: "Array Shadow State Compression for Precise Dynamic Race Detection",
        source: "Wilcox, Finch, Flanagan, Freund; ASE 2015",
        makers: &slimstate::MAKERS,
    },
    Paper {
        name: "complexity",
        title: "Dynamic Data-Race Detection Through the Fine-Grained Lens",
        source: "Kulkarni, Mathur, Pavlogiannis; CONCUR 2021",
        makers: &complexity::MAKERS,
    },
    Paper {
        name: "tester",
        title: "Dynamic Race Detection with O(1) Samples",
        source: "Al Thokair, Zhang, Mathur, Viswanathan; POPL 2023",
        makers: &tester::MAKERS,
    },
    Paper {
        name: "sync-preserving",
        title: "Optimal Prediction of Synchronization-Preserving Races",
        source: "Mathur, Pavlogiannis, Viswanathan; POPL 2021",
        makers: &sync_preserving::MAKERS,
    },
];

/// A table or a figure.
enum Exhibit {
    Table(Table),
    Plot(Plot),
}

impl Exhibit {
    fn name(&self) -> &str {
        match self {
            Exhibit::Table(table) => &table.name,
            Exhibit::Plot(plot) => &plot.name,
        }
    }
}

/// What papers get their figures from.
enum Figures<'a> {
    /// Nothing is measured yet: what is asked for is noted.
    Wanted { registry: Registry, wanted: Vec<(Workload, Setup)> },
    /// Everything is measured.
    Measured { registry: Registry, store: &'a Store },
}

impl Figures<'_> {
    /// What a detector did on a trace.
    fn of(&mut self, workload: &Workload, setup: Setup) -> Measured {
        match self {
            Figures::Wanted { wanted, .. } => {
                wanted.push((workload.clone(), setup));
                Measured::default()
            }
            Figures::Measured { store, .. } => {
                store.get(&workload.name, &setup.label).cloned().unwrap_or_default()
            }
        }
    }

    /// How many measurements are noted.
    fn noted(&self) -> usize {
        match self {
            Figures::Wanted { wanted, .. } => wanted.len(),
            Figures::Measured { .. } => 0,
        }
    }

    /// Forgets the measurements that were noted after so many.
    fn forget_after(&mut self, noted: usize) {
        if let Figures::Wanted { wanted, .. } = self {
            wanted.truncate(noted);
        }
    }

    /// A detector with other settings than usual; `label` says which.
    fn setup(&self, name: &str, label: &str, change: impl FnOnce(&mut Options)) -> Option<Setup> {
        let (Figures::Wanted { registry, .. } | Figures::Measured { registry, .. }) = self;
        let mut setup = Setup::usual(registry.find(name)?);
        if !label.is_empty() {
            setup.label = format!("{name} {label}");
        }
        change(&mut setup.options);
        Some(setup)
    }

    /// The detectors of these names.
    fn setups(&self, names: &[&str]) -> Vec<Setup> {
        names.iter().filter_map(|name| self.setup(name, "", |_| ())).collect()
    }
}

/// A table with a row for each trace and a column for each detector.
fn by_trace(
    (name, title): (&str, &str),
    workloads: &[Workload],
    setups: &[Setup],
    figures: &mut Figures<'_>,
    cell: impl Fn(&Measured) -> Cell,
) -> Exhibit {
    let labels = setups.iter().map(|setup| setup.label.clone());
    let mut table = Table::new(name, title, ["trace".to_owned(), "N".to_owned()].into_iter().chain(labels));
    for workload in workloads {
        let measured: Vec<_> = setups.iter().map(|setup| figures.of(workload, setup.clone())).collect();
        let events = measured.iter().map(|measured| measured.events).max().unwrap_or(0);
        let cells = measured.iter().map(|measured| match measured.is_partial {
            true => Cell::Partial(Box::new(cell(measured)), measured.coverage()),
            false => cell(measured),
        });
        table
            .rows
            .push([workload.name.as_str().into(), Cell::Count(events)].into_iter().chain(cells).collect());
    }
    table.note = corpus::note(workloads);
    Exhibit::Table(table)
}

/// The geometric mean; 0 if there is nothing to take it of.
fn geometric_mean(values: impl Iterator<Item = f64>) -> f64 {
    let logarithms: Vec<_> = values.filter(|value| *value > 0.0).map(f64::ln).collect();
    if logarithms.is_empty() { 0.0 } else { (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp() }
}

/// One number as part of another; 0 where there is none.
fn share(part: f64, whole: f64) -> f64 {
    if whole > 0.0 { part / whole } else { 0.0 }
}

/// Makes what was asked for.
pub(super) fn run(arguments: &PapersArguments, registry: Registry, console: Console) -> Outcome {
    let papers = chosen(&arguments.papers)?;
    let corpus = Corpus::new(&arguments.traces, arguments.events)?;
    std::fs::create_dir_all(&arguments.out).map_err(|error| Error::in_file(&arguments.out, error))?;
    let mut figures = Figures::Wanted { registry, wanted: Vec::new() };
    for (paper, exhibit) in &papers {
        let _ = made(paper, exhibit.as_deref(), &corpus, &mut figures);
    }
    let Figures::Wanted { wanted, .. } = figures else { return Ok(Verdict::Fine) };
    let mut seen = HashSet::new();
    let wanted: Vec<_> = wanted
        .into_iter()
        .filter(|(workload, setup)| seen.insert((workload.name.clone(), setup.label.clone())))
        .collect();
    let store = Store::open(&arguments.out.join("results.tsv"), arguments.resume)?;
    let store = measure_all(wanted, store, arguments, console)?;
    let mut figures = Figures::Measured { registry, store: &store };
    let mut shown = Vec::new();
    for (paper, exhibit) in &papers {
        shown.push((*paper, made(paper, exhibit.as_deref(), &corpus, &mut figures)));
    }
    let page = pages::write(&shown, &arguments.out)?;
    console.print(&format!("{}\n", page.display()))?;
    Ok(Verdict::Fine)
}

/// The exhibits of a paper, or the one of this name.
fn made(paper: &Paper, exhibit: Option<&str>, corpus: &Corpus, figures: &mut Figures<'_>) -> Vec<Exhibit> {
    let mut all = Vec::new();
    for maker in paper.makers {
        let before = figures.noted();
        let mut exhibits = maker(corpus, figures);
        exhibits.retain(|made| exhibit.is_none_or(|name| made.name() == format!("{}-{name}", paper.name)));
        if exhibits.is_empty() {
            figures.forget_after(before);
        }
        all.append(&mut exhibits);
    }
    all
}

/// The papers of a command line: `slimstate`, or `slimstate.time` for one table of it; all if none is named.
fn chosen(names: &[String]) -> Result<Vec<(&'static Paper, Option<String>)>, Error> {
    if names.is_empty() {
        return Ok(PAPERS.iter().map(|paper| (paper, None)).collect());
    }
    let one = |name: &String| {
        let (paper, exhibit) =
            name.split_once('.').map_or((name.as_str(), None), |(paper, exhibit)| (paper, Some(exhibit)));
        let found = PAPERS.iter().find(|known| known.name == paper).ok_or_else(|| {
            let known: Vec<_> = PAPERS.iter().map(|paper| paper.name).collect();
            Error::usage(format!("no paper is called `{paper}`; there are {}", known.join(", ")))
        })?;
        let Some(exhibit) = exhibit else { return Ok((found, None)) };
        let nothing = Corpus::new(&[], 1000)?;
        let mut figures = Figures::Wanted { registry: Registry::default(), wanted: Vec::new() };
        let names = made(found, None, &nothing, &mut figures);
        let names: Vec<_> =
            names.iter().filter_map(|made| made.name().strip_prefix(paper)?.strip_prefix('-')).collect();
        match names.contains(&exhibit) {
            true => Ok((found, Some(exhibit.to_owned()))),
            false => Err(Error::usage(format!(
                "`{paper}` has no table `{exhibit}`; there are {}",
                names.join(", ")
            ))),
        }
    };
    names.iter().map(one).collect()
}

/// The names of all exhibits.
#[cfg(test)]
fn exhibit_names() -> Vec<String> {
    let corpus = Corpus::new(&[], 1000).expect("a corpus");
    let names = |paper: &Paper| {
        let mut figures = Figures::Wanted { registry: Registry::default(), wanted: Vec::new() };
        let exhibits = made(paper, None, &corpus, &mut figures);
        exhibits.iter().map(|exhibit| exhibit.name().to_owned()).collect::<Vec<_>>()
    };
    PAPERS.iter().flat_map(names).collect()
}

/// Measures what is not known yet.
fn measure_all(
    wanted: Vec<(Workload, Setup)>,
    store: Store,
    arguments: &PapersArguments,
    console: Console,
) -> Result<Store, Error> {
    let allowance =
        Allowance { time: arguments.timeout, state_bytes: arguments.memory.map(|bytes| bytes as usize) };
    let wanted: Vec<_> = wanted
        .into_iter()
        .map(|(workload, mut setup)| {
            let own = setup.options.allowance;
            setup.options.allowance = Allowance {
                time: own.time.or(allowance.time),
                state_bytes: own.state_bytes.or(allowance.state_bytes),
            };
            let manner = manner(&workload, &setup, arguments.repeat);
            Wanted { workload, setup, manner }
        })
        .filter(|Wanted { workload, setup, manner }| !store.has(&workload.name, &setup.label, manner))
        .collect();
    let traces = arguments.out.join("traces");
    std::fs::create_dir_all(&traces).map_err(|error| Error::in_file(&traces, error))?;
    let mut made = HashSet::new();
    for one in wanted.iter().filter(|one| made.insert(one.workload.name.clone())) {
        one.workload.make(&traces, console)?;
    }
    let work =
        Work { wanted: &wanted, traces: &traces, repeat: arguments.repeat, start: Instant::now(), console };
    let (next, store) = (AtomicUsize::new(0), Mutex::new(store));
    let failures = std::thread::scope(|scope| {
        let workers: Vec<_> =
            (0..arguments.jobs.max(1)).map(|_| scope.spawn(|| work.take_part(&next, &store))).collect();
        let joined = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|_| Err(Error::failed("a measurement failed"))));
        joined.collect::<Vec<_>>()
    });
    failures.into_iter().collect::<Result<Vec<()>, Error>>()?;
    store.into_inner().map_err(|_| Error::failed("a measurement failed"))
}

/// How a measurement is made, for whoever resumes the work.
fn manner(workload: &Workload, setup: &Setup, runs: usize) -> Manner {
    let Allowance { time, state_bytes } = setup.options.allowance;
    let time = time.map(|time| format!("{} ms", time.as_millis()));
    let bytes = state_bytes.map(|bytes| format!("{bytes} bytes"));
    let limits = [time, bytes].into_iter().flatten().collect::<Vec<_>>().join(", ");
    Manner { source: workload.source(), runs, limits }
}

/// A measurement to be made.
struct Wanted {
    workload: Workload,
    setup: Setup,
    manner: Manner,
}

impl Wanted {
    /// How long it may take beside others: by its events, and something for each.
    fn weight(&self) -> f64 {
        self.workload.events.unwrap_or(0) as f64 + 10_000.0
    }
}

/// Measurements to be made.
struct Work<'a> {
    wanted: &'a [Wanted],
    traces: &'a Path,
    repeat: usize,
    start: Instant,
    console: Console,
}

impl Work<'_> {
    /// Makes one measurement after the other until all are taken.
    fn take_part(&self, next: &AtomicUsize, store: &Mutex<Store>) -> Result<(), Error> {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(Wanted { workload, setup, manner }) = self.wanted.get(at) else { return Ok(()) };
            let mut input = Input::new(workload.path(self.traces));
            let (mut measured, _) = measure(&mut input, setup, self.repeat, Strictness::Repair, &())?;
            workload.name.clone_into(&mut measured.trace);
            self.console.say(&self.progress(at + 1, &measured));
            let mut store = store.lock().map_err(|_| Error::failed("a measurement failed"))?;
            store.add(measured, manner.clone())?;
        }
    }

    /// How far the work is, and when it may be done.
    fn progress(&self, done: usize, measured: &Measured) -> String {
        let elapsed = self.start.elapsed().as_secs_f64();
        let weight = |wanted: &[Wanted]| wanted.iter().fold(0.0, |sum, one| sum + one.weight());
        let rest = elapsed * weight(&self.wanted[done..]) / weight(&self.wanted[..done]);
        let stopped = if measured.is_partial {
            format!(", stopped at {:.0} %", measured.coverage())
        } else {
            String::new()
        };
        format!(
            "{done} of {} ({}, {}: {:.2} s{stopped}), about {rest:.0} s left",
            self.wanted.len(),
            measured.trace,
            measured.detector,
            measured.seconds
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn papers_and_their_tables_are_chosen_by_name() {
        assert_eq!(chosen(&[]).expect("all").len(), PAPERS.len());
        let one = chosen(&["slimstate.time".to_owned()]).expect("a table");
        assert_eq!((one[0].0.name, one[0].1.as_deref()), ("slimstate", Some("time")));
        let message =
            |name: &str| chosen(&[name.to_owned()]).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(message("nothing").contains("there are short-races, slimstate"), "{}", message("nothing"));
        assert!(message("slimstate.nothing").contains("there are"), "{}", message("slimstate.nothing"));
    }

    #[test]
    fn one_table_asks_for_its_own_measurements_only() {
        let corpus = Corpus::new(&[], 1000).expect("a corpus");
        let noted = |exhibit: Option<&str>| {
            let mut figures = Figures::Wanted { registry: Registry::default(), wanted: Vec::new() };
            let _ = made(&PAPERS[1], exhibit, &corpus, &mut figures);
            figures.noted()
        };
        assert_eq!(noted(Some("nothing")), 0);
        assert!(noted(Some("sets")) > 0 && noted(Some("sets")) < noted(None));
    }

    #[test]
    fn exhibits_have_names_of_their_own() {
        let names = exhibit_names();
        for name in &names {
            assert!(PAPERS.iter().any(|paper| name.starts_with(&format!("{}-", paper.name))), "{name}");
            assert_eq!(names.iter().filter(|other| *other == name).count(), 1, "{name}");
        }
        assert!(names.len() >= 15, "{names:?}");
    }

    #[test]
    fn means_and_shares_of_nothing_are_nothing() {
        assert!((geometric_mean([2.0, 8.0].into_iter()) - 4.0).abs() < 1e-9);
        assert!(geometric_mean(std::iter::empty()) < 1e-9 && share(1.0, 0.0) < 1e-9);
    }
}
