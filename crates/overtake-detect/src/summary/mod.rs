//! A trace, or a window of it, in memory, for predictors that also use events after the second access.
//!
//! Events of variables and locks that cannot matter are left out (see the filter of `syncp`). Events that order nothing are left out, too, unless
//! schedules are made of the summary. Each event knows what its predecessor cannot run without: the events
//! of a set that is closed under this are a prefix of each thread.
//!
//! | file | holds |
//! | --- | --- |
//! | `build.rs` | how the summary is built |
//! | `needs.rs` | what threads cannot run without of each other, and sets that are closed under it |
//! | `chosen.rs` | the events that it takes to bring two accesses side by side |
//! | `finder.rs` | which pairs of accesses deserve a closer look |
//! | `order.rs` | the clocks by which the finder tells pairs that are ordered |
//! | `search.rs` | the closer look, in windows of the trace |
//! | `doubt.rs` | which predictions from a recording are sure |
//! | `support.rs` | a closer look at races that `wcp` suspects |
//! | `analysis.rs` | the passes: `syncp`, then a closer look at what it left open, by `osr` or `m2` |
//!
//! **Invariants.**
//!   I1  What the first `Event::steps` steps of its thread need, and the events of the thread before it, are the TL-closure of its `prev` (see `docs/semantics.md`).
//!   I2  The sections of a thread are in the order of their acquires, and `Section::outer` leads to all sections that were open
//!       when it began: a section that is open now was open when any later one began.
//!   I3  An event that touches a variable and its heap block has two entries, one after the other, with one rank. It runs as one:
//!       sets and orders of events name the first entry only.
//!   I4  `Summary::with_blocks` has the allocation of the block that an access lies in, where that may be more than what
//!       precedes the access.

mod analysis;
mod build;
mod chosen;
mod doubt;
mod finder;
mod needs;
mod order;
mod search;
mod support;
#[cfg(test)]
mod tests;

use overtake_clock::Time;
use overtake_trace::{EventIndex, Id, IdVec, LocationId, LockId, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::access::{Access, AccessKind, At};
use crate::detector::LockMode;

use self::needs::{Needs, Reach};
pub(crate) use analysis::{Collector, Method, beyond};
pub(crate) use chosen::{Before, Chosen, any_exclude, excluding};
pub(crate) use doubt::{READINGS as DOUBTS, doubt};
pub(crate) use finder::Limits;
pub(crate) use support::{SUPPORT_READINGS, support};

/// What a closer look at a pair of accesses says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Judgement {
    /// A reordering brings them side by side.
    Race,
    /// None was found.
    NoRace,
    /// It would take too many events.
    TooLarge,
    /// It takes more of the trace to know.
    Unknown,
}

/// The place of an event in a [`Summary`].
pub(crate) type Position = u32;

/// An event that orders something.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Event {
    pub(crate) index: EventIndex,
    pub(crate) thread: ThreadId,
    pub(crate) location: LocationId,
    /// Which event of its thread it is, from 1.
    pub(crate) rank: Time,
    /// How many steps its thread had made before it (I1).
    steps: u32,
    pub(crate) what: What,
}

/// What an event does.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// Accesses a variable.
    Access(VarId, AccessKind),
    /// The event of the entry before reads the heap block, too, that its variable lies in (I3).
    Block(VarId),
    /// Begins the section with this place in its thread.
    Acquire(u32),
    /// Ends it.
    Release(u32),
    Fork(ThreadId),
    Join(ThreadId),
    Post(SyncId),
    Wait(SyncId),
    /// Orders nothing.
    Other,
}

/// A critical section.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    pub(crate) lock: LockId,
    pub(crate) mode: LockMode,
    /// The acquire, and its rank.
    pub(crate) acquire: Position,
    pub(crate) acquired: Time,
    /// The release, and its rank; `Time::MAX` if there is none.
    pub(crate) release: Position,
    pub(crate) released: Time,
    /// The section that began last before it and was still open.
    pub(crate) outer: Option<u32>,
}

impl Section {
    /// Whether the two exclude each other.
    pub(crate) fn excludes(&self, other: &Section) -> bool {
        self.lock == other.lock && self.mode.excludes(other.mode)
    }

    /// Whether it ends within the first `count` events of its thread.
    pub(crate) fn ends_within(&self, count: Time) -> bool {
        self.released <= count
    }
}

