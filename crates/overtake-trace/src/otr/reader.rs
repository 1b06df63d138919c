//! Reading a sealed file from front to back, from a file or a pipe.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use crate::block::{Block, EventSource, Progress};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::Event;
use crate::id::EventIndex;
use crate::parameters::Parameters;
use crate::symbols::Symbols;

use super::damage::Damage;
use super::events::BlockDecoder;
use super::footer::{Entry, Footer, Summary};
use super::layout::{ChunkHeader, Kind, TRAILER_BYTES, Trailer, corrupt};
use super::names::{NameLoader, Tables};
use super::scan::{ChunkScanner, Found};

/// How many lost names salvage may replace: this many in any file, and more for each damaged byte. A lost symbol
/// chunk must not cost the events that follow it, and a forged file must not make us allocate without bound.
const LOST_NAMES_FREE: u64 = 1 << 16;
const LOST_NAMES_PER_BYTE: u64 = 64;

/// Streams the events of a sealed file. Needs no seeking: names precede the blocks that use them.
///
/// Reading a damaged file ends with an error at the first bad block; everything handed out before it is exact. With
/// [`salvage`](Self::salvage) the bad parts are left out instead, events keep their indices, and
/// [`damage`](Self::damage) says what is missing.
pub struct OtrReader<R> {
    scanner: ChunkScanner<R>,
    salvage: bool,
    decoder: BlockDecoder,
    names: NameLoader,
    symbols: Symbols,
    /// Index of the event after those handed out.
    next_event: u64,
    /// Blocks handed out.
    blocks: u64,
    /// The block handed out last.
    last_block: Option<Entry>,
    footer_offset: Option<u64>,
    footer: Footer,
    trailer: Option<Trailer>,
    ended: bool,
    damage: Damage,
    /// What is wrong with the file header; salvage goes on without it if it finds anything.
    header_error: Option<Error>,
    bytes_total: Option<u64>,
}

impl OtrReader<File> {
    /// Opens a sealed file to read it from front to back.
    pub fn open(path: impl AsRef<Path>) -> Result<OtrReader<File>> {
        let file = File::open(path)?;
        let bytes = file.metadata()?.len();
        Ok(OtrReader::new(file)?.with_total_bytes(bytes))
    }
}

impl<R: Read> OtrReader<R> {
    /// Reads a sealed file that starts here.
    pub fn new(input: R) -> Result<OtrReader<R>> {
        let reader = OtrReader::start(input, false)?;
        match reader.header_error {
            Some(error) => Err(error),
            None => Ok(reader),
        }
    }

    /// Reads the intact parts of a damaged file. Fails only on errors of the operating system, on unknown versions, and on
    /// files that contain nothing of the format.
    pub fn salvage(input: R) -> Result<OtrReader<R>> {
        let reader = OtrReader::start(input, true)?;
        match reader.header_error {
            Some(error) if error.kind() == ErrorKind::Unsupported => Err(error),
            _ => Ok(reader),
        }
    }

    /// Says how long the input is, for [`Progress`].
    pub fn with_total_bytes(mut self, bytes: u64) -> OtrReader<R> {
        self.bytes_total = Some(bytes);
        self
    }

    fn start(input: R, salvage: bool) -> Result<OtrReader<R>> {
        let mut scanner = ChunkScanner::new(input);
        let header_error = match scanner.file_header() {
            Err(error) if error.kind() == ErrorKind::Io => return Err(error),
            header => header.err(),
        };
        Ok(OtrReader {
            scanner,
            salvage,
            decoder: BlockDecoder::default(),
            names: NameLoader::default(),
            symbols: Symbols::default(),
            next_event: 0,
            blocks: 0,
            last_block: None,
            footer_offset: None,
            footer: Footer::default(),
            trailer: None,
            ended: false,
            damage: Damage::default(),
            header_error,
            bytes_total: None,
        })
    }

    /// What is missing; complete after the last block. Always empty unless salvaging.
    pub fn damage(&self) -> &Damage {
        &self.damage
    }

    /// The trace's parameters according to the footer: known after the last block, if the file has a footer.
    pub fn parameters(&self) -> Option<Parameters> {
        self.footer.summary.map(|summary| summary.parameters)
    }

    pub(super) fn last_block(&self) -> Option<Entry> {
        self.last_block
    }

    /// Index of the event that would come next; after the end, the number of events, missing ones included.
    pub(super) fn next_event(&self) -> u64 {
        self.next_event
    }

    pub(super) fn into_symbols(self) -> Symbols {
        self.symbols
    }

    /// Handles what comes next; returns whether it filled `block`.
    fn step(&mut self, block: &mut Block) -> Result<bool> {
        match self.scanner.peek()? {
            Found::Chunk(header) => {
                let filled = self.take_chunk(&header, block)?;
                self.scanner.skip(header.chunk_bytes());
                self.header_error = None;
                Ok(filled)
            }
            Found::Trailer(trailer) => {
                self.take_trailer(trailer)?;
                self.scanner.skip(TRAILER_BYTES);
                Ok(false)
            }
            Found::End => {
                self.take_end()?;
                self.ended = true;
                Ok(false)
            }
        }
    }

