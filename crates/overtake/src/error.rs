//! Why something could not be done.

use std::fmt;
use std::path::Path;

use overtake_detect::OptionError;

/// Why something could not be done. The text names the file and, where there is one, the place in it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Error {
    kind: ErrorKind,
    message: String,
}

/// What sort of error it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// What was asked for makes no sense: the caller must ask for something else.
    Usage,
    /// What was asked for did not work.
    Failed,
}

impl Error {
    /// What was asked for makes no sense.
    pub fn usage(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Usage, message: message.into() }
    }

    /// What was asked for did not work.
    pub fn failed(message: impl Into<String>) -> Error {
        Error { kind: ErrorKind::Failed, message: message.into() }
    }

    /// Something went wrong with a file.
    pub fn in_file(file: &Path, error: impl fmt::Display) -> Error {
        Error::failed(format!("{}: {error}", file.display()))
    }

    /// What sort of error it is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

impl From<OptionError> for Error {
    fn from(error: OptionError) -> Error {
        Error::usage(error.to_string())
    }
}

/// What functions of this crate return.
pub type Result<T> = std::result::Result<T, Error>;
