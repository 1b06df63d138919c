//! A log directory: what it says about the process, and the records of its threads.

use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use overtake_rawlog::{
    BriefAccess, Decoder, LOG_IS_FULL, OLDEST_READABLE_VERSION, PieceHeader, Record, ThreadHeader, VERSION,
    is_brief_access, process_keys,
};

use crate::error::{Error, Result};
use crate::{pieces, weave};

/// The log of one process.
#[derive(Debug)]
pub struct Log {
    /// The directory.
    pub directory: PathBuf,
    /// Process id.
    pub pid: u64,
    /// How the process ended, if it ended in an orderly way.
    pub ended: Option<String>,
    /// Events of threads that had ended or were never set up.
    pub lost_events: u64,
    /// The last stamp that belongs to the log, if threads went on while it was read.
    pub(crate) closed: Option<u64>,
    /// Bytes of records that were dropped to stay within the size limit.
    pub dropped_bytes: u64,
    /// Why records could not be written; empty if all were written.
    pub loss: String,
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
    /// The file that it is in, as those of all threads.
    pub path: Arc<Path>,
    /// Number in order of creation.
    pub number: u32,
    /// The kernel's thread id.
    pub tid: u32,
    /// Addresses of the stack, empty if unknown.
    pub stack: Range<u64>,
    /// Whether the thread ended in an orderly way.
    pub ended: bool,
    /// Bytes of records that could not be written.
    pub lost_bytes: u64,
    /// Whether its first records were dropped because of the size limit.
    pub(crate) starts_late: bool,
    /// The least number of accesses that were left out because they repeat others.
    pub coalesced: u64,
    /// Records of writes that each stand for all writes to the same bytes that were left out.
    pub closing_writes: u64,
    /// Where in the file its records are, in order.
    extents: Vec<Extent>,
}

/// Records of a thread that lie together in the file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    /// Bytes of records before these.
    pub(crate) start: u64,
    /// Where in the file they are.
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
    /// The header in front of them, with a checksum; none if the process ended before it was written.
    pub(crate) header: Option<PieceHeader>,
}

