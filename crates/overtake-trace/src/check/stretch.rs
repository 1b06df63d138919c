//! Stretches: parts of a trace that several checkers check at the same time, each without what comes before its part.
//!
//! A checker of a stretch takes it that the part is well formed, and notes what that presupposes: which locks are held at its start, and what
//! its threads have done by then. [`chain`] finds out, from the first stretch to the last, whether it was so. If a stretch needs a repair, or
//! presupposes what is not so, one checker has to check the whole trace.

use rustc_hash::{FxHashMap, FxHashSet};

use super::landmarks::Lives;
use super::ordinary::Holder;
use super::threads::Status;
use super::{Checker, HeldLock, Landmark, Landmarks, Mode, Seen};
use crate::event::{Event, Op};
use crate::id::{EventIndex, Id, IdVec, LockId, ThreadId, VarId};

/// Landmarks of a stretch are noted after every block unless they have more entries.
const MANY_ENTRIES: usize = 1 << 12;

/// What a checker notes of a stretch.
#[derive(Clone, Default, Debug)]
pub(super) struct Notes {
    /// Sections that were open at the start, and where they end.
    ended: Vec<(EventIndex, HeldLock)>,
    /// The first exclusive acquire of each lock.
    taken: FxHashMap<LockId, EventIndex>,
    /// The first shared acquire of each lock by each thread.
    shared: FxHashMap<(LockId, ThreadId), EventIndex>,
    threads: IdVec<ThreadId, Activity>,
    /// The variables of the blocks that are allocated.
    pub(super) allocated: Vec<VarId>,
    /// How many were before the present block of events.
    pub(super) allocated_before: usize,
    /// Who frees which blocks, and whether it is in the stretch that the block was allocated or freed before.
    freed: Vec<(VarId, ThreadId, bool)>,
    places: Vec<Landmark>,
}

/// When a thread does something in a stretch.
#[derive(Clone, Copy, Default, Debug)]
struct Activity {
    first: Option<Seen>,
    /// The number of its events at the end of the last block.
    events: u64,
    /// The end of the last block in which it had one.
    last_end: Option<EventIndex>,
}

/// What a stretch is like, and what it presupposes.
#[derive(Clone, Debug)]
pub struct Stretch {
    notes: Notes,
    /// Who holds which locks at the end, as far as they were taken in the stretch.
    held: Vec<HeldLock>,
    lives: Lives,
    end: EventIndex,
    /// Entries of tables that a landmark is made of.
    entries: usize,
    is_repaired: bool,
}

impl Checker {
    /// A checker of one of several stretches of a trace, of the first one or of another.
    pub fn of_stretch(is_first: bool) -> Checker {
        let mode = if is_first { Mode::Repair } else { Mode::RepairMidTrace };
        Checker { notes: Some(Box::default()), ..Checker::new(mode) }
    }

    /// What is known of the stretch that was checked. None if the checker is not of a stretch.
    pub fn stretch(&self) -> Option<Stretch> {
        let notes = self.notes.as_deref()?.clone();
        let end = self.gaps.next.unwrap_or(EventIndex(0));
        let held = self.landmark(end).held.into_vec();
        let is_repaired = self.repairs.total() > 0 || !self.misuses.found().is_empty();
        let entries = self.locks.len() + self.threads.len();
        Some(Stretch { notes, held, lives: self.lives.clone(), end, entries, is_repaired })
    }

    /// A block that ends before `end` was checked.
    pub(super) fn note_block_end(&mut self, end: EventIndex) {
        let Some(notes) = &mut self.notes else { return };
        notes.threads.grow_to(self.threads.len());
        for (activity, state) in notes.threads.iter_mut().zip(self.threads.iter()) {
            if activity.events != state.events {
                (activity.events, activity.last_end) = (state.events, Some(end));
            }
        }
        let entries = self.threads.len() + self.locks.len();
        let last = notes.places.last().map_or(0, |last| last.next.0);
        if entries <= MANY_ENTRIES || end.0 - last >= entries as u64 {
            let landmark = self.landmark(end);
            self.notes.as_mut().expect("looked at above").places.push(landmark);
        }
    }

