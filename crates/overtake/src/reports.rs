//! Findings spelled out: the trace is read again for schedules and for what happened around the accesses.

use std::io::Read;
use std::path::{Path, PathBuf};

use overtake_detect::witness::{self, DeadlockSchedule, LockOrder, Schedule, Violation};
use overtake_detect::{Deadlock, Race, Witness};
use overtake_report::Analysed;
use overtake_report::collect::{Collector, Settings, TimelineRecorder};
use overtake_report::result::{Report, Timeline};
use overtake_trace::Block;

use crate::excerpts::keep_sources_only;
use crate::files::{Input, is_standard};
use crate::members::name_members;
use crate::{Error, Examined};

/// How much is reported about findings.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Details {
    /// The most predicted races for which schedules are built.
    pub witnesses: usize,
    /// Threads and critical sections of the whole run are kept, for reports that draw them.
    pub timeline: bool,
    /// The directory of the sources, if they are not where the trace says.
    pub source_root: Option<PathBuf>,
}

impl Default for Details {
    fn default() -> Self {
        Details { witnesses: 20, timeline: false, source_root: None }
    }
}

/// Spells out what the detectors found. Reads the trace again, for schedules and for what happened around the accesses.
pub fn collected(examined: &Examined, input: &mut Input, details: &Details) -> Result<Report, Error> {
    let source_root = details.source_root.clone();
    let settings = Settings { witnesses: details.witnesses, source_root, ..settings() };
    let analysed = examined.analysed();
    let mut report =
        read(Collector::new(&analysed, &settings), input, examined, details.source_root.as_deref())?;
    if let (true, [run]) = (details.timeline, &mut report.runs[..]) {
        run.timeline = Some(timeline(input)?);
    }
    Ok(report)
}

/// Reads the trace again for a collector, and finishes the report. A file with landmarks is read only near the findings. The modules of the program
/// name members and sources.
pub fn read(
    mut collector: Collector<'_>,
    input: &mut Input,
    examined: &Examined,
    source_root: Option<&Path>,
) -> Result<Report, Error> {
    let landmarks = examined.landmarks();
    if !collector.is_empty() {
        let races = collector.to_be_witnessed();
        collector.witnessed(&witnesses(input, &races, collector.is_of_recording())?);
        let deadlocks = collector.deadlocks_to_be_witnessed();
        collector.deadlocks_witnessed(&deadlock_witnesses(input, &deadlocks)?);
        match input.at_any_place() {
            Some(file) if !landmarks.is_empty() => {
                collector.read_near(&file, landmarks).map_err(|error| input.failure(error))?;
            }
            _ => {
                let mut opened = input.open()?;
                collector.read(opened.source_mut()).map_err(|error| opened.failure(error))?;
            }
        }
    }
    let mut report = collector.finish();
    let program = &examined.symbols().program;
    name_members(&mut report, &program.modules);
    // Locations of a trace are relative to the root, those of a recorded program to the current directory.
    let own_root = source_root.filter(|_| program.command.is_empty()).map(Path::to_owned);
    let directory = own_root.unwrap_or_else(|| settings().directory);
    keep_sources_only(&mut report, &program.modules, &directory, source_root);
    Ok(report)
}

/// The threads and critical sections of the whole run.
fn timeline(input: &mut Input) -> Result<Timeline, Error> {
    let mut recorder = TimelineRecorder::new(TimelineRecorder::SECTIONS);
    let mut opened = input.open()?;
    let mut block = Block::default();
    while opened.next_block(&mut block)? {
        recorder.read(&block);
    }
    Ok(recorder.finish(opened.source().symbols()))
}

/// Spells out what was found without reading the trace again: there are no schedules, no locks and no explanations.
pub fn collected_at_once(analysed: &Analysed<'_>) -> Report {
    Collector::new(analysed, &settings()).finish()
}

/// The default settings for collecting findings.
pub fn settings() -> Settings {
    Settings { directory: std::env::current_dir().unwrap_or_default(), ..Settings::default() }
}

/// The schedules of races, built and checked: in a recording for what it is known that reads saw, else as the detector of each race says.
pub fn witnesses(
    input: &mut Input,
    races: &[(Race, Witness)],
    is_recorded: bool,
) -> Result<Vec<Schedule>, Error> {
    let found = sought_witnesses(input, races, is_recorded)?;
    let found = found.into_iter().zip(races);
    found.map(|(found, (race, _))| found.map_err(|violation| no_witness(race, &violation))).collect()
}

/// So many events after the last access of a race are looked at for the ends of critical sections; if that is not enough, all.
const AHEAD: [u64; 2] = [1 << 20, u64::MAX];

