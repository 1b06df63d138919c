//! Deadlocks: threads that wait for each other in a circle, in this run or in one that was a reordering away.
//!
//! **Source.** Tunç, Mathur, Pavlogiannis and Viswanathan, *Sound Dynamic Deadlock Prediction in Linear Time*, PLDI 2023.
//! **Definition.** Acquires in distinct threads, each of a lock that the next one's thread holds (the last one's lock by the
//! thread of the first), such that no two of the threads hold locks that exclude each other. They are a
//! sync-preserving deadlock if the smallest closed set (see `syncp`) with what precedes them contains none of them. That set
//! in trace order is a correct reordering of the run after which all of these threads wait.
//! **Answer.** `deadlock`: every pattern (thread, lock and locks held, all around the circle) that has such a deadlock, with its
//! first one. So cycles in one thread, under a common gate lock, and between threads that never run together are not
//! reported. `lock-order`: every pattern of which some acquires depend on each other by neither fork, join nor wait. It
//! knows nothing of what reads saw and of the order of locks, so its reports are suspicions.
//! **Locks.** Shared sections exclude exclusive ones only. A try does not wait, so it is no part of a circle; what it took is
//! held. Re-entrant acquires are flattened by the checker. A condition variable's wait gives its lock back and acquires it
//! again, which waits like any acquire.
//! **Observed.** If the trace ends while threads wait for each other in a circle (the last event of each is a `request`), `deadlock` reports that as
//! observed: the run ended there.
//!
//! | file | holds |
//! | --- | --- |
//! | `nesting.rs` | abstract acquires: which thread takes which lock under which |
//! | `patterns.rs` | cycles of abstract acquires |
//! | `occurrences.rs` | the acquires behind the patterns, and the walk that finds a deadlock among them |
//! | `observed.rs` | circles of threads that wait when the trace ends |
//! | `analysis.rs`, `passes.rs` | the two passes, and the analysis that makes them |
//!
//! **Cost.** The first pass looks at locks only; if they are taken in one order, it is the last. The second keeps closed clocks
//! as `syncp` does, and every critical section. Each pattern costs one pass over its occurrences.

mod analysis;
mod nesting;
mod observed;
mod occurrences;
mod passes;
mod patterns;

pub(crate) use passes::{start_deadlock, start_lock_order};
