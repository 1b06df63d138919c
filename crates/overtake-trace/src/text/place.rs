//! Places in a text, and errors there.

use crate::error::{Error, Position};

/// Where a piece of text starts: line and column, both counted from 1.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) column: u64,
}

impl Place {
    /// The place `offset` bytes behind this one.
    pub(super) fn plus(self, offset: usize) -> Place {
        Place { column: self.column + offset as u64, ..self }
    }

    /// A syntax error `offset` bytes behind this place.
    #[cold]
    pub(super) fn error(self, offset: usize, message: impl Into<String>) -> Error {
        Error::syntax(self.line, self.column + offset as u64, message)
    }

    /// `error` at this place, unless it already has a place.
    #[cold]
    pub(super) fn locate(self, error: Error) -> Error {
        match error.position() {
            Position::Nowhere => error.at(self.position()),
            _ => error,
        }
    }

    /// This place as a [`Position`].
    pub(super) fn position(self) -> Position {
        Position::Line { line: self.line, column: self.column }
    }
}
