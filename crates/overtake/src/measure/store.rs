//! Measurements in a file, one line for each, so that work that was stopped goes on where it was.
//!
//! The file is a table with tabs between the columns. A line that cannot be read, such as one that a crash cut off, is left
//! out: its measurement is made again. So is one that was made otherwise than it is wanted now ([`Manner`]).

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::Measured;
use crate::Error;

const HEADING: &str = "trace\tdetector\tevents\tthreads\tlocks\tvariables\tcovered\tpartial\tseconds\tstate_bytes\tracy_events\
    \tracy_variables\tracy_lines\tgroups\tmax_distance\tdistances\tfigures\tsource\truns\tlimits";

/// How a measurement is made, beside what its detector is set to.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Manner {
    /// Which trace bears the name: how it is generated, or which file it is.
    pub source: String,
    /// Runs, of which the time is the median.
    pub runs: usize,
    /// What the analysis may take, in words.
    pub limits: String,
}

impl Manner {
    /// Whether what was measured in this manner is as good as if it were made in the wanted one. No limit matters to an analysis that was not stopped.
    fn is_as_good_as(&self, wanted: &Manner, is_partial: bool) -> bool {
        let has_time = self.runs >= wanted.runs || is_partial; // an analysis that is stopped runs once
        self.source == wanted.source && has_time && (!is_partial || self.limits == wanted.limits)
    }
}

/// The file of measurements.
pub struct Store {
    path: PathBuf,
    file: File,
    known: Vec<(Measured, Manner)>,
}

