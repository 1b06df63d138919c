//! The occurrences of the acquires that patterns are made of, and the walk that finds a deadlock among them.
//!
//! **Walk.** For a pattern, a cursor on the occurrences of each of its nodes, and one closed set. The closed set takes in what
//! precedes the occurrences at the cursors. If it then contains one of them, that one is in no deadlock with occurrences
//! from the other cursors on: its cursor moves to the next occurrence outside. If it contains none, they are a deadlock,
//! and the closed set in trace order is the schedule that leads to it. Cursors and set only grow, so a pattern costs one
//! pass over its occurrences and over the sections that come inside.

use overtake_clock::Epoch;
use overtake_trace::{EventIndex, LocationId};

use super::nesting::Node;
use crate::access::At;
use crate::syncp::{Ideal, Learned, LockTable, NO_GOAL, Sections};

/// An acquire that a pattern may be about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occurrence {
    /// The thread's time that the acquire ends.
    pub(super) epoch: Epoch,
    /// What the thread had learned of others before.
    pub(super) learned: Learned,
    pub(super) index: EventIndex,
    pub(super) location: LocationId,
    /// Where the places of its held locks begin in [`Occurrences::holds`].
    pub(super) holds: u32,
}

/// Where a lock was taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) index: EventIndex,
    pub(super) location: LocationId,
}

/// The occurrences of all nodes that are in a pattern.
#[derive(Default, Debug)]
pub(super) struct Occurrences {
    /// Per node.
    by_node: Vec<Vec<Occurrence>>,
    /// Where the locks held at occurrences were taken, outermost first.
    holds: Vec<Place>,
    count: usize,
}

impl Occurrences {
    pub(super) fn add(&mut self, node: Node, epoch: Epoch, learned: Learned, at: At, held: &[Place]) {
        let node = node.0 as usize;
        if self.by_node.len() <= node {
            self.by_node.resize_with(node + 1, Vec::new);
        }
        let holds = self.holds.len() as u32;
        self.holds.extend_from_slice(held);
        let (index, location) = (at.index, at.location);
        self.by_node[node].push(Occurrence { epoch, learned, index, location, holds });
        self.count += 1;
    }

    /// Where the lock with this place among those held at an occurrence was taken.
    pub(super) fn hold(&self, occurrence: &Occurrence, place: usize) -> Option<Place> {
        self.holds.get(occurrence.holds as usize + place).copied()
    }

    pub(super) fn count(&self) -> usize {
        self.count
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.count * size_of::<Occurrence>() + self.holds.capacity() * size_of::<Place>()
    }

    /// The first deadlock of a pattern.
    pub(super) fn walk(&self, cycle: &[Node], sections: &Sections) -> Option<Vec<Occurrence>> {
        let lists: Vec<&[Occurrence]> = cycle
            .iter()
            .map(|node| self.by_node.get(node.0 as usize).map_or(&[][..], Vec::as_slice))
            .collect();
        let mut cursors = vec![0; cycle.len()];
        let mut closed = Ideal::of_no_thread(LockTable::default());
        let mut pending: Vec<Epoch> = Vec::new();
        loop {
            for (list, &cursor) in lists.iter().zip(&cursors) {
                let occurrence = list.get(cursor)?;
                let Occurrence { epoch, learned, .. } = *occurrence;
                closed.extend_by_past_of(epoch, learned, sections, &mut pending, NO_GOAL);
            }
            let mut moved = false;
            for (list, cursor) in lists.iter().zip(&mut cursors) {
                let outside = list[*cursor..].partition_point(|occurrence| closed.covers(occurrence.epoch));
                *cursor += outside;
                moved |= outside > 0;
            }
            if !moved {
                return Some(lists.iter().zip(&cursors).map(|(list, &cursor)| list[cursor]).collect());
            }
        }
    }
}
