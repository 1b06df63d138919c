//! The checker's output: blocks of a well-formed trace.

use std::ops::Range;

use super::Insertion;
use crate::block::Block;
use crate::event::Event;
use crate::id::EventIndex;
use crate::symbols::Symbols;

/// A block of a well-formed trace, as detectors take it. Only a [`Checker`](super::Checker) makes it.
#[derive(Debug)]
pub struct Checked<'a> {
    pub(super) block: &'a Block,
    pub(super) insertions: &'a [Insertion],
    pub(super) symbols: &'a Symbols,
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
    /// The events as runs of consecutive indices. A block without insertions is one run.
    pub fn runs(&self) -> impl Iterator<Item = Run<'a>> {
        let (block, insertions) = (self.block, self.insertions);
        let mut next = 0; // position in the block
        let mut pending = 0; // position in the insertions
        std::iter::from_fn(move || {
            let inserted = insertions.get(pending);
            if let Some(insertion) = inserted
                && insertion.before == next
            {
                pending += 1;
                let first = EventIndex(block.first.0 + next as u64);
                return Some(Run { first, events: std::slice::from_ref(&insertion.event) });
            }
            let end = inserted.map_or(block.events.len(), |insertion| insertion.before);
            let Range { start, end } = next..end;
            next = end;
            (start < end).then(|| Run {
                first: EventIndex(block.first.0 + start as u64),
                events: &block.events[start..end],
            })
        })
    }

    /// Index of the first event.
    pub fn first(&self) -> EventIndex {
        self.block.first
    }

    /// Number of input events in this block.
    pub fn len(&self) -> usize {
        self.block.events.len()
    }

    /// Whether there are no events.
    pub fn is_empty(&self) -> bool {
        self.block.events.is_empty()
    }

    /// The names.
    pub fn symbols(&self) -> &'a Symbols {
        self.symbols
    }
}
