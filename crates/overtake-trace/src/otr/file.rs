//! Random access to a sealed file.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::block::{Block, EventSource};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::id::EventIndex;
use crate::parameters::{ParameterCounter, Parameters};
use crate::symbols::{Sizes, Symbols};

use super::damage::Damage;
use super::events::BlockDecoder;
use super::footer::{Entry, Footer};
use super::layout::{
    CHUNK_HEADER_BYTES, ChunkHeader, FILE_HEADER_BYTES, Kind, TRAILER_BYTES, Trailer, check_file_header,
    corrupt,
};
use super::names::{NameLoader, Tables};
use super::reader::OtrReader;

/// A sealed file, any part of which can be read without reading what comes before.
///
/// Opening reads the footer: 16 bytes for each block of 32,768 events, and no names. All reading goes through `&self`,
/// so that threads can read blocks in parallel.
pub struct OtrFile {
    input: PositionedFile,
    blocks: Vec<IndexedBlock>,
    symbol_chunks: Vec<Entry>,
    parameters: Parameters,
    sizes: Sizes,
    symbols: OnceLock<Symbols>,
    /// Scratch space, one for each thread that reads at the same time.
    scratch: Mutex<Vec<Scratch>>,
    damage: Damage,
}

#[derive(Clone, Copy, Debug)]
struct IndexedBlock {
    first: u64,
    entry: Entry,
}

#[derive(Default)]
struct Scratch {
    chunk: Vec<u8>,
    decoder: BlockDecoder,
    block: Block,
}

impl OtrFile {
    /// Opens a complete file. If the file is incomplete, reads it from front to back to find what is wrong.
    pub fn open(path: impl AsRef<Path>) -> Result<OtrFile> {
        let path = path.as_ref();
        let input = PositionedFile::open(path)?;
        let mut header = [0; FILE_HEADER_BYTES];
        let available = input.length.min(FILE_HEADER_BYTES as u64) as usize;
        input.read(&mut header[..available], 0)?;
        check_file_header(&header[..available])?;
        let trailer = match read_trailer(&input) {
            Err(error) if error.kind() == ErrorKind::Corrupt => return Err(first_fault(path, error)),
            trailer => trailer?,
        };
        let footer = read_footer(&input, &trailer)?;
        let place = Position::Offset(trailer.footer);
        let summary = footer.check(trailer.footer).map_err(|error| error.at(place))?;
        let mut next = 0;
        let blocks = footer.blocks.iter().map(|&entry| {
            let first = next;
            next += u64::from(entry.count);
            IndexedBlock { first, entry }
        });
        Ok(OtrFile {
            blocks: blocks.collect(),
            symbol_chunks: footer.symbol_chunks,
            parameters: summary.parameters,
            sizes: summary.sizes(),
            symbols: OnceLock::new(),
            scratch: Mutex::default(),
            damage: Damage::default(),
            input,
        })
    }

    /// Opens the intact parts of a damaged file. This reads the whole file once.
    ///
    /// The parameters are those of the intact events, except that N counts missing events too, so that it stays one
    /// more than the last index.
    pub fn salvage(path: impl AsRef<Path>) -> Result<OtrFile> {
        let input = PositionedFile::open(path.as_ref())?;
        let mut reader = OtrReader::salvage(File::open(path)?)?;
        let mut counter = ParameterCounter::default();
        let mut blocks = Vec::new();
        let mut block = Block::default();
        while reader.next_block(&mut block)? {
            counter.add(&block.events);
            let entry = reader.last_block().expect("a block was just read");
            blocks.push(IndexedBlock { first: block.first.0, entry });
        }
        let (damage, events) = (reader.damage().clone(), reader.next_event());
        let symbols = reader.into_symbols();
        let sizes = symbols.sizes();
        Ok(OtrFile {
            input,
            blocks,
            symbol_chunks: Vec::new(),
            parameters: Parameters { events, ..counter.parameters(&sizes) },
            sizes,
            symbols: OnceLock::from(symbols),
            scratch: Mutex::default(),
            damage,
        })
    }

    /// N, T, L, V, A and h.
    pub fn parameters(&self) -> Parameters {
        self.parameters
    }

