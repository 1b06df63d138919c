//! The first pass over a log: how accesses divide memory into variables, and where stamps are.

use std::thread;

use overtake_rawlog::{Record, RecordKind, split_atomic_extra, split_block_size};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::error::Result;
use crate::log::{Log, ThreadLog};
use crate::merge::Rewritten;
use crate::pages::Cuts;
use crate::weave;

/// Where a stamp is among the records of a thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stamp {
    pub(crate) offset: u64,
    pub(crate) time: u64,
}

/// What the first pass finds out about a thread.
#[derive(Clone, Debug, Default)]
pub(crate) struct ThreadScan {
    /// When it starts.
    pub(crate) start: u64,
    /// Its last stamp.
    pub(crate) last: u64,
    /// The first stamp in each extent that has one.
    stamps: Vec<Stamp>,
}

impl ThreadScan {
    /// The first stamp at or after an offset, which is the start of an extent.
    pub(crate) fn stamp_from(&self, piece: u64) -> Option<Stamp> {
        let at = self.stamps.partition_point(|stamp| stamp.offset < piece);
        self.stamps.get(at).copied()
    }
}

/// What the first pass finds out.
#[derive(Default)]
pub(crate) struct Scan {
    pub(crate) cuts: Cuts,
    /// One entry per thread, in the order of [`Log::threads`].
    pub(crate) threads: Vec<ThreadScan>,
    /// Names of threads, by number.
    pub(crate) names: FxHashMap<u64, (u64, String)>,
    /// When threads were forked, by number.
    pub(crate) forks: FxHashMap<u64, u64>,
    /// When threads were joined, by number.
    joins: FxHashMap<u64, u64>,
    /// The largest stamp of all.
    pub(crate) last_stamp: u64,
    /// When synchronisation objects were created or destroyed last, by address.
    changed: FxHashMap<u64, u64>,
    /// Where bytes are that a thread wrote again after their recorded write.
    pub(crate) rewritten: Rewritten,
    /// Chunks that do not match their checksums, for people.
    pub(crate) damage: Vec<String>,
    /// How many ranges were too long to be valid and were cut.
    pub(crate) shortened: u64,
    /// Whether compiled code called the recorder, not only libc functions that are interposed.
    pub(crate) has_instrumented_code: bool,
    /// Whether there are locks or atomic operations.
    pub(crate) has_locks: bool,
    /// So many records become an event or several, if nothing is left out: accesses, and locks that are taken and given back.
    pub(crate) certain_events: u64,
    /// Whether some memory is not checked.
    pub(crate) has_unchecked_memory: bool,
}

/// Longest range of one record. Longer ones are damage and are cut.
pub(crate) const LONGEST_RANGE: u64 = 1 << 30;

/// The stamp of a record that synchronises. The stamp of a chunk only repeats an earlier one.
#[inline]
pub(crate) fn stamp_of(record: &Record) -> Option<u64> {
    if record.kind == RecordKind::Chunk { None } else { record.stamp() }
}

/// How many bytes one access of a record has; 0 if the record is not an access.
#[inline]
pub(crate) fn accessed_bytes(record: &Record) -> u64 {
    match record.kind {
        RecordKind::Read | RecordKind::Write | RecordKind::WriteAgain => u64::from(record.extra),
        RecordKind::ReadRun | RecordKind::WriteRun => u64::from(record.extra),
        RecordKind::ReadRange | RecordKind::WriteRange | RecordKind::WriteAgainRange => {
            record.words[1].min(LONGEST_RANGE)
        }
        RecordKind::AtomicLoad | RecordKind::AtomicStore | RecordKind::AtomicRmw => {
            split_atomic_extra(record.extra).0.min(16)
        }
        _ => 0,
    }
}

/// The ranges of bytes that a record accesses, as addresses and lengths. Accesses of a run that are side by side are
/// one range; others are ranges at equal distances.
#[inline]
pub(crate) fn ranges(record: &Record) -> impl Iterator<Item = (u64, u64)> + use<> {
    let bytes = accessed_bytes(record);
    let (stride, count, _) = match record.kind {
        RecordKind::ReadRun | RecordKind::WriteRun => weave::split(record.words[1], bytes),
        _ => (0, 1, 1),
    };
    let is_solid = count > 1 && stride.unsigned_abs() == bytes;
    let lowest = if is_solid && stride < 0 { stride.wrapping_mul(count as i64 - 1) } else { 0 };
    let first = record.value.wrapping_add_signed(lowest);
    let (count, bytes) = if is_solid { (1, bytes * count) } else { (count, bytes) };
    (0..count)
        .map(move |number| (first.wrapping_add_signed(stride.wrapping_mul(number as i64)) & ADDRESSES, bytes))
}

