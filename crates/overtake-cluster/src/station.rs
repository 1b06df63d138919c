//! A worker's side of a detector: it takes its parts of the blocks in trace order, whatever order they arrive in.
//!
//! Each worker sees all synchronisation, so that its checker and the clocks of its detectors know what those of a sequential run know.
//! What a checker mends must not depend on accesses that other workers have: a trace that needs any other repair is judged by one
//! worker alone ([`Station::obstacle`]).

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use overtake_detect::{Accesses, Analysis, Moments, News, OptionError, Outcome, OwnVariables, Strictness};
use overtake_trace::{
    Block, Checker, EventIndex, Landmarks, Misuses, OtrFile, Part, Repair, Repairs, Symbols,
};

use crate::Task;
use crate::guide::{Docket, Guide};
use crate::parcel::Commons;

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
    commons: Arc<Commons>,
    /// If one worker follows the synchronisation for all: what it knows, and what this one has to judge.
    guide: Guide,
    docket: Docket,
    file: Arc<OtrFile>,
    way: Way,
}

/// How a worker learns what threads know.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// It follows all synchronisation.
    Following,
    /// The first worker tells it.
    ByMoments,
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
    /// Starts the detectors of a worker that has these variables, or all of them.
    pub(crate) fn new(
        task: &Task,
        own: Option<OwnVariables>,
        way: Way,
        is_first: bool,
        commons: &Arc<Commons>,
    ) -> Result<Station, String> {
        let jobs = task.detectors.iter().map(|entry| {
            let judging = entry.judging_analysis().filter(|_| way == Way::ByMoments);
            let analysis = match (judging, &own) {
                (Some(judging), _) => judging,
                (None, Some(own)) => entry.shared_analysis(&task.options, own.clone())?,
                (None, None) => entry.analysis(&task.options)?,
            };
            Ok(Job { analysis, outcome: Outcome::AnotherPass, time: Duration::ZERO, peak_state_bytes: 0 })
        });
        let jobs = jobs.collect::<Result<_, OptionError>>().map_err(|error| error.to_string())?;
        let symbols = task.file.symbols().map_err(|error| error.to_string())?;
        let changes_names = way == Way::Following || is_first;
        Ok(Station {
            strictness: task.strictness,
            checker: task.strictness.checker(),
            symbols: if changes_names { symbols.clone() } else { Symbols::default() },
            jobs,
            next: 0,
            waiting: BTreeMap::new(),
            obstacle: None,
            first_reading: None,
            landmarks: is_first.then(Landmarks::default),
            commons: Arc::clone(commons),
            guide: Guide::default(),
            docket: Docket::default(),
            file: Arc::clone(&task.file),
            way,
        })
    }

    /// Takes the part of a block, and judges what can be judged now.
    pub(crate) fn take(&mut self, block: u32, part: Part) {
        self.waiting.insert(block, part);
        while let Some(mut part) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.judge(Piece::Part(&mut part));
            self.commons.parts.put(part);
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
        self.note_checked(next);
    }

    /// The checker has seen all events before `next`.
    fn note_checked(&mut self, next: EventIndex) {
        if let Some(landmarks) = self.landmarks.as_mut().filter(|_| self.first_reading.is_none()) {
            landmarks.note(&self.checker, next);
        }
        self.check_repairs();
    }

    /// Takes the follower's part of a block. Returns the moments of the blocks that can be followed now.
    pub(crate) fn follow(&mut self, block: u32, part: Part) -> Vec<(u32, Arc<Moments>)> {
        self.guide.take(block, part);
        let mut told = Vec::new();
        while let Some((block, mut part)) = self.guide.next() {
            if self.obstacle.is_some() {
                break;
            }
            let mut moments = self.commons.moments.take();
            let checked = match self.checker.check_part(&mut part, &mut self.symbols) {
                Ok(checked) => checked,
                Err(error) => {
                    self.stop(error.to_string());
                    break;
                }
            };
            let next = EventIndex(checked.first().0 + checked.len() as u64);
            self.guide.skeleton.follow(&checked, &mut moments);
            self.note_checked(next);
            self.commons.parts.put(part);
            told.push((block, Arc::new(moments)));
        }
        told
    }

    /// How many blocks were followed.
    pub(crate) fn followed(&self) -> u32 {
        self.guide.followed()
    }

    /// Takes the accesses of a block, and judges what can be judged now.
    pub(crate) fn take_accesses(&mut self, block: u32, accesses: Accesses) {
        self.docket.take_accesses(block, accesses);
        self.judge_accesses();
    }

    /// Takes the moments of a block, and judges what can be judged now.
    pub(crate) fn take_moments(&mut self, block: u32, moments: Arc<Moments>) {
        self.docket.take_moments(block, moments);
        self.judge_accesses();
    }

    fn judge_accesses(&mut self) {
        while let Some((accesses, moments)) = self.docket.next() {
            let Ok(symbols) = self.file.symbols() else { break }; // read by whoever started this worker
            let skeleton_bytes = self.guide.skeleton.state_bytes();
            for job in &mut self.jobs {
                job.timed(|analysis| analysis.judge(&accesses, &moments, symbols));
                let bytes = job.analysis.state_bytes() + skeleton_bytes;
                job.peak_state_bytes = job.peak_state_bytes.max(bytes);
            }
            self.commons.accesses.put(accesses);
            if let Some(moments) = Arc::into_inner(moments) {
                self.commons.moments.put(moments);
            }
        }
    }

    /// How many blocks this worker has done with.
    fn done(&self) -> u32 {
        match self.way {
            Way::Following => self.next,
            Way::ByMoments => self.docket.judged(),
        }
    }

    /// The names of the trace, as detectors see them.
    fn names(&self) -> &Symbols {
        match self.way {
            Way::Following => &self.symbols,
            Way::ByMoments => self.file.symbols().unwrap_or(&self.symbols),
        }
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
        if self.done() != blocks {
            self.stop(format!("block {} of the trace did not arrive", self.done()));
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
        let mut jobs = std::mem::take(&mut self.jobs);
        let working = jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass);
        let news = working.map(|job| job.timed(|analysis| analysis.news(self.names()))).collect();
        self.jobs = jobs;
        news
    }

    /// Ends the pass with what the detectors of all workers said, by worker and then by detector. Returns whether some detector wants to see the
    /// trace again; fails with the reason if one worker has to do everything, which is then known to all.
    pub(crate) fn end_of_trace(&mut self, said: &[Vec<Vec<u64>>]) -> Result<Outcome, String> {
        let mut jobs = std::mem::take(&mut self.jobs);
        let mut wants_more = Outcome::Done;
        let working = jobs.iter_mut().filter(|job| job.outcome == Outcome::AnotherPass);
        for (number, job) in working.enumerate() {
            let words: Vec<_> =
                said.iter().map(|said| said.get(number).cloned().unwrap_or_default()).collect();
            job.timed(|analysis| analysis.hear(&words, self.names()))?;
            job.outcome = job.timed(|analysis| analysis.end_of_trace(self.names()));
            if job.outcome == Outcome::AnotherPass {
                wants_more = Outcome::AnotherPass;
            }
        }
        self.jobs = jobs;
        Ok(wants_more)
    }

    /// The trace comes once more, from the start.
    pub(crate) fn begin_again(&mut self) {
        self.checker = self.strictness.checker();
        self.next = 0;
    }

    /// What the workers of this process have in common.
    pub(crate) fn commons(&self) -> &Commons {
        &self.commons
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
