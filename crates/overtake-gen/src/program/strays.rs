//! Accesses that forget their lock.
//!
//! Now and then an ordinary access is remembered; `distance` events later another thread, which does not hold the lock,
//! accesses the same variable. Whether that is a race depends on the events in between: near pairs mostly race in the
//! run itself, pairs further apart only in another interleaving, which predictive detectors find.

use std::collections::VecDeque;

use crate::rng::Rng;

/// Most races that are planned at the same time, so that memory is bounded whatever the distance.
const MOST_PENDING: usize = 1 << 16;

/// An access that a later one is to race with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Remembered {
    pub(crate) var: u32,
    pub(crate) thread: u32,
    pub(crate) is_write: bool,
    due: u64,
}

/// Plans the accesses that forget their lock.
#[derive(Debug)]
pub(crate) struct Strays {
    rate: f64,
    distance: u64,
    /// Shared accesses until the next one is remembered.
    countdown: u64,
    pending: VecDeque<Remembered>,
    next_due: u64,
}

impl Strays {
    pub(crate) fn new(rate: f64, distance: u64, rng: &mut Rng) -> Strays {
        Strays { rate, distance, countdown: rng.gap(rate), pending: VecDeque::new(), next_due: u64::MAX }
    }

    /// Whether no race is ever planned.
    pub(crate) fn is_never(&self) -> bool {
        self.rate <= 0.0
    }

    /// Counts a shared access, and remembers it if its turn has come.
    #[inline]
    pub(crate) fn observe(&mut self, index: u64, thread: u32, var: u32, is_write: bool, rng: &mut Rng) {
        self.countdown -= 1;
        if self.countdown == 0 {
            self.remember(
                Remembered { var, thread, is_write, due: index.saturating_add(self.distance) },
                rng,
            );
        }
    }

    #[cold]
    fn remember(&mut self, access: Remembered, rng: &mut Rng) {
        self.countdown = rng.gap(self.rate);
        if self.pending.len() < MOST_PENDING {
            self.next_due = self.next_due.min(access.due);
            self.pending.push_back(access);
        }
    }

    /// Whether a remembered access waits for its partner.
    #[inline]
    pub(crate) fn is_due(&self, index: u64) -> bool {
        index >= self.next_due
    }

    /// The oldest remembered access, if `fits` accepts it as partner.
    #[cold]
    pub(crate) fn take(&mut self, fits: impl FnOnce(&Remembered) -> bool) -> Option<Remembered> {
        let front = *self.pending.front()?;
        if !fits(&front) {
            return None;
        }
        self.pending.pop_front();
        self.next_due = self.pending.front().map_or(u64::MAX, |next| next.due);
        Some(front)
    }

    pub(crate) fn state_bytes(&self) -> usize {
        self.pending.capacity() * size_of::<Remembered>()
    }
}
