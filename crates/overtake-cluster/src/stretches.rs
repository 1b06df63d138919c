//! A trace in stretches: each worker reads, checks and judges one stretch, and nothing is handed over.
//!
//! 1. Each worker judges its stretch as if nothing came before it ([`Stretched`]), and notes what that presupposes ([`Stretch`]). Together they
//!    find out whether all of it is so. If not, or if something has to be mended, the work is shared by variable instead.
//! 2. Each worker but the last goes on into the next stretch, until nothing there can race with what it has seen. What it found up to this *seam*
//!    counts, and from there on what the next worker found.
//!
//! Where a few accesses never become known to all threads, such as the last ones of a thread that only waits, the others look whether their
//! variables are used after the seam. If they are not, nobody has to know of them.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use overtake_detect::{Acting, Entry, Findings, Stretched};
use overtake_trace::{
    Action, Block, Checker, EventIndex, Id, Misuses, OtrFile, Repairs, Stretch, Symbols, ThreadId, VarId,
    chain,
};
use timely::worker::Worker;

use crate::dataflow::{agree, processor_time};
use crate::slices::{from_lists, lists};
use crate::{Answer, Task, WorkerFacts};

/// So many blocks at the start of a stretch may end at a seam, and from then on one of so many.
const BLOCKS_BETWEEN_SEAMS: usize = 64;
/// So many blocks are read beyond the end of a stretch before a seam may leave accesses that some thread does not know.
const PATIENCE: usize = 2;
/// With more threads it would take too long to find out what all of them know.
const MOST_THREADS: usize = 256;
/// So many variables may have such accesses.
const FEW: usize = 256;

/// What the workers of a process lay out for each other, by worker.
#[derive(Default)]
pub(crate) struct Board {
    stretches: Mutex<Vec<Option<Arc<Stretch>>>>,
    results: Mutex<Vec<Option<Results>>>,
}

/// What a worker found in its part of the trace, by detector, and what it did.
struct Results {
    findings: Vec<Findings>,
    facts: WorkerFacts,
}

/// Puts something on the board.
fn put<T>(places: &Mutex<Vec<Option<T>>>, worker: &Worker, value: T) {
    let mut places = places.lock().unwrap_or_else(PoisonError::into_inner);
    places.resize_with(worker.peers(), || None);
    places[worker.index()] = Some(value);
}

/// Judges a trace in stretches, if that is possible; all workers know whether it is. The first worker has the answer.
pub(crate) fn judge(
    worker: &mut Worker,
    task: &Task,
    per_process: usize,
    board: &Board,
) -> Option<Option<Answer>> {
    if !is_possible(worker, task, per_process) {
        return None;
    }
    let start = processor_time();
    let mut walk = Walk::new(worker, task)?;
    let obstacle = walk.own_stretch().err();
    put(&board.stretches, worker, Arc::new(walk.checker.stretch()?));
    agree(worker, obstacle.as_deref(), &[]).ok()?;
    let stretches: Option<Vec<_>> =
        board.stretches.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect();
    let stretches = stretches?;
    let landmarks = chain(stretches.iter().map(Arc::as_ref))?;
    let seams = agree_on_seams(worker, &mut walk, &stretches)?;
    let own = walk.own_part(&seams);
    let results = Results {
        findings: walk.jobs.iter().map(|job| job.found_in(&own)).collect(),
        facts: WorkerFacts {
            processor: processor_time().saturating_sub(start),
            nanoseconds: walk.jobs.iter().map(|job| job.time.as_nanos() as u64).collect(),
            peak_state_bytes: walk.jobs.iter().map(|job| job.peak_state_bytes as u64).collect(),
            ..WorkerFacts::default()
        },
    };
    put(&board.results, worker, results);
    agree(worker, None, &[]).ok()?;
    if worker.index() > 0 {
        return Some(None);
    }
    let results = std::mem::take(&mut *board.results.lock().unwrap_or_else(PoisonError::into_inner));
    let (mut logs, mut workers) = (vec![Vec::new(); task.detectors.len()], Vec::new());
    for Results { findings, facts } in results.into_iter().flatten() {
        logs.iter_mut().zip(findings).for_each(|(log, findings)| log.push(findings));
        workers.push(facts);
    }
    let findings = logs.iter().map(|log| Findings::merged(log)).collect();
    let (repairs, misuses) = (Repairs::default(), Misuses::default());
    Some(Some(Answer { findings, workers, in_stretches: true, repairs, misuses, landmarks }))
}

