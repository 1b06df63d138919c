//! `overtake compare`: detectors beside each other, on one trace or on many. Each detector reads the trace by itself, so a row is
//! printed as soon as its detector is done.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use overtake::files::{Input, traces_of};
use overtake::measure::{Cell, Measured, Setup, Table, differences, measure};
use overtake::{Error, Examined, Listener};
use overtake_detect::{Allowance, Entry, Registry};
use overtake_report::text::{Compared, Layout};
use overtake_report::{TraceFacts, json, text};

use crate::command_line::args::{CompareArguments, CompareForm};
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Prints the rows.
pub(crate) fn run(arguments: &CompareArguments, registry: Registry, console: Console) -> Outcome {
    let traces = traces_of(&arguments.traces)?;
    let entries = arguments.detector.named_or(registry.entries());
    arguments.options.warn_of_unused(&entries, console);
    let mut comparison = Comparison::new(arguments, entries, traces.len() > 1, console);
    let mut failures = 0;
    for trace in &traces {
        match comparison.add(trace) {
            Err(error) if traces.len() > 1 => {
                console.say(&error.to_string());
                failures += 1;
            }
            done => done?,
        }
    }
    if let CompareForm::Latex = comparison.form {
        console.print(&comparison.table.latex())?;
    }
    match (failures, comparison.has_races) {
        (0, true) => Ok(Verdict::Races),
        (0, false) => Ok(Verdict::Fine),
        _ => Err(Error::failed(format!("{failures} of {} traces could not be compared", traces.len()))),
    }
}

const COLUMNS: [&str; 16] = [
    "trace",
    "events",
    "threads",
    "locks",
    "variables",
    "detector",
    "racy_events",
    "racy_variables",
    "racy_locations",
    "pairs",
    "max_distance",
    "seconds",
    "state_bytes",
    "covered_percent",
    "notion",
    "promise",
];

/// Columns of LaTeX, which has to fit on a page: the trace, the detector and what it found and took.
const ON_A_PAGE: [usize; 9] = [0, 1, 5, 6, 7, 9, 10, 11, 12];

/// A comparison under way.
struct Comparison<'a> {
    arguments: &'a CompareArguments,
    entries: Vec<&'static Entry>,
    /// Traces are named above their rows.
    are_many: bool,
    form: CompareForm,
    table: Table,
    layout: Layout,
    console: Console,
    has_races: bool,
}

