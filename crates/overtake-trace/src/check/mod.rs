//! Well-formedness: what detectors may rely on, and how other traces are repaired.
//!
//! The theory assumes that a lock is acquired only when free and released only by its holder, that a thread is forked
//! once and before it runs, and that it does nothing after it was joined. Recorded traces break each of these rules.
//! [`Checker::strict`] refuses such a trace; [`Checker::repairing`] repairs it as [`Repair`] says and counts the repairs.
//!
//! Detectors take [`Checked`] blocks only, and only the checker makes them. What they may rely on (W for well-formed):
//!   W1  Every id is within its table.
//!   W2  Before `acquire l`, nobody holds `l` in any mode. Before `shared acquire l`, nobody holds `l` exclusively, and the
//!       acquiring thread does not hold it shared.
//!   W3  A release names a lock that its thread holds in that mode. Mid-trace (in a window), the acquire may lie before the window.
//!   W4  No thread forks or joins itself.
//!   W5  `free b` comes after `alloc b` (mid-trace, the `alloc` may lie before the window), and each block has one `alloc`. Two
//!       threads may both free a block: that is a race or another finding, and the trace is still well formed.
//!
//! A thread may run before its fork and after its join. A fork orders the thread's *next* event, a join comes after the thread's
//! *last* event so far, and orders nothing that the thread does later.
//!
//! Events keep the index they have in the input: a dropped event stays as [`Op::Skip`], an inserted one has the index
//! of the event it was inserted before. Missing events are a barrier; see [`gaps`].

mod blocks;
mod checked;
mod gaps;
mod landmarks;
mod limits;
mod locks;
mod ordinary;
mod repairs;
mod stretch;
#[cfg(test)]
mod tests;
mod threads;

pub use checked::{Checked, Renumbered, Run};
pub use landmarks::{HeldLock, Landmark, Landmarks, Seen};
pub use repairs::{Repair, Repairs};
pub use stretch::{Stretch, chain};

use blocks::ArrayState;
use gaps::Gaps;
use landmarks::Lives;
use limits::Limits;
use locks::LockState;
use ordinary::Ordinary;
use stretch::Notes;
use threads::{Status, ThreadState};

use crate::block::{Block, LeftOut, Part};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::event::{Action, Event};
use crate::id::{ArrayId, EventIndex, IdVec, LockId, ThreadId};
use crate::misuse::Misuses;
use crate::symbols::Symbols;

/// Checks blocks of one trace, in order, and repairs or refuses what is not well formed.
#[derive(Debug)]
pub struct Checker {
    mode: Mode,
    threads: IdVec<ThreadId, ThreadState>,
    ordinary: Ordinary,
    /// The full states of locks, for those that one word of `ordinary` cannot describe.
    locks: IdVec<LockId, LockState>,
    arrays: IdVec<ArrayId, ArrayState>,
    any_reused_blocks: bool,
    lives: Lives,
    gaps: Gaps,
    repairs: Repairs,
    misuses: Misuses,
    insertions: Vec<Insertion>,
    /// A thread is forked or joined in the block.
    forks_or_joins: bool,
    /// One more than the largest id of a thread that was seen.
    seen_threads: usize,
    /// The number of the window that is being checked. A state with another number is out of date.
    window: u32,
    /// What is noted of a stretch.
    notes: Option<Box<Notes>>,
}

/// Number 0 is no window: states that were never used have it.
const FIRST_WINDOW: u32 = 1;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    Strict,
    Repair,
    /// As `Repair`, for a window of a trace: locks may be held since before it.
    RepairMidTrace,
}

/// An event that was not in the input, to come before `events[before]`.
#[derive(Clone, Copy, Debug)]
struct Insertion {
    before: usize,
    event: Event,
}

impl Checker {
    /// A checker that refuses what is not well formed.
    pub fn strict() -> Checker {
        Checker::new(Mode::Strict)
    }

    /// A checker that repairs what is not well formed and counts the repairs.
    pub fn repairing() -> Checker {
        Checker::new(Mode::Repair)
    }

