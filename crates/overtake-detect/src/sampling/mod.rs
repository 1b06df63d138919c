//! Happens-before races of a sample: for traces that are too long to judge every access.
//!
//! All three detectors report happens-before races only (`hb/mod.rs` has the definition), and none that is no race. They
//! differ in what they leave out:
//!
//! | file | holds |
//! | --- | --- |
//! | `pacer.rs` | `pacer`: looks for races whose first access falls into a sampled period |
//! | `sampled.rs` | `sampled-hb`: looks for races between sampled accesses |
//! | `accesses.rs` | the detector behind these two, which see every synchronisation event |
//! | `rpt/` | `rpt`: reads constantly many events, whatever the length of the trace; `windowed`: judges all pieces of it by themselves |
//! | `random.rs` | random numbers by position |

mod accesses;
mod pacer;
mod random;
mod rpt;
mod sampled;
#[cfg(test)]
mod tests;

pub use rpt::{
    Effort, Judge, Limits, Plan, RandomAccess, Refined, Sample, SampleError, Stop, Tested, refine, test,
};

pub(crate) use pacer::start as start_pacer;
pub(crate) use rpt::{sample as sample_rpt, start as start_rpt, start_pieces};
pub(crate) use sampled::start as start_sampled;
