//! `overtake run`: runs a program and reports its races, those of this run and those that another schedule of it would have.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Instant;

use overtake::circumstances::Circumstances;
use overtake::files::OutputFile;
use overtake::recording::{
    Descendants, Leftover, Recording, catch_signals, ending, exit_code, leftovers, process_of,
    scratch_directory,
};
use overtake::triage::OwnWords;
use overtake::{Error, Listener, Search};
use overtake_detect::Registry;
use overtake_report::collect::merge;
use overtake_report::result::Report;
use overtake_report::text;

use super::again::Again;
use super::record::seal_into;
use super::sources::compile_sources;
use crate::command_line::args::RunArguments;
use crate::command_line::console::Console;
use crate::command_line::delivery::tell_of_program;
use crate::command_line::verdict::{Outcome, Verdict};

/// Records, seals, analyses, reports.
pub(crate) fn run(arguments: &RunArguments, registry: Registry, console: Console) -> Outcome {
    let start = Instant::now();
    arguments.recording.check()?;
    let mut reports = arguments.reports.printed_as(arguments.format);
    let mut recorded = arguments.recording.clone();
    reports.triage.own = OwnWords::before(Path::new(&recorded.program[0]));
    reports.check()?;
    if let Some(directory) = &arguments.keep {
        OutputFile::check(&directory.join("trace.otr"))?;
    }
    catch_signals();
    let scratch = scratch_directory(&console);
    mention_leftovers(&recorded.program[0], &scratch, console);
    // The program must stay until the last race is reported: reports need its debug information.
    let compiled = compile_sources(&mut recorded.program, &scratch)?;
    let surroundings = arguments.trial.surroundings();
    let mut recording =
        Recording::run(&recorded.program, &recorded.options(), &surroundings, &scratch, &console)?;
    let logs = recording.logs()?;
    reports.triage.own = OwnWords::of(Path::new(&recorded.program[0]), &logs);
    let again = Again::of(arguments, &reports);
    let mut search =
        Search { details: reports.details(), ..arguments.detector.search(&arguments.options, registry) };
    again.widen(&mut search);
    let process = logs.first().and_then(|log| process_of(log)).map(str::to_owned);
    let mut processes = Processes::default();
    for log in &logs {
        processes.examine(log, &search, arguments.keep.as_deref(), &recording, console);
    }
    if !arguments.recording.allow_empty {
        processes.check_that_something_was_recorded(logs.len(), &arguments.recording.program[0]);
    }
    let Processes { reports: found, mut failures, started, .. } = processes;
    if started.unchecked {
        failures.push("a program that this one started was not checked".to_owned());
    }
    failures.extend(recording.keep_running().map(|error| error.to_string()));
    failures.extend(recording.teardown.as_ref().err().map(Error::to_string));
    let mut found = merge(found);
    if arguments.keep_environment {
        keep_environment(&mut found);
    }
    if let Some(compiled) = &compiled {
        compiled.show_sources(&mut found);
    }
    if reports.store_result() {
        remember(&found);
    }
    console.say(&ending(recording.status));
    if let Err(failure) = again.see(&mut found, &recorded.program, console) {
        failures.push(format!("races could not be confirmed: {failure}"));
    }
    let clean = text::clean(&found, start.elapsed());
    let is_clean = found.findings.is_empty() && !logs.is_empty() && !started.races;
    let told = tell_of_program(found, &reports, process.as_deref(), console)
        .map(|verdict| if started.races { Verdict::Races } else { verdict });
    if let Err(failure) = &told {
        // The logs stay, so that the races can be reported again. With `--keep` there are traces.
        let logs = if arguments.keep.is_none() { &logs[..] } else { &[] };
        failures.push(recording.keep_for_report(logs, failure));
    }
    let said = reports.triage.triage().options();
    if is_clean && failures.is_empty() && !said.is_off {
        console.say(&clean);
    }
    outcome(told, said.exit_code, &failures, exit_code(recording.status), console)
}

