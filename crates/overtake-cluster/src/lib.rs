//! Detectors whose work is shared by the cores of a machine, or by several machines.
//!
//! The engine is timely dataflow. Worker `i` of `n` reads every `n`-th block of a sealed trace, and sends each access to the worker of
//! its variable; what synchronises goes to all workers. So each worker sees, in trace order, everything that orders threads and all
//! accesses to its own variables, which is all that a detector looks at that judges every variable for itself
//! ([`Distribution::ByVariable`](overtake_detect::Distribution)). Where reads of a variable order the accesses of others, workers mark these reads and
//! read the trace again ([`Distribution::Linked`](overtake_detect::Distribution)). What the workers found is put together in the order of the
//! sequential run, so that races, their order and all counts are the same, however many workers there are and whoever is faster.
//!
//! **What bounds it.** Every worker follows all synchronisation: the time of `n` workers is at least that of the synchronisation,
//! and a `n`-th of the rest. `docs/scale.md` has measurements.
//!
//! | file | holds |
//! | --- | --- |
//! | `owners.rs` | which worker a variable belongs to, and what each gets of a block |
//! | `parcel.rs` | what is sent, and how it is packed for other processes |
//! | `stretches.rs` | the other way to share: by stretches of the trace |
//! | `station.rs` | the detectors of one worker |
//! | `dataflow.rs` | who reads what, where it goes, and how workers agree |
//! | `letters.rs` | what workers tell each other between two readings |
//! | `slices.rs` | variables that are judged one slice after the other, and what is kept of finished ones |
//! | `sockets.rs` | connections between processes |
#![forbid(unsafe_code)]

mod dataflow;
mod letters;
mod owners;
mod parcel;
mod slices;
mod sockets;
mod station;
mod stretches;
#[cfg(test)]
mod tests;

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use overtake_detect::{Entry, Findings, Options, Strictness};
use overtake_trace::{Landmarks, Misuses, OtrFile, Progress, Repairs};
use timely::WorkerConfig;
use timely::communication::allocator::ProcessBuilder;
use timely::communication::allocator::zero_copy::initialize::initialize_networking_from_sockets;
use timely::communication::{AllocatorBuilder, Hooks, WorkerGuards};
use timely::execute::execute_from;

pub use slices::Shelf;
use sockets::Loss;
pub use sockets::Processes;

/// What is to be done, the same for all workers.
#[derive(Clone)]
pub struct Task {
    /// The trace.
    pub file: Arc<OtrFile>,
    /// The detectors; all of them can be shared.
    pub detectors: Vec<&'static Entry>,
    /// Their settings.
    pub options: Options,
    /// What happens to a trace that is not well formed.
    pub strictness: Strictness,
    /// In how many slices the variables are judged, one after the other. More than one needs detectors that judge every variable by itself
    /// ([`Distribution::ByVariable`](overtake_detect::Distribution)).
    pub slices: u16,
    /// Where the first worker keeps finished slices.
    pub shelf: Option<Arc<dyn Shelf>>,
}

/// What the workers found together.
#[derive(Debug)]
pub struct Answer {
    /// What each detector found, as one worker alone would have found it.
    pub findings: Vec<Findings>,
    /// What each worker did.
    pub workers: Vec<WorkerFacts>,
    /// Each worker judged a stretch of the trace; else some of the variables.
    pub in_stretches: bool,
    /// What was mended in the trace.
    pub repairs: Repairs,
    /// The misuses that the trace tells of.
    pub misuses: Misuses,
    /// Places from which the trace can be read again; none if it was mended.
    pub landmarks: Landmarks,
}

/// What one worker did.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct WorkerFacts {
    /// Bytes sent to workers of other processes.
    pub bytes_sent: u64,
    /// Events in them.
    pub events_sent: u64,
    /// Nanoseconds that the processor worked for it; 0 where the system does not say.
    pub processor: u64,
    /// Nanoseconds in each detector.
    pub nanoseconds: Vec<u64>,
    /// The most state that each detector held at the end of a block.
    pub peak_state_bytes: Vec<u64>,
}

/// Why there is no answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Obstacle {
    /// Workers cannot share the task, but one can do it alone: all processes know it.
    Alone(String),
    /// The job is over: a process could not be reached, or ended too early.
    Failed(String),
}

