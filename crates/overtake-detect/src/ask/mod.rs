//! Questions about two events: are they a race, by which notions, and if not, what forces their order?
//!
//! The whole trace is held in memory. Each notion is asked about the pair itself, not about all pairs of the trace:
//! happens-before and the weak order by the clocks that detectors use, the others by the sets and orders of their definitions.
//!
//! | file | holds |
//! | --- | --- |
//! | `spread.rs` | who learns of an event by happens-before, and from whom: the chain that orders two events |
//! | `needs.rs` | what an event cannot run without, with reasons: the chain that keeps two accesses apart |
//! | `weak.rs` | the chain by which the weak order orders two accesses |
//! | `obstacle.rs` | what keeps two accesses apart where sections of a lock may change places |
//! | `partners.rs` | the accesses that an access conflicts with |

mod needs;
mod obstacle;
mod partners;
mod spread;
mod weak;

use overtake_trace::{EventIndex, EventSource, LockId, Result, SyncId, VarId};

use crate::access::{Access, At};
use crate::m2::Saturation;
use crate::osr::Checker as Reversal;
use crate::race::{Race, Verdict};
use crate::run::{LiveBlocks, read_checked, visit};
use crate::summary::{Collector, Judgement, Position, Summary};
use crate::wcp::Questions as WeakQuestions;

use self::needs::Needs;
use self::spread::Spread;
pub(crate) use obstacle::Hindrance;
pub use obstacle::{Obstacle, Unended};
pub use partners::{Partners, partners};

/// The most events that saturation is tried with.
const SATURATION_EVENTS: u64 = 2_000;

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The event that comes first.
    pub from: At,
    /// The event that comes after it.
    pub to: At,
    /// Why it does.
    pub reason: LinkReason,
}

/// Why one event comes before another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum LinkReason {
    /// Both are of one thread.
    Thread,
    /// The first forks the thread of the second.
    Fork,
    /// The second waits for the end of the first one's thread.
    Join,
    /// The first releases a lock that the second acquires; sections of a lock keep their order.
    Lock(LockId),
    /// The second waits for the first.
    Object(SyncId),
    /// The first is an atomic access whose value reaches the second, or a fence that belongs to one.
    Atomic,
    /// The second reads what the first writes.
    Reads(VarId),
    /// Both access a variable, and one of them writes it; sync-reversal keeps such accesses in order.
    Conflict(VarId),
    /// The first releases a lock, and the section of it that the second begins stays open.
    LeftOpen(LockId),
    /// In any other order a read of the variable would see another write.
    Sees(VarId),
    /// The first releases a lock after an access that conflicts with the second, which is made under the lock: rule (a) of the weak order.
    SectionConflicts(LockId),
    /// Both release a lock, and the section of the first begins weakly before the second: rule (b) of the weak order.
    SectionPrecedes(LockId),
}

/// What there is to say about two events.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The event that comes first in the trace.
    pub first: At,
    /// The event that comes later.
    pub second: At,
    /// The two as a race, if they are conflicting accesses of different threads; what is said of notions counts only then.
    pub race: Option<Race>,
    /// The chain by which the first happens before the second; none if it does not.
    pub happens_before: Option<Vec<Link>>,
    /// The chain by which no sync-preserving reordering brings the two side by side; none if one does.
    pub kept_apart: Option<Vec<Link>>,
    /// Whether the weak order of `wcp` orders them.
    pub weakly_ordered: bool,
    /// The chain by which it does, unless too many events are between them.
    pub weak_chain: Option<Vec<Link>>,
    /// Whether a reordering that may swap critical sections brings them side by side.
    pub sync_reversal: bool,
    /// If not, why.
    pub reversal_obstacle: Option<Obstacle>,
    /// Whether saturation finds a reordering that does; none if it would take too many events.
    pub saturation: Option<bool>,
    /// If not, why.
    pub saturation_obstacle: Option<Obstacle>,
    /// What racy reads of a recording saw is not known, and no reordering that a notion finds does without knowing it. Asking leaves
    /// this false: who has the recording's schedules says so.
    pub hinges_on_reads: bool,
}

impl Answer {
    /// Whether some notion that reports nothing but races says that the two are one.
    pub fn is_race(&self) -> bool {
        self.is_predicted() || (self.race.is_some() && self.happens_before.is_none())
    }

    /// Whether a schedule brings them side by side.
    pub fn is_predicted(&self) -> bool {
        self.is_possible() && !self.hinges_on_reads
    }

