//! RapidBin, the binary traces of RAPID: a header of 18 bytes, then eight bytes for each event, all big-endian.
//!
//! | bytes of the header | what |
//! |---|---|
//! | 0 to 1 | number of threads |
//! | 2 to 5 | number of locks |
//! | 6 to 9 | number of variables |
//! | 10 to 17 | number of events |
//!
//! | bits of an event, from the low end | what |
//! |---|---|
//! | 0 to 9 | thread |
//! | 10 to 13 | operation, see [`Operation::CODES`] |
//! | 14 to 47 | operand: a variable, a lock or a thread |
//! | 48 to 62 | location |
//! | 63 | always 0 |
//!
//! The file holds numbers and no names: thread 3 is called `T3`, lock 3 `L3`, variable 3 `V3`, location 3 `3`. The
//! header's number of events is checked against what follows; its other numbers only help to recognise the format.

#[cfg(test)]
mod tests;

use std::io::{self, Read};

use rustc_hash::FxHashMap;

use crate::block::{BLOCK_EVENTS, Block, EventSource, Progress};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Action, Event};
use crate::id::{EventIndex, LocationId, LockId, ThreadId, VarId};
use crate::input::{InputProgress, is_damage};
use crate::symbols::Symbols;

/// Length of the header.
const HEADER_BYTES: usize = 18;

/// Length of an event.
const EVENT_BYTES: usize = 8;

/// Threads that ten bits can number.
const MOST_THREADS: i16 = 1 << 10;

/// What an event does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Operation {
    Acquire,
    Release,
    Read,
    Write,
    Fork,
    Join,
    Begin,
    End,
    Request,
}

impl Operation {
    /// The operation of each code.
    const CODES: [Operation; 9] = [
        Operation::Acquire,
        Operation::Release,
        Operation::Read,
        Operation::Write,
        Operation::Fork,
        Operation::Join,
        Operation::Begin,
        Operation::End,
        Operation::Request,
    ];
}

/// An event as it is stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Word {
    thread: u64,
    operation: Operation,
    operand: u64,
    location: u64,
}

impl Word {
    /// What `bits` say, or what is wrong with them.
    fn parse(bits: u64) -> std::result::Result<Word, String> {
        let field = |first: u32, length: u32| (bits >> first) & ((1 << length) - 1);
        if bits >> 63 != 0 {
            return Err("expected an event whose highest bit is 0, found 1".to_owned());
        }
        let code = field(10, 4);
        let Some(&operation) = Operation::CODES.get(code as usize) else {
            return Err(format!(
                "expected an operation from 0 to {}, found {code}",
                Operation::CODES.len() - 1
            ));
        };
        Ok(Word { thread: field(0, 10), operation, operand: field(14, 34), location: field(48, 15) })
    }
}

/// The number of events that the header announces, or what is wrong with the header.
fn announced_events(header: &[u8; HEADER_BYTES]) -> std::result::Result<u64, String> {
    let number = |from: usize, to: usize| {
        let sign = if header[from] & 0x80 != 0 { -1_i64 } else { 0 };
        header[from..to].iter().fold(sign, |number, &byte| number << 8 | i64::from(byte))
    };
    let (threads, locks, variables, events) = (number(0, 2), number(2, 6), number(6, 10), number(10, 18));
    if !(0..=i64::from(MOST_THREADS)).contains(&threads) {
        return Err(format!("expected 0 to {MOST_THREADS} threads, found {threads}"));
    }
    for (count, what) in [(locks, "locks"), (variables, "variables"), (events, "events")] {
        if count < 0 {
            return Err(format!("expected a number of {what} that is not negative, found {count}"));
        }
    }
    Ok(events.unsigned_abs())
}

/// Whether a file that begins with `start` is in this format: its header and its events are valid.
///
/// Text is never taken for it: the first byte of the format is a control character.
pub(crate) fn is_likely(start: &[u8]) -> bool {
    let Some((header, events)) = start.split_first_chunk::<HEADER_BYTES>() else { return false };
    let Ok(announced) = announced_events(header) else { return false };
    let (words, _) = events.as_chunks::<EVENT_BYTES>();
    (announced > 0) != events.is_empty()
        && words.len() as u64 <= announced
        && words.iter().all(|&word| Word::parse(u64::from_be_bytes(word)).is_ok())
}

/// Reads RapidBin. Memory is bounded by one block and the names.
#[derive(Debug)]
pub struct RapidBinReader<R> {
    input: R,
    /// The number of events that the header announced, once it was read.
    announced: Option<u64>,
    names: Names,
    /// The first event of the block handed out last.
    first: u64,
    /// Events read so far.
    next: u64,
    bytes: Vec<u8>,
    /// Nothing is read after an error.
    failed: bool,
    progress: Option<InputProgress>,
}

impl<R: Read> RapidBinReader<R> {
    /// A reader of the bytes that `input` yields. It reads in big pieces; `input` needs no buffer.
    pub fn new(input: R) -> Self {
        RapidBinReader {
            input,
            announced: None,
            names: Names::default(),
            first: 0,
            next: 0,
            bytes: Vec::new(),
            failed: false,
            progress: None,
        }
    }

    /// Reports `progress`, which counts compressed bytes, instead of the bytes of the trace.
    pub(crate) fn with_progress(mut self, progress: InputProgress) -> Self {
        self.progress = Some(progress);
        self
    }

