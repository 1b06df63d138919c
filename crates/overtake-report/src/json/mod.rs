//! Results as JSON for programs. `docs/json.md` describes it. Within one [`SCHEMA`], fields are added, never changed.

mod ask;
mod deadlock;
mod generated;
mod statistics;
mod witness;

use std::io;

use overtake_detect::{Access, AccessKind, Extent, RaceGroup};
use overtake_trace::{EventIndex, Symbols};
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

pub use self::ask::answers;
use self::deadlock::DeadlockForm;
pub use self::generated::generated;
pub use self::statistics::statistics;
pub use self::witness::{deadlock_witness, witness};
use crate::model::{Analysed, Findings, TraceFacts, WrittenFacts};

/// The version of the form.
pub const SCHEMA: u32 = 1;

/// Writes what the detectors found, as one line.
pub fn races(out: &mut dyn io::Write, analysed: &Analysed<'_>) -> io::Result<()> {
    let symbols = analysed.symbols;
    let document = AnalysedForm {
        schema: SCHEMA,
        trace: TraceForm::of(analysed.trace),
        detectors: analysed.findings.iter().map(|findings| DetectorForm::of(findings, symbols)).collect(),
        seconds: analysed.time.as_secs_f64(),
    };
    write_line(out, &document)
}

/// Writes the outcome of a validation, as one line. `violation` is why a strict check refused the trace.
pub fn validation(out: &mut dyn io::Write, trace: &TraceFacts, violation: Option<&str>) -> io::Result<()> {
    let valid = violation.is_none() && trace.repairs.total() == 0;
    write_line(out, &ValidationForm { schema: SCHEMA, trace: TraceForm::of(trace), valid, violation })
}

/// Writes what was read and what was written, as one line.
pub fn converted(out: &mut dyn io::Write, trace: &TraceFacts, written: &WrittenFacts) -> io::Result<()> {
    write_line(
        out,
        &ConvertedForm { schema: SCHEMA, trace: TraceForm::of(trace), written: WrittenForm::of(written) },
    )
}

fn write_line(out: &mut dyn io::Write, document: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer(&mut *out, document)?;
    out.write_all(b"\n")
}

#[derive(Serialize)]
struct AnalysedForm<'a> {
    schema: u32,
    trace: TraceForm<'a>,
    detectors: Vec<DetectorForm<'a>>,
    seconds: f64,
}

#[derive(Serialize)]
struct ValidationForm<'a> {
    schema: u32,
    trace: TraceForm<'a>,
    valid: bool,
    violation: Option<&'a str>,
}

#[derive(Serialize)]
struct ConvertedForm<'a> {
    schema: u32,
    trace: TraceForm<'a>,
    written: WrittenForm<'a>,
}

#[derive(Serialize)]
struct WrittenForm<'a> {
    file: &'a str,
    format: &'a str,
    events: u64,
    bytes: u64,
    lost_locations: u64,
}

impl<'a> WrittenForm<'a> {
    fn of(written: &'a WrittenFacts) -> WrittenForm<'a> {
        let WrittenFacts { file, format, events, bytes, lost_locations } = written;
        WrittenForm { file, format, events: *events, bytes: *bytes, lost_locations: *lost_locations }
    }
}

#[derive(Serialize)]
struct TraceForm<'a> {
    file: &'a str,
    format: &'a str,
    events: u64,
    threads: usize,
    locks: usize,
    variables: usize,
    locations: usize,
    repairs: Counts<&'a str>,
    ignored: Counts<&'a str>,
    missing: &'a [String],
}

impl<'a> TraceForm<'a> {
    fn of(trace: &'a TraceFacts) -> TraceForm<'a> {
        TraceForm {
            file: &trace.file,
            format: &trace.format,
            events: trace.events,
            threads: trace.sizes.threads,
            locks: trace.sizes.locks,
            variables: trace.sizes.variables,
            locations: trace.sizes.locations,
            repairs: Counts(trace.repairs.made().map(|(repair, count)| (repair.name(), count)).collect()),
            ignored: Counts(trace.ignored.iter().map(|(what, count)| (what.as_str(), *count)).collect()),
            missing: &trace.missing,
        }
    }
}

/// Counts by name, in the order given.
struct Counts<Name>(Vec<(Name, u64)>);

impl<Name: Serialize> Serialize for Counts<Name> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, count) in &self.0 {
            map.serialize_entry(name, count)?;
        }
        map.end()
    }
}

