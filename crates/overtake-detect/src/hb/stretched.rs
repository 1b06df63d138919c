//! `hb` and `fasttrack` on a stretch of a trace (`../stretch.rs`).
//!
//! **State.** The detector, from the start of the stretch; from its end on also the accesses that were kept there and that not all threads know.
//! **Why the rest counts.** An access that is not kept is dominated by one that is (`history.rs`): whoever knows the one knows the other. Once an
//! access is known to a thread, all that the thread does later comes after it, and what the thread hands on says so.
//! **Repetitions.** `fasttrack` does not judge an access that repeats one of its thread's epoch, also if there was a race in between. Whoever starts
//! at the border does not know of the one before it and judges the other: from then on he may say something else of the variable. So a variable
//! that was accessed before the border in an epoch which goes on there, and has a race behind it, stays unsettled.

use overtake_clock::Epoch;
use overtake_trace::{Checked, EventIndex, Symbols, ThreadId, VarId};
use rustc_hash::FxHashSet;

use super::by_clocks::ByClocks;
use super::full::Epochs;
use crate::findings::Findings;
use crate::run::{LiveBlocks, feed};
use crate::stretch::{Acting, Stretched, known_to_all};

/// The detector of a stretch; `EVERY_RACE` as in [`Histories`](super::Histories).
#[derive(Default, Debug)]
pub(crate) struct StretchedByClocks<const EVERY_RACE: bool> {
    detector: ByClocks<Epochs<EVERY_RACE>>,
    blocks: LiveBlocks,
    /// Accesses that were kept at the end of the stretch, and that some thread may not know yet.
    unsettled: Vec<(VarId, Epoch)>,
    /// Variables with an access that a later one of its thread may repeat. None if repetitions are judged.
    repeatable: FxHashSet<VarId>,
    /// Those with a race behind the border: they stay unsettled.
    disputed: FxHashSet<VarId>,
}

/// Starts the detector.
pub(crate) fn start<const EVERY_RACE: bool>(symbols: &Symbols, is_first: bool) -> Box<dyn Stretched> {
    let blocks = if is_first { LiveBlocks::new() } else { LiveBlocks::all(symbols) };
    Box::new(StretchedByClocks::<EVERY_RACE> { blocks, ..StretchedByClocks::default() })
}

impl<const EVERY_RACE: bool> Stretched for StretchedByClocks<EVERY_RACE> {
    fn feed(&mut self, checked: &Checked<'_>, findings: &mut Findings) -> bool {
        for &block in checked.allocated() {
            if self.may_use(block, EventIndex(0)) {
                return false;
            }
            self.blocks.take_back(checked.symbols(), block);
        }
        feed(&mut self.detector, &mut self.blocks, checked, findings);
        if !self.repeatable.is_empty() {
            let racy = findings.racy_variables().into_iter();
            self.disputed.extend(racy.filter(|var| self.repeatable.contains(var)));
        }
        true
    }

    fn end_stretch(&mut self) {
        self.unsettled = self.detector.judge.histories.kept().collect();
        if !EVERY_RACE {
            let clocks = &self.detector.clocks;
            let goes_on = |epoch: &Epoch| clocks.thread(ThreadId(epoch.thread)).epoch() == *epoch;
            let repeatable = self.unsettled.iter().filter(|(_, epoch)| goes_on(epoch));
            self.repeatable = repeatable.map(|(var, _)| *var).collect();
        }
    }

    fn settle(&mut self, acting: &[Acting]) -> bool {
        let known = known_to_all(&self.detector.clocks, acting);
        self.unsettled.retain(|(_, epoch)| epoch.time > known[epoch.thread as usize]);
        self.unsettled.is_empty() && self.disputed.is_empty()
    }

    fn unsettled(&self, most: usize) -> Option<Vec<VarId>> {
        let mut variables = Vec::new();
        for var in self.unsettled.iter().map(|(var, _)| *var).chain(self.disputed.iter().copied()) {
            if !variables.contains(&var) {
                variables.push(var);
            }
            if variables.len() > most {
                return None;
            }
        }
        Some(variables)
    }

    fn may_use(&self, var: VarId, since: EventIndex) -> bool {
        self.detector.judge.histories.may_be_used_since(var, since)
    }

    fn state_bytes(&self) -> usize {
        crate::detector::Detector::state_bytes(&self.detector)
            + self.unsettled.capacity() * size_of::<(VarId, Epoch)>()
            + (self.repeatable.capacity() + self.disputed.capacity()) * size_of::<VarId>()
    }
}
