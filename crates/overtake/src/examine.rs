//! Runs detectors over a trace, in as many passes as they need.

use std::time::{Duration, Instant};

use overtake_detect::{Driver, Entry, Options, Outcome as Pass, Strictness};
use overtake_report::{Analysed, Findings, TraceFacts};
use overtake_trace::{Landmarks, Symbols};

use crate::files::{Input, Opened};
use crate::{Error, Listener};

/// What is said about a trace without events.
pub(crate) const NOTHING: &str = "expected events, found none, so nothing was checked";

/// A trace with what the detectors found in it.
pub struct Examined {
    driver: Driver,
    opened: Opened,
    facts: TraceFacts,
    time: Duration,
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
        let mut driver = Driver::start(entries, options, strictness)?;
        let start = Instant::now();
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
                return Ok(Examined { driver, opened, facts, time: start.elapsed() });
            }
        }
    }

    /// Refuses a trace without events: it shows no race, but nothing was checked either.
    pub fn with_events(self) -> Result<Examined, Error> {
        match self.facts.events {
            0 => Err(self.opened.failure(NOTHING)),
            _ => Ok(self),
        }
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
        Analysed {
            trace: &self.facts,
            symbols: self.symbols(),
            findings: findings.collect(),
            time: self.time,
        }
    }

    /// The names of the trace's threads, variables, locks and locations.
    pub fn symbols(&self) -> &Symbols {
        self.opened.source().symbols()
    }

    /// Places from which the trace can be read again.
    pub fn landmarks(&self) -> &Landmarks {
        self.driver.landmarks()
    }
}
