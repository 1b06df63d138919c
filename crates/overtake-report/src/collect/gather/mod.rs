//! Reading a trace for the [`Facts`] of findings, all together.
//!
//! Only the threads that race are followed. Of each it is known which locks it holds, and its last few synchronisation events:
//! enough to say what passes between two threads, in memory that does not grow with the trace.
//!
//! A file that can be read at any place is read near the accesses only: a detector's reading left [`Landmarks`] to start at.
//! Locks that were held at a landmark already are looked for backwards from there.

mod acquires;
mod following;
mod gatherer;
#[cfg(test)]
mod tests;
mod uses;

use std::ops::Range;

use overtake_detect::Race;
use overtake_detect::witness::Step;
use overtake_trace::{
    Block, Checker, Event, EventIndex, EventSource, IdVec, Landmarks, OtrFile, Result, Seen, ThreadId,
};
use rustc_hash::FxHashMap;

use self::gatherer::Gatherer;
pub(super) use self::gatherer::access_kind;
use super::facts::{Facts, Placed};

/// How many events before an access are searched for synchronisation: [`NEAR_EACH`] for each thread, within these limits.
const NEAR_EACH: u64 = 256;
const NEAR_LEAST: u64 = 4 * 1024;
const NEAR_MOST: u64 = 256 * 1024;

/// What was read.
pub(super) struct Gathered {
    /// One for each race.
    pub(super) facts: Vec<Facts>,
    /// Where threads were started.
    pub(super) forks: FxHashMap<ThreadId, Placed>,
    /// How many events of its thread come before each step.
    pub(super) ordinals: FxHashMap<Step, u64>,
}

/// What is to be found out.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) races: &'a [Race],
    /// Events to be numbered.
    pub(super) steps: &'a [Step],
    /// How many threads the trace has.
    pub(super) threads: usize,
}

impl Question<'_> {
    /// Synchronisation more than this many events before an access is not reported; after an access, a quarter of it.
    fn near(&self) -> u64 {
        (NEAR_EACH * self.threads as u64).clamp(NEAR_LEAST, NEAR_MOST)
    }
}

/// Reads a whole trace.
pub(super) fn gather(source: &mut dyn EventSource, question: Question<'_>) -> Result<Gathered> {
    let mut gatherer = Gatherer::new(question);
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let checked = checker.check(&mut block, source.symbols_mut())?;
        gatherer.reserve_threads(checked.symbols().sizes().threads);
        for run in checked.runs() {
            gatherer.take(run.first, run.events);
        }
    }
    Ok(gatherer.finish())
}

/// Reads a file where it matters, with the same result.
pub(super) fn gather_near(file: &OtrFile, landmarks: &Landmarks, question: Question<'_>) -> Result<Gathered> {
    let mut gatherer = Gatherer::new(question);
    gatherer.reserve_threads(file.sizes().threads);
    gatherer.take_threads(landmarks);
    let mut block = Block::default();
    let regions = regions(landmarks, question);
    for region in &regions {
        gatherer.begin(landmarks, region.start);
        read(file, region.clone(), &mut block, |first, events| gatherer.take(first, events))?;
    }
    acquires::find(file, landmarks, &regions, gatherer.facts_mut(), &mut block)?;
    Ok(gatherer.finish())
}

fn placed((index, event): Seen, ordinal: u64) -> Placed {
    Placed { step: Step { index, event }, ordinal }
}

/// What has to be read: parts of the trace that begin at landmarks, in order and apart from each other.
fn regions(landmarks: &Landmarks, question: Question<'_>) -> Vec<Range<u64>> {
    let near = question.near();
    let accesses = question.races.iter().flat_map(|race| [race.first.at.index.0, race.second.at.index.0]);
    let near = accesses.map(|at| at.saturating_sub(near)..at + near / 4 + 1);
    let steps = question.steps.iter().map(|step| step.index.0..step.index.0 + 1);
    let from_landmark = |range: Range<u64>| start_before(landmarks, range.start)..range.end;
    let mut ranges: Vec<_> = near.chain(steps).map(from_landmark).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut regions: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let end = range.end.min(landmarks.events());
        match regions.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(end),
            _ => regions.push(range.start..end),
        }
    }
    regions
}

/// The last landmark before an event.
fn start_before(landmarks: &Landmarks, event: u64) -> u64 {
    landmarks.before(EventIndex(event)).map_or(0, |place| place.next.0)
}

/// Hands on the events in `range`, block by block.
fn read(
    file: &OtrFile,
    range: Range<u64>,
    block: &mut Block,
    mut take: impl FnMut(EventIndex, &[Event]),
) -> Result<()> {
    let blocks = file.blocks_of(&range);
    for number in blocks {
        file.read_block(number, block)?;
        let first = block.first.0;
        let within = |at: u64| (at.saturating_sub(first) as usize).min(block.events.len());
        let (start, end) = (within(range.start), within(range.end));
        take(EventIndex(first + start as u64), &block.events[start..end]);
    }
    Ok(())
}

fn lengths_at(landmarks: &Landmarks, start: u64) -> IdVec<ThreadId, u64> {
    let place = landmarks.before(EventIndex(start));
    place.map(|place| place.lengths.iter().copied().collect()).unwrap_or_default()
}
