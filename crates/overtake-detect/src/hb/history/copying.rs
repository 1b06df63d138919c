//! Histories of cells that are split, compared and brought together.

use std::hash::{Hash, Hasher};

use overtake_clock::Epoch;
use overtake_trace::Id;
use rustc_hash::FxHasher;

use super::store::{Histories, Latest, Spill};

impl<const EVERY_RACE: bool, Cell: Id> Histories<EVERY_RACE, Cell> {
    /// Forgets the history of a cell.
    pub(crate) fn clear(&mut self, cell: Cell) {
        if self.latest[cell].spill().is_some() {
            let spill = self.spill(cell);
            spill.clear();
            self.unspill(cell);
        }
        self.latest[cell] = Latest::default();
    }

    /// Whether a cell was never accessed.
    pub(crate) fn is_blank(&self, cell: Cell) -> bool {
        let latest = &self.latest[cell];
        !latest.write.is_some() && !latest.read.is_some()
    }

    /// Gives `to`, which has no history, the history of `from`.
    pub(crate) fn copy(&mut self, from: Cell, to: Cell) {
        debug_assert!(self.latest[to].spill().is_none());
        self.places[to] = self.places[from];
        let latest = self.latest[from];
        let Some(number) = latest.spill() else {
            self.latest[to] = latest;
            return;
        };
        let Spill { reads, writes, atomics } = &self.spills[number];
        let (reads, writes, atomics) = (reads.clone(), writes.clone(), atomics.clone());
        self.latest[to] = Latest { write: latest.write, read: Epoch::NONE };
        let spill = self.spill(to);
        let before = spill.heap_bytes();
        *spill = Spill { reads, writes, atomics };
        let after = spill.heap_bytes();
        self.spill_bytes = self.spill_bytes - before + after;
    }

    /// Whether two cells would judge every plain access alike.
    pub(crate) fn same(&self, one: Cell, other: Cell) -> bool {
        let (one, other) = (&self.latest[one], &self.latest[other]);
        one.write == other.write
            && match (one.spill(), other.spill()) {
                (None, None) => one.read == other.read,
                (Some(one), Some(other)) => self.spills[one].same(&self.spills[other]),
                _ => false,
            }
    }

    /// Lets `cell` name the accesses that `other` names, wherever these are earlier. Both cells must have the same history.
    /// Returns whether something changed.
    pub(crate) fn take_earlier_places(&mut self, cell: Cell, other: Cell) -> bool {
        let (mine, others) = (self.latest[cell], self.latest[other]);
        let theirs = self.places[other];
        let places = &mut self.places[cell];
        let mut changed = mine.write.is_some() && places.write.take_earlier(theirs.write, &self.wide);
        match (mine.spill(), others.spill()) {
            (None, None) => {
                changed |= mine.read.is_some() && places.read.take_earlier(theirs.read, &self.wide)
            }
            (Some(mine), Some(others)) if mine != others => {
                if let Ok([mine, others]) = self.spills.get_disjoint_mut([mine, others]) {
                    for (record, other) in mine.records_mut().zip(others.records_mut()) {
                        changed |= record.place.take_earlier(other.place);
                    }
                }
            }
            _ => {}
        }
        changed
    }

    /// A number that is the same for cells that are the same, and most likely different for others.
    pub(crate) fn fingerprint(&self, cell: Cell) -> u64 {
        let latest = &self.latest[cell];
        let mut hasher = FxHasher::default();
        latest.write.hash(&mut hasher);
        match latest.spill() {
            None => latest.read.hash(&mut hasher),
            Some(number) => self.spills[number].epochs().for_each(|epoch| epoch.hash(&mut hasher)),
        }
        hasher.finish()
    }
}
