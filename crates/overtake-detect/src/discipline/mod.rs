//! Locking discipline: suspicions from the locks held at accesses, whatever order the run had.

mod by_locks;
pub(crate) mod lock_cover;
pub(crate) mod lock_set;
mod open_cover;
mod seen;
#[cfg(test)]
mod tests;
