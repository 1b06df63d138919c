//! Findings on their way to people and files.

use std::io::Write;
use std::path::Path;

use overtake_report::collect::{Collector, Settings};
use overtake_report::result::Report;
use overtake_report::{Analysed, text};

use crate::args::{ReportArguments, ReportTarget};
use crate::console::Console;
use crate::failure::{Failure, Outcome, Verdict};
use crate::files::{OutputFile, is_standard};

/// Where the text for people goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    /// The command's own standard output.
    Output,
    /// Standard error: standard output is that of a program.
    Error,
    /// Nowhere: something else is printed.
    None,
}

/// Spells out what the detectors found.
pub(crate) fn collected(analysed: &Analysed<'_>) -> Result<Report, Failure> {
    let settings = Settings { directory: std::env::current_dir().unwrap_or_default() };
    Ok(Collector::new(analysed, &settings).finish())
}

/// Writes every report that was asked for, and tells people. Findings that nobody has accepted are races.
pub(crate) fn deliver(
    report: &Report,
    arguments: &ReportArguments,
    stream: Stream,
    console: Console,
) -> Outcome {
    for target in &arguments.report {
        write(report, target)?;
    }
    let occupied = arguments.report.iter().any(|target| is_standard(&target.file));
    match stream {
        Stream::None => {}
        Stream::Output if occupied => {}
        Stream::Output => console.print(&text::findings(report, &console.layout(arguments.limit)))?,
        Stream::Error if report.findings.is_empty() => {}
        Stream::Error => console.report(&text::findings(report, &console.layout(arguments.limit))),
    }
    let races = report.new_findings().next().is_some();
    Ok(if races { Verdict::Races } else { Verdict::Fine })
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

/// Reads a stored result.
pub(crate) fn stored(path: &Path) -> Result<Report, Failure> {
    let read = match is_standard(path) {
        true => Report::read(std::io::stdin()),
        false => std::fs::File::open(path).and_then(Report::read),
    };
    read.map_err(|error| Failure::in_file(path, error))
}