    /// A repairing checker for a window of a trace. A lock that nobody holds may be released, because it may have been
    /// acquired, even several times, before the window. Dropping such a release would lose an edge and invent races; keeping
    /// one too many can only hide some. In the same way, a block may be freed that was allocated before the window.
    pub fn repairing_mid_trace() -> Checker {
        Checker::new(Mode::RepairMidTrace)
    }

    fn new(mode: Mode) -> Checker {
        Checker {
            mode,
            threads: IdVec::new(),
            ordinary: if mode == Mode::RepairMidTrace { Ordinary::mid_trace() } else { Ordinary::new() },
            locks: IdVec::new(),
            arrays: IdVec::new(),
            any_reused_blocks: false,
            lives: Lives::default(),
            gaps: if mode == Mode::RepairMidTrace { Gaps::default() } else { Gaps::at_start() },
            repairs: Repairs::default(),
            misuses: Misuses::default(),
            insertions: Vec::new(),
            forks_or_joins: false,
            seen_threads: 0,
            window: FIRST_WINDOW,
            notes: None,
        }
    }

    /// Begins another window of the trace, of which nothing is known yet. Mid-trace this costs O(threads + locks used in the
    /// last window); the other states of locks and blocks are reset when they are next used.
    pub fn begin_window(&mut self) {
        match self.window.checked_add(1) {
            Some(window) => self.window = window,
            None => {
                self.window = FIRST_WINDOW;
                (self.locks, self.arrays) = (IdVec::new(), IdVec::new());
            }
        }
        self.threads = IdVec::new();
        self.any_reused_blocks = false;
        self.gaps = Gaps::default();
        self.ordinary.begin_window();
    }

    /// The repairs that were made so far.
    pub fn repairs(&self) -> &Repairs {
        &self.repairs
    }

    /// The misuses that were found so far.
    pub fn misuses(&self) -> &Misuses {
        &self.misuses
    }

