//! One worker follows the synchronisation of the trace for all workers of its process; all of them judge accesses by what it finds out.

use std::collections::BTreeMap;
use std::sync::Arc;

use overtake_detect::{Accesses, Moments, Skeleton};
use overtake_trace::Part;

/// What the follower knows, and the parts of blocks that came before their turn.
#[derive(Default)]
pub(crate) struct Guide {
    pub(crate) skeleton: Skeleton,
    waiting: BTreeMap<u32, Part>,
    next: u32,
}

impl Guide {
    /// Takes the follower's part of a block.
    pub(crate) fn take(&mut self, block: u32, part: Part) {
        self.waiting.insert(block, part);
    }

    /// The part of the next block, if it is there.
    pub(crate) fn next(&mut self) -> Option<(u32, Part)> {
        let part = self.waiting.remove(&self.next)?;
        self.next += 1;
        Some((self.next - 1, part))
    }

    /// How many blocks were followed.
    pub(crate) fn followed(&self) -> u32 {
        self.next
    }
}

/// Accesses and moments of blocks that are not judged yet.
#[derive(Default)]
pub(crate) struct Docket {
    accesses: BTreeMap<u32, Accesses>,
    moments: BTreeMap<u32, Arc<Moments>>,
    next: u32,
}

impl Docket {
    /// Takes the accesses of a block.
    pub(crate) fn take_accesses(&mut self, block: u32, accesses: Accesses) {
        self.accesses.insert(block, accesses);
    }

    /// Takes the moments of a block.
    pub(crate) fn take_moments(&mut self, block: u32, moments: Arc<Moments>) {
        self.moments.insert(block, moments);
    }

    /// The next block, if both are there.
    pub(crate) fn next(&mut self) -> Option<(Accesses, Arc<Moments>)> {
        if !self.moments.contains_key(&self.next) {
            return None;
        }
        let accesses = self.accesses.remove(&self.next)?;
        let moments = self.moments.remove(&self.next)?;
        self.next += 1;
        Some((accesses, moments))
    }

    /// How many blocks were judged.
    pub(crate) fn judged(&self) -> u32 {
        self.next
    }
}
