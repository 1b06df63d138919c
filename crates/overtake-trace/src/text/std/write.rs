//! Writes STD text.

use std::io::Write;

use crate::block::EventSink;
use crate::error::Result;
use crate::event::Event;
use crate::symbols::Symbols;
use crate::text::output::Output;
use crate::text::write::CallWriter;

/// Writes STD text. An event without a location is a line of two fields.
///
/// Names that STD cannot express, such as one with a `|`, are refused with
/// [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported).
#[derive(Debug)]
pub struct StdWriter<W> {
    output: Output<W>,
    calls: CallWriter,
}

impl<W: Write> StdWriter<W> {
    /// A writer to `output`, which needs no buffer.
    pub fn new(output: W) -> StdWriter<W> {
        StdWriter { output: Output::new(output), calls: CallWriter::new(b"|\n") }
    }
}

impl<W: Write> EventSink for StdWriter<W> {
    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        let StdWriter { output, calls } = self;
        output.lines(events, |event, line| {
            calls.thread(event.thread(), symbols, line)?;
            line.push(b'|');
            calls.call(event, symbols, line)?;
            if event.location().is_known() {
                line.push(b'|');
                calls.location(event.location(), symbols, line)?;
            }
            Ok(())
        })
    }

    fn finish(&mut self, _symbols: &Symbols) -> Result<()> {
        self.output.finish()
    }
}
