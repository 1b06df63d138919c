//! Runs detectors that read only windows of a trace. The rest of a sealed trace is not read.

use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use overtake_detect::{
    Effort, Entry, Limits, Options, ReadWindows, SETTINGS, Sample, SampleError, Strictness,
};
use overtake_report::{Analysed, Findings};

use crate::examine::NOTHING;
use crate::files::{Input, Sealed};
use crate::{Error, Listener};

/// How long such a detector goes on. With a limit it repeats its work with more effort, and stops at the first race.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Patience<'a> {
    /// Stop after this time.
    pub until: Option<Duration>,
    /// Stop when this many events have been read.
    pub budget: Option<u64>,
    /// Names of the settings that were chosen.
    pub given: &'a [&'static str],
}

/// A trace with what was found in its windows.
pub struct TestedTrace {
    sealed: Sealed,
    entry: &'static Entry,
    sample: Sample,
    time: Duration,
}

impl TestedTrace {
    /// Tests the trace with the detector of a row that reads windows.
    pub fn of(
        input: &mut Input,
        (entry, read_windows): (&'static Entry, ReadWindows),
        options: &Options,
        patience: &Patience<'_>,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<TestedTrace, Error> {
        let start = Instant::now();
        options.check(entry.options)?;
        let sealed = input.sealed(strictness, listener)?;
        if sealed.file.parameters().events == 0 {
            return Err(input.failure(NOTHING));
        }
        let limits = Limits { until: patience.until.map(|time| start + time), budget: patience.budget };
        let effort = Effort { limits, given: patience.given, workers: workers() };
        let sample = read_windows(&sealed, sealed.file.parameters(), options, &effort);
        let mut sample = sample.map_err(|error| match error {
            SampleError::Options(error) => error.into(),
            SampleError::Trace(error) => Error::in_file(sealed.facts.file.as_ref(), error),
        })?;
        sample.remarks.push(again(&sealed, entry, &sample.options));
        Ok(TestedTrace { sealed, entry, sample, time: start.elapsed() })
    }

    /// The results as renderers take them.
    pub fn analysed(&self) -> Analysed<'_> {
        let Sample { tested, figures, remarks, events_read, .. } = &self.sample;
        let mut figures = figures.clone();
        figures.push(("bytes read", self.sealed.file.bytes_read()));
        figures.push(("bytes of the file", self.sealed.file.bytes_total()));
        figures.push(("repairs in windows", tested.repairs));
        let findings = Findings {
            detector: self.entry,
            races: &tested.races,
            figures,
            remarks: remarks.clone(),
            time: self.time,
            events_read: *events_read,
            peak_state_bytes: tested.peak_state_bytes,
        };
        Analysed {
            trace: &self.sealed.facts,
            symbols: &tested.symbols,
            findings: vec![findings],
            time: self.time,
        }
    }
}

/// How many windows are judged at the same time.
pub fn workers() -> usize {
    available_parallelism().map_or(1, std::num::NonZero::get)
}

/// The command that chooses the same windows again.
fn again(sealed: &Sealed, entry: &Entry, options: &Options) -> String {
    let names = entry.options.iter();
    let settings = names.filter_map(|name| SETTINGS.iter().find(|setting| setting.name == *name));
    let typed = settings.map(|setting| format!(" --{} {}", setting.name, setting.written(options)));
    format!("again: overtake analyze {} -d {}{}", sealed.facts.file, entry.name, typed.collect::<String>())
}
