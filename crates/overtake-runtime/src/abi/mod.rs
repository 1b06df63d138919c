//! What instrumented code calls.

mod access;
pub(crate) use access::forward;
pub(crate) mod atomic;
mod interface;
