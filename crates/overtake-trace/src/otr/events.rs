//! The payload of a block: columns of operations, threads, locations, and operands by the table they point into.
//!
//! Decoding unpacks whole columns into scratch arrays and then makes one pass over the operations that puts the
//! 16-byte events together, with one cursor for each table and no branch on the operation.

use std::cell::Cell;

use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Event, MemoryOrder, Op, OperandKind};
use crate::id::{LocationId, ThreadId};
use crate::symbols::Sizes;

use super::column::{ColumnDecoder, ColumnEncoder, all_below};
use super::layout::{MAX_BLOCK_EVENTS, corrupt};
use super::names::Tables;
use super::wire::Cursor;

/// Columns, by their number in the file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Column {
    Codes,
    Threads,
    Locations,
    Operands(OperandKind),
}

/// A reader may skip columns with this number or a higher one.
const FIRST_OPTIONAL_COLUMN: u8 = 128;

impl Column {
    const ALL: [Column; 8] = [
        Column::Codes,
        Column::Threads,
        Column::Locations,
        Column::Operands(OperandKind::Variable),
        Column::Operands(OperandKind::Lock),
        Column::Operands(OperandKind::Thread),
        Column::Operands(OperandKind::Sync),
        Column::Operands(OperandKind::Marker),
    ];

    fn describe(self) -> &'static str {
        match self {
            Column::Codes => "operation",
            Column::Threads | Column::Operands(OperandKind::Thread) => "thread",
            Column::Locations => "location",
            Column::Operands(OperandKind::Variable) => "variable",
            Column::Operands(OperandKind::Lock) => "lock",
            Column::Operands(OperandKind::Sync) => "object",
            Column::Operands(OperandKind::Marker) => "marker",
            Column::Operands(OperandKind::None) => "operand",
        }
    }
}

/// Operand kinds as positions in an array.
const KINDS: usize = 6;

/// Operation and memory order in one byte: the order in the upper three bits.
fn code_of(event: &Event) -> u8 {
    let order = if event.op().admits(event.order()) { event.order() } else { MemoryOrder::Relaxed };
    event.op() as u8 | (order as u8) << 5
}

/// What a code stands for, and where the cursor of its operand lies in [`Cursors`].
#[derive(Clone, Copy)]
struct Meaning {
    /// What is added to each word to advance the cursor; zero for operations without operand.
    steps: [u64; 2],
    shift: u8,
    in_second: bool,
    op: Op,
    order: MemoryOrder,
    valid: bool,
}

impl Meaning {
    fn of(code: u8) -> Meaning {
        let (op, order, valid) = match (Op::from_code(code & 31), MemoryOrder::from_code(code >> 5)) {
            (Some(op), Some(order)) if op.admits(order) => (op, order, true),
            _ => (Op::Skip, MemoryOrder::Relaxed, false),
        };
        let kind = op.operand_kind();
        let (word, shift) = Cursors::place(kind as usize);
        let mut steps = [0; 2];
        steps[word] = u64::from(kind != OperandKind::None) << shift;
        Meaning { steps, shift: shift as u8, in_second: word == 1, op, order, valid }
    }
}

/// A cursor for each kind of operand, three in a word, so that they stay in registers. In memory, each step would wait for the
/// store of the step before.
#[derive(Clone, Copy)]
struct Cursors {
    words: [u64; 2],
}

/// Bits of a cursor: enough for every operand of the largest block and the zero ahead of them.
const CURSOR_BITS: usize = 21;
const _: () = assert!(MAX_BLOCK_EVENTS + 1 < 1 << CURSOR_BITS);

impl Cursors {
    /// Word and lowest bit of the cursor of a kind.
    fn place(kind: usize) -> (usize, usize) {
        (kind / 3, CURSOR_BITS * (kind % 3))
    }

    fn at(spans: &[Span; KINDS]) -> Cursors {
        let mut words = [0; 2];
        for (kind, span) in spans.iter().enumerate() {
            let (word, shift) = Cursors::place(kind);
            words[word] |= (span.start as u64) << shift;
        }
        Cursors { words }
    }

    fn of_kind(&self, kind: usize) -> usize {
        let (word, shift) = Cursors::place(kind);
        Cursors::cut(self.words[word], shift as u8)
    }

    /// Returns the cursor of the operand and advances it.
    #[inline(always)]
    fn take(&mut self, meaning: &Meaning) -> usize {
        let [first, second] = self.words;
        self.words = [first.wrapping_add(meaning.steps[0]), second.wrapping_add(meaning.steps[1])];
        Cursors::cut(if meaning.in_second { second } else { first }, meaning.shift)
    }

