//! The second pass: the threads' records in one order, as events.
//!
//! Order between threads comes from stamps. The accesses between two stamps of a thread may stand anywhere between them
//! without changing what happens before what, or what a race-free read sees; they are spread evenly, in batches, so that
//! traces compress and caches stay warm.
//!
//! Stamps of operations on one object are in the order in which they took effect, and a thread's never decrease; so the merged
//! trace is well formed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use overtake_rawlog::{RecordKind, split_atomic_extra};
use overtake_trace::{
    Action, BLOCK_EVENTS, Event, EventSink, LocationId, MemoryOrder, Symbols, SyncId, ThreadFacts, ThreadId,
    VarId,
};

use crate::code::Code;
use crate::error::{Error, Result};
use crate::log::{Log, Record, Records, ThreadLog};
use crate::memory::{AddressSpace, Naming};
use crate::objects::{Objects, Released};
use crate::scan::{Region, Scan};
use crate::stacks::{Stacks, ThreadStack};

/// Accesses of one thread that stand together. Larger batches compress better and interleave less finely.
const BATCH: usize = 64;

/// Merges a log into `out`. Returns the number of events.
pub(crate) fn merge(log: &Log, scan: Scan, out: &mut dyn EventSink) -> Result<(u64, Symbols)> {
    let mut merger = Merger::new(log, scan.cuts)?;
    let mut threads = Vec::new();
    for (thread_log, regions) in log.threads.iter().zip(scan.regions) {
        threads.push(Cursor::new(thread_log, regions, scan.last_stamp)?);
    }
    let mut queue: BinaryHeap<_> = (0..threads.len()).map(|at| Reverse((threads[at].time(), at))).collect();
    while let Some(Reverse((_, at))) = queue.pop() {
        let more = merger.step(&mut threads[at], ThreadId(at as u32))?;
        if more {
            queue.push(Reverse((threads[at].time(), at)));
        }
        merger.flush_if_full(out)?;
    }
    merger.flush(out)?;
    merger.symbols.program.modules = merger.code.modules();
    out.finish(&merger.symbols)?;
    Ok((merger.written, merger.symbols))
}

/// Where one thread is in its log.
struct Cursor<'a> {
    log: &'a ThreadLog,
    records: Records,
    peeked: Option<Record>,
    stack: ThreadStack,
    regions: Vec<Region>,
    region: usize,
    /// Accesses of the region done so far.
    done: u64,
    last_stamp: u64,
}

impl<'a> Cursor<'a> {
    fn new(log: &'a ThreadLog, regions: Vec<Region>, last_stamp: u64) -> Result<Cursor<'a>> {
        let records = log.records()?;
        let mut cursor = Cursor {
            log,
            records,
            peeked: None,
            stack: ThreadStack::default(),
            regions,
            region: 0,
            done: 0,
            last_stamp,
        };
        cursor.advance()?;
        Ok(cursor)
    }

    fn advance(&mut self) -> Result<Option<Record>> {
        let next = self.records.next().map_err(|source| Error::io(&self.log.path, source))?;
        Ok(std::mem::replace(&mut self.peeked, next))
    }

    /// When the next record happens.
    fn time(&self) -> u64 {
        if let Some(stamp) = self.peeked.as_ref().and_then(Record::stamp) {
            return stamp;
        }
        let region = self.regions[self.region];
        let end =
            self.regions.get(self.region + 1).map_or(self.last_stamp.max(region.stamp), |next| next.stamp);
        let share =
            u128::from(end - region.stamp) * u128::from(self.done + 1) / u128::from(region.accesses + 1);
        region.stamp + share as u64
    }
}

struct Merger {
    symbols: Symbols,
    code: Code,
    stacks: Stacks,
    memory: AddressSpace,
    objects: Objects,
    events: Vec<Event>,
    written: u64,
    /// Threads by their number in the log.
    by_number: rustc_hash::FxHashMap<u64, ThreadId>,
}

impl Merger {
    fn new(log: &Log, cuts: crate::scan::Cuts) -> Result<Merger> {
        let mut symbols = Symbols::default();
        symbols.program.pid = log.pid;
        symbols.program.command = log.command.clone();
        let mut by_number = rustc_hash::FxHashMap::default();
        for thread in &log.threads {
            let name = if thread.name.is_empty() {
                format!("T{}", thread.number)
            } else {
                format!("T{}:{}", thread.number, thread.name)
            };
            let id = symbols.threads.intern(name.replace(['|', '\n', '\r'], "_").as_bytes())?;
            *symbols.program.threads.entry(id) =
                ThreadFacts { kernel_id: thread.tid, ..ThreadFacts::default() };
            by_number.insert(u64::from(thread.number), id);
        }
        Ok(Merger {
            symbols,
            code: Code::new(&log.maps),
            stacks: Stacks::new(),
            memory: AddressSpace::new(cuts),
            objects: Objects::default(),
            events: Vec::with_capacity(BLOCK_EVENTS * 2),
            written: 0,
            by_number,
        })
    }

