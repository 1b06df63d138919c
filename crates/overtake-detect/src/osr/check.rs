//! Is a pair of accesses a race by optimistic sync-reversal? The three steps of the definition.
//!
//! **Set.** The TL-closure of what precedes the two is the maximum of two clocks. Only sections that are open at the end of a
//! thread's part of the set can be ended; ending one adds the clock of its release, unless that contains one of the two.
//! **Order.** All edges point forward in the trace, except those from the releases of a lock to an open acquire of it. So the
//! set is put in order by going over it in trace order, again and again: an event waits if something before it waits, or if
//! it is an open acquire and a release that it excludes is still to come. A pass in which nothing runs has found a cycle.
//! Events before the first acquire that has to wait run in trace order.
//! **Cost.** For the set O(threads · sections open); for the order the events from the first waiting acquire to the last release
//! that it waits for, once for each acquire that waits.

use overtake_trace::{LockId, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use crate::detector::LockMode;
use crate::summary::{Before, Chosen, Event, Judgement, Position, Section, Summary, What, any_exclude};

/// Judges pairs of accesses of one trace.
pub(crate) struct Checker<'a> {
    pub(super) summary: &'a Summary,
    waiting: Waiting,
}

/// An acquire that stays open and comes before a release that it has to wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reversed {
    pub(super) acquire: Position,
    /// The last release that it waits for.
    last: Position,
}

impl<'a> Checker<'a> {
    pub(crate) fn new(summary: &'a Summary) -> Checker<'a> {
        Checker { summary, waiting: Waiting::default() }
    }

    /// Judges two conflicting accesses of different threads in a window; `first` comes earlier. None if sections may end later in the trace, unless it is over.
    ///
    /// A race stays one if fewer events are chosen. So it is one if it is one with everything before the window, and none if it
    /// is none with only what is known to be needed of that (see `../summary/search.rs`).
    pub(crate) fn judge_in_window(
        &mut self,
        first: Position,
        second: Position,
        is_over: bool,
    ) -> Option<Judgement> {
        let most = Chosen::of(self.summary, first, second, Before::Everything, |_| true);
        if !is_over && most.as_ref().is_some_and(|most| most.awaits_an_end(self.summary)) {
            return None;
        }
        if most.is_some_and(|most| self.order(&most, None) && !self.goes_back_further(&most)) {
            return Some(Judgement::Race);
        }
        if self.summary.is_from_the_start() {
            return Some(Judgement::NoRace);
        }
        let least = Chosen::of(self.summary, first, second, Before::Needed, |_| true);
        let is_possible = least.is_some_and(|least| self.order(&least, None));
        Some(if is_possible { Judgement::Unknown } else { Judgement::NoRace })
    }

    /// Whether an acquire before the window has to wait, and with it events that are not in the window.
    fn goes_back_further(&self, chosen: &Chosen) -> bool {
        self.reversed(chosen).into_iter().flatten().any(|one| one.acquire < self.summary.spanning)
    }

    /// The schedule of a race: everything that runs before the two, in this order.
    pub(crate) fn schedule(&mut self, first: Position, second: Position) -> Option<Vec<Position>> {
        let chosen = Chosen::of(self.summary, first, second, Before::Everything, |_| true)?;
        let mut schedule = Vec::new();
        self.order(&chosen, Some(&mut schedule)).then_some(schedule)
    }

    /// The open acquires that have to wait for a later release; none if two sections stay open that exclude each other.
    pub(super) fn reversed(&self, chosen: &Chosen) -> Option<Vec<Reversed>> {
        let open = chosen.open(self.summary);
        let reversed = open.iter().filter_map(|(thread, section)| {
            let last = self.last_release(chosen, *thread, section)?;
            Some(Reversed { acquire: section.acquire, last })
        });
        (!any_exclude(&open)).then(|| reversed.collect())
    }

    /// The last chosen release of a section that an open one excludes, if it comes after the open acquire.
    fn last_release(&self, chosen: &Chosen, thread: ThreadId, open: &Section) -> Option<Position> {
        let users = self.summary.by_lock[open.lock].iter().filter(|(user, _)| *user != thread);
        let last = users.filter_map(|(user, places)| {
            let count = chosen.count_of(*user);
            let begun = places.partition_point(|&place| self.summary.section(*user, place).acquired <= count);
            let sections = places[..begun].iter().map(|&place| self.summary.section(*user, place));
            sections
                .rev()
                .filter(|section| section.ends_within(count))
                .find(|section| section.excludes(open))
                .map(|section| section.release)
        });
        last.max().filter(|&release| release > open.acquire)
    }

    /// Puts the chosen events in order; false if that is impossible.
    fn order(&mut self, chosen: &Chosen, schedule: Option<&mut Vec<Position>>) -> bool {
        self.reversed(chosen).is_some_and(|reversed| self.stuck(chosen, &reversed, schedule).is_empty())
    }

    /// Puts the chosen events in order as far as that is possible. Returns those that wait for each other.
    pub(super) fn stuck(
        &mut self,
        chosen: &Chosen,
        reversed: &[Reversed],
        mut schedule: Option<&mut Vec<Position>>,
    ) -> Vec<Position> {
        let summary = self.summary;
        let first = reversed.iter().map(|one| one.acquire).min().unwrap_or(0);
        let end = reversed.iter().map(|one| one.last + 1).max().unwrap_or(0);
        let mut left: Vec<Position> = chosen.between(summary, first, end).collect();
        if let Some(schedule) = &mut schedule {
            schedule.extend(chosen.between(summary, 0, first));
        }
        while !left.is_empty() {
            let before = left.len();
            let ran = self.pass(reversed, &mut left);
            if left.len() == before {
                return left;
            }
            if let Some(schedule) = &mut schedule {
                schedule.extend(ran);
            }
        }
        if let Some(schedule) = schedule {
            schedule.extend(chosen.between(summary, end, Position::MAX));
        }
        left
    }

    /// One pass over the events that are left: what runs, in order. The others stay.
    fn pass(&mut self, reversed: &[Reversed], left: &mut Vec<Position>) -> Vec<Position> {
        let summary = self.summary;
        self.waiting.clear();
        let mut remaining: FxHashMap<LockId, [u32; 2]> = FxHashMap::default();
        for &position in left.iter() {
            if let What::Release(place) = summary.event(position).what {
                let section = summary.section(summary.event(position).thread, place);
                remaining.entry(section.lock).or_default()[section.mode as usize] += 1;
            }
        }
        let mut ran = Vec::new();
        left.retain(|&position| {
            let event = summary.event(position);
            let waits = self.waiting.holds_up(position, summary)
                || (reversed.iter().any(|one| one.acquire == position)
                    && must_wait(summary, event, &remaining));
            if waits {
                self.waiting.add(position, summary);
            } else {
                if let What::Release(place) = event.what {
                    let section = summary.section(event.thread, place);
                    if let Some(counts) = remaining.get_mut(&section.lock) {
                        counts[section.mode as usize] -= 1;
                    }
                }
                ran.push(position);
            }
            waits
        });
        ran
    }
}

/// Whether a release that an open acquire excludes has not run yet.
fn must_wait(summary: &Summary, event: &Event, remaining: &FxHashMap<LockId, [u32; 2]>) -> bool {
    let What::Acquire(place) = event.what else { return false };
    let section = summary.section(event.thread, place);
    let [exclusive, shared] = remaining.get(&section.lock).copied().unwrap_or_default();
    exclusive > 0 || (section.mode == LockMode::Exclusive && shared > 0)
}

/// What the events that wait hold up.
#[derive(Default, Debug)]
struct Waiting {
    threads: Vec<ThreadId>,
    /// Whether a waiting event reads or writes the variable.
    variables: FxHashMap<VarId, [bool; 2]>,
    /// Whether a waiting event ends an exclusive or a shared section.
    locks: FxHashMap<LockId, [bool; 2]>,
    posts: Vec<SyncId>,
}

impl Waiting {
    fn clear(&mut self) {
        self.threads.clear();
        self.variables.clear();
        self.locks.clear();
        self.posts.clear();
    }