    /// How many ids of each kind there are.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// The number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The indices of the events in a block.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block_range(&self, block: usize) -> Range<u64> {
        self.blocks[block].range()
    }

    /// The blocks that hold events of a range.
    pub fn blocks_of(&self, events: &Range<u64>) -> Range<usize> {
        let start = self.blocks.partition_point(|block| block.range().end <= events.start);
        let end = self.blocks.partition_point(|block| block.first < events.end);
        start..end.max(start)
    }

    /// What is missing; nothing unless the file was opened by [`salvage`](Self::salvage).
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// Bytes read from the file so far.
    pub fn bytes_read(&self) -> u64 {
        self.input.bytes_read.load(Ordering::Relaxed)
    }

    /// Length of the file in bytes.
    pub fn bytes_total(&self) -> u64 {
        self.input.length
    }

    /// The names, which are read at the first call.
    pub fn symbols(&self) -> Result<&Symbols> {
        if self.symbols.get().is_none() {
            let symbols = self.load_symbols()?;
            // Another thread may have been faster, with the same names.
            let _ = self.symbols.set(symbols);
        }
        Ok(self.symbols.get().expect("just set"))
    }

    /// Replaces the contents of `block` by the events of block `number`.
    pub fn read_block(&self, number: usize, block: &mut Block) -> Result<()> {
        let mut scratch = self.lock_scratch().pop().unwrap_or_default();
        let read = self.read_block_with(number, &mut scratch, block);
        self.lock_scratch().push(scratch);
        read
    }

    /// Replaces the contents of `block` by the events in `range`, reading only the blocks that hold some of them.
    ///
    /// The range is cut at the end of the trace. Events that are missing from a damaged file are an error.
    pub fn read_events(&self, range: Range<u64>, block: &mut Block) -> Result<()> {
        let range = range.start..range.end.min(self.parameters.events);
        block.first = EventIndex(range.start);
        block.events.clear();
        let mut scratch = self.lock_scratch().pop().unwrap_or_default();
        let mut piece = std::mem::take(&mut scratch.block);
        let mut next = range.start;
        for number in self.blocks_of(&range) {
            let stored = self.block_range(number);
            if next >= range.end || stored.start > next {
                break;
            }
            self.read_block_with(number, &mut scratch, &mut piece)?;
            let end = range.end.min(stored.end);
            let wanted = (next - stored.start) as usize..(end - stored.start) as usize;
            block.events.extend_from_slice(&piece.events[wanted]);
            next = end;
        }
        scratch.block = piece;
        self.lock_scratch().push(scratch);
        if next < range.end {
            block.events.clear();
            let message = format!("events {next} to {} are missing", range.end - 1);
            return Err(Error::new(ErrorKind::Corrupt, Position::Event(EventIndex(next)), message));
        }
        Ok(())
    }

    fn read_block_with(&self, number: usize, scratch: &mut Scratch, block: &mut Block) -> Result<()> {
        let Some(&IndexedBlock { first, entry }) = self.blocks.get(number) else {
            block.events.clear();
            let message = format!("expected a block below {}, found {number}", self.blocks.len());
            return Err(Error::new(ErrorKind::IllFormed, Position::Nowhere, message));
        };
        block.first = EventIndex(first);
        let place = Position::Block { block: number as u64, offset: entry.offset };
        let Scratch { chunk, decoder, .. } = scratch;
        let mut decode = |header: ChunkHeader, payload: &[u8]| {
            if header.first != first {
                return Err(corrupt(format!("expected event {first} to come first, found {}", header.first)));
            }
            decoder.decode(payload, entry.count as usize, &self.sizes, &mut block.events)
        };
        let chunk = self.input.read_chunk(&entry, Kind::EVENTS, chunk);
        let decoded = chunk.and_then(|(header, payload)| decode(header, payload));
        decoded.map_err(|error| {
            block.events.clear();
            error.at(place)
        })
    }

    fn load_symbols(&self) -> Result<Symbols> {
        let mut symbols = Symbols::default();
        let mut names = NameLoader::default();
        let mut chunk = Vec::new();
        for entry in &self.symbol_chunks {
            let place = Position::Offset(entry.offset);
            let (header, payload) =
                self.input.read_chunk(entry, Kind::SYMBOLS, &mut chunk).map_err(|error| error.at(place))?;
            names.load(payload, header.count as usize, &mut symbols).map_err(|error| error.at(place))?;
        }
        if names.sizes() != self.sizes {
            return Err(corrupt("the sizes of the symbol tables differ from those in the footer"));
        }
        Ok(symbols)
    }

    fn lock_scratch(&self) -> std::sync::MutexGuard<'_, Vec<Scratch>> {
        // A panic elsewhere cannot have broken scratch space: it has no invariants.
        self.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl IndexedBlock {
    fn range(&self) -> Range<u64> {
        self.first..self.first + u64::from(self.entry.count)
    }
}