/// The addresses of programs. Damaged runs may lead beyond them.
const ADDRESSES: u64 = (1 << 48) - 1;

/// Reads the log of every thread once, on all cores. If threads cannot be started, the calling thread does the work.
pub(crate) fn scan(log: &Log) -> Result<Scan> {
    let workers = thread::available_parallelism().map_or(1, usize::from).min(log.threads.len().max(1));
    let work = |worker: usize| {
        let mut scan = Scan::default();
        let mine = log.threads.iter().enumerate().skip(worker).step_by(workers);
        let threads = mine.map(|(at, log)| Ok((at, scan.thread(log)?))).collect::<Result<Vec<_>>>()?;
        Ok((scan, threads))
    };
    let scans = thread::scope(|scope| {
        let started = (0..workers).map(|worker| {
            thread::Builder::new().spawn_scoped(scope, move || work(worker)).map_err(|_| worker)
        });
        // All threads are started before the first is joined.
        let started: Vec<_> = started.collect();
        let done = started.into_iter().map(|started| match started {
            Ok(running) => running.join().expect("a scan does not panic"),
            Err(worker) => work(worker),
        });
        done.collect::<Result<Vec<_>>>()
    })?;
    let mut all = Scan { threads: vec![ThreadScan::default(); log.threads.len()], ..Scan::default() };
    for (scan, threads) in scans {
        all.add(scan);
        for (at, thread) in threads {
            all.threads[at] = thread;
        }
    }
    all.damage.sort();
    Ok(all)
}

impl Scan {
    fn add(&mut self, other: Scan) {
        self.cuts.add(other.cuts);
        self.last_stamp = self.last_stamp.max(other.last_stamp);
        self.shortened += other.shortened;
        self.damage.extend(other.damage);
        self.has_instrumented_code |= other.has_instrumented_code;
        self.has_locks |= other.has_locks;
        self.certain_events += other.certain_events;
        self.has_unchecked_memory |= other.has_unchecked_memory;
        self.forks.extend(other.forks);
        self.joins.extend(other.joins);
        for (address, time) in other.changed {
            self.note_change(address, time);
        }
        self.rewritten.extend(other.rewritten);
        for (number, (order, name)) in other.names {
            self.name_thread(number, order, name);
        }
    }

    /// The latest time at which a thread may have ended. Its log may end earlier.
    pub(crate) fn end_of(&self, number: u32) -> u64 {
        self.joins.get(&u64::from(number)).copied().unwrap_or(self.last_stamp)
    }

    fn note_change(&mut self, address: u64, time: u64) {
        let latest = self.changed.entry(address).or_default();
        *latest = time.max(*latest);
    }

    /// Addresses of synchronisation objects that the program creates or destroys when a use of them may be unordered with that. What the first
    /// thread does before it starts another one comes before all that others do, if each of them was started by a recorded thread, and if
    /// `has_all_forks`.
    pub(crate) fn mortal(&self, log: &Log, has_all_forks: bool) -> FxHashSet<u64> {
        let first =
            self.threads.iter().map(|thread| thread.start).enumerate().min_by_key(|(_, start)| *start);
        let is_started = |(at, thread): (usize, &ThreadLog)| {
            Some(at) == first.map(|(at, _)| at) || self.forks.contains_key(&u64::from(thread.number))
        };
        let are_descendants = has_all_forks && log.threads.iter().enumerate().all(is_started);
        let first_fork = self.forks.values().min().copied().unwrap_or(u64::MAX);
        let alone_until = if are_descendants { first_fork } else { 0 };
        let mortal = self.changed.iter().filter(|(_, time)| **time >= alone_until);
        mortal.map(|(&address, _)| address).collect()
    }

    /// Names a thread; the name that was given last counts.
    fn name_thread(&mut self, number: u64, order: u64, name: String) {
        let known = self.names.entry(number).or_default();
        if known.0 <= order {
            *known = (order, name);
        }
    }

    /// Cuts memory where areas and objects are.
    #[inline]
    fn cut_around(&mut self, record: &Record) {
        use RecordKind as K;
        let number = record.words[2];
        match record.kind {
            K::Alloc => {
                let (bytes, _) = split_block_size(number);
                let bytes = bytes.saturating_add(u64::from(record.extra)).max(1);
                self.cuts.cut(record.value, bytes);
            }
            K::Map | K::Unmap | K::MoveFrom => self.cuts.cut(record.value, number.max(1)),
            K::Benign => self.cuts.cut(record.value, number.min(LONGEST_RANGE)),
            kind if makes_or_ends_object(kind) || uses_object(kind) => self.cuts.cut_at(record.value),
            _ => {}
        }
    }

