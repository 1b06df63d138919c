//! One component of a clock.

/// Logical time of one thread, counted from 1. Zero is before everything the thread does.
pub type Time = u32;

/// A time of one thread.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Epoch {
    /// The thread.
    pub thread: u32,
    /// Its time.
    pub time: Time,
}

const _: () = assert!(size_of::<Epoch>() == 8);

impl Epoch {
    /// Before everything: every clock covers it.
    pub const NONE: Epoch = Epoch { thread: 0, time: 0 };

    /// Whether this is an epoch in which a thread did something.
    #[inline]
    pub fn is_some(self) -> bool {
        self.time > 0
    }
}

impl Default for Epoch {
    fn default() -> Self {
        Epoch::NONE
    }
}
