//! Threads begin and are joined, and operations that concern all of them: a managed heap whose collector stops them and moves what they use.

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::{Action, BLOCK_EVENTS, Event, EventSink, LocationId, ThreadId};
use rustc_hash::FxHashMap;

use super::Merger;
use super::cursor::Cursor;
use crate::error::Result;
use crate::objects::MovedObjects;
use crate::scan::stamp_of;

/// Threads, and what they are moving.
#[derive(Default)]
pub(super) struct Threads {
    /// Those that have started and were not joined.
    present: Vec<ThreadId>,
    /// Objects that threads have taken from one place and not yet put into another.
    moved: FxHashMap<ThreadId, MovedObjects>,
    waiting: Waiting,
}

/// Whether a thread waits for all others.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
enum Waiting {
    #[default]
    No,
    /// The others have accesses before their next stamps, which come first.
    ForOthers,
    /// The others have caught up.
    Over,
}

impl Threads {
    pub(super) fn started(&mut self, thread: ThreadId) {
        self.present.push(thread);
    }

    /// A thread is about to wait for all others. Returns whether it has to wait: the first time it has.
    pub(super) fn wait_for_others(&mut self) -> bool {
        self.waiting = match self.waiting {
            Waiting::Over => Waiting::No,
            _ => Waiting::ForOthers,
        };
        self.waiting == Waiting::ForOthers
    }

    /// Whether other threads must catch up.
    pub(super) fn must_catch_up(&self) -> bool {
        self.waiting == Waiting::ForOthers
    }
}

impl Merger {
    pub(super) fn fork(&mut self, number: u64, creator: ThreadId, location: LocationId) -> Option<Action> {
        let child = *self.by_number.get(&number).filter(|&&child| child != creator)?;
        self.leaks.created(number, child, location);
        let facts = self.symbols.program.threads.entry(child);
        facts.creator = Some(creator);
        facts.created_at = Some(location);
        Some(Action::Fork(child))
    }

    /// A thread was joined or detached.
    pub(super) fn settle(&mut self, kind: RecordKind, number: u64) -> Option<Action> {
        self.leaks.settled(number);
        let child = *self.by_number.get(&number).filter(|_| kind == RecordKind::Join)?;
        self.threads.present.retain(|&thread| thread != child);
        Some(Action::Join(child))
    }

    /// Handles the accesses of all threads up to their next stamps.
    pub(super) fn catch_up(
        &mut self,
        cursors: &mut [Option<Box<Cursor<'_>>>],
        out: &mut dyn EventSink,
    ) -> Result<()> {
        for (at, cursor) in cursors.iter_mut().enumerate() {
            let Some(cursor) = cursor else { continue };
            let thread = ThreadId(at as u32);
            self.set_time(cursor.before.time);
            while cursor.waiting.is_none() {
                self.brief_accesses(cursor, thread, usize::MAX)?;
                if self.events.len() >= BLOCK_EVENTS {
                    self.flush(out)?;
                }
                let Some(mut record) = cursor.peek()?.filter(|record| stamp_of(record).is_none()) else {
                    break;
                };
                cursor.pass(&record);
                if !self.unstamped(&mut record, cursor, thread)? {
                    cursor.wait(record);
                }
            }
        }
        self.threads.waiting = Waiting::Over;
        Ok(())
    }

    /// All threads post, and this one waits: it comes after everything that happened so far.
    pub(super) fn wait_for_all(&mut self, thread: ThreadId, location: LocationId) -> Result<()> {
        let Merger { symbols, objects, events, threads, .. } = self;
        let everything = objects.post(EVERYTHING, symbols, || "everything".into())?;
        let others = threads.present.iter().filter(|&&other| other != thread);
        events.extend(others.map(|&other| Event::new(other, Action::Post(everything), LocationId::UNKNOWN)));
        events.push(Event::new(thread, Action::Wait(everything), location));
        Ok(())
    }

    /// A collector moves memory. Its variables at the new place have nothing to do with those at the old one, because the threads were
    /// stopped in between; locks stay the same locks, and may be held.
    pub(super) fn move_memory(&mut self, record: &Record, thread: ThreadId) {
        let (address, bytes) = (record.value, record.words[2]);
        let Merger { memory, objects, threads, .. } = self;
        if record.kind == RecordKind::MoveFrom {
            threads.moved.insert(thread, objects.take(address, bytes));
            memory.unmap(address, bytes);
        } else {
            objects.put(address, threads.moved.remove(&thread).unwrap_or_default());
        }
    }
}

/// The object that stands for everything is at an address that no program uses.
const EVERYTHING: u64 = u64::MAX;
