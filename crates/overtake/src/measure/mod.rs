//! Detectors measured on traces: what they find, how long they take, how much state they hold, how far they came.
//!
//! `overtake compare` and `overtake bench papers` are made of these measurements. [`Table`] and [`Plot`] show them.

mod others;
mod plot;
mod store;
mod table;

pub use others::differences;
pub use plot::{Curve, Plot, Scale};
pub use store::{Manner, Store};
pub use table::{Cell, Table};

use std::time::Duration;

use overtake_detect::{Entry, Options, Reads, Strictness};
use overtake_report::{Analysed, Findings, TraceFacts};

use crate::files::Input;
use crate::tester::{Patience, TestedTrace};
use crate::{Error, Examined, Listener};

/// A detector with its settings.
#[derive(Clone)]
pub struct Setup {
    /// How tables call it: `short-hb --window 1000`.
    pub label: String,
    /// The detector.
    pub entry: &'static Entry,
    /// Its settings.
    pub options: Options,
}

impl Setup {
    /// A detector with the settings that it has where nothing else is asked for.
    pub fn usual(entry: &'static Entry) -> Setup {
        Setup { label: entry.name.to_owned(), entry, options: Options::default() }
    }
}

/// What one detector did on one trace.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Measured {
    /// The name of the trace.
    pub trace: String,
    /// The label of the [`Setup`].
    pub detector: String,
    /// Events, threads, locks and variables of the trace.
    pub events: u64,
    /// Threads of the trace.
    pub threads: u64,
    /// Locks of the trace.
    pub locks: u64,
    /// Variables of the trace.
    pub variables: u64,
    /// Events that the detector was given. Fewer than all of them: it was stopped, or it reads only windows.
    pub covered: u64,
    /// The detector took more than it was allowed and was stopped.
    pub is_partial: bool,
    /// Time in the detector, the median of several runs.
    pub seconds: f64,
    /// The most state it held.
    pub state_bytes: u64,
    /// Second events of races.
    pub racy_events: u64,
    /// Variables that race.
    pub racy_variables: u64,
    /// Source locations of second events.
    pub racy_locations: u64,
    /// Groups of findings: pairs of source locations, and deadlocks.
    pub groups: u64,
    /// The largest distance of a race.
    pub max_distance: u64,
    /// How many races have a distance of at most 1, 2, 4 and so on events, and more than the one before.
    pub distances: Vec<u64>,
    /// Figures of the detector's own.
    pub figures: Vec<(String, u64)>,
}

impl Measured {
    /// One of the detector's own figures; 0 if it has none of this name.
    pub fn figure(&self, name: &str) -> u64 {
        self.figures.iter().find(|(found, _)| found == name).map_or(0, |&(_, figure)| figure)
    }

    /// The part of the trace that the detector has seen, in percent.
    pub fn coverage(&self) -> f64 {
        100.0 * self.covered as f64 / self.events.max(1) as f64
    }
}

/// Measures a detector on a trace, `repeat` times. Also says what the trace is like.
///
/// A detector that reads windows reads only those of a sealed trace. Of other traces it is given every event.
pub fn measure(
    input: &mut Input,
    setup: &Setup,
    repeat: usize,
    strictness: Strictness,
    listener: &dyn Listener,
) -> Result<(Measured, TraceFacts), Error> {
    input.make_rereadable(strictness, listener)?;
    let mut seconds = Vec::new();
    loop {
        let (mut measured, facts) = once(input, setup, strictness, listener)?;
        seconds.push(measured.seconds);
        if measured.is_partial || seconds.len() >= repeat.max(1) {
            seconds.sort_by(f64::total_cmp);
            measured.seconds = seconds[seconds.len() / 2];
            setup.label.clone_into(&mut measured.detector);
            return Ok((measured, facts));
        }
    }
}