#[derive(Serialize)]
struct DetectorForm<'a> {
    name: &'a str,
    promise: &'a str,
    racy_events: Vec<u64>,
    racy_variables: Vec<String>,
    racy_locations: Vec<String>,
    location_pairs: usize,
    max_distance: u64,
    races: Vec<RaceForm>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    deadlocks: Vec<DeadlockForm>,
    figures: Counts<&'static str>,
    remarks: Vec<String>,
    seconds: f64,
    events_read: u64,
    peak_state_bytes: usize,
}

impl<'a> DetectorForm<'a> {
    fn of(findings: &Findings<'a>, symbols: &Symbols) -> DetectorForm<'a> {
        let races = findings.races;
        let variables = races.racy_variables();
        let locations = races.racy_locations();
        DetectorForm {
            name: findings.detector.name,
            promise: findings.detector.promise.describe(),
            racy_events: races.racy_events().into_iter().map(|EventIndex(index)| index).collect(),
            racy_variables: variables.into_iter().map(|var| symbols.variables.display(var)).collect(),
            racy_locations: locations.into_iter().map(|location| symbols.location_name(location)).collect(),
            location_pairs: races.groups().len(),
            max_distance: races.max_distance(),
            races: races.groups().iter().map(|group| RaceForm::of(group, symbols)).collect(),
            deadlocks: races.deadlocks().iter().map(|group| DeadlockForm::of(group, symbols)).collect(),
            figures: Counts(findings.figures.clone()),
            remarks: findings.remarks.clone(),
            seconds: findings.time.as_secs_f64(),
            events_read: findings.events_read,
            peak_state_bytes: findings.peak_state_bytes,
        }
    }
}

#[derive(Serialize)]
struct RaceForm {
    id: u32,
    verdict: &'static str,
    variable: String,
    extent: Option<ExtentForm>,
    first: AccessForm,
    second: AccessForm,
    count: u64,
    observed: u64,
}

impl RaceForm {
    fn of(group: &RaceGroup, symbols: &Symbols) -> RaceForm {
        let race = &group.example;
        RaceForm {
            id: group.id,
            verdict: race.verdict.word(),
            variable: symbols.variables.display(race.var),
            extent: group.extent.map(|extent| ExtentForm::of(&extent, symbols)),
            first: AccessForm::of(&race.first, symbols),
            second: AccessForm::of(&race.second, symbols),
            count: group.count,
            observed: group.observed,
        }
    }
}

/// Elements of an array that race together.
#[derive(Serialize)]
struct ExtentForm {
    array: String,
    first: u64,
    end: u64,
    step: u64,
    elements: u64,
}

impl ExtentForm {
    fn of(extent: &Extent, symbols: &Symbols) -> ExtentForm {
        let Extent { array, first, end, step } = *extent;
        let array = String::from_utf8_lossy(symbols.variables.array_name(array)).into_owned();
        ExtentForm { array, first, end, step, elements: extent.elements() }
    }
}

#[derive(Serialize)]
struct AccessForm {
    index: u64,
    thread: String,
    op: &'static str,
    location: Option<String>,
}

impl AccessForm {
    fn of(access: &Access, symbols: &Symbols) -> AccessForm {
        let location = access.at.location;
        AccessForm {
            index: access.at.index.0,
            thread: symbols.threads.display(access.at.thread),
            op: op_name(access.kind),
            location: location.is_known().then(|| symbols.location_name(location)),
        }
    }
}

fn op_name(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
        AccessKind::Load => "load",
        AccessKind::Store => "store",
        AccessKind::Rmw => "rmw",
        AccessKind::Free => "free",
        AccessKind::Alloc => "alloc",
    }
}
