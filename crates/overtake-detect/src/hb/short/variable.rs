//! The accesses of a variable within the window.
//!
//! Most variables see plain reads and writes that locks order. Of those the last write and the last read say everything
//! (see [`LastAccesses`]), and both checks and the update take no branch that depends on what happened before. A variable
//! for which that is not enough has a list.

use overtake_clock::{ChunkedClock, Tick};
use overtake_trace::{LocationId, ThreadId, VarId};

use super::sync::covers;
use crate::access::{AccessKind, Class};
use crate::hb::last_accesses::{Entry, LastAccesses};

/// A variable with an access in the window.
#[derive(Debug)]
pub(super) struct RecentAccesses<T> {
    pub(super) var: VarId,
    /// The last plain write, ordered after everything else that was, or [`nothing`].
    write: Entry<T>,
    /// The last plain read, ordered after all reads since the write, or [`nothing`].
    read: Entry<T>,
    /// All accesses, if they are not just those two; then those are empty.
    list: Option<Box<LastAccesses<T>>>,
}

/// An entry of time 0, which every clock covers.
fn nothing<T: Tick>() -> Entry<T> {
    let (thread, location) = (ThreadId(0), LocationId::UNKNOWN);
    Entry { thread, location, mark: T::default(), kind: AccessKind::Read }
}

impl<T: Tick> Default for RecentAccesses<T> {
    fn default() -> Self {
        RecentAccesses { var: VarId(u32::MAX), write: nothing(), read: nothing(), list: None }
    }
}

impl<T: Tick> RecentAccesses<T> {
    /// Adds an access of a thread with this clock, and returns the latest access that it races with. `heap_bytes` counts
    /// what lies outside of variables.
    #[inline(always)]
    pub(super) fn access(
        &mut self,
        new: Entry<T>,
        clock: &ChunkedClock<T>,
        heap_bytes: &mut usize,
    ) -> Option<Entry<T>> {
        let settled = |old: &Entry<T>| (old.thread == new.thread) | covers(clock, old.thread, old.mark);
        if (settled(&self.write) & settled(&self.read)) && self.list.is_none() {
            match Class::of(new.kind) {
                Class::PlainRead => {
                    self.read = new;
                    return None;
                }
                Class::PlainWrite => {
                    self.read = nothing();
                    self.write = new;
                    return None;
                }
                Class::AtomicWrite | Class::AtomicLoad => {}
            }
        }
        *heap_bytes -= self.heap_bytes();
        let partner = self.access_list(new, clock);
        *heap_bytes += self.heap_bytes();
        partner
    }

    #[cold]
    #[inline(never)]
    fn access_list(&mut self, new: Entry<T>, clock: &ChunkedClock<T>) -> Option<Entry<T>> {
        let list = self.list.get_or_insert_with(|| {
            let both = [&mut self.write, &mut self.read].map(|entry| std::mem::replace(entry, nothing()));
            Box::new(both.into_iter().filter(|entry| entry.mark > T::default()).collect())
        });
        let is_plain_write = Class::of(new.kind) == Class::PlainWrite;
        let partner = list.access(new, |entry| covers(clock, entry.thread, entry.mark));
        if is_plain_write && let [only] = list.entries() {
            self.write = only.clone(); // it superseded all others
            self.list = None;
        }
        partner
    }

    /// The access with this class, thread and time has left the window.
    #[inline]
    pub(super) fn forget(&mut self, class: Class, thread: ThreadId, time: T) {
        if let Some(list) = &mut self.list {
            list.forget(class, thread, time);
        } else {
            for entry in [&mut self.write, &mut self.read] {
                entry.mark = if entry.mark == time { T::default() } else { entry.mark };
            }
        }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        match &self.list {
            Some(list) => list.entries().is_empty(),
            None => self.write.mark.max(self.read.mark) == T::default(),
        }
    }

    /// Moves all times back by `by`.
    #[inline]
    pub(super) fn age(&mut self, by: T) {
        self.write.mark = self.write.mark.earlier(by);
        self.read.mark = self.read.mark.earlier(by);
        if let Some(list) = &mut self.list {
            list.marks_mut().for_each(|mark| *mark = mark.earlier(by));
        }
    }

    /// Bytes of the variable that lie outside of itself.
    #[inline]
    pub(super) fn heap_bytes(&self) -> usize {
        self.list.as_ref().map_or(0, |list| size_of::<LastAccesses<T>>() + list.heap_bytes())
    }
}
