//! The reader that all line formats share: chunks in, blocks of events out.

use std::io::Read;

use crate::block::{BLOCK_EVENTS, Block, EventSource, Progress};
use crate::error::{Position, Result};
use crate::event::Event;
use crate::id::EventIndex;
use crate::input::InputProgress;
use crate::symbols::Symbols;

use super::line_map::LineMap;
use super::lines::Lines;
use super::place::Place;

/// Turns lines of a format into events.
pub trait LineFormat: Default {
    /// Appends the events of the first line of `text` to `out` and returns the line's length with its line end.
    ///
    /// `text` begins with a whole line and goes on for at least [`PADDING`](super::lines::PADDING) bytes behind it.
    #[doc(hidden)]
    fn take_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize>;

    #[doc(hidden)]
    fn symbols(&self) -> &Symbols;

    #[doc(hidden)]
    fn symbols_mut(&mut self) -> &mut Symbols;

    #[doc(hidden)]
    fn ignored(&self) -> Vec<(String, u64)>;
}

/// Reads a text format whose lines `F` understands. Memory is bounded by the longest line, one block and the names.
#[derive(Debug)]
pub struct TextReader<R, F> {
    lines: Lines<R>,
    format: F,
    line_map: LineMap,
    /// First index of the block handed out last, and of the one after it.
    first: u64,
    next: u64,
    /// Events of a line that did not fit into the block, and that line.
    spill: Vec<Event>,
    spill_line: u64,
    /// Nothing is read after an error: the lines after one that was not understood may mean anything.
    failed: bool,
    progress: Option<InputProgress>,
}

impl<R: Read, F: LineFormat> TextReader<R, F> {
    /// A reader of the text that `input` yields. It reads in big pieces; `input` needs no buffer.
    pub fn new(input: R) -> Self {
        TextReader {
            lines: Lines::new(input),
            format: F::default(),
            line_map: LineMap::default(),
            first: 0,
            next: 0,
            spill: Vec::new(),
            spill_line: 0,
            failed: false,
            progress: None,
        }
    }

    /// Reads `bytes` at a time, so that tests put chunk borders everywhere.
    pub fn with_chunk_bytes(mut self, bytes: usize) -> Self {
        self.lines.set_chunk_bytes(bytes);
        self
    }

    /// Reports `progress`, which counts compressed bytes, instead of the bytes of text.
    pub(crate) fn with_progress(mut self, progress: InputProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn fill(&mut self, events: &mut Vec<Event>) -> Result<()> {
        while events.len() < BLOCK_EVENTS && self.lines.fill()? {
            let (text, whole) = self.lines.available();
            let first_number = self.lines.number();
            let (mut at, mut number) = (0, first_number);
            while at < whole && events.len() < BLOCK_EVENTS {
                let before = events.len();
                at += self
                    .format
                    .take_line(&text[at..], number, events)
                    .map_err(|error| Place { line: number, column: 1 }.locate(error))?;
                if events.len() == before + 1 {
                    self.line_map.note(before, number);
                } else {
                    self.line_map.note_all(before, events.len(), number);
                }
                number += 1;
            }
            self.lines.advance(at, number - first_number);
        }
        if events.len() > BLOCK_EVENTS {
            self.spill.extend(events.drain(BLOCK_EVENTS..));
            self.spill_line = self.lines.number() - 1;
        }
        Ok(())
    }
}

impl<R: Read, F: LineFormat> EventSource for TextReader<R, F> {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        block.events.clear();
        block.first = EventIndex(self.next);
        self.first = self.next;
        self.line_map.clear();
        if self.failed {
            return Ok(false);
        }
        block.events.append(&mut self.spill);
        self.line_map.note_all(0, block.events.len(), self.spill_line);
        if let Err(error) = self.fill(&mut block.events) {
            self.failed = true;
            block.events.clear();
            return Err(error);
        }
        self.next += block.events.len() as u64;
        Ok(!block.events.is_empty())
    }

    fn symbols(&self) -> &Symbols {
        self.format.symbols()
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        self.format.symbols_mut()
    }

    fn progress(&self) -> Progress {
        match &self.progress {
            Some(progress) => progress.get(),
            None => Progress { bytes_read: self.lines.bytes_taken(), bytes_total: None },
        }
    }

    fn position_of(&self, index: EventIndex) -> Position {
        let line = index.0.checked_sub(self.first).and_then(|at| self.line_map.line_of(at));
        match line {
            Some(line) if index.0 < self.next => Position::Line { line, column: 1 },
            _ => Position::Event(index),
        }
    }

    fn ignored(&self) -> Vec<(String, u64)> {
        self.format.ignored()
    }
}
