//! A worker's side of a detector: it takes its parts of the blocks in trace order, whatever order they arrive in.
//!
//! Each worker sees all synchronisation, so that its checker and the clocks of its detectors know what those of a sequential run know.
//! What a checker mends must not depend on accesses that other workers have: a trace that needs any other repair is judged by one
//! worker alone ([`Station::obstacle`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overtake_detect::{Analysis, News, OptionError, Outcome, OwnVariables, Strictness};
use overtake_trace::{Block, Checker, EventIndex, Landmarks, Misuses, Part, Repair, Repairs, Symbols};

use crate::Task;
use crate::parcel::SpareParts;

/// Repairs that depend on synchronisation alone: every worker makes them.
const OF_EVERY_WORKER: [Repair; 5] = [
    Repair::ReentrantAcquire,
    Repair::UnheldRelease,
    Repair::MissingRelease,
    Repair::ReleaseMode,
    Repair::SelfForkOrJoin,
];
/// Repairs that the worker of a heap block makes.
const OF_ONE_WORKER: [Repair; 1] = [Repair::UnallocatedFree];

/// The detectors of one worker.
pub(crate) struct Station {
    strictness: Strictness,
    checker: Checker,
    symbols: Symbols,
    jobs: Vec<Job>,
    /// The block that comes next.
    next: u32,
    /// Parts that came before their turn.
    waiting: BTreeMap<u32, Part>,
    obstacle: Option<String>,
    /// What was mended and misused, known after the first reading. In others a worker may see more than its part.
    first_reading: Option<(Repairs, Misuses)>,
    /// Places from which the trace can be read again, noted by the first worker in the first reading.
    landmarks: Option<Landmarks>,
    spare: Arc<SpareParts>,
}

