//! Prints reports, and writes them to files.

use std::io::Write;
use std::path::PathBuf;

use overtake::files::{OutputFile, is_standard};
use overtake::{Error, Listener};
use overtake_report::result::Report;
use overtake_report::{find_renderer, text};

use crate::command_line::args::{ReportArguments, ReportTarget};
use crate::command_line::console::{Console, Stream};
use crate::command_line::verdict::{Outcome, Verdict};

/// Applies suppressions and the baseline, writes every report that was asked for, and prints the one for people. The verdict is `Races` if a finding
/// that nobody has accepted fails the command.
pub(crate) fn deliver(
    mut report: Report,
    arguments: &ReportArguments,
    stream: Option<Stream>,
    console: Console,
) -> Outcome {
    // Whatever fails, the findings are printed.
    let judged = arguments.triage.triage().judge(&mut report, &console);
    let written: Vec<_> = arguments.report.iter().map(|target| write(&report, target)).collect();
    tell(&report, arguments, stream, console)?;
    judged?;
    written.into_iter().collect::<Result<(), Error>>()?;
    let races = report.findings.iter().any(|finding| arguments.triage.is_failing(finding));
    Ok(if races { Verdict::Races } else { Verdict::Fine })
}

/// Prints the report for people. Where another report takes standard output, or where the run of a program has no findings, prints only the
/// notes on each run.
fn tell(
    report: &Report,
    arguments: &ReportArguments,
    stream: Option<Stream>,
    console: Console,
) -> Result<(), Error> {
    let occupied = arguments.report.iter().any(|target| is_standard(&target.file));
    let text = |stream| text::findings(report, &console.layout_of(stream, arguments.limit));
    match (stream, arguments.printed) {
        (Some(Stream::Output), None) if !occupied => return console.print(&text(Stream::Output)),
        (Some(Stream::Output), Some(renderer)) if !occupied => {
            return console.write(|out| (renderer.write)(out, report));
        }
        (Some(Stream::Error), None) if !report.findings.is_empty() => console.report(&text(Stream::Error)),
        (Some(Stream::Error), Some(renderer)) if !report.findings.is_empty() => {
            // If standard error is gone, nothing can be reported.
            let _ = (renderer.write)(&mut std::io::stderr().lock(), report);
        }
        _ => report.runs.iter().flat_map(|run| &run.notes).for_each(|note| console.say(note)),
    }
    Ok(())
}

fn write(report: &Report, target: &ReportTarget) -> Result<(), Error> {
    let (file, output) = OutputFile::create(&target.file)?;
    let mut output = std::io::BufWriter::new(output);
    let written = (target.renderer.write)(&mut output, report).and_then(|()| output.flush());
    drop(output);
    match written {
        // A reader that closes the pipe is no error.
        Err(_) if file.pipe_is_closed() => return Ok(()),
        Err(error) => return Err(Error::in_file(&target.file, error)),
        Ok(()) => {}
    }
    file.complete().map(drop)
}

/// Reports a program's findings where `TSAN_OPTIONS` wants them; `process` is the number of its process.
pub(crate) fn tell_of_program(
    found: Report,
    reports: &ReportArguments,
    process: Option<&str>,
    console: Console,
) -> Outcome {
    let said = reports.triage.triage().options();
    for key in &said.unknown {
        console.say(&format!("TSAN_OPTIONS: unknown option `{key}`"));
    }
    if said.is_off {
        return Ok(Verdict::Fine);
    }
    let mut reports = reports.clone();
    let stream = match said.log_path.as_deref() {
        None | Some("stderr") => Some(Stream::Error),
        Some("stdout") => Some(Stream::Output),
        Some(path) => {
            let file = PathBuf::from(format!("{path}.{}", process.unwrap_or("0")));
            let renderer = find_renderer("text").filter(|_| !found.findings.is_empty());
            reports.report.extend(renderer.map(|renderer| ReportTarget { renderer, file }));
            None
        }
    };
    deliver(found, &reports, stream, console)
}