    /// Whether an event must come after one that waits.
    fn holds_up(&self, position: Position, summary: &Summary) -> bool {
        let event = summary.event(position);
        if self.threads.is_empty() {
            return false;
        }
        if self.threads.contains(&event.thread) {
            return true;
        }
        match event.what {
            What::Access(..) => {
                summary.touches(position).any(|(var, kind)| self.holds_up_access(var, kind.writes()))
            }
            What::Acquire(place) => {
                let section = summary.section(event.thread, place);
                let [exclusive, shared] = self.locks.get(&section.lock).copied().unwrap_or_default();
                exclusive || (section.mode == LockMode::Exclusive && shared)
            }
            What::Join(child) => self.threads.contains(&child),
            What::Wait(object) => self.posts.contains(&object),
            What::Block(_) | What::Release(_) | What::Fork(_) | What::Post(_) | What::Other => false,
        }
    }

    fn holds_up_access(&self, var: VarId, writes: bool) -> bool {
        let [read, written] = self.variables.get(&var).copied().unwrap_or_default();
        written || (writes && read)
    }

    fn add(&mut self, position: Position, summary: &Summary) {
        let event = summary.event(position);
        if !self.threads.contains(&event.thread) {
            self.threads.push(event.thread);
        }
        match event.what {
            What::Access(..) => {
                for (var, kind) in summary.touches(position) {
                    let known = self.variables.entry(var).or_default();
                    known[usize::from(kind.writes())] = true;
                    known[0] |= kind.reads();
                }
            }
            What::Release(place) => {
                let section = summary.section(event.thread, place);
                self.locks.entry(section.lock).or_default()[section.mode as usize] = true;
            }
            What::Fork(child) if !self.threads.contains(&child) => self.threads.push(child),
            What::Post(object) => self.posts.push(object),
            What::Block(_)
            | What::Fork(_)
            | What::Acquire(_)
            | What::Join(_)
            | What::Wait(_)
            | What::Other => {}
        }
    }
}
