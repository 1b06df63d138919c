//! A log directory: what it says of the process, and its thread files.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use overtake_rawlog::{
    CHUNKS_AT, Decoder, HEADER_BYTES, Record, RecordKind, TAILS, ThreadHeader, VERSION, chunk_count,
    process_keys,
};

use crate::error::{Error, Result};

/// The log of one process.
#[derive(Debug)]
pub struct Log {
    /// The directory.
    pub directory: PathBuf,
    /// Process id.
    pub pid: u64,
    /// How the process ended, if it did so in an orderly way.
    pub ended: Option<String>,
    /// Events of threads that were over or never set up.
    pub lost_events: u64,
    /// Working directory at the start.
    pub working_directory: PathBuf,
    /// The command line, as the process had it.
    pub command: Vec<String>,
    /// Memory maps, oldest first, as `/proc/self/maps` prints them. Paths may be any bytes.
    pub maps: Vec<Vec<u8>>,
    /// The threads in order of creation.
    pub threads: Vec<ThreadLog>,
    /// What could not be read, for people.
    pub damage: Vec<String>,
}

/// The log of one thread.
#[derive(Clone, Debug)]
pub struct ThreadLog {
    /// The file.
    pub path: PathBuf,
    /// Number in order of creation.
    pub number: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Addresses of the stack, empty if unknown.
    pub stack: Range<u64>,
    /// Whether the thread ended in an orderly way.
    pub ended: bool,
    /// Bytes of records that found no room on the disk.
    pub lost_bytes: u64,
    /// Bytes of records given up to stay within the size limit.
    pub dropped_bytes: u64,
    /// Accesses that were left out because they repeat others: at least so many.
    pub coalesced: u64,
    /// Writes that stand for all those left out to the same bytes.
    pub closing_writes: u64,
    /// Where in the file the chunks are.
    chunks: Range<u64>,
    /// Where in the file the records behind the chunks are.
    tail: Range<u64>,
}

impl Log {
    /// Opens a log directory. What is damaged is left out and listed.
    pub fn open(directory: &Path) -> Result<Log> {
        let mut log = Log {
            directory: directory.to_owned(),
            pid: 0,
            ended: None,
            lost_events: 0,
            working_directory: PathBuf::new(),
            command: Vec::new(),
            maps: Vec::new(),
            threads: Vec::new(),
            damage: Vec::new(),
        };
        log.read_process_file()?;
        if let Ok(command) = fs::read(directory.join("cmdline")) {
            let arguments = command.split(|&byte| byte == 0).filter(|argument| !argument.is_empty());
            log.command = arguments.map(|argument| String::from_utf8_lossy(argument).into_owned()).collect();
        }
        for number in 0.. {
            let Ok(map) = fs::read(directory.join(format!("maps.{number}"))) else { break };
            log.maps.push(map);
        }
        log.find_threads()?;
        Ok(log)
    }

    /// Whether every record that was made is in the log.
    pub(crate) fn is_complete(&self) -> bool {
        let lost = |thread: &ThreadLog| thread.lost_bytes > 0 || thread.dropped_bytes > 0;
        self.lost_events == 0 && self.damage.is_empty() && !self.threads.iter().any(lost)
    }

    fn read_process_file(&mut self) -> Result<()> {
        let path = self.directory.join("process");
        let text = fs::read(&path).map_err(|source| Error::io(&path, source))?;
        let mut version = String::new();
        for line in String::from_utf8_lossy(&text).lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                process_keys::VERSION => version = value.to_owned(),
                process_keys::PID => self.pid = value.parse().unwrap_or(0),
                process_keys::ENDED => self.ended = Some(value.to_owned()),
                process_keys::LOST => self.lost_events = value.parse().unwrap_or(0),
                process_keys::DIRECTORY => self.working_directory = value.into(),
                _ => {}
            }
        }
        if version != VERSION.to_string() {
            let message = format!("expected a log of version {VERSION}, found version `{version}`");
            return Err(Error::new(&path, message));
        }
        Ok(())
    }

    fn find_threads(&mut self) -> Result<()> {
        let entries = fs::read_dir(&self.directory).map_err(|source| Error::io(&self.directory, source))?;
        for entry in entries {
            let path = entry.map_err(|source| Error::io(&self.directory, source))?.path();
            if path.file_stem().is_some_and(|stem| stem == "thread") {
                match ThreadLog::open(&path) {
                    Ok(thread) => self.threads.push(thread),
                    Err(error) => self.damage.push(error.to_string()),
                }
            }
        }
        self.threads.sort_by_key(|thread| thread.number);
        self.threads.dedup_by_key(|thread| thread.number);
        self.damage.sort();
        Ok(())
    }
}

