//! How a command ends: it found nothing, it found races, or it failed.

use std::process::ExitCode;

use overtake::{Error, ErrorKind};

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

/// What commands return.
pub(crate) type Outcome = Result<Verdict, Error>;
