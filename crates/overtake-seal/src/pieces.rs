//! The pieces of a log file, found by their headers, and which of them make up the log of a thread.
//!
//! Headers say where the next piece is. If there is no header, the next one is searched: the room may never have been written. Every
//! byte that is neither in a piece nor zero, and every chunk that is missing between others, is reported as damage.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;

use overtake_rawlog::{
    FILE_MAGIC, FileHeader, LARGE_TAIL_BYTES, PAGE_BYTES, PIECE_HEADER_BYTES, PIECE_MAGIC, PieceHeader,
    PieceKind, SMALL_TAIL_BYTES, THREAD_AT, THREAD_HEADER_BYTES, ThreadHeader,
};

use crate::log::{Extent, ThreadLog};

/// The contents of a log file.
#[derive(Default)]
pub(crate) struct Contents {
    pub(crate) threads: Vec<ThreadLog>,
    /// Memory maps, oldest first.
    pub(crate) maps: Vec<Vec<u8>>,
    /// Further lines about the process.
    pub(crate) process: Vec<u8>,
    pub(crate) dropped_bytes: u64,
    /// Error number of the first failure to write records; 0 if there was none.
    pub(crate) loss: u64,
    pub(crate) damage: Vec<String>,
}

/// Reads the contents of a log file, except the records.
pub(crate) fn read(path: &Path) -> io::Result<Contents> {
    let file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut finder = Finder {
        file,
        length,
        contents: Contents::default(),
        maps: BTreeMap::new(),
        threads: BTreeMap::new(),
        slots: Vec::new(),
    };
    let first = finder.bytes(0, PAGE_BYTES as u64)?;
    let Some(header) = FileHeader::read(&first) else {
        return Err(io::Error::other(format!(
            "expected a log file, which starts with {FILE_MAGIC:#x}, found something else"
        )));
    };
    finder.contents.dropped_bytes = header.dropped_bytes;
    finder.contents.loss = header.loss;
    finder.find_all()?;
    finder.note_missing_end(&header);
    finder.complete(path)
}

struct Finder {
    file: File,
    length: u64,
    contents: Contents,
    maps: BTreeMap<u64, Vec<u8>>,
    /// What was found of each thread, by its number.
    threads: BTreeMap<u32, FoundThread>,
    /// The slots that threads used.
    slots: Vec<(u64, ThreadHeader)>,
}

/// What was found of a thread.
#[derive(Default)]
struct FoundThread {
    /// Its chunks with their numbers, in order. Most threads of a program with many have one.
    chunks: Vec<(u64, Extent)>,
    header: Option<ThreadHeader>,
}

impl FoundThread {
    /// Takes a chunk; of two with one number, the later one counts.
    fn take(&mut self, number: u64, extent: Extent) {
        match self.chunks.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => self.chunks[at].1 = extent,
            Err(at) => {
                if self.chunks.is_empty() {
                    self.chunks.reserve_exact(1);
                }
                self.chunks.insert(at, (number, extent));
            }
        }
    }
}

impl Finder {
    fn find_all(&mut self) -> io::Result<()> {
        let mut at = PAGE_BYTES as u64;
        while at < self.length {
            let header = PieceHeader::read(&self.bytes(at, PIECE_HEADER_BYTES as u64)?);
            match header {
                Some(header) if self.take(at, &header)? => at = at.saturating_add(header.size()),
                _ => at = self.next_header(at)?,
            }
        }
        for (at, header) in std::mem::take(&mut self.slots) {
            self.take_tails(at, &header)?;
        }
        Ok(())
    }