    fn thread(&mut self, log: &ThreadLog) -> Result<ThreadScan> {
        self.cuts.cut(log.stack.start, log.stack.end.saturating_sub(log.stack.start));
        let mut reader = log.records();
        let mut scan = ThreadScan::default();
        let mut last = 0;
        let mut next_piece = 0;
        let mut record = Record::default();
        let mut held = Vec::new();
        loop {
            while let Some(access) = reader.brief_access() {
                reader.pass_brief_access();
                self.cuts.cut(access.address, u64::from(access.bytes));
                self.has_instrumented_code = true;
                self.certain_events += 1;
            }
            if !reader.read_next(&mut record)? {
                break;
            }
            let bytes = accessed_bytes(&record);
            let is_compiled_in = record.kind == RecordKind::Push || (bytes > 0 && !is_range(record.kind));
            self.has_instrumented_code |= is_compiled_in;
            if bytes > 0 {
                ranges(&record).for_each(|(address, bytes)| self.cuts.cut(address, bytes));
                self.shortened += u64::from(record.words[1] > bytes && is_range(record.kind));
            }
            self.cut_around(&record);
            if let Some(time) = stamp_of(&record) {
                let offset = reader.offset() - 8 * record.length as u64;
                last = time.max(last);
                if scan.start == 0 {
                    scan.start = last;
                }
                if offset >= next_piece {
                    scan.stamps.push(Stamp { offset, time: last });
                    next_piece = reader.piece_end();
                }
            }
            self.has_locks |= takes_lock(record.kind);
            self.has_unchecked_memory |= record.kind == RecordKind::Benign;
            let is_certain = is_compiled_in && bytes > 0 || changes_hold(&record, &mut held);
            self.certain_events += u64::from(is_certain);
            match record.kind {
                RecordKind::Chunk if scan.start == 0 => scan.start = record.words[0],
                RecordKind::Fork => {
                    self.forks.insert(record.value, last);
                }
                RecordKind::Join => {
                    self.joins.insert(record.value, last);
                }
                kind if makes_or_ends_object(kind) => {
                    self.note_change(record.value, last);
                }
                RecordKind::WriteAgain | RecordKind::WriteAgainRange => {
                    self.rewritten.insert(record.value, bytes);
                }
                RecordKind::ThreadName => self.name_thread(record.value, last, name_in(&record)),
                _ => {}
            }
        }
        scan.stamps.shrink_to_fit(); // there may be a million threads
        scan.last = last.max(scan.start);
        self.last_stamp = self.last_stamp.max(last);
        self.damage.extend(reader.damaged().iter().map(|chunk| {
            format!("chunk {chunk} of thread {} does not match its checksum and was left out", log.number)
        }));
        Ok(scan)
    }
}

/// Whether a record creates or destroys the synchronisation object at its address.
pub(crate) fn makes_or_ends_object(kind: RecordKind) -> bool {
    use RecordKind as K;
    matches!(kind, K::Forget | K::Destroy | K::BarrierInit | K::SemaphoreInit)
}

/// Whether a record uses the synchronisation object at its address.
pub(crate) fn uses_object(kind: RecordKind) -> bool {
    use RecordKind as K;
    let is_lock = matches!(kind, K::Acquire | K::AcquireShared);
    is_lock
        || matches!(
            kind,
            K::SemaphorePost
                | K::SemaphoreWait
                | K::BarrierArrive
                | K::BarrierLeave
                | K::CondSignal
                | K::CondWait
        )
}

/// Whether a record takes a lock, or does what locks are made of.
fn takes_lock(kind: RecordKind) -> bool {
    use RecordKind as K;
    matches!(kind, K::Acquire | K::AcquireShared | K::AtomicLoad | K::AtomicStore | K::AtomicRmw)
}

/// Of threads that hold more locks, not all are followed.
const MOST_HELD: usize = 64;

/// Whether a record takes a lock that its thread does not hold, or gives one back that it holds.
fn changes_hold(record: &Record, held: &mut Vec<u64>) -> bool {
    use RecordKind as K;
    let place = || held.iter().rposition(|lock| *lock == record.value);
    match record.kind {
        K::Acquire | K::AcquireShared if held.len() < MOST_HELD && place().is_none() => {
            held.push(record.value);
            true
        }
        K::Release => place().map(|place| held.swap_remove(place)).is_some(),
        _ => false,
    }
}

fn is_range(kind: RecordKind) -> bool {
    matches!(kind, RecordKind::ReadRange | RecordKind::WriteRange)
}

/// The text of a name record: seven bytes in each word.
fn name_in(record: &Record) -> String {
    let bytes: Vec<u8> =
        record.words.iter().flat_map(|word| word.to_le_bytes().into_iter().take(7)).collect();
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}
