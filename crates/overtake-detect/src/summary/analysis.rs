//! The passes behind `osr`, `short-osr` and `m2`: the survey of `syncp`; then `syncp`
//! itself and beside it the search for pairs that it leaves open; then, if there are such pairs, a closer look at them. Where `syncp` is
//! wanted as well, its findings are handed out before the closer look.

use std::ops::Range;

use overtake_trace::{Checked, LockId, MemoryOrder, Sizes, Symbols, SyncId, ThreadId, VarId};

use super::Summary;
use super::build::Builder;
use super::doubt::{self, doubt};
use super::finder::{Finder, Limits};
use super::search::{READINGS, Search, Searched};
use crate::access::At;
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::run::{LiveBlocks, visit};
use crate::syncp::{Census, Survey, SyncPreserving};
use crate::visitor::{Touch, Visitor};

/// How pairs that `syncp` leaves open are judged.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Method {
    /// Optimistic sync-reversal.
    Reversal,
    /// Saturation, with at most this many events for a pair.
    Saturation(u64),
    /// Any way to find a schedule; for races that are reported already.
    Support,
}

/// An analysis by the given method, which hands out what `syncp` finds if that is wanted.
pub(crate) fn beyond<const BOUNDED: bool>(
    method: Method,
    limits: Limits,
    filter: bool,
    with_syncp: bool,
) -> Analysis {
    Analysis::new(First::<BOUNDED> { method, limits, survey: Survey::new(filter), with_syncp })
}

/// The first pass: the survey.
struct First<const BOUNDED: bool> {
    method: Method,
    limits: Limits,
    survey: Survey,
    with_syncp: bool,
}

impl<const BOUNDED: bool> Pass for First<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, _: &mut Findings) {
        visit(&mut self.survey, blocks, checked);
    }

    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        self.survey.end_variables(ended);
    }

    /// Where no variable is open, there is no race to be found, and the trace need not be read again.
    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        let First { method, limits, survey, with_syncp } = *self;
        let mut census = survey.into_census();
        census.look_at(symbols);
        if !census.any_variable_is_open() {
            let own = After::Done(Box::new(Searched::nothing(method, 0)));
            let syncp = SyncPreserving::<BOUNDED>::new(limits.window, census);
            return if with_syncp { split(own, syncp, symbols, findings) } else { own };
        }
        let open = census.open_variables();
        After::Pass(Box::new(Second::<BOUNDED> {
            method,
            syncp: SyncPreserving::new(limits.window, census.clone()),
            finder: Finder::new(census, open, limits),
            blocks: LiveBlocks::new(),
            with_syncp,
        }))
    }

    fn state_bytes(&self) -> usize {
        self.survey.state_bytes()
    }

    fn readings(&self) -> u32 {
        2 + READINGS + doubt::READINGS
    }
}

/// The second pass: the detector, and beside it the finder, which follows heap blocks of its own.
struct Second<const BOUNDED: bool> {
    method: Method,
    syncp: SyncPreserving<BOUNDED>,
    finder: Finder,
    blocks: LiveBlocks,
    with_syncp: bool,
}

impl<const BOUNDED: bool> Pass for Second<BOUNDED> {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        Pass::feed(&mut self.syncp, checked, blocks, findings);
        if !self.finder.is_idle() {
            self.finder.note(findings);
            if self.finder.census.no_block_matters {
                self.blocks.leave_out();
            }
            visit(&mut self.finder, &mut self.blocks, checked);
        }
    }

    fn end(self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        let Second { method, syncp, finder, with_syncp, .. } = *self;
        let Finder { census, candidates, not_judged, limits, .. } = finder;
        let own = match candidates.is_empty() || (limits.first && !findings.is_empty()) {
            true => {
                let searched = Searched::nothing(method, not_judged);
                doubt(symbols, findings, census, Box::new(searched))
            }
            false => {
                let search = Search::new(method, census, candidates, not_judged);
                After::Pass(Box::new(if limits.first { search.for_the_first_race() } else { search }))
            }
        };
        if with_syncp { split(own, syncp, symbols, findings) } else { own }
    }

    fn state_bytes(&self) -> usize {
        Detector::state_bytes(&self.syncp) + self.finder.state_bytes()
    }

    fn readings(&self) -> u32 {
        1 + READINGS + doubt::READINGS
    }
}

/// From here on `syncp` is an analysis of its own. If it is done, only its figures are kept.
fn split<const BOUNDED: bool>(
    own: After,
    syncp: SyncPreserving<BOUNDED>,
    symbols: &Symbols,
    findings: &Findings,
) -> After {
    let mut found = findings.clone();
    let included = match Pass::end(Box::new(syncp), symbols, &mut found) {
        After::Done(last) => After::Done(Box::new(Figures(last.figures()))),
        after => after,
    };
    After::Split { own: Box::new(own), included: Box::new(included), found: Box::new(found) }
}

/// What remains of an analysis that is done.
struct Figures(Vec<(&'static str, u64)>);

impl Pass for Figures {
    fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        0
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        self.0.clone()
    }
}

/// Hands events that can matter to the builder of the summary.
pub(crate) struct Collector {
    census: Census,
    pub(super) builder: Builder,
    /// Events that order nothing are wanted as well.
    every_event: bool,
}

impl Collector {
    /// A collector of everything.
    pub(crate) fn of_everything() -> Collector {
        Collector { census: Census::everything(), builder: Builder::new(true), every_event: true }
    }

    /// A collector of windows, and of what matters in them.
    pub(super) fn of_windows(census: Census) -> Collector {
        let builder = Builder::of_windows(census.is_filtered());
        Collector { census, builder, every_event: false }
    }

    /// Makes room for the events of a block.
    pub(super) fn reserve_for(&mut self, checked: &Checked<'_>) {
        self.builder.reserve(&checked.sizes());
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
