//! The checker's output: blocks of a well-formed trace.

use std::ops::Range;

use super::{Insertion, place};
use crate::block::Block;
use crate::event::Event;
use crate::id::{EventIndex, VarId};
use crate::symbols::{Sizes, Symbols};

/// A block of a well-formed trace, as detectors take it. Only a [`Checker`](super::Checker) makes it.
#[derive(Debug)]
pub struct Checked<'a> {
    pub(super) block: &'a Block,
    /// The positions of the events in the whole block, if some are left out.
    pub(super) places: Option<&'a [u32]>,
    /// How many events the block has, including those that are left out.
    pub(super) length: usize,
    pub(super) insertions: &'a [Insertion],
    pub(super) symbols: &'a Symbols,
    /// The variables of blocks of memory that are allocated in it, if a stretch is checked.
    pub(super) allocated: &'a [VarId],
    /// How many ids of each kind its events may name.
    pub(super) sizes: Sizes,
    /// As many ids of threads were named so far, in events, forks or joins, or were passed over.
    pub(super) seen_threads: usize,
    /// A thread is forked or joined in it.
    pub(super) forks_or_joins: bool,
    /// No thread of the trace so far ran before its fork or after its join.
    pub(super) lives_are_orderly: bool,
}

/// Room for a block whose events name other threads.
#[derive(Clone, Default, Debug)]
pub struct Renumbered {
    block: Block,
    insertions: Vec<Insertion>,
}

/// Consecutive events of a checked block. Event `i` of the run has index `first + i`.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Index of the first event.
    pub first: EventIndex,
    /// The events.
    pub events: &'a [Event],
}

impl<'a> Run<'a> {
    /// The part of the run whose indices lie in `range`.
    pub fn within(self, range: &Range<u64>) -> Run<'a> {
        let length = self.events.len() as u64;
        let start = range.start.saturating_sub(self.first.0).min(length);
        let end = range.end.saturating_sub(self.first.0).clamp(start, length);
        let events = &self.events[start as usize..end as usize];
        Run { first: EventIndex(self.first.0 + start), events }
    }
}

impl<'a> Checked<'a> {
    /// The events as runs of consecutive indices. A whole block without insertions is one run.
    pub fn runs(&self) -> impl Iterator<Item = Run<'a>> {
        let (block, places, insertions) = (self.block, self.places, self.insertions);
        let mut next = 0; // position in the block
        let mut pending = 0; // position in the insertions
        std::iter::from_fn(move || {
            let inserted = insertions.get(pending);
            if let Some(insertion) = inserted
                && insertion.before == next
            {
                pending += 1;
                let first = place(block.first, places, next);
                return Some(Run { first, events: std::slice::from_ref(&insertion.event) });
            }
            let end = inserted.map_or(block.events.len(), |insertion| insertion.before);
            let end = places.map_or(end, |places| consecutive(places, next, end));
            let Range { start, end } = next..end;
            next = end;
            (start < end)
                .then(|| Run { first: place(block.first, places, start), events: &block.events[start..end] })
        })
    }

    /// The events with their indices, if some of the block are left out: their runs are short.
    pub fn scattered(&self) -> Option<impl Iterator<Item = (EventIndex, &'a Event)>> {
        let (first, places) = (self.block.first.0, self.places.filter(|_| self.insertions.is_empty())?);
        let events = places.iter().zip(&self.block.events);
        Some(events.map(move |(&place, event)| (EventIndex(first + u64::from(place)), event)))
    }

    /// Whether a thread is forked or joined in this block.
    pub fn forks_or_joins(&self) -> bool {
        self.forks_or_joins
    }

    /// Whether no thread ran before its fork or after its join, up to the end of this block.
    pub fn lives_are_orderly(&self) -> bool {
        self.lives_are_orderly
    }

    /// How long tables must be for this block and those before it.
    pub fn sizes(&self) -> Sizes {
        self.sizes
    }

    /// As long must a table of threads be for this block and those before it: a recording names all its threads in advance.
    pub fn seen_threads(&self) -> usize {
        self.seen_threads
    }

    /// The same block, of which somebody knows that a shorter table of threads is enough.
    pub fn with_threads(&self, threads: usize) -> Checked<'_> {
        Checked { sizes: Sizes { threads, ..self.sizes }, ..*self }
    }

    /// The same block with other threads. `renumber` is called with each event and its index, in order; it may change the thread, and
    /// which thread a fork or join names.
    pub fn renumbered<'b>(
        &'b self,
        room: &'b mut Renumbered,
        mut renumber: impl FnMut(EventIndex, Event) -> Event,
    ) -> Checked<'b> {
        let Renumbered { block, insertions } = room;
        block.first = self.block.first;
        block.events.clear();
        insertions.clear();
        let mut inserted = self.insertions.iter().peekable();
        for at in 0..=self.block.events.len() {
            let index = place(self.block.first, self.places, at);
            while let Some(insertion) = inserted.next_if(|insertion| insertion.before == at) {
                insertions.push(Insertion { before: at, event: renumber(index, insertion.event) });
            }
            block.events.extend(self.block.events.get(at).map(|event| renumber(index, *event)));
        }
        Checked { block, insertions, ..*self }
    }

    /// Index of the first event.
    pub fn first(&self) -> EventIndex {
        self.block.first
    }

    /// Number of input events in this block.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// The variables of the blocks of memory that are allocated in it, if it was checked as part of a [`Stretch`](super::Stretch).
    pub fn allocated(&self) -> &'a [VarId] {
        self.allocated
    }

    /// The names.
    pub fn symbols(&self) -> &'a Symbols {
        self.symbols
    }
}

/// The end of the run of consecutive places that begins at `start`, at most `end`.
fn consecutive(places: &[u32], start: usize, end: usize) -> usize {
    let followed = places[start.min(end)..end].windows(2).take_while(|pair| pair[1] == pair[0] + 1).count();
    end.min(start + followed + 1)
}
