//! Certificates: short proofs that a trace has a race, or that it has none, which are checked without the detector.
//!
//! **Source.** Kulkarni, Mathur and Pavlogiannis, *Dynamic Data-Race Detection Through the Fine-Grained Lens*, CONCUR 2021. The paper shows that a race is easier to prove than to
//! find, and that so is its absence.
//!
//! | folder | theorem | a race is proven by | that there is none is proven by |
//! | --- | --- | --- | --- |
//! | `lock_set/` | 7 and 9 | a variable, in one pass | a lock for each variable, in one pass |
//! | `happens_before/` | 2 | two accesses, in one pass | hubs and paths, in O(N^3/2) |

pub mod happens_before;
pub mod lock_set;