impl Store {
    /// Opens the file. What it holds is forgotten unless the work is to be resumed.
    pub fn open(path: &Path, resume: bool) -> Result<Store, Error> {
        let failure = |error: io::Error| Error::in_file(path, error);
        let known = match std::fs::read_to_string(path) {
            Ok(text) if resume => text.lines().filter_map(read).collect(),
            Ok(_) => Vec::new(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(failure(error)),
        };
        let mut file =
            OpenOptions::new().create(true).write(true).truncate(true).open(path).map_err(failure)?;
        let mut text = format!("{HEADING}\n");
        known.iter().for_each(|(measured, manner)| text.push_str(&written(measured, manner)));
        file.write_all(text.as_bytes()).map_err(failure)?;
        Ok(Store { path: path.to_owned(), file, known })
    }

    /// The latest measurement of a detector on a trace.
    pub fn get(&self, trace: &str, detector: &str) -> Option<&Measured> {
        self.of(trace, detector).map(|(measured, _)| measured)
    }

    /// Whether there is a measurement as it would be made in this manner.
    pub fn has(&self, trace: &str, detector: &str, wanted: &Manner) -> bool {
        self.of(trace, detector)
            .is_some_and(|(measured, manner)| manner.is_as_good_as(wanted, measured.is_partial))
    }

    fn of(&self, trace: &str, detector: &str) -> Option<&(Measured, Manner)> {
        self.known.iter().rfind(|(measured, _)| measured.trace == trace && measured.detector == detector)
    }

    /// Adds a measurement, which is in the file when this returns.
    pub fn add(&mut self, measured: Measured, manner: Manner) -> Result<(), Error> {
        let line = written(&measured, &manner);
        self.file.write_all(line.as_bytes()).map_err(|error| Error::in_file(&self.path, error))?;
        self.known.push((measured, manner));
        Ok(())
    }
}

/// A name without what separates columns and lines.
fn plain(name: &str) -> String {
    name.replace(['\t', '\n', '\r'], " ")
}

fn written(measured: &Measured, manner: &Manner) -> String {
    let distances: Vec<_> = measured.distances.iter().map(u64::to_string).collect();
    let figures: Vec<_> =
        measured.figures.iter().map(|(name, figure)| format!("{}={figure}", plain(name))).collect();
    let Measured { events, threads, locks, variables, covered, seconds, state_bytes, .. } = measured;
    let Measured { racy_events, racy_variables, racy_locations, groups, max_distance, .. } = measured;
    format!(
        "{}\t{}\t{events}\t{threads}\t{locks}\t{variables}\t{covered}\t{}\t{seconds}\t{state_bytes}\t{racy_events}\t{racy_variables}\t\
         {racy_locations}\t{groups}\t{max_distance}\t{}\t{}\t{}\t{}\t{}\n",
        plain(&measured.trace),
        plain(&measured.detector),
        measured.is_partial,
        distances.join(" "),
        figures.join(";"),
        plain(&manner.source),
        manner.runs,
        plain(&manner.limits)
    )
}

fn read(line: &str) -> Option<(Measured, Manner)> {
    let mut columns = line.split('\t');
    let (trace, detector) = (columns.next()?.to_owned(), columns.next()?.to_owned());
    let mut next = || columns.next();
    let number = |text: Option<&str>| text?.parse().ok();
    let measured = Measured {
        trace,
        detector,
        events: number(next())?,
        threads: number(next())?,
        locks: number(next())?,
        variables: number(next())?,
        covered: number(next())?,
        is_partial: next()?.parse().ok()?,
        seconds: next()?.parse().ok()?,
        state_bytes: number(next())?,
        racy_events: number(next())?,
        racy_variables: number(next())?,
        racy_locations: number(next())?,
        groups: number(next())?,
        max_distance: number(next())?,
        distances: next()?.split_whitespace().map(|count| count.parse().ok()).collect::<Option<_>>()?,
        figures: next()?.split(';').filter(|figure| !figure.is_empty()).map(figure).collect::<Option<_>>()?,
    };
    let (source, runs) = (next()?.to_owned(), next()?.parse().ok()?);
    Some((measured, Manner { source, runs, limits: next()?.to_owned() }))
}

fn figure(text: &str) -> Option<(String, u64)> {
    let (name, figure) = text.rsplit_once('=')?;
    Some((name.to_owned(), figure.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(trace: &str) -> Measured {
        Measured {
            trace: trace.to_owned(),
            detector: "short-hb --window 10".to_owned(),
            events: 12,
            seconds: 0.25,
            distances: vec![1, 0, 2],
            figures: vec![("clock joins".to_owned(), 7)],
            ..Measured::default()
        }
    }

    fn manner() -> Manner {
        Manner { source: "1000 events".to_owned(), runs: 3, limits: "10 s".to_owned() }
    }

    #[test]
    fn a_measurement_counts_for_those_that_would_be_no_better() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("results.tsv");
        let mut store = Store::open(&path, false).expect("a new file");
        store.add(sample("done"), manner()).expect("it is written");
        store.add(Measured { is_partial: true, ..sample("stopped") }, manner()).expect("it is written");
        drop(store);
        let mut store = Store::open(&path, true).expect("the file");
        let counts =
            |store: &Store, trace: &str, wanted: Manner| store.has(trace, "short-hb --window 10", &wanted);
        let longer = || Manner { limits: "20 s".to_owned(), ..manner() };
        let other = || Manner { source: "2000 events".to_owned(), ..manner() };
        assert!(counts(&store, "done", manner()) && counts(&store, "stopped", manner()));
        assert!(counts(&store, "done", Manner { runs: 1, ..manner() }));
        assert!(!counts(&store, "done", Manner { runs: 5, ..manner() }));
        assert!(counts(&store, "done", longer()), "it was not stopped, so more time changes nothing");
        assert!(!counts(&store, "stopped", longer()));
        assert!(!counts(&store, "done", other()));
        store.add(Measured { events: 24, ..sample("done") }, other()).expect("it is written");
        assert!(counts(&store, "done", other()) && !counts(&store, "done", manner()));
        assert_eq!(store.get("done", "short-hb --window 10").map(|measured| measured.events), Some(24));
    }

    #[test]
    fn resumed_work_knows_what_was_measured_and_not_a_line_that_was_cut_off() {
        let directory = tempfile::tempdir().expect("a directory");
        let path = directory.path().join("results.tsv");
        let mut store = Store::open(&path, false).expect("a new file");
        store.add(sample("one"), manner()).expect("it is written");
        store.add(sample("two"), manner()).expect("it is written");
        drop(store);
        let text = std::fs::read_to_string(&path).expect("the file");
        std::fs::write(&path, &text[..text.len() - 20]).expect("it can be written");

        let resumed = Store::open(&path, true).expect("the file");
        assert_eq!(resumed.get("one", "short-hb --window 10"), Some(&sample("one")));
        assert_eq!(resumed.get("two", "short-hb --window 10"), None);
        assert_eq!(resumed.get("one", "hb"), None);
        assert!(Store::open(&path, false).expect("the file").get("one", "short-hb --window 10").is_none());
    }
}
