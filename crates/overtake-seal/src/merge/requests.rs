//! Locks that threads wait for when the log ends, because the program hangs and was killed. Most requests are granted, and become no event.
//!
//! A thread that waits for a lock has no record after its request, but for those of signals that arrive. So if the lock is held by another, whose
//! release would have been recorded before it took place, it waits.

use overtake_rawlog::{Record, RecordKind, request};
use overtake_rules::LockMode;
use overtake_trace::{Action, Event, Id, IdVec, LocationId, ThreadId};

use super::Merger;
use crate::error::Result;

/// What threads asked for last.
#[derive(Default)]
pub(super) struct Requests {
    open: IdVec<ThreadId, Option<Request>>,
}

#[derive(Clone, Copy)]
struct Request {
    address: u64,
    mode: LockMode,
    location: LocationId,
}

impl Requests {
    /// A thread has a record. Unless it only says that a signal arrived, the thread does not wait any longer.
    #[inline]
    pub(super) fn goes_on(&mut self, thread: ThreadId, record: &Record) {
        if let Some(open) = self.open.get_mut(thread)
            && open.is_some()
            && !(record.kind == RecordKind::Wait && record.words[0] == 0)
        {
            *open = None;
        }
    }
}

impl Merger {
    /// A thread is about to wait for a lock, or gives up.
    pub(super) fn request(&mut self, record: &Record, thread: ThreadId, location: LocationId) -> Result<()> {
        let mode = if record.extra & request::SHARED == 0 { LockMode::Exclusive } else { LockMode::Shared };
        let is_open = record.extra & request::WITHDRAWN == 0;
        *self.requests.open.entry(thread) =
            is_open.then_some(Request { address: record.value, mode, location });
        Ok(())
    }

    /// At the end of the log, writes the events of requests that wait for a lock which is held. If records are lost, the lock may have been
    /// released in them.
    pub(super) fn report_requests(&mut self) {
        if !self.is_complete {
            return;
        }
        let open = self.requests.open.iter().enumerate();
        for (at, request) in open.filter_map(|(at, request)| Some((at, (*request)?))) {
            let Some(lock) = self.objects.lock_that_excludes(request.address, request.mode) else { continue };
            let thread = ThreadId::from_index(at);
            self.events.push(Event::new(thread, Action::Request(lock), request.location));
        }
    }
}
