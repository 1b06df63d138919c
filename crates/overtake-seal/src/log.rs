//! A log directory: what it says of the process, and its thread files.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use overtake_rawlog::{HEADER_BYTES, Record, ThreadHeader, VERSION, process_keys, split_head};

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
    /// Memory maps, oldest first, as `/proc/self/maps` prints them.
    pub maps: Vec<String>,
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
    first_chunk: u64,
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
            log.maps.push(String::from_utf8_lossy(&map).into_owned());
        }
        log.find_threads()?;
        Ok(log)
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
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(|source| Error::io(path, source))?;
        let header = ThreadHeader::read(&bytes)
            .ok_or_else(|| Error::new(path, "expected the log of a thread, found something else"))?;
        Ok(ThreadLog {
            path: path.to_owned(),
            number: header.number,
            tid: header.tid,
            stack: header.stack_low..header.stack_high,
            ended: header.ended != 0,
            lost_bytes: header.lost_bytes,
            dropped_bytes: header.dropped_bytes,
            first_chunk: header.first_chunk.max(HEADER_BYTES as u64) & !7,
        })
    }

    /// Reads the records from the start.
    pub fn records(&self) -> Reader<'_> {
        Reader {
            path: &self.path,
            bytes: Vec::new(),
            start: self.first_chunk,
            next: 0,
            limit: 0,
            at_end: false,
        }
    }
}

/// Files are read in pieces that end at multiples of this: large enough to make opening the file cheap, small enough for
/// thousands of threads at once.
pub(crate) const PIECE_BYTES: u64 = 128 << 10;

/// The longest record. A piece has so many bytes more, so that every record that starts in it is complete.
const LONGEST: u64 = 32;

/// Reads the records of a thread file, passing over what was reserved but never filled.
///
/// The file is open only while a piece of it is read: a program may have more threads than a process may have files.
#[derive(Debug)]
pub struct Reader<'a> {
    path: &'a Path,
    bytes: Vec<u8>,
    /// Offset of the piece in the file.
    start: u64,
    next: usize,
    /// Records that start before here are in the piece, to their ends.
    limit: usize,
    at_end: bool,
}

impl Reader<'_> {
    /// The next record; `None` at the end of the log.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        loop {
            if self.next >= self.limit {
                if self.at_end {
                    return Ok(None);
                }
                self.read_piece().map_err(|source| Error::io(self.path, source))?;
                continue;
            }
            let record = record_at(&self.bytes, self.next);
            self.next += record.map_or(8, |record| record.kind.words() * 8);
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
            let record = record_at(&self.bytes, at);
            if let Some(found) = record.as_ref().and_then(&wanted) {
                return Some((self.start + at as u64, found));
            }
            at += record.map_or(8, |record| record.kind.words() * 8);
        }
        None
    }

    /// Offset of the first byte behind the piece.
    pub(crate) fn piece_end(&self) -> u64 {
        self.start + self.limit as u64
    }

    #[cold]
    fn read_piece(&mut self) -> io::Result<()> {
        self.start = self.offset();
        let end = (self.start / PIECE_BYTES + 1) * PIECE_BYTES;
        let mut file = File::open(self.path)?;
        file.seek(SeekFrom::Start(self.start))?;
        self.bytes.clear();
        file.take(end + LONGEST - self.start).read_to_end(&mut self.bytes)?;
        self.next = 0;
        self.limit = self.bytes.len().min((end - self.start) as usize);
        self.at_end = (self.bytes.len() as u64) < end + LONGEST - self.start;
        if self.at_end {
            self.limit = self.bytes.len();
        }
        Ok(())
    }
}

/// The record whose first word is at `at`; `None` if no record starts there.
#[inline]
fn record_at(bytes: &[u8], at: usize) -> Option<Record> {
    let word = |number: usize| -> Option<u64> {
        Some(u64::from_le_bytes(*bytes.get(at + 8 * number..)?.first_chunk()?))
    };
    let (kind, extra, value) = split_head(word(0)?)?;
    let mut words = [0; 3];
    for (number, further) in words.iter_mut().enumerate().take(kind.words() - 1) {
        *further = word(number + 1).filter(|word| word >> 56 == 0)?;
    }
    Some(Record { offset: at, kind, extra, value, words })
}
