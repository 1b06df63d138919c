//! `overtake confirm`: runs the program of a result again and makes its races happen.

use std::ffi::OsString;
use std::process::Command;

use overtake::confirm::{ConfirmOptions, RACE, candidates, confirm, stop_at};
use overtake::recording::scratch_directory;
use overtake::{Error, Listener, reports};
use overtake_report::result::Report;

use super::chosen::position;
use super::sources::compile_sources;
use crate::command_line::args::ConfirmArguments;
use crate::command_line::console::{Console, Stream};
use crate::command_line::delivery::deliver;
use crate::command_line::verdict::{Outcome, Verdict};

/// Runs the program again for the races that were asked for. The command fails if one was seen.
pub(crate) fn run(arguments: &ConfirmArguments, console: Console) -> Outcome {
    let mut report = reports::stored(&arguments.result)?;
    let mut options = options(&report, arguments)?;
    // `overtake run bank.c` leaves no program behind: the sources are compiled again, which gives the same instructions.
    let _compiled = compile_sources(&mut options.trial.command, &scratch_directory(&console))?;
    if let Some(race) = &arguments.gdb {
        return debug(&report, race, &options, console);
    }
    let chosen = chosen(&report, &arguments.races)?;
    if chosen.is_empty() {
        console.say("there is no race that a run could confirm: observed ones happened already");
        return Ok(Verdict::Fine);
    }
    let attempts = confirm(&mut report, &chosen, &options, &console)?;
    let is_confirmed = attempts.iter().any(|attempt| attempt.is_confirmed);
    deliver(report, &arguments.reports.printed_as(arguments.format), Some(Stream::Output), console)?;
    Ok(if is_confirmed { Verdict::Races } else { Verdict::Fine })
}

/// What runs, and how.
fn options(report: &Report, arguments: &ConfirmArguments) -> Result<ConfirmOptions, Error> {
    let recorded = report.runs.iter().map(|run| &run.command).find(|command| !command.is_empty());
    let command: Vec<OsString> = match (&arguments.command[..], recorded) {
        ([], Some(recorded)) => recorded.iter().map(OsString::from).collect(),
        ([], None) => {
            return Err(Error::usage(
                "expected a result of a recorded program, or the command after `--`: this result does not say what ran",
            ));
        }
        (command, _) => command.to_vec(),
    };
    let repeat = format!("overtake confirm {} {RACE}", arguments.result.display());
    Ok(arguments.trial.options(command, repeat))
}

/// The races that were named, else all that have not happened yet.
fn chosen(report: &Report, races: &[String]) -> Result<Vec<usize>, Error> {
    match races {
        [] => Ok(candidates(report)),
        races => races.iter().map(|race| position(&report.findings, race)).collect(),
    }
}

/// Starts gdb on the program at the moment when both threads stand at the accesses.
fn debug(report: &Report, race: &str, options: &ConfirmOptions, console: Console) -> Outcome {
    let at = position(&report.findings, race)?;
    let mut stopped = stop_at(report, at, options, &console)?;
    console.say(&format!("both threads stand at their accesses; gdb -p {}", stopped.process()));
    let status = Command::new("gdb")
        .arg("-p")
        .arg(stopped.process().to_string())
        .args(["-ex", "info threads"])
        .status();
    stopped.end();
    match status {
        Ok(_) => Ok(Verdict::Races),
        Err(error) => Err(Error::failed(format!("gdb: {error}; is it installed?"))),
    }
}
