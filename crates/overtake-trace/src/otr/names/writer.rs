//! Writing names to a file.

use super::{
    FULL_CHUNK_BYTES, MAX_NAME_BYTES, PROGRAM_TABLE, SECTION_HEADER_BYTES, Table, ZSTD_LEVEL, shape,
};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Event, Op};
use crate::id::{ArrayId, Id, LocationId, LockId, MarkerId, SyncId, ThreadId, VarId};
use crate::otr::layout::MAX_CHUNK_NAMES;
use crate::otr::program::{self, PIECE_BYTES};
use crate::otr::wire::{put_bytes, put_varint};
use crate::symbols::{Common, Program, Symbols, Variable};

/// Takes finished symbol chunks: payload and number of entries.
pub(in crate::otr) type ChunkSink<'a> = dyn FnMut(&[u8], usize) -> Result<()> + 'a;

/// Writes the new names of the tables.
pub(in crate::otr) struct NameWriter {
    /// None if names stay as they are.
    compressor: Option<zstd::bulk::Compressor<'static>>,
    written: [usize; Table::ALL.len()],
    /// The trace is said to be a recording, or was not one so far.
    is_announced: bool,
    lengths: Common<ArrayId, Option<u64>>,
    content: Vec<u8>,
    entries: usize,
    payload: Vec<u8>,
}

impl NameWriter {
    pub(in crate::otr) fn new() -> Result<NameWriter> {
        Ok(NameWriter {
            compressor: Some(zstd::bulk::Compressor::new(ZSTD_LEVEL)?),
            ..NameWriter::uncompressed()
        })
    }

    /// Writes chunks that are read at once, so that compressing them is not worth it.
    pub(in crate::otr) fn uncompressed() -> NameWriter {
        NameWriter {
            compressor: None,
            written: Default::default(),
            is_announced: false,
            lengths: Common::default(),
            content: Vec::new(),
            entries: 0,
            payload: Vec::new(),
        }
    }

    /// Writes all new names that `events`, the next block, may refer to.
    pub(in crate::otr) fn write_new(
        &mut self,
        symbols: &Symbols,
        events: &[Event],
        emit: &mut ChunkSink<'_>,
    ) -> Result<()> {
        // The length of an array becomes known at its allocation, which may come after its first element.
        let blocks =
            events.iter().filter(|event| event.op() == Op::Alloc).map(|event| VarId(event.operand()));
        let arrays = blocks.filter_map(|block| match symbols.variables.get(block) {
            Variable::Block(array) => Some(array),
            Variable::Named(_) | Variable::Element { .. } => None,
        });
        self.announce(&symbols.program, emit)?;
        self.write_tables(symbols, arrays, emit)
    }

    /// Says before the first event which program is recorded. What else is known of it comes at the end.
    fn announce(&mut self, program: &Program, emit: &mut ChunkSink<'_>) -> Result<()> {
        if self.is_announced || program.is_empty() {
            return Ok(());
        }
        self.is_announced = true;
        self.put_program(
            &Program { pid: program.pid, command: program.command.clone(), ..Program::default() },
            emit,
        )
    }

    fn put_program(&mut self, program: &Program, emit: &mut ChunkSink<'_>) -> Result<()> {
        for (number, piece) in program::to_bytes(program).chunks(PIECE_BYTES).enumerate() {
            self.put_entries(PROGRAM_TABLE, number, number + 1, |_| put_name(piece))?;
            self.close_chunk(emit)?;
        }
        Ok(())
    }

    /// Writes everything that has not been written yet.
    pub(in crate::otr) fn write_rest(&mut self, symbols: &Symbols, emit: &mut ChunkSink<'_>) -> Result<()> {
        let arrays = (0..symbols.variables.array_count()).map(ArrayId::from_index);
        self.write_tables(symbols, arrays, emit)?;
        self.put_program(&symbols.program, emit)
    }

    fn write_tables(
        &mut self,
        symbols: &Symbols,
        allocated: impl Iterator<Item = ArrayId>,
        emit: &mut ChunkSink<'_>,
    ) -> Result<()> {
        let Symbols { threads, locks, variables, objects, markers, locations, program: _ } = symbols;
        self.put_new(Table::Threads, threads.len(), |at| put_name(threads.name(ThreadId(at))), emit)?;
        self.put_new(Table::Locks, locks.len(), |at| put_name(locks.name(LockId(at))), emit)?;
        self.put_new(Table::Markers, markers.len(), |at| put_name(markers.name(MarkerId(at))), emit)?;
        self.put_new(Table::Locations, locations.len(), |at| put_name(locations.name(LocationId(at))), emit)?;
        let arrays = variables.array_count();
        self.put_new(Table::Arrays, arrays, |at| put_name(variables.array_name(ArrayId(at))), emit)?;
        let lengths = self.new_lengths(symbols, allocated);
        self.written[Table::ArrayLengths as usize] = 0;
        self.put_new(Table::ArrayLengths, lengths.len(), |at| put_length(lengths[at as usize]), emit)?;
        self.put_new(Table::Variables, variables.len(), |at| put_variable(variables.get(VarId(at))), emit)?;
        self.put_new(Table::Objects, objects.len(), |at| put_object(objects.get(SyncId(at))), emit)?;
        self.close_chunk(emit)
    }

