//! Parts of any form: a label per element names the class it belongs to, and a class is the elements with one history.
//!
//! **Beyond the paper**, which measured what arbitrary parts would save with bit sets and could not afford them. Here the
//! partition is not inferred from footprints but from the histories themselves: elements are together exactly as long as
//! their histories are the same.
//! **State.** Two bytes per element, and per class a cell, the number of its members and where its members went lately.
//! **Step.** An access takes its element from its class to the class of the history after the access. That class is found
//! by the epoch of the access, if another member went there in the same epoch; else the history is computed
//! and looked up among all. So one check serves all elements that a thread accesses alike, in whatever order and however many
//! footprints would be needed, and classes whose histories become the same merge.
//! **Invariants.**
//!   I1  The history of a class never changes. A class without members is given back, sooner or later; its number may be
//!       used again, with another generation.
//!   I2  Two classes may have the same history (fingerprints can collide), never two histories one class.
//!   I3  What a class keeps is not later than the access of any member that it is kept for (`naming.rs`).
//! **Cost.** O(1) per access. A stretch that needs as many classes as a quarter of its elements is better off fine.

use std::collections::VecDeque;

use overtake_clock::Epoch;
use rustc_hash::FxHashMap;

use super::cells::{Accessor, CellId, Cells};
use super::partition::Partition;
use crate::access::Access;
use crate::hb::history::RaceSink;
use crate::race::Verdict;

/// Most classes that are worth their labels, within what labels can name.
fn most_classes(length: u64) -> u64 {
    (length / 4).clamp(8, 1 << 16)
}

/// Most classes that are kept although their last member left.
const MOST_ABANDONED: usize = 32;

/// What became of an access that may only have to follow another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Followed {
    /// It has to be judged.
    No,
    /// It is done.
    Yes,
    /// It is done, and its element was the last of a class: there may be only one class now.
    AsLast,
}

/// Where members of a class went in an epoch.
#[derive(Clone, Copy, Default, Debug)]
struct ClassStep {
    epoch: Epoch,
    class: u16,
    generation: u32,
    /// The footprint that was judged when it was found, or the last one before.
    footprint: u32,
}

#[derive(Debug)]
struct Class {
    cell: CellId,
    members: u64,
    generation: u32,
    /// Whether it is in the list of abandoned classes. It may have got members again.
    abandoned: bool,
    after_read: ClassStep,
    after_write: ClassStep,
}

impl Class {
    fn forget_steps(&mut self) {
        (self.after_read, self.after_write) = (ClassStep::default(), ClassStep::default());
    }
}

/// The classes of a stretch of an array.
#[derive(Debug)]
pub(super) struct Classes {
    labels: Vec<u16>,
    classes: Vec<Class>,
    free: Vec<u16>,
    /// Classes that lost their last member, the first to do so first.
    abandoned: VecDeque<u16>,
    by_history: FxHashMap<u64, u16>,
    /// Moves since it was last looked whether labels are regular.
    moves: u64,
    /// The number of the latest footprint, from 0 again after very many.
    footprint: u32,
}

impl Classes {
    /// The classes of elements that have the same history in their cells; `None` if there are too many. The first `floor` elements are
    /// never accessed and not counted.
    pub(super) fn new(
        length: u64,
        floor: u64,
        cell_of: impl Fn(u64) -> Option<CellId>,
        cells: &mut Cells,
    ) -> Option<Classes> {
        let mut new = Classes {
            labels: Vec::with_capacity(length as usize),
            classes: Vec::new(),
            free: Vec::new(),
            abandoned: VecDeque::new(),
            by_history: FxHashMap::default(),
            moves: 0,
            footprint: 0,
        };
        new.labels.resize(floor as usize, 0);
        cells.index_bytes += new.labels.capacity() * size_of::<u16>();
        let mut by_cell: FxHashMap<u32, u16> = FxHashMap::default();
        let mut latest = None;
        for cell in (floor..length).map_while(cell_of) {
            if let Some((_, class)) = latest.filter(|&(of, _)| of == cell) {
                new.labels.push(class);
                new.classes[usize::from(class)].members += 1;
                continue;
            }
            let known = by_cell.get(&cell.0).copied().or_else(|| new.with_history_of(cell, cells));
            let class = known.or_else(|| {
                let most = most_classes(length) / 2; // there must be room to move
                let copy = (new.live() as u64 <= most).then(|| cells.copied(cell))?;
                new.add(copy, cells)
            });
            let Some(class) = class else { break };
            by_cell.insert(cell.0, class);
            latest = Some((cell, class));
            new.labels.push(class);
            new.classes[usize::from(class)].members += 1;
        }
        if (new.labels.len() as u64) < length {
            new.give_back(cells);
            return None;
        }
        Some(new)
    }

