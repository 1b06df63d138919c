//! All happens-before races: every access that races with an earlier one.
//!
//! **Source.** Pozniansky and Schuster, *Efficient On-the-Fly Data Race Detection in Multithreaded C++ Programs* (Djit+),
//! PPoPP 2003, with FastTrack's epochs where accesses are ordered.
//! **Answer.** Exactly the second events of happens-before races, each with one partner: the latest access that it races
//! with.
//! **State.** `sync.rs` for the clocks, `history.rs` for the accesses.
//! **Cost.** O(1) per access of a variable whose accesses are ordered, O(threads) per synchronisation that teaches.

use overtake_clock::Epoch;
use overtake_trace::{EventIndex, Sizes, VarId};

use super::by_clocks::{ByClocks, Judge};
use super::history::{Histories, Judged};
use super::sync::SyncClocks;
use crate::access::{Access, AccessKind, At};
use crate::findings::Findings;

/// Reports every access that races with an earlier one.
pub(crate) type HappensBefore = ByClocks<Epochs<true>>;

/// Judges accesses by what is kept of earlier ones; `EVERY_RACE` as in [`Histories`].
#[derive(Default, Debug)]
pub(crate) struct Epochs<const EVERY_RACE: bool> {
    histories: Histories<EVERY_RACE>,
    /// The latest atomic access, with the epoch it was made in.
    latest_atomic: Option<(EventIndex, Epoch)>,
}

impl<const EVERY_RACE: bool> Judge<false> for Epochs<EVERY_RACE> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.histories.reserve(sizes);
    }

    #[inline(always)]
    fn plain(&mut self, clocks: &mut SyncClocks, var: VarId, access: Access, races: &mut Findings) {
        let clock = clocks.thread(access.at.thread);
        self.histories.plain(clock, clock.epoch(), var, Judged::observed(access), races);
    }

    fn read_block(&mut self, clocks: &mut SyncClocks, at: At, block: VarId, races: &mut Findings) {
        let clock = clocks.thread(at.thread);
        let epoch = match self.latest_atomic {
            Some((index, epoch)) if index == at.index => epoch,
            _ => clock.epoch(),
        };
        self.histories.plain(
            clock,
            epoch,
            block,
            Judged::observed(Access { at, kind: AccessKind::Read }),
            races,
        );
    }

    fn atomic(&mut self, clocks: &mut SyncClocks, var: VarId, access: Access, races: &mut Findings) {
        let clock = clocks.thread(access.at.thread);
        self.histories.atomic(clock, clock.epoch(), var, Judged::observed(access), races);
        self.latest_atomic = Some((access.at.index, clock.epoch()));
    }

    fn state_bytes(&self) -> usize {
        self.histories.state_bytes()
    }
}
