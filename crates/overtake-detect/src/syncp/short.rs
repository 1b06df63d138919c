//! `short-syncp`: the sync-preserving races of the trace whose events are at most a window apart.
//!
//! **Answer.** Exactly the accesses in a sync-preserving race *of the whole trace* with an access at most `window` events
//! back (span `j - i + 1`), each with the first such access of each thread.
//! **State.** The accesses in the window that can still race and the critical sections that can still matter
//! (`collect.rs`); what else there is grows with threads, locks and variables, not with events.

use super::two_pass::analysis;
use crate::passes::Analysis;
use crate::settings::{OptionError, Options};

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    Ok(analysis::<true>(options.window, !options.no_filter))
}
