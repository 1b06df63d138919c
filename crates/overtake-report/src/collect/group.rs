//! Races brought together: one finding for each pair of code locations, whichever detectors found it.
//!
//! In a trace a code location is what the trace names. In a recorded program it is a source line: that of the innermost frame
//! of the program itself, with the library functions below it, whatever calls led there; as a line can touch several variables,
//! the memory counts, too: which global, or where the block was allocated. Where a location is unknown, the variable takes its
//! place.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use overtake_detect::{Access, AccessKind, Extent, Hinge, Race, RaceGroup, Verdict};
use overtake_trace::{ArrayId, LocationId, MemoryKind, VarId, Variable};
use rustc_hash::FxHashMap;

use super::names::Names;
use crate::model::Analysed;
use crate::result::Frame;

/// A finding in ids.
#[derive(Clone, Debug)]
pub(super) struct Group {
    /// The example, its verdict the surest of all.
    pub(super) race: Race,
    pub(super) extent: Option<Extent>,
    pub(super) count: u64,
    pub(super) observed: u64,
    /// The racy reads that it hinges on, if it is only possible.
    pub(super) hinges: Vec<Hinge>,
    /// Positions of the detectors that report it.
    pub(super) detectors: Vec<usize>,
}

impl Group {
    /// The accesses in the order in which they are named.
    pub(super) fn accesses(&self, names: &Names<'_>) -> [Access; 2] {
        let Race { first, second, .. } = self.race;
        let swap = names.is_recorded() && side_order(&second, &first, names) == Ordering::Less;
        if swap { [second, first] } else { [first, second] }
    }
}

/// Two code locations, the smaller first, the memory in a recorded program, and the variable where a location is unknown.
type Key = (u32, u32, Option<Block>, Option<VarId>);

/// Memory that a reader of the report takes for one thing.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Block {
    Of(ArrayId),
    AllocatedAt(u32),
    /// The stack of some thread: it does not matter which.
    Stack,
}

/// The findings of all detectors, in the order of the report.
pub(super) fn groups(analysed: &Analysed<'_>, names: &Names<'_>) -> Vec<Group> {
    let mut lines = Lines::default();
    let mut by_key: BTreeMap<Key, Group> = BTreeMap::new();
    for (detector, findings) in analysed.findings.iter().enumerate() {
        let mut counts: FxHashMap<Key, (u64, u64)> = FxHashMap::default();
        for group in findings.races.groups() {
            let key = lines.key(group, names);
            let (count, observed) = counts.entry(key).or_default();
            *count += group.count;
            *observed += group.observed;
            let new = Group {
                race: group.surest,
                extent: group.extent,
                count: 0,
                observed: 0,
                hinges: findings.races.hinges(&group.surest).to_vec(),
                detectors: Vec::new(),
            };
            let known = by_key.entry(key).or_insert_with(|| new.clone());
            if prefer(&new.race, &known.race, names) == Ordering::Less {
                (known.race, known.extent, known.hinges) = (new.race, new.extent, new.hinges);
            }
            if known.detectors.last() != Some(&detector) {
                known.detectors.push(detector);
            }
        }
        // Several detectors find the same races: what one of them counted is not counted again.
        for (key, (count, observed)) in counts {
            if let Some(group) = by_key.get_mut(&key) {
                group.count = group.count.max(count);
                group.observed = group.observed.max(observed);
            }
        }
    }
    let mut groups: Vec<_> = by_key.into_values().collect();
    match names.is_recorded() {
        true => groups.sort_by_cached_key(|group| code_order(group, names)),
        false => groups.sort_by_key(|group| {
            let Race { verdict, first, second, .. } = group.race;
            (verdict, std::cmp::Reverse(group.count), second.at.index, first.at.index)
        }),
    }
    groups
}

/// Code locations, numbered.
#[derive(Default)]
struct Lines {
    numbers: BTreeMap<Line, u32>,
    of: FxHashMap<LocationId, u32>,
}

/// What makes two code locations different for a reader: functions, files and lines from the innermost frame to the
/// first of the program itself.
type Line = (Vec<Frame>, Option<LocationId>);

impl Lines {
    fn key(&mut self, group: &RaceGroup, names: &Names<'_>) -> Key {
        let [first, second] = [group.example.first, group.example.second].map(|access| access.at.location);
        let var = (!first.is_known() || !second.is_known()).then_some(group.example.var);
        let [first, second] = [first, second].map(|location| self.number(location, names));
        (first.min(second), first.max(second), self.block(group.example.var, names), var)
    }

