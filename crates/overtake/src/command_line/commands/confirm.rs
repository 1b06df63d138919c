//! `overtake confirm`: runs the program of a result again and makes its races happen.

use std::ffi::OsString;
use std::process::Command;

use overtake::circumstances::Circumstances;
use overtake::confirm::{ConfirmOptions, RACE, Trial, candidates, confirm, stop_at};
use overtake::recording::scratch_directory;
use overtake::{Error, Listener, reports};
use overtake_report::result::Report;

use super::chosen::position;
use super::sources::{compile_sources, name_from_outside};
use crate::command_line::args::ConfirmArguments;
use crate::command_line::console::{Console, Stream};
use crate::command_line::delivery::deliver;
use crate::command_line::shell;
use crate::command_line::verdict::{Outcome, Verdict};

/// Runs the program again for the races that were asked for. The command fails if one was seen.
pub(crate) fn run(arguments: &ConfirmArguments, console: Console) -> Outcome {
    let mut report = reports::stored(&arguments.result)?;
    let mut options = options(&report, arguments, console)?;
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
fn options(report: &Report, arguments: &ConfirmArguments, console: Console) -> Result<ConfirmOptions, Error> {
    let recorded = report.runs.iter().find(|run| !run.command.is_empty());
    let command: Vec<OsString> = match (&arguments.command[..], recorded) {
        ([], Some(recorded)) => recorded.command.iter().map(OsString::from).collect(),
        ([], None) => {
            return Err(Error::usage(
                "expected a result of a recorded program, or the command after `--`: this result does not say what ran",
            ));
        }
        (command, _) => command.to_vec(),
    };
    let mut repeat =
        format!("overtake confirm {} {RACE}{}", shell::word(&arguments.result), arguments.trial.spelled());
    if arguments.here {
        repeat += " --here";
    }
    if !arguments.command.is_empty() {
        repeat += &format!(" --{}", shell::words(&arguments.command));
    }
    let mut options = arguments.trial.options(command, repeat);
    let wanted = recorded.filter(|_| !arguments.here && arguments.command.is_empty());
    if let Some(then) = wanted.and_then(Circumstances::of) {
        run_as_then(&mut options.trial, then, console);
    }
    Ok(options)
}

/// Makes the program run where and as it was recorded. Says so if that is not as it would run now.
fn run_as_then(trial: &mut Trial, then: Circumstances, console: Console) {
    /// More names would hide what else is said.
    const MOST_NAMES: usize = 5;
    let Ok(now) = Circumstances::current() else { return };
    let different = then.differences(&now);
    let mut names: Vec<String> =
        different.iter().take(MOST_NAMES).map(|name| name.to_string_lossy().into_owned()).collect();
    if different.len() > MOST_NAMES {
        names.push(format!("{} more", different.len() - MOST_NAMES));
    }
    let is_elsewhere = then.directory != now.directory;
    let place = is_elsewhere.then(|| format!("in {}", then.directory.display()));
    let variables = (!names.is_empty()).then(|| format!("with {} as then", names.join(", ")));
    let said: Vec<String> = place.into_iter().chain(variables).collect();
    if !said.is_empty() {
        let said = said.join(", ");
        console
            .say(&format!("the program runs as it was recorded: {said} (--here runs it as things are now)"));
    }
    if is_elsewhere {
        name_from_outside(&mut trial.command, &then.directory);
    }
    trial.surroundings.directory = Some(then.directory);
    trial.surroundings.environment = Some(then.environment);
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
    let stopped = stop_at(report, at, options, &console)?;
    let number = stopped.process();
    console.say(&format!("both threads stand at their accesses; gdb -p {number}"));
    let mut gdb = Command::new("gdb");
    gdb.arg("-p").arg(number.to_string()).args(["-ex", "info threads"]);
    // The innermost frames are those of our library: each thread shows the frame of its access instead.
    let accesses = report.findings[at].accesses.iter();
    let mut functions: Vec<&str> =
        accesses.filter_map(|access| Some(access.stack.first()?.function.as_str())).collect();
    functions.dedup();
    for function in functions.into_iter().filter(|function| !function.is_empty()) {
        gdb.args(["-ex", &format!("thread apply all -s frame function {function}")]);
    }
    let status = gdb.status();
    stopped.end()?;
    match status {
        Ok(_) => Ok(Verdict::Races),
        Err(error) => Err(Error::failed(format!("gdb: {error}; is it installed?"))),
    }
}