/// The schedules of races that may have none, or why they have none.
pub fn sought_witnesses(
    input: &mut Input,
    races: &[(Race, Witness)],
    is_recorded: bool,
) -> Result<Vec<Result<Schedule, Violation>>, Error> {
    if races.is_empty() {
        return Ok(Vec::new());
    }
    let (mut first, mut second) = (input.open()?, input.open()?);
    let (races, ways): (Vec<Race>, Vec<Witness>) = races.iter().copied().unzip();
    let build = if is_recorded { witness::build_recorded } else { witness::build };
    let built = build(first.source_mut(), second.source_mut(), &races);
    let built = built.map_err(|error| first.failure(error))?;
    let mut found = checked(input, built, LockOrder::Kept, is_recorded)?;
    // What happens in no reordering that keeps the order of locks may happen in another one.
    for ahead in AHEAD {
        let is_left = |at: &usize| found[*at].is_err() && ways[*at] == Witness::AnyLockOrder;
        let left: Vec<usize> = (0..races.len()).filter(is_left).collect();
        if left.is_empty() {
            break;
        }
        let (mut first, mut second) = (input.open()?, input.open()?);
        let wanted: Vec<Race> = left.iter().map(|&at| races[at]).collect();
        let built = witness::build_any_order(first.source_mut(), second.source_mut(), &wanted, ahead);
        let built = built.map_err(|error| first.failure(error))?;
        let (built_at, schedules): (Vec<usize>, Vec<Schedule>) =
            left.iter().zip(built).filter_map(|(&at, schedule)| Some((at, schedule?))).unzip();
        for at in left {
            found[at] = Err(Violation { step: 0, message: "none was found".into() });
        }
        for (at, schedule) in
            built_at.into_iter().zip(checked(input, schedules, LockOrder::Any, is_recorded)?)
        {
            found[at] = schedule;
        }
    }
    Ok(found)
}

/// The schedules that lead to deadlocks, built and checked.
pub fn deadlock_witnesses(input: &mut Input, deadlocks: &[Deadlock]) -> Result<Vec<DeadlockSchedule>, Error> {
    if deadlocks.is_empty() {
        return Ok(Vec::new());
    }
    let (mut first, mut second) = (input.open()?, input.open()?);
    let built = witness::build_deadlocks(first.source_mut(), second.source_mut(), deadlocks);
    let built = built.map_err(|error| first.failure(error))?.into_iter().collect::<Option<Vec<_>>>();
    let schedules = built.ok_or_else(|| bug("a deadlock was reported to which no schedule leads"))?;
    let mut replayed = input.open()?;
    let verdicts = witness::verify_deadlocks(replayed.source_mut(), &schedules);
    for verdict in verdicts.map_err(|error| replayed.failure(error))? {
        verdict.map_err(|violation| {
            bug(&format!(
                "a deadlock was reported, but its schedule is no correct reordering of the run ({violation})"
            ))
        })?;
    }
    Ok(schedules)
}

/// Replays schedules. One that is no correct reordering of the run is replaced by the reason.
fn checked(
    input: &mut Input,
    schedules: Vec<Schedule>,
    order: LockOrder,
    is_recorded: bool,
) -> Result<Vec<Result<Schedule, Violation>>, Error> {
    let mut replayed = input.open()?;
    let verify = if is_recorded { witness::verify_recorded } else { witness::verify };
    let verdicts = verify(replayed.source_mut(), &schedules, order);
    let verdicts = verdicts.map_err(|error| replayed.failure(error))?;
    Ok(schedules.into_iter().zip(verdicts).map(|(schedule, verdict)| verdict.map(|_| schedule)).collect())
}

fn no_witness(race: &Race, violation: &Violation) -> Error {
    let (first, second) = (race.first.at.index, race.second.at.index);
    bug(&format!(
        "a race of events {first} and {second} was reported, but its schedule is no correct reordering of the run ({violation})"
    ))
}

fn bug(what: &str) -> Error {
    Error::failed(format!("BUG IN OVERTAKE: {what}; please report this with the trace"))
}

/// Whether a file is a stored result: no format of traces begins like JSON.
pub fn is_stored(path: &Path) -> Result<bool, Error> {
    if is_standard(path) {
        return Ok(false);
    }
    let mut start = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start));
    let length = read.map_err(|error| Error::in_file(path, error))?;
    Ok(start[..length].trim_ascii_start().starts_with(b"{"))
}

/// Reads a stored result.
pub fn stored(path: &Path) -> Result<Report, Error> {
    if !is_standard(path) && path.is_dir() {
        let inside = format!("{}/*.json", path.display().to_string().trim_end_matches('/'));
        return Err(Error::in_file(
            path,
            format!("expected a stored result, found a directory; name the results in it, such as {inside}"),
        ));
    }
    if !is_standard(path) && path.is_file() && !is_stored(path)? {
        return Err(Error::in_file(
            path,
            format!(
                "expected a stored result, found something else; if it is a trace: overtake analyze {} --report result=FILE",
                path.display()
            ),
        ));
    }
    let read = match is_standard(path) {
        true => Report::read(std::io::stdin()),
        false => std::fs::File::open(path).and_then(Report::read),
    };
    read.map_err(|error| Error::in_file(path, error))
}
