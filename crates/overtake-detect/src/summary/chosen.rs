//! The events that it takes to bring two accesses side by side: a prefix of each thread.

use overtake_clock::Time;
use overtake_trace::{Id, ThreadId};

use super::needs::{Reach, Reached};
use super::{Event, Position, Section, Summary, What};

/// How many events of each thread are chosen.
#[derive(Clone, Debug)]
pub(crate) struct Chosen {
    reached: Reached,
}

/// What is chosen of the events before a window.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Before {
    /// All.
    Everything,
    /// Only what is known to be needed.
    Needed,
}

impl Chosen {
    fn before(summary: &Summary, before: Before) -> Chosen {
        let threads = (0..summary.sections.len()).map(ThreadId::from_index);
        let is_everything = before == Before::Everything;
        let counts = threads.map(|thread| if is_everything { summary.base(thread) } else { 0 }).collect();
        Chosen { reached: Reached::new(counts) }
    }

    /// What precedes two accesses, with the allocation of the block that the first one lies in, and, as long as that takes neither of them, the ends of the sections that are open in the
    /// threads that `ends` says. None if what precedes one access takes the other.
    pub(crate) fn of(
        summary: &Summary,
        first: Position,
        second: Position,
        before: Before,
        ends: impl Fn(ThreadId) -> bool,
    ) -> Option<Chosen> {
        let accesses = [first, second].map(|position| summary.event(summary.start(position)));
        let takes =
            |chosen: &Chosen| accesses.iter().any(|access| chosen.count_of(access.thread) >= access.rank);
        let mut chosen = Chosen::before(summary, before);
        for access in accesses {
            chosen.add(summary, access, access.rank - 1);
        }
        if let Some(&allocation) = summary.with_blocks.get(&summary.start(first)) {
            chosen.reached.add(&summary.needs, allocation); // I4
        }
        if takes(&chosen) {
            return None;
        }
        let mut refused: Vec<Position> = Vec::new();
        loop {
            let mut grew = false;
            for thread in (0..summary.sections.len()).map(ThreadId::from_index).filter(|&thread| ends(thread))
            {
                for place in chosen.open_in(summary, thread) {
                    let section = summary.section(thread, place);
                    if !summary.is_shared(section.lock) || refused.contains(&section.acquire) {
                        continue; // It keeps no thread out, or its end takes an access.
                    }
                    let Some(release) = summary.release(section) else { continue };
                    chosen.add(summary, release, section.released);
                    match takes(&chosen) {
                        true => {
                            chosen.reached.take_back();
                            refused.push(section.acquire);
                        }
                        false => grew = true,
                    }
                }
            }
            if !grew {
                return Some(chosen);
            }
        }
    }

    /// What precedes these events, closed so that sections keep their order: one that a chosen later one excludes is ended. None
    /// if that takes one of the events.
    pub(crate) fn sync_preserving(summary: &Summary, next: &[Position]) -> Option<Chosen> {
        let mut chosen = Chosen::before(summary, Before::Everything);
        for event in next.iter().map(|&position| summary.event(position)) {
            chosen.add(summary, event, event.rank - 1);
        }
        while let Some(overtaken) = chosen.overtaken(summary) {
            chosen.add(summary, summary.release(&overtaken)?, overtaken.released);
        }
        let is_inside = |&position: &Position| {
            let event = summary.event(position);
            event.rank <= chosen.count_of(event.thread)
        };
        (!next.iter().any(is_inside)).then_some(chosen)
    }

    /// An open section with a later one that it excludes.
    fn overtaken(&self, summary: &Summary) -> Option<Section> {
        let mut open = self.open(summary).into_iter().map(|(_, section)| section);
        open.find(|open| {
            summary.by_lock[open.lock].iter().any(|(user, places)| {
                let count = self.count_of(*user);
                let sections = places.iter().rev().map(|&place| summary.section(*user, place));
                let mut later = sections.take_while(|section| section.acquire > open.acquire);
                later.any(|section| section.acquired <= count && section.excludes(open))
            })
        })
    }

    /// Chooses what precedes an event, and its thread up to `count`.
    fn add(&mut self, summary: &Summary, event: &Event, count: Time) {
        self.reached.add(&summary.needs, Reach { thread: event.thread, count, steps: event.steps });
    }

    fn open_in(&self, summary: &Summary, thread: ThreadId) -> Vec<u32> {
        match self.count_of(thread) {
            0 => Vec::new(),
            count => summary.open_after(thread, count).collect(),
        }
    }

    /// The sections that stay open.
    pub(crate) fn open(&self, summary: &Summary) -> Vec<(ThreadId, Section)> {
        let threads = (0..self.reached.counts.len()).map(ThreadId::from_index);
        let open = |thread| {
            let places = self.open_in(summary, thread).into_iter();
            places.map(move |place| (thread, *summary.section(thread, place)))
        };
        threads.flat_map(open).collect()
    }

    /// Whether a section stays open of which it is not known yet whether it ends.
    pub(crate) fn awaits_an_end(&self, summary: &Summary) -> bool {
        let open = self.open(summary).into_iter();
        open.filter(|(_, section)| summary.is_shared(section.lock))
            .any(|(_, section)| summary.release(&section).is_none())
    }

    /// How many events of a thread are chosen.
    pub(crate) fn count_of(&self, thread: ThreadId) -> Time {
        self.reached.counts[thread.index()]
    }

    /// How many events are chosen.
    pub(crate) fn count(&self) -> usize {
        self.reached.counts.iter().map(|&count| count as usize).sum()
    }

    /// The first entries of the chosen events at the positions from `start` up to `end`.
    pub(crate) fn between(
        &self,
        summary: &Summary,
        start: Position,
        end: Position,
    ) -> impl Iterator<Item = Position> {
        let end = end.min(summary.events.len() as Position);
        (start..end).filter(|&position| {
            let event = summary.event(position);
            event.rank <= self.count_of(event.thread) && !matches!(event.what, What::Block(_))
        })
    }
}

/// Whether two of these sections exclude each other.
pub(crate) fn any_exclude(open: &[(ThreadId, Section)]) -> bool {
    excluding(open).is_some()
}

/// Two of these sections that exclude each other.
pub(crate) fn excluding(open: &[(ThreadId, Section)]) -> Option<[(ThreadId, Section); 2]> {
    open.iter().enumerate().find_map(|(rank, one)| {
        let other = open[..rank].iter().find(|(_, other)| one.1.excludes(other))?;
        Some([*other, *one])
    })
}
