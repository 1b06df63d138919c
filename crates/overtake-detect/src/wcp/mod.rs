//! Weak causal precedence: a weaker order than happens-before, under which more accesses race.
//!
//! **Source.** Kini, Mathur and Viswanathan, *Dynamic Race Prediction in Linear Time*, PLDI 2017.
//! **Definition.** The weak order is the least relation with: (a) the release of a section comes before each access of another
//! thread in a later section of the same lock that conflicts with an access of the first section; (b) of two sections of a lock in
//! different threads, the release of the first comes before that of the second if some event of the first comes before one
//! of the second; (c) composed with happens-before on either side it is the weak order again. Only sections that exclude
//! each other count. Fork, join, post, and atomic accesses to one variable of which one writes order weakly too: no
//! reordering can change them. Two conflicting accesses race if they are not ordered weakly.
//! **What a race means.** The first report of a trace is a race or a deadlock that a reordering exhibits, provided that locks are nested: each thread gives back
//! first what it took last. Without that the first report may be neither, as later ones may. So reports that happens-before does not support are suspicions, unless a schedule is found that exhibits the pair: of
//! each pair of locations the first report is looked at, by `syncp`, `osr` and `m2`. With a schedule it is predicted.
//!
//! | file | holds |
//! | --- | --- |
//! | `survey.rs` | what can matter: variables and locks that threads share; how long threads live |
//! | `clocks.rs` | the weak clock of every thread, by the three rules |
//! | `sections.rs` | critical sections: their ends in order, and what was accessed in them |
//! | `store.rs` | clocks that were handed out |
//! | `sweep.rs` | what all threads know, so that it need not be kept |
//! | `detector.rs` | the accesses, and the races among them |
//! | `analysis.rs` | the passes: the detector, and the search for schedules |
//! | `question.rs` | the order of single pairs, for `ask` |
//!
//! **Differs from the paper.** One record for each section that another one can be ordered after in part, instead of a queue for each pair
//! of threads; the one that matters is found by bisection. Sections of the reader's own are skipped, or happens-before would leak into the weak
//! order. Sections that are still open, and locks that are not released in the order in which they were taken, count as they
//! should. What all threads know is dropped, from time to time.
//! **Cost.** O(threads) for each acquire that learns something and for each release after it; one look-up for each lock held at the first access to a
//! variable in a section. State grows with the number of sections that some thread has not been ordered after.

mod analysis;
mod clocks;
mod detector;
mod question;
mod sections;
mod store;
mod survey;
mod sweep;
#[cfg(test)]
mod tests;

pub(crate) use analysis::start;
pub(crate) use question::Questions;