impl std::fmt::Display for Obstacle {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (Obstacle::Alone(reason) | Obstacle::Failed(reason)) = self;
        formatter.write_str(reason)
    }
}

impl std::error::Error for Obstacle {}

/// What a worker brings home: the answer if it is the first one, or why there is none.
type Home = Result<Option<Answer>, String>;

/// How long the first and the longest wait between two looks at the workers are.
const FIRST_LOOK: Duration = Duration::from_millis(1);
const LAST_LOOK: Duration = Duration::from_millis(50);

impl Task {
    /// Does the task with so many workers in this process. `watch` hears how far they have come.
    pub fn with_threads(self, workers: usize, watch: &mut dyn FnMut(Progress)) -> Result<Answer, Obstacle> {
        let workers = workers.max(1);
        let config = match workers {
            1 => timely::Config::thread(),
            _ => timely::Config::process(workers),
        };
        let file = Arc::clone(&self.file);
        let (spare, board) = (Arc::default(), stretches::Board::default());
        let guards =
            timely::execute(config, move |worker| dataflow::work(worker, &self, workers, (&spare, &board)));
        let guards = guards.map_err(Obstacle::Failed)?;
        let answer = brought_home(guards, &file, &Loss::default(), watch)?;
        answer.ok_or_else(|| Obstacle::Failed("the workers ended without an answer".into()))
    }

    /// Does this process's part of the task. The first process has the answer, the others have none.
    ///
    /// If another process ends too early, so does the job. Its threads stay behind, waiting: end this process as well.
    pub fn with_processes(
        self,
        processes: &Processes,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<Option<Answer>, Obstacle> {
        let threads = processes.threads.max(1);
        let loss = Loss::default();
        let lines = processes.connect(self.digest(threads), &loss).map_err(Obstacle::Failed)?;
        let hooks = Hooks::default();
        let own = ProcessBuilder::new_typed_vector(threads, hooks.refill.clone(), hooks.spill.clone());
        let connected = initialize_networking_from_sockets(own, lines, processes.own, threads, hooks);
        let (builders, sockets) = connected.map_err(|error| Obstacle::Failed(error.to_string()))?;
        let builders = builders.into_iter().map(AllocatorBuilder::Tcp).collect();
        let (file, spare, board) = (Arc::clone(&self.file), Arc::default(), stretches::Board::default());
        let guards = execute_from(builders, Box::new(sockets), WorkerConfig::default(), move |worker| {
            dataflow::work(worker, &self, threads, (&spare, &board))
        });
        brought_home(guards.map_err(Obstacle::Failed)?, &file, &loss, watch)
    }

    /// A number that differs for tasks that differ, but by chance.
    fn digest(&self, threads: usize) -> u64 {
        let mut hasher = DefaultHasher::new();
        let sizes = self.file.sizes();
        let names: Vec<_> = self.detectors.iter().map(|entry| entry.name).collect();
        let trace = (self.file.block_count(), self.file.parameters().events, self.file.bytes_total());
        (trace, names, threads, self.slices).hash(&mut hasher);
        format!("{sizes:?} {:?} {:?}", self.options, self.strictness).hash(&mut hasher);
        hasher.finish()
    }
}

/// Waits for the workers of this process.
fn brought_home(
    guards: WorkerGuards<Home>,
    file: &OtrFile,
    loss: &Loss,
    watch: &mut dyn FnMut(Progress),
) -> Result<Option<Answer>, Obstacle> {
    let mut pause = FIRST_LOOK;
    while !guards.guards().iter().all(thread::JoinHandle::is_finished) {
        if let Some(process) = loss.lost() {
            // To drop the guards would mean to wait for workers that wait for the lost process.
            std::mem::forget(guards);
            return Err(Obstacle::Failed(format!("{process} ended before the job was done")));
        }
        watch(Progress { bytes_read: file.bytes_read(), bytes_total: Some(file.bytes_total()) });
        thread::park_timeout(pause);
        pause = (pause * 2).min(LAST_LOOK);
    }
    let mut answer = None;
    for result in guards.join() {
        let home = result.map_err(|_| Obstacle::Failed("BUG IN OVERTAKE: a worker panicked".into()))?;
        answer = answer.or(home.map_err(Obstacle::Alone)?);
    }
    Ok(answer)
}