    #[inline(always)]
    fn cut(word: u64, shift: u8) -> usize {
        (word >> (shift & 63)) as usize & ((1 << CURSOR_BITS) - 1)
    }
}

/// Turns events into payloads. Reused from block to block.
pub(super) struct BlockEncoder {
    encoder: ColumnEncoder,
    codes: Vec<u32>,
    threads: Vec<u32>,
    locations: Vec<u32>,
    operands: [Vec<u32>; KINDS],
}

impl BlockEncoder {
    pub(super) fn new() -> Result<BlockEncoder> {
        Ok(BlockEncoder {
            encoder: ColumnEncoder::new()?,
            codes: Vec::new(),
            threads: Vec::new(),
            locations: Vec::new(),
            operands: Default::default(),
        })
    }

    /// Appends the payload of a block with the events that were split last.
    pub(super) fn encode(&mut self, out: &mut Vec<u8>) -> Result<()> {
        for (number, column) in Column::ALL.into_iter().enumerate() {
            let numbers = match column {
                Column::Codes => &self.codes,
                Column::Threads => &self.threads,
                Column::Locations => &self.locations,
                Column::Operands(kind) => &self.operands[kind as usize],
            };
            if numbers.is_empty() {
                continue;
            }
            let header = out.len();
            out.extend_from_slice(&[number as u8, 0, 0, 0]);
            out.extend_from_slice(&(numbers.len() as u32).to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            let start = out.len();
            out[header + 1] = self.encoder.encode(numbers, out)?;
            let length = (out.len() - start) as u32;
            out[header + 8..start].copy_from_slice(&length.to_le_bytes());
        }
        Ok(())
    }

    /// Takes the events of the next block apart; returns what tables they need.
    pub(super) fn split(&mut self, events: &[Event]) -> NeededSizes {
        self.codes.clear();
        self.threads.clear();
        self.locations.clear();
        self.operands.iter_mut().for_each(Vec::clear);
        self.codes.extend(events.iter().map(|event| u32::from(code_of(event))));
        self.threads.extend(events.iter().map(|event| event.thread().0));
        self.locations.extend(events.iter().map(|event| event.location().0.wrapping_add(1)));
        for event in events {
            self.operands[event.op().operand_kind() as usize].push(event.operand());
        }
        self.operands[OperandKind::None as usize].clear();
        let needed = |numbers: &[u32]| numbers.iter().max().map_or(0, |&largest| largest as usize + 1);
        let operand = |kind: OperandKind| needed(&self.operands[kind as usize]);
        NeededSizes(Sizes {
            threads: needed(&self.threads).max(operand(OperandKind::Thread)),
            locks: operand(OperandKind::Lock),
            variables: operand(OperandKind::Variable),
            objects: operand(OperandKind::Sync),
            markers: operand(OperandKind::Marker),
            locations: needed(&self.locations).saturating_sub(1),
        })
    }
}

/// How long the tables must be for the ids of a block.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct NeededSizes(pub(super) Sizes);

impl NeededSizes {
    /// Whether a table is too short.
    pub(super) fn exceed(&self, sizes: &Sizes) -> bool {
        let NeededSizes(needed) = self;
        needed.threads > sizes.threads
            || needed.locks > sizes.locks
            || needed.variables > sizes.variables
            || needed.objects > sizes.objects
            || needed.markers > sizes.markers
            || needed.locations > sizes.locations
    }
}

/// Turns payloads into events. Reused from block to block.
pub(super) struct BlockDecoder {
    decoder: ColumnDecoder,
    meanings: Box<[Meaning; 256]>,
    codes: Numbers,
    threads: Numbers,
    locations: Numbers,
    /// The operands of all kinds, kind after kind. Before them is a zero, the operand of operations that have none.
    operands: Numbers,
}

/// A column. Numbers of other blocks remain behind its end, so that the memory need not be cleared before it is filled again.
#[derive(Default)]
struct Numbers {
    numbers: Vec<u32>,
    end: usize,
}

impl Numbers {
    fn clear(&mut self) {
        self.end = 0;
    }

    /// The next `count` numbers, with any contents, for the caller to fill.
    fn extend(&mut self, count: usize) -> &mut [u32] {
        let start = self.end;
        self.end += count;
        if self.numbers.len() < self.end {
            self.numbers.resize(self.end, 0);
        }
        &mut self.numbers[start..self.end]
    }

