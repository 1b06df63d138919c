//! Logs made by hand, and the traces that sealing makes of them.
#![allow(dead_code, reason = "each test file uses some of this")]

use std::path::Path;

use overtake_rawlog::{
    FILE_MAGIC, LARGE_TAIL_BYTES, PAGE_BYTES, PIECE_HEADER_BYTES, PIECE_MAGIC, PieceHeader, PieceKind,
    RecordKind, SMALL_TAIL_BYTES, THREAD_AT, THREAD_MAGIC, VERSION, head,
};
use overtake_seal::{Modules, Scanned, Sealed, seal};
use overtake_trace::{Block, Checker, Event, EventIndex, EventSink, Result, StdWriter, Symbols};

/// A log under construction.
#[derive(Default)]
pub(crate) struct LogMaker {
    threads: Vec<Vec<u64>>,
    stacks: Vec<(u64, u64)>,
    /// Words of each thread that are in chunks; the others are in the tail.
    in_chunks: Vec<Option<usize>>,
    clock: u64,
    ended: Vec<usize>,
    exits: bool,
    closed: Option<u64>,
    /// Words that each thread dropped at its start, and bytes it lost at its end.
    dropped: Vec<usize>,
    lost: Vec<u64>,
}

impl LogMaker {
    pub(crate) fn new(threads: usize) -> LogMaker {
        let mut maker =
            LogMaker { stacks: vec![(0, 0); threads], in_chunks: vec![None; threads], ..LogMaker::default() };
        (maker.dropped, maker.lost) = (vec![0; threads], vec![0; threads]);
        maker.threads.resize(threads, Vec::new());
        for thread in 0..threads {
            maker.raw(thread, &[head(RecordKind::Chunk, 0, 0), 0, 0]);
        }
        maker
    }

    pub(crate) fn with_stack(mut self, thread: usize, low: u64, high: u64) -> LogMaker {
        self.stacks[thread] = (low, high);
        self
    }

    pub(crate) fn raw(&mut self, thread: usize, words: &[u64]) {
        if self.lost[thread] > 0 {
            return;
        }
        self.threads[thread].extend_from_slice(words);
    }

    /// A record with a stamp later than all before it.
    pub(crate) fn sync(&mut self, thread: usize, kind: RecordKind, value: u64) -> &mut LogMaker {
        self.sync_with(thread, kind, 0, value, 0)
    }

    pub(crate) fn sync_with(
        &mut self,
        thread: usize,
        kind: RecordKind,
        extra: u8,
        value: u64,
        number: u64,
    ) -> &mut LogMaker {
        self.clock += 10;
        let words = [head(kind, extra, value), 0x1000, self.clock, number];
        self.raw(thread, &words[..kind.words()]);
        self
    }

    pub(crate) fn access(
        &mut self,
        thread: usize,
        kind: RecordKind,
        address: u64,
        bytes: u8,
    ) -> &mut LogMaker {
        self.raw(thread, &[head(kind, bytes, address), 0x2000 + thread as u64]);
        self
    }

    pub(crate) fn write(&mut self, thread: usize, address: u64, bytes: u8) -> &mut LogMaker {
        self.access(thread, RecordKind::Write, address, bytes)
    }

    pub(crate) fn read(&mut self, thread: usize, address: u64, bytes: u8) -> &mut LogMaker {
        self.access(thread, RecordKind::Read, address, bytes)
    }

    /// The thread ended in an orderly way.
    pub(crate) fn end(&mut self, thread: usize) -> &mut LogMaker {
        self.ended.push(thread);
        self
    }

    /// The process ended by `exit`.
    pub(crate) fn exits(&mut self) -> &mut LogMaker {
        self.exits = true;
        self
    }

    /// The log is handed over: what follows happens while it is read.
    pub(crate) fn close(&mut self) -> &mut LogMaker {
        self.closed = Some(self.clock);
        self
    }

    /// The size limit drops what a thread recorded so far.
    pub(crate) fn drop_oldest(&mut self, thread: usize) {
        self.dropped[thread] = self.threads[thread].len();
        self.raw(thread, &[head(RecordKind::Chunk, 0, 0), self.clock, 1]);
    }

    /// There is no room on the disk for what a thread does from now on.
    pub(crate) fn lose_newest(&mut self, thread: usize) {
        self.lost[thread] = 8;
    }

    /// What a thread records from now on is in its tail.
    pub(crate) fn start_tail(&mut self, thread: usize) {
        let words = self.threads[thread].len();
        self.in_chunks[thread] = Some(words);
        let number = self.threads[thread].chunks(CHUNK_WORDS).count() as u64;
        self.raw(thread, &[head(RecordKind::Chunk, 0, 0), 0, number]);
    }

    /// The words of a thread that are in chunks and in its tail.
    fn kept(&self, thread: usize) -> (&[u64], &[u64]) {
        let words = &self.threads[thread];
        let (chunks, tail) = words.split_at(self.in_chunks[thread].unwrap_or(words.len()));
        (&chunks[self.dropped[thread]..], tail)
    }

    /// The number of a thread's first chunk in the log.
    fn first_chunk(&self, thread: usize) -> u64 {
        u64::from(self.dropped[thread] > 0)
    }