    /// `count` bytes from `at` on, or fewer at the end of the file.
    fn bytes(&self, at: u64, count: u64) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; count.min(self.length.saturating_sub(at)) as usize];
        self.file.read_exact_at(&mut bytes, at)?;
        Ok(bytes)
    }

    /// Where the next header is behind a place that has none. Reports damage if the bytes between them are not all zero.
    fn next_header(&mut self, from: u64) -> io::Result<u64> {
        const STEP: u64 = 1 << 16;
        let (mut at, mut is_damaged) = (from, false);
        while at < self.length {
            let bytes = self.bytes(at, STEP)?;
            for (number, word) in bytes.chunks(8).enumerate() {
                let here = at + 8 * number as u64;
                if here > from && word == PIECE_MAGIC.to_le_bytes() {
                    self.note_gap(from, here, is_damaged);
                    return Ok(here);
                }
                is_damaged |= word.iter().any(|&byte| byte != 0);
            }
            at += STEP;
        }
        self.note_gap(from, self.length, is_damaged);
        Ok(self.length)
    }

    /// Reports damage if the end of the file is missing. Pieces that threads were about to write when the process died are still in
    /// their tails.
    fn note_missing_end(&mut self, header: &FileHeader) {
        let on_the_way = (self.threads.len() as u64 + 1) * LARGE_TAIL_BYTES as u64;
        if header.end > self.length.saturating_add(on_the_way) {
            let message = format!("the log ends at byte {}, expected {} bytes", self.length, header.end);
            self.contents.damage.push(message);
        }
    }

    fn note_gap(&mut self, from: u64, to: u64, is_damaged: bool) {
        if is_damaged {
            self.contents
                .damage
                .push(format!("{} bytes of the log, from byte {from} on, make no sense", to - from));
        }
    }

    /// Takes a piece. False if it is not a valid one.
    fn take(&mut self, at: u64, header: &PieceHeader) -> io::Result<bool> {
        let behind = at + PIECE_HEADER_BYTES as u64;
        match header.kind() {
            Some(PieceKind::Slot | PieceKind::Large) if header.number != at => return Ok(false),
            Some(PieceKind::Slot) => {
                let thread = self.bytes(at.saturating_add(THREAD_AT as u64), THREAD_HEADER_BYTES as u64)?;
                self.slots.extend(ThreadHeader::read(&thread).map(|thread| (at, thread)));
            }
            Some(PieceKind::Large) => {}
            Some(kind @ (PieceKind::Chunk | PieceKind::Last)) => {
                if header.bytes > LARGE_TAIL_BYTES as u64 || behind + header.bytes > self.length {
                    return Ok(false);
                }
                self.take_chunk(behind, header, kind == PieceKind::Last)?;
            }
            Some(kind @ (PieceKind::Process | PieceKind::Map)) => {
                let bytes = self.bytes(behind, header.bytes.min(PAGE_BYTES as u64))?;
                if header.sum(&bytes) != header.checksum {
                    return Ok(false);
                }
                match kind {
                    PieceKind::Map => self.maps.entry(header.number).or_default().extend(bytes),
                    _ => self.contents.process.extend(bytes),
                }
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    fn take_chunk(&mut self, offset: u64, header: &PieceHeader, is_last: bool) -> io::Result<()> {
        let thread = self.threads.entry(header.thread).or_default();
        let mut bytes = header.bytes;
        let mut known = None;
        if is_last && let Some(records) = bytes.checked_sub(THREAD_HEADER_BYTES as u64) {
            bytes = records;
            let mut room = [0; THREAD_HEADER_BYTES];
            self.file.read_exact_at(&mut room, offset + records)?;
            known = ThreadHeader::read(&room);
        }
        thread.header = thread.header.or(known);
        thread.take(header.number, Extent { start: 0, offset, bytes, header: Some(*header) });
        Ok(())
    }

    /// Takes the records that a thread had in its tail when the process ended: the tail with the highest number, unless there is a chunk
    /// with this number. The other tails have become chunks, or were dropped because of the size limit.
    fn take_tails(&mut self, slot: u64, header: &ThreadHeader) -> io::Result<()> {
        let small = SMALL_TAIL_BYTES as u64;
        let mut tails = vec![(slot, 0, small), (slot, 1, small)];
        if header.large != 0 {
            tails.extend([0, 1].map(|number| (header.large, number, LARGE_TAIL_BYTES as u64)));
        }
        let mut last: Option<(u64, Extent)> = None;
        for (pair, number, bytes) in tails {
            let at = pair.saturating_add(PAGE_BYTES as u64 + number * bytes);
            let tail = PieceHeader::read(&self.bytes(at, PIECE_HEADER_BYTES as u64)?);
            let Some(tail) = tail.filter(|tail| tail.thread == header.number) else { continue };
            let offset = at + PIECE_HEADER_BYTES as u64;
            let bytes = (bytes - PIECE_HEADER_BYTES as u64).min(self.length.saturating_sub(offset)) & !7;
            if last.as_ref().is_none_or(|(number, _)| tail.number > *number) {
                last = Some((tail.number, Extent { start: 0, offset, bytes, header: None }));
            }
        }
        let thread = self.threads.entry(header.number).or_default();
        if let Some((number, extent)) = last
            && thread.chunks.last().is_none_or(|(written, _)| number > *written)
        {
            thread.take(number, extent);
        }
        thread.header.get_or_insert(*header);
        Ok(())
    }

    fn complete(self, path: &Path) -> io::Result<Contents> {
        let Finder { mut contents, maps, threads, .. } = self;
        let path: Arc<Path> = path.into();
        contents.maps = maps.into_values().collect();
        for (number, FoundThread { chunks, header }) in threads {
            let mut extents = Vec::with_capacity(chunks.len());
            let mut next = if contents.dropped_bytes == 0 { Some(0) } else { None };
            let starts_late = chunks.first().is_some_and(|(first, _)| *first > 0);
            let mut start = 0;
            for (chunk, extent) in chunks {
                if next.is_some_and(|next| next != chunk) {
                    contents
                        .damage
                        .push(format!("chunks of thread {number} before chunk {chunk} are missing"));
                }
                next = chunk.checked_add(1);
                extents.push(Extent { start, ..extent });
                start += extent.bytes;
            }
            let mut thread = ThreadLog::new(path.clone(), number, header, extents);
            thread.starts_late = starts_late && contents.dropped_bytes > 0;
            contents.threads.push(thread);
        }
        Ok(contents)
    }
}