    /// A thread's first event.
    pub(super) fn note_first(&mut self, thread: ThreadId, index: EventIndex, event: Event) {
        if let Some(notes) = &mut self.notes {
            notes.threads.entry(thread).first = Some((index, event));
        }
    }

    /// An operation on a lock that was checked with its full state, which is now `holder` in a word. Returns the word to be kept: mid-trace the
    /// first exclusive acquire of a lock must come here.
    pub(super) fn note_lock_step(
        &mut self,
        event: Event,
        lock: LockId,
        index: EventIndex,
        holder: Holder,
    ) -> Holder {
        let Some(notes) = self.notes.as_mut().filter(|_| self.mode == Mode::RepairMidTrace) else {
            return holder;
        };
        match event.op() {
            Op::Acquire => _ = notes.taken.entry(lock).or_insert(index),
            Op::AcquireShared => _ = notes.shared.entry((lock, event.thread())).or_insert(index),
            _ => {}
        }
        match holder {
            Holder::Nobody if !notes.taken.contains_key(&lock) => Holder::Involved,
            holder => holder,
        }
    }

    /// A block of memory is allocated.
    pub(super) fn note_alloc(&mut self, block: VarId) {
        self.notes.iter_mut().for_each(|notes| notes.allocated.push(block));
    }

    /// A block of memory is freed.
    pub(super) fn note_free(&mut self, block: VarId, thread: ThreadId, is_known: bool) {
        self.notes.iter_mut().for_each(|notes| notes.freed.push((block, thread, is_known)));
    }

    /// A section ends that was open at the start.
    pub(super) fn note_end_of_open(&mut self, event: Event, lock: LockId, index: EventIndex) {
        if let Some(notes) = &mut self.notes {
            let shared = event.op() == Op::ReleaseShared;
            notes.ended.push((index, HeldLock { lock, thread: event.thread(), shared }));
        }
    }
}

impl Stretch {
    /// The first event of a thread.
    pub fn first_of(&self, thread: ThreadId) -> Option<Seen> {
        self.notes.threads.get(thread)?.first
    }

    /// The end of the last block in which a thread had an event.
    pub fn last_end_of(&self, thread: ThreadId) -> Option<EventIndex> {
        self.notes.threads.get(thread)?.last_end
    }

    /// Where a thread is forked.
    pub fn fork_of(&self, thread: ThreadId) -> Option<EventIndex> {
        self.lives.forks.get(&thread).map(|((index, _), _)| *index)
    }
}

/// What the stretches before a place say.
#[derive(Default)]
struct Past {
    held: Vec<HeldLock>,
    threads: IdVec<ThreadId, ThreadPast>,
    allocated: FxHashSet<VarId>,
    freed: FxHashSet<(VarId, ThreadId)>,
}

#[derive(Clone, Copy, Default)]
struct ThreadPast {
    status: Status,
    is_forked: bool,
    events: u64,
}

/// Puts together what is known of all stretches of a trace, in their order. None if one of them is not as the next ones presuppose, or was
/// repaired.
pub fn chain<'a>(stretches: impl IntoIterator<Item = &'a Stretch>) -> Option<Landmarks> {
    let (mut past, mut landmarks) = (Past::default(), Landmarks::default());
    for stretch in stretches {
        let ends = past.admits(stretch)?;
        past.add_landmarks(stretch, &ends, &mut landmarks);
        past.go_on(stretch, &ends);
    }
    Some(landmarks)
}

