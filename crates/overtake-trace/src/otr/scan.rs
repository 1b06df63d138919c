//! Finding the chunks of a file from front to back, in input that need not be seekable and may be damaged.

use std::io::Read;

use memchr::memmem;

use crate::error::Result;

use super::layout::{
    CHUNK_HEADER_BYTES, ChunkHeader, FILE_HEADER_BYTES, MARKER_PREFIX, SEAL, TRAILER_BYTES, Trailer,
    check_file_header, corrupt,
};

/// Bytes that are read at a time, at least, unless the input ends before.
const READ_BYTES: usize = 1 << 20;
/// Bytes that are searched for a marker at a time.
const SEARCH_BYTES: usize = 1 << 16;

/// Hands out intact chunks. Holds one chunk at a time, so memory is bounded by the largest payload allowed.
pub(super) struct ChunkScanner<R> {
    input: R,
    buffer: Vec<u8>,
    /// Where in `buffer` the part begins that has not been skipped.
    start: usize,
    /// Offset of that part in the file.
    offset: u64,
    ended: bool,
}

/// What comes next in a file.
pub(super) enum Found {
    /// A chunk whose checksums match; see [`ChunkScanner::payload`].
    Chunk(ChunkHeader),
    /// The trailer.
    Trailer(Trailer),
    /// The end of the input.
    End,
}

impl<R: Read> ChunkScanner<R> {
    pub(super) fn new(input: R) -> ChunkScanner<R> {
        ChunkScanner { input, buffer: Vec::new(), start: 0, offset: 0, ended: false }
    }

    /// Offset in the file of what comes next.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Skips the file header, or refuses it.
    pub(super) fn file_header(&mut self) -> Result<()> {
        check_file_header(self.available(FILE_HEADER_BYTES)?)?;
        self.skip(FILE_HEADER_BYTES);
        Ok(())
    }

    /// Looks at what comes next without skipping it.
    pub(super) fn peek(&mut self) -> Result<Found> {
        let bytes = self.available(TRAILER_BYTES)?;
        if bytes.is_empty() {
            return Ok(Found::End);
        }
        if bytes.starts_with(&SEAL) {
            let trailer = bytes.first_chunk().ok_or_else(|| cut_short(TRAILER_BYTES, bytes.len()))?;
            return Ok(Found::Trailer(Trailer::parse(trailer)?));
        }
        let header = bytes.first_chunk().ok_or_else(|| cut_short(CHUNK_HEADER_BYTES, bytes.len()))?;
        let header = ChunkHeader::parse(header)?;
        let chunk = self.available(header.chunk_bytes())?;
        if chunk.len() < header.chunk_bytes() {
            return Err(cut_short(header.chunk_bytes(), chunk.len()));
        }
        header.check_payload(&chunk[CHUNK_HEADER_BYTES..])?;
        Ok(Found::Chunk(header))
    }

    /// The payload of the chunk that [`peek`](Self::peek) found.
    pub(super) fn payload(&self, header: &ChunkHeader) -> &[u8] {
        &self.buffer[self.start + CHUNK_HEADER_BYTES..self.start + header.chunk_bytes()]
    }

    /// Skips bytes that were looked at.
    pub(super) fn skip(&mut self, count: usize) {
        debug_assert!(self.start + count <= self.buffer.len());
        self.start += count;
        self.offset += count as u64;
    }

    /// Skips damaged bytes, up to the next marker of a chunk or a trailer. Returns how many bytes were skipped.
    pub(super) fn resynchronise(&mut self) -> Result<u64> {
        let from = self.offset;
        if let Some(chunk_bytes) = self.damaged_chunk_bytes()? {
            self.skip(chunk_bytes);
            return Ok(self.offset - from);
        }
        self.available(1)?;
        self.skip(1.min(self.buffer.len() - self.start));
        loop {
            let bytes = self.available(SEARCH_BYTES)?;
            let length = bytes.len();
            match memmem::find(bytes, MARKER_PREFIX) {
                Some(distance) => self.skip(distance),
                // A marker may lie across the end of what was searched.
                None if length == SEARCH_BYTES => {
                    self.skip(length - MARKER_PREFIX.len() + 1);
                    continue;
                }
                None => self.skip(length),
            }
            return Ok(self.offset - from);
        }
    }

    /// The size of a damaged chunk whose header is intact, if something follows at the end that it states. Skipping the whole chunk
    /// avoids mistaking bytes inside its payload for a marker.
    fn damaged_chunk_bytes(&mut self) -> Result<Option<usize>> {
        let header = self.available(CHUNK_HEADER_BYTES)?.first_chunk().map(ChunkHeader::parse);
        let Some(Ok(header)) = header else { return Ok(None) };
        let after = self.available(header.chunk_bytes() + MARKER_PREFIX.len())?.get(header.chunk_bytes()..);
        Ok((after == Some(MARKER_PREFIX)).then_some(header.chunk_bytes()))
    }

    /// The next `count` bytes, fewer only at the end of the input.
    fn available(&mut self, count: usize) -> Result<&[u8]> {
        if self.buffer.len() - self.start < count && !self.ended {
            self.buffer.drain(..self.start);
            self.start = 0;
            let missing = count - self.buffer.len();
            let wanted = missing.max(READ_BYTES);
            let read = self.input.by_ref().take(wanted as u64).read_to_end(&mut self.buffer)?;
            self.ended = read < wanted;
        }
        let end = self.buffer.len().min(self.start + count);
        Ok(&self.buffer[self.start..end])
    }
}

#[cold]
fn cut_short(expected: usize, found: usize) -> crate::error::Error {
    corrupt(format!("file is cut short: expected {expected} bytes, found {found}"))
}
