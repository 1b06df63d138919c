//! Writes CSV with one column per thread.

use std::io::Write;

use crate::block::EventSink;
use crate::error::Result;
use crate::event::Event;
use crate::id::{IdVec, ThreadId};
use crate::symbols::{Symbols, canonical_number};
use crate::text::lines::shown;
use crate::text::output::Output;
use crate::text::write::{CallWriter, Refusal};

/// A row has a comma for every column before its own, so that more columns would make the file mostly commas.
const MOST_COLUMNS: u64 = 1 << 16;

/// Writes CSV: the event of thread `T<n>` in column `n`, counted from 0.
///
/// Locations are not written, because CSV has none; [`locations_dropped`](Self::locations_dropped) counts them. Threads with
/// other names, and names with a line end, are refused with [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
#[derive(Debug)]
pub struct CsvWriter<W> {
    output: Output<W>,
    calls: CallWriter,
    columns: IdVec<ThreadId, Option<usize>>,
    cell: Vec<u8>,
    locations_dropped: u64,
}

impl<W: Write> CsvWriter<W> {
    /// A writer to `output`, which needs no buffer.
    pub fn new(output: W) -> CsvWriter<W> {
        CsvWriter {
            output: Output::new(output),
            calls: CallWriter::new(b"\n"),
            columns: IdVec::new(),
            cell: Vec::new(),
            locations_dropped: 0,
        }
    }

    /// How many events had a location, which CSV cannot hold.
    pub fn locations_dropped(&self) -> u64 {
        self.locations_dropped
    }
}

impl<W: Write> EventSink for CsvWriter<W> {
    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        let CsvWriter { output, calls, columns, cell, locations_dropped } = self;
        output.lines(events, |event, line| {
            let column = column_of(columns, event.thread(), symbols)?;
            cell.clear();
            calls.call(event, symbols, cell)?;
            line.extend(std::iter::repeat_n(b',', column));
            quote(cell, line);
            *locations_dropped += u64::from(event.location().is_known());
            Ok(())
        })
    }

    fn finish(&mut self, _symbols: &Symbols) -> Result<()> {
        self.output.finish()
    }
}

/// The column of `thread`, from its name.
fn column_of(
    columns: &mut IdVec<ThreadId, Option<usize>>,
    thread: ThreadId,
    symbols: &Symbols,
) -> std::result::Result<usize, Refusal> {
    let known = columns.entry(thread);
    if let Some(column) = *known {
        return Ok(column);
    }
    let name = symbols.threads.name(thread);
    let number = name.strip_prefix(b"T").and_then(canonical_number);
    let Some(column) = number.filter(|&column| column < MOST_COLUMNS) else {
        return Err(format!("expected a thread T0 to T{}, found {}", MOST_COLUMNS - 1, shown(name)));
    };
    *known = Some(column as usize);
    Ok(column as usize)
}

/// Appends `cell`, in quotes if it contains a comma or a quote.
fn quote(cell: &[u8], line: &mut Vec<u8>) {
    if memchr::memchr2(b',', b'"', cell).is_none() {
        line.extend_from_slice(cell);
        return;
    }
    line.push(b'"');
    for &byte in cell {
        if byte == b'"' {
            line.push(b'"');
        }
        line.push(byte);
    }
    line.push(b'"');
}