    fn as_slice(&self) -> &[u32] {
        &self.numbers[..self.end]
    }
}

impl Default for BlockDecoder {
    fn default() -> Self {
        BlockDecoder {
            decoder: ColumnDecoder::default(),
            meanings: Box::new(std::array::from_fn(|code| Meaning::of(code as u8))),
            codes: Numbers::default(),
            threads: Numbers::default(),
            locations: Numbers::default(),
            operands: Numbers::default(),
        }
    }
}

impl BlockDecoder {
    /// Replaces the contents of `events` by the `count` events of a payload. Their ids must be in `tables`.
    ///
    /// On an error `events` is empty.
    pub(super) fn decode(
        &mut self,
        payload: &[u8],
        count: usize,
        tables: &impl Tables,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        let decoded = self.try_decode(payload, count, tables, events);
        if decoded.is_err() {
            events.clear();
        }
        decoded
    }

    fn try_decode(
        &mut self,
        payload: &[u8],
        count: usize,
        tables: &impl Tables,
        events: &mut Vec<Event>,
    ) -> Result<()> {
        if count > MAX_BLOCK_EVENTS {
            let message = format!("expected at most {MAX_BLOCK_EVENTS} events in a block, found {count}");
            return Err(corrupt(message));
        }
        let spans = self.decode_columns(payload, count, tables)?;
        if !self.assemble(spans, events) {
            return Err(corrupt("the operands of a block do not match its operations"));
        }
        Ok(())
    }

    /// The sizes of the tables that the ids of a payload need, whether or not the tables are that long.
    pub(super) fn needed_sizes(&mut self, payload: &[u8], count: usize) -> Result<Sizes> {
        let recorder = SizeRecorder::default();
        self.decode_columns(payload, count.min(MAX_BLOCK_EVENTS), &recorder)?;
        Ok(recorder.needed.into_inner())
    }

    /// Unpacks all columns; returns where in `operands` each kind lies.
    fn decode_columns(
        &mut self,
        payload: &[u8],
        count: usize,
        tables: &impl Tables,
    ) -> Result<[Span; KINDS]> {
        self.codes.clear();
        self.threads.clear();
        self.locations.clear();
        self.operands.clear();
        self.operands.extend(1).fill(0);
        let mut spans = [Span { start: 0, end: 0 }; KINDS];
        let mut cursor = Cursor::new(payload);
        while !cursor.is_empty() {
            let header = ColumnHeader::take(&mut cursor)?;
            let bytes = cursor.bytes(header.length)?;
            let Some(column) = header.known_column()? else { continue };
            header.check_count(column, count)?;
            let numbers = match column {
                Column::Codes => &mut self.codes,
                Column::Threads => &mut self.threads,
                Column::Locations => &mut self.locations,
                Column::Operands(_) => &mut self.operands,
            };
            let start = numbers.end;
            if start + header.count > count + 1 {
                return Err(corrupt(format!("more operands than the {count} events of a block")));
            }
            let known = matches!(column, Column::Operands(kind) if spans[kind as usize].end > 0);
            if known || (!matches!(column, Column::Operands(_)) && start > 0) {
                return Err(corrupt(format!("two {} columns in a block", column.describe())));
            }
            let numbers = numbers.extend(header.count);
            self.decoder.decode(header.encoding, bytes, numbers)?;
            check_numbers(column, numbers, tables)?;
            if let Column::Operands(kind) = column {
                spans[kind as usize] = Span { start, end: start + header.count };
            }
        }
        for (numbers, column) in [
            (&self.codes, Column::Codes),
            (&self.threads, Column::Threads),
            (&self.locations, Column::Locations),
        ] {
            if numbers.end != count {
                let found = numbers.end;
                return Err(corrupt(format!("expected {count} {}s, found {found}", column.describe())));
            }
        }
        Ok(spans)
    }

    /// Assembles the events. Returns whether every code is valid and every operand was used once.
    fn assemble(&self, spans: [Span; KINDS], events: &mut Vec<Event>) -> bool {
        let filler = Event::from_parts(ThreadId(0), Op::Skip, MemoryOrder::Relaxed, 0, LocationId::UNKNOWN);
        events.resize(self.codes.end, filler);
        let BlockDecoder { meanings, .. } = self;
        let [codes, threads, locations, operands] =
            [&self.codes, &self.threads, &self.locations, &self.operands].map(Numbers::as_slice);
        let mut cursors = Cursors::at(&spans);
        let mut valid = true;
        let columns = codes.iter().zip(threads).zip(locations);
        for (event, ((&code, &thread), &location)) in events.iter_mut().zip(columns) {
            let meaning = &meanings[code as u8 as usize];
            let Meaning { op, order, .. } = *meaning;
            valid &= meaning.valid;
            let operand = operands.get(cursors.take(meaning)).copied().unwrap_or(0);
            *event = Event::from_parts(ThreadId(thread), op, order, operand, LocationId(location));
        }
        // A cursor that overflowed into its neighbour has not ended where it should have.
        let used = (1..KINDS).all(|kind| spans[kind].end == cursors.of_kind(kind));
        valid && used
    }
}

/// Tables that accept any id and record how long they would have to be.
#[derive(Default)]
struct SizeRecorder {
    needed: Cell<Sizes>,
}

impl SizeRecorder {
    fn record(&self, ids: &[u32], size: impl FnOnce(&mut Sizes) -> &mut usize) {
        let mut needed = self.needed.get();
        let longest = ids.iter().max().map_or(0, |&largest| largest as usize + 1);
        let size = size(&mut needed);
        *size = longest.max(*size);
        self.needed.set(needed);
    }
}

impl Tables for SizeRecorder {
    fn sizes(&self) -> Sizes {
        let any = u32::MAX as usize;
        Sizes { threads: any, locks: any, variables: any, objects: any, markers: any, locations: any }
    }

