//! A buffered output that numbers events for error messages.

use std::io::Write;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::Event;
use crate::id::EventIndex;

use super::write::Refusal;

/// Bytes that are collected before they are written.
const FLUSH_BYTES: usize = 256 * 1024;

/// Where a text writer writes to.
#[derive(Debug)]
pub(super) struct Output<W> {
    output: W,
    buffer: Vec<u8>,
    events: u64,
}

impl<W: Write> Output<W> {
    pub(super) fn new(output: W) -> Output<W> {
        Output { output, buffer: Vec::new(), events: 0 }
    }

    /// Whether nothing was written yet.
    pub(super) fn is_empty(&self) -> bool {
        self.events == 0
    }

    /// Writes bytes that are not a line.
    pub(super) fn raw(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Writes `events`, each as the line that `line` appends. A refused line is not written at all.
    pub(super) fn lines(
        &mut self,
        events: &[Event],
        mut line: impl FnMut(&Event, &mut Vec<u8>) -> std::result::Result<(), Refusal>,
    ) -> Result<()> {
        for event in events {
            let start = self.buffer.len();
            if let Err(refusal) = line(event, &mut self.buffer) {
                self.buffer.truncate(start);
                let position = Position::Event(EventIndex(self.events));
                return Err(Error::new(ErrorKind::Unsupported, position, refusal));
            }
            self.buffer.push(b'\n');
            self.events += 1;
            if self.buffer.len() >= FLUSH_BYTES {
                self.flush()?;
            }
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> Result<()> {
        self.flush()?;
        Ok(self.output.flush()?)
    }

    fn flush(&mut self) -> Result<()> {
        self.output.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }
}
