//! The functions that instrumented code calls. `symbols.txt` lists every symbol that the static library exports.

mod access;
mod annotations;
pub(crate) mod atomic;
mod interface;
mod managed;
mod testonly;
mod wide;

pub(crate) use access::{detours as access_detours, forward};
pub(crate) use interface::{
    default_options, default_suppressions, is_failure, may_block, tell_forking, tell_started,
};
