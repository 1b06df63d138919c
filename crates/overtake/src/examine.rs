//! Runs detectors over a trace, in as many passes as they need.

use std::sync::Arc;
use std::time::{Duration, Instant};

use overtake_detect::{Driver, Entry, Options, Outcome as Pass, Strictness};
use overtake_report::{Analysed, Findings, TraceFacts};
use overtake_trace::{Landmarks, OtrFile, Symbols};

use crate::files::{Input, Opened};
use crate::{Error, Listener};

/// What is said about a trace without events.
pub(crate) const NOTHING: &str = "expected events, found none, so nothing was checked";

/// A trace with what the detectors found in it.
pub struct Examined {
    /// The detectors that ran one after the other.
    pub(crate) driver: Driver,
    /// What others found together.
    pub(crate) shared: Vec<Shared>,
    /// The names of all detectors, in the order in which they are shown.
    pub(crate) order: Vec<&'static str>,
    pub(crate) opened: Opened,
    /// Where the names of the trace are, if the driver did not read it.
    pub(crate) file: Option<Arc<OtrFile>>,
    pub(crate) facts: TraceFacts,
    pub(crate) time: Duration,
}

/// What several workers found together with one detector.
pub(crate) struct Shared {
    pub(crate) entry: &'static Entry,
    pub(crate) races: overtake_detect::Findings,
    pub(crate) time: Duration,
    pub(crate) events_read: u64,
    pub(crate) peak_state_bytes: usize,
}

impl Examined {
    /// Runs the detectors, in as many passes as they need.
    pub fn of(
        input: &mut Input,
        entries: &[&'static Entry],
        options: &Options,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<Examined, Error> {
        let start = Instant::now();
        let mut driver = Driver::start(entries, options, strictness)?;
        let (opened, facts) = drive(&mut driver, input, strictness, listener)?;
        let order = entries.iter().map(|entry| entry.name).collect();
        Ok(Examined { driver, shared: Vec::new(), order, opened, file: None, facts, time: start.elapsed() })
    }

    /// Refuses a trace without events: it shows no race, but nothing was checked either.
    pub fn with_events(self) -> Result<Examined, Error> {
        match self.facts.events {
            0 => Err(self.opened.failure(NOTHING)),
            _ => Ok(self),
        }
    }

    /// Whether a race or a deadlock was found, about which the trace tells more.
    pub fn has_findings(&self) -> bool {
        self.driver.jobs().iter().any(|job| !job.findings().is_empty())
    }

    /// The results as renderers take them.
    pub fn analysed(&self) -> Analysed<'_> {
        let findings = self.driver.jobs().iter().map(|job| Findings {
            detector: job.entry,
            races: job.findings(),
            figures: job.figures(),
            remarks: job.remarks(),
            time: job.time,
            events_read: job.events_read,
            peak_state_bytes: job.peak_state_bytes,
        });
        let shared = self.shared.iter().map(|shared| Findings {
            detector: shared.entry,
            races: &shared.races,
            figures: Vec::new(),
            remarks: Vec::new(),
            time: shared.time,
            events_read: shared.events_read,
            peak_state_bytes: shared.peak_state_bytes,
        });
        let mut findings: Vec<_> = findings.chain(shared).collect();
        findings.sort_by_key(|findings| self.order.iter().position(|name| *name == findings.detector.name));
        Analysed { trace: &self.facts, symbols: self.symbols(), findings, time: self.time }
    }

    /// After how many events of its last pass a detector was stopped, because it took more than it was allowed.
    pub fn stopped_at(&self, detector: usize) -> Option<u64> {
        self.driver.jobs().get(detector)?.stopped_at
    }

    /// The names of the trace's threads, variables, locks and locations.
    pub fn symbols(&self) -> &Symbols {
        let of_file = self.file.as_ref().and_then(|file| file.symbols().ok());
        of_file.unwrap_or_else(|| self.opened.source().symbols())
    }

    /// Places from which the trace can be read again.
    pub fn landmarks(&self) -> &Landmarks {
        self.driver.landmarks()
    }
}

/// Lets the driver read the trace as often as it wants.
pub(crate) fn drive(
    driver: &mut Driver,
    input: &mut Input,
    strictness: Strictness,
    listener: &dyn Listener,
) -> Result<(Opened, TraceFacts), Error> {
    if driver.may_need_another_pass() {
        input.make_rereadable(strictness, listener)?;
    }
    loop {
        let mut opened = input.open()?;
        let mut bar = listener.reading();
        let pass = driver.pass(opened.source_mut(), &mut *bar);
        drop(bar);
        if pass.map_err(|error| opened.failure(error))? == Pass::Done {
            let mut facts = opened.facts(driver.events(), driver.repairs());
            facts.misuses = driver.misuses().found().to_vec();
            facts.first_after = driver.first_after();
            return Ok((opened, facts));
        }
    }
}
