//! `overtake doctor`: tries out recording with every compiler, on a tiny program.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, Stdio};

use overtake::recording::{Scratch, scratch_directory};
use overtake::{Error, reports};
use overtake_report::result::Report;

use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// The tiny program. Its first race happens in every run; the second one is ordered by chance, and has to be predicted.
const PROGRAM: &str = include_str!("doctor.c");

/// Runs every check, and says what to install. Fails if no compiler works.
pub(crate) fn run(console: Console) -> Outcome {
    let scratch = scratch_directory(&console);
    let directory = Scratch::new_in("overtake-doctor-", &scratch);
    let directory = directory.map_err(|error| Error::in_file(&scratch, error))?;
    let source = directory.path().join("doctor.c");
    std::fs::write(&source, PROGRAM).map_err(|error| Error::in_file(&source, error))?;
    let mut text = format!("overtake {}\n", env!("CARGO_PKG_VERSION"));
    text += &format!("  temporary files  {}\n", scratch.display());
    let mut working = 0;
    for compiler in compilers() {
        let health = examine(&compiler, &source, directory.path());
        working += usize::from(health.is_ok());
        let health = health.unwrap_or_else(|problem| format!("does not work: {problem}"));
        text += &format!("  {compiler:15}  {health}\n");
    }
    if working == 0 {
        text += "install a compiler: apt install gcc g++ libc6-dev, dnf install gcc gcc-c++, or the like; OVERTAKE_CC names another one\n";
    }
    console.print(&text)?;
    match working {
        0 => Err(Error::failed("no compiler works, so no program can be recorded")),
        _ => Ok(Verdict::Fine),
    }
}

/// The C compilers to try: the one that `OVERTAKE_CC` names, and those that are installed.
fn compilers() -> Vec<String> {
    let asked = std::env::var("OVERTAKE_CC").ok().filter(|named| !named.trim().is_empty());
    let versions = (9..=25).flat_map(|number| [format!("gcc-{number}"), format!("clang-{number}")]);
    let usual = ["gcc", "clang"].map(str::to_owned).into_iter().chain(versions);
    asked.into_iter().chain(usual.filter(|name| is_there(name))).collect()
}

/// Whether a program can be started.
fn is_there(program: &str) -> bool {
    let mut asked = Command::new(program);
    asked.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    asked.status().is_ok_and(|status| status.success())
}

/// Compiles, runs and examines the tiny program with a compiler. Returns what works, or what does not.
fn examine(compiler: &str, source: &Path, directory: &Path) -> Result<String, String> {
    let result = directory.join("result.json");
    let mut run = myself(compiler)?;
    let mut target = OsString::from("result=");
    target.push(&result);
    run.args(["run", "--report"]).arg(target).arg(source);
    let output = run.output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let report = reports::stored(&result).map_err(|_| last_line(&said))?;
    let is_confirmed = is_confirmed(compiler, &result)?;
    // The next compiler must not find this result.
    std::fs::remove_file(&result).map_err(|error| error.to_string())?;
    match (has(&report, "happens"), has(&report, "predicted")) {
        (true, true) if is_confirmed => {
            Ok("compiles, records, finds a race, predicts another and confirms it".into())
        }
        (true, true) => {
            Ok("compiles, records, finds a race, predicts another; running again did not confirm it".into())
        }
        (true, false) => Err("finds the race that happens, but does not predict the other one".into()),
        (false, _) => Err(format!("finds no race; it said: {}", last_line(&said))),
    }
}

/// Whether the predicted race was seen when the program ran again without the order that hid it.
fn is_confirmed(compiler: &str, result: &Path) -> Result<bool, String> {
    let mut confirm = myself(compiler)?;
    confirm.args(["confirm", "--here"]).arg(result).env("OVERTAKE_DOCTOR_UNORDERED", "1");
    let output = confirm.output().map_err(|error| error.to_string())?;
    Ok(output.status.code() == Some(66))
}

/// This program, with a compiler to use.
fn myself(compiler: &str) -> Result<Command, String> {
    let mut command = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
    command.env("OVERTAKE_CC", compiler).env_remove("TSAN_OPTIONS").stdin(Stdio::null());
    Ok(command)
}

/// Whether a race on a variable was found.
fn has(report: &Report, variable: &str) -> bool {
    report.findings.iter().any(|finding| finding.headline.starts_with(variable))
}

fn last_line(text: &str) -> String {
    text.lines().last().unwrap_or("nothing").to_owned()
}
