//! Bytes of an input: counted, looked at before they are read, decompressed.

use std::fmt;
use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::block::Progress;
use crate::error::{Error, ErrorKind, Position, Result};

/// A compressed file may hold a compressed file, but not without end.
const DEEPEST_COMPRESSION: usize = 4;

/// What an xz stream may ask for; the strongest preset needs a quarter of it.
const XZ_MEMORY_LIMIT: u64 = 256 << 20;

/// How far a file has been read; shared between the end that reads the file and the end that is asked.
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
        // A count for people: nothing else is read on the strength of it.
        Progress { bytes_read: self.bytes_read.load(Ordering::Relaxed), bytes_total: self.bytes_total }
    }
}

/// An input whose first bytes can be looked at before they are read.
pub(crate) struct Input {
    /// Bytes that were looked at, from `at` on still to be read.
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

    /// The contents of `input`, with every layer of compression taken off.
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

/// Compression formats, told apart by their first bytes.
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

    /// The decompressed contents, of all members or frames one after the other.
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

/// Whether an error is of the data and not of the operating system: decompressors make theirs without an OS code.
pub(crate) fn is_damage(error: &io::Error) -> bool {
    error.raw_os_error().is_none()
}

/// `error` as ours, at the byte of the file that was reached.
pub(crate) fn damaged(error: io::Error, progress: &InputProgress) -> Error {
    let position = Position::Offset(progress.get().bytes_read);
    if is_damage(&error) {
        let message = format!("expected intact compressed data, found: {error}");
        return Error::new(ErrorKind::Corrupt, position, message);
    }
    Error::from(error).at(position)
}