/// Runs a detector over a trace.
fn once(
    input: &mut Input,
    setup: &Setup,
    strictness: Strictness,
    listener: &dyn Listener,
) -> Result<(Measured, TraceFacts), Error> {
    let sealed = input.at_any_place();
    if let (Reads::Windows(read_windows), Some(_)) = (setup.entry.reads, &sealed) {
        let detector = (setup.entry, read_windows);
        let patience = Patience { until: setup.options.allowance.time, ..Patience::default() };
        let tested = TestedTrace::of(input, detector, &setup.options, &patience, strictness, listener)?;
        let analysed = tested.analysed();
        return Ok((of_findings(&analysed, None), analysed.trace.clone()));
    }
    let examined =
        Examined::of(input, &[setup.entry], &setup.options, strictness, listener)?.with_events()?;
    let analysed = examined.analysed();
    let mut measured = of_findings(&analysed, examined.stopped_at(0));
    if measured.is_partial {
        measured.events = measured.events.max(sealed.map_or(0, |file| file.parameters().events));
    }
    Ok((measured, analysed.trace.clone()))
}

/// What the only detector of an analysis did.
fn of_findings(analysed: &Analysed<'_>, stopped_at: Option<u64>) -> Measured {
    let trace = analysed.trace;
    let mut measured = Measured {
        trace: trace.file.clone(),
        events: trace.events,
        threads: trace.sizes.threads as u64,
        locks: trace.sizes.locks as u64,
        variables: trace.sizes.variables as u64,
        ..Measured::default()
    };
    if let Some(Findings { races, figures, time, events_read, peak_state_bytes, .. }) =
        analysed.findings.first()
    {
        measured.covered = stopped_at.unwrap_or(*events_read);
        measured.is_partial = stopped_at.is_some();
        measured.seconds = Duration::as_secs_f64(time);
        measured.state_bytes = *peak_state_bytes as u64;
        measured.racy_events = races.racy_events().len() as u64;
        measured.racy_variables = races.racy_variables().len() as u64;
        measured.racy_locations = races.racy_locations().len() as u64;
        measured.groups = (races.groups().len() + races.deadlocks().len()) as u64;
        measured.max_distance = races.max_distance();
        measured.distances = races.distances().counts().to_vec();
        measured.figures = figures.iter().map(|&(name, figure)| (name.to_owned(), figure)).collect();
    }
    measured
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_detect::{Allowance, Registry};

    fn trace_of(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::Builder::new().suffix(".std").tempfile().expect("a temporary file");
        std::fs::write(file.path(), text).expect("it can be written");
        file
    }

    fn setup(name: &str) -> Setup {
        Setup::usual(Registry::default().find(name).expect("a row"))
    }

    #[test]
    fn a_measurement_says_what_was_found_and_how_far_apart() {
        let file = trace_of("T0|fork(T1)|m:1\nT0|w(x)|m:2\nT1|acq(l)|m:3\nT1|rel(l)|m:4\nT1|r(x)|m:5\n");
        let mut input = Input::new(file.path());
        let (measured, _) =
            measure(&mut input, &setup("hb"), 2, Strictness::Repair, &()).expect("it is measured");
        assert_eq!((measured.events, measured.threads, measured.locks, measured.variables), (5, 2, 1, 1));
        assert_eq!((measured.racy_events, measured.racy_variables, measured.groups), (1, 1, 1));
        assert_eq!((measured.max_distance, &measured.distances[..]), (3, &[0, 0, 1][..]));
        assert_eq!((measured.covered, measured.is_partial), (5, false));
    }

    #[test]
    fn who_is_stopped_reports_what_it_found_and_how_far_it_came() {
        let mut text = String::from("T0|fork(T1)|m:1\nT0|w(x)|m:2\nT1|w(x)|m:3\n");
        for _ in 0..40_000 {
            text.push_str("T0|w(y)|m:4\nT0|w(z)|m:5\n");
        }
        let file = trace_of(&text);
        let mut stopped = setup("hb");
        stopped.options.allowance = Allowance { state_bytes: Some(0), time: None };
        let mut input = Input::new(file.path());
        let (measured, _) =
            measure(&mut input, &stopped, 3, Strictness::Repair, &()).expect("it is measured");
        assert!(measured.is_partial && measured.covered < 80_003, "{measured:?}");
        assert_eq!(measured.racy_events, 1, "the race of the first block");
    }
}
