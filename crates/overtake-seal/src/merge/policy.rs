//! Which records count, by the module that made them, and what a library that is not instrumented does under its own locks.
//!
//! A queue in such a library takes a lock, stores a pointer and gives the lock back. The recorder sees the lock and not the pointer, so that
//! a predictor would think that the next one who takes the lock could as well have come first. So a section that code without
//! instrumentation begins and ends, without an access that is recorded in between, counts as one that hands something over: its end is a
//! post that every later section of the lock by such code waits for. Happens-before has that order anyway. Sections that such code
//! only begins for others (`SDL_LockMutex`) have accesses in them, and stay what they are.

use overtake_rawlog::{Record, RecordKind};
use overtake_trace::{Action, Event, LocationId, SyncId, ThreadId};
use rustc_hash::FxHashMap;

use super::Merger;
use crate::error::Result;
use crate::modules::Policy;

/// What is known of code at a program counter.
#[derive(Clone, Copy)]
pub(super) struct Origin {
    policy: Policy,
    pub(super) is_instrumented: bool,
}

/// Sections whose accesses are not seen.
#[derive(Default)]
pub(super) struct HiddenSections {
    /// Sections that such code began: how many accesses without a stamp the thread had made.
    begun: FxHashMap<(ThreadId, u64), u64>,
    /// Per lock with such sections, what their ends post.
    ends: FxHashMap<u64, SyncId>,
}

impl Merger {
    /// What is known of the code that made a record.
    pub(super) fn origin(&mut self, pc: u64) -> Origin {
        if pc == 0 {
            return Origin { policy: Policy::Record, is_instrumented: true };
        }
        if let Some(origin) = self.origins.get(&pc) {
            return *origin;
        }
        // The program counter is where the call returns to; the call itself is before it.
        let (name, is_instrumented) = self.code.module_of(pc - 1).unwrap_or(("", true));
        let origin = Origin { policy: self.modules.policy(name, is_instrumented), is_instrumented };
        self.origins.insert(pc, origin);
        origin
    }

    /// The policy for a record with a stamp.
    pub(super) fn policy_of(&mut self, record: &Record) -> Policy {
        use RecordKind as K;
        let is_compiled = matches!(record.kind, K::AtomicLoad | K::AtomicStore | K::AtomicRmw | K::Fence);
        match is_compiled && !self.modules.name_some() {
            true => Policy::Record,
            false => self.origin(record.words[0]).policy,
        }
    }

    /// Whether a record without a stamp counts. Instrumented code has a policy only if a module is named.
    #[inline]
    pub(super) fn takes_plain(&mut self, record: &Record) -> bool {
        let is_range = matches!(record.kind, RecordKind::ReadRange | RecordKind::WriteRange);
        if !is_range && !self.modules.name_some() {
            return true;
        }
        self.policy_takes(record)
    }

    #[inline(never)]
    fn policy_takes(&mut self, record: &Record) -> bool {
        match record.kind {
            RecordKind::Push | RecordKind::Cut | RecordKind::Chunk | RecordKind::ThreadName => true,
            kind => self.origin(record.words[0]).policy.takes(kind),
        }
    }

    /// A lock was taken by a thread that has made so many accesses without a stamp.
    pub(super) fn begin_hidden(
        &mut self,
        record: &Record,
        made: u64,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        if !self.origin(record.words[0]).is_instrumented {
            self.hidden.begun.insert((thread, record.value), made);
            let ends = self.hidden.ends.get(&record.value);
            self.events.extend(ends.map(|&ends| Event::new(thread, Action::Wait(ends), location)));
        }
        Ok(())
    }

    /// A lock is about to be given back.
    pub(super) fn end_hidden(
        &mut self,
        record: &Record,
        made: u64,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        let begun = self.hidden.begun.remove(&(thread, record.value));
        if begun != Some(made) || self.origin(record.words[0]).is_instrumented {
            return Ok(());
        }
        let Merger { hidden, symbols, memory, code, .. } = self;
        let ends = match hidden.ends.get(&record.value) {
            Some(&ends) => ends,
            None => {
                let name = format!("handed over under {}", memory.describe(record.value, code));
                let ends = symbols.objects.intern(name.as_bytes())?;
                hidden.ends.insert(record.value, ends);
                ends
            }
        };
        self.events.push(Event::new(thread, Action::Post(ends), location));
        Ok(())
    }
}
