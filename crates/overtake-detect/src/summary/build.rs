//! Building the summary, event by event: of the whole trace, or of a window of it.
//!
//! Outside of a window only events are counted: how many each thread has done, and which of them was each variable's last write. What the events before a window
//! need is not known in it.

use overtake_clock::Time;
use overtake_trace::{IdVec, LockId, Pages, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::needs::Reach;
use super::{Event, Position, Section, Summary, What};
use crate::access::{AccessKind, At};
use crate::detector::LockMode;

/// Builds a [`Summary`].
#[derive(Debug)]
pub(crate) struct Builder {
    summary: Summary,
    /// Events are recorded: the whole trace is, or a window is open.
    is_recording: bool,
    leaves_out_own_locks: bool,
    threads: IdVec<ThreadId, ThreadState>,
    last_writes: Pages<VarId, Option<Reach>>,
    /// Allocations of heap blocks.
    allocations: FxHashMap<VarId, Reach>,
    sizes: Sizes,
}

#[derive(Default, Debug)]
struct ThreadState {
    /// How many events it has done.
    count: Time,
    open: Vec<OpenSection>,
}

/// A section that its thread is in.
#[derive(Clone, Copy, Debug)]
struct OpenSection {
    at: At,
    lock: LockId,
    mode: LockMode,
    acquired: Time,
    /// Its place in the summary, if it is recorded.
    place: u32,
}

impl Builder {
    /// A builder that records windows. Sections of locks that only one thread uses may be left out.
    pub(crate) fn of_windows(leaves_out_own_locks: bool) -> Builder {
        Builder { leaves_out_own_locks, ..Builder::new(false) }
    }

    /// A builder that records everything, or nothing yet.
    pub(crate) fn new(is_recording: bool) -> Builder {
        Builder {
            leaves_out_own_locks: false,
            summary: Summary::default(),
            is_recording,
            threads: IdVec::new(),
            last_writes: Pages::new(),
            allocations: FxHashMap::default(),
            sizes: Sizes::default(),
        }
    }

    pub(crate) fn reserve(&mut self, sizes: &Sizes) {
        self.sizes = *sizes;
        self.threads.grow_to(sizes.threads);
        if self.is_recording {
            self.summary.reserve(sizes);
        }
    }

    /// From now on events are recorded. Sections that threads are in begin the summary.
    pub(crate) fn open_window(&mut self) {
        self.is_recording = true;
        self.summary = Summary::default();
        self.summary.reserve(&self.sizes);
        self.summary.leaves_out_own_locks = self.leaves_out_own_locks;
        self.summary.base = self.threads.iter().map(|state| state.count).collect();
        let mut spanning = Vec::new();
        for (thread, state) in self.threads.enumerate() {
            spanning.extend(state.open.iter().enumerate().map(|(at, open)| (open.at.index, thread, at)));
        }
        spanning.sort_unstable();
        for (_, thread, at) in spanning {
            let OpenSection { at: acquire, acquired, .. } = self.threads[thread].open[at];
            let place = self.summary.sections[thread].len() as u32;
            let (thread, what) = (acquire.thread, What::Acquire(place));
            let At { index, location, .. } = acquire;
            self.summary.events.push(Event { index, thread, location, rank: acquired, steps: 0, what });
            self.add_section(thread, at, self.summary.events.len() as Position - 1);
        }
        self.summary.spanning = self.summary.events.len() as Position;
    }

    /// Events are not recorded any more, and those that are recorded are dropped.
    pub(crate) fn close_window(&mut self) {
        self.is_recording = false;
        self.summary = Summary::default();
    }

    pub(crate) fn is_recording(&self) -> bool {
        self.is_recording
    }

    /// What is recorded so far.
    pub(crate) fn summary(&self) -> &Summary {
        &self.summary
    }

    /// The whole trace.
    pub(crate) fn finish(self) -> Summary {
        self.summary
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.summary.state_bytes()
            + self.last_writes.table_bytes()
            + self.threads.table_bytes()
            + self.allocations.capacity() * size_of::<(VarId, Reach)>()
    }

    fn push(&mut self, at: At, what: What) -> Position {
        self.threads[at.thread].count += 1;
        self.push_part(at, what)
    }

    /// A part of the event that its thread is at.
    fn push_part(&mut self, at: At, what: What) -> Position {
        if !self.is_recording {
            return 0;
        }
        let Reach { count: rank, steps, .. } = self.reach(at.thread);
        let At { index, thread, location } = at;
        self.summary.events.push(Event { index, thread, location, rank, steps, what });
        self.summary.events.len() as Position - 1
    }

    /// All that a thread did.
    #[inline]
    fn reach(&self, thread: ThreadId) -> Reach {
        let steps = if self.is_recording { self.summary.needs.steps(thread) } else { 0 };
        Reach { thread, count: self.threads[thread].count, steps }
    }

    /// The same thing in this window: steps that were made before it are not known any more.
    fn in_window(&self, reach: Reach) -> Reach {
        let is_inside = reach.count > self.summary.base(reach.thread);
        Reach { steps: if is_inside { reach.steps } else { 0 }, ..reach }
    }

    /// From now on a thread needs what another one did at an event.
    fn learn(&mut self, thread: ThreadId, reach: Reach) {
        if self.is_recording && !self.summary.needs.has_heard(thread, reach) {
            self.learn_all(thread, reach);
        }
    }

    /// An access, and the heap block that it reads as well, as far as they matter.
    pub(crate) fn access(&mut self, at: At, access: Option<(VarId, AccessKind)>, block: Option<VarId>) {
        let position = match (access, block) {
            (Some((var, kind)), block) => {
                let position = self.push(at, What::Access(var, kind));
                if let Some(block) = block {
                    self.push_part(at, What::Block(block));
                }
                position
            }
            (None, Some(block)) => self.push(at, What::Access(block, AccessKind::Read)),
            (None, None) => return,
        };
        let freed = access.filter(|(_, kind)| *kind == AccessKind::Free).map(|(var, _)| var);
        if let Some(&allocation) = block.or(freed).and_then(|block| self.allocations.get(&block)) {
            self.note_allocation(at.thread, position, allocation);
        }
        let read = access.filter(|(_, kind)| kind.reads()).map(|(var, _)| var);
        for var in [read, block].into_iter().flatten() {
            if let Some(seen) = self.last_writes[var] {
                self.learn(at.thread, self.in_window(seen));
            }
        }
        if let Some((var, _)) = access.filter(|(_, kind)| kind.writes()) {
            self.last_writes[var] = Some(self.reach(at.thread));
        }
        if let Some((block, _)) = access.filter(|(_, kind)| *kind == AccessKind::Alloc) {
            self.allocations.insert(block, self.reach(at.thread));
        }
    }

    /// The access at a position needs the allocation of a block (I4).
    fn note_allocation(&mut self, thread: ThreadId, position: Position, allocation: Reach) {
        if self.is_recording && !self.summary.needs.has_heard(thread, allocation) {
            self.summary.with_blocks.insert(position, self.in_window(allocation));
        }
    }

    pub(crate) fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        let acquire = match self.is_recording {
            true => self.push(at, What::Acquire(self.summary.sections[at.thread].len() as u32)),
            false => self.push(at, What::Other),
        };
        let state = &mut self.threads[at.thread];
        state.open.push(OpenSection { at, lock, mode, acquired: state.count, place: 0 });
        if self.is_recording {
            let last = self.threads[at.thread].open.len() - 1;
            self.add_section(at.thread, last, acquire);
        }
    }

    /// Records the section at `at` among those that a thread is in.
    fn add_section(&mut self, thread: ThreadId, at: usize, acquire: Position) {
        let place = self.summary.sections[thread].len() as u32;
        let open = &mut self.threads[thread].open;
        open[at].place = place;
        let outer = at.checked_sub(1).map(|outer| open[outer].place);
        let OpenSection { lock, mode, acquired, .. } = open[at];
        let section = Section { lock, mode, acquire, acquired, release: 0, released: Time::MAX, outer };
        self.summary.sections[thread].push(section);
        let users = &mut self.summary.by_lock[lock];
        match users.iter_mut().find(|(user, _)| *user == thread) {
            Some((_, places)) => places.push(place),
            None => users.push((thread, vec![place])),
        }
    }

    pub(crate) fn release(&mut self, at: At, lock: LockId) {
        let open = &mut self.threads[at.thread].open;
        let Some(last) = open.iter().rposition(|section| section.lock == lock) else { return };
        let OpenSection { place, .. } = open.remove(last);
        let release = self.push(at, What::Release(place));
        if self.is_recording {
            let section = &mut self.summary.sections[at.thread][place as usize];
            (section.release, section.released) = (release, self.threads[at.thread].count);
        }
    }

    pub(crate) fn fork(&mut self, at: At, child: ThreadId) {
        self.push(at, What::Fork(child));
        self.learn(child, self.reach(at.thread));
    }

    pub(crate) fn join(&mut self, at: At, child: ThreadId) {
        self.push(at, What::Join(child));
        if self.is_recording {
            self.learn_all(at.thread, self.reach(child));
        }
    }

    pub(crate) fn post(&mut self, at: At, object: SyncId) {
        self.push(at, What::Post(object));
        if self.is_recording {
            self.summary.needs.post(object, self.reach(at.thread));
        }
    }

    pub(crate) fn wait(&mut self, at: At, object: SyncId) {
        self.push(at, What::Wait(object));
        if self.is_recording {
            self.summary.needs.add_posts(at.thread, self.threads[at.thread].count, object);
        }
    }

    /// An event that orders nothing.
    pub(crate) fn other(&mut self, at: At) {
        self.push(at, What::Other);
    }

    /// As `learn`, for a thread that may have done nothing: its fork is needed nevertheless.
    fn learn_all(&mut self, thread: ThreadId, reach: Reach) {
        self.summary.needs.add(thread, self.threads[thread].count, reach);
    }
}
