//! The code of the imaginary program: routines of a few steps, each step at a source location of its own.
//!
//! A thread calls one routine after the other. A call binds the routine's lock slots to locks and objects; the steps
//! name only slots and fields. So a line of code always does the same operation, on changing objects, as in recorded traces.

use overtake_trace::{LocationId, MemoryOrder, Op, OperandKind, Symbols};

use crate::rng::Rng;
use crate::sites::Sites;

use super::layout::Layout;

/// Most locks that a routine holds at once.
pub(crate) const MAX_DEPTH: usize = 8;
/// Places after the lock slots; a place says which object a step accesses.
pub(crate) const PRIVATE: u8 = MAX_DEPTH as u8;
pub(crate) const CONSTANT: u8 = PRIVATE + 1;
pub(crate) const ATOMIC: u8 = PRIVATE + 2;
pub(crate) const ELEMENT: u8 = PRIVATE + 3;
pub(crate) const BLOCK: u8 = PRIVATE + 4;
pub(crate) const PLACES: usize = BLOCK as usize + 1;

/// What a step does. Lock operations name a slot, accesses name a place and a field.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Kind {
    Read,
    Write,
    Acquire,
    Release,
    AcquireShared,
    ReleaseShared,
    /// Acquires a lock that is an atomic flag, by a read-modify-write.
    Take,
    /// Releases such a lock by a store.
    Give,
    /// Releases such a lock by a read-modify-write.
    GiveRmw,
    /// A binary semaphore.
    WaitTurn,
    PostTurn,
    Request,
    Load,
    Store,
    Rmw,
    Fence,
    Begin,
    End,
    Branch,
    Alloc,
    Free,
}

/// What a step changes, besides writing an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Effect {
    /// A plain access.
    Access,
    Enter,
    EnterShared,
    Leave,
    LeaveShared,
    Nothing,
}

/// Where the operand of a step's event comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Operand {
    /// A field of the object at the step's place.
    Variable,
    /// The lock bound to the slot.
    Lock,
    /// The flag of the lock.
    Flag,
    /// The semaphore that the lock is.
    Turn,
    /// The field itself, a marker.
    Field,
}

impl Kind {
    fn op(self) -> Op {
        match self {
            Kind::Read => Op::Read,
            Kind::Write => Op::Write,
            Kind::Acquire => Op::Acquire,
            Kind::Release => Op::Release,
            Kind::AcquireShared => Op::AcquireShared,
            Kind::ReleaseShared => Op::ReleaseShared,
            Kind::Take | Kind::GiveRmw | Kind::Rmw => Op::Rmw,
            Kind::Give | Kind::Store => Op::Store,
            Kind::WaitTurn => Op::Wait,
            Kind::PostTurn => Op::Post,
            Kind::Request => Op::Request,
            Kind::Load => Op::Load,
            Kind::Fence => Op::Fence,
            Kind::Begin => Op::Begin,
            Kind::End => Op::End,
            Kind::Branch => Op::Branch,
            Kind::Alloc => Op::Alloc,
            Kind::Free => Op::Free,
        }
    }

    fn effect(self) -> Effect {
        match self {
            Kind::Read | Kind::Write => Effect::Access,
            Kind::Acquire | Kind::Take | Kind::WaitTurn => Effect::Enter,
            Kind::AcquireShared => Effect::EnterShared,
            Kind::Release | Kind::Give | Kind::GiveRmw | Kind::PostTurn => Effect::Leave,
            Kind::ReleaseShared => Effect::LeaveShared,
            _ => Effect::Nothing,
        }
    }

    fn operand(self) -> Operand {
        match self {
            Kind::Take | Kind::Give | Kind::GiveRmw => Operand::Flag,
            Kind::WaitTurn | Kind::PostTurn => Operand::Turn,
            _ => match self.op().operand_kind() {
                OperandKind::Variable => Operand::Variable,
                OperandKind::Lock => Operand::Lock,
                _ => Operand::Field,
            },
        }
    }
}

/// One line of code.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) op: Op,
    pub(crate) effect: Effect,
    pub(crate) operand: Operand,
    pub(crate) order: MemoryOrder,
    pub(crate) place: u8,
    pub(crate) field: u8,
    pub(crate) location: LocationId,
}

/// How a section is entered and left.
#[derive(Debug)]
pub(crate) struct Guard {
    pub(crate) enter: &'static [(Kind, MemoryOrder)],
    pub(crate) leave: &'static [(Kind, MemoryOrder)],
    pub(crate) reads_only: bool,
}

/// The ordinary lock.
pub(crate) const MUTEX: Guard = Guard {
    enter: &[(Kind::Acquire, MemoryOrder::Relaxed)],
    leave: &[(Kind::Release, MemoryOrder::Relaxed)],
    reads_only: false,
};

