//! What the program did wrong, found while its records are merged: misuse of locks, threads that nobody joins, forbidden actions of
//! signal handlers.
//!
//! A fault is reported once for each object. If the log has lost records, no faults are reported, because locks may have been acquired or
//! released in them. In the child of a `fork`, nothing is reported about locks that are new to the log, because the parent may hold them.

use overtake_rawlog::{Record, misuse, split_release_extra};
use overtake_rules::LockMode;
use overtake_trace::{Action, Event, LocationId, MisuseKind, ThreadId};
use rustc_hash::FxHashMap;

use super::Merger;
use crate::error::Result;
use crate::log::Log;

/// The threads that nobody has joined.
#[derive(Default)]
pub(super) struct Leaks {
    /// By number in the log: where each was created.
    created: FxHashMap<u64, (ThreadId, LocationId)>,
}

impl Leaks {
    pub(super) fn created(&mut self, number: u64, thread: ThreadId, at: LocationId) {
        self.created.insert(number, (thread, at));
    }

    /// The thread was joined or detached.
    pub(super) fn settled(&mut self, number: u64) {
        self.created.remove(&number);
    }
}

impl Merger {
    /// Writes the event of a misuse of an object, which may have no name.
    pub(super) fn misuse(
        &mut self,
        kind: MisuseKind,
        object: &str,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        let marker = self.symbols.markers.intern(&kind.text(object.as_bytes()))?;
        self.events.push(Event::new(thread, Action::Misuse(marker), location));
        Ok(())
    }

    /// As [`misuse`](Self::misuse), for a lock, and only once.
    pub(super) fn misuse_of_lock(
        &mut self,
        kind: MisuseKind,
        address: u64,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        let Merger { objects, memory, code, .. } = self;
        match objects.first_misuse(address, || memory.describe(address, code)) {
            Some(name) if self.is_complete => self.misuse(kind, &name, thread, location),
            _ => Ok(()),
        }
    }

    /// A lock is about to be acquired. If its last holder ended without a release, the acquiring thread does nothing wrong.
    pub(super) fn check_acquire(
        &mut self,
        record: &Record,
        thread: ThreadId,
        mode: LockMode,
        location: LocationId,
    ) -> Result<()> {
        let owner_died = record.extra & 2 != 0;
        match self.objects.fault_of_acquire(record.value, thread, mode) {
            Some(fault) if !owner_died => self.misuse_of_lock(fault, record.value, thread, location),
            _ => Ok(()),
        }
    }

    /// A lock is about to be released.
    pub(super) fn check_release(
        &mut self,
        record: &Record,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        let mode = split_release_extra(record.extra);
        match self.objects.fault_of_release(record.value, thread, mode, self.is_child) {
            Some(fault) => self.misuse_of_lock(fault, record.value, thread, location),
            None => Ok(()),
        }
    }

    /// An object is destroyed.
    pub(super) fn destroy(&mut self, address: u64, thread: ThreadId, location: LocationId) -> Result<()> {
        let Merger { objects, memory, code, events, .. } = self;
        let ended = objects.destroy(address, || memory.describe(address, code));
        let is_held = !ended.is_empty();
        events.extend(ended.into_iter().map(|section| section.release(LocationId::UNKNOWN)));
        if is_held {
            self.misuse_of_lock(MisuseKind::DestroyOfLocked, address, thread, location)?;
        }
        // The next function may have a lock at this address that it need not initialise.
        if self.memory.is_stack(address) {
            self.objects.forget(address, 1);
        }
        Ok(())
    }

    /// A misuse that the recorder noticed.
    pub(super) fn recorded_misuse(
        &mut self,
        code: u8,
        value: u64,
        thread: ThreadId,
        location: LocationId,
    ) -> Result<()> {
        match code {
            misuse::INVALID_LOCK => self.misuse_of_lock(MisuseKind::UseOfDestroyed, value, thread, location),
            misuse::DOUBLE_LOCK => self.misuse_of_lock(MisuseKind::DoubleLock, value, thread, location),
            misuse::ERRNO => self.misuse(MisuseKind::ErrnoInSignal, "", thread, location),
            misuse::UNSAFE_CALL => self.misuse(MisuseKind::SignalUnsafeCall, "", thread, location),
            misuse::STILL_IGNORED => self.misuse(MisuseKind::IgnoredAtEnd, "", thread, location),
            misuse::MUST_HOLD_NONE => {
                let held: Vec<&str> = self.objects.held_by(thread).collect();
                match held.join(" and ") {
                    held if held.is_empty() => Ok(()),
                    held => self.misuse(MisuseKind::LockHeld, &held, thread, location),
                }
            }
            _ => Ok(()),
        }
    }

    /// At the end of the log, reports threads that ended and that nobody joined or detached, if the program ended by `exit`.
    pub(super) fn report_leaks(&mut self, log: &Log) -> Result<()> {
        if log.ended.as_deref() != Some("exit") || !self.is_complete {
            return Ok(());
        }
        let ended =
            |number: u64| log.threads.iter().any(|thread| u64::from(thread.number) == number && thread.ended);
        let mut leaked: Vec<_> = self.leaks.created.iter().filter(|(number, _)| ended(**number)).collect();
        leaked.sort_unstable();
        let leaked: Vec<_> = leaked.into_iter().map(|(_, leak)| *leak).collect();
        for (thread, created_at) in leaked {
            let name = self.symbols.threads.display(thread);
            self.misuse(MisuseKind::ThreadLeak, &name, ThreadId(0), created_at)?;
        }
        Ok(())
    }
}
