//! The passes behind `osr`, `short-osr` and `m2`: the survey of `syncp`, then `syncp` itself and beside it the summary of the trace.
//! When the trace is over, the pairs that `syncp` left open are judged.

use overtake_trace::{Checked, LockId, MemoryOrder, Sizes, Symbols, SyncId, ThreadId};

use super::candidates::{Candidates, Counts, Limits};
use super::{Builder, Judgement, Position, Summary};
use crate::access::At;
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::m2::Saturation;
use crate::osr::Checker;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, feed, visit};
use crate::syncp::{Census, Survey, SyncPreserving};
use crate::visitor::{Touch, Visitor};

/// How pairs that `syncp` leaves open are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// Beyond sync-reversal.
    Reversal,
    /// Saturation, of at most so many events for a pair.
    Saturation(u64),
}

/// An analysis by the given method.
pub(crate) fn beyond<const BOUNDED: bool>(method: Method, limits: Limits, filter: bool) -> Analysis {
    Analysis::new(First::<BOUNDED> { method, limits, survey: Survey::new(filter) })
}

/// The first pass.
struct First<const BOUNDED: bool> {
    method: Method,
    limits: Limits,
    survey: Survey,
}

impl<const BOUNDED: bool> Pass for First<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.survey, blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let First { method, limits, survey } = *self;
        let census = survey.into_census();
        After::Pass(Box::new(Second::<BOUNDED> {
            method,
            limits,
            syncp: SyncPreserving::new(limits.window, census.clone()),
            collector: Collector { census, builder: Builder::default(), every_event: false },
            blocks: LiveBlocks::new(),
        }))
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass: the detector, and beside it the collector, which follows heap blocks of its own.
struct Second<const BOUNDED: bool> {
    method: Method,
    limits: Limits,
    syncp: SyncPreserving<BOUNDED>,
    collector: Collector,
    blocks: LiveBlocks,
}

impl<const BOUNDED: bool> Pass for Second<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.syncp, blocks, checked, findings);
        visit(&mut self.collector, &mut self.blocks, checked);
    }

    fn end(self: Box<Self>, _: &Symbols, findings: &mut Findings) -> After {
        let Second { method, limits, collector, .. } = *self;
        After::Done(Box::new(search(method, limits, &collector.finish(), findings)))
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(&self.syncp) + self.collector.builder.state_bytes()
    }
}

/// Judges what `syncp` left open.
fn search(method: Method, limits: Limits, summary: &Summary, findings: &mut Findings) -> Searched {
    let known = findings.racy_events();
    let mut judge: Box<dyn FnMut(Position, Position) -> Judgement> = match method {
        Method::Reversal => {
            let mut checker = Checker::new(summary);
            Box::new(move |first, second| checker.judge(first, second))
        }
        Method::Saturation(limit) => {
            let saturation = Saturation::new(summary, limit);
            Box::new(move |first, second| saturation.judge(first, second))
        }
    };
    let mut candidates = Candidates::new(summary, &known, limits, &mut *judge);
    for group in findings.groups() {
        candidates.note(&group.example);
    }
    candidates.search(findings);
    Searched { counts: candidates.counts, summary_bytes: summary.state_bytes() }
}

/// What remains when all is judged.
struct Searched {
    counts: Counts,
    /// The most that the summary took.
    summary_bytes: usize,
}

impl Pass for Searched {
    fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.summary_bytes
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("pairs that syncp left open, judged", self.counts.judged),
            ("pairs not judged", self.counts.not_judged + self.counts.too_large),
            ("races that syncp misses", self.counts.found),
        ]
    }

    fn remarks(&self, _: &Findings) -> Vec<String> {
        let Counts { not_judged, too_large, .. } = self.counts;
        let mut remarks = Vec::new();
        if not_judged > 0 {
            remarks.push(format!(
                "{not_judged} further pairs of accesses, between locations of which others were judged, were not judged; \
                 --instances 0 judges all"
            ));
        }
        if too_large > 0 {
            remarks.push(format!(
                "{too_large} pairs of accesses were not judged because a schedule for them takes more events than --schedule-limit"
            ));
        }
        remarks
    }
}

/// Hands events that can matter to the builder of the summary.
pub(crate) struct Collector {
    census: Census,
    builder: Builder,
    /// Events that order nothing are wanted as well.
    every_event: bool,
}

impl Collector {
    /// A collector of everything.
    pub(crate) fn of_everything() -> Collector {
        Collector { census: Census::everything(), builder: Builder::default(), every_event: true }
    }

    /// The whole trace.
    pub(crate) fn finish(self) -> Summary {
        self.builder.finish()
    }

    fn note_other(&mut self, at: At) {
        if self.every_event {
            self.builder.other(at);
        }
    }
}

impl Visitor for Collector {
    fn reserve(&mut self, sizes: &Sizes) {
        self.builder.reserve(sizes);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let access = Some((touch.var, touch.kind)).filter(|&(var, _)| self.census.matters(var));
        let block = touch.block.filter(|&block| self.census.matters(block));
        if access.is_some() || block.is_some() {
            self.builder.access(at, access, block);
        }
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.note_other(at);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        if self.census.lock_matters(lock) {
            self.builder.acquire(at, lock, mode);
        }
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        if self.census.lock_matters(lock) {
            self.builder.release(at, lock);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.builder.fork(at, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.builder.join(at, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.builder.post(at, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.builder.wait(at, object);
    }

    fn other(&mut self, at: At) {
        self.note_other(at);
    }
}