impl Log {
    /// Opens a log directory. What is damaged is left out and listed.
    pub fn open(directory: &Path) -> Result<Log> {
        let mut log = Log {
            directory: directory.to_owned(),
            pid: 0,
            ended: None,
            lost_events: 0,
            closed: None,
            dropped_bytes: 0,
            loss: String::new(),
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
        log.read_log_file();
        Ok(log)
    }

    /// Whether no record is missing from the log.
    pub(crate) fn is_complete(&self) -> bool {
        let is_lossless = self.lost_events == 0 && self.dropped_bytes == 0 && self.loss.is_empty();
        is_lossless && self.damage.is_empty() && self.threads.iter().all(|thread| thread.lost_bytes == 0)
    }

    fn read_log_file(&mut self) {
        let path = self.directory.join("threads");
        match pieces::read(&path) {
            Ok(contents) => {
                self.take_lines(&contents.process);
                self.maps = contents.maps;
                self.threads = contents.threads;
                self.dropped_bytes = contents.dropped_bytes;
                self.damage.extend(contents.damage);
                if let Ok(number @ 1..) = i32::try_from(contents.loss) {
                    self.loss = reason(number);
                }
            }
            Err(source) => self.damage.push(Error::io(&path, source).to_string()),
        }
    }

    fn read_process_file(&mut self) -> Result<()> {
        let path = self.directory.join("process");
        let text = fs::read(&path).map_err(|source| Error::io(&path, source))?;
        let lines = String::from_utf8_lossy(&text);
        let version =
            lines.lines().find_map(|line| line.strip_prefix(process_keys::VERSION)?.strip_prefix(' '));
        let version = version.unwrap_or_default();
        if !(OLDEST_READABLE_VERSION..=VERSION).any(|known| version == known.to_string()) {
            let message = format!(
                "expected a log of version {OLDEST_READABLE_VERSION} to {VERSION}, found version `{version}`"
            );
            return Err(Error::new(&path, message));
        }
        self.take_lines(&text);
        Ok(())
    }

    fn take_lines(&mut self, text: &[u8]) {
        for line in String::from_utf8_lossy(text).lines() {
            let (key, value) = line.split_once(' ').unwrap_or((line, ""));
            match key {
                process_keys::UNRECORDED => self.note_unrecorded(value),
                process_keys::PID => self.pid = value.parse().unwrap_or(0),
                process_keys::ENDED => self.ended = Some(value.to_owned()),
                process_keys::LOST => self.lost_events = value.parse().unwrap_or(0),
                process_keys::CLOSED => self.closed = value.parse().ok(),
                process_keys::DIRECTORY => self.working_directory = value.into(),
                _ => {}
            }
        }
    }

    /// A child process without a log.
    fn note_unrecorded(&mut self, line: &str) {
        let (process, reason) = line.split_once(' ').unwrap_or((line, ""));
        let reason = reason.parse().map_or_else(|_| "for an unknown reason".to_owned(), self::reason);
        self.damage.push(format!("child process {process} was not recorded: {reason}"));
    }
}

/// What an error number of the recorder means.
fn reason(number: i32) -> String {
    /// `ENOSYS`: the recorder notes this for system calls that it does not make because a filter of the program would kill the program.
    const FORBIDDEN: i32 = 38;
    match number {
        FORBIDDEN => "the program's own sandbox forbids it".to_owned(),
        LOG_IS_FULL => {
            "the log has taken half of the disk's free space; --max-size keeps the newest part".to_owned()
        }
        _ => io::Error::from_raw_os_error(number).to_string(),
    }
}

impl ThreadLog {
    pub(crate) fn new(
        path: Arc<Path>,
        number: u32,
        header: Option<ThreadHeader>,
        extents: Vec<Extent>,
    ) -> ThreadLog {
        let known = |of: fn(&ThreadHeader) -> u64| header.as_ref().map_or(0, of);
        ThreadLog {
            path,
            number,
            tid: header.map_or(0, |header| header.tid),
            stack: known(|header| header.stack_low)..known(|header| header.stack_high),
            ended: header.is_some_and(|header| header.ended != 0),
            lost_bytes: known(|header| header.lost_bytes),
            starts_late: false,
            coalesced: known(|header| header.coalesced),
            closing_writes: known(|header| header.closing_writes),
            extents,
        }
    }

    /// The first extent, if it is a chunk.
    fn first_chunk(&self) -> Option<&Extent> {
        self.extents.first().filter(|extent| extent.header.is_some())
    }

    /// Where in the file the first chunk is that is still there.
    pub(crate) fn offset_of_first_chunk(&self) -> Option<u64> {
        self.first_chunk().map(|extent| extent.offset)
    }

    /// Bytes of records up to the end of the first chunk.
    pub(crate) fn end_of_first_chunk(&self) -> Option<u64> {
        self.first_chunk().map(|extent| extent.start + extent.bytes)
    }

    /// Reads the records from the start.
    pub fn records(&self) -> Reader<'_> {
        Reader {
            log: self,
            decoder: Decoder::default(),
            bytes: Vec::new(),
            extents: self.extents.iter(),
            start: 0,
            next: 0,
            limit: 0,
            damaged: Vec::new(),
        }
    }
}

/// Reads the records of a thread, one extent after the other. Skips what was reserved but never filled, and extents that
/// do not match their checksum.
///
/// The file is open only while an extent is read: a program may have more threads than a process may have open files.
/// An offset is the number of bytes of records before.
#[derive(Debug)]
pub struct Reader<'a> {
    log: &'a ThreadLog,
    decoder: Decoder,
    bytes: Vec<u8>,
    /// The extents that are not read yet.
    extents: std::slice::Iter<'a, Extent>,
    /// Offset of the extent.
    start: u64,
    next: usize,
    /// Bytes of the extent.
    limit: usize,
    /// Chunks that were left out.
    damaged: Vec<u64>,
}

