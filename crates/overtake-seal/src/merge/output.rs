//! How events leave the merger.

use overtake_trace::{BLOCK_EVENTS, EventSink};

use super::Merger;
use crate::error::Result;

impl Merger {
    /// Removes the events from `start` on, unless they are kept.
    pub(super) fn keep_events(&mut self, start: usize, are_kept: bool) {
        if !are_kept {
            self.left_out += (self.events.len() - start) as u64;
            self.events.truncate(start);
        }
    }

    /// Hands on whole blocks of events: they need not be copied to make blocks.
    pub(super) fn flush(&mut self, out: &mut dyn EventSink) -> Result<()> {
        self.hand_on(self.events.len() / BLOCK_EVENTS * BLOCK_EVENTS, out)
    }

    pub(super) fn hand_on(&mut self, count: usize, out: &mut dyn EventSink) -> Result<()> {
        out.write(&self.events[..count], &self.symbols)?;
        self.written += count as u64;
        self.events.drain(..count);
        if count > 0 {
            // What had ended last time is named by nothing behind these events.
            out.end_variables(&self.ended);
            self.ended = self.memory.take_ended();
        }
        // One record may have been a million events.
        if self.events.capacity() > 4 * BLOCK_EVENTS {
            self.events.shrink_to(2 * BLOCK_EVENTS);
        }
        Ok(())
    }
}
