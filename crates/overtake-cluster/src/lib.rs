//! Detectors whose work is shared by the cores of a machine, or by several machines.
//!
//! The engine is timely dataflow. Worker `i` of `n` reads every `n`-th block of a sealed trace, and sends each access to the worker of
//! its variable; what synchronises goes to all workers. So each worker sees, in trace order, everything that orders threads and all
//! accesses to its own variables, which is all that a detector looks at that judges every variable for itself
//! ([`Distribution::ByVariable`](overtake_detect::Distribution)). What the workers found is put together in the order of the
//! sequential run, so that races, their order and all counts are the same, however many workers there are and whoever is faster.
//!
//! **What bounds it.** Every worker follows all synchronisation: the time of `n` workers is at least that of the synchronisation,
//! and a `n`-th of the rest. `docs/scale.md` has measurements.
//!
//! | file | holds |
//! | --- | --- |
//! | `owners.rs` | which worker a variable belongs to, and what each gets of a block |
//! | `parcel.rs` | what is sent, and how it is packed for other processes |
//! | `station.rs` | the detectors of one worker |
//! | `dataflow.rs` | who reads what, where it goes, and how workers agree |
#![forbid(unsafe_code)]

mod dataflow;
mod owners;
mod parcel;
mod station;

use std::sync::Arc;

use overtake_detect::{Entry, Findings, Options, Strictness};
use overtake_trace::{Misuses, OtrFile, Repairs};

/// What is to be done, the same for all workers.
#[derive(Clone)]
pub struct Task {
    /// The trace.
    pub file: Arc<OtrFile>,
    /// The detectors; all of them can be shared by variable.
    pub detectors: Vec<&'static Entry>,
    /// Their settings.
    pub options: Options,
    /// What happens to a trace that is not well formed.
    pub strictness: Strictness,
}

/// What the workers found together.
#[derive(Debug)]
pub struct Answer {
    /// What each detector found, as one worker alone would have found it.
    pub findings: Vec<Findings>,
    /// What each worker did.
    pub workers: Vec<WorkerFacts>,
    /// What was mended in the trace.
    pub repairs: Repairs,
    /// The misuses that the trace tells of.
    pub misuses: Misuses,
}

/// What one worker did.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct WorkerFacts {
    /// Bytes sent to workers of other processes.
    pub bytes_sent: u64,
    /// Events in them.
    pub events_sent: u64,
    /// Time spent in each detector.
    pub nanoseconds: Vec<u64>,
    /// The most state that each detector held at the end of a block.
    pub peak_state_bytes: Vec<u64>,
}

/// Why workers cannot share a task, so that one has to do it alone.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Obstacle(pub String);

impl std::fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl std::error::Error for Obstacle {}

impl Task {
    /// Does the task with so many workers in this process.
    pub fn with_threads(self, workers: usize) -> Result<Answer, Obstacle> {
        let workers = workers.max(1);
        let config = match workers {
            1 => timely::Config::thread(),
            _ => timely::Config::process(workers),
        };
        let guards = timely::execute(config, move |worker| dataflow::work(worker, &self, workers))
            .map_err(Obstacle)?;
        first_answer(guards.join())
    }
}

/// The answer of the first worker, or what stood in the way.
fn first_answer(results: Vec<Result<Result<Option<Answer>, String>, String>>) -> Result<Answer, Obstacle> {
    let mut answer = None;
    for result in results {
        let own = result.and_then(|work| work).map_err(Obstacle)?;
        answer = answer.or(own);
    }
    answer.ok_or_else(|| Obstacle("the workers ended without an answer".into()))
}