    fn take_chunk(&mut self, header: &ChunkHeader, block: &mut Block) -> Result<bool> {
        if self.trailer.is_some() {
            return Err(corrupt("expected the end of the file after the trailer, found a chunk"));
        }
        match header.kind {
            Kind::EVENTS => {
                self.take_events(header, block)?;
                return Ok(true);
            }
            Kind::SYMBOLS => {
                let payload = self.scanner.payload(header);
                self.names.load(payload, header.count as usize, &mut self.symbols)?;
            }
            Kind::PARAMETERS => {
                self.footer.take_section(header, self.scanner.payload(header))?;
                self.footer_offset = Some(self.scanner.offset());
            }
            Kind::BLOCK_INDEX | Kind::SYMBOL_INDEX => {}
            unknown => unknown.check_optional()?,
        }
        Ok(false)
    }

    fn take_events(&mut self, header: &ChunkHeader, block: &mut Block) -> Result<()> {
        let (first, count) = (header.first, u64::from(header.count));
        let next = self.next_event;
        let follows = if self.salvage { first >= next } else { first == next };
        if !follows || count == 0 || first.checked_add(count).is_none() || self.footer_offset.is_some() {
            return Err(corrupt(format!(
                "expected event {next} to follow, found {count} events from {first} on"
            )));
        }
        self.decode(header, &mut block.events)?;
        if first > next {
            self.damage.missing_events.push(next..first);
        }
        block.first = EventIndex(first);
        self.next_event = first + count;
        self.blocks += 1;
        self.last_block = Some(Entry::of(header, self.scanner.offset()));
        Ok(())
    }

    fn decode(&mut self, header: &ChunkHeader, events: &mut Vec<Event>) -> Result<()> {
        let OtrReader { scanner, decoder, names, symbols, .. } = self;
        let payload = scanner.payload(header);
        let count = header.count as usize;
        let decoded = decoder.decode(payload, count, names, events);
        if decoded.is_ok() || !self.salvage {
            return decoded;
        }
        names.make_up_for(&decoder.needed_sizes(payload, count)?, symbols)?;
        decoder.decode(payload, count, names, events)
    }

    fn take_trailer(&mut self, trailer: Trailer) -> Result<()> {
        if !self.salvage {
            let Some(summary) = self.footer.summary else {
                return Err(corrupt("expected a parameter section before the trailer, found none"));
            };
            self.check_footer(&summary, &trailer)?;
        }
        if self.trailer.replace(trailer).is_some() {
            return Err(corrupt("expected the end of the file after the trailer, found another trailer"));
        }
        Ok(())
    }

    /// Checks that the footer matches what was read.
    fn check_footer(&self, summary: &Summary, trailer: &Trailer) -> Result<()> {
        let found = self.next_event;
        if summary.parameters.events != found || trailer.events != found {
            let expected = summary.parameters.events;
            return Err(corrupt(format!("expected {expected} events, found {found}")));
        }
        if summary.sizes() != self.names.sizes() {
            return Err(corrupt("the sizes of the symbol tables differ from those in the footer"));
        }
        let end = self.scanner.offset() + TRAILER_BYTES as u64;
        if Some(trailer.footer) != self.footer_offset || trailer.file_bytes != end {
            return Err(corrupt(format!("expected a file of {} bytes, found {end}", trailer.file_bytes)));
        }
        Ok(())
    }

    fn take_end(&mut self) -> Result<()> {
        if !self.salvage {
            return match self.trailer {
                Some(_) => Ok(()),
                None => Err(corrupt("file is cut short: expected a block or the footer, found its end")),
            };
        }
        if let Some(error) = self.header_error.take().filter(|_| self.trailer.is_none()) {
            return Err(error);
        }
        let stated = self.trailer.map(|trailer| trailer.events);
        let total = stated.or(self.parameters().map(|parameters| parameters.events));
        if let Some(total) = total.filter(|&total| total > self.next_event) {
            self.damage.missing_events.push(self.next_event..total);
            self.next_event = total;
        }
        self.damage.end_missing = self.trailer.is_none();
        self.damage.lost_names = self.names.lost_names();
        Ok(())
    }

    /// Skips the chunk that could not be used.
    fn skip_damage(&mut self) -> Result<()> {
        self.damage.bytes_skipped += self.scanner.resynchronise()?;
        self.allow_lost_names();
        Ok(())
    }

    fn is_at_end(&mut self) -> bool {
        matches!(self.scanner.peek(), Ok(Found::End))
    }

    fn allow_lost_names(&mut self) {
        let explained = self.damage.bytes_skipped.saturating_mul(LOST_NAMES_PER_BYTE);
        self.names.allow_lost_names(explained.saturating_add(LOST_NAMES_FREE));
    }

    fn position(&self) -> Position {
        match self.footer_offset {
            Some(_) => Position::Offset(self.scanner.offset()),
            None => Position::Block { block: self.blocks, offset: self.scanner.offset() },
        }
    }
}

impl<R: Read> EventSource for OtrReader<R> {
    fn next_block(&mut self, block: &mut Block) -> Result<bool> {
        if self.salvage {
            self.allow_lost_names();
        }
        while !self.ended {
            match self.step(block) {
                Ok(true) => return Ok(true),
                Ok(false) => {}
                // `damage` says what is missing. An error at the end means that there was nothing to save.
                Err(error) if self.salvage && error.kind() != ErrorKind::Io && !self.is_at_end() => {
                    self.skip_damage()?;
                }
                Err(error) => {
                    block.events.clear();
                    return Err(error.at(self.position()));
                }
            }
        }
        block.events.clear();
        block.first = EventIndex(self.next_event);
        Ok(false)
    }

    fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.symbols
    }

    fn progress(&self) -> Progress {
        Progress { bytes_read: self.scanner.offset(), bytes_total: self.bytes_total }
    }
}
