//! The classes of `extended.rs`: elements with one history.

use overtake_clock::Epoch;

use super::cells::CellId;
use crate::access::Access;
use crate::hb::history::RaceSink;
use crate::race::Verdict;

/// Where members of a class went in an epoch.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ClassStep {
    pub(super) epoch: Epoch,
    pub(super) class: u16,
    pub(super) generation: u32,
    /// The footprint that was judged when it was found, or the last one before.
    pub(super) footprint: u32,
}

/// So many classes are known at once while members of several of them move in turn.
pub(super) const WAYS: usize = 8;

/// Where members of a class go, and how many have gone and are still counted there.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Way {
    pub(super) from: u16,
    pub(super) to: u16,
    pub(super) count: u64,
}

#[derive(Debug)]
pub(super) struct Class {
    pub(super) cell: CellId,
    pub(super) members: u32,
    pub(super) generation: u32,
    /// Whether it is in the list of abandoned classes. It may have got members again.
    pub(super) abandoned: bool,
    /// Whether it has not been given back.
    pub(super) live: bool,
    /// The fingerprint of its history.
    pub(super) fingerprint: u64,
    pub(super) after_read: ClassStep,
    pub(super) after_write: ClassStep,
}

impl Class {
    pub(super) fn forget_steps(&mut self) {
        (self.after_read, self.after_write) = (ClassStep::default(), ClassStep::default());
    }
}

/// Passes races on and remembers that there was one.
pub(super) struct Noticing<'a, Sink> {
    pub(super) races: &'a mut Sink,
    pub(super) raced: bool,
}

impl<Sink: RaceSink<CellId>> RaceSink<CellId> for Noticing<'_, Sink> {
    fn race(&mut self, cell: CellId, verdict: Verdict, first: Access, second: Access) {
        self.raced = true;
        self.races.race(cell, verdict, first, second);
    }
}
