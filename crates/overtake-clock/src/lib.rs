//! Logical time: epochs, vector clocks, and shared immutable snapshots of clocks.
//!
//! A vector clock says, for each thread, how much of that thread comes before a point of an execution. Copying one at
//! every event costs as many words as there are threads, per event. Two observations avoid that:
//!
//! - Of a thread's clock, only its own component moves by itself; the others change when it learns from another
//!   thread, which is rare. So an event's timestamp is a [`Stamp`]: a 32-bit name of a [`Snapshots`] entry that many
//!   events share, and the thread's own time.
//! - Clocks are as long as the highest component they know, and a thread's own component is kept apart. Ten thousand
//!   threads that know only who started them need ten thousand short clocks, not a table of a hundred million words.
//!
//! [`ChunkedClock`]s are for many components of which a clock knows few, and for times of fewer bits.
//!
//! Threads are plain numbers here; this crate knows no traces.
//!
//! ```
//! use overtake_clock::{Snapshots, ThreadClock};
//!
//! let mut snapshots = Snapshots::new();
//! let (mut sender, mut receiver) = (ThreadClock::new(0), ThreadClock::new(1));
//! let sent = sender.epoch();
//! assert!(!receiver.covers(sent));
//! let message = sender.publish(&mut snapshots); // also advances the sender's own time
//! receiver.join(&snapshots, message);
//! assert!(receiver.covers(sent));
//! assert!(!receiver.covers(sender.epoch()));
//! snapshots.release(message.snapshot);
//! ```
//!
//! **Limits.** Time is 32 bits. A thread that advances 2^32 - 3 times stays at the last value: from there on its accesses
//! can look ordered where they are not, so races may be missed, never invented.
#![forbid(unsafe_code)]

mod chunked;
mod epoch;
mod snapshot;
#[cfg(test)]
mod tests;
mod thread;
mod vector;

pub use chunked::{ChunkedClock, Tick};
pub use epoch::{Epoch, Time};
pub use snapshot::{SnapshotId, Snapshots, Stamp};
pub use thread::ThreadClock;
pub use vector::VectorClock;
