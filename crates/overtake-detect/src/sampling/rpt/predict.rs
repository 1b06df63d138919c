//! The sync-preserving races of a window, each a race of the whole trace.
//!
//! **Claim.** Let P be the events before the window and X the smallest set that contains P and what directly precedes `e1`
//! and `e2`, both in the window, and is closed as a sync-preserving reordering must be (`syncp/mod.rs`), in the whole
//! trace. If `e1` is not in X, the two are a sync-preserving race of the whole trace: the closure without P is the smallest
//! closed set that contains their predecessors, so it lies inside X and does not contain `e1` either.
//! **X by the window alone.** An event of P needs nothing outside P: what precedes it, the write it sees and what it waits
//! for come before it. An event of the window needs P, which is in X, and events of the window. Of two acquires of one
//! lock that exclude each other, the earlier one's section ends before the later one: within P if both are in P. If
//! only the later one is in the window and in X, the section of the earlier one ended in P or in the window, and then by a
//! release without an acquire in the window. So it is enough to know which sections are open when the window begins and
//! are ended inside, and to let every thread depend on their beginnings.
//! **So.** Each release without an acquire in the window gets one at its beginning, and every thread of the window is
//! ordered after all of these by an edge. The ordinary detector then computes X. Where a thread has several such
//! releases of one lock it held it several times: the last one ends the section, and what it does with the lock in
//! between counts for nothing. A block that is freed and not allocated in the window was allocated before, so that its
//! accesses count as reads of the block from the beginning of the window.
//! **Verdict.** Observed or predicted exactly: happens-before needs no context.
//! **Keeps.** Without atomics, the first happens-before race of the window. What X contains beyond P happens before one of the two
//! accesses: up to the first race a read is ordered after the write it sees, and a release before each later acquire.
//! **Loses.** Races whose reordering leaves out events before the window that they would collide with.
//! **Cost.** The window is kept in memory, 24 bytes an event, unless it begins with the trace.

use std::ops::Range;

