//! Logs made by hand, and what sealing makes of them.
#![allow(dead_code, reason = "each test file uses some of this")]

use std::path::Path;

use overtake_rawlog::{CHUNKS_AT, HEADER_BYTES, RecordKind, TAILS, THREAD_MAGIC, VERSION, chunk_count, head};
use overtake_seal::{Sealed, seal};
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
}

impl LogMaker {
    pub(crate) fn new(threads: usize) -> LogMaker {
        let mut maker =
            LogMaker { stacks: vec![(0, 0); threads], in_chunks: vec![None; threads], ..LogMaker::default() };
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

    /// So did the process.
    pub(crate) fn exits(&mut self) -> &mut LogMaker {
        self.exits = true;
        self
    }

    /// What a thread records from now on is in the tail of its file.
    pub(crate) fn start_tail(&mut self, thread: usize) {
        let words = self.threads[thread].len();
        self.in_chunks[thread] = Some(words);
        let number = chunk_count(CHUNKS_AT + 8 * words as u64);
        self.raw(thread, &[head(RecordKind::Chunk, 0, 0), 0, number]);
    }

    /// The bytes of a thread's file.
    pub(crate) fn file(&self, thread: usize) -> Vec<u8> {
        let mut header = vec![0_u64; HEADER_BYTES / 8];
        header[0] = THREAD_MAGIC;
        header[1] = thread as u64;
        header[2] = u64::from(self.ended.contains(&thread)) << 32;
        (header[3], header[4]) = self.stacks[thread];
        header[7] = CHUNKS_AT;
        let words = &self.threads[thread];
        let (chunks, tail) = words.split_at(self.in_chunks[thread].unwrap_or(words.len()));
        header[8] = CHUNKS_AT + 8 * chunks.len() as u64;
        header.resize(CHUNKS_AT as usize / 8, 0);
        header.extend_from_slice(chunks);
        header[TAILS[0].0 / 8..][..tail.len()].copy_from_slice(tail);
        header.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// Writes the log into a directory.
    pub(crate) fn save(&self, directory: &Path) {
        let end = if self.exits { "ended exit\n" } else { "" };
        let process = format!("version {VERSION}\npid 7\n{end}");
        std::fs::write(directory.join("process"), process).expect("writable");
        std::fs::write(directory.join("cmdline"), b"program\0").expect("writable");
        for thread in 0..self.threads.len() {
            std::fs::write(directory.join(format!("thread.{thread}")), self.file(thread)).expect("writable");
        }
    }

    /// Seals the log; panics if the trace is not well formed.
    pub(crate) fn sealed(&self) -> SealedTrace {
        let directory = tempfile::tempdir().expect("writable");
        self.save(directory.path());
        seal_strictly(directory.path())
    }
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
    /// As [`lines`](Self::lines), without what operations do to their objects themselves, and without faults.
    pub(crate) fn order(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.retain(|line| {
            let operation = line.split('|').nth(1).unwrap_or_default();
            !["load.", "r(", "w(", "misuse("].iter().any(|start| operation.starts_with(start))
        });
        lines
    }
}

/// Seals a log and checks the trace as strictly as can be.
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
