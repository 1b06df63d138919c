//! `overtake record`: what a program does, as traces.

use std::fs;
use std::path::{Path, PathBuf};

use overtake::recording::{Recording, coalesced, exit_code, losses, seal_log, trace_name};
use overtake::{Error, Listener};
use overtake_report::{WrittenFacts, text};

use crate::args::RecordArguments;
use crate::console::Console;
use crate::verdict::{Outcome, Verdict};

/// Runs a program and seals the logs of all its processes.
pub(crate) fn run(arguments: &RecordArguments, console: Console) -> Outcome {
    fs::create_dir_all(&arguments.out).map_err(|error| Error::in_file(&arguments.out, error))?;
    let recording =
        Recording::run(&arguments.recording.program, &arguments.recording.options(), &arguments.out)?;
    let logs = recording.logs()?;
    if logs.is_empty() {
        console.say(&Recording::hint(Path::new(&arguments.recording.program[0])));
    }
    let sealed = logs.iter().filter_map(|log| {
        let failure = seal_into(&arguments.out, log, console).err()?;
        Some(recording.keep(log, &failure))
    });
    let failures: Vec<String> = sealed.collect();
    match failures.is_empty() {
        true => Ok(Verdict::Program(exit_code(recording.status))),
        false => Err(Error::failed(failures.join("\n"))),
    }
}

/// Seals a log into a directory, under a name that nothing there has.
pub(crate) fn seal_into(directory: &Path, log: &Path, console: Console) -> Result<PathBuf, Error> {
    let unnamed = directory.join(format!(".{}.otr", log.file_name().unwrap_or_default().to_string_lossy()));
    let (sealed, bytes) = seal_log(log, &unnamed)?;
    console.say(&losses(&sealed));
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
    Ok(path)
}
