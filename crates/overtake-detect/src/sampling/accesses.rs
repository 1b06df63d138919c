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
use overtake_trace::{EventIndex, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

use crate::access::{AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::hb::{Histories, Judged, SyncClocks};
use crate::race::{RaceLog, Verdict};
use crate::registry::OptionError;

/// Which accesses are sampled, and what happens to the others.
pub(super) trait Sampling {
    /// Whether an access that is not sampled is judged against sampled ones, and takes their place.
    const JUDGES_ALL: bool;

    /// Whether the access at `index` is sampled.
    fn takes(&mut self, index: EventIndex) -> bool;
}

/// A detector of races with sampled accesses.
#[derive(Debug)]
pub(super) struct SampledAccesses<S> {
    sampling: S,
    clocks: SyncClocks<true>,
    histories: Histories<true>,
    /// The latest atomic access, if it is sampled, with its epoch, to which the read of its heap block belongs: the
    /// access itself may have handed the time on.
    latest_atomic: Option<(EventIndex, Epoch)>,
    accesses: u64,
    sampled: u64,
}

impl<S: Sampling> SampledAccesses<S> {
    pub(super) fn new(sampling: S) -> Self {
        SampledAccesses {
            sampling,
            clocks: SyncClocks::default(),
            histories: Histories::default(),
            latest_atomic: None,
            accesses: 0,
            sampled: 0,
        }
    }

    /// The epoch to record an access in, if it is sampled; else it is done with.
    #[inline]
    fn epoch(&mut self, var: VarId, access: Judged, races: &mut RaceLog) -> Option<Epoch> {
        let At { index, thread, .. } = access.at;
        self.accesses += 1;
        if self.sampling.takes(index) {
            self.sampled += 1;
            if let Some((latest, epoch)) = self.latest_atomic
                && latest == index
            {
                return Some(epoch);
            }
            self.clocks.open_epoch(thread); // I1
            return Some(self.clocks.thread(thread).epoch());
        }
        if S::JUDGES_ALL {
            self.histories.pass(self.clocks.thread(thread), var, access, races);
        }
        None
    }
}

impl<S: Sampling> Detector for SampledAccesses<S> {
    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
        self.histories.reserve(sizes);
    }

    #[inline]
    fn read(&mut self, at: At, var: VarId, races: &mut RaceLog) {
        self.plain(at, var, AccessKind::Read, races);
    }

    #[inline]
    fn write(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        self.plain(at, var, kind, races);
    }

    const PLAIN_ALIKE: bool = true;

    #[inline(always)]
    fn plain(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut RaceLog) {
        let access = observed(at, kind);
        if let Some(epoch) = self.epoch(var, access, races) {
            self.histories.plain(self.clocks.thread(at.thread), epoch, var, access, races);
        }
    }

    fn atomic(&mut self, at: At, var: VarId, kind: AccessKind, order: MemoryOrder, races: &mut RaceLog) {
        self.clocks.atomic_acquire(at.thread, var, kind, order);
        let access = observed(at, kind);
        if let Some(epoch) = self.epoch(var, access, races) {
            self.histories.atomic(self.clocks.thread(at.thread), epoch, var, access, races);
            self.latest_atomic = Some((at.index, epoch));
        }
        self.clocks.atomic_release(at.thread, var, kind, order);
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.clocks.fence(at.thread, order);
    }

    #[inline]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.acquire(at.thread, lock, mode);
    }

    #[inline]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.clocks.fork(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.clocks.join(at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.clocks.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.clocks.wait(at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.histories.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![("accesses", self.accesses), ("sampled accesses", self.sampled)]
    }
}

fn observed(at: At, kind: AccessKind) -> Judged {
    Judged { at, kind, verdict: Verdict::Observed }
}

/// A rate as it may be asked for: more than 0, at most 1.
pub(super) fn checked_rate(rate: f64) -> Result<f64, OptionError> {
    match rate > 0.0 && rate <= 1.0 {
        true => Ok(rate),
        false => Err(OptionError(format!("expected a sampling rate above 0 and at most 1, found {rate}"))),
    }
}
