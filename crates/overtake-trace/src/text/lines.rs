//! Lines of a text input, read in large chunks and parsed in place.

use std::io::{ErrorKind as IoErrorKind, Read};

use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::is_damage;

/// How many bytes are read at a time: few enough to be still in the second-level cache when they are parsed.
pub(crate) const CHUNK_BYTES: usize = 256 << 10;

/// Longer lines are refused, so that a file without line ends is not read into memory as a whole.
pub(crate) const LONGEST_LINE: usize = 4 << 20;

/// Bytes that stay readable behind the last line, so that scanners may load whole words.
pub(super) const PADDING: usize = 48;

/// What some editors put at the start of a file.
pub(super) const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Cuts an input into whole lines.
#[derive(Debug)]
pub(super) struct Lines<R> {
    input: R,
    /// `start..whole` are lines not yet taken, `whole..end` is the beginning of a line, the rest is free.
    buffer: Vec<u8>,
    start: usize,
    whole: usize,
    end: usize,
    chunk_bytes: usize,
    ended: bool,
    /// Number of the line at `start`, counted from 1.
    number: u64,
    bytes_taken: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Lines<R> {
        Lines {
            input,
            buffer: Vec::new(),
            start: 0,
            whole: 0,
            end: 0,
            chunk_bytes: CHUNK_BYTES,
            ended: false,
            number: 1,
            bytes_taken: 0,
        }
    }

    /// Reads `bytes` at a time; for tests, which put chunk borders everywhere.
    pub(super) fn set_chunk_bytes(&mut self, bytes: usize) {
        self.chunk_bytes = bytes.max(1);
    }

    /// Makes sure that a whole line is in the buffer. False at the end of the input.
    #[inline]
    pub(super) fn fill(&mut self) -> Result<bool> {
        if self.start < self.whole { Ok(true) } else { self.refill() }
    }

    /// The lines in the buffer, each with its line end, followed by at least [`PADDING`] other bytes; and how
    /// many bytes of it are lines.
    #[inline]
    pub(super) fn available(&self) -> (&[u8], usize) {
        (&self.buffer[self.start..], self.whole - self.start)
    }

    /// The number of the first line in the buffer.
    #[inline]
    pub(super) fn number(&self) -> u64 {
        self.number
    }

    /// How many bytes of lines were taken.
    pub(super) fn bytes_taken(&self) -> u64 {
        self.bytes_taken
    }

    /// Takes `lines` lines of `bytes` bytes in all.
    #[inline]
    pub(super) fn advance(&mut self, bytes: usize, lines: u64) {
        debug_assert!(self.start + bytes <= self.whole);
        self.start += bytes;
        self.bytes_taken += bytes as u64;
        self.number += lines;
    }

    #[cold]
    fn refill(&mut self) -> Result<bool> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        self.whole = 0;
        while self.whole == 0 && !self.ended {
            self.read_more()?;
        }
        if self.number == 1 && self.buffer[..self.whole].starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
        }
        Ok(self.start < self.whole)
    }

    fn read_more(&mut self) -> Result<()> {
        if self.end >= LONGEST_LINE {
            let message = format!("expected a line end within {LONGEST_LINE} bytes, found none");
            return Err(Error::syntax(self.number, LONGEST_LINE as u64, message));
        }
        self.buffer.resize((self.end + self.chunk_bytes + PADDING).max(self.buffer.len()), 0);
        let room = self.end + self.chunk_bytes;
        let count = loop {
            match self.input.read(&mut self.buffer[self.end..room]) {
                Ok(count) => break count,
                Err(error) if error.kind() == IoErrorKind::Interrupted => {}
                Err(error) => return Err(self.unreadable(error)),
            }
        };
        let old_end = self.end;
        self.end += count;
        if count > 0 {
            if let Some(last) = memchr::memrchr(b'\n', &self.buffer[old_end..self.end]) {
                self.whole = old_end + last + 1;
            }
            return Ok(());
        }
        self.ended = true;
        if self.end > 0 {
            self.buffer[self.end] = b'\n'; // within the padding
            self.end += 1;
            self.whole = self.end;
        }
        Ok(())
    }

    fn unreadable(&self, error: std::io::Error) -> Error {
        let lines = memchr::memchr_iter(b'\n', &self.buffer[self.start..self.end]).count() as u64;
        let position = Position::Line { line: self.number + lines, column: 1 };
        if is_damage(&error) {
            let message = format!("expected intact compressed data behind this line, found: {error}");
            return Error::new(ErrorKind::Corrupt, position, message);
        }
        Error::from(error).at(position)
    }
}

/// The length of the first line of `text`, which holds a whole line.
#[inline]
pub(super) fn line_length(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}

/// `text` for a message: printable, and not longer than a line of a terminal.
pub(super) fn shown(text: &[u8]) -> String {
    const LONGEST: usize = 60;
    if text.is_empty() {
        return "nothing".into();
    }
    match text.get(..LONGEST) {
        Some(start) => format!("`{}...`", start.escape_ascii()),
        None => format!("`{}`", text.escape_ascii()),
    }
}

/// `text` without blanks at either end, and how many bytes were cut from the front.
#[inline]
pub(super) fn trimmed(text: &[u8]) -> (&[u8], usize) {
    let rest = text.trim_ascii_start();
    (rest.trim_ascii_end(), text.len() - rest.len())
}
