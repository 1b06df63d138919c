//! Judges the accesses of some variables by moments: what their threads know was found out by whoever follows the synchronisation (`moments.rs`).

use overtake_clock::Knowledge;
use overtake_trace::{Action, Checked, Event, EventIndex, LocationId, Symbols, ThreadId};

use super::history::{Histories, Judged};
use super::moments::{Known, Moments};
use crate::access::{Access, AccessKind, At};
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, visit_event, visit_sweep};
use crate::visitor::{Touch, Visitor};

/// The accesses of a block that one worker judges, in trace order.
#[derive(Clone, Debug)]
pub struct Accesses {
    /// The index of the block's first event.
    pub first: EventIndex,
    room: Vec<PlacedAccess>,
    count: usize,
}

/// One of them, or a sweep.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PlacedAccess {
    /// The access, or the first one of a sweep.
    pub event: Event,
    /// Its place in the block.
    pub place: u32,
    /// The number of its moment.
    pub moment: u32,
    /// How many plain accesses follow each other here, to variables with consecutive numbers.
    pub count: u32,
}

impl Default for Accesses {
    fn default() -> Self {
        Accesses { first: EventIndex(0), room: Vec::new(), count: 0 }
    }
}

impl Accesses {
    /// Room for so many accesses. What it held is of no use any more; see [`keep`](Self::keep).
    pub fn room(&mut self, length: usize) -> &mut [PlacedAccess] {
        self.count = 0;
        if self.room.len() < length {
            let event = Event::new(ThreadId(0), Action::Skip, LocationId(0));
            self.room.resize(length, PlacedAccess { event, place: 0, moment: 0, count: 0 });
        }
        &mut self.room[..length]
    }

    /// The first `count` in the room are the accesses.
    pub fn keep(&mut self, count: usize) {
        self.count = count.min(self.room.len());
    }

    /// All of them.
    pub fn list(&self) -> &[PlacedAccess] {
        &self.room[..self.count]
    }
}

/// The analysis that reports races as `hb` does if `EVERY_RACE`, else as `fasttrack` does.
pub(crate) fn start<const EVERY_RACE: bool>() -> Analysis {
    Analysis::new(Judging { histories: Histories::<EVERY_RACE>::default() })
}

#[derive(Debug)]
struct Judging<const EVERY_RACE: bool> {
    histories: Histories<EVERY_RACE>,
}

impl<const EVERY_RACE: bool> Pass for Judging<EVERY_RACE> {
    /// It gets accesses only.
    fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

    fn judge(
        &mut self,
        accesses: &Accesses,
        moments: &Moments,
        symbols: &Symbols,
        blocks: &mut LiveBlocks,
        findings: &mut Findings,
    ) {
        let list = accesses.list();
        let Some(first) = list.first() else { return };
        self.histories.reserve(&symbols.sizes());
        let known = moments.numbered(first.moment);
        let mut judge = Judge { histories: &mut self.histories, known, findings };
        let is_regular = moments.are_regular();
        for PlacedAccess { event, place, moment, count } in list {
            let index = EventIndex(accesses.first.0 + u64::from(*place));
            judge.known = match is_regular {
                true => moments.numbered(*moment),
                false => moments.at(event.thread(), *place, *moment),
            };
            if *count > 1 {
                visit_sweep(&mut judge, blocks, symbols, index, event, *count as usize);
            } else if is_regular || !moments.was_dropped(*place) {
                visit_event(&mut judge, blocks, symbols, index, event);
            }
        }
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.histories.state_bytes()
    }
}

/// Judges accesses of one moment.
struct Judge<'a, const EVERY_RACE: bool> {
    histories: &'a mut Histories<EVERY_RACE>,
    known: Known<'a>,
    findings: &'a mut Findings,
}

impl<const EVERY_RACE: bool> Visitor for Judge<'_, EVERY_RACE> {
    const TAKES_SWEEPS: bool = true;

    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let Judge { histories, known, findings } = self;
        let (epoch, judged) = (known.epoch(), Judged::observed(Access { at, kind: touch.kind }));
        match touch.order {
            None => histories.plain(known, epoch, touch.var, judged, *findings),
            Some(_) => histories.atomic(known, epoch, touch.var, judged, *findings),
        }
        if let Some(block) = touch.block {
            let judged = Judged::observed(Access { at, kind: AccessKind::Read });
            histories.plain(known, epoch, block, judged, *findings);
        }
    }

    fn sweep(&mut self, at: At, touch: Touch<'_>, count: u32) {
        let Judge { histories, known, findings } = self;
        let Touch { var, kind, block, .. } = touch;
        if block.is_some_and(|block| !histories.is_ordered(known, block)) {
            return (0..count).for_each(|number| self.access(at.later(number), touch.further(number)));
        }
        let judged = Judged::observed(Access { at, kind });
        histories.sweep(known, known.epoch(), var, count, judged, *findings);
        if let Some(block) = block {
            let last = Access { at: at.later(count - 1), kind: AccessKind::Read };
            histories.plain(known, known.epoch(), block, Judged::observed(last), *findings);
        }
    }
}
