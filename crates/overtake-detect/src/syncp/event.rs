//! The event that is going on.
//!
//! One event may touch a variable and the heap block it lies in, which the loop hands over one after the other. Both
//! accesses are judged by what precedes the event; so what the event sees and writes takes effect when it is over, which
//! is when the next one begins.

use overtake_clock::Stamp;
use overtake_trace::{EventIndex, ThreadId, VarId};

use crate::access::{AccessKind, At};

/// An access that is not over, if there is one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenEvent {
    index: Option<EventIndex>,
    effects: Effects,
}

/// What an access does to its thread's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effects {
    pub(crate) thread: ThreadId,
    /// The clocks of the writes that it sees: of a variable, and of a heap block. An epoch of none is no write.
    pub(crate) seen: [Stamp; 2],
    /// The variable that it writes.
    pub(crate) written: Option<VarId>,
}

impl Default for OpenEvent {
    fn default() -> Self {
        let effects = Effects { thread: ThreadId(0), seen: [Stamp::default(); 2], written: None };
        OpenEvent { index: None, effects }
    }
}

impl OpenEvent {
    /// Whether an access is part of this event.
    #[inline]
    pub(crate) fn continues(&self, at: At) -> bool {
        self.index == Some(at.index)
    }

    /// Begins an access. The one before must be over.
    #[inline]
    pub(crate) fn begin(&mut self, at: At) {
        self.index = Some(at.index);
        self.effects = Effects { thread: at.thread, seen: [Stamp::default(); 2], written: None };
    }

    /// Notes an access of the event to a variable whose last write was `last_write`.
    #[inline]
    pub(crate) fn touch(&mut self, var: VarId, kind: AccessKind, last_write: Stamp) {
        if kind.reads() {
            let [first, second] = &mut self.effects.seen;
            *(if first.epoch.is_some() { second } else { first }) = last_write;
        }
        if kind.writes() {
            self.effects.written = Some(var);
        }
    }

    /// Ends the access that is going on, if any.
    #[inline]
    pub(crate) fn end(&mut self) -> Option<Effects> {
        self.index.take().map(|_| self.effects)
    }
}
