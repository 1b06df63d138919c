//! How several workers share the work of a detector.

use crate::links::OwnVariables;
use crate::passes::Analysis;
use crate::settings::{OptionError, Options};

/// Whether several workers can share the work of a detector.
#[derive(Clone, Copy, Debug)]
pub enum Distribution {
    /// No: one worker sees every event.
    Sequential,
    /// By variable. A worker sees all events but the plain accesses of other workers' variables, and finds the races of its own, each when it
    /// judges the second access. An element of a heap block and the block have the same worker.
    ByVariable,
    /// By variable as well. If there are few threads, one worker follows the synchronisation for all, and the others get accesses only, each with what
    /// its thread knows.
    ByMoments(StartJudging),
    /// By variable, in several readings: from the second one on a worker also sees what others have marked in the one before.
    Linked(StartShared),
}

/// Starts the analysis of a worker that has these variables.
pub type StartShared = fn(&Options, OwnVariables) -> Result<Analysis, OptionError>;

/// Starts the analysis of a worker that gets accesses only.
pub type StartJudging = fn() -> Analysis;
