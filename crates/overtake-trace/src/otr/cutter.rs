//! Events cut into blocks of equal size.

use crate::block::BLOCK_EVENTS;
use crate::error::Result;
use crate::event::Event;

/// Takes events as they come and hands them on in blocks, the last of which may be smaller.
pub(super) struct Cutter {
    pending: Vec<Event>,
    block_events: usize,
}

impl Default for Cutter {
    fn default() -> Cutter {
        Cutter::new(BLOCK_EVENTS)
    }
}

impl Cutter {
    /// Makes blocks of so many events, at least one.
    pub(super) fn new(block_events: usize) -> Cutter {
        Cutter { pending: Vec::new(), block_events: block_events.max(1) }
    }

    /// Hands on the blocks that are full with these events.
    pub(super) fn cut(
        &mut self,
        mut events: &[Event],
        each: &mut dyn FnMut(&[Event]) -> Result<()>,
    ) -> Result<()> {
        while !events.is_empty() {
            if self.pending.is_empty()
                && let Some((block, rest)) = events.split_at_checked(self.block_events)
            {
                each(block)?;
                events = rest;
                continue;
            }
            let wanted = (self.block_events - self.pending.len()).min(events.len());
            let (some, rest) = events.split_at(wanted);
            self.pending.extend_from_slice(some);
            events = rest;
            if self.pending.len() == self.block_events {
                self.rest(each)?;
            }
        }
        Ok(())
    }

    /// Whether all events that it took were handed on.
    pub(super) fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    /// Hands on what fills no block.
    pub(super) fn rest(&mut self, each: &mut dyn FnMut(&[Event]) -> Result<()>) -> Result<()> {
        if !self.pending.is_empty() {
            each(&self.pending)?;
            self.pending.clear();
        }
        Ok(())
    }
}