    /// The class with the history of a cell, to which an element of that cell may be added (I3).
    fn with_history_of(&mut self, cell: CellId, cells: &mut Cells) -> Option<u16> {
        let class = self.by_history.get(&cells.fingerprint(cell)).copied()?;
        let entry = &mut self.classes[usize::from(class)];
        if !cells.same(entry.cell, cell) {
            return None;
        }
        if cells.take_earlier_places(entry.cell, cell) {
            entry.forget_steps(); // what they lead to may keep later ones
        }
        Some(class)
    }

    /// Begins to judge a footprint, which may be older than what was judged before.
    pub(super) fn begin_footprint(&mut self) {
        self.footprint = self.footprint.wrapping_add(1);
        if self.footprint == 0 {
            self.classes.iter_mut().for_each(Class::forget_steps); // numbers come again
        }
    }

    /// Where members of a class go by an access of the present footprint, if that is known (I3).
    fn known_step(&self, label: u16, accessor: Accessor<'_>, cells: &Cells) -> Option<u16> {
        let class = &self.classes[usize::from(label)];
        let step = if accessor.writes() { &class.after_write } else { &class.after_read };
        let is_fresh = step.epoch == accessor.epoch
            && step.footprint == self.footprint
            && self.classes[usize::from(step.class)].generation == step.generation;
        let stays = || cells.knows(class.cell, accessor.epoch, accessor.writes()).then_some(label);
        is_fresh.then_some(step.class).or_else(stays)
    }

    /// The number of classes.
    pub(super) fn live(&self) -> usize {
        self.classes.len() - self.free.len()
    }

    /// The cell of an element's class.
    pub(super) fn cell_of(&self, index: u64) -> CellId {
        self.classes[usize::from(self.labels[index as usize])].cell
    }

    /// A partition that says the same as the labels of the elements from `floor` on, with few parts. It is looked for when all elements
    /// may have moved since the last time.
    pub(super) fn as_parts(&mut self, floor: u64) -> Option<Partition> {
        let (labels, length) = (&self.labels[floor as usize..], self.labels.len() as u64);
        if self.classes[usize::from(*labels.first()?)].members == labels.len() as u64 {
            return Some(Partition::Coarse);
        }
        if self.moves < length {
            return None;
        }
        self.moves = 0;
        let stride = 1 + labels[1..].iter().position(|label| *label == labels[0])?;
        if stride > 1 {
            let is_regular = labels.iter().zip(&labels[stride..]).all(|(one, other)| one == other);
            return (is_regular && stride <= labels.len() / 16).then_some(Partition::Stride(stride as u64));
        }
        let first = labels.iter().position(|label| *label != labels[0])?;
        let (block, rest) = (floor + first as u64, &labels[first..]);
        if rest.iter().all(|label| *label == rest[0]) {
            return Some(Partition::Split(block));
        }
        let blocks = || self.labels.chunks(block as usize).skip(1);
        let is_regular = length.is_multiple_of(block)
            && length / block <= length / 16
            && blocks().all(|block| block.iter().all(|label| *label == block[0]));
        is_regular.then_some(Partition::Block(block))
    }

    /// Judges accesses to every `step`th element from `index` to `last`, as long as their classes are the same. Returns where it stopped;
    /// `None`, without effect, if there would be too many classes.
    pub(super) fn judge_run(
        &mut self,
        index: u64,
        last: u64,
        step: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) -> Option<u64> {
        let from = self.labels[index as usize];
        let mut at = index;
        let to = match self.known_step(from, accessor, cells) {
            Some(to) => to,
            None => {
                let to = self.find_target(from, accessor, cells, races)?;
                self.labels[index as usize] = to;
                at += step;
                if self.known_step(from, accessor, cells).is_none() {
                    self.move_members(from, to, 1, cells);
                    return Some(at); // a race, which is judged for each element
                }
                to
            }
        };
        while at <= last && self.labels[at as usize] == from {
            self.labels[at as usize] = to;
            at += step;
        }
        self.move_members(from, to, (at - index) / step, cells);
        Some(at)
    }

    /// Counts elements that went from one class to another.
    fn move_members(&mut self, from: u16, to: u16, count: u64, cells: &mut Cells) {
        if from == to {
            return;
        }
        self.moves += count;
        self.classes[usize::from(to)].members += count;
        let left = &mut self.classes[usize::from(from)];
        left.members -= count;
        if left.members == 0 {
            self.abandon(from, cells);
        }
    }

    /// Takes an access to an element that changes nothing, or whose class knows where members go in this epoch. Others are
    /// to be judged; so are elements beyond the end, which is where another stretch begins.
    #[inline(always)]
    pub(super) fn follow(&mut self, index: u64, epoch: Epoch, writes: bool, cells: &mut Cells) -> Followed {
        let Some(&label) = self.labels.get(index as usize) else { return Followed::No };
        let class = &self.classes[usize::from(label)];
        let step = if writes { &class.after_write } else { &class.after_read };
        if step.epoch == epoch && self.classes[usize::from(step.class)].generation == step.generation {
            let to = step.class;
            return self.enter(index, label, to, cells);
        }
        match cells.knows(class.cell, epoch, writes) {
            true => Followed::Yes,
            false => Followed::No,
        }
    }

