//! Acquires that lie before the part of a trace that was read.

use std::ops::Range;

use overtake_detect::witness::Step;
use overtake_trace::{Action, Block, EventIndex, Landmarks, OtrFile, Result, ThreadId};

use super::super::facts::{Facts, Held, Placed, Scene};
use super::{lengths_at, placed, read, start_before};

/// Looks for the acquires of locks that were held where a region began, from there towards the start of the trace.
pub(super) fn find(
    file: &OtrFile,
    landmarks: &Landmarks,
    regions: &[Range<u64>],
    facts: &mut [Facts],
    block: &mut Block,
) -> Result<()> {
    let scenes = facts.iter_mut().flat_map(|facts| &mut facts.scenes);
    let mut wanted: Vec<Wanted<'_>> = scenes.flat_map(|scene| wanted_of(scene, regions)).collect();
    wanted.retain(|wanted| wanted.before > 0);
    // The latest place first: each stretch between landmarks is read once for all that are looked for there.
    while let Some(end) = wanted.iter().map(|wanted| wanted.before).max() {
        let start = start_before(landmarks, end - 1);
        let mut lengths = lengths_at(landmarks, start);
        read(file, start..end, block, |first, events| {
            for (event, index) in events.iter().zip(first.0..) {
                let length = lengths.entry(event.thread());
                *length += 1;
                let (Action::Acquire(lock) | Action::AcquireShared(lock)) = event.action() else { continue };
                for wanted in wanted.iter_mut().filter(|wanted| wanted.before == end) {
                    if wanted.thread == event.thread() && wanted.held.lock == lock {
                        wanted.held.acquire = Some(placed((EventIndex(index), *event), *length - 1));
                    }
                }
            }
        })?;
        wanted.retain_mut(|wanted| {
            wanted.before = wanted.before.min(start);
            wanted.held.acquire.is_none() && wanted.before > 0
        });
    }
    Ok(())
}

/// A lock whose acquire is before an event.
struct Wanted<'a> {
    thread: ThreadId,
    held: &'a mut Held,
    before: u64,
}

fn wanted_of<'a>(scene: &'a mut Scene, regions: &[Range<u64>]) -> Vec<Wanted<'a>> {
    let Some(Placed { step: Step { index, event }, .. }) = scene.access else { return Vec::new() };
    let region = regions[..regions.partition_point(|region| region.start <= index.0)].last();
    let (thread, before) = (event.thread(), region.map_or(0, |region| region.start));
    let unknown = scene.held.iter_mut().filter(|held| held.acquire.is_none());
    unknown.map(|held| Wanted { thread, held, before }).collect()
}