/// Whether a task can be done in stretches, as far as is known before anything is read.
fn is_possible(worker: &Worker, task: &Task, per_process: usize) -> bool {
    let Ok(symbols) = task.file.symbols() else { return false };
    let threads = task.file.sizes().threads;
    let has_own_numbers = |entry: &Entry| !symbols.program.is_recorded() || entry.numbers_all(threads as u64);
    let is_local = worker.peers() > 1 && worker.peers() == per_process;
    is_local
        && task.slices <= 1
        && threads <= MOST_THREADS
        && task.file.block_count() >= worker.peers()
        && task.detectors.iter().all(|entry| {
            entry.stretched.is_some() && has_own_numbers(entry) && entry.analysis(&task.options).is_ok()
        })
}

/// Lets all workers go on beyond their stretches. Returns where the part of each worker ends.
fn agree_on_seams(
    worker: &mut Worker,
    walk: &mut Walk,
    stretches: &[Arc<Stretch>],
) -> Option<Vec<EventIndex>> {
    loop {
        let obstacle = walk.go_on(stretches).err();
        let unsettled: Vec<_> = walk
            .jobs
            .iter()
            .map(|job| job.left_at_seam.iter().map(|var| u64::from(var.0)).collect())
            .collect();
        let words: Vec<u64> = [walk.next.0].into_iter().chain(lists(&unsettled)).collect();
        let letters = agree(worker, obstacle.as_deref(), &words).ok()?;
        let said: Option<Vec<_>> = letters
            .iter()
            .map(|letter| Some((*letter.words.get(1)?, from_lists(&letter.words[2..])?)))
            .collect();
        let said = said?;
        // Who of the workers before left accesses behind at his seam to whose variables this one has accesses after it.
        let before =
            said[..walk.index].iter().map(|(seam, unsettled)| u64::from(walk.uses(unsettled, *seam)));
        let words: Vec<u64> = before.collect();
        let letters = agree(worker, None, &words).ok()?;
        let must_go_on = |index: usize| letters.iter().any(|letter| letter.words.get(1 + index) == Some(&1));
        if (0..stretches.len()).all(|index| !must_go_on(index)) {
            return Some(said.iter().map(|(seam, _)| EventIndex(*seam)).collect());
        }
        walk.may_leave &= !must_go_on(walk.index);
    }
}

/// A worker's way through the trace.
struct Walk {
    file: Arc<OtrFile>,
    symbols: Symbols,
    checker: Checker,
    jobs: Vec<Job>,
    index: usize,
    /// The first block of each stretch, and the number of blocks.
    borders: Vec<usize>,
    /// The block that comes next, and its first event.
    next_block: usize,
    next: EventIndex,
    block: Block,
    /// A seam may leave accesses behind that some thread does not know.
    may_leave: bool,
}

/// A detector, what it found, and what it costs.
struct Job {
    stretched: Box<dyn Stretched>,
    /// What was found since the last place that may be a seam.
    findings: Findings,
    /// What was found before, with the place at its end.
    found: Vec<(EventIndex, Findings)>,
    /// Variables of accesses that are left behind at the seam.
    left_at_seam: Vec<VarId>,
    time: Duration,
    peak_state_bytes: usize,
}

impl Walk {
    fn new(worker: &Worker, task: &Task) -> Option<Walk> {
        let (index, peers) = (worker.index(), worker.peers());
        let symbols = task.file.symbols().ok()?.clone();
        let start = |entry: &&Entry| {
            Some(Job {
                stretched: entry.stretched?(&symbols, index == 0),
                findings: Findings::new(),
                found: Vec::new(),
                left_at_seam: Vec::new(),
                time: Duration::ZERO,
                peak_state_bytes: 0,
            })
        };
        let blocks = task.file.block_count();
        let borders: Vec<_> = (0..=peers).map(|number| blocks * number / peers).collect();
        Some(Walk {
            jobs: task.detectors.iter().map(start).collect::<Option<_>>()?,
            symbols,
            file: Arc::clone(&task.file),
            checker: Checker::of_stretch(index == 0),
            index,
            next_block: borders[index],
            next: EventIndex(0),
            borders,
            block: Block::default(),
            may_leave: true,
        })
    }

    fn own_stretch(&mut self) -> Result<(), String> {
        while self.next_block < self.borders[self.index + 1] {
            self.judge_block()?;
        }
        self.jobs.iter_mut().for_each(|job| job.stretched.end_stretch());
        Ok(())
    }

