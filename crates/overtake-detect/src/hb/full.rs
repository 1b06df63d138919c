//! All happens-before races: every access that races with an earlier one.
//!
//! **Source.** Pozniansky and Schuster, *Efficient On-the-Fly Data Race Detection in Multithreaded C++ Programs* (Djit+),
//! PPoPP 2003, with FastTrack's epochs where accesses are ordered.
//! **Answer.** Exactly the second events of happens-before races, each with one partner: the latest access that it races
//! with.
//! **State.** `sync.rs` for the clocks, `history.rs` for the accesses.
//! **Cost.** O(1) per access of a variable whose accesses are ordered, O(threads) per synchronisation that teaches.

use std::ops::Range;

use overtake_trace::{ThreadId, VarId};

use super::by_clocks::{ByClocks, Judge};
use super::history::{Histories, Judged};
use super::sync::SyncClocks;
use crate::access::Access;
use crate::findings::Findings;

/// Reports every access that races with an earlier one.
pub(crate) type HappensBefore = ByClocks<Epochs<true>>;

/// Judges accesses by what is kept of earlier ones; `EVERY_RACE` as in [`Histories`].
#[derive(Default, Debug)]
pub(crate) struct Epochs<const EVERY_RACE: bool> {
    pub(super) histories: Histories<EVERY_RACE>,
}

impl<const EVERY_RACE: bool> Judge<false> for Epochs<EVERY_RACE> {
    const TAKES_SWEEPS: bool = true;

    #[inline(always)]
    fn plain(&mut self, clocks: &mut SyncClocks, var: VarId, access: Access, races: &mut Findings) {
        let clock = clocks.thread(access.at.thread);
        self.histories.plain(clock, clock.epoch(), var, Judged::observed(access), races);
    }

    fn atomic(&mut self, clocks: &mut SyncClocks, var: VarId, access: Access, races: &mut Findings) {
        let clock = clocks.thread(access.at.thread);
        self.histories.atomic(clock, clock.epoch(), var, Judged::observed(access), races);
    }

    fn sweep(
        &mut self,
        clocks: &mut SyncClocks,
        first: VarId,
        count: u32,
        access: Access,
        races: &mut Findings,
    ) {
        let clock = clocks.thread(access.at.thread);
        self.histories.sweep(clock, clock.epoch(), first, count, Judged::observed(access), races);
    }

    fn is_ordered(&self, clocks: &SyncClocks, thread: ThreadId, var: VarId) -> bool {
        self.histories.is_ordered(clocks.thread(thread), var)
    }

    fn end_variables(&mut self, ended: &Range<VarId>) {
        self.histories.end(ended);
    }

    fn state_bytes(&self) -> usize {
        self.histories.state_bytes()
    }
}
