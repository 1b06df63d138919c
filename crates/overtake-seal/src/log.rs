//! A log directory: what it says of the process, and its thread files.

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use overtake_rawlog::{HEADER_BYTES, RecordKind, THREAD_MAGIC, VERSION, process_keys, split_head};

use crate::error::{Error, Result};

/// The log of one process.
#[derive(Debug)]
pub struct Log {
    /// The directory.
    pub directory: PathBuf,
    /// Process id.
    pub pid: u64,
    /// Whether the process ended in an orderly way.
    pub ended: bool,
    /// Accesses of threads that were over or never set up.
    pub lost_accesses: u64,
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
    /// Name, empty if it has none.
    pub name: String,
    /// The kernel's thread id.
    pub tid: u32,
    /// Addresses of the stack, empty if unknown.
    pub stack: std::ops::Range<u64>,
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
            ended: false,
            lost_accesses: 0,
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
        let text = fs::read_to_string(&path).map_err(|source| Error::io(&path, source))?;
        for line in text.lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                process_keys::VERSION if value != VERSION.to_string() => {
                    let message = format!("expected a log of version {VERSION}, found version {value}");
                    return Err(Error::new(&path, message));
                }
                process_keys::PID => self.pid = value.parse().unwrap_or(0),
                process_keys::ENDED => self.ended = true,
                process_keys::LOST => self.lost_accesses = value.parse().unwrap_or(0),
                _ => {}
            }
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
        Ok(())
    }
}

impl ThreadLog {
    fn open(path: &Path) -> Result<ThreadLog> {
        let mut bytes = [0; 128];
        File::open(path)
            .and_then(|mut file| file.read_exact(&mut bytes))
            .map_err(|source| Error::io(path, source))?;
        let word = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| bytes[at + i]));
        let half = |at: usize| word(at) as u32;
        if word(0) != THREAD_MAGIC {
            return Err(Error::new(path, "expected the log of a thread, found something else"));
        }
        // The layout of `overtake_rawlog::ThreadHeader`.
        let name = &bytes[80..96];
        let name = &name[..name.iter().position(|&byte| byte == 0).unwrap_or(name.len())];
        Ok(ThreadLog {
            path: path.to_owned(),
            number: half(8),
            tid: half(16),
            ended: half(20) != 0,
            stack: word(24)..word(32),
            lost_bytes: word(40),
            first_chunk: word(48).max(HEADER_BYTES as u64),
            dropped_bytes: word(56),
            name: String::from_utf8_lossy(name).into_owned(),
        })
    }

    /// The records, in order.
    pub fn records(&self) -> Result<Records> {
        let mut file = File::open(&self.path).map_err(|source| Error::io(&self.path, source))?;
        file.seek(SeekFrom::Start(self.first_chunk)).map_err(|source| Error::io(&self.path, source))?;
        Ok(Records { file, buffer: vec![0; BUFFER_BYTES], next: 0, end: 0, at_end: false })
    }
}

/// One record.
#[derive(Clone, Copy, Debug)]
pub struct Record {
    /// What it says.
    pub kind: RecordKind,
    /// The eight extra bits.
    pub extra: u8,
    /// The address or number.
    pub value: u64,
    /// The further words; zero where the record has none. For most records: program counter, stamp, a number.
    pub words: [u64; 3],
}

impl Record {
    /// The stamp, for records that have one.
    pub fn stamp(&self) -> Option<u64> {
        (self.kind.words() >= 3 && !matches!(self.kind, RecordKind::ReadRange | RecordKind::WriteRange))
            .then_some(self.words[1])
    }
}

const BUFFER_BYTES: usize = 1 << 20;

/// Reads the records of a thread file, passing over what was reserved but never filled.
#[derive(Debug)]
pub struct Records {
    file: File,
    buffer: Vec<u8>,
    next: usize,
    end: usize,
    at_end: bool,
}

impl Records {
    /// The next record; `None` at the end of the log.
    #[inline]
    pub fn next(&mut self) -> io::Result<Option<Record>> {
        loop {
            if self.end - self.next < 32 && !self.at_end {
                self.refill()?;
            }
            if self.end - self.next < 8 {
                return Ok(None);
            }
            let Some((kind, extra, value)) = split_head(self.word(0)) else {
                self.next += 8;
                continue;
            };
            let count = kind.words();
            if self.end - self.next < count * 8 {
                return Ok(None); // cut short within a record
            }
            let mut words = [0; 3];
            for (at, word) in words.iter_mut().enumerate().take(count - 1) {
                *word = self.word(at + 1);
            }
            self.next += count * 8;
            return Ok(Some(Record { kind, extra, value, words }));
        }
    }

    #[inline]
    fn word(&self, at: usize) -> u64 {
        let start = self.next + at * 8;
        u64::from_le_bytes(std::array::from_fn(|i| self.buffer[start + i]))
    }

    fn refill(&mut self) -> io::Result<()> {
        self.buffer.copy_within(self.next..self.end, 0);
        self.end -= self.next;
        self.next = 0;
        while self.end < BUFFER_BYTES {
            let count = self.file.read(&mut self.buffer[self.end..])?;
            if count == 0 {
                self.at_end = true;
                break;
            }
            self.end += count;
        }
        Ok(())
    }
}