    /// Whether a schedule brings them side by side if every read saw the write before it.
    pub fn is_possible(&self) -> bool {
        let reordered = self.kept_apart.is_none() || self.sync_reversal || self.saturation == Some(true);
        self.race.is_some() && reordered
    }
}

/// Answers questions about pairs of events, each with the earlier one first; none where the trace does not have both.
pub fn ask(source: &mut dyn EventSource, pairs: &[(EventIndex, EventIndex)]) -> Result<Vec<Option<Answer>>> {
    let mut collector = Collector::of_everything();
    let mut needs = Needs::default();
    let mut spreads: Vec<Spread> = pairs.iter().map(|&(first, second)| Spread::new(first, second)).collect();
    let mut weak = WeakQuestions::about(pairs);
    let mut blocks = LiveBlocks::new();
    read_checked(source, None, |checked| {
        // Each visitor starts from the same allocated blocks.
        let before = blocks.clone();
        visit(&mut collector, &mut blocks, checked);
        visit(&mut needs, &mut before.clone(), checked);
        visit(&mut weak, &mut before.clone(), checked);
        for spread in &mut spreads {
            visit(spread, &mut before.clone(), checked);
        }
    })?;
    let summary = collector.finish();
    let asked = spreads.iter().zip(weak.answers());
    Ok(asked.map(|(spread, weakly_ordered)| answer(&summary, &needs, spread, weakly_ordered)).collect())
}

fn answer(summary: &Summary, needs: &Needs, spread: &Spread, weakly_ordered: bool) -> Option<Answer> {
    let (first, second) = (spread.first()?, spread.second()?);
    let race = race(summary, first, second);
    let positions = race.and_then(|race| {
        let position = |at: At| touching(summary, at, race.var).next();
        Some((position(first)?, position(second)?))
    });
    let judged = positions.map(|positions| judge(summary, needs, positions, [first, second]));
    let (reversal_obstacle, saturation, saturation_obstacle) = judged.unwrap_or((None, Some(false), None));
    let weak_chain = positions.filter(|_| weakly_ordered);
    Some(Answer {
        first,
        second,
        race,
        happens_before: spread.chain(),
        kept_apart: needs.chain(first.index, second.index, true),
        weakly_ordered,
        weak_chain: weak_chain.and_then(|(first, second)| weak::chain(summary, first, second)),
        sync_reversal: positions.is_some() && reversal_obstacle.is_none(),
        reversal_obstacle,
        saturation,
        saturation_obstacle,
        hinges_on_reads: false,
    })
}

/// What sync-reversal and saturation say of two accesses: the obstacle to the first, whether the second finds an order, and the obstacle to it.
fn judge(
    summary: &Summary,
    needs: &Needs,
    (first, second): (Position, Position),
    accesses: [At; 2],
) -> (Option<Obstacle>, Option<bool>, Option<Obstacle>) {
    let spell_out = |hindrance: Hindrance| hindrance.spell_out(summary, needs, accesses);
    let reversal = Reversal::new(summary).hindrance(first, second);
    let saturation = Saturation::new(summary, SATURATION_EVENTS);
    let judgement = saturation.judge(first, second);
    let is_kept_apart = judgement == Judgement::NoRace;
    (
        reversal.map(spell_out),
        (judgement != Judgement::TooLarge).then_some(judgement == Judgement::Race),
        is_kept_apart.then(|| spell_out(saturation.hindrance(first, second))),
    )
}

/// The positions at which an event touches a variable.
fn touching(summary: &Summary, at: At, var: VarId) -> impl Iterator<Item = Position> {
    let touches = move |position: &Position| summary.access(*position).is_some_and(|(known, _)| known == var);
    summary.at(at.index).filter(touches)
}

/// The two as a race, if they conflict.
fn race(summary: &Summary, first: At, second: At) -> Option<Race> {
    let accesses =
        |at: At| summary.at(at.index).filter_map(|position| summary.access(position)).collect::<Vec<_>>();
    let conflict = |(one, other): ((VarId, Access), (VarId, Access))| {
        let ((var, first), (other_var, second)) = (one, other);
        let is_race = var == other_var && first.kind.conflicts(second.kind);
        let verdict = Verdict::Predicted;
        (is_race && first.at.thread != second.at.thread).then_some(Race { var, verdict, first, second })
    };
    let seconds = accesses(second);
    let pairs = accesses(first).into_iter().flat_map(|one| seconds.iter().map(move |&other| (one, other)));
    pairs.filter_map(conflict).next()
}
