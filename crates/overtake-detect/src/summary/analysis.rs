//! The passes behind `osr`, `short-osr` and `m2`: the survey of `syncp`, then `syncp` itself and beside it the summary of the trace.
//! When the trace is over, the pairs that `syncp` left open are judged.

use overtake_trace::{Checked, LockId, MemoryOrder, Sizes, SyncId, ThreadId};

use super::candidates::{Candidates, Counts, Limits};
use super::{Builder, Judgement, Position, Summary};
use crate::access::At;
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::m2::Saturation;
use crate::osr::Checker;
use crate::registry::{Analysis, Outcome};
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

/// The analysis.
pub(crate) struct Beyond<const BOUNDED: bool> {
    method: Method,
    limits: Limits,
    stage: Stage<BOUNDED>,
    blocks: LiveBlocks,
    findings: Findings,
    counts: Counts,
    /// The most that the summary took.
    summary_bytes: usize,
}

enum Stage<const BOUNDED: bool> {
    Survey(Box<Survey>),
    Detection(Box<Detection<BOUNDED>>),
    Over,
}

struct Detection<const BOUNDED: bool> {
    syncp: SyncPreserving<BOUNDED>,
    collector: Collector,
    blocks: LiveBlocks,
}

/// Hands events that can matter to the builder of the summary.
pub(crate) struct Collector {
    census: Census,
    builder: Builder,
    /// Events that order nothing are wanted as well.
    every_event: bool,
}

impl<const BOUNDED: bool> Beyond<BOUNDED> {
    pub(crate) fn new(method: Method, limits: Limits, filter: bool) -> Self {
        Beyond {
            method,
            limits,
            stage: Stage::Survey(Box::new(Survey::new(filter))),
            blocks: LiveBlocks::new(),
            findings: Findings::new(),
            counts: Counts::default(),
            summary_bytes: 0,
        }
    }

    /// Judges what `syncp` left open.
    fn search(&mut self, builder: Builder) {
        let summary = builder.finish();
        self.summary_bytes = summary.state_bytes();
        let known = self.findings.racy_events();
        let mut judge: Box<dyn FnMut(Position, Position) -> Judgement> = match self.method {
            Method::Reversal => {
                let mut checker = Checker::new(&summary);
                Box::new(move |first, second| checker.judge(first, second))
            }
            Method::Saturation(limit) => {
                let saturation = Saturation::new(&summary, limit);
                Box::new(move |first, second| saturation.judge(first, second))
            }
        };
        let mut candidates = Candidates::new(&summary, &known, self.limits, &mut *judge);
        for group in self.findings.groups() {
            candidates.note(&group.example);
        }
        candidates.search(&mut self.findings);
        self.counts = candidates.counts;
    }
}

impl<const BOUNDED: bool> Analysis for Beyond<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>) {
        match &mut self.stage {
            Stage::Survey(survey) => visit(&mut **survey, &mut self.blocks, checked),
            Stage::Detection(detection) => {
                let Detection { syncp, collector, blocks } = &mut **detection;
                feed(syncp, &mut self.blocks, checked, &mut self.findings);
                visit(collector, blocks, checked);
            }
            Stage::Over => {}
        }
    }

    fn end_of_trace(&mut self) -> Outcome {
        match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Survey(survey) => {
                let census = survey.into_census();
                self.blocks = LiveBlocks::new();
                self.stage = Stage::Detection(Box::new(Detection {
                    syncp: SyncPreserving::new(self.limits.window, census.clone()),
                    collector: Collector { census, builder: Builder::default(), every_event: false },
                    blocks: LiveBlocks::new(),
                }));
                Outcome::AnotherPass
            }
            Stage::Detection(detection) => {
                self.search(detection.collector.builder);
                Outcome::Done
            }
            Stage::Over => Outcome::Done,
        }
    }

    fn findings(&self) -> &Findings {
        &self.findings
    }

    fn state_bytes(&self) -> usize {
        match &self.stage {
            Stage::Survey(survey) => survey.state_bytes(),
            Stage::Detection(detection) => {
                detection.syncp.state_bytes() + detection.collector.builder.state_bytes()
            }
            Stage::Over => self.summary_bytes,
        }
    }

    fn passes(&self) -> u32 {
        if matches!(self.stage, Stage::Survey(_)) { 2 } else { 1 }
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        vec![
            ("pairs that syncp left open, judged", self.counts.judged),
            ("pairs not judged", self.counts.not_judged + self.counts.too_large),
            ("races that syncp misses", self.counts.found),
        ]
    }

    fn remarks(&self) -> Vec<String> {
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
