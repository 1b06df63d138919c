//! The second pass: merges the records of all threads into one order, as events.
//!
//! Order between threads comes from stamps. The accesses between two stamps of a thread may be put anywhere between them
//! without changing what happens before what, or what a race-free read sees. They are spread evenly by their position in the log, in
//! batches, so that traces compress well and caches stay warm. An access to memory that is not in use then, because it is not allocated yet or
//! was freed, is put as late as its thread allows: if another thread allocates the memory meanwhile, the two are compared.
//!
//! Stamps of operations on one object are in the order in which they took effect, and a thread's never decrease; so the merged
//! trace is well formed.

mod accessed;
mod again;
mod atomics;
mod cursor;
mod faults;
mod output;
mod policy;
mod requests;
mod threads;
mod woven;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;

use overtake_rawlog::{Record, RecordKind, is_try, split_block_size};
use overtake_rules::LockMode;
use overtake_trace::{
    Action, BLOCK_EVENTS, Event, EventSink, LocationId, Symbols, ThreadFacts, ThreadId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::code::Code;
use crate::descriptors::DescriptorVariables;
use crate::error::Result;
use crate::kept::Kept;
use crate::log::Log;
use crate::memory::{AddressSpace, Naming};
use crate::modules::{Modules, Policy};
use crate::objects::{Objects, Release, Taken};
use crate::pages::Cuts;
use crate::scan::{LONGEST_RANGE, Scan, accessed_bytes, ranges, stamp_of};
use crate::stacks::Stacks;
pub(crate) use again::Rewritten;
use again::{LastWrites, synchronises};
use atomics::memory_order;
use cursor::{Cursor, Moment, RECENT_LOCATIONS, mark};
use faults::Leaks;
use policy::{HiddenSections, Origin};
use requests::Requests;
use threads::Threads;
use woven::is_woven;

/// Accesses of one thread that follow each other. Larger batches compress better and interleave less finely.
const BATCH: usize = 64;

/// Merges a log into `out`. Returns the number of events.
pub(crate) fn merge(
    log: &Log,
    mut scan: Scan,
    modules: Modules,
    out: &mut dyn EventSink,
) -> Result<(u64, Symbols)> {
    let mut merger = Merger::new(log, &mut scan, modules)?;
    merger.keep(Kept::of(log, &scan));
    let mut queue = BinaryHeap::new();
    // Of many threads, few run at the same time: each has a cursor, which takes kilobytes, only while it does.
    let mut cursors: Vec<Option<Box<Cursor<'_>>>> = log.threads.iter().map(|_| None).collect();
    queue.extend(scan.threads.iter().enumerate().map(|(at, thread)| Reverse(((thread.start, 0), at))));
    while let Some(Reverse((_, at))) = queue.pop() {
        let others = queue.peek().map(|Reverse((moment, _))| *moment);
        let mut cursor = cursors[at].take().unwrap_or_else(|| {
            let end = scan.end_of(log.threads[at].number);
            Box::new(Cursor::new(&log.threads[at], &scan.threads[at], end))
        });
        let thread = ThreadId(at as u32);
        let mut next = merger.go_on(&mut cursor, thread, others, out)?;
        while merger.threads.must_catch_up() {
            merger.catch_up(&mut cursors, out)?;
            next = merger.go_on(&mut cursor, thread, others, out)?;
        }
        if let Some(moment) = next {
            queue.push(Reverse((moment, at)));
            cursors[at] = Some(cursor);
        }
    }
    merger.report_leaks(log)?;
    merger.report_requests();
    merger.hand_on(merger.events.len(), out)?;
    merger.symbols.program.modules = merger.code.modules();
    merger.symbols.program.missing = merger.kept.missing(log, merger.left_out);
    out.finish(&merger.symbols)?;
    Ok((merger.written, merger.symbols))
}

struct Merger {
    symbols: Symbols,
    code: Code,
    modules: Modules,
    /// By program counter.
    origins: FxHashMap<u64, Origin>,
    hidden: HiddenSections,
    stacks: Stacks,
    memory: AddressSpace,
    last_writes: LastWrites,
    objects: Objects,
    descriptors: DescriptorVariables,
    leaks: Leaks,
    requests: Requests,
    threads: Threads,
    /// Synchronisation objects that are created or destroyed while there are other threads: using them reads them.
    mortal: FxHashSet<u64>,
    /// Which objects are mortal or in the heap, as far as it was asked lately: addresses, and how areas had changed by then.
    mortality: [(u64, u64, bool); 64],
    /// No record of the log is lost.
    is_complete: bool,
    /// The process is the child of a `fork`: it may hold locks that it never acquired.
    is_child: bool,
    events: Vec<Event>,
    /// Variables that only events already handed on name, and some that wait to be.
    ended: Vec<Range<VarId>>,
    written: u64,
    /// Threads by their number in the log.
    by_number: FxHashMap<u64, ThreadId>,
    kept: Kept,
    /// A record that synchronises was kept.
    is_in_kept: bool,
    /// Events that are not kept.
    left_out: u64,
}

impl Merger {
    fn new(log: &Log, scan: &mut Scan, modules: Modules) -> Result<Merger> {
        let cuts: Cuts = std::mem::take(&mut scan.cuts);
        let mortal = scan.mortal(log, log.is_complete() && modules.take_compiled_code());
        let mut symbols = Symbols::default();
        symbols.program.pid = log.pid;
        symbols.program.command = log.command.clone();
        let mut by_number = FxHashMap::default();
        for thread in &log.threads {
            let number = u64::from(thread.number);
            let name = match scan.names.get(&number) {
                Some((_, name)) if !name.is_empty() => format!("T{number}:{name}"),
                _ => format!("T{number}"),
            };
            let id = symbols.threads.intern(name.replace(['|', '\n', '\r'], "_").as_bytes())?;
            *symbols.program.threads.entry(id) =
                ThreadFacts { kernel_id: thread.tid, ..ThreadFacts::default() };
            by_number.insert(number, id);
        }
        Ok(Merger {
            symbols,
            code: Code::new(&log.maps),
            modules,
            origins: FxHashMap::default(),
            hidden: HiddenSections::default(),
            stacks: Stacks::new(),
            memory: AddressSpace::new(cuts, log.is_complete()),
            last_writes: LastWrites::new(std::mem::take(&mut scan.rewritten)),
            objects: Objects::default(),
            descriptors: DescriptorVariables::default(),
            leaks: Leaks::default(),
            requests: Requests::default(),
            threads: Threads::default(),
            mortal,
            mortality: [(0, u64::MAX, false); 64],
            is_complete: log.is_complete(),
            is_child: false,
            events: Vec::with_capacity(BLOCK_EVENTS * 2),
            ended: Vec::new(),
            written: 0,
            by_number,
            kept: Kept::default(),
            is_in_kept: false,
            left_out: 0,
        })
    }

    /// Sets which records are kept, before the first record.
    fn keep(&mut self, kept: Kept) {
        self.kept = kept;
        if kept.starts_late() && !self.symbols.threads.is_empty() {
            self.events.push(Event::new(ThreadId(0), Action::Gap, LocationId::UNKNOWN));
        }
    }

    /// Handles the records of a thread until another thread is next. Returns the time of this thread's next record.
    fn go_on(
        &mut self,
        cursor: &mut Cursor<'_>,
        thread: ThreadId,
        others: Option<Moment>,
        out: &mut dyn EventSink,
    ) -> Result<Option<Moment>> {
        cursor.start()?;
        self.set_time(cursor.before.time);
        let mut batch = BATCH;
        loop {
            if cursor.waiting.is_none() {
                batch -= self.brief_accesses(cursor, thread, batch)?;
            }
            if self.events.len() >= BLOCK_EVENTS {
                self.flush(out)?;
            }
            let Some(mut record) = cursor.peek()? else { return Ok(None) };
            let is_plain = stamp_of(&record).is_none();
            if batch == 0 || !is_plain {
                let moment = cursor.moment_of(&record);
                if others.is_some_and(|others| moment > others) {
                    return Ok(Some(moment));
                }
                batch = BATCH;
                if is_plain {
                    continue;
                }
                if record.kind == RecordKind::WaitForAll && self.threads.wait_for_others() {
                    return Ok(Some(moment));
                }
            }
            cursor.pass(&record);
            if !is_plain {
                self.stamped(&mut record, cursor, thread)?;
                batch = 0;
            } else if self.unstamped(&mut record, cursor, thread)? {
                batch -= 1;
            } else {
                cursor.wait(record);
                return Ok(Some(cursor.moment_of(&record)));
            }
        }
    }

    /// From now on the program is what it was at this time.
    fn set_time(&mut self, time: u64) {
        for replaced in self.code.set_time(time) {
            let (start, bytes) = (replaced.start, replaced.end - replaced.start);
            self.objects.forget(start, bytes);
            self.memory.unmap(start, bytes);
        }
    }

    /// Handles a record with a stamp.
    fn stamped(&mut self, record: &mut Record, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<()> {
        let stamp = stamp_of(record).unwrap_or(cursor.before.time);
        self.set_time(stamp);
        self.requests.goes_on(thread, record);
        mark(record, &self.code);
        let start = self.events.len();
        if synchronises(record.kind) {
            self.last_writes.enter_region(thread);
        }
        cursor.enter_region(stamp.max(cursor.before.time))?;
        let is_kept = self.kept.has(cursor.before.time);
        if is_kept && !std::mem::replace(&mut self.is_in_kept, true) && self.kept.starts_late() {
            self.objects.lose_track();
        }
        self.synchronise(record, cursor, thread)?;
        self.keep_events(start, is_kept);
        self.set_time(cursor.before.time);
        Ok(())
    }

    /// Handles a record without a stamp. Returns whether it is done, or has to wait.
    fn unstamped(&mut self, record: &mut Record, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<bool> {
        let (unmarked, start) = (record.words[0], self.events.len());
        mark(record, &self.code);
        if !self.plain(record, cursor, thread)? {
            self.events.truncate(start);
            record.words[0] = unmarked;
            return Ok(false);
        }
        cursor.accesses += u64::from(accessed_bytes(record) > 0);
        self.keep_events(start, self.kept.has_between(cursor.before.time, cursor.after.time));
        Ok(true)
    }

    /// Handles brief accesses that follow each other, at most so many: most records are such, and need least thought. Stops at one that
    /// has to wait. Returns how many there were.
    fn brief_accesses(&mut self, cursor: &mut Cursor<'_>, thread: ThreadId, most: usize) -> Result<usize> {
        if self.modules.name_some() || !self.kept.has_from(cursor.before.time) {
            return Ok(0);
        }
        let mut done = 0;
        while done < most
            && let Some(access) = cursor.reader.brief_access()
        {
            let start = self.events.len();
            let location = self.location(cursor, self.code.marked(access.pc), u32::from(access.bytes))?;
            let (range, can_wait) = ((access.address, u64::from(access.bytes)), !cursor.is_late);
            let is_done = match access.is_write {
                true => self.access(range, thread, location, can_wait, Action::Write),
                false => self.access(range, thread, location, can_wait, Action::Read),
            };
            if !is_done? {
                self.events.truncate(start);
                break;
            }
            cursor.reader.pass_brief_access();
            done += 1;
        }
        cursor.accesses += done as u64;
        Ok(done)
    }

    /// Does what a record without a stamp says. Returns whether it is done, or has to wait.
    fn plain(&mut self, record: &Record, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<bool> {
        if !self.takes_plain(record) {
            return Ok(true);
        }
        let action: fn(VarId) -> Action = match record.kind {
            RecordKind::Read | RecordKind::ReadRange | RecordKind::ReadRun => Action::Read,
            RecordKind::Write | RecordKind::WriteRange | RecordKind::WriteRun => Action::Write,
            RecordKind::WriteAgain | RecordKind::WriteAgainRange => {
                self.write_again(record, thread)?;
                return Ok(true);
            }
            RecordKind::Push => {
                cursor.stack.push(record.value, record.extra, &mut self.stacks);
                return Ok(true);
            }
            RecordKind::Cut => {
                cursor.stack.cut(record.value);
                return Ok(true);
            }
            RecordKind::Chunk => {
                cursor.stack.restart(record.value);
                return Ok(true);
            }
            _ => return Ok(true),
        };
        let bytes = match record.kind {
            RecordKind::ReadRange | RecordKind::WriteRange => 0,
            _ => u32::from(record.extra),
        };
        if is_woven(record) {
            return self.woven(record, cursor, thread, action);
        }
        let location = self.location(cursor, record.words[0], bytes)?;
        for range in ranges(record) {
            if !self.access(range, thread, location, !cursor.is_late, action)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Writes the events of an access to a range of bytes. Returns whether it is done: if it can wait, and the memory is not in use, it is not.
    #[inline]
    fn access(
        &mut self,
        (address, bytes): (u64, u64),
        thread: ThreadId,
        location: LocationId,
        can_wait: bool,
        action: impl Fn(VarId) -> Action,
    ) -> Result<bool> {
        let Merger { symbols, code, memory, last_writes, events, .. } = self;
        let mut naming = Naming { symbols, code, thread, location, can_wait, events };
        let is_write = action(VarId(0)) == Action::Write(VarId(0));
        let is_noted = is_write && last_writes.may_be_rewritten(address, bytes);
        Ok(memory.variables(address, bytes, &mut naming, |var, events| {
            if is_noted {
                last_writes.note(thread, var, location);
            }
            events.push(Event::new(thread, action(var), location));
        })?)
    }

    #[inline]
    fn location(&mut self, cursor: &mut Cursor<'_>, pc: u64, bytes: u32) -> Result<LocationId> {
        let node = cursor.stack.node();
        let slot = (pc ^ (pc >> 8) ^ (node.number().wrapping_mul(0x9e37))) as usize % RECENT_LOCATIONS;
        let recent = &mut cursor.recent[slot];
        if recent.0 != node || recent.1 != pc {
            if pc == 0 {
                return Ok(LocationId::UNKNOWN);
            }
            *recent = (node, pc, self.stacks.location(node, pc, bytes, &mut self.code, &mut self.symbols)?);
        }
        Ok(recent.2)
    }

    fn synchronise(&mut self, record: &Record, cursor: &mut Cursor<'_>, thread: ThreadId) -> Result<()> {
        match record.kind {
            RecordKind::ThreadStart => {
                self.is_child |= record.extra == 1;
                self.threads.started(thread);
                let name = self.symbols.threads.display(thread);
                self.memory.stack(cursor.log.stack.clone(), thread, &name);
                return Ok(());
            }
            RecordKind::ThreadEnd => {
                // A later acquire of a robust lock that this thread held comes after its end.
                let ended = self.objects.release_all(thread);
                self.events.extend(ended.into_iter().map(|section| section.release(LocationId::UNKNOWN)));
                return Ok(());
            }
            _ => {}
        }
        let policy = self.policy_of(record);
        if !policy.takes(record.kind) {
            return Ok(());
        }
        let record = &policy.applied(*record);
        let location = self.location(cursor, record.words[0], accessed_bytes(record) as u32)?;
        let address = record.value;
        // Whoever signals a condition variable still uses it when the thread that it wakes goes on.
        let is_used_after = record.kind == RecordKind::CondSignal;
        if policy == Policy::Record && !is_used_after {
            self.touch_object(record, thread, location)?;
        }
        let action = match record.kind {
            RecordKind::Fork => self.fork(address, thread, location),
            RecordKind::Join | RecordKind::Detach => self.settle(record.kind, address),
            RecordKind::Acquire | RecordKind::AcquireShared => {
                self.acquire(record, thread, location)?;
                return self.begin_hidden(record, cursor.accesses, thread, location);
            }
            RecordKind::Release | RecordKind::ReleaseAny => {
                self.end_hidden(record, cursor.accesses, thread, location)?;
                return self.release(record, thread, location);
            }
            RecordKind::Destroy if self.objects.is_static(address, record.kind, record.extra) => None,
            RecordKind::Destroy => return self.destroy(address, thread, location),
            RecordKind::Request => return self.request(record, thread, location),
            RecordKind::Misuse => return self.recorded_misuse(record.extra, address, thread, location),
            RecordKind::AtomicLoad | RecordKind::AtomicStore | RecordKind::AtomicRmw => {
                return self.atomic(record, thread, location);
            }
            RecordKind::Fence => Some(Action::Fence(memory_order(record.extra))),
            RecordKind::Alloc
            | RecordKind::Free
            | RecordKind::Map
            | RecordKind::Unmap
            | RecordKind::Benign => return self.change_memory(record, thread, location),
            RecordKind::MoveFrom | RecordKind::MoveTo => {
                self.move_memory(record, thread);
                None
            }
            RecordKind::WaitForAll => return self.wait_for_all(thread, location),
            RecordKind::FdPost
            | RecordKind::FdWait
            | RecordKind::FdAlias
            | RecordKind::FdMerge
            | RecordKind::FdClose
            | RecordKind::FdForget => self.use_descriptor(record)?,
            _ => self.use_object(record, thread)?,
        };
        self.events.extend(action.map(|action| Event::new(thread, action, location)));
        if policy == Policy::Record && is_used_after {
            self.touch_object(record, thread, location)?;
        }
        Ok(())
    }

    /// Objects that are neither locks nor descriptors.
    fn use_object(&mut self, record: &Record, thread: ThreadId) -> Result<Option<Action>> {
        let (address, number) = (record.value, record.words[2]);
        let Merger { symbols, code, memory, objects, .. } = self;
        let describe = || memory.describe(address, code);
        Ok(match record.kind {
            RecordKind::Forget => {
                objects.create(address, record.extra, describe);
                None
            }
            RecordKind::Post => Some(Action::Post(objects.post(address, symbols, describe)?)),
            RecordKind::Wait => Some(Action::Wait(objects.post(address, symbols, describe)?)),
            RecordKind::SemaphoreInit => {
                objects.semaphore_init(address, number, describe);
                None
            }
            RecordKind::SemaphoreOpen => {
                objects.semaphore_open(address, number, describe);
                None
            }
            RecordKind::SemaphorePost => {
                Some(Action::Post(objects.semaphore_post(address, symbols, describe)?))
            }
            RecordKind::SemaphoreWait => objects.semaphore_wait(address).map(Action::Wait),
            RecordKind::BarrierInit => {
                objects.barrier_init(address, number, describe);
                None
            }
            RecordKind::BarrierArrive => {
                Some(Action::Post(objects.barrier_arrive(address, thread, symbols, describe)?))
            }
            RecordKind::BarrierLeave => objects.barrier_leave(address, thread, symbols)?.map(Action::Wait),
            RecordKind::CondSignal if self.is_complete && !objects.has_waiters(address) => None,
            RecordKind::CondSignal => Some(Action::Post(objects.signal(address, thread, symbols, describe)?)),
            RecordKind::CondWait => {
                objects.begin_wait(address, describe);
                None
            }
            RecordKind::CondWake => objects.wake(address).map(Action::Wait).filter(|_| record.extra == 0),
            _ => None,
        })
    }

    /// Memory that is allocated, freed, mapped, unmapped, or not checked.
    fn change_memory(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let (address, number) = (record.value, record.words[2]);
        let is_foreign = !self.origin(record.words[0]).is_instrumented;
        let Merger { symbols, code, memory, objects, events, .. } = self;
        match record.kind {
            RecordKind::Alloc => {
                let (bytes, is_access) = split_block_size(number);
                objects.forget(address, bytes);
                let more = u64::from(record.extra);
                let mut naming = Naming { symbols, code, thread, location, can_wait: false, events };
                memory.alloc(address, (bytes, more), is_access, location, &mut naming)?;
                if is_foreign {
                    memory.set_foreign(address);
                }
            }
            RecordKind::Map => {
                objects.forget(address, number);
                let mut naming = Naming { symbols, code, thread, location, can_wait: false, events };
                memory.map(address, number, record.extra == 0, location, &mut naming)?;
            }
            RecordKind::Unmap => memory.unmap(address, number),
            RecordKind::Benign => memory.ignore(address, number.min(LONGEST_RANGE)),
            RecordKind::Free => {
                // What a library allocates and frees by itself, it orders by itself, by means that are not seen.
                let is_access = record.extra == 0 && !(is_foreign && memory.is_foreign(address));
                return self.free(address, is_access, thread, location);
            }
            _ => {}
        }
        Ok(())
    }

    fn acquire(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let address = record.value;
        let mode = match record.kind {
            RecordKind::AcquireShared => LockMode::Shared,
            _ => LockMode::Exclusive,
        };
        self.check_acquire(record, thread, mode, location)?;
        let Merger { symbols, code, memory, objects, events, .. } = self;
        let taken = objects.acquire(address, thread, mode, symbols, || memory.describe(address, code))?;
        let Some(Taken { lock, stale, after }) = taken else { return Ok(()) };
        // Code that is not recorded has released the lock.
        events.extend(stale.into_iter().map(|section| section.release(LocationId::UNKNOWN)));
        let acquire = match mode {
            LockMode::Exclusive => Action::Acquire(lock),
            LockMode::Shared => Action::AcquireShared(lock),
        };
        let acquire = Event::new(thread, acquire, location);
        events.push(if is_try(record.extra) { acquire.as_try() } else { acquire });
        events.extend(after.map(|post| Event::new(thread, Action::Wait(post), location)));
        Ok(())
    }

    fn release(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        self.check_release(record, thread, location)?;
        let Merger { symbols, objects, events, .. } = self;
        match objects.release(record.value, thread, symbols)? {
            Release::Nothing => {}
            Release::Own(section) => events.push(section.release(location)),
            Release::ByOther(section, post) => {
                // The section ends in its owner's thread; the next acquire comes after the thread that ended it.
                events.push(section.release(LocationId::UNKNOWN));
                events.push(Event::new(thread, Action::Post(post), location));
            }
            // The lock was acquired where records are missing: it is not known what it excluded until now.
            Release::Unheld if self.kept.starts_late() => {
                events.push(Event::new(thread, Action::Gap, location));
            }
            Release::Unheld => {}
        }
        Ok(())
    }
}
