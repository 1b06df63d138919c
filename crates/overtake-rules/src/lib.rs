//! What the operations of a concurrent program mean.
//!
//! Checker, detectors, sealing, witness and report must give each operation the same meaning. So the meaning is written here and
//! nowhere else, in the terms of `docs/semantics.md`:
//!
//! | section of `docs/semantics.md` | here |
//! | --- | --- |
//! | Accesses and conflicts | [`AccessKind`], [`Class`] |
//! | Happens-before: fork, join, lock, object | [`flow`] |
//! | Happens-before: atomics, fences, release sequences, volatile | [`MemoryOrder`], [`flow::atomic`], [`flow::fence`] |
//! | Who holds a lock, and how traces that are not well formed are repaired | [`LockMode`], [`Holders`] |
//! | What a recording makes of semaphores, barriers, condition variables, descriptors | [`objects`] |
//!
//! The rules do not know how anything is stored. Vector clocks of a whole trace, clocks of a window and lock-indexed time are
//! three stores of knowledge: each implements [`flow::Flows`] and gets all rules. In the same way [`Holders`] and the
//! [`objects`] take lists, queues and maps through the traits of [`store`].
//!
//! ```
//! use overtake_rules::{AccessKind, Holders, LockMode, Claim};
//!
//! assert!(AccessKind::Read.conflicts(AccessKind::Write));
//! assert!(!AccessKind::Load.conflicts(AccessKind::Store)); // both are atomic
//!
//! let mut holders = Holders::<Vec<Claim<u32>>>::default();
//! holders.acquire(1, LockMode::Exclusive, || (), |_| unreachable!("nobody held it"));
//! assert_eq!(holders.mode_of(1), Some(LockMode::Exclusive));
//! ```
#![no_std]
#![forbid(unsafe_code)]

#[cfg(feature = "alloc")]
extern crate alloc;
#[cfg(test)]
extern crate std;

mod access;
pub mod flow;
mod lock;
pub mod objects;
mod order;
pub mod store;

pub use access::{AccessKind, Class};
pub use flow::{Carrier, Flows, Ids};
pub use lock::{
    Acquired, Claim, Handover, Holders, Holding, HoldingCount, LockMode, OpenSection, OpenSections, Released,
};
pub use order::MemoryOrder;
