//! Data race detectors.
//!
//! One folder per race notion, one file per algorithm, one event loop ([`feed`]) and one table of detectors
//! ([`DETECTORS`]). Detectors see checked events and report what they find; they do no I/O and never print.
#![forbid(unsafe_code)]

mod access;
pub mod ask;
pub mod certificate;
mod deadlock;
mod detector;
mod discipline;
mod drive;
mod extent;
mod finding;
mod findings;
mod hb;
mod hinge;
mod links;
mod locks;
mod m2;
mod meaning;
mod osr;
mod passes;
mod posts;
mod race;
mod read_sources;
mod registry;
mod run;
mod sampling;
mod settings;
mod slimstate;
mod sources;
mod stretch;
mod succession;
mod summary;
mod syncp;
#[cfg(test)]
mod testing;
mod visitor;
mod wcp;
pub mod witness;

pub use access::{Access, AccessKind, At};
pub use detector::{Detector, LockMode};
pub use drive::{Driver, Job, Strictness};
pub use extent::Extent;
pub use finding::{Deadlock, DeadlockStep, Finding};
pub use findings::{Distances, Findings, Group, RaceGroup};
pub use hinge::Hinge;
pub use links::{EventSet, News, OwnVariables};
pub use meaning::{Notion, Promise};
pub use passes::{After, Analysis, Outcome, Pass};
pub use race::{Race, Verdict};
pub use registry::{
    DETECTORS, Distribution, Entry, Included, ReadWindows, Reads, Registry, Silence, Stand, StartShared,
    Unasked, Witness, find, one_pass,
};
pub use run::{LiveBlocks, feed, visit};
pub use sampling::{
    Effort, Judge, Limits, Plan, RandomAccess, Refined, Sample, SampleError, Stop, Tested, refine, test,
};
pub use settings::{Allowance, Field, OptionError, Options, Partitions, SETTINGS, Setting, parse_count};
pub use stretch::{Acting, StartStretched, Stretched};
pub use visitor::{Touch, Visitor};
