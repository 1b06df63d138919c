//! A trace on its way from one thread to another, while it is made.
//!
//! Events go as they are, in the blocks that a file would have; new names go ahead of them as a file has them. So whoever reads gets what it
//! would get from the file: the same events, and with each block the same tables. It holds a bounded number of blocks.
//!
//! **Ends.** The reader learns of the end by [`RelaySink::close`] alone, which may come later than the last event: after a file that gets its
//! name, for example. A writer that goes without it has failed, and reading fails. A reader that goes is no error for the writer.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use crate::block::{Block, EventSink, EventSource};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::Event;
use crate::id::{EventIndex, VarId};
use crate::symbols::Symbols;

use super::cutter::Cutter;
use super::names::{NameLoader, NameWriter};

/// A relay that holds at most `blocks` blocks.
pub fn relay(blocks: usize) -> (RelaySink, RelaySource) {
    let (to_reader, from_writer) = sync_channel(blocks);
    let sink = RelaySink { names: NameWriter::uncompressed(), cutter: Cutter::default(), to_reader };
    let source = RelaySource {
        from_writer,
        ahead: VecDeque::new(),
        names: NameLoader::default(),
        symbols: Symbols::default(),
        next_event: 0,
        ended_variables: Vec::new(),
        ended: false,
    };
    (sink, source)
}

/// What goes through a relay.
enum Message {
    /// Names that are new, and the events that may use them.
    Block { names: Vec<Names>, events: Vec<Event> },
    /// No further event names these variables.
    Ended(Vec<Range<VarId>>),
    /// The trace will have so many events at least.
    AtLeast(u64),
    /// The trace is complete.
    End,
}

/// A chunk of names, as a file has it.
struct Names {
    payload: Vec<u8>,
    count: usize,
}

/// Where a trace is written that another thread reads.
pub struct RelaySink {
    names: NameWriter,
    cutter: Cutter,
    to_reader: SyncSender<Message>,
}

impl RelaySink {
    /// Says, before the first event, that there will be so many at least: who asks how long the trace is need not wait for them.
    pub fn promise(&self, events: u64) {
        self.send(Message::AtLeast(events));
    }

    /// Says that the trace is complete.
    pub fn close(self) {
        self.send(Message::End);
    }

    fn send(&self, message: Message) {
        // Whoever reads may have seen enough.
        let _ = self.to_reader.send(message);
    }
}

impl EventSink for RelaySink {
    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        // What waits to become a block may name them.
        if self.cutter.is_empty() && !ended.is_empty() {
            self.send(Message::Ended(ended.to_vec()));
        }
    }

    fn write(&mut self, events: &[Event], symbols: &Symbols) -> Result<()> {
        let mut cutter = std::mem::take(&mut self.cutter);
        let cut = cutter.cut(events, &mut |block| {
            let mut new = Vec::new();
            self.names.write_new(symbols, block, &mut collected(&mut new))?;
            self.send(Message::Block { names: new, events: block.to_vec() });
            Ok(())
        });
        self.cutter = cutter;
        cut
    }

    fn finish(&mut self, symbols: &Symbols) -> Result<()> {
        let mut last = Vec::new();
        self.cutter.rest(&mut |block| {
            last.extend_from_slice(block);
            Ok(())
        })?;
        let mut new = Vec::new();
        self.names.write_new(symbols, &last, &mut collected(&mut new))?;
        self.send(Message::Block { names: new, events: last });
        let mut rest = Vec::new();
        self.names.write_rest(symbols, &mut collected(&mut rest))?;
        self.send(Message::Block { names: rest, events: Vec::new() });
        Ok(())
    }
}

fn collected(names: &mut Vec<Names>) -> impl FnMut(&[u8], usize) -> Result<()> {
    |payload, count| {
        names.push(Names { payload: payload.to_vec(), count });
        Ok(())
    }
}

/// A trace that another thread writes.
pub struct RelaySource {
    from_writer: Receiver<Message>,
    /// Received, but not looked at.
    ahead: VecDeque<Message>,
    names: NameLoader,
    symbols: Symbols,
    next_event: u64,
    /// What the next block and those behind it do not name.
    ended_variables: Vec<Range<VarId>>,
    ended: bool,
}

impl RelaySource {
    /// Whether the trace has more than so many events. Waits until that is known; blocks that come meanwhile are kept, however many the relay
    /// holds, unless enough were promised. Nothing must have been read before.
    pub fn is_longer_than(&mut self, events: u64) -> Result<bool> {
        let mut found = 0;
        while found <= events {
            let message = self.receive()?;
            if matches!(message, Message::AtLeast(least) if least > events) {
                return Ok(true);
            }
            let is_end = matches!(message, Message::End);
            if let Message::Block { events, .. } = &message {
                found += events.len() as u64;
            }
            self.ahead.push_back(message);
            if is_end {
                break;
            }
        }
        Ok(found > events)
    }

    fn receive(&self) -> Result<Message> {
        self.from_writer.recv().map_err(|_| {
            let message = "expected more of a trace that is being written, found that its writer is gone";
            Error::new(ErrorKind::Io, Position::Event(EventIndex(self.next_event)), message)
        })
    }
}

impl EventSource for RelaySource {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        block.events.clear();
        block.first = EventIndex(self.next_event);
        while !self.ended && block.events.is_empty() {
            let message = match self.ahead.pop_front() {
                Some(message) => message,
                None => self.receive()?,
            };
            match message {
                Message::Block { names, events } => {
                    for Names { payload, count } in names {
                        self.names.load(&payload, count, &mut self.symbols)?;
                    }
                    block.events = events;
                }
                Message::Ended(variables) => self.ended_variables.extend(variables),
                Message::AtLeast(_) => {}
                Message::End => self.ended = true,
            }
        }
        self.names.translate_events(&mut block.events);
        self.next_event += block.events.len() as u64;
        Ok(!block.events.is_empty())
    }

    fn take_ended(&mut self, ended: &mut Vec<Range<VarId>>) {
        let variables = self.ended_variables.drain(..);
        // If somebody else added names, the numbers of the writer are others: then nothing ends.
        if self.names.keeps_numbers_of_variables() {
            ended.extend(variables);
        }
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.symbols
    }
}
