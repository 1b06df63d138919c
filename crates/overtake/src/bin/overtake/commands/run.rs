//! `overtake run`: a program's races, found while it runs and in what else it could have done.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use overtake::compile::Language;
use overtake::recording::{Recording, exit_code, process_of};
use overtake::triage::OwnWords;
use overtake::{Error, Listener, Search};
use overtake_report::collect::merge;
use overtake_report::result::Report;

use super::record::seal_into;
use crate::args::RunArguments;
use crate::console::Console;
use crate::delivery::tell_of_program;
use crate::verdict::{Outcome, Verdict};

/// Records, seals, analyses, reports.
pub(crate) fn run(arguments: &RunArguments, console: Console) -> Outcome {
    let scratch = std::env::temp_dir();
    let mut recorded = arguments.recording.clone();
    // Its debug information is needed until the last race is told.
    let compiled = compile_source(&mut recorded.program)?;
    let recording = Recording::run(&recorded.program, &recorded.options(), &scratch)?;
    let logs = recording.logs()?;
    if logs.is_empty() {
        console.say(&Recording::hint(Path::new(&recorded.program[0])));
    }
    if let Some(directory) = &arguments.keep {
        fs::create_dir_all(directory).map_err(|error| Error::in_file(directory, error))?;
    }
    let mut reports = arguments.reports.printed_as(arguments.format);
    reports.triage.own = OwnWords::of(Path::new(&recorded.program[0]), &logs);
    let search = Search {
        detectors: arguments.detector.clone(),
        options: arguments.options.options(),
        details: reports.details(),
    };
    let mut found = Vec::new();
    let process = logs.first().and_then(|log| process_of(log)).map(str::to_owned);
    for log in logs {
        let kept = arguments.keep.as_deref().map(|directory| seal_into(directory, &log, console));
        if let Some(Ok(trace)) = kept {
            found.push(search.in_file(&trace)?);
            continue;
        }
        found.push(search.in_log(&log, &recording.directory().join("trace.otr"), &console)?);
        if let Some(Err(failure)) = kept {
            console.say(&recording.keep(&log, &failure));
        }
    }
    let mut found = merge(found);
    if let Some(compiled) = &compiled {
        compiled.show_source(&mut found);
    }
    let own = Verdict::Program(exit_code(recording.status));
    let verdict = tell_of_program(found, &reports, process.as_deref(), console)?;
    Ok(match (verdict, reports.triage.triage().options().exit_code) {
        (Verdict::Fine, _) | (Verdict::Races, Some(0)) => own,
        (Verdict::Races, Some(code)) => Verdict::Program(code),
        (verdict, _) => verdict,
    })
}

/// A program that was compiled for one run. It is removed when this is dropped.
struct Compiled {
    _directory: tempfile::TempDir,
    executable: PathBuf,
    source: PathBuf,
}

impl Compiled {
    /// Reports name what people named: the source.
    fn show_source(&self, report: &mut Report) {
        let program = report.runs.iter_mut().filter_map(|run| run.command.first_mut());
        for program in program.filter(|program| Path::new(&**program) == self.executable) {
            *program = self.source.display().to_string();
        }
    }
}

/// `overtake run bank.c`: what is compiled first.
fn compile_source(program: &mut [OsString]) -> Result<Option<Compiled>, Error> {
    let source = Path::new(&program[0]).to_owned();
    let language = match source.extension().and_then(|extension| extension.to_str()) {
        Some("c") => Language::C,
        Some("cc" | "cpp" | "cxx" | "C" | "c++") => Language::Cpp,
        _ => return Ok(None),
    };
    let directory = tempfile::Builder::new().prefix("overtake-program-").tempdir();
    let directory = directory.map_err(|error| Error::failed(format!("no temporary directory: {error}")))?;
    let executable = directory.path().join(source.file_stem().unwrap_or_default());
    let myself =
        std::env::current_exe().map_err(|error| Error::failed(format!("cannot find myself: {error}")))?;
    let status = Command::new(myself)
        .arg(if language == Language::C { "cc" } else { "c++" })
        .args(["-O1", "-g"])
        .arg(&source)
        .arg("-o")
        .arg(&executable)
        .args(["-pthread", "-lm"])
        .status()
        .map_err(|error| Error::in_file(&source, error))?;
    if !status.success() {
        return Err(Error::failed(format!("{}: not compiled", source.display())));
    }
    program[0] = executable.clone().into();
    Ok(Some(Compiled { _directory: directory, executable, source }))
}
