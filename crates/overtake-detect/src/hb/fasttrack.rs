//! Happens-before races with adaptive epochs, exact to the first race of each variable.
//!
//! **Source.** Flanagan and Freund, *FastTrack: Efficient and Precise Dynamic Race Detection*, PLDI 2009.
//! **Answer.** The first racy event of each variable and the set of racy variables are exact. Later reports are
//! happens-before races; some may be missing, because a write forgets the accesses it raced with. Smallest: of
//! `T0 w x; T1 w x; T1 r x` the read is missed.
//! **Differs from the paper.** The rules READ and WRITE SAME EPOCH, EXCLUSIVE, SHARE and SHARED are those of
//! [`Histories`](super::history::Histories) without `EVERY_RACE`. A race does not stop the analysis, and the racing
//! access is always recorded. A read in the epoch of the thread's own last write is not judged: whatever it races with, that
//! write races with.

use super::by_clocks::ByClocks;
use super::full::Epochs;

/// Reports the first race of each variable, and most later ones.
pub(crate) type FastTrack = ByClocks<Epochs<false>>;
