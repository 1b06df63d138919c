//! `overtake run`: a program's races, found while it runs and in what else it could have done.

use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

use overtake_report::collect::merge;

use super::races::{Search, tell};
use super::record::seal_into;
use crate::args::RunArguments;
use crate::compile::Language;
use crate::console::Console;
use crate::failure::{Failure, Outcome, Verdict};
use crate::recording::{Recording, exit_code, process_of};
use crate::triage::OwnWords;

/// Records, seals, analyses, reports.
pub(crate) fn run(arguments: &RunArguments, console: Console) -> Outcome {
    let scratch = std::env::temp_dir();
    let mut recorded = arguments.recording.clone();
    // Its debug information is needed until the last race is told.
    let _compiled = compile_source(&mut recorded.program)?;
    let recording = Recording::run(&recorded, &scratch)?;
    let logs = recording.logs()?;
    if logs.is_empty() {
        console.say(&Recording::hint(Path::new(&recorded.program[0])));
    }
    if let Some(directory) = &arguments.keep {
        fs::create_dir_all(directory).map_err(|error| Failure::in_file(directory, error))?;
    }
    let mut reports = arguments.reports.printed_as(arguments.format);
    reports.triage.own = OwnWords::of(Path::new(&recorded.program[0]), &logs);
    let (detectors, options) = (&*arguments.detector, arguments.options.options());
    let search = Search { detectors, options, reports: &reports };
    let mut found = Vec::new();
    let process = logs.first().and_then(|log| process_of(log)).map(str::to_owned);
    for log in logs {
        found.push(match &arguments.keep {
            Some(directory) => search.in_trace(&seal_into(directory, &log, console)?, console)?,
            None => search.in_log(&log, &recording.directory().join("trace.otr"), console)?,
        });
    }
    let own = Verdict::Program(exit_code(recording.status));
    Ok(
        match (tell(merge(found), &reports, process.as_deref(), console)?, reports.triage.options().exit_code)
        {
            (Verdict::Fine, _) | (Verdict::Races, Some(0)) => own,
            (Verdict::Races, Some(code)) => Verdict::Program(code),
            (verdict, _) => verdict,
        },
    )
}

/// `overtake run bank.c`: what is compiled first. The program is removed when the result is dropped.
fn compile_source(program: &mut [OsString]) -> Result<Option<tempfile::TempDir>, Failure> {
    let source = Path::new(&program[0]).to_owned();
    let language = match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Language::C,
        Some("cc" | "cpp" | "cxx" | "C" | "c++") => Language::Cpp,
        _ => return Ok(None),
    };
    let directory = tempfile::Builder::new().prefix("overtake-program-").tempdir();
    let directory = directory.map_err(|error| Failure::Error(format!("no temporary directory: {error}")))?;
    let executable = directory.path().join(source.file_stem().unwrap_or_default());
    let myself =
        std::env::current_exe().map_err(|error| Failure::Error(format!("cannot find myself: {error}")))?;
    let status = Command::new(myself)
        .arg(if language == Language::C { "cc" } else { "c++" })
        .args(["-O1", "-g"])
        .arg(&source)
        .arg("-o")
        .arg(&executable)
        .args(["-pthread", "-lm"])
        .status()
        .map_err(|error| Failure::in_file(&source, error))?;
    if !status.success() {
        return Err(Failure::Error(format!("{}: not compiled", source.display())));
    }
    program[0] = executable.into();
    Ok(Some(directory))
}
