//! Where one thread is in its log, and when its next record comes.

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::LocationId;

use crate::code::Code;
use crate::error::Result;
use crate::log::{Reader, ThreadLog};
use crate::scan::{Stamp, ThreadScan, stamp_of};
use crate::stacks::{Node, ThreadStack};

/// The time of a record, and its rank among records of the same time: what lets others continue comes before what waits.
pub(super) type Moment = (u64, u8);

/// Where one thread is in its log.
pub(super) struct Cursor<'a> {
    pub(super) log: &'a ThreadLog,
    pub(super) scan: &'a ThreadScan,
    /// Reading begins at the thread's start, not before: of thousands of threads, few run at the same time.
    pub(super) reader: Reader<'a>,
    pub(super) started: bool,
    /// The next record, if it was read before and has to wait.
    pub(super) waiting: Option<Record>,
    pub(super) stack: ThreadStack,
    /// The stamps around the current accesses.
    pub(super) before: Stamp,
    pub(super) after: Stamp,
    /// The rest of the current accesses comes as late as possible.
    pub(super) is_late: bool,
    /// The latest time at which the thread may have ended.
    pub(super) end: u64,
    pub(super) recent: Vec<(Node, u64, LocationId)>,
    /// How many records of accesses without a stamp were done.
    pub(super) accesses: u64,
}

/// How many recently used locations each thread remembers; a power of two.
pub(super) const RECENT_LOCATIONS: usize = 256;

impl<'a> Cursor<'a> {
    pub(super) fn new(log: &'a ThreadLog, scan: &'a ThreadScan, end: u64) -> Cursor<'a> {
        let here = Stamp { offset: 0, time: scan.start };
        let reader = log.records();
        Cursor {
            log,
            scan,
            reader,
            started: false,
            waiting: None,
            stack: ThreadStack::default(),
            before: here,
            after: here,
            is_late: false,
            end,
            recent: Vec::new(),
            accesses: 0,
        }
    }

    pub(super) fn start(&mut self) -> Result<()> {
        if !std::mem::replace(&mut self.started, true) {
            self.recent = vec![(Node::ROOT, 0, LocationId::UNKNOWN); RECENT_LOCATIONS];
            self.enter_region(self.before.time)?;
        }
        Ok(())
    }

    /// Passes over the next record, which was peeked at.
    #[inline]
    pub(super) fn pass(&mut self, record: &Record) {
        if self.waiting.take().is_none() {
            self.reader.pass(record);
        }
    }

    /// A region without stamps starts here, at `time`. Finds the stamp that ends it.
    pub(super) fn enter_region(&mut self, time: u64) -> Result<()> {
        self.is_late = false;
        self.reader.peek()?; // reads on, if this is the end of an extent
        self.before = Stamp { offset: self.reader.offset(), time };
        let after = match self.reader.find_ahead(stamp_of) {
            Some((offset, time)) => Some(Stamp { offset, time }),
            None => self.scan.stamp_from(self.reader.piece_end()),
        };
        let end = Stamp { offset: self.reader.piece_end().max(self.before.offset + 1), time: self.end };
        self.after = after.unwrap_or(end);
        self.after.time = self.after.time.max(time);
        Ok(())
    }

    /// This record and the accesses after it come as late as possible.
    pub(super) fn wait(&mut self, record: Record) {
        self.waiting = Some(record);
        self.is_late = true;
    }

    /// The next record; none at the end.
    #[inline]
    pub(super) fn peek(&mut self) -> Result<Option<Record>> {
        self.waiting.map_or_else(|| self.reader.peek(), |waiting| Ok(Some(waiting)))
    }

    /// The time of a record, which is the next one.
    pub(super) fn moment_of(&self, next: &Record) -> Moment {
        if let Some(stamp) = stamp_of(next) {
            return (stamp.max(self.before.time), rank(next.kind));
        }
        if self.is_late {
            return (self.after.time, 0);
        }
        let length = self.after.offset.saturating_sub(self.before.offset).max(1);
        let done = (self.reader.offset() - self.before.offset).min(length);
        let time = u128::from(self.after.time - self.before.time) * u128::from(done) / u128::from(length);
        (self.before.time + time as u64, 1)
    }
}

/// Marks the program counter of a record with its map.
#[inline]
pub(super) fn mark(record: &mut Record, code: &Code) {
    match record.kind {
        RecordKind::Push => record.value = code.marked(record.value),
        RecordKind::Cut | RecordKind::Chunk | RecordKind::ThreadName => {}
        _ => record.words[0] = code.marked(record.words[0]),
    }
}

/// The order of records with equal stamps, which occur if the clock is coarse.
fn rank(kind: RecordKind) -> u8 {
    use RecordKind as K;
    match kind {
        K::Acquire | K::AcquireShared | K::Wait | K::SemaphoreWait | K::BarrierLeave => 2,
        // Who was about to wait may be woken.
        K::CondSignal => 1,
        K::CondWake | K::Join | K::ThreadStart | K::FdWait | K::FdMerge | K::Alloc | K::Map => 2,
        K::WaitForAll => 2,
        _ => 0,
    }
}