    fn flush_if_full(&mut self, out: &mut dyn EventSink) -> Result<()> {
        if self.events.len() >= BLOCK_EVENTS { self.flush(out) } else { Ok(()) }
    }

    fn flush(&mut self, out: &mut dyn EventSink) -> Result<()> {
        out.write(&self.events, &self.symbols)?;
        self.written += self.events.len() as u64;
        self.events.clear();
        Ok(())
    }

    /// Does the next synchronisation record of a thread, or a batch of its accesses. False at the end of its log.
    fn step(&mut self, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<bool> {
        for _ in 0..BATCH {
            let Some(record) = cursor.advance()? else { return Ok(false) };
            if record.stamp().is_some() {
                let fresh =
                    cursor.region == 0 && cursor.done == 0 && cursor.regions[0].stamp == record.words[1];
                if !fresh && cursor.region + 1 < cursor.regions.len() {
                    cursor.region += 1;
                    cursor.done = 0;
                }
                self.synchronise(&record, cursor, thread)?;
                break;
            }
            self.plain(&record, cursor, thread)?;
            // A synchronisation record must not run ahead of other threads.
            if cursor.peeked.as_ref().is_some_and(|next| next.stamp().is_some()) {
                break;
            }
        }
        Ok(cursor.peeked.is_some())
    }

    fn plain(&mut self, record: &Record, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<()> {
        let (length, action): (u64, fn(VarId) -> Action) = match record.kind {
            RecordKind::Read => (u64::from(record.extra), Action::Read),
            RecordKind::Write => (u64::from(record.extra), Action::Write),
            RecordKind::ReadRange => (record.words[1], Action::Read),
            RecordKind::WriteRange => (record.words[1], Action::Write),
            RecordKind::Push => {
                cursor.stack.push(record.value, &mut self.stacks);
                return Ok(());
            }
            RecordKind::Pop => {
                cursor.stack.pop(record.value);
                return Ok(());
            }
            _ => {
                cursor.stack.clear(); // a chunk starts with the whole stack
                return Ok(());
            }
        };
        cursor.done += 1;
        let location = self.location(cursor, record.words[0])?;
        self.access(record.value, length, thread, location, action)
    }

    fn access(
        &mut self,
        address: u64,
        length: u64,
        thread: ThreadId,
        location: LocationId,
        action: impl Fn(VarId) -> Action,
    ) -> Result<()> {
        let Merger { symbols, code, memory, events, .. } = self;
        let mut naming = Naming { symbols, code, thread, events };
        memory.variables(address, length, &mut naming, |var, events| {
            events.push(Event::new(thread, action(var), location));
        })?;
        Ok(())
    }

    fn location(&mut self, cursor: &Cursor<'_>, pc: u64) -> Result<LocationId> {
        if pc == 0 {
            return Ok(LocationId::UNKNOWN);
        }
        Ok(self.stacks.location(cursor.stack.node(), pc, &mut self.code, &mut self.symbols)?)
    }

    fn synchronise(&mut self, record: &Record, cursor: &Cursor<'_>, thread: ThreadId) -> Result<()> {
        let [pc, _, number] = record.words;
        let address = record.value;
        let location = self.location(cursor, pc)?;
        let Merger { symbols, code, memory, objects, .. } = self;
        let describe = || memory.describe(address, code);
        let waited: fn(SyncId) -> Action = Action::Wait;
        let action = match record.kind {
            RecordKind::ThreadStart => {
                self.memory.stack(cursor.log.stack.clone(), thread, &self.symbols.threads.display(thread));
                None
            }
            RecordKind::Fork => self.fork(address, thread, location),
            RecordKind::Join => self.by_number.get(&address).map(|&child| Action::Join(child)),
            RecordKind::Acquire | RecordKind::AcquireShared => {
                let shared = record.kind == RecordKind::AcquireShared;
                return self.acquire(address, thread, shared, location);
            }
            RecordKind::Release | RecordKind::ReleaseAny => match objects.release(address, thread) {
                Released::Nothing => None,
                Released::Exclusive(lock) => Some(Action::Release(lock)),
                Released::Shared(lock) => Some(Action::ReleaseShared(lock)),
            },
            RecordKind::Forget => {
                objects.forget(address, 1);
                None
            }
            RecordKind::AtomicLoad | RecordKind::AtomicStore | RecordKind::AtomicRmw => {
                return self.atomic(record, thread, location);
            }
            RecordKind::Fence => Some(Action::Fence(memory_order(record.extra))),
            RecordKind::Post => Some(Action::Post(objects.post(address, symbols, describe)?)),
            RecordKind::Wait => Some(Action::Wait(objects.post(address, symbols, describe)?)),
            RecordKind::SemaphoreInit => {
                objects.semaphore_init(address, number, describe);
                None
            }
            RecordKind::SemaphorePost => {
                Some(Action::Post(objects.semaphore_post(address, symbols, describe)?))
            }
            RecordKind::SemaphoreWait => objects.semaphore_wait(address).map(waited),
            RecordKind::BarrierInit => {
                objects.barrier_init(address, number, describe);
                None
            }
            RecordKind::BarrierArrive => {
                Some(Action::Post(objects.barrier_arrive(address, thread, symbols, describe)?))
            }
            RecordKind::BarrierLeave => objects.barrier_leave(address, thread, symbols)?.map(waited),
            RecordKind::CondSignal => Some(Action::Post(objects.signal(address, symbols, describe)?)),
            RecordKind::CondWake if record.extra == 0 => objects.wake(address).map(waited),
            RecordKind::Alloc => {
                objects.forget(address, number);
                memory.alloc(address, number, thread, location);
                None
            }
            RecordKind::Free => memory.free(address, symbols).map(Action::Free),
            RecordKind::Map => {
                objects.forget(address, number);
                memory.map(address, number, thread, location);
                None
            }
            RecordKind::Unmap => {
                memory.unmap(address, number);
                None
            }
            RecordKind::FdPost => Some(Action::Post(objects.descriptor(address, symbols)?)),
            RecordKind::FdWait => Some(Action::Wait(objects.descriptor(address, symbols)?)),
            RecordKind::FdAlias => {
                objects.alias_descriptor(address, number);
                None
            }
            RecordKind::FdForget => {
                objects.forget_descriptor(address);
                None
            }
            _ => None,
        };
        self.events.extend(action.map(|action| Event::new(thread, action, location)));
        Ok(())
    }

    fn fork(&mut self, number: u64, creator: ThreadId, location: LocationId) -> Option<Action> {
        let child = *self.by_number.get(&number)?;
        let facts = self.symbols.program.threads.entry(child);
        facts.creator = Some(creator);
        facts.created_at = Some(location);
        Some(Action::Fork(child))
    }

    fn acquire(&mut self, address: u64, thread: ThreadId, shared: bool, location: LocationId) -> Result<()> {
        let Merger { symbols, code, memory, objects, events, .. } = self;
        let taken = objects.acquire(address, thread, shared, symbols, || memory.describe(address, code))?;
        let Some((lock, stale)) = taken else { return Ok(()) };
        // A robust mutex whose owner died, or a lock given back by code that is not recorded.
        for (holder, was_shared) in stale {
            let release = if was_shared { Action::ReleaseShared(lock) } else { Action::Release(lock) };
            events.push(Event::new(holder, release, location));
        }
        let acquire = if shared { Action::AcquireShared(lock) } else { Action::Acquire(lock) };
        events.push(Event::new(thread, acquire, location));
        Ok(())
    }

    fn atomic(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let (length, order) = split_atomic_extra(record.extra);
        let order = memory_order(order);
        let kind = record.kind;
        self.access(record.value, length, thread, location, |var| match kind {
            RecordKind::AtomicLoad => Action::Load(var, order),
            RecordKind::AtomicStore => Action::Store(var, order),
            _ => Action::Rmw(var, order),
        })
    }
}

/// C's numbering of memory orders.
fn memory_order(number: u8) -> MemoryOrder {
    match number {
        0 => MemoryOrder::Relaxed,
        1 => MemoryOrder::Consume,
        2 => MemoryOrder::Acquire,
        3 => MemoryOrder::Release,
        4 => MemoryOrder::AcqRel,
        _ => MemoryOrder::SeqCst,
    }
}