    fn translate(&self, kind: OperandKind, ids: &mut [u32]) {
        match kind {
            OperandKind::None => {}
            OperandKind::Thread => self.record(ids, |sizes| &mut sizes.threads),
            OperandKind::Lock => self.record(ids, |sizes| &mut sizes.locks),
            OperandKind::Variable => self.record(ids, |sizes| &mut sizes.variables),
            OperandKind::Sync => self.record(ids, |sizes| &mut sizes.objects),
            OperandKind::Marker => self.record(ids, |sizes| &mut sizes.markers),
        }
    }

    fn translate_locations(&self, ids: &mut [u32]) {
        let known: Vec<u32> = ids.iter().copied().filter(|&id| id != LocationId::UNKNOWN.0).collect();
        self.record(&known, |sizes| &mut sizes.locations);
    }
}

/// A range of positions.
#[derive(Clone, Copy)]
struct Span {
    start: usize,
    end: usize,
}

/// What precedes a column.
struct ColumnHeader {
    number: u8,
    encoding: u8,
    count: usize,
    length: usize,
}

impl ColumnHeader {
    fn take(cursor: &mut Cursor<'_>) -> Result<ColumnHeader> {
        let (number, encoding) = (cursor.u8()?, cursor.u8()?);
        if cursor.bytes(2)? != [0, 0] {
            return Err(corrupt("expected two zero bytes in a column header"));
        }
        let (count, length) = (cursor.u32()? as usize, cursor.u32()? as usize);
        Ok(ColumnHeader { number, encoding, count, length })
    }

    /// The column, or none if it may be skipped.
    fn known_column(&self) -> Result<Option<Column>> {
        match Column::ALL.get(self.number as usize) {
            None if self.number < FIRST_OPTIONAL_COLUMN => {
                let message = format!("column {} is not known to this version of the reader", self.number);
                Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message))
            }
            known => Ok(known.copied()),
        }
    }

    /// No column has more numbers than the block has events.
    fn check_count(&self, column: Column, count: usize) -> Result<()> {
        let enough = if matches!(column, Column::Operands(_)) { 1..=count } else { count..=count };
        if enough.contains(&self.count) {
            return Ok(());
        }
        Err(corrupt(format!("expected {count} events, found {} {}s", self.count, column.describe())))
    }
}

/// Checks the numbers of a column against their table and turns them into ids.
fn check_numbers(column: Column, numbers: &mut [u32], tables: &impl Tables) -> Result<()> {
    let sizes = tables.sizes();
    let limit = match column {
        Column::Codes => 256,
        Column::Threads | Column::Operands(OperandKind::Thread) => sizes.threads,
        Column::Locations => sizes.locations + 1,
        Column::Operands(OperandKind::Variable) => sizes.variables,
        Column::Operands(OperandKind::Lock) => sizes.locks,
        Column::Operands(OperandKind::Sync) => sizes.objects,
        Column::Operands(OperandKind::Marker) => sizes.markers,
        Column::Operands(OperandKind::None) => 0,
    };
    if !all_below(numbers, limit) {
        let largest = numbers.iter().copied().max().unwrap_or(0);
        let name = column.describe();
        return Err(corrupt(format!("expected {name} numbers below {limit}, found {largest}")));
    }
    match column {
        Column::Codes => {}
        Column::Threads => tables.translate(OperandKind::Thread, numbers),
        Column::Operands(kind) => tables.translate(kind, numbers),
        Column::Locations => {
            numbers.iter_mut().for_each(|number| *number = number.wrapping_sub(1));
            tables.translate_locations(numbers);
        }
    }
    Ok(())
}