impl ThreadLog {
    fn open(path: &Path) -> Result<ThreadLog> {
        let mut bytes = [0; HEADER_BYTES];
        let failed = |source| Error::io(path, source);
        let mut file = File::open(path).map_err(failed)?;
        file.read_exact(&mut bytes).map_err(failed)?;
        let header = ThreadHeader::read(&bytes)
            .ok_or_else(|| Error::new(path, "expected the log of a thread, found something else"))?;
        let length = file.metadata().map_err(failed)?.len();
        let end = header.chunks_end.clamp(CHUNKS_AT, length.max(CHUNKS_AT));
        Ok(ThreadLog {
            path: path.to_owned(),
            number: header.number,
            tid: header.tid,
            stack: header.stack_low..header.stack_high,
            ended: header.ended != 0,
            lost_bytes: header.lost_bytes,
            dropped_bytes: header.dropped_bytes,
            coalesced: header.coalesced,
            closing_writes: header.closing_writes,
            chunks: (header.first_chunk.clamp(CHUNKS_AT, end) & !7)..end,
            tail: find_tail(&mut file, &header, length).map_err(failed)?,
        })
    }

    /// Reads the records from the start.
    pub fn records(&self) -> Reader<'_> {
        Reader {
            log: self,
            decoder: Decoder::default(),
            bytes: Vec::new(),
            start: self.chunks.start,
            next: 0,
            limit: 0,
        }
    }

    /// Offset behind the last record, if the tail followed the chunks in the file.
    fn end(&self) -> u64 {
        self.chunks.end + (self.tail.end - self.tail.start)
    }
}

/// The tail that goes on behind the chunks: the one that starts with the chunk of the next number.
fn find_tail(file: &mut File, header: &ThreadHeader, length: u64) -> io::Result<Range<u64>> {
    let next = chunk_count(header.chunks_end);
    for (offset, bytes) in TAILS.map(|(offset, bytes)| (offset as u64, bytes as u64)) {
        let mut first = Vec::new();
        file.seek(SeekFrom::Start(offset))?;
        file.take(LONGEST).read_to_end(&mut first)?;
        let goes_on = |record: Record| record.kind == RecordKind::Chunk && record.words[1] == next;
        if Decoder::default().read(&first, 0).is_some_and(goes_on) {
            return Ok(offset..(offset + bytes).min(length));
        }
    }
    Ok(0..0)
}

/// Files are read in pieces that end at multiples of this: large enough to make opening the file cheap, small enough for
/// thousands of threads at once.
pub(crate) const PIECE_BYTES: u64 = 128 << 10;

/// The longest record. A piece has so many bytes more, so that every record that starts in it is complete.
const LONGEST: u64 = 32;

/// Reads the records of a thread file, passing over what was reserved but never filled.
///
/// The file is open only while a piece of it is read: a program may have more threads than a process may have files.
/// Offsets are those in the file; the tail, which is in front of the chunks, counts as if it were behind them.
#[derive(Debug)]
pub struct Reader<'a> {
    log: &'a ThreadLog,
    decoder: Decoder,
    bytes: Vec<u8>,
    /// Offset of the piece.
    start: u64,
    next: usize,
    /// Records that start before here are in the piece, to their ends.
    limit: usize,
}

impl Reader<'_> {
    /// The next record; `None` at the end of the log.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        loop {
            if self.next >= self.limit {
                if !self.read_piece().map_err(|source| Error::io(&self.log.path, source))? {
                    return Ok(None);
                }
                continue;
            }
            let record = self.decoder.read(&self.bytes, self.next);
            self.next += record.map_or(8, |record| record.length * 8);
            if record.is_some() {
                return Ok(record);
            }
        }
    }

    /// Offset in the file of the next record, or of something before it.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.next as u64
    }

    /// The first record from here to the end of the piece that `wanted` accepts, with its offset.
    pub(crate) fn find_ahead<T>(&self, wanted: impl Fn(&Record) -> Option<T>) -> Option<(u64, T)> {
        let mut at = self.next;
        while at < self.limit {
            let record = self.decoder.peek(&self.bytes, at);
            if let Some(found) = record.as_ref().and_then(&wanted) {
                return Some((self.start + at as u64, found));
            }
            at += record.map_or(8, |record| record.length * 8);
        }
        None
    }

    /// Offset of the first byte behind the piece.
    pub(crate) fn piece_end(&self) -> u64 {
        self.start + self.limit as u64
    }

    /// Reads the next piece; false at the end.
    #[cold]
    fn read_piece(&mut self) -> io::Result<bool> {
        self.start = self.offset();
        let ThreadLog { path, chunks, tail, .. } = self.log;
        let (extent, place) = match self.start < chunks.end {
            true => (chunks.end, self.start),
            false => (self.log.end(), self.start - chunks.end + tail.start),
        };
        if self.start >= extent {
            (self.next, self.limit) = (0, 0);
            return Ok(false);
        }
        let end = extent.min((self.start / PIECE_BYTES + 1) * PIECE_BYTES);
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(place))?;
        self.bytes.clear();
        file.take(extent.min(end + LONGEST) - self.start).read_to_end(&mut self.bytes)?;
        self.next = 0;
        self.limit = (end - self.start) as usize;
        Ok(true)
    }
}