use overtake_trace::{
    Action, Checked, Event, EventIndex, LocationId, LockId, Op, Sizes, Symbols, ThreadId, VarId,
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::judge::WindowJudge;
use super::rename::{Renamed, Renamings};
use crate::access::At;
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::run::{LiveBlocks, visit_event, visit_range};
use crate::syncp::Unfiltered;
use crate::visitor::Reporting;

/// Finds sync-preserving races of windows.
#[derive(Default)]
pub(super) struct PredictingJudge {
    start: u64,
    events: Vec<(EventIndex, Event)>,
    blocks: LiveBlocks,
    renamings: Renamings,
    /// The detector of the present window and how long its tables are, and what it found, under new names.
    detector: Option<Unfiltered>,
    sizes: Sizes,
    found: Findings,
}

impl PredictingJudge {
    fn renamed(&mut self) -> (Renamed<'_, Unfiltered>, &mut LiveBlocks, &mut Findings) {
        let detector = self.detector.get_or_insert_with(Unfiltered::of_everything);
        let renamed = Renamed { detector, renamings: &mut self.renamings, sizes: &mut self.sizes };
        (renamed, &mut self.blocks, &mut self.found)
    }

    /// Judges the events that were kept.
    fn judge_kept(&mut self, symbols: &Symbols) {
        let events = std::mem::take(&mut self.events);
        let context = Context::of(&events);
        let first = EventIndex(self.start);
        let (mut detector, blocks, races) = self.renamed();
        detector.reserve(&symbols.sizes());
        for &block in &context.blocks {
            blocks.alloc(symbols, block);
        }
        let at = |thread| At { index: first, thread, location: LocationId::UNKNOWN };
        for section in &context.open {
            detector.acquire(at(section.thread), section.lock, section.mode, races);
        }
        for holder in context.holders() {
            for &thread in context.threads.iter().filter(|&&thread| thread != holder) {
                detector.fork(at(holder), thread, races);
            }
        }
        for (position, (index, event)) in events.iter().enumerate() {
            if !context.is_inside_open_section(position, event) {
                let mut visitor = Reporting { detector: &mut detector, findings: races };
                visit_event(&mut visitor, blocks, symbols, *index, event);
            }
        }
        self.events = events;
    }
}

impl WindowJudge for PredictingJudge {
    fn begin(&mut self, start: u64) {
        self.start = start;
        self.events.clear();
        self.blocks.begin_window();
        self.renamings.begin_window();
        (self.detector, self.sizes, self.found) = (None, Sizes::default(), Findings::new());
    }

    fn feed(&mut self, checked: &Checked<'_>, range: Range<u64>, _: &mut Findings) {
        if self.start == 0 {
            let (mut detector, blocks, races) = self.renamed();
            let mut visitor = Reporting { detector: &mut detector, findings: races };
            return visit_range(&mut visitor, blocks, checked, range);
        }
        for run in checked.runs().map(|run| run.within(&range)) {
            let numbered = run.events.iter().zip(run.first.0..);
            self.events.extend(numbered.map(|(event, index)| (EventIndex(index), *event)));
        }
    }

    fn end(&mut self, symbols: &Symbols, races: &mut Findings) {
        if self.start > 0 {
            self.judge_kept(symbols);
        }
        races.absorb(&self.found, |var| self.renamings.original(var));
    }

    fn state_bytes(&self) -> usize {
        self.events.capacity() * size_of::<(EventIndex, Event)>()
            + self.renamings.state_bytes()
            + self.detector.as_ref().map_or(0, Detector::state_bytes)
    }
}

/// What was before a window, as far as it matters and the window shows it.
#[derive(Default, Debug)]
struct Context {
    /// Sections that are open when the window begins and end inside, in the order of their ends.
    open: Vec<OpenSection>,
    /// The position of the release that ends the section of a thread and lock.
    ends: FxHashMap<(ThreadId, LockId), usize>,
    /// Blocks that were allocated before.
    blocks: Vec<VarId>,
    /// Threads with events in the window, in the order of their first.
    threads: Vec<ThreadId>,
}

#[derive(Clone, Copy, Debug)]
struct OpenSection {
    thread: ThreadId,
    lock: LockId,
    mode: LockMode,
}

impl Context {
    fn of(events: &[(EventIndex, Event)]) -> Context {
        let mut context = Context::default();
        let mut held = FxHashSet::default();
        let (mut threads, mut blocks) = (FxHashSet::default(), FxHashSet::default());
        for (position, (_, event)) in events.iter().enumerate() {
            if threads.insert(event.thread()) {
                context.threads.push(event.thread());
            }
            let thread = event.thread();
            match event.action() {
                Action::Acquire(lock) | Action::AcquireShared(lock) => {
                    held.insert((thread, lock));
                }
                Action::Release(lock) if !held.remove(&(thread, lock)) => {
                    context.end_section(OpenSection { thread, lock, mode: LockMode::Exclusive }, position);
                }
                Action::ReleaseShared(lock) if !held.remove(&(thread, lock)) => {
                    context.end_section(OpenSection { thread, lock, mode: LockMode::Shared }, position);
                }
                Action::Alloc(block) => {
                    blocks.insert(block);
                }
                Action::Free(block) if blocks.insert(block) => context.blocks.push(block),
                _ => {}
            }
        }
        context
    }

    /// A section that was open when the window began ends at `position`, or later if it turns out so.
    fn end_section(&mut self, section: OpenSection, position: usize) {
        if self.ends.insert((section.thread, section.lock), position).is_none() {
            self.open.push(section);
        }
    }

    /// Threads with open sections, each once.
    fn holders(&self) -> Vec<ThreadId> {
        let mut holders: Vec<_> = self.open.iter().map(|section| section.thread).collect();
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Whether an event takes or gives back a lock within a section of it that was open when the window began.
    fn is_inside_open_section(&self, position: usize, event: &Event) -> bool {
        let is_lock = matches!(event.op(), Op::Acquire | Op::Release | Op::AcquireShared | Op::ReleaseShared);
        is_lock
            && !self.ends.is_empty()
            && self.ends.get(&(event.thread(), LockId(event.operand()))).is_some_and(|&end| position < end)
    }
}
