//! Happens-before over a sample of the accesses; every synchronisation operation counts.
//!
//! **State.** `hb/sync.rs` with lazy ticks, `hb/history.rs` with sampled accesses.
//! **Epochs.** A thread's time advances before a sampled access if others know the present time already, and not at
//! releases. So the times count the epochs that hold a sampled access, and what a thread hands on changes only if it has
//! something new to say. Advancing at the release that follows a sampled access instead would be wrong: an earlier release
//! of the same epoch, with nothing sampled before it, has handed the time on already.
//! **Invariant.** I1  A clock covers the epoch of a sampled access only if the access happens before what the clock is of:
//! when the access was made nobody else knew its epoch, and whoever learned it since learned it from a later publication.
//! **Cost.** While nothing is sampled, a join is skipped as soon as both sides know the same: O(1) per operation. An access
//! of a variable of which nothing is kept costs one look at 16 bytes.

use overtake_clock::Epoch;
use overtake_trace::{EventIndex, VarId};

use crate::access::{Access, At};
use crate::findings::Findings;
use crate::hb::{ByClocks, Histories, Judge, Judged, SyncClocks};

/// Which accesses are sampled, and what happens to the others.
pub(super) trait Sampling {
    /// Whether an access that is not sampled is judged against sampled ones, and takes their place.
    const JUDGES_ALL: bool;

    /// Whether the access at `index` is sampled.
    fn takes(&mut self, index: EventIndex) -> bool;
}

/// A detector of races with sampled accesses.
pub(super) type SampledAccesses<S> = ByClocks<Sampler<S>, true>;

/// Judges accesses by the sampled ones before.
#[derive(Debug)]
pub(super) struct Sampler<S> {
    sampling: S,
    histories: Histories<true>,
    accesses: u64,
    sampled: u64,
}

impl<S: Sampling> Sampler<S> {
    pub(super) fn new(sampling: S) -> Self {
        Sampler { sampling, histories: Histories::default(), accesses: 0, sampled: 0 }
    }

    /// The epoch to record an access in, if it is sampled. Another access is judged here, if at all, and `None` is returned.
    #[inline(always)] // a call would put the access into memory for every event
    fn epoch(
        &mut self,
        clocks: &mut SyncClocks<true>,
        var: VarId,
        access: Judged,
        races: &mut Findings,
    ) -> Option<Epoch> {
        let At { index, thread, .. } = access.at;
        self.accesses += 1;
        if self.sampling.takes(index) {
            self.sampled += 1;
            clocks.open_epoch(thread); // I1
            return Some(clocks.thread(thread).epoch());
        }
        if S::JUDGES_ALL {
            self.histories.pass(clocks.thread(thread), var, access, races);
        }
        None
    }
}

impl<S: Sampling> Judge<true> for Sampler<S> {
    #[inline(always)]
    fn plain(&mut self, clocks: &mut SyncClocks<true>, var: VarId, access: Access, races: &mut Findings) {
        let access = Judged::observed(access);
        if let Some(epoch) = self.epoch(clocks, var, access, races) {
            self.histories.plain(clocks.thread(access.at.thread), epoch, var, access, races);
        }
    }

    fn atomic(&mut self, clocks: &mut SyncClocks<true>, var: VarId, access: Access, races: &mut Findings) {
        let access = Judged::observed(access);
        if let Some(epoch) = self.epoch(clocks, var, access, races) {
            self.histories.atomic(clocks.thread(access.at.thread), epoch, var, access, races);
        }
    }

    fn state_bytes(&self) -> usize {
        self.histories.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("accesses", self.accesses), ("sampled accesses", self.sampled)]
    }
}
