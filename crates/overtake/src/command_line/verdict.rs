//! How a command ends: it found nothing, it found races, or it failed.

use std::process::ExitCode;

use overtake::{Error, ErrorKind};
use signal_hook::consts::SIGABRT;

use crate::command_line::args::Command;

/// What the exit code of a command that did its work says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Nothing to complain about.
    Fine,
    /// Races were reported.
    Races,
    /// A program that was started ended with this code.
    Program(u8),
}

impl From<Verdict> for ExitCode {
    fn from(verdict: Verdict) -> ExitCode {
        ExitCode::from(match verdict {
            Verdict::Fine => 0,
            Verdict::Races => 66,
            Verdict::Program(code) => code,
        })
    }
}

/// The exit code of a command that could not do its work: 2 if what was typed makes no sense, else 1.
pub(crate) fn exit_code(error: &Error) -> ExitCode {
    ExitCode::from(if error.kind() == ErrorKind::Usage { 2 } else { 1 })
}

/// The exit code of a command that would abort, most likely because memory ran out: it could not do its work. `finish` tells its caller, the
/// checked program, that it had no time to say where the log is.
pub(crate) fn aborted(command: &Command) -> u8 {
    if matches!(command, Command::Finish { .. }) { 128 + SIGABRT as u8 } else { 1 }
}

/// What commands return.
pub(crate) type Outcome = Result<Verdict, Error>;
