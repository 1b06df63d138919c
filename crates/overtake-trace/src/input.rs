//! Bytes of an input: counted, decompressed, with a look at the first ones before they are read.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::Progress;
use crate::error::{Error, ErrorKind, Position, Result};

/// Layers of compression, one inside the other, that are accepted.
const DEEPEST_COMPRESSION: usize = 4;

/// Memory that an xz stream may ask for; the strongest preset needs a quarter of it.
const XZ_MEMORY_LIMIT: u64 = 256 << 20;

/// How far a file has been read; shared between the code that reads the file and the code that reports progress.
#[derive(Clone, Default, Debug)]
pub(crate) struct InputProgress {
    bytes_read: Arc<AtomicU64>,
    bytes_total: Option<u64>,
}

impl InputProgress {
    /// Nothing read yet of a file of `bytes_total` bytes.
    pub(crate) fn new(bytes_total: Option<u64>) -> InputProgress {
        InputProgress { bytes_read: Arc::default(), bytes_total }
    }

    /// What was read so far.
    pub(crate) fn get(&self) -> Progress {
        // Relaxed is enough: the count is only shown to people, and orders no other reads.
        Progress { bytes_read: self.bytes_read.load(Ordering::Relaxed), bytes_total: self.bytes_total }
    }
}

/// An input that lets callers look at its first bytes before they read them.
pub(crate) struct Input {
    /// Bytes that were looked at. Those from `at` on are still to be read.
    seen: Vec<u8>,
    at: usize,
    rest: Box<dyn Read + Send>,
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input").field("seen", &self.seen.len()).field("at", &self.at).finish_non_exhaustive()
    }
}

impl Input {
    fn new(rest: impl Read + Send + 'static) -> Input {
        Input { seen: Vec::new(), at: 0, rest: Box::new(rest) }
    }

    /// The contents of `input`, with every layer of compression removed.
    pub(crate) fn decompressed(input: impl Read + Send + 'static, progress: &InputProgress) -> Result<Input> {
        let mut input = Input::new(Counted { input, progress: progress.clone() });
        for _ in 0..=DEEPEST_COMPRESSION {
            let start = input.peek(MAGIC_BYTES).map_err(|error| damaged(error, progress))?;
            let Some(compression) = Compression::of(start) else { return Ok(input) };
            input = compression.open(input).map_err(|error| damaged(error, progress))?;
        }
        let message = format!("expected at most {DEEPEST_COMPRESSION} layers of compression, found more");
        Err(Error::new(ErrorKind::Unsupported, Position::Offset(0), message))
    }

    /// The first `count` bytes, or fewer if the input is shorter. Nothing may have been read yet.
    pub(crate) fn peek(&mut self, count: usize) -> io::Result<&[u8]> {
        debug_assert_eq!(self.at, 0);
        while self.seen.len() < count {
            let before = self.seen.len();
            self.seen.resize(count, 0);
            let read = self.rest.read(&mut self.seen[before..]);
            self.seen.truncate(before + *read.as_ref().unwrap_or(&0));
            match read {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(&self.seen[..count.min(self.seen.len())])
    }
}

impl Read for Input {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.at == self.seen.len() {
            return self.rest.read(buffer);
        }
        let count = buffer.len().min(self.seen.len() - self.at);
        buffer[..count].copy_from_slice(&self.seen[self.at..self.at + count]);
        self.at += count;
        Ok(count)
    }
}

/// Counts the bytes that pass through.
struct Counted<R> {
    input: R,
    progress: InputProgress,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.input.read(buffer)?;
        self.progress.bytes_read.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}

/// Compression formats, recognised by their first bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Compression {
    Gzip,
    Zstd,
    Xz,
}

const MAGIC_BYTES: usize = 6;

impl Compression {
    fn of(start: &[u8]) -> Option<Compression> {
        match start {
            [0x1f, 0x8b, ..] => Some(Compression::Gzip),
            [0x28, 0xb5, 0x2f, 0xfd, ..] => Some(Compression::Zstd),
            [0xfd, b'7', b'z', b'X', b'Z', 0, ..] => Some(Compression::Xz),
            _ => None,
        }
    }

    /// The decompressed contents of all members or frames, one after the other.
    fn open(self, input: Input) -> io::Result<Input> {
        Ok(match self {
            Compression::Gzip => Input::new(flate2::read::MultiGzDecoder::new(input)),
            Compression::Zstd => Input::new(zstd::stream::read::Decoder::new(input)?),
            Compression::Xz => {
                let stream = liblzma::stream::Stream::new_stream_decoder(
                    XZ_MEMORY_LIMIT,
                    liblzma::stream::CONCATENATED,
                )?;
                Input::new(liblzma::read::XzDecoder::new_stream(input, stream))
            }
        })
    }
}

/// Whether the data caused the error, not the operating system: errors of decompressors have no OS code.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

/// `error` as an [`Error`], at the byte of the file that was reached.
pub(crate) fn damaged(error: io::Error, progress: &InputProgress) -> Error {
    let position = Position::Offset(progress.get().bytes_read);
    if is_damage(&error) {
        let message = format!("expected intact compressed data, found: {error}");
        return Error::new(ErrorKind::Corrupt, position, message);
    }
    Error::from(error).at(position)
}
