//! Which predictions from a recording are sure.
//!
//! A recording does not tell what a read saw that races with a write, or that comes after writes which race with each other. What other reads saw,
//! it does. So a schedule of other reads only is one of the run that really happened, in whatever order its accesses came. A prediction
//! with such a schedule stays one; any other is possible, and hinges on the reads of its schedule that the recording leaves open.
//!
//! **Cost.** Nothing for text traces, and for recordings in which nothing is predicted. Else two more readings; the second holds what matters
//! of the trace in memory.

use overtake_trace::{Checked, EventIndex, Id, Symbols, ThreadId};

use super::analysis::Collector;
use super::{Chosen, Position, Summary, What};
use crate::finding::{Deadlock, DeadlockStep};
use crate::findings::Findings;
use crate::hb::FastTrack;
use crate::hinge::Hinge;
use crate::m2::{SATURATION_EVENTS, Saturation};
use crate::osr::Checker;
use crate::passes::{After, Pass};
use crate::race::Race;
use crate::read_sources::{ReadSources, Spot};
use crate::run::{LiveBlocks, feed, visit};
use crate::syncp::Census;

/// How many readings doubting takes, at most.
pub(crate) const READINGS: u32 = 2;

/// So many reads are named that a possible race hinges on.
const MOST_HINGES: usize = 5;

/// What comes after a search that is `done`: if the trace is a recording, its predictions are doubted. `census` says what mattered to the search.
pub(crate) fn doubt(symbols: &Symbols, findings: &Findings, census: Census, done: Box<dyn Pass>) -> After {
    if !symbols.program.is_recorded() || !findings.predicts() {
        return After::Done(done);
    }
    let (detector, log) = (FastTrack::default(), Findings::new());
    After::Pass(Box::new(Racing { census, detector, log, done }))
}

/// The first reading: which variables race.
struct Racing {
    census: Census,
    detector: FastTrack,
    log: Findings,
    done: Box<dyn Pass>,
}

impl Pass for Racing {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        feed(&mut self.detector, blocks, checked, &mut self.log);
    }

    fn end(self: Box<Self>, symbols: &Symbols, _: &mut Findings) -> After {
        let Racing { mut census, log, done, .. } = *self;
        let variables = log.racy_variables();
        if variables.is_empty() {
            return After::Done(done);
        }
        variables.iter().for_each(|&var| census.keep(var));
        census.look_at(symbols);
        let mut collector = Collector::of_windows(census);
        collector.builder.open_window();
        After::Pass(Box::new(Doubting {
            collector,
            reads: ReadSources::of_racy_variables(variables.into_iter().collect()),
            blocks: LiveBlocks::new(),
            done,
        }))
    }

    fn state_bytes(&self) -> usize {
        crate::detector::Detector::state_bytes(&self.detector)
    }

    fn readings(&self) -> u32 {
        READINGS
    }
}

/// The second reading: what racy reads there are, and schedules.
struct Doubting {
    collector: Collector,
    reads: ReadSources,
    /// The heap blocks that `reads` follows.
    blocks: LiveBlocks,
    done: Box<dyn Pass>,
}

impl Pass for Doubting {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        self.collector.reserve_for(checked);
        visit(&mut self.collector, blocks, checked);
        visit(&mut self.reads, &mut self.blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        let Doubting { collector, reads, done, .. } = *self;
        let summary = collector.finish();
        let mut racy = reads.sources.unsure_reads();
        racy.sort_unstable_by_key(|spot| spot.at.index);
        findings.doubt_races(|race| hinges(&summary, &racy, schedule(&summary, race)));
        findings
            .doubt_deadlocks(|deadlock| hinges(&summary, &racy, schedule_into(&summary, deadlock)).is_some());
        After::Done(done)
    }

    fn state_bytes(&self) -> usize {
        self.collector.builder.state_bytes()
    }
}

/// The racy reads in a schedule, the first few of them; none if it can happen whatever they saw.
fn hinges(summary: &Summary, racy: &[Spot], schedule: Option<Vec<Position>>) -> Option<Vec<Hinge>> {
    let Some(schedule) = schedule else { return Some(Vec::new()) };
    let mut last = vec![None; summary.sections.len()];
    for event in schedule.into_iter().map(|position| summary.event(position)) {
        let last: &mut Option<EventIndex> = &mut last[event.thread.index()];
        *last = (*last).max(Some(event.index));
    }
    let runs = |thread: ThreadId, index| last[thread.index()] >= Some(index);
    let inside = racy.iter().filter(|spot| runs(spot.at.thread, spot.at.index));
    let hinges: Vec<Hinge> =
        inside.take(MOST_HINGES).map(|spot| Hinge { read: spot.at, var: spot.var }).collect();
    (!hinges.is_empty()).then_some(hinges)
}

/// What runs before the two accesses of a race.
fn schedule(summary: &Summary, race: &Race) -> Option<Vec<Position>> {
    let first = summary.access_of(race.first.at.index, race.var)?;
    let second = summary.access_of(race.second.at.index, race.var)?;
    let next = [first, second].map(|access| summary.start(access));
    let kept = sync_preserving(summary, &next);
    kept.or_else(|| Checker::new(summary).schedule(first, second))
        .or_else(|| Saturation::new(summary, SATURATION_EVENTS).schedule(first, second))
}

/// What runs before the acquires of a deadlock.
fn schedule_into(summary: &Summary, deadlock: &Deadlock) -> Option<Vec<Position>> {
    let acquire = |step: &DeadlockStep| {
        let is_acquire = |&position: &Position| {
            let event = summary.event(position);
            event.thread == step.at.thread && matches!(event.what, What::Acquire(_))
        };
        summary.at(step.at.index).find(is_acquire)
    };
    let next: Vec<Position> = deadlock.steps.iter().map(acquire).collect::<Option<_>>()?;
    sync_preserving(summary, &next)
}

/// What a schedule that keeps the order of locks runs before these events.
fn sync_preserving(summary: &Summary, next: &[Position]) -> Option<Vec<Position>> {
    Some(Chosen::sync_preserving(summary, next)?.between(summary, 0, Position::MAX).collect())
}