impl Reader<'_> {
    /// The next record; `None` at the end of the log.
    #[inline]
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        let mut record = Record::default();
        Ok(self.read_next(&mut record)?.then_some(record))
    }

    /// Puts the next record into `record`; false at the end of the log.
    #[inline]
    pub(crate) fn read_next(&mut self, record: &mut Record) -> Result<bool> {
        loop {
            if self.next >= self.limit {
                if !self.read_extent().map_err(|source| Error::io(&self.log.path, source))? {
                    return Ok(false);
                }
                continue;
            }
            match self.decoder.read(&self.bytes, self.next) {
                Some(read) => {
                    self.next += read.length * 8;
                    *record = read;
                    return Ok(true);
                }
                None => self.next += 8,
            }
        }
    }

    /// The next record without passing over it; `None` at the end of the log.
    pub(crate) fn peek(&mut self) -> Result<Option<Record>> {
        loop {
            if self.next >= self.limit {
                if !self.read_extent().map_err(|source| Error::io(&self.log.path, source))? {
                    return Ok(None);
                }
            } else if let Some(record) = self.decoder.peek(&self.bytes, self.next) {
                return Ok(Some(record));
            } else {
                self.next += 8;
            }
        }
    }

    /// Passes over the next record, which was peeked at.
    #[inline]
    pub(crate) fn pass(&mut self, record: &Record) {
        self.next += record.length * 8;
        self.decoder.pass(record);
    }

    /// The next record, if it is a brief access.
    #[inline]
    pub(crate) fn brief_access(&self) -> Option<BriefAccess> {
        self.decoder.brief_access(&self.bytes, self.next)
    }

    /// Passes over a brief access.
    #[inline]
    pub(crate) fn pass_brief_access(&mut self) {
        self.next += 8;
    }

    /// The program counters of the instructions that made the accesses of a run, in turn; only one, unless it is woven. It is a run that was
    /// peeked at or passed last.
    pub(crate) fn lanes(&self, run: &Record) -> impl Iterator<Item = u64> {
        weave::lanes(&self.bytes, run.offset).map(|place| self.decoder.program_counter(place))
    }

    /// Offset of the next record, or of something before it.
    #[inline]
    pub(crate) fn offset(&self) -> u64 {
        self.start + self.next as u64
    }

    /// The first record that `wanted` accepts, with its offset, from here to the end of the extent. It accepts no brief access.
    pub(crate) fn find_ahead<T>(&self, wanted: impl Fn(&Record) -> Option<T>) -> Option<(u64, T)> {
        let mut at = self.next;
        while at < self.limit {
            if is_brief_access(&self.bytes, at) {
                at += 8;
                continue;
            }
            let record = self.decoder.peek(&self.bytes, at);
            if let Some(found) = record.as_ref().and_then(&wanted) {
                return Some((self.start + at as u64, found));
            }
            at += record.map_or(8, |record| record.length * 8);
        }
        None
    }

    /// Offset of the first byte behind the extent.
    pub(crate) fn piece_end(&self) -> u64 {
        self.start + self.limit as u64
    }

    /// The numbers of the chunks that were left out so far because they are damaged.
    pub(crate) fn damaged(&self) -> &[u64] {
        &self.damaged
    }

    /// Reads the next extent; false at the end.
    #[cold]
    fn read_extent(&mut self) -> io::Result<bool> {
        self.start = self.piece_end();
        (self.next, self.limit) = (0, 0);
        let Some(extent) = self.extents.next() else { return Ok(false) };
        self.start = extent.start;
        self.bytes.resize(extent.header.map_or(extent.bytes, |header| header.bytes) as usize, 0);
        File::open(&self.log.path)?.read_exact_at(&mut self.bytes, extent.offset)?;
        match extent.header {
            Some(header) if header.sum(&self.bytes) != header.checksum => self.damaged.push(header.number),
            _ => self.limit = extent.bytes as usize & !7,
        }
        self.bytes.truncate(self.limit);
        weave::weave(&mut self.bytes);
        Ok(true)
    }
}