    /// Judges an access to an element. False, without effect, if there would be too many classes.
    pub(super) fn judge(
        &mut self,
        index: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) -> bool {
        if self.follow(index, accessor.epoch, accessor.writes(), cells) != Followed::No {
            return true;
        }
        let label = self.labels[index as usize];
        let Some(target) = self.find_target(label, accessor, cells, races) else { return false };
        self.enter(index, label, target, cells);
        true
    }

    /// Moves an element from one class to another.
    #[inline(always)]
    fn enter(&mut self, index: u64, from: u16, to: u16, cells: &mut Cells) -> Followed {
        self.labels[index as usize] = to;
        self.moves += 1;
        self.classes[usize::from(to)].members += 1;
        let left = &mut self.classes[usize::from(from)];
        left.members -= 1;
        if left.members > 0 {
            return Followed::Yes;
        }
        self.abandon(from, cells);
        Followed::AsLast
    }

    /// Takes note of a class that its last member has left. Another may come soon: an update takes each element through
    /// the class of what was read to that of what was written. So the class is kept for a while.
    #[inline(never)]
    fn abandon(&mut self, class: u16, cells: &mut Cells) {
        if !std::mem::replace(&mut self.classes[usize::from(class)].abandoned, true) {
            self.abandoned.push_back(class);
        }
        if self.abandoned.len() > MOST_ABANDONED
            && let Some(class) = self.abandoned.pop_front()
        {
            self.classes[usize::from(class)].abandoned = false;
            if self.classes[usize::from(class)].members == 0 {
                self.remove(class, cells);
            }
        }
    }

    /// The class of the history after an access to a member of `label`. `None`, without effect, if there are too many.
    #[inline(never)]
    fn find_target(
        &mut self,
        label: u16,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) -> Option<u16> {
        if self.live() as u64 >= most_classes(self.labels.len() as u64) {
            return None;
        }
        let after = cells.copied(self.classes[usize::from(label)].cell);
        let mut races = Noticing { races, raced: false };
        cells.judge(after, accessor, &mut races);
        let raced = races.raced;
        let target = match self.with_history_of(after, cells) {
            Some(class) => {
                cells.give_back(after, 1);
                class
            }
            None => self.add(after, cells)?,
        };
        // A race is reported for each element, so each of them is judged.
        if !raced {
            let step = ClassStep {
                epoch: accessor.epoch,
                class: target,
                generation: self.classes[usize::from(target)].generation,
                footprint: self.footprint,
            };
            let class = &mut self.classes[usize::from(label)];
            *if accessor.writes() { &mut class.after_write } else { &mut class.after_read } = step;
        }
        Some(target)
    }

    /// A new class without members.
    fn add(&mut self, cell: CellId, cells: &mut Cells) -> Option<u16> {
        let class = match self.free.pop() {
            Some(class) => class,
            None => {
                let class = u16::try_from(self.classes.len()).ok()?;
                let before = self.classes.capacity();
                let step = ClassStep::default();
                self.classes.push(Class {
                    cell,
                    members: 0,
                    generation: 0,
                    abandoned: false,
                    after_read: step,
                    after_write: step,
                });
                cells.index_bytes += (self.classes.capacity() - before) * size_of::<Class>();
                class
            }
        };
        let entry = &mut self.classes[usize::from(class)];
        entry.cell = cell;
        entry.generation += 1;
        let before = self.by_history.capacity();
        self.by_history.insert(cells.fingerprint(cell), class);
        cells.index_bytes += (self.by_history.capacity() - before) * size_of::<(u64, u16)>();
        Some(class)
    }

    /// Gives a class without members back (I1).
    fn remove(&mut self, class: u16, cells: &mut Cells) {
        let entry = &mut self.classes[usize::from(class)];
        entry.generation += 1;
        entry.forget_steps();
        let cell = entry.cell;
        let fingerprint = cells.fingerprint(cell);
        if self.by_history.get(&fingerprint) == Some(&class) {
            self.by_history.remove(&fingerprint);
        }
        cells.give_back(cell, 1);
        self.free.push(class);
    }

    /// Gives everything back.
    pub(super) fn give_back(self, cells: &mut Cells) {
        for (at, class) in self.classes.iter().enumerate() {
            if !self.free.contains(&(at as u16)) {
                cells.give_back(class.cell, 1);
            }
        }
        cells.index_bytes -= self.labels.capacity() * size_of::<u16>()
            + self.classes.capacity() * size_of::<Class>()
            + self.by_history.capacity() * size_of::<(u64, u16)>();
    }
}

/// Passes races on and remembers that there was one.
struct Noticing<'a, Sink> {
    races: &'a mut Sink,
    raced: bool,
}

impl<Sink: RaceSink<CellId>> RaceSink<CellId> for Noticing<'_, Sink> {
    fn race(&mut self, cell: CellId, verdict: Verdict, first: Access, second: Access) {
        self.raced = true;
        self.races.race(cell, verdict, first, second);
    }
}
