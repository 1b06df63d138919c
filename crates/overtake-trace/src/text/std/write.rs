//! Writes STD text.

use std::io::Write;

use crate::block::EventSink;
use crate::error::Result;
use crate::event::Event;
use crate::id::ThreadId;
use crate::symbols::Symbols;
use crate::text::lines::{BYTE_ORDER_MARK, shown};
use crate::text::output::Output;
use crate::text::write::{CallWriter, Refusal};

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
        if output.is_empty() && events.first().is_some_and(|event| starts_with_mark(event, symbols)) {
            output.raw(BYTE_ORDER_MARK); // the reader takes one off
        }
        output.lines(events, |event, line| {
            thread(calls, event.thread(), symbols, line)?;
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

/// The thread at the start of a line. A name that could be mistaken for a comment is refused.
fn thread(
    calls: &mut CallWriter,
    thread: ThreadId,
    symbols: &Symbols,
    line: &mut Vec<u8>,
) -> std::result::Result<(), Refusal> {
    let name = symbols.threads.name(thread);
    if name.starts_with(b"#") {
        return Err(format!("expected a thread name that does not start a comment, found {}", shown(name)));
    }
    calls.thread(thread, symbols, line)
}

fn starts_with_mark(event: &Event, symbols: &Symbols) -> bool {
    symbols.threads.name(event.thread()).starts_with(BYTE_ORDER_MARK)
}
