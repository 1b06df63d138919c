//! `overtake record`: what a program does, as traces.

use std::fs;
use std::path::{Path, PathBuf};

use overtake::circumstances::Circumstances;
use overtake::files::OutputFile;
use overtake::recording::{
    Recording, Sealed, coalesced, ending, exit_code, is_incomplete, losses, missing, seal_log, trace_name,
};
use overtake::surroundings::Surroundings;
use overtake::{Error, Listener};
use overtake_report::{WrittenFacts, text};

use crate::command_line::args::RecordArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// Runs a program and seals the logs of all its processes.
pub(crate) fn run(arguments: &RecordArguments, console: Console) -> Outcome {
    arguments.recording.check()?;
    OutputFile::check(&arguments.out.join("trace.otr"))?;
    let recorded = &arguments.recording;
    let alone = Surroundings::default();
    let mut recording =
        Recording::run(&recorded.program, &recorded.options(), &alone, &arguments.out, &console)?;
    let logs = recording.logs()?;
    let mut failures = Vec::new();
    if logs.is_empty() && !recorded.allow_empty {
        failures.push(Recording::hint(Path::new(&recorded.program[0])));
    }
    for log in &logs {
        match seal_into(&arguments.out, log, console) {
            Ok((_, sealed)) => {
                remember(&sealed);
                if is_incomplete(&sealed) {
                    failures.push("not everything was recorded".to_owned());
                }
            }
            Err(failure) => failures.push(recording.keep(log, &failure)),
        }
    }
    failures.extend(recording.keep_running().map(|error| error.to_string()));
    console.say(&ending(recording.status));
    match failures.is_empty() {
        true => Ok(Verdict::Program(exit_code(recording.status))),
        false => Err(Error::failed(failures.join("\n"))),
    }
}

/// Remembers where and with which environment the program ran, for confirming what an analysis of the trace finds.
fn remember(sealed: &Sealed) {
    let program = &sealed.symbols.program;
    if let Ok(circumstances) = Circumstances::current() {
        // Without a cache `overtake confirm` runs the program as it is called itself.
        let _ = circumstances.remember(&program.command, program.pid, sealed.events);
    }
}

/// Seals a log into a directory, under a name that is free there.
pub(crate) fn seal_into(directory: &Path, log: &Path, console: Console) -> Result<(PathBuf, Sealed), Error> {
    let unnamed = directory.join(format!(".{}.otr", log.file_name().unwrap_or_default().to_string_lossy()));
    let work = console.working("sealing what was recorded");
    let (sealed, bytes) = seal_log(log, &unnamed)?;
    drop(work);
    console.say(&losses(&sealed));
    console.say(&missing(&sealed));
    console.say(&coalesced(&sealed));
    let name = trace_name(&sealed.log.command, log);
    let mut path = directory.join(format!("{name}.otr"));
    for number in 2.. {
        if !path.exists() {
            break;
        }
        path = directory.join(format!("{name}.{number}.otr"));
    }
    fs::rename(&unnamed, &path).map_err(|error| Error::in_file(&path, error))?;
    let file = path.display().to_string();
    let written =
        WrittenFacts { file, format: "otr".into(), events: sealed.events, bytes, lost_locations: 0 };
    console.say(&text::written(&written));
    Ok((path, sealed))
}
