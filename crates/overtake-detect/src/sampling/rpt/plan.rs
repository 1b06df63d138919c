//! Which parts of a trace are read.

use std::ops::Range;

use overtake_trace::Parameters;

use super::judge::Judge;
use crate::sampling::random::Numbers;
use crate::settings::{OptionError, Options};

/// The windows of one test.
#[derive(Clone, PartialEq, Debug)]
pub struct Plan {
    /// The part of all events that must change for the promise to hold.
    pub epsilon: f64,
    /// The probability that no race is found although the promise holds.
    pub delta: f64,
    /// Seed of the places.
    pub seed: u64,
    /// The size of the trace.
    pub parameters: Parameters,
    /// m = 4T + 2h.
    pub m: u64,
    /// k: events in a window.
    pub window: u64,
    /// r: windows drawn.
    pub samples: u64,
    /// What is read: ascending, disjoint and not touching.
    pub windows: Vec<Range<u64>>,
    /// Whether everything is read, because windows do not pay.
    pub is_whole: bool,
}

/// The trace is read as a whole if the windows drawn are together so many times as long: they would miss one event in
/// three thousand.
const MOST_COVERAGE: u64 = 8;

impl Plan {
    /// Draws the windows for a trace of this size.
    pub fn new(parameters: Parameters, epsilon: f64, delta: f64, seed: u64) -> Result<Plan, OptionError> {
        Options { epsilon, delta, ..Options::default() }.check(&["epsilon", "delta"])?;
        let m = parameters.m().max(1);
        // Conversions saturate, so that a tiny epsilon asks for everything.
        let window = (4.0 * m as f64 / epsilon).ceil() as u64;
        let samples = (15.0 * (1.0 / delta).ln() / (2.0 * epsilon)).ceil().max(1.0) as u64;
        let events = parameters.events;
        let is_whole = (events as f64) < 12.0 * m as f64 / epsilon
            || window.saturating_mul(samples) >= events.saturating_mul(MOST_COVERAGE);
        let windows = match is_whole {
            true => std::iter::once(0..events).filter(|all| !all.is_empty()).collect(),
            false => merged(starts(events, window, samples, seed), window),
        };
        Ok(Plan { epsilon, delta, seed, parameters, m, window, samples, windows, is_whole })
    }

    /// Events in the windows.
    pub fn events(&self) -> u64 {
        self.windows.iter().map(|window| window.end - window.start).sum()
    }

    /// The numbers of the plan, for people.
    pub fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("m", self.m),
            ("k", self.window),
            ("r", self.samples),
            ("windows after merging", self.windows.len() as u64),
            ("events in windows", self.events()),
        ]
    }

    /// What was done when `read` events were read, and what it means that a race was found or that none was.
    pub fn remarks(&self, judge: Judge, read: u64, found: bool) -> Vec<String> {
        let Plan { epsilon, delta, seed, m, window, samples, .. } = *self;
        let Parameters { events, threads, most_held, .. } = self.parameters;
        let percent = 100.0 * read as f64 / (events as f64).max(1.0);
        let mut remarks = vec![format!(
            "m = 4T + 2h = {m} for T = {threads} threads and h = {most_held} locks held at once, k = {window} events in a \
             window, r = {samples} windows drawn, {} after merging; {read} of {events} events read, {percent:.3} %; seed {seed}",
            self.windows.len()
        )];
        if judge == Judge::SyncPreserving {
            remarks.push(
                "windows were searched for sync-preserving races; each one reported is a race of the whole trace, but the \
                 probability below is that of happens-before races alone"
                    .into(),
            );
        }
        let meaning = match (found, self.is_whole) {
            (true, false) => {
                "what is reported are races of the whole trace; others may lie outside the windows".into()
            }
            (_, true) => "so short a trace was read as a whole: what is reported is all there is".into(),
            (false, false) => format!(
                "no race in the windows: if {:.4} % of all events or more had to change to make the trace race free, one \
                 would have been found with a probability of at least {:.4} %; a trace with fewer races may look the same",
                100.0 * epsilon,
                100.0 * (1.0 - delta)
            ),
        };
        remarks.push(meaning);
        remarks
    }
}

/// Places of windows, ascending. One may come up more than once.
fn starts(events: u64, window: u64, samples: u64, seed: u64) -> Vec<u64> {
    let numbers = Numbers::new(seed);
    let mut starts: Vec<_> = (0..samples).map(|sample| numbers.below(sample, events - window + 1)).collect();
    starts.sort_unstable();
    starts
}

/// Windows of equal length at ascending places, those that overlap or touch made one.
fn merged(starts: Vec<u64>, window: u64) -> Vec<Range<u64>> {
    let mut windows: Vec<Range<u64>> = Vec::new();
    for start in starts {
        match windows.last_mut() {
            Some(last) if start <= last.end => last.end = start + window,
            _ => windows.push(start..start + window),
        }
    }
    windows
}
