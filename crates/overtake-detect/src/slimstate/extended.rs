//! Parts of any form: a label per element names the class it belongs to, and a class is the elements with one history.
//!
//! **Beyond the paper**, which measured what arbitrary parts would save with bit sets and could not afford them. Here the
//! partition is not inferred from footprints but from the histories themselves: elements are together exactly as long as
//! their histories are the same.
//! **State.** Two bytes per element, and per class a cell, the number of its members and where its members went lately. Elements of recorded memory are bytes, of
//! which every fourth or eighth may be accessed: only each *unit* of them has a label, until an element between is accessed.
//! **Step.** An access takes its element from its class to the class of the history after the access. That class is found
//! by the epoch of the access, if another member went there in the same epoch; else the history is computed
//! and looked up among all. So one check serves all elements that a thread accesses alike, in whatever order and however many
//! footprints would be needed, and classes whose histories become the same merge.
//! **Sets.** With `--partitions sets` classes are what the paper's bit sets would be: a footprint splits each class into what is inside and what is
//! not, and classes never merge. That is for comparison.
//! **Invariants.**
//!   I1  The history of a class never changes. A class without members is given back, sooner or later; its number may be
//!       used again, with another generation.
//!   I2  Two classes may have the same history (fingerprints can collide), never two histories one class.
//!   I3  Elements without a label have no history.
//!   I4  What a class keeps is not later than the access of any member that it is kept for (`naming.rs`).
//! **Cost.** O(1) per access. A stretch that needs as many classes as a quarter of its elements is better off fine, and so is one whose elements are
//! accessed one by one, each in an epoch of its own.

use std::collections::VecDeque;

use overtake_clock::Epoch;
use rustc_hash::FxHashMap;

use super::cells::{Accessor, CellId, Cells};
use super::class::{Class, ClassStep, Noticing, WAYS, Way};
use super::commit::LABELS_PER_CELL;
use super::labelled::{Frozen, Labelled};
use super::partition::Partition;
use super::range::StridedRange;
use crate::hb::history::RaceSink;

/// What labels can name.
const MOST_CLASSES: u64 = 1 << 16;

/// Most classes that are worth their labels, if classes merge.
fn most_classes(length: u64, merges: bool) -> u64 {
    if merges { (length / 4).clamp(8, MOST_CLASSES) } else { MOST_CLASSES }
}

/// So many classes are looked through for a history. More have an index.
const FEW_CLASSES: usize = 16;

/// Most classes that are kept although their last member left, of as many labels.
fn most_abandoned(labels: usize) -> usize {
    (labels / 128).clamp(4, 32)
}

/// So many searches for each label are made before it is judged whether they are worth it. So few in tests that small traces come there.
const TRIAL: u64 = if cfg!(test) { 2 } else { 16 };

/// A search takes as long as so many accesses to elements that stand alone.
const WORTH_A_SEARCH: u64 = 4;

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

/// The classes of a stretch of an array.
#[derive(Debug)]
pub(super) struct Classes {
    of: Labelled,
    /// Whether classes with the same history are one.
    merges: bool,
    labels: Vec<u16>,
    classes: Vec<Class>,
    free: Vec<u16>,
    /// Classes that lost their last member, the first to do so first.
    abandoned: VecDeque<u16>,
    /// The classes by the fingerprints of their histories, once there are many.
    by_history: FxHashMap<u64, u16>,
    /// Moves since it was last looked whether labels are regular.
    moves: u64,
    /// Moves before.
    moved: u64,
    /// How often the class after an access had to be computed and looked up.
    searches: u64,
    /// The number of the latest footprint, from 0 again after very many.
    footprint: u32,
}