    fn block(&mut self, var: VarId, names: &Names<'_>) -> Option<Block> {
        let array = match names.symbols.variables.get(var) {
            Variable::Element { array, .. } | Variable::Block(array) if names.is_recorded() => array,
            _ => return None,
        };
        let facts = names.symbols.program.memory.get(array).copied().unwrap_or_default();
        Some(match (facts.kind, facts.allocated_at) {
            (MemoryKind::Heap | MemoryKind::Mapped | MemoryKind::Descriptor, Some(location)) => {
                Block::AllocatedAt(self.number(location, names))
            }
            (MemoryKind::Heap | MemoryKind::Mapped | MemoryKind::Descriptor, None) => {
                Block::AllocatedAt(u32::MAX)
            }
            (MemoryKind::Stack, _) => Block::Stack,
            _ => Block::Of(array),
        })
    }

    fn number(&mut self, location: LocationId, names: &Names<'_>) -> u32 {
        if let Some(&number) = self.of.get(&location) {
            return number;
        }
        let next = self.numbers.len() as u32;
        let number = *self.numbers.entry(line(location, names)).or_insert(next);
        self.of.insert(location, number);
        number
    }
}

fn line(location: LocationId, names: &Names<'_>) -> Line {
    let stack = if names.is_recorded() { names.stack(location) } else { Vec::new() };
    if stack.iter().all(|frame| frame.file.is_empty()) {
        return (Vec::new(), Some(location));
    }
    let own = stack.iter().position(Frame::is_own).unwrap_or(0);
    let frames = stack.into_iter().take(own + 1);
    // One line is one place, however many instructions it has. Instructions of no line (line 0) are places of their own.
    let offset = |frame: &Frame| if frame.line == 0 { frame.offset } else { 0 };
    (frames.map(|frame| Frame { column: 0, offset: offset(&frame), ..frame }).collect(), None)
}

/// Which of two examples to show, whatever the timing of a recorded program was: the surer one, then writes, which any
/// access conflicts with, then by stacks. In a trace the earlier one.
fn prefer(one: &Race, other: &Race, names: &Names<'_>) -> Ordering {
    let events = |race: &Race| (race.second.at.index, race.first.at.index);
    let sure = one.verdict.cmp(&other.verdict);
    if !names.is_recorded() {
        return sure.then_with(|| events(one).cmp(&events(other)));
    }
    let stacks = |race: &Race| {
        let mut stacks = [race.first, race.second].map(|access| names.stack(access.at.location));
        stacks.sort_unstable();
        stacks
    };
    sure.then_with(|| strength(one).cmp(&strength(other)))
        .then_with(|| stacks(one).cmp(&stacks(other)))
        .then_with(|| events(one).cmp(&events(other)))
}

fn strength(race: &Race) -> [u8; 2] {
    let mut strength = [race.first.kind, race.second.kind].map(kind_rank);
    strength.sort_unstable();
    strength
}

/// Accesses by how much they conflict with.
pub(super) fn kind_rank(kind: AccessKind) -> u8 {
    match kind {
        AccessKind::Free => 0,
        AccessKind::Alloc => 1,
        AccessKind::Write => 2,
        AccessKind::Store => 3,
        AccessKind::Rmw => 4,
        AccessKind::Read => 5,
        AccessKind::Load => 6,
    }
}

/// Which access of a recorded program is named first: reads before writes, as sentences go, then by code, then by thread.
fn side_order(one: &Access, other: &Access, names: &Names<'_>) -> Ordering {
    kind_rank(other.kind)
        .cmp(&kind_rank(one.kind))
        .then_with(|| names.stack(one.at.location).cmp(&names.stack(other.at.location)))
        .then_with(|| one.at.thread.cmp(&other.at.thread))
}

/// Where the findings of a recorded program stand in its report, whatever the timing was.
fn code_order(group: &Group, names: &Names<'_>) -> impl Ord + use<> {
    let [first, second] = group.accesses(names).map(|access| names.stack(access.at.location));
    let verdict: Verdict = group.race.verdict;
    (verdict, place(&first), place(&second), first, second)
}

fn place(stack: &[Frame]) -> (String, u32) {
    let site = crate::result::innermost_own(stack);
    site.map(|frame| (frame.file.clone(), frame.line)).unwrap_or_default()
}