/// The trace.
#[derive(Default, Debug)]
pub(crate) struct Summary {
    pub(crate) events: Vec<Event>,
    pub(crate) sections: IdVec<ThreadId, Vec<Section>>,
    /// Per lock, the sections of each thread that uses it.
    pub(crate) by_lock: IdVec<LockId, Vec<(ThreadId, Vec<u32>)>>,
    needs: Needs,
    /// How many events of each thread come before the window; none are missing from a whole trace.
    base: Vec<Time>,
    /// Where the events of the window begin. Before them are the acquires of the sections that it began in.
    pub(crate) spanning: Position,
    /// Sections of locks that only one thread uses are left out.
    leaves_out_own_locks: bool,
    /// By the first entry of an access (I4).
    with_blocks: FxHashMap<Position, Reach>,
}

impl Summary {
    fn reserve(&mut self, sizes: &Sizes) {
        self.sections.grow_to(sizes.threads);
        self.needs.reserve(sizes.threads);
        self.by_lock.grow_to(sizes.locks);
    }

    /// How many events of a thread come before the window.
    fn base(&self, thread: ThreadId) -> Time {
        self.base.get(thread.index()).copied().unwrap_or(0)
    }

    /// Whether it begins where the trace does.
    pub(crate) fn is_from_the_start(&self) -> bool {
        self.base.iter().all(|&count| count == 0)
    }

    /// Whether sections of a lock can keep another thread out.
    fn is_shared(&self, lock: LockId) -> bool {
        self.leaves_out_own_locks || self.by_lock[lock].len() > 1
    }

    /// The access to a variable that the event with an index makes.
    pub(crate) fn access_of(&self, index: EventIndex, var: VarId) -> Option<Position> {
        self.at(index).find(|&at| self.access(at).is_some_and(|(touched, _)| touched == var))
    }

    pub(crate) fn event(&self, position: Position) -> &Event {
        &self.events[position as usize]
    }

    /// The positions of the events with an index: those that a repair inserted before an event share its index.
    pub(crate) fn at(&self, index: EventIndex) -> impl Iterator<Item = Position> {
        let start = self.events.partition_point(|event| event.index < index);
        let same = self.events[start..].iter().take_while(move |event| event.index == index);
        (start as Position..).zip(same).map(|(position, _)| position)
    }

    pub(crate) fn section(&self, thread: ThreadId, place: u32) -> &Section {
        &self.sections[thread][place as usize]
    }

    /// The release that ends a section, if there is one.
    pub(crate) fn release(&self, section: &Section) -> Option<&Event> {
        (section.released != Time::MAX).then(|| self.event(section.release))
    }

    /// The access at a position, as races name it.
    pub(crate) fn access(&self, position: Position) -> Option<(VarId, Access)> {
        let Event { index, thread, location, what, .. } = *self.event(position);
        let at = At { index, thread, location };
        match what {
            What::Access(var, kind) => Some((var, Access { at, kind })),
            What::Block(block) => Some((block, Access { at, kind: AccessKind::Read })),
            _ => None,
        }
    }

    /// What the event whose first entry is at a position touches (I3).
    pub(crate) fn touches(&self, position: Position) -> impl Iterator<Item = (VarId, AccessKind)> {
        let block =
            self.events.get(position as usize + 1).filter(|event| matches!(event.what, What::Block(_)));
        [Some(self.event(position)), block].into_iter().flatten().filter_map(|event| match event.what {
            What::Access(var, kind) => Some((var, kind)),
            What::Block(block) => Some((block, AccessKind::Read)),
            _ => None,
        })
    }

    /// The first entry of the event that has an entry at a position (I3).
    pub(crate) fn start(&self, position: Position) -> Position {
        match self.event(position).what {
            What::Block(_) => position - 1,
            _ => position,
        }
    }

    /// The sections of a thread that are open after its first `count` events, the last one first.
    pub(crate) fn open_after(&self, thread: ThreadId, count: Time) -> impl Iterator<Item = u32> {
        let sections = &self.sections[thread];
        let begun = sections.partition_point(|section| section.acquired <= count);
        let last = begun.checked_sub(1).map(|last| last as u32);
        std::iter::successors(last, move |&place| sections[place as usize].outer)
            .filter(move |&place| !sections[place as usize].ends_within(count))
    }

    pub(crate) fn state_bytes(&self) -> usize {
        let sections: usize = self.sections.iter().map(|list| list.capacity() * size_of::<Section>()).sum();
        self.events.capacity() * size_of::<Event>() + 2 * sections + self.needs.state_bytes()
    }
}
