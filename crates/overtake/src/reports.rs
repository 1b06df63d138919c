//! Findings on their way to people and files.

use std::io::{Read, Write};
use std::path::Path;

use overtake_detect::Race;
use overtake_detect::witness::{self, Schedule};
use overtake_report::collect::{Collector, Settings, TimelineRecorder};
use overtake_report::result::{Report, Timeline};
use overtake_report::{Analysed, text};
use overtake_trace::{Block, Landmarks};

use crate::args::{ReportArguments, ReportTarget};
use crate::commands::examine::Examined;
use crate::console::{Console, Stream};
use crate::failure::{Failure, Outcome, Verdict};
use crate::files::{Input, OutputFile, is_standard};
use crate::members::name_members;

/// Spells out what the detectors found. Reads the trace again, for schedules and for what happened around the accesses.
pub(crate) fn collected(
    examined: &Examined,
    input: &mut Input,
    arguments: &ReportArguments,
) -> Result<Report, Failure> {
    let settings = Settings { witnesses: arguments.witnesses, ..settings() };
    let analysed = examined.analysed();
    let mut report = read(Collector::new(&analysed, &settings), input, examined.landmarks())?;
    name_members(&mut report, &analysed.symbols.program.modules);
    if let (true, [run]) = (arguments.want_timeline(), &mut report.runs[..]) {
        run.timeline = Some(timeline(input)?);
    }
    Ok(report)
}

/// Reads the trace for findings: only near them, if it is a file with landmarks.
pub(crate) fn read(
    mut collector: Collector<'_>,
    input: &mut Input,
    landmarks: &Landmarks,
) -> Result<Report, Failure> {
    if !collector.is_empty() {
        let races = collector.to_be_witnessed();
        collector.witnessed(&witnesses(input, &races)?);
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
    Ok(collector.finish())
}

/// The threads and critical sections of the whole run.
fn timeline(input: &mut Input) -> Result<Timeline, Failure> {
    let mut recorder = TimelineRecorder::new(TimelineRecorder::SECTIONS);
    let mut opened = input.open()?;
    let mut block = Block::default();
    while opened.next_block(&mut block)? {
        recorder.read(&block);
    }
    Ok(recorder.finish(opened.source().symbols()))
}

/// Spells out what was found without reading the trace again: there are no schedules, no locks and no explanations.
pub(crate) fn collected_at_once(analysed: &Analysed<'_>) -> Report {
    Collector::new(analysed, &settings()).finish()
}

/// How findings are collected, if nothing else is asked for.
pub(crate) fn settings() -> Settings {
    Settings { directory: std::env::current_dir().unwrap_or_default(), ..Settings::default() }
}

/// The schedules of races, built and checked.
pub(crate) fn witnesses(input: &mut Input, races: &[Race]) -> Result<Vec<Schedule>, Failure> {
    if races.is_empty() {
        return Ok(Vec::new());
    }
    let (mut first, mut second) = (input.open()?, input.open()?);
    let built = witness::build(first.source_mut(), second.source_mut(), races);
    let schedules = built.map_err(|error| first.failure(error))?;
    let mut replayed = input.open()?;
    let verdicts =
        witness::verify(replayed.source_mut(), &schedules).map_err(|error| replayed.failure(error))?;
    for (race, verdict) in races.iter().zip(verdicts) {
        if let Err(violation) = verdict {
            return Err(Failure::Error(format!(
                "BUG IN OVERTAKE: a race of events {} and {} was reported, but its schedule is no correct reordering of the run \
                 ({violation}); please report this with the trace",
                race.first.at.index, race.second.at.index
            )));
        }
    }
    Ok(schedules)
}

/// Judges the findings, writes every report that was asked for, and tells people. Findings that nobody has accepted are races.
pub(crate) fn deliver(
    mut report: Report,
    arguments: &ReportArguments,
    stream: Option<Stream>,
    console: Console,
) -> Outcome {
    arguments.triage.judge(&mut report, console)?;
    for target in &arguments.report {
        write(&report, target)?;
    }
    tell(&report, arguments, stream, console)?;
    let races = report.new_findings().next().is_some();
    Ok(if races { Verdict::Races } else { Verdict::Fine })
}

/// Prints the text for people, unless something else is printed; then only what must not be lost.
fn tell(
    report: &Report,
    arguments: &ReportArguments,
    stream: Option<Stream>,
    console: Console,
) -> Result<(), Failure> {
    let occupied = arguments.report.iter().any(|target| is_standard(&target.file));
    let text = |stream| text::findings(report, &console.layout_of(stream, arguments.limit));
    match (stream, arguments.printed) {
        (Some(Stream::Output), None) if !occupied => return console.print(&text(Stream::Output)),
        (Some(Stream::Output), Some(renderer)) if !occupied => {
            return console.write(|out| (renderer.write)(out, report));
        }
        (Some(Stream::Error), None) if !report.findings.is_empty() => console.report(&text(Stream::Error)),
        (Some(Stream::Error), Some(renderer)) if !report.findings.is_empty() => {
            // Nobody is left to be told that standard error is gone.
            let _ = (renderer.write)(&mut std::io::stderr().lock(), report);
        }
        _ => report.runs.iter().flat_map(|run| &run.notes).for_each(|note| console.say(note)),
    }
    Ok(())
}

fn write(report: &Report, target: &ReportTarget) -> Result<(), Failure> {
    let (file, output) = OutputFile::create(&target.file)?;
    let mut output = std::io::BufWriter::new(output);
    let written = (target.renderer.write)(&mut output, report).and_then(|()| output.flush());
    drop(output);
    match written {
        // A reader that has seen enough is no error.
        Err(_) if file.pipe_is_closed() => return Ok(()),
        Err(error) => return Err(Failure::in_file(&target.file, error)),
        Ok(()) => {}
    }
    file.complete().map(drop)
}

/// Whether a file is a stored result: no format of traces begins like JSON.
pub(crate) fn is_stored(path: &Path) -> Result<bool, Failure> {
    if is_standard(path) {
        return Ok(false);
    }
    let mut start = [0; 16];
    let read = std::fs::File::open(path).and_then(|mut file| file.read(&mut start));
    let length = read.map_err(|error| Failure::in_file(path, error))?;
    Ok(start[..length].trim_ascii_start().starts_with(b"{"))
}

/// Reads a stored result.
pub(crate) fn stored(path: &Path) -> Result<Report, Failure> {
    let read = match is_standard(path) {
        true => Report::read(std::io::stdin()),
        false => std::fs::File::open(path).and_then(Report::read),
    };
    read.map_err(|error| Failure::in_file(path, error))
}
