//! What can go wrong with a trace, and where.

use std::fmt;
use std::io;

use crate::id::EventIndex;

/// A trace could not be read, checked or written. Says what was expected, what was found, and where.
#[derive(Debug)]
pub struct Error {
    kind: ErrorKind,
    position: Position,
    message: String,
    source: Option<io::Error>,
}

/// What sort of thing went wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The operating system failed to read or write.
    Io,
    /// The bytes do not follow the format.
    Syntax,
    /// A sealed file is cut short, or a checksum does not match.
    Corrupt,
    /// The events do not form a well-formed trace (strict mode only).
    IllFormed,
    /// More names or events than the model can number.
    TooLarge,
    /// The format cannot express this event or name.
    Unsupported,
}

/// Where in the input an error lies.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Position {
    /// No particular place.
    Nowhere,
    /// Text: line and column, both counted from 1, the column in bytes.
    Line {
        /// Line, from 1.
        line: u64,
        /// Byte in the line, from 1.
        column: u64,
    },
    /// Binary: byte offset in the file, from 0.
    Offset(u64),
    /// Sealed file: block number and byte offset of the block in the file, both from 0.
    Block {
        /// Block number, from 0.
        block: u64,
        /// Byte offset of the block in the file.
        offset: u64,
    },
    /// An event, wherever it was stored.
    Event(EventIndex),
}

impl Error {
    /// An error of `kind` at `position`.
    pub fn new(kind: ErrorKind, position: Position, message: impl Into<String>) -> Error {
        Error { kind, position, message: message.into(), source: None }
    }

    /// A syntax error in text. Line and column count from 1.
    pub fn syntax(line: u64, column: u64, message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Syntax, Position::Line { line, column }, message)
    }

    /// What sort of error this is.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Where it happened.
    pub fn position(&self) -> Position {
        self.position
    }

    /// The same error at another place, for callers that know the place better.
    pub fn at(mut self, position: Position) -> Error {
        self.position = position;
        self
    }

    /// The message without the position.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Position::Nowhere => Ok(()),
            Position::Line { line, column } => write!(f, "line {line}, column {column}"),
            Position::Offset(offset) => write!(f, "byte {offset}"),
            Position::Block { block, offset } => write!(f, "block {block} at byte {offset}"),
            Position::Event(index) => write!(f, "event {index}"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.position != Position::Nowhere {
            write!(f, "{}: ", self.position)?;
        }
        match &self.source {
            // The system's words need no introduction.
            Some(source) if source.raw_os_error().is_some() => write!(f, "{source}"),
            Some(source) => write!(f, "{}: {source}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(source: io::Error) -> Error {
        Error {
            kind: ErrorKind::Io,
            position: Position::Nowhere,
            message: "cannot read or write".into(),
            source: Some(source),
        }
    }
}

/// Result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_the_system_stand_alone() {
        let missing = io::Error::from_raw_os_error(2);
        assert_eq!(Error::from(missing).to_string(), "No such file or directory (os error 2)");
        let other = io::Error::other("nobody listens");
        assert_eq!(Error::from(other).to_string(), "cannot read or write: nobody listens");
    }
}
