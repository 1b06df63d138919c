//! What can go wrong when a log is sealed.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// A log could not be read, or the trace could not be written.
#[derive(Debug)]
pub struct Error {
    path: Option<PathBuf>,
    message: String,
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(path: &Path, message: impl Into<String>) -> Error {
        Error { path: Some(path.to_owned()), message: message.into() }
    }

    pub(crate) fn io(path: &Path, source: io::Error) -> Error {
        Error::new(path, source.to_string())
    }
}

impl From<overtake_trace::Error> for Error {
    fn from(error: overtake_trace::Error) -> Error {
        Error { path: None, message: error.to_string() }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(path) = &self.path {
            write!(f, "{}: ", path.display())?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