fn read_trailer(input: &PositionedFile) -> Result<Trailer> {
    let least = (FILE_HEADER_BYTES + TRAILER_BYTES) as u64;
    let Some(offset) = input.length.checked_sub(TRAILER_BYTES as u64).filter(|_| input.length >= least)
    else {
        return Err(corrupt(format!("expected a file of at least {least} bytes, found {}", input.length)));
    };
    let mut bytes = [0; TRAILER_BYTES];
    input.read(&mut bytes, offset)?;
    let trailer = Trailer::parse(&bytes).map_err(|error| error.at(Position::Offset(offset)))?;
    if trailer.file_bytes != input.length || !(FILE_HEADER_BYTES as u64..=offset).contains(&trailer.footer) {
        let Trailer { footer, file_bytes, .. } = trailer;
        let message = format!(
            "expected a file of {file_bytes} bytes with its footer at byte {footer}, found {} bytes",
            input.length
        );
        return Err(corrupt(message).at(Position::Offset(offset)));
    }
    Ok(trailer)
}

fn read_footer(input: &PositionedFile, trailer: &Trailer) -> Result<Footer> {
    let end = input.length - TRAILER_BYTES as u64;
    let mut footer = Footer::default();
    let mut chunk = Vec::new();
    let mut offset = trailer.footer;
    while offset < end {
        let section = read_section(input, offset, end, &mut chunk).and_then(|header| {
            if !footer.take_section(&header, &chunk)? {
                header.kind.check_optional()?;
            }
            Ok(header.chunk_bytes() as u64)
        });
        offset += section.map_err(|error| error.at(Position::Offset(offset)))?;
    }
    Ok(footer)
}

/// Reads a footer section's payload. Only the section's own header gives its length.
fn read_section(input: &PositionedFile, offset: u64, end: u64, payload: &mut Vec<u8>) -> Result<ChunkHeader> {
    let mut header = [0; CHUNK_HEADER_BYTES];
    if end - offset < CHUNK_HEADER_BYTES as u64 {
        return Err(corrupt(format!("expected a footer section, found {} bytes", end - offset)));
    }
    input.read(&mut header, offset)?;
    let header = ChunkHeader::parse(&header)?;
    if header.chunk_bytes() as u64 > end - offset {
        let (expected, found) = (header.chunk_bytes(), end - offset);
        return Err(corrupt(format!("expected a footer section of {expected} bytes, found {found}")));
    }
    payload.resize(header.length as usize, 0);
    input.read(payload, offset + CHUNK_HEADER_BYTES as u64)?;
    header.check_payload(payload)?;
    Ok(header)
}

/// The first error that reading from front to back finds. It names the block, which `trailer_error` does not.
fn first_fault(path: &Path, trailer_error: Error) -> Error {
    let read_all = || -> Result<()> {
        let mut reader = OtrReader::open(path)?;
        let mut block = Block::default();
        while reader.next_block(&mut block)? {}
        Ok(())
    };
    read_all().err().unwrap_or(trailer_error)
}

/// A file that is read at given offsets, by several threads at once.
struct PositionedFile {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: Mutex<File>,
    length: u64,
    bytes_read: AtomicU64,
}

impl PositionedFile {
    fn open(path: &Path) -> Result<PositionedFile> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        #[cfg(not(unix))]
        let file = Mutex::new(file);
        Ok(PositionedFile { file, length, bytes_read: AtomicU64::new(0) })
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<()> {
        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        match self.read_at(bytes, offset) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                let message = format!("file is cut short: expected {} bytes, found fewer", bytes.len());
                Err(corrupt(message).at(Position::Offset(offset)))
            }
            read => Ok(read?),
        }
    }

    #[cfg(unix)]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, bytes, offset)
    }

    #[cfg(not(unix))]
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<()> {
        use std::io::{Read, Seek, SeekFrom};
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read_exact(bytes)
    }

    /// Reads the chunk of an index entry, which must lie in the file, and checks that it matches the index.
    fn read_chunk<'a>(
        &self,
        entry: &Entry,
        kind: Kind,
        chunk: &'a mut Vec<u8>,
    ) -> Result<(ChunkHeader, &'a [u8])> {
        chunk.resize(CHUNK_HEADER_BYTES + entry.length as usize, 0);
        self.read(chunk, entry.offset)?;
        let (header, payload) = chunk.split_first_chunk().expect("longer than a header");
        let header = ChunkHeader::parse(header)?;
        if header.kind != kind || Entry::of(&header, entry.offset) != *entry {
            return Err(corrupt("the chunk differs from what the index says"));
        }
        header.check_payload(payload)?;
        Ok((header, payload))
    }
}