/// What a worker gets of a block.
enum Piece<'a> {
    Part(&'a mut Part),
    Whole(&'a mut Block),
}

/// A detector, and what it costs.
pub(crate) struct Job {
    pub(crate) analysis: Analysis,
    outcome: Outcome,
    pub(crate) time: Duration,
    pub(crate) peak_state_bytes: usize,
}

impl Station {
    /// Starts the detectors of a worker that has these variables, or all of them, for a trace with these names.
    pub(crate) fn new(
        task: &Task,
        own: Option<OwnVariables>,
        symbols: Symbols,
        is_first: bool,
        spare: &Arc<SpareParts>,
    ) -> Result<Station, OptionError> {
        let jobs = task.detectors.iter().map(|entry| {
            let analysis = match &own {
                Some(own) => entry.shared_analysis(&task.options, own.clone())?,
                None => entry.analysis(&task.options)?,
            };
            Ok(Job { analysis, outcome: Outcome::AnotherPass, time: Duration::ZERO, peak_state_bytes: 0 })
        });
        Ok(Station {
            strictness: task.strictness,
            checker: task.strictness.checker(),
            symbols,
            jobs: jobs.collect::<Result<_, _>>()?,
            next: 0,
            waiting: BTreeMap::new(),
            obstacle: None,
            first_reading: None,
            landmarks: is_first.then(Landmarks::default),
            spare: Arc::clone(spare),
        })
    }

    /// Takes the part of a block, and judges what can be judged now.
    pub(crate) fn take(&mut self, block: u32, part: Part) {
        self.waiting.insert(block, part);
        while let Some(mut part) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.judge(Piece::Part(&mut part));
            self.spare.put(part);
        }
    }

    /// Takes all of the next block.
    pub(crate) fn take_whole(&mut self, block: &mut Block) {
        self.next += 1;
        self.judge(Piece::Whole(block));
    }

    fn judge(&mut self, piece: Piece<'_>) {
        if self.obstacle.is_some() {
            return;
        }
        let checked = match piece {
            Piece::Part(part) => self.checker.check_part(part, &mut self.symbols),
            Piece::Whole(block) => self.checker.check(block, &mut self.symbols),
        };
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => return self.stop(error.to_string()),
        };
        for job in self.jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass) {
            job.timed(|analysis| analysis.feed(&checked));
        }
        let next = EventIndex(checked.first().0 + checked.len() as u64);
        if let Some(landmarks) = self.landmarks.as_mut().filter(|_| self.first_reading.is_none()) {
            landmarks.note(&self.checker, next);
        }
        self.check_repairs();
    }

    /// Whether all repairs so far are such that workers agree on them.
    fn check_repairs(&mut self) {
        let is_shared = |repair| OF_EVERY_WORKER.contains(&repair) || OF_ONE_WORKER.contains(&repair);
        let unshared =
            self.checker.repairs().made().map(|(repair, _)| repair).find(|&repair| !is_shared(repair));
        if let Some(repair) = unshared {
            self.stop(format!(
                "the trace needs repairs that one worker makes for all: {}",
                repair.describe()
            ));
        }
    }

    /// Judges no further: the first reason stays.
    pub(crate) fn stop(&mut self, reason: String) {
        self.obstacle.get_or_insert(reason);
    }

    /// Why workers cannot share the work on this trace.
    pub(crate) fn obstacle(&self) -> Option<&str> {
        self.obstacle.as_deref()
    }

    /// All blocks were taken. What the detectors that are at work have to say to those of others.
    pub(crate) fn news(&mut self, blocks: u32) -> Vec<News> {
        if self.next != blocks {
            self.stop(format!("block {} of the trace did not arrive", self.next));
        }
        if self.first_reading.is_none() {
            self.first_reading = Some((self.checker.repairs().clone(), self.checker.misuses().clone()));
            let checker = std::mem::replace(&mut self.checker, self.strictness.checker());
            if let Some(landmarks) = &mut self.landmarks {
                landmarks.finish(checker);
            }
        }
        if self.obstacle.is_some() {
            return Vec::new();
        }
        let working = self.jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass);
        working.map(|job| job.timed(|analysis| analysis.news(&self.symbols))).collect()
    }

    /// Ends the pass with what the detectors of all workers said, by worker and then by detector. Returns whether some detector wants to see the
    /// trace again; fails with the reason if one worker has to do everything, which is then known to all.
    pub(crate) fn end_of_trace(&mut self, said: &[Vec<Vec<u64>>]) -> Result<Outcome, String> {
        let mut wants_more = Outcome::Done;
        let working = self.jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass);
        for (number, job) in working.enumerate() {
            let words: Vec<_> =
                said.iter().map(|said| said.get(number).cloned().unwrap_or_default()).collect();
            job.timed(|analysis| analysis.hear(&words, &self.symbols))?;
            job.outcome = job.timed(|analysis| analysis.end_of_trace(&self.symbols));
            if job.outcome == Outcome::AnotherPass {
                wants_more = Outcome::AnotherPass;
            }
        }
        Ok(wants_more)
    }

    /// The trace comes once more, from the start.
    pub(crate) fn begin_again(&mut self) {
        self.checker = self.strictness.checker();
        self.next = 0;
    }

    /// Room for parts.
    pub(crate) fn spare(&self) -> &SpareParts {
        &self.spare
    }

    /// The detectors, in the order in which they were given.
    pub(crate) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// What was mended, as far as this worker answers for it: what every worker mends counts once.
    pub(crate) fn repairs(&self, is_first: bool) -> Repairs {
        let mut own = Repairs::default();
        let made = self.first_reading.iter().flat_map(|(repairs, _)| repairs.made());
        for (repair, times) in made {
            if is_first || OF_ONE_WORKER.contains(&repair) {
                own.add(repair, times);
            }
        }
        own
    }

    /// The landmarks of the trace; none if this is not the first worker.
    pub(crate) fn take_landmarks(&mut self) -> Landmarks {
        self.landmarks.take().unwrap_or_default()
    }

    /// The misuses that this worker saw.
    pub(crate) fn misuses(&self) -> Misuses {
        self.first_reading.as_ref().map(|(_, misuses)| misuses.clone()).unwrap_or_default()
    }
}

impl Job {
    fn timed<T>(&mut self, work: impl FnOnce(&mut Analysis) -> T) -> T {
        let start = Instant::now();
        let result = work(&mut self.analysis);
        self.time += start.elapsed();
        self.peak_state_bytes = self.peak_state_bytes.max(self.analysis.state_bytes());
        result
    }
}