    /// The bytes of the log file: a slot for each thread, then the chunks.
    pub(crate) fn file(&self) -> Vec<u8> {
        let mut file = vec![0; PAGE_BYTES];
        let dropped = 8 * self.dropped.iter().sum::<usize>() as u64;
        file[..24].copy_from_slice(&bytes(&[FILE_MAGIC, 0, dropped]));
        for thread in 0..self.threads.len() {
            let (chunks, tail) = self.kept(thread);
            let at = file.len();
            let slot = PAGE_BYTES + 2 * SMALL_TAIL_BYTES;
            file.extend(piece(PieceKind::Slot, 0, at as u64, &vec![0; slot - PIECE_HEADER_BYTES]));
            let (low, high) = self.stacks[thread];
            let ended = u64::from(self.ended.contains(&thread)) << 32;
            let header = [THREAD_MAGIC, thread as u64, ended, low, high, 0, self.lost[thread]];
            file[at + THREAD_AT..][..56].copy_from_slice(&bytes(&header));
            let number = self.first_chunk(thread) + chunks.chunks(CHUNK_WORDS).count() as u64;
            let mut last = piece(PieceKind::Tail, thread as u32, number, &[]);
            last.extend(bytes(tail));
            if !tail.is_empty() {
                file[at + PAGE_BYTES..][..last.len()].copy_from_slice(&last);
            }
        }
        for thread in 0..self.threads.len() {
            let (chunks, _) = self.kept(thread);
            for (number, chunk) in (self.first_chunk(thread)..).zip(chunks.chunks(CHUNK_WORDS)) {
                file.extend(piece(PieceKind::Chunk, thread as u32, number, &bytes(chunk)));
            }
            file.resize(file.len().next_multiple_of(8), 0);
        }
        file
    }

    /// Writes the log into a directory.
    pub(crate) fn save(&self, directory: &Path) {
        let end = if self.exits { "ended exit\n" } else { "" };
        let closed = self.closed.map_or(String::new(), |stamp| format!("closed {stamp}\n"));
        let process = format!("version {VERSION}\npid 7\n{end}{closed}");
        std::fs::write(directory.join("process"), process).expect("writable");
        std::fs::write(directory.join("cmdline"), b"program\0").expect("writable");
        std::fs::write(directory.join("threads"), self.file()).expect("writable");
    }

    /// Seals a log with missing records, so that the trace needs repairs.
    pub(crate) fn sealed_with_gaps(&self) -> SealedTrace {
        let directory = tempfile::tempdir().expect("writable");
        self.save(directory.path());
        let mut sink = Kept::default();
        let sealed = seal(directory.path(), &mut sink).expect("the log can be sealed");
        SealedTrace { sealed, events: sink.events }
    }

    /// Seals the log; panics if the trace is not well formed, or has fewer events than the first pass promised.
    pub(crate) fn sealed(&self) -> SealedTrace {
        let directory = tempfile::tempdir().expect("writable");
        self.save(directory.path());
        let scanned = Scanned::of(directory.path()).expect("the log can be read");
        let trace = seal_strictly(directory.path());
        let least = scanned.least_events(&Modules::default());
        assert!(least <= trace.sealed.events, "{least} of {}", trace.sealed.events);
        trace
    }
}

/// Words of a chunk. (Real chunks have fewer: a record that crosses from one to the next would be lost.)
const CHUNK_WORDS: usize = LARGE_TAIL_BYTES / 8;

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

/// A piece of a log file.
fn piece(kind: PieceKind, thread: u32, number: u64, bytes: &[u8]) -> Vec<u8> {
    let length = bytes.len() as u64;
    let mut header =
        PieceHeader { magic: PIECE_MAGIC, kind: kind as u32, thread, number, bytes: length, checksum: 0 };
    if matches!(kind, PieceKind::Chunk) {
        header.checksum = header.sum(bytes);
    }
    let what = u64::from(header.kind) | u64::from(header.thread) << 32;
    let mut piece = self::bytes(&[header.magic, what, header.number, header.bytes, header.checksum]);
    piece.extend(bytes);
    piece
}

/// A sealed log.
pub(crate) struct SealedTrace {
    pub(crate) sealed: Sealed,
    pub(crate) events: Vec<Event>,
}

impl SealedTrace {
    /// One line of text per event: thread and operation.
    pub(crate) fn lines(&self) -> Vec<String> {
        let mut text = Vec::new();
        let mut writer = StdWriter::new(&mut text);
        writer.write(&self.events, &self.sealed.symbols).expect("a string takes all");
        writer.finish(&self.sealed.symbols).expect("a string takes all");
        drop(writer);
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().map(|line| line.split('|').take(2).collect::<Vec<_>>().join("|")).collect()
    }
}

impl SealedTrace {
    /// As [`lines`](Self::lines), without plain accesses, loads and faults: only what orders threads.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| {
            let operation = line.split('|').nth(1).unwrap_or_default();
            !["load.", "r(", "w(", "misuse("].iter().any(|start| operation.starts_with(start))
        });
        lines
    }
}

/// Seals a log and checks the trace with the strict checker.
pub(crate) fn seal_strictly(directory: &Path) -> SealedTrace {
    let mut sink = Kept::default();
    let sealed = seal(directory, &mut sink).expect("the log can be sealed");
    assert_eq!(sealed.events, sink.events.len() as u64);
    let mut symbols = sealed.symbols.clone();
    let mut block = Block { first: EventIndex(0), events: sink.events.clone() };
    Checker::strict().check(&mut block, &mut symbols).expect("a well-formed trace");
    SealedTrace { sealed, events: sink.events }
}

#[derive(Default)]
struct Kept {
    events: Vec<Event>,
}

impl EventSink for Kept {
    fn write(&mut self, events: &[Event], _: &Symbols) -> Result<()> {
        self.events.extend_from_slice(events);
        Ok(())
    }

    fn finish(&mut self, _: &Symbols) -> Result<()> {
        Ok(())
    }
}
