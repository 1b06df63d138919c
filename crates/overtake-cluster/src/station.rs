//! A worker's side of a detector: it takes its parts of the blocks in trace order, whatever order they arrive in.
//!
//! Each worker sees all synchronisation, so that its checker and the clocks of its detectors know what those of a sequential run know.
//! What a checker mends must not depend on accesses that other workers have: a trace that needs any other repair is judged by one
//! worker alone ([`Station::obstacle`]).

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use overtake_detect::{Analysis, Entry, OptionError, Options, Outcome, Strictness};
use overtake_trace::{Checker, Misuses, Part, Repair, Repairs, Symbols};

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
}

/// A detector, and what it costs.
pub(crate) struct Job {
    pub(crate) analysis: Analysis,
    outcome: Outcome,
    pub(crate) time: Duration,
    pub(crate) peak_state_bytes: usize,
}

impl Station {
    /// Starts detectors for a trace with these names.
    pub(crate) fn new(
        entries: &[&'static Entry],
        options: &Options,
        strictness: Strictness,
        symbols: Symbols,
    ) -> Result<Station, OptionError> {
        let jobs = entries.iter().map(|entry| {
            let analysis = entry.analysis(options)?;
            Ok(Job { analysis, outcome: Outcome::AnotherPass, time: Duration::ZERO, peak_state_bytes: 0 })
        });
        Ok(Station {
            strictness,
            checker: strictness.checker(),
            symbols,
            jobs: jobs.collect::<Result<_, _>>()?,
            next: 0,
            waiting: BTreeMap::new(),
            obstacle: None,
        })
    }

    /// Takes the part of a block, and judges what can be judged now.
    pub(crate) fn take(&mut self, block: u32, part: Part) {
        self.waiting.insert(block, part);
        while let Some(mut part) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.judge(&mut part);
        }
    }

    fn judge(&mut self, part: &mut Part) {
        if self.obstacle.is_some() {
            return;
        }
        let is_whole = part.places.is_empty() && part.block.events.len() == part.length as usize;
        let checked = match is_whole {
            true => self.checker.check(&mut part.block, &mut self.symbols),
            false => self.checker.check_part(part, &mut self.symbols),
        };
        let checked = match checked {
            Ok(checked) => checked,
            Err(error) => return self.stop(error.to_string()),
        };
        for job in self.jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass) {
            job.timed(|analysis| analysis.feed(&checked));
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

    /// All blocks were taken. Returns whether some detector wants to see them again.
    pub(crate) fn end_of_trace(&mut self, blocks: u32) -> Outcome {
        if self.next != blocks {
            self.stop(format!("block {} of the trace did not arrive", self.next));
        }
        if self.obstacle.is_some() {
            return Outcome::Done;
        }
        for job in self.jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass) {
            job.outcome = job.timed(|analysis| analysis.end_of_trace(&self.symbols));
        }
        let wants_more = self.jobs.iter().any(|job| job.outcome == Outcome::AnotherPass);
        if wants_more { Outcome::AnotherPass } else { Outcome::Done }
    }

    /// The trace comes once more, from the start.
    pub(crate) fn begin_again(&mut self) {
        self.checker = self.strictness.checker();
        self.next = 0;
    }

    /// The detectors, in the order in which they were given.
    pub(crate) fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// What was mended, as far as this worker answers for it: what every worker mends counts once.
    pub(crate) fn repairs(&self, is_first: bool) -> Repairs {
        let mut own = Repairs::default();
        for (repair, times) in self.checker.repairs().made() {
            if is_first || OF_ONE_WORKER.contains(&repair) {
                own.add(repair, times);
            }
        }
        own
    }

    /// The misuses that this worker saw.
    pub(crate) fn misuses(&self) -> &Misuses {
        self.checker.misuses()
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
