//! The pieces of a log file.
//!
//! The first page is a [`FileHeader`]. After it, up to [`FileHeader::end`], come *pieces*, each with a [`PieceHeader`] in front. Room
//! for a piece is reserved before it is written, so that threads can write at the same time. If the process dies before it writes a
//! piece, that is a gap, which readers skip by looking for the next header.
//!
//! - [`PieceKind::Slot`] and [`PieceKind::Large`] are mapped and start at pages. A slot belongs to one thread at a time: its first
//!   page has a [`ThreadHeader`](crate::ThreadHeader) at [`THREAD_AT`] while a thread uses it, and two small *tails* follow. A large
//!   piece has two large tails behind its first page and belongs to the thread whose header names it. A thread records into a tail,
//!   which is mapped from the file and so survives the process. A full tail is copied into a piece of its own, and the thread
//!   continues in the other tail.
//! - [`PieceKind::Chunk`] is such a copy: records of a thread, with a number that counts up from 0. [`PieceKind::Last`] is the last chunk of a
//!   thread that has ended; its thread header follows the records. Both have a checksum.
//! - A tail starts with a header of kind [`PieceKind::Tail`]. The last tail of a thread counts if there is no chunk with its number.
//! - [`PieceKind::Process`] has lines like those of the `process` file, [`PieceKind::Map`] a part of the memory map with its number.

use crate::ThreadHeader;

/// First word of a log file.
pub const FILE_MAGIC: u64 = u64::from_le_bytes(*b"OVTKLOG6");
/// First word of a piece.
pub const PIECE_MAGIC: u64 = u64::from_le_bytes(*b"OVTKPCE6");

/// Bytes of the file header, and of the front of a slot or a large piece.
pub const PAGE_BYTES: usize = 4096;
/// Where in a slot the header of its thread is.
pub const THREAD_AT: usize = 64;
/// Bytes of a thread header.
pub const THREAD_HEADER_BYTES: usize = size_of::<ThreadHeader>();
/// Bytes of a piece's header.
pub const PIECE_HEADER_BYTES: usize = size_of::<PieceHeader>();

/// Size of the first chunks and tails of a thread. It is small because many threads do little.
pub const SMALL_TAIL_BYTES: usize = 8 << 10;
/// Size of later chunks and tails.
pub const LARGE_TAIL_BYTES: usize = 128 << 10;
/// Number of chunks that are written in small tails.
pub const SMALL_CHUNKS: u64 = 4;

/// Size of the tail in which the chunk with this number is written, including its header.
#[inline]
pub const fn tail_bytes(number: u64) -> usize {
    if number < SMALL_CHUNKS { SMALL_TAIL_BYTES } else { LARGE_TAIL_BYTES }
}

/// The first bytes of a log file.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct FileHeader {
    /// [`FILE_MAGIC`].
    pub magic: u64,
    /// Where the next piece goes.
    pub end: u64,
    /// Bytes of records that were dropped to stay within the size limit.
    pub dropped_bytes: u64,
    /// The error number of the first system call that failed to write records, or [`LOG_IS_FULL`]; 0 if none failed.
    pub loss: u64,
}

/// Records were not written because the log already had its share of the room on the disk. No system call fails with this number.
pub const LOG_IS_FULL: i32 = 4096;

/// What a piece is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u32)]
pub enum PieceKind {
    /// Two small tails of one thread.
    Slot = 1,
    /// Two large tails of one thread.
    Large = 2,
    /// Records of a thread.
    Chunk = 3,
    /// The last records of a thread, and its header.
    Last = 4,
    /// A tail.
    Tail = 5,
    /// Lines about the process.
    Process = 6,
    /// A part of a memory map.
    Map = 7,
}

/// The first bytes of a piece.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(C)]
pub struct PieceHeader {
    /// [`PIECE_MAGIC`].
    pub magic: u64,
    /// A [`PieceKind`].
    pub kind: u32,
    /// The thread of a chunk or a tail.
    pub thread: u32,
    /// The number of a chunk, a tail or a map; where a slot or a large piece is in the file.
    pub number: u64,
    /// Bytes behind this header; 0 for a tail.
    pub bytes: u64,
    /// Checksum of the bytes behind this header and of the fields above; 0 for pieces that are mapped.
    pub checksum: u64,
}