    fn fill(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let announced = match self.announced {
            Some(announced) => announced,
            None => self.header()?,
        };
        let wanted = (announced - self.next).min(BLOCK_EVENTS as u64) as usize;
        // One byte more than announced shows whether the file ends where it should.
        let last = wanted as u64 == announced - self.next;
        self.read(wanted * EVENT_BYTES + usize::from(last))?;
        let (words, rest) = self.bytes.as_chunks::<EVENT_BYTES>();
        for (at, &word) in words.iter().take(wanted).enumerate() {
            let index = self.next + at as u64;
            let event = Word::parse(u64::from_be_bytes(word))
                .map_err(|message| Error::new(ErrorKind::Syntax, position(index), message))
                .and_then(|word| self.names.event(word).map_err(|error| error.at(position(index))))?;
            events.push(event);
        }
        self.next += events.len() as u64;
        if events.len() < wanted {
            let found = format!("{} events and {} bytes", self.next, rest.len());
            let message = format!("expected {announced} events, as the header says, found {found}");
            return Err(Error::new(ErrorKind::Corrupt, position(self.next), message));
        }
        if last && !rest.is_empty() {
            let message =
                format!("expected the end after {announced} events, as the header says, found more");
            return Err(Error::new(ErrorKind::Corrupt, position(self.next), message));
        }
        Ok(())
    }

    fn header(&mut self) -> Result<u64> {
        self.read(HEADER_BYTES)?;
        let Some(header) = self.bytes.first_chunk::<HEADER_BYTES>() else {
            let message = format!("expected a header of {HEADER_BYTES} bytes, found {}", self.bytes.len());
            return Err(Error::new(ErrorKind::Syntax, Position::Offset(0), message));
        };
        let announced = announced_events(header)
            .map_err(|message| Error::new(ErrorKind::Syntax, Position::Offset(0), message))?;
        self.announced = Some(announced);
        Ok(announced)
    }

    /// Replaces `bytes` by the next `count` bytes, or fewer at the end of the input.
    fn read(&mut self, count: usize) -> Result<()> {
        self.bytes.clear();
        let read = self.input.by_ref().take(count as u64).read_to_end(&mut self.bytes);
        read.map(drop).map_err(|error| self.unreadable(error))
    }

    #[cold]
    fn unreadable(&self, error: io::Error) -> Error {
        if is_damage(&error) {
            let message = format!("expected intact compressed data, found: {error}");
            return Error::new(ErrorKind::Corrupt, position(self.next), message);
        }
        Error::from(error).at(position(self.next))
    }
}

/// Where the event at `index` lies.
fn position(index: u64) -> Position {
    Position::Offset((EVENT_BYTES as u64).saturating_mul(index).saturating_add(HEADER_BYTES as u64))
}

impl<R: Read> EventSource for RapidBinReader<R> {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        block.events.clear();
        block.first = EventIndex(self.next);
        self.first = self.next;
        if self.failed || self.announced == Some(self.next) {
            return Ok(false);
        }
        if let Err(error) = self.fill(&mut block.events) {
            self.failed = true;
            block.events.clear();
            return Err(error);
        }
        Ok(!block.events.is_empty())
    }

    fn symbols(&self) -> &Symbols {
        &self.names.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.names.symbols
    }

    fn progress(&self) -> Progress {
        match &self.progress {
            Some(progress) => progress.get(),
            None => {
                let bytes_read = HEADER_BYTES as u64 + self.next * EVENT_BYTES as u64;
                Progress { bytes_read, bytes_total: None }
            }
        }
    }

    fn position_of(&self, index: EventIndex) -> Position {
        if (self.first..self.next).contains(&index.0) { position(index.0) } else { Position::Event(index) }
    }
}

/// The names made up so far, and the ids of the file's numbers.
#[derive(Default, Debug)]
struct Names {
    symbols: Symbols,
    threads: FxHashMap<u64, ThreadId>,
    locks: FxHashMap<u64, LockId>,
    variables: FxHashMap<u64, VarId>,
    locations: FxHashMap<u64, LocationId>,
}

impl Names {
    fn event(&mut self, word: Word) -> Result<Event> {
        let Word { thread, operation, operand, location } = word;
        let thread = self.thread(thread)?;
        let action = match operation {
            Operation::Acquire => Action::Acquire(self.lock(operand)?),
            Operation::Release => Action::Release(self.lock(operand)?),
            Operation::Request => Action::Request(self.lock(operand)?),
            Operation::Read => Action::Read(self.variable(operand)?),
            Operation::Write => Action::Write(self.variable(operand)?),
            Operation::Fork => Action::Fork(self.thread(operand)?),
            Operation::Join => Action::Join(self.thread(operand)?),
            Operation::Begin => Action::Begin(self.symbols.markers.intern(b"begin")?),
            Operation::End => Action::End(self.symbols.markers.intern(b"end")?),
        };
        let location = self.location(location)?;
        Ok(Event::new(thread, action, location))
    }

    fn thread(&mut self, number: u64) -> Result<ThreadId> {
        known(&mut self.threads, number, || self.symbols.threads.intern(format!("T{number}").as_bytes()))
    }

    fn lock(&mut self, number: u64) -> Result<LockId> {
        known(&mut self.locks, number, || self.symbols.locks.intern(format!("L{number}").as_bytes()))
    }

    fn variable(&mut self, number: u64) -> Result<VarId> {
        known(&mut self.variables, number, || self.symbols.variables.intern(format!("V{number}").as_bytes()))
    }

    fn location(&mut self, number: u64) -> Result<LocationId> {
        known(&mut self.locations, number, || self.symbols.locations.intern(number.to_string().as_bytes()))
    }
}

/// The id of `number`, made by `intern` at its first occurrence.
fn known<I: Copy>(ids: &mut FxHashMap<u64, I>, number: u64, intern: impl FnOnce() -> Result<I>) -> Result<I> {
    if let Some(&id) = ids.get(&number) {
        return Ok(id);
    }
    let id = intern()?;
    ids.insert(number, id);
    Ok(id)
}