impl<'a> Comparison<'a> {
    fn new(
        arguments: &'a CompareArguments,
        entries: Vec<&'static Entry>,
        are_many: bool,
        console: Console,
    ) -> Comparison<'a> {
        let form = arguments.form();
        let table = match form {
            CompareForm::Latex => {
                Table::new("compare", "Detectors compared", ON_A_PAGE.map(|at| COLUMNS[at].replace('_', " ")))
            }
            _ => Table::new("compare", "Detectors compared", COLUMNS),
        };
        let layout = console.layout(0);
        Comparison { arguments, entries, are_many, form, table, layout, console, has_races: false }
    }

    /// Compares the detectors on a trace.
    fn add(&mut self, trace: &Path) -> Result<(), Error> {
        let mut input = self.arguments.input(trace);
        if let CompareForm::Json = self.form {
            return self.add_json(&mut input);
        }
        if self.are_many && self.form == CompareForm::Text {
            self.console.print(&format!("{}\n", trace.display()))?;
        }
        let (start, mut facts) = (Instant::now(), None);
        for entry in self.entries.clone() {
            let setup = Setup { options: self.arguments.options(), ..Setup::usual(entry) };
            let strictness = self.arguments.strictness();
            let (measured, found) =
                measure(&mut input, &setup, self.arguments.repeat, strictness, &self.console)?;
            if facts.is_none() {
                self.console.say(&text::notes(&found));
                self.heading()?;
            }
            let facts: &mut TraceFacts = facts.get_or_insert(found);
            // A detector that was stopped has not seen all of the trace.
            facts.events = facts.events.max(measured.events);
            self.row(entry, &measured)?;
        }
        let Some(facts) = facts else { return Ok(()) };
        match self.form {
            CompareForm::Text => self.console.print(&self.ending(&facts, start.elapsed())),
            _ => Ok(()),
        }
    }

    /// All detectors share one reading.
    fn add_json(&mut self, input: &mut Input) -> Result<(), Error> {
        let (options, strictness) = (self.arguments.options(), self.arguments.strictness());
        let examined = Examined::of(input, &self.entries, &options, strictness, &self.console)?;
        let examined = examined.with_events()?;
        let analysed = examined.analysed();
        self.console.say(&text::notes(analysed.trace));
        self.has_races |= analysed.has_races();
        self.console.write(|out| json::races(out, &analysed))
    }

    fn heading(&self) -> Result<(), Error> {
        match self.form {
            CompareForm::Text => self.console.print(&text::compare_heading(&self.layout)),
            _ => Ok(()),
        }
    }

    fn row(&mut self, entry: &Entry, measured: &Measured) -> Result<(), Error> {
        self.has_races |= measured.groups > 0;
        let cells = cells(entry, measured);
        match self.form {
            CompareForm::Json => Ok(()),
            CompareForm::Text => {
                self.console.print(&text::compare_row(&compared(entry, measured), &self.layout))
            }
            CompareForm::Csv => {
                // The headings stand above the first row only.
                let is_first = self.table.rows.is_empty();
                self.table.rows = vec![cells.to_vec()];
                let csv = self.table.csv();
                let row = csv.split_once('\n').filter(|_| !is_first).map_or(&*csv, |(_, row)| row);
                self.console.print(row)
            }
            CompareForm::Latex => {
                self.table.rows.push(ON_A_PAGE.iter().map(|&at| cells[at].clone()).collect());
                self.console.say(&format!("{}: {} is done", measured.trace, measured.detector));
                Ok(())
            }
        }
    }

    /// What stands below the rows of a trace.
    fn ending(&self, facts: &TraceFacts, time: Duration) -> String {
        let mut ending = format!("\n{}", text::compare_trace(facts, time));
        for difference in differences(&self.entries, &facts.repairs, self.console.verbose) {
            ending.push_str(&format!("{difference}\n"));
        }
        if self.are_many {
            ending.push('\n');
        }
        ending
    }
}

fn compared(entry: &Entry, measured: &Measured) -> Compared {
    let stopped = match measured.is_partial {
        true => format!("stopped after {:.0} % of the events; ", measured.coverage()),
        false => String::new(),
    };
    Compared {
        detector: measured.detector.clone(),
        racy_events: measured.racy_events,
        variables: measured.racy_variables,
        locations: measured.racy_locations,
        pairs: measured.groups,
        distance: measured.max_distance,
        time: Duration::from_secs_f64(measured.seconds),
        events_read: measured.covered,
        peak_state_bytes: measured.state_bytes,
        promise: format!("{stopped}{}", entry.meaning()),
    }
}

fn cells(entry: &Entry, measured: &Measured) -> [Cell; COLUMNS.len()] {
    [
        measured.trace.as_str().into(),
        Cell::Count(measured.events),
        Cell::Count(measured.threads),
        Cell::Count(measured.locks),
        Cell::Count(measured.variables),
        measured.detector.as_str().into(),
        Cell::Count(measured.racy_events),
        Cell::Count(measured.racy_variables),
        Cell::Count(measured.racy_locations),
        Cell::Count(measured.groups),
        Cell::Count(measured.max_distance),
        Cell::Figure(measured.seconds, 6),
        Cell::Count(measured.state_bytes),
        Cell::Figure(measured.coverage(), 1),
        entry.notion.describe().into(),
        entry.meaning().as_str().into(),
    ]
}

impl CompareArguments {
    fn input(&self, trace: &Path) -> Input {
        Input::new(PathBuf::from(trace)).with_format(self.format).with_salvage(self.salvage)
    }

    fn options(&self) -> overtake_detect::Options {
        let state_bytes = self.memory.map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        let mut options = self.options.options();
        options.allowance = Allowance { time: self.timeout, state_bytes };
        options
    }
}