/// Steps `start..end` of the program, holding up to `depth` locks of one class.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Routine {
    pub(crate) start: u32,
    pub(crate) end: u32,
    pub(crate) depth: u8,
    pub(crate) class: u32,
    /// How many locks of the class there are.
    pub(crate) class_locks: u32,
}

/// A table from which threads draw the routine to call next. Frequent routines have many entries.
#[derive(Debug)]
pub(crate) struct Menu {
    entries: Vec<u32>,
}

const MENU_ENTRIES: usize = 1024;

impl Menu {
    #[inline]
    pub(crate) fn pick(&self, random: u64) -> u32 {
        self.entries[random as usize % MENU_ENTRIES]
    }

    /// A menu of weighted routines. At least one weight must be positive.
    pub(crate) fn new(weighted: &[(u32, f64)]) -> Menu {
        let total: f64 = weighted.iter().map(|&(_, weight)| weight).sum();
        let mut entries = Vec::with_capacity(MENU_ENTRIES);
        let mut reached = 0.0;
        for &(routine, weight) in weighted {
            reached += weight;
            let end = (reached / total * MENU_ENTRIES as f64).round() as usize;
            entries.resize(end.clamp(entries.len(), MENU_ENTRIES), routine);
        }
        if let Some(&(last, _)) = weighted.last() {
            entries.resize(MENU_ENTRIES, last);
        }
        Menu { entries }
    }
}

/// The weight of the `rank`-th routine of a kind: few are called often, many are called rarely, none almost never.
pub(crate) fn weight_of_rank(rank: usize) -> f64 {
    1.0 / (rank as f64 + 4.0)
}

/// Source files of the imaginary program.
const FILES: [&str; 8] =
    ["worker.c", "queue.c", "cache.c", "table.c", "session.c", "index.c", "pool.c", "log.c"];

/// Collects steps and gives each a location.
#[derive(Debug)]
pub(crate) struct Author<'a> {
    pub(crate) symbols: &'a mut Symbols,
    pub(crate) sites: &'a mut Sites,
    pub(crate) rng: &'a mut Rng,
    /// Lock `l` is of class `l % classes`.
    pub(crate) classes: u32,
    pub(crate) locks: u32,
    pub(crate) steps: Vec<Step>,
    pub(crate) routines: Vec<Routine>,
}

impl Author<'_> {
    /// Appends a step at the next line of the routine being written.
    pub(crate) fn step(
        &mut self,
        kind: Kind,
        order: MemoryOrder,
        place: u8,
        field: u8,
    ) -> overtake_trace::Result<()> {
        let routine = self.routines.len();
        let start = self.routines.last().map_or(0, |last| last.end);
        let line = 20 + 40 * (routine / FILES.len()) as u64 + (self.steps.len() as u64 - u64::from(start));
        let location = self.sites.place(self.symbols, FILES[routine % FILES.len()], line)?;
        let (op, effect, operand) = (kind.op(), kind.effect(), kind.operand());
        self.steps.push(Step { op, effect, operand, order, place, field, location });
        Ok(())
    }

    /// Ends the routine being written and returns its number.
    pub(crate) fn finish_routine(&mut self, depth: u8, class: u32) -> u32 {
        let start = self.routines.last().map_or(0, |last| last.end);
        let class_locks = self.locks.saturating_sub(class).div_ceil(self.classes);
        self.routines.push(Routine { start, end: self.steps.len() as u32, depth, class, class_locks });
        self.routines.len() as u32 - 1
    }

    /// How many more steps can have a location of their own.
    pub(crate) fn lines_left(&self) -> u64 {
        self.sites.left(self.symbols)
    }
}

/// Answers yes or no so that yes gets a given share of the total weight, whatever the order.
#[derive(Default, Debug)]
pub(crate) struct Dither {
    owed: f64,
}

impl Dither {
    pub(crate) fn decide(&mut self, weight: f64, share: f64) -> bool {
        self.owed += weight * share;
        let yes = self.owed >= weight / 2.0;
        if yes {
            self.owed -= weight;
        }
        yes
    }
}

/// What the accesses of routines look like.
#[derive(Debug)]
pub(crate) struct AccessStyle<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) sharing: f64,
    pub(crate) shared: Dither,
}