impl PieceHeader {
    /// The header at the start of these bytes; `None` if they are too few or something else.
    pub fn read(bytes: &[u8]) -> Option<PieceHeader> {
        let (words, _) = bytes.get(..PIECE_HEADER_BYTES)?.as_chunks::<8>();
        let word = |number: usize| words.get(number).map(|word| u64::from_le_bytes(*word));
        let (magic, what) = (word(0)?, word(1)?);
        let header = PieceHeader {
            magic,
            kind: what as u32,
            thread: (what >> 32) as u32,
            number: word(2)?,
            bytes: word(3)?,
            checksum: word(4)?,
        };
        (magic == PIECE_MAGIC && header.kind().is_some()).then_some(header)
    }

    /// The kind; `None` if it is unknown.
    pub const fn kind(&self) -> Option<PieceKind> {
        Some(match self.kind {
            1 => PieceKind::Slot,
            2 => PieceKind::Large,
            3 => PieceKind::Chunk,
            4 => PieceKind::Last,
            5 => PieceKind::Tail,
            6 => PieceKind::Process,
            7 => PieceKind::Map,
            _ => return None,
        })
    }

    /// Bytes of the whole piece.
    pub const fn size(&self) -> u64 {
        self.bytes.saturating_add(PIECE_HEADER_BYTES as u64 + 7) & !7
    }

    /// The checksum of this header and of `bytes` behind it, which are padded with zeros to whole words.
    ///
    /// There are two sums: the first adds the words, the second adds the first sum after each word. A changed word changes the first,
    /// exchanged words change the second. (This takes two additions for each word. Records are written so fast that a better checksum
    /// would cost noticeable time.)
    pub fn sum(&self, bytes: &[u8]) -> u64 {
        let mut sums = Sums { plain: 0, running: 0 };
        sums.add(u64::from(self.kind) | u64::from(self.thread) << 32);
        sums.add(self.number);
        sums.add(self.bytes);
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            sums.add(u64::from_le_bytes(*word));
        }
        if !rest.is_empty() {
            let byte = |at: usize| rest.get(at).copied().unwrap_or(0);
            sums.add((0..8).fold(0, |word, at| word | u64::from(byte(at)) << (8 * at)));
        }
        sums.running.rotate_left(32) ^ sums.plain
    }
}

struct Sums {
    plain: u64,
    running: u64,
}

impl Sums {
    #[inline(always)]
    fn add(&mut self, word: u64) {
        self.plain = self.plain.wrapping_add(word);
        self.running = self.running.wrapping_add(self.plain);
    }
}

impl FileHeader {
    /// The header at the start of a log file; `None` if the file is too short or something else.
    pub fn read(file: &[u8]) -> Option<FileHeader> {
        let (words, _) = file.get(..size_of::<FileHeader>())?.as_chunks::<8>();
        let word = |number: usize| words.get(number).map(|word| u64::from_le_bytes(*word));
        let header = FileHeader { magic: word(0)?, end: word(1)?, dropped_bytes: word(2)?, loss: word(3)? };
        (header.magic == FILE_MAGIC).then_some(header)
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    fn header(kind: u32) -> PieceHeader {
        PieceHeader { magic: PIECE_MAGIC, kind, thread: 3, number: 5, bytes: 24, checksum: 0 }
    }

    #[test]
    fn every_changed_byte_changes_the_sum() {
        let bytes: [u8; 30] = core::array::from_fn(|at| at as u8 * 7);
        let sum = header(3).sum(&bytes);
        for at in 0..bytes.len() {
            let mut changed = bytes;
            changed[at] ^= 0x40;
            assert_ne!(header(3).sum(&changed), sum);
        }
        assert_ne!(header(4).sum(&bytes), sum);
        let mut moved = bytes;
        moved[..16].rotate_left(8);
        assert_ne!(header(3).sum(&moved), sum);
        assert_eq!(header(3).sum(&bytes[..24]), header(3).sum(&bytes[..24]));
    }

    #[test]
    fn headers_of_unknown_kinds_are_none() {
        let bytes = |header: PieceHeader| {
            let words = [header.magic, u64::from(header.kind) | 3 << 32, 5, 24, 0];
            words.iter().flat_map(|word| word.to_le_bytes()).collect::<std::vec::Vec<u8>>()
        };
        assert_eq!(PieceHeader::read(&bytes(header(3))), Some(header(3)));
        assert_eq!(PieceHeader::read(&bytes(header(8))), None);
        assert_eq!(PieceHeader::read(&bytes(header(3))[..39]), None);
        assert_eq!(PieceHeader::read(&[0; 64]), None);
    }
}
