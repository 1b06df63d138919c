//! `syncp`: all sync-preserving races of the trace.
//!
//! **Answer.** Exactly the accesses in a sync-preserving race with an earlier access, each with the first such access of
//! each thread.
//! **State.** Every access that can still race is kept, so memory grows with the trace; repeated reads that nothing tells
//! apart are kept once.

use super::two_pass::TwoPass;
use crate::registry::{Analysis, OptionError, Options};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Box<dyn Analysis>, OptionError> {
    Ok(Box::new(TwoPass::<false>::new(u64::MAX, !options.no_filter)))
}