impl AccessStyle<'_> {
    /// Writes up to two accesses inside a section that holds the slots of `held` and returns how many.
    ///
    /// Half of the accesses belong to updates, a read followed by a write of the same field.
    fn accesses(
        &mut self,
        author: &mut Author<'_>,
        held: &[u8],
        most: u32,
        weight: f64,
        reads_only: bool,
    ) -> overtake_trace::Result<u32> {
        let count = if most >= 2 && !reads_only && author.rng.chance(0.33) { 2 } else { 1 };
        let may_share = !held.is_empty() && self.layout.guarded.count > 0;
        let has_private = self.layout.private_each > 0;
        let shared =
            may_share && (self.shared.decide(weight * f64::from(count), self.sharing) || !has_private);
        let (place, fields) = if shared {
            (held[author.rng.below(held.len() as u32) as usize], self.layout.fields)
        } else if has_private {
            (PRIVATE, self.layout.private_fields())
        } else {
            return Ok(most); // there is no variable that may be accessed here
        };
        let field = author.rng.below(fields) as u8;
        let only_reads = count == 1 && (reads_only || author.rng.chance(0.65));
        if count == 2 || only_reads {
            author.step(Kind::Read, MemoryOrder::Relaxed, place, field)?;
        }
        if count == 2 || !only_reads {
            author.step(Kind::Write, MemoryOrder::Relaxed, place, field)?;
        }
        Ok(count)
    }

    /// Writes a routine that acquires `depth` locks, with `accesses` accesses spread over its sections.
    ///
    /// Locks are acquired in order of their number, so that no two routines can wait for each other. They are released in
    /// reverse or, in one of four routines, hand over hand.
    pub(crate) fn locked_routine(
        &mut self,
        author: &mut Author<'_>,
        guard: &Guard,
        class: u32,
        depth: u8,
        accesses: u32,
        weight: f64,
    ) -> overtake_trace::Result<u32> {
        let mut held: Vec<u8> = Vec::new();
        let mut accesses_left = accesses;
        let mut gaps = 2 * u32::from(depth) - 1; // between two lock operations
        let hand_over_hand = depth > 1 && author.rng.chance(0.25);
        let leaving: Vec<u8> = if hand_over_hand { (0..depth).collect() } else { (0..depth).rev().collect() };
        for slot in 0..depth {
            enter(author, guard, slot)?;
            held.push(slot);
            if slot + 1 < depth {
                self.stretch(author, &held, &mut accesses_left, &mut gaps, weight, guard)?;
            }
        }
        for slot in leaving {
            self.stretch(author, &held, &mut accesses_left, &mut gaps, weight, guard)?;
            for &(kind, order) in guard.leave {
                author.step(kind, order, slot, 0)?;
            }
            held.retain(|&other| other != slot);
        }
        Ok(author.finish_routine(depth, class))
    }

    /// Writes one gap's part of the accesses that are left.
    fn stretch(
        &mut self,
        author: &mut Author<'_>,
        held: &[u8],
        accesses_left: &mut u32,
        gaps: &mut u32,
        weight: f64,
        guard: &Guard,
    ) -> overtake_trace::Result<()> {
        let mut part = accesses_left.div_ceil((*gaps).max(1));
        *gaps = gaps.saturating_sub(1);
        *accesses_left -= part;
        while part > 0 {
            part -= self.accesses(author, held, part, weight, guard.reads_only)?.min(part);
        }
        Ok(())
    }

    /// Writes a routine without locks: accesses to the thread's own variables and reads of constants.
    pub(crate) fn free_routine(
        &mut self,
        author: &mut Author<'_>,
        accesses: u32,
        weight: f64,
    ) -> overtake_trace::Result<u32> {
        let constants = self.layout.constant_fields();
        let mut left = accesses;
        while left > 0 {
            let shared =
                constants > 0 && (self.shared.decide(weight, self.sharing) || self.layout.private_each == 0);
            if shared {
                let field = author.rng.below(constants) as u8;
                author.step(Kind::Read, MemoryOrder::Relaxed, CONSTANT, field)?;
                left -= 1;
            } else {
                let done = self.private_accesses(author, left)?;
                left -= done.min(left);
            }
        }
        Ok(author.finish_routine(0, 0))
    }

    fn private_accesses(&mut self, author: &mut Author<'_>, most: u32) -> overtake_trace::Result<u32> {
        let field = author.rng.below(self.layout.private_fields()) as u8;
        let update = most >= 2 && author.rng.chance(0.5);
        author.step(Kind::Read, MemoryOrder::Relaxed, PRIVATE, field)?;
        if update {
            author.step(Kind::Write, MemoryOrder::Relaxed, PRIVATE, field)?;
        }
        Ok(1 + u32::from(update))
    }
}

fn enter(author: &mut Author<'_>, guard: &Guard, slot: u8) -> overtake_trace::Result<()> {
    guard.enter.iter().try_for_each(|&(kind, order)| author.step(kind, order, slot, 0))
}