    /// The lengths of new arrays, and lengths that became known after their array was written.
    fn new_lengths(
        &mut self,
        symbols: &Symbols,
        allocated: impl Iterator<Item = ArrayId>,
    ) -> Vec<(ArrayId, u64)> {
        let fresh = self.lengths.len()..symbols.variables.array_count();
        let mut found = Vec::new();
        for array in fresh.map(ArrayId::from_index).chain(allocated) {
            let length = symbols.variables.array_facts(array).length;
            if self.lengths.get(array) != Some(&length) {
                self.lengths.set(array, length);
                found.extend(length.map(|length| (array, length)));
            }
        }
        found
    }

    /// Writes the entries of `table` that were not written yet, up to `end`, in as many chunks as needed.
    fn put_new<P: FnOnce(&mut Vec<u8>) -> Result<()>>(
        &mut self,
        table: Table,
        end: usize,
        entry: impl Fn(u32) -> P,
        emit: &mut ChunkSink<'_>,
    ) -> Result<()> {
        let mut at = self.written[table as usize];
        while at < end {
            at = self.put_entries(table as u8, at, end, &entry)?;
            if self.is_full() {
                self.close_chunk(emit)?;
            }
        }
        self.written[table as usize] = end;
        Ok(())
    }

    /// Writes a section with entries from `first` on, as many as fit into the chunk. Returns the first that does not fit.
    fn put_entries<P: FnOnce(&mut Vec<u8>) -> Result<()>>(
        &mut self,
        table: u8,
        first: usize,
        end: usize,
        entry: impl Fn(u32) -> P,
    ) -> Result<usize> {
        let mut at = first;
        let header = self.content.len();
        self.content.extend_from_slice(&[0; SECTION_HEADER_BYTES]);
        while at < end && !self.is_full() {
            entry(at as u32)(&mut self.content)?;
            self.entries += 1;
            at += 1;
        }
        let length = self.content.len() - header - SECTION_HEADER_BYTES;
        self.content[header] = table;
        for (field, number) in [first, at - first, length].into_iter().enumerate() {
            let place = header + 1 + 4 * field;
            self.content[place..place + 4].copy_from_slice(&(number as u32).to_le_bytes());
        }
        Ok(at)
    }

    fn is_full(&self) -> bool {
        self.entries >= MAX_CHUNK_NAMES || self.content.len() >= FULL_CHUNK_BYTES
    }

    fn close_chunk(&mut self, emit: &mut ChunkSink<'_>) -> Result<()> {
        if self.content.is_empty() {
            return Ok(());
        }
        let mut compressed = Vec::new();
        if let Some(compressor) = &mut self.compressor {
            compressed.reserve(zstd::zstd_safe::compress_bound(self.content.len()));
            compressor.compress_to_buffer(&self.content, &mut compressed)?;
        }
        let is_smaller = !compressed.is_empty() && compressed.len() < self.content.len();
        self.payload.clear();
        self.payload.extend_from_slice(&(self.content.len() as u32).to_le_bytes());
        self.payload.push(u8::from(is_smaller));
        self.payload.extend_from_slice(if is_smaller { &compressed } else { &self.content });
        emit(&self.payload, self.entries)?;
        self.content.clear();
        self.entries = 0;
        Ok(())
    }
}

fn put_name(name: &[u8]) -> impl FnOnce(&mut Vec<u8>) -> Result<()> {
    move |out| {
        if name.len() > MAX_NAME_BYTES {
            let message = format!("a name of {} bytes: at most {MAX_NAME_BYTES} can be written", name.len());
            return Err(Error::new(ErrorKind::Unsupported, Position::Nowhere, message));
        }
        put_bytes(name, out);
        Ok(())
    }
}

fn put_length((array, length): (ArrayId, u64)) -> impl FnOnce(&mut Vec<u8>) -> Result<()> {
    move |out| {
        put_varint(u64::from(array.0), out);
        put_varint(length, out);
        Ok(())
    }
}

fn put_variable(variable: Variable<'_>) -> impl FnOnce(&mut Vec<u8>) -> Result<()> {
    move |out| {
        match variable {
            Variable::Named(name) => {
                out.push(shape::NAMED);
                put_name(name)(out)?;
            }
            Variable::Element { array, index } => {
                out.push(shape::ELEMENT);
                put_varint(u64::from(array.0), out);
                put_varint(index, out);
            }
            Variable::Block(array) => {
                out.push(shape::BLOCK);
                put_varint(u64::from(array.0), out);
            }
        }
        Ok(())
    }
}

fn put_object((base, generation): (&[u8], u64)) -> impl FnOnce(&mut Vec<u8>) -> Result<()> {
    move |out| {
        put_name(base)(out)?;
        put_varint(generation, out);
        Ok(())
    }
}