    /// Checks the next block of the trace and repairs it in place.
    pub fn check<'a>(&'a mut self, block: &'a mut Block, symbols: &'a mut Symbols) -> Result<Checked<'a>> {
        let length = block.events.len();
        self.check_events(block, None, &[], length, symbols)?;
        Ok(self.checked(block, None, length, symbols))
    }

    /// Checks some events of the next block and repairs them in place. Faults that concern only events that are left out are not seen.
    pub fn check_part<'a>(&'a mut self, part: &'a mut Part, symbols: &'a mut Symbols) -> Result<Checked<'a>> {
        let Part { block, places, length, left_out } = part;
        let length = *length as usize;
        self.check_events(block, Some(places), left_out, length, symbols)?;
        Ok(self.checked(block, Some(places), length, symbols))
    }

    fn checked<'a>(
        &'a self,
        block: &'a Block,
        places: Option<&'a [u32]>,
        length: usize,
        symbols: &'a Symbols,
    ) -> Checked<'a> {
        let is_disorderly = |repair| matches!(repair, Repair::LateFork | Repair::EventAfterJoin);
        Checked {
            block,
            places,
            length,
            insertions: &self.insertions,
            symbols,
            allocated: self.notes.as_ref().map_or(&[], |notes| &notes.allocated[notes.allocated_before..]),
            sizes: symbols.sizes(),
            // What other stretches saw is not known here.
            seen_threads: self.notes.as_ref().map_or(self.seen_threads, |_| symbols.threads.len()),
            forks_or_joins: self.forks_or_joins,
            lives_are_orderly: !self.repairs.made().any(|(repair, _)| is_disorderly(repair)),
        }
    }

    fn check_events(
        &mut self,
        block: &mut Block,
        places: Option<&[u32]>,
        mut left_out: &[LeftOut],
        length: usize,
        symbols: &mut Symbols,
    ) -> Result<()> {
        self.insertions.clear();
        self.forks_or_joins = false;
        self.notes.iter_mut().for_each(|notes| notes.allocated_before = notes.allocated.len());
        self.fit(symbols);
        let end = EventIndex(block.first.0.saturating_add(length as u64));
        self.note_block(block.first, end, symbols)?;
        let mut limits = self.fit(symbols);
        let mut at = 0;
        loop {
            at += self.pass_ordinary(&block.events[at..], &limits);
            self.count_left_out(&mut left_out, at);
            let Some(&event) = block.events.get(at) else { break };
            let index = place(block.first, places, at);
            limits.check(&event, index)?;
            self.threads[event.thread()].events += 1;
            let entered = self.enter_thread(event, at, symbols, index)?;
            let mended = self.check_action(entered, at, symbols, index)?;
            if mended != event {
                block.events[at] = mended;
                limits = self.fit(symbols); // a repair that adds a name puts it into the event
            }
            at += 1;
        }
        self.note_block_end(end);
        Ok(())
    }

    /// Counts events that are left out and come before the one at `at`.
    fn count_left_out(&mut self, left_out: &mut &[LeftOut], at: usize) {
        while let Some((&LeftOut { thread, events, .. }, rest)) =
            left_out.split_first().filter(|(left_out, _)| left_out.before as usize <= at)
        {
            if let Some(state) = self.threads.get_mut(thread) {
                state.events += u64::from(events);
            }
            *left_out = rest;
        }
    }

    /// Handles the ordinary events at the start of `events`. Returns how many there are before the first other one.
    #[inline(never)]
    fn pass_ordinary(&mut self, events: &[Event], limits: &Limits) -> usize {
        let Checker { threads, ordinary, .. } = self;
        let needs_thought = |event: &Event| {
            let Some(thread) = threads.get_mut(event.thread()) else { return true };
            if thread.status != Status::Running || !limits.hold(event) || !ordinary.take(event) {
                return true;
            }
            thread.events += 1;
            false
        };
        events.iter().position(needs_thought).unwrap_or(events.len())
    }

    /// Makes the tables as long as those of `symbols`.
    fn fit(&mut self, symbols: &Symbols) -> Limits {
        let sizes = symbols.sizes();
        self.threads.grow_to(sizes.threads);
        self.locks.grow_to(sizes.locks);
        self.ordinary.reserve_locks(sizes.locks);
        self.arrays.grow_to(symbols.variables.array_count());
        Limits::new(&sizes)
    }

    fn check_action(
        &mut self,
        event: Event,
        at: usize,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        match event.action() {
            Action::Read(var)
            | Action::Write(var)
            | Action::Load(var, _)
            | Action::Store(var, _)
            | Action::Rmw(var, _)
                if self.any_reused_blocks || self.gaps.are_any() =>
            {
                let var = self.current_element(var, symbols)?;
                self.note_use(var, symbols);
                Ok(event.with_operand(var.0))
            }
            Action::Acquire(lock)
            | Action::Release(lock)
            | Action::AcquireShared(lock)
            | Action::ReleaseShared(lock) => self.lock_step(event, lock, at, symbols, index),
            Action::Fork(child) => self.fork(event, child, symbols, index),
            Action::Join(child) => self.join(event, child, symbols, index),
            Action::Alloc(block) => self.alloc(event, block, symbols, index),
            Action::Free(block) => self.free(event, block, symbols, index),
            Action::Misuse(marker) => {
                self.misuses.note(index, event, marker);
                Ok(event)
            }
            Action::Gap => {
                self.gap(at, index, symbols)?;
                Ok(skip(event))
            }
            _ => Ok(event),
        }
    }

    fn insert(&mut self, before: usize, event: Event) {
        self.insertions.push(Insertion { before, event });
    }

    /// Counts a repair, or refuses in strict mode.
    fn mend(&mut self, repair: Repair, index: EventIndex, message: impl FnOnce() -> String) -> Result<()> {
        if self.mode == Mode::Strict {
            return Err(Error::new(ErrorKind::IllFormed, Position::Event(index), message()));
        }
        self.repairs.count(repair);
        Ok(())
    }
}

/// The index of the event at `at`. The block begins at `first`; `places` has the position of each event, if some are left out.
fn place(first: EventIndex, places: Option<&[u32]>, at: usize) -> EventIndex {
    let offset = places.map_or(at as u64, |places| places.get(at).map_or(at as u64, |&place| place.into()));
    EventIndex(first.0 + offset)
}

fn skip(event: Event) -> Event {
    Event::new(event.thread(), Action::Skip, event.location())
}

fn thread_name(symbols: &Symbols, thread: ThreadId) -> String {
    symbols.threads.display(thread)
}
