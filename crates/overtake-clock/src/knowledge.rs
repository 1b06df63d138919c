//! What a thread knows, whoever keeps it.

use crate::epoch::Epoch;

/// What a thread knows at some moment: enough to judge what it does then.
pub trait Knowledge {
    /// The thread and its time.
    fn epoch(&self) -> Epoch;

    /// Whether the thread knows `epoch`, or it is an epoch of the thread itself.
    fn covers(&self, epoch: Epoch) -> bool;
}