impl Past {
    /// Whether a stretch can come next. If so, where each open section ends in it.
    fn admits(&self, stretch: &Stretch) -> Option<Vec<Option<EventIndex>>> {
        let notes = &stretch.notes;
        let mut ends = vec![None; self.held.len()];
        for (index, section) in &notes.ended {
            let open = (0..ends.len()).find(|&at| self.held[at] == *section && ends[at].is_none())?;
            ends[open] = Some(*index);
        }
        let clashes = |(held, end): (&HeldLock, &Option<EventIndex>)| {
            let too_early = |acquire: &EventIndex| end.is_none_or(|end| end >= *acquire);
            let of_lock = notes.shared.iter().filter(|((lock, _), _)| *lock == held.lock);
            let mut excluded = of_lock.filter(|((_, thread), _)| !held.shared || *thread == held.thread);
            notes.taken.get(&held.lock).is_some_and(too_early)
                || excluded.any(|(_, acquire)| too_early(acquire))
        };
        let is_orderly = |(thread, activity): (ThreadId, &Activity)| {
            let past = self.threads.get(thread).copied().unwrap_or_default();
            let was_there = past.is_forked || past.status != Status::Unseen;
            (activity.first.is_none() || past.status != Status::Joined)
                && !(was_there && stretch.lives.forks.contains_key(&thread))
        };
        let fits = !stretch.is_repaired
            && !self.held.iter().zip(&ends).any(clashes)
            && notes.threads.enumerate().all(is_orderly)
            && notes.allocated.iter().all(|block| !self.allocated.contains(block))
            && notes.freed.iter().all(|&(block, thread, is_known)| {
                (is_known || self.allocated.contains(&block)) && !self.freed.contains(&(block, thread))
            });
        fits.then_some(ends)
    }

    /// Adds the landmarks of a stretch, as one checker of the whole trace would have noted them.
    fn add_landmarks(&self, stretch: &Stretch, ends: &[Option<EventIndex>], landmarks: &mut Landmarks) {
        for place in &stretch.notes.places {
            let still = |end: Option<EventIndex>| end.is_none_or(|end| end >= place.next);
            let open = self.held.iter().zip(ends).filter(|(_, end)| still(**end)).map(|(held, _)| *held);
            let mut held: Vec<_> = open.chain(place.held.iter().copied()).collect();
            held.sort_by_key(|held| held.lock);
            let before =
                |thread| self.threads.get(ThreadId::from_index(thread)).map_or(0, |past| past.events);
            let lengths =
                place.lengths.iter().enumerate().map(|(thread, length)| length + before(thread)).collect();
            landmarks.note_place(stretch.entries, place.next, || Landmark {
                next: place.next,
                held: held.into(),
                lengths,
            });
        }
        let before = |(_, event): &Seen| self.threads.get(event.thread()).map_or(0, |past| past.events);
        let Lives { forks, joins } = &stretch.lives;
        for (&thread, (seen, ordinal)) in forks {
            landmarks.lives.forks.entry(thread).or_insert((*seen, ordinal + before(seen)));
        }
        for (&threads, (seen, ordinal)) in joins {
            landmarks.lives.joins.insert(threads, (*seen, ordinal + before(seen)));
        }
        landmarks.events = stretch.end.0;
    }

    fn go_on(&mut self, stretch: &Stretch, ends: &[Option<EventIndex>]) {
        let mut ends = ends.iter();
        self.held.retain(|_| ends.next().is_some_and(Option::is_none));
        self.held.extend(&stretch.held);
        for (thread, activity) in stretch.notes.threads.enumerate() {
            let past = self.threads.entry(thread);
            past.events += activity.events;
            if activity.first.is_some() && past.status == Status::Unseen {
                past.status = Status::Running;
            }
        }
        self.allocated.extend(&stretch.notes.allocated);
        self.freed.extend(stretch.notes.freed.iter().map(|&(block, thread, _)| (block, thread)));
        stretch.lives.forks.keys().for_each(|&child| self.threads.entry(child).is_forked = true);
        stretch.lives.joins.keys().for_each(|&[child, _]| self.threads.entry(child).status = Status::Joined);
    }
}
