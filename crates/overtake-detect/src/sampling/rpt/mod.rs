//! `rpt`: a property tester for happens-before races, which reads constantly many events.
//!
//! **Source.** Al Thokair, Zhang, Mathur and Viswanathan, *Dynamic Race Detection with O(1) Samples*, POPL 2023.
//! **Answer.** Every report is a race of the trace: whether two events are ordered by happens-before depends only on the
//! events between them, so a race inside a window is a race. If at least an `epsilon` part of all events had to change to
//! make the trace race free, some race is reported with probability 1 - `delta`. Races may go unnoticed otherwise.
//! **Algorithm.** With T threads and at most h locks held at once (by all threads together), m = 4T + 2h,
//! k = 4m/epsilon and r = 15·ln(1/delta)/(2·epsilon), rounded up: r windows of k events start at places drawn
//! uniformly, those that overlap or touch are merged, which can only add races, and each is judged on its own.
//! If the trace has fewer than 12m/epsilon events, or the windows together are many times as long as it, it is judged as
//! a whole: then the answer is that of the full detector.
//!
//! | file | holds |
//! | --- | --- |
//! | `plan.rs` | m, k, r and the windows |
//! | `judge.rs` | what finds the races of a window; a fresh happens-before state without clearing anything |
//! | `predict.rs` | the sync-preserving races of a window, each a race of the whole trace |
//! | `rename.rs` | a detector that sees only as many ids as a window uses |
//! | `tester.rs` | windows read at random and judged in parallel |
//! | `refine.rs` | test after test, ever finer |
//! | `sample.rs` | what the registry starts: one test, or ever finer ones |
//! | `pieces.rs` | `windowed`: all pieces of a trace, judged by themselves |
//! | `stream.rs` | the same over a trace that passes by, which must be counted first |
//!
//! **What windows cannot know.** Locks held and blocks allocated before a window are allowed for; repairs of a trace that is
//! not well formed may depend on what was before. Acquiring a lock again that is held only hides races; a lock that
//! another thread acquires or releases while it is held can make a pair look like a race that the repaired trace orders. A
//! free is judged against accesses after it, and not against those before it unless the window has the allocation too.
//! **Cost.** O(r·k) events, independent of the length of the trace, and O(T) besides for each window.

mod judge;
mod pieces;
mod plan;
mod predict;
mod refine;
mod rename;
mod sample;
mod stream;
mod tester;
#[cfg(test)]
mod tests;

pub use judge::Judge;
pub(crate) use pieces::start as start_pieces;
pub use plan::Plan;
pub use refine::{Limits, Refined, refine};
pub(crate) use sample::sample;
pub use sample::{Effort, Sample, SampleError};
pub(crate) use stream::start;
pub use tester::{RandomAccess, Stop, Tested, test};
