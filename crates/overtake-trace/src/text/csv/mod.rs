//! CSV: one event a line, one column per thread, the event in the column of its thread: `,,r(x)` is thread `T2`.
//!
//! Cells are written as in STD. A cell may be quoted, and must be if it contains a comma. The first row may name the threads
//! of the columns. There are no locations.

#[cfg(test)]
mod tests;
mod write;

use crate::error::Result;
use crate::event::Event;
use crate::id::ThreadId;
use crate::symbols::Symbols;
use crate::text::build::Builder;
use crate::text::lines::{line_length, shown};
use crate::text::place::Place;
use crate::text::reader::{LineFormat, TextReader};
use crate::text::spelling::{Verb, verb_of};

pub use write::CsvWriter;

/// Reads CSV with one column per thread.
pub type CsvReader<R> = TextReader<R, CsvLines>;

/// What rows of CSV mean.
#[derive(Default, Debug)]
pub struct CsvLines {
    builder: Builder,
    columns: Vec<Column>,
    any_row: bool,
    /// The current cell, without its quotes.
    cell: Vec<u8>,
}

#[derive(Clone, Default, Debug)]
struct Column {
    /// The thread, once it has done something or was named in a fork.
    thread: Option<ThreadId>,
    /// The name in the first row, if it has one.
    name: Option<Vec<u8>>,
}

/// A cell that is not empty.
#[derive(Clone, Copy, Debug)]
struct Cell<'a> {
    column: usize,
    /// Where the cell starts in the row.
    at: usize,
    /// The text in the row, without blanks around it, with its quotes.
    raw: &'a [u8],
}

impl LineFormat for CsvLines {
    fn take_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize> {
        let length = line_length(text);
        self.row(text[..length].trim_ascii_end(), number, out)?;
        Ok(length + 1)
    }

    fn symbols(&self) -> &Symbols {
        &self.builder.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.builder.symbols
    }

    fn ignored(&self) -> Vec<(String, u64)> {
        Vec::new()
    }
}

impl CsvLines {
    fn row(&mut self, row: &[u8], number: u64, out: &mut Vec<Event>) -> Result<()> {
        if row.starts_with(b"#") {
            return Ok(());
        }
        let mut cells = cells(row);
        let Some(cell) = cells.next() else { return Ok(()) };
        let place = Place { line: number, column: cell.at as u64 + 1 };
        let mut text = std::mem::take(&mut self.cell);
        unquote(cell.raw, place, &mut text)?;
        let first_row = !std::mem::replace(&mut self.any_row, true);
        if first_row && !is_operation(&text) {
            return self.header(row, number);
        }
        if let Some(second) = cells.next() {
            let message =
                format!("expected one filled cell in the row, found a second: {}", shown(second.raw));
            return Err(Place { line: number, column: 1 }.error(second.at, message));
        }
        let thread = self.thread(cell.column)?;
        let done = self.builder.operation(thread, text.trim_ascii(), &[], place, out);
        self.cell = text;
        done
    }

    /// A first row that holds names instead of an operation.
    fn header(&mut self, row: &[u8], number: u64) -> Result<()> {
        for cell in cells(row) {
            let place = Place { line: number, column: cell.at as u64 + 1 };
            let mut name = Vec::new();
            unquote(cell.raw, place, &mut name)?;
            if is_operation(&name) {
                let message =
                    format!("expected a thread's name, as in the cells before, found {}", shown(&name));
                return Err(place.error(0, message));
            }
            self.column(cell.column).name = Some(name);
        }
        Ok(())
    }

    fn column(&mut self, column: usize) -> &mut Column {
        if column >= self.columns.len() {
            self.columns.resize_with(column + 1, Column::default);
        }
        &mut self.columns[column]
    }

    fn thread(&mut self, column: usize) -> Result<ThreadId> {
        let known = self.column(column);
        if let Some(thread) = known.thread {
            return Ok(thread);
        }
        let name = known.name.clone().unwrap_or_else(|| format!("T{column}").into_bytes());
        let thread = self.builder.symbols.threads.intern(&name)?;
        self.columns[column].thread = Some(thread);
        Ok(thread)
    }
}

/// Whether a cell is an operation and not a name: it has a parenthesis, or it is a `begin` or `end`.
fn is_operation(text: &[u8]) -> bool {
    text.contains(&b'(') || matches!(verb_of(text.trim_ascii()), Ok(Verb::Marker(_)))
}

/// The text of the first cell that is not empty.
pub(super) fn first_cell(row: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let cell = cells(row).next()?;
    unquote(cell.raw, Place { line: 1, column: 1 }, &mut text).ok()?;
    Some(text)
}

/// The cells of a row that are not empty.
fn cells(row: &[u8]) -> impl Iterator<Item = Cell<'_>> {
    let mut next = 0;
    let mut column = 0;
    std::iter::from_fn(move || {
        while next <= row.len() {
            let start = next;
            let end = start + cell_length(&row[start..]);
            next = end + 1;
            column += 1;
            let cell = &row[start..end];
            let raw = cell.trim_ascii_start();
            if !raw.is_empty() {
                let at = start + cell.len() - raw.len();
                return Some(Cell { column: column - 1, at, raw: raw.trim_ascii_end() });
            }
        }
        None
    })
}

/// The length up to the next comma outside quotes. Quotes count only at the start of a cell.
fn cell_length(rest: &[u8]) -> usize {
    let blanks = rest.len() - rest.trim_ascii_start().len();
    let mut at = blanks;
    if rest.get(at) == Some(&b'"') {
        at += 1;
        // A doubled quote counts as an end and a new start, which gives the same length.
        while let Some(quote) = memchr::memchr(b'"', &rest[at..]) {
            at += quote + 1;
            if rest.get(at) != Some(&b'"') {
                break;
            }
            at += 1;
        }
    }
    at + memchr::memchr(b',', &rest[at..]).unwrap_or(rest.len() - at)
}

/// Leaves the cell's text in `text`, without the quotes around it and with one quote for each doubled one.
fn unquote(raw: &[u8], place: Place, text: &mut Vec<u8>) -> Result<()> {
    text.clear();
    let Some(inner) = raw.strip_prefix(b"\"") else {
        text.extend_from_slice(raw);
        return Ok(());
    };
    let mut rest = inner;
    loop {
        let Some(quote) = memchr::memchr(b'"', rest) else {
            return Err(place.error(raw.len(), "expected a closing `\"`, found the end of the row"));
        };
        text.extend_from_slice(&rest[..quote]);
        rest = &rest[quote + 1..];
        match rest.split_first() {
            None => return Ok(()),
            Some((b'"', after)) => {
                text.push(b'"');
                rest = after;
            }
            Some(_) => {
                let message = format!("expected `,` after the closing `\"`, found {}", shown(rest));
                return Err(place.error(raw.len() - rest.len(), message));
            }
        }
    }
}