impl Classes {
    /// The classes of elements that have the same history in their cells; `None` if there are too many.
    pub(super) fn new(
        of: Labelled,
        merges: bool,
        cell_of: impl Fn(u64) -> Option<CellId>,
        cells: &mut Cells,
    ) -> Option<Classes> {
        let length = of.labels();
        let mut new = Classes {
            of,
            merges,
            labels: Vec::with_capacity(length as usize),
            classes: Vec::new(),
            free: Vec::new(),
            abandoned: VecDeque::new(),
            by_history: FxHashMap::default(),
            moves: 0,
            moved: 0,
            searches: 0,
            footprint: 0,
        };
        new.labels.resize(of.floor_label(), 0);
        cells.index_bytes += new.labels.capacity() * size_of::<u16>();
        let mut by_cell: FxHashMap<u32, u16> = FxHashMap::default();
        let mut latest = None;
        for cell in (of.floor_label() as u64..length).map_while(|label| cell_of(label << of.shift)) {
            if let Some((_, class)) = latest.filter(|&(of, _)| of == cell) {
                new.labels.push(class);
                new.classes[usize::from(class)].members += 1;
                continue;
            }
            let known = by_cell.get(&cell.0).copied().or_else(|| new.with_history_of(cell, cells));
            let class = known.or_else(|| {
                let most = most_classes(length, merges) / 2; // there must be room to move
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

    /// Gives labels to more elements, so that all of a range have one; they have no history (I3). False, without effect, if there are too many classes.
    pub(super) fn make_room_for(&mut self, range: StridedRange, cells: &mut Cells) -> bool {
        let mut of = self.of;
        while !of.has(range) {
            of.shift -= 1;
        }
        if of.shift == self.of.shift {
            return true;
        }
        let blank = cells.allocate(1);
        let known = self.with_history_of(blank, cells);
        let class = match known {
            Some(class) => {
                cells.give_back(blank, 1);
                class
            }
            None if self.is_full() => {
                cells.give_back(blank, 1);
                return false;
            }
            None => match self.add(blank, cells) {
                Some(class) => class,
                None => return false,
            },
        };
        let (before, old) = (self.of, std::mem::take(&mut self.labels));
        cells.index_bytes -= old.capacity() * size_of::<u16>();
        let elements = (0..of.labels()).map(|label| label << of.shift);
        self.labels =
            elements.map(|index| before.label_of(index).map_or(class, |label| old[label])).collect();
        self.labels[..of.floor_label()].fill(0);
        cells.index_bytes += self.labels.capacity() * size_of::<u16>();
        let counted = |of: Labelled| of.labels() - of.floor_label() as u64;
        self.classes[usize::from(class)].members += (counted(of) - counted(before)) as u32;
        self.of = of;
        true
    }

    /// The class with the history of a cell, to which an element of that cell may be added (I4).
    fn with_history_of(&mut self, cell: CellId, cells: &mut Cells) -> Option<u16> {
        let class = self.with_fingerprint(cells.fingerprint(cell))?;
        let entry = &mut self.classes[usize::from(class)];
        if !cells.same(entry.cell, cell) {
            return None;
        }
        if cells.take_earlier_places(entry.cell, cell) {
            entry.forget_steps(); // what they lead to may keep later ones
        }
        Some(class)
    }

    /// A class whose history has this fingerprint.
    fn with_fingerprint(&self, fingerprint: u64) -> Option<u16> {
        if !self.by_history.is_empty() {
            return self.by_history.get(&fingerprint).copied();
        }
        let position = self.classes.iter().position(|class| class.live && class.fingerprint == fingerprint);
        position.map(|number| number as u16)
    }

    /// Begins to judge a footprint, which may be older than what was judged before.
    pub(super) fn begin_footprint(&mut self) {
        self.footprint = self.footprint.wrapping_add(1);
        if self.footprint == 0 {
            self.classes.iter_mut().for_each(Class::forget_steps); // numbers come again
        }
    }

    /// Where members of a class go by an access of the present footprint, if that is known (I4).
    fn known_step(&self, label: u16, accessor: Accessor<'_>, cells: &Cells) -> Option<u16> {
        let class = &self.classes[usize::from(label)];
        let step = if accessor.writes() { &class.after_write } else { &class.after_read };
        let is_fresh = step.epoch == accessor.epoch
            && step.footprint == self.footprint
            && self.classes[usize::from(step.class)].generation == step.generation;
        let stays = || {
            let changes_nothing = self.merges && cells.knows(class.cell, accessor.epoch, accessor.writes());
            changes_nothing.then_some(label)
        };
        is_fresh.then_some(step.class).or_else(stays)
    }

    /// Whether there are as many classes as there may be.
    fn is_full(&self) -> bool {
        self.live() as u64 >= most_classes(self.labels.len() as u64, self.merges)
    }

    /// Whether elements have hardly moved together for long: each cell for itself costs less time then.
    fn is_worn(&self) -> bool {
        self.merges
            && self.searches > self.labels.len() as u64 * TRIAL
            && self.moved + self.moves < self.searches * WORTH_A_SEARCH
    }

    /// The number of classes that have members.
    pub(super) fn populated(&self) -> usize {
        self.classes.iter().filter(|class| class.live && class.members > 0).count()
    }

    /// The number of classes.
    fn live(&self) -> usize {
        self.classes.len() - self.free.len()
    }

    /// The cell of an element's class; none if it has no label (I3).
    pub(super) fn cell_of(&self, index: u64) -> Option<CellId> {
        let label = self.of.label_of(index)?;
        Some(self.classes[usize::from(self.labels[label])].cell)
    }

    /// A partition that says the same as the labels, with few parts. It is looked for when all elements may have moved since the last time.
    pub(super) fn as_parts(&mut self) -> Option<Partition> {
        let unit = self.of.unit();
        let parts_of_labels = self.labels_as_parts()?;
        let partition = match parts_of_labels {
            partition if unit == 1 => partition,
            Partition::Coarse => Partition::Stride(unit),
            Partition::Stride(stride) => Partition::Stride(stride * unit),
            Partition::Block(block) => Partition::Grid { block: block * unit, stride: unit },
            _ => return None,
        };
        // Elements without a label take cells as well.
        let most = match parts_of_labels {
            Partition::Coarse => unit,
            _ => (self.labels.len() as u64 / LABELS_PER_CELL).max(self.live() as u64).max(2),
        };
        let is_whole = unit == 1 || self.of.length.is_multiple_of(unit);
        (is_whole && self.merges && partition.parts(self.of.length) <= most).then_some(partition)
    }

    /// A partition of the labels that says the same as they do.
    fn labels_as_parts(&mut self) -> Option<Partition> {
        let floor = self.of.floor_label();
        let (labels, length) = (&self.labels[floor..], self.labels.len() as u64);
        if self.classes[usize::from(*labels.first()?)].members as usize == labels.len() {
            return Some(Partition::Coarse);
        }
        if self.moves < length {
            return None;
        }
        self.moved += std::mem::take(&mut self.moves);
        let stride = 1 + labels[1..].iter().position(|label| *label == labels[0])?;
        if stride > 1 {
            let is_regular = labels.iter().zip(&labels[stride..]).all(|(one, other)| one == other);
            return is_regular.then_some(Partition::Stride(stride as u64));
        }
        let first = labels.iter().position(|label| *label != labels[0])?;
        let (block, rest) = ((floor + first) as u64, &labels[first..]);
        if rest.iter().all(|label| *label == rest[0]) {
            return Some(Partition::Split(block));
        }
        let blocks = || self.labels.chunks(block as usize).skip(1);
        let is_regular = length.is_multiple_of(block)
            && blocks().all(|block| block.iter().all(|label| *label == block[0]));
        is_regular.then_some(Partition::Block(block))
    }

    /// Judges accesses to every `step`th element from `index` to `last`, which have labels, as long as it is known where members of their classes go. Returns where
    /// it stopped; `None`, without effect, if there would be too many classes.
    pub(super) fn judge_run(
        &mut self,
        index: u64,
        last: u64,
        step: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) -> Option<u64> {
        let shift = self.of.shift;
        let (mut at, last, step) = (index >> shift, last >> shift, (step >> shift).max(1));
        let from = self.labels[at as usize];
        if self.known_step(from, accessor, cells).is_none() {
            let to = self.find_target(from, accessor, cells, races)?;
            self.labels[at as usize] = to;
            self.classes[usize::from(to)].members += 1;
            self.leave(from, to, 1, cells);
            at += step; // if it was a race, it is judged for each element
        }
        Some(self.follow_steps(at, last, step, accessor, cells) << shift)
    }

    /// Moves every `step`th element from `at` to `last` to the class where members of its class go, until that is not known. Returns where it stopped.
    fn follow_steps(
        &mut self,
        mut at: u64,
        last: u64,
        step: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
    ) -> u64 {
        let mut ways = [Way::default(); WAYS];
        while at <= last {
            let label = self.labels[at as usize];
            let way = &mut ways[usize::from(label) % WAYS];
            if way.from != label || way.count == 0 {
                let Some(to) = self.known_step(label, accessor, cells) else { break };
                let before = std::mem::replace(way, Way { from: label, to, count: 0 });
                if before.count > 0 {
                    self.leave(before.from, before.to, before.count, cells);
                }
            }
            let before = way.count;
            while at <= last && self.labels[at as usize] == label {
                self.labels[at as usize] = way.to;
                way.count += 1;
                at += step;
            }
            // A class that has members is not given back, so those that come count at once.
            self.classes[usize::from(way.to)].members += (way.count - before) as u32;
        }
        for Way { from, to, count } in ways.into_iter().filter(|way| way.count > 0) {
            self.leave(from, to, count, cells);
        }
        at
    }

    /// Members that another class has already count no longer in this one.
    fn leave(&mut self, from: u16, to: u16, count: u64, cells: &mut Cells) {
        let left = &mut self.classes[usize::from(from)];
        left.members -= count as u32;
        if from != to {
            self.moves += count;
        }
        if left.members == 0 {
            self.abandon(from, cells);
        }
    }

    /// Takes an access to an element that changes nothing, or whose class knows where members go in this epoch. Others are
    /// to be judged; so are elements beyond the end, which is where another stretch begins.
    #[inline(always)]
    pub(super) fn follow(&mut self, index: u64, epoch: Epoch, writes: bool, cells: &mut Cells) -> Followed {
        let place = self.of.label_of(index);
        let Some((place, &label)) = place.and_then(|at| Some((at, self.labels.get(at)?))) else {
            return Followed::No;
        };
        let class = &self.classes[usize::from(label)];
        let step = if writes { &class.after_write } else { &class.after_read };
        if step.epoch == epoch && self.classes[usize::from(step.class)].generation == step.generation {
            let to = step.class;
            return self.enter(place, label, to, cells);
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
        if !self.make_room_for(StridedRange::single(index), cells) {
            return false;
        }
        let Some(place) = self.of.label_of(index) else { return false };
        let label = self.labels[place];
        let Some(target) = self.find_target(label, accessor, cells, races) else { return false };
        self.enter(place, label, target, cells);
        true
    }

    /// Moves an element from one class to another.
    #[inline(always)]
    fn enter(&mut self, place: usize, from: u16, to: u16, cells: &mut Cells) -> Followed {
        self.labels[place] = to;
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
        if self.abandoned.len() > most_abandoned(self.labels.len())
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
        if self.is_full() || self.is_worn() {
            return None;
        }
        self.searches += 1;
        let after = cells.copied(self.classes[usize::from(label)].cell);
        let mut races = Noticing { races, raced: false };
        cells.judge(after, accessor, &mut races);
        let raced = races.raced;
        let known = if self.merges { self.with_history_of(after, cells) } else { None };
        let target = match known {
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
                    live: false,
                    fingerprint: 0,
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
        (entry.live, entry.fingerprint) = (true, cells.fingerprint(cell));
        let before = self.by_history.capacity();
        if !self.by_history.is_empty() {
            self.by_history.insert(entry.fingerprint, class);
        } else if self.classes.len() > FEW_CLASSES {
            let live = self.classes.iter().zip(0..).filter(|(class, _)| class.live);
            self.by_history = live.map(|(class, number)| (class.fingerprint, number)).collect();
        }
        cells.index_bytes += (self.by_history.capacity() - before) * size_of::<(u64, u16)>();
        Some(class)
    }

    /// Gives a class without members back (I1).
    fn remove(&mut self, class: u16, cells: &mut Cells) {
        let entry = &mut self.classes[usize::from(class)];
        entry.generation += 1;
        entry.live = false;
        entry.forget_steps();
        let (cell, fingerprint) = (entry.cell, entry.fingerprint);
        if self.by_history.get(&fingerprint) == Some(&class) {
            self.by_history.remove(&fingerprint);
        }
        cells.give_back(cell, 1);
        self.free.push(class);
    }

    /// The classes and labels as they are.
    pub(super) fn freeze(self, cells: &mut Cells) -> Frozen {
        cells.index_bytes -= self.index_bytes();
        let kept = self.classes.into_iter().map(|class| match class.members {
            0 => {
                if class.live {
                    cells.give_back(class.cell, 1);
                }
                None
            }
            _ => Some(class.cell),
        });
        let frozen = Frozen::new(self.of, self.labels, kept.collect());
        cells.index_bytes += frozen.index_bytes();
        frozen
    }

    /// Bytes of all but the cells themselves.
    fn index_bytes(&self) -> usize {
        self.labels.capacity() * size_of::<u16>()
            + self.classes.capacity() * size_of::<Class>()
            + self.by_history.capacity() * size_of::<(u64, u16)>()
    }

    /// Gives everything back.
    pub(super) fn give_back(self, cells: &mut Cells) {
        cells.index_bytes -= self.index_bytes();
        for (at, class) in self.classes.iter().enumerate() {
            if !self.free.contains(&(at as u16)) {
                cells.give_back(class.cell, 1);
            }
        }
    }
}