/// `TSAN_OPTIONS` may choose the exit code of races. If it is 0, the program's own code or what was not checked decides.
fn outcome(
    told: Outcome,
    chosen: Option<u8>,
    failures: &[String],
    programs_code: u8,
    console: Console,
) -> Outcome {
    match told {
        Ok(Verdict::Races) if chosen != Some(0) => {
            failures.iter().for_each(|failure| console.say(failure));
            Ok(chosen.map_or(Verdict::Races, Verdict::Program))
        }
        _ if failures.is_empty() => Ok(Verdict::Program(programs_code)),
        _ => Err(Error::failed(failures.join("\n"))),
    }
}

/// Stores in which directory and with which environment the program ran. Variables that are no text are left out.
fn keep_environment(found: &mut Report) {
    let text =
        |(name, value): (OsString, OsString)| Some((name.into_string().ok()?, value.into_string().ok()?));
    let environment: BTreeMap<String, String> = std::env::vars_os().filter_map(text).collect();
    let directory = std::env::current_dir().map(|directory| directory.display().to_string());
    for run in &mut found.runs {
        run.directory = directory.as_ref().map_or_else(|_| String::new(), String::clone);
        run.environment = environment.clone();
    }
}

/// Remembers where and with which environment the program ran. Without a cache `overtake confirm` runs it as it is called itself.
fn remember(found: &Report) {
    if let Ok(circumstances) = Circumstances::current() {
        for run in &found.runs {
            let _ = circumstances.remember(&run.command, run.process, run.events);
        }
    }
}

const UNINSTRUMENTED: &str = "threads and locks were seen, but no access: the program was linked by overtake, but its sources were not compiled \
                              by it, so nothing was checked; compile them with overtake cc, overtake c++ or overtake build (--allow-empty \
                              accepts this)";

/// What became of the processes of a program.
#[derive(Default)]
struct Processes {
    reports: Vec<Report>,
    /// What was not checked, and why.
    failures: Vec<String>,
    /// How many processes ran no instrumented code.
    uninstrumented: usize,
    /// What programs came to that were started without the environment of the run, and reported for themselves.
    started: Descendants,
}

impl Processes {
    /// Seals the log of a process and looks for races in it. If that fails, the log stays.
    fn examine(
        &mut self,
        log: &Path,
        search: &Search,
        keep: Option<&Path>,
        recording: &Recording,
        console: Console,
    ) {
        let searched = match keep.map(|directory| seal_into(directory, log, console)) {
            Some(Ok((trace, sealed))) => search.in_sealed(&trace, &sealed, &console),
            kept => {
                let searched = search.in_log(log, &recording.directory().join("trace.otr"), &console);
                if let Some(Err(failure)) = &kept {
                    self.failures.push(recording.keep(log, failure));
                }
                searched
            }
        };
        let below = Descendants::of(log);
        self.started.races |= below.races;
        self.started.unchecked |= below.unchecked;
        match searched {
            Ok(searched) => {
                if searched.is_incomplete {
                    self.failures
                        .push("not everything was recorded, so not everything was checked".to_owned());
                }
                self.uninstrumented += usize::from(searched.is_uninstrumented);
                self.reports.push(searched.report);
            }
            Err(failure) if log.exists() => self.failures.push(recording.keep(log, &failure)),
            Err(failure) => self.failures.push(failure.to_string()),
        }
    }

    /// A program of which nothing was recorded was not checked.
    fn check_that_something_was_recorded(&mut self, logs: usize, program: &OsStr) {
        if logs == 0 {
            self.failures.push(Recording::hint(Path::new(program)));
        } else if self.uninstrumented == logs {
            self.failures.push(UNINSTRUMENTED.to_owned());
        }
    }
}

/// Names the logs that earlier runs of this program left without a report.
fn mention_leftovers(program: &OsStr, scratch: &Path, console: Console) {
    let is_same = |command: &[String]| {
        let of = |path: &Path| std::fs::canonicalize(path).ok();
        command.first().is_some_and(|found| {
            of(Path::new(found)).is_some_and(|found| Some(found) == of(Path::new(program)))
        })
    };
    for Leftover { log, .. } in leftovers(scratch).into_iter().filter(|leftover| is_same(&leftover.command)) {
        console.say(&format!(
            "an earlier run of this program ended without a report; see its races with: overtake finish {}",
            log.display()
        ));
    }
}