    fn judge_block(&mut self) -> Result<(), String> {
        self.file.read_block(self.next_block, &mut self.block).map_err(|error| error.to_string())?;
        let checked =
            self.checker.check(&mut self.block, &mut self.symbols).map_err(|error| error.to_string())?;
        self.next = EventIndex(checked.first().0 + checked.len() as u64);
        for job in &mut self.jobs {
            let start = Instant::now();
            if !job.stretched.feed(&checked, &mut job.findings) {
                return Err("a block of memory is used before it is allocated".into());
            }
            job.time += start.elapsed();
            job.peak_state_bytes = job.peak_state_bytes.max(job.stretched.state_bytes());
        }
        self.next_block += 1;
        if self.may_be_seam() {
            let found = self.jobs.iter_mut().filter(|job| !job.findings.is_empty());
            found.for_each(|job| job.found.push((self.next, std::mem::take(&mut job.findings))));
        }
        Ok(())
    }

    /// Whether the place before the next block may be a seam: the same for all workers.
    fn may_be_seam(&self) -> bool {
        let stretch = self.borders.partition_point(|&border| border < self.next_block);
        let blocks = self.next_block - self.borders[stretch - 1];
        blocks < BLOCKS_BETWEEN_SEAMS
            || blocks.is_multiple_of(BLOCKS_BETWEEN_SEAMS)
            || self.next_block == self.borders[stretch]
    }

    /// Goes on beyond the own stretch, to the next place that can be the seam.
    fn go_on(&mut self, stretches: &[Arc<Stretch>]) -> Result<(), String> {
        loop {
            let is_end = self.next_block == self.file.block_count();
            if is_end || (self.may_be_seam() && self.is_seam(stretches)) {
                return Ok(());
            }
            self.judge_block()?;
        }
    }

    /// Whether the place before the next block is a seam.
    fn is_seam(&mut self, stretches: &[Arc<Stretch>]) -> bool {
        let acting = self.acting(stretches);
        let may_leave = self.may_leave && self.next_block >= self.borders[self.index + 1] + PATIENCE;
        let mut is_seam = true;
        for job in &mut self.jobs {
            job.left_at_seam.clear();
            if job.stretched.settle(&acting) {
                continue;
            }
            match job.stretched.unsettled(FEW).filter(|_| may_leave) {
                Some(left) => job.left_at_seam = left,
                None => is_seam = false,
            }
        }
        is_seam
    }

    /// The threads that do something from the next block on, except those that somebody starts there: they know what he knows.
    fn acting(&self, stretches: &[Arc<Stretch>]) -> Vec<Acting> {
        let later = &stretches[self.index + 1..];
        let acting = |thread: ThreadId| {
            let stretch = later.iter().find(|stretch| stretch.last_end_of(thread) > Some(self.next))?;
            let (first, event) = stretch.first_of(thread)?;
            let mut forks = later.iter().filter_map(|stretch| stretch.fork_of(thread));
            if first < self.next {
                return Some(Acting { thread, joins: None });
            }
            if forks.any(|fork| fork >= self.next && fork < first) {
                return None;
            }
            let joins = match event.action() {
                Action::Join(child) => Some(child),
                _ => None,
            };
            Some(Acting { thread, joins })
        };
        (0..self.file.sizes().threads).map(ThreadId::from_index).filter_map(acting).collect()
    }

    /// Whether accesses to any of these variables, by detector, are not before an event.
    fn uses(&self, variables: &[Vec<u64>], since: u64) -> bool {
        let mut of_jobs = self.jobs.iter().zip(variables);
        of_jobs.any(|(job, variables)| {
            variables.iter().any(|&var| job.stretched.may_use(VarId(var as u32), EventIndex(since)))
        })
    }

    /// The part of the trace in which the word of this worker counts.
    fn own_part(&self, seams: &[EventIndex]) -> Range<EventIndex> {
        let last_of = |seams: &[EventIndex]| seams.iter().copied().max().unwrap_or(EventIndex(0));
        last_of(&seams[..self.index])..last_of(&seams[..=self.index])
    }
}

impl Job {
    /// What was found in a part of the trace that begins and ends at places that may be seams.
    fn found_in(&self, part: &Range<EventIndex>) -> Findings {
        let in_part = self.found.iter().filter(|(end, _)| *end > part.start && *end <= part.end);
        let logs: Vec<_> = in_part.map(|(_, findings)| findings.clone()).collect();
        Findings::merged(&logs)
    }
}
