//! `syncp`: all sync-preserving races of the trace.
//!
//! **Answer.** Exactly the accesses in a sync-preserving race with an earlier access, each with the first such access of
//! each thread.
//! **State.** The accesses that can still race and the critical sections that can still matter (`collect.rs`). Where
//! threads learn of each other that is a short stretch of the trace; in the worst case it is all of it.

use super::two_pass::analysis;
use crate::passes::Analysis;
use crate::settings::{OptionError, Options};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(analysis::<false>(u64::MAX, !options.no_filter))
}
