//! How commands end: well, with races, or not at all.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use overtake_detect::OptionError;

/// What a command that did its work has to say by its exit code.
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

/// Why a command could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    /// What was typed makes no sense: exit code 2.
    Usage(String),
    /// Something went wrong: exit code 1.
    Error(String),
}

impl Failure {
    /// Something went wrong with a file.
    pub(crate) fn in_file(file: &Path, error: impl fmt::Display) -> Failure {
        Failure::Error(format!("{}: {error}", file.display()))
    }

    /// The exit code.
    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(match self {
            Failure::Usage(_) => 2,
            Failure::Error(_) => 1,
        })
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Usage(message) | Failure::Error(message) => f.write_str(message),
        }
    }
}

impl From<OptionError> for Failure {
    fn from(error: OptionError) -> Failure {
        Failure::Usage(error.to_string())
    }
}

/// What commands return.
pub(crate) type Outcome = Result<Verdict, Failure>;
