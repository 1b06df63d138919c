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
//!   I1  The history of a class never changes. A class without members is given back; its number may be used again, with
//!       another generation.
//!   I2  Two classes may have the same history (fingerprints can collide), never two histories one class.
//! **Cost.** O(1) per access. A stretch that needs as many classes as a quarter of its elements is better off fine.

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

/// Where members of a class went in an epoch.
#[derive(Clone, Copy, Default, Debug)]
struct Step {
    epoch: Epoch,
    class: u16,
    generation: u32,
}

#[derive(Debug)]
struct Class {
    cell: CellId,
    members: u64,
    generation: u32,
    after_read: Step,
    after_write: Step,
}

/// The classes of a stretch of an array.
#[derive(Debug)]
pub(super) struct Classes {
    labels: Vec<u16>,
    classes: Vec<Class>,
    free: Vec<u16>,
    by_history: FxHashMap<u64, u16>,
    /// Moves since the labels were made.
    moves: u64,
    one: bool,
}

impl Classes {
    /// The classes of a partition; `None` if it has too many parts.
    pub(super) fn new(
        length: u64,
        partition: Partition,
        first: CellId,
        cells: &mut Cells,
    ) -> Option<Classes> {
        let parts = partition.parts(length);
        if parts > most_classes(length) {
            return None;
        }
        let mut new = Classes {
            labels: (0..length).map(|index| partition.part_of(index) as u16).collect(),
            classes: Vec::new(),
            free: Vec::new(),
            by_history: FxHashMap::default(),
            moves: 0,
            one: false,
        };
        cells.index_bytes += new.labels.capacity() * size_of::<u16>();
        for part in 0..parts {
            let cell = cells.allocate(1);
            cells.copy(first.plus(part), cell);
            let class = new.add(cell, cells)?;
            new.classes[usize::from(class)].members = partition.part(length, part).len();
        }
        Some(new)
    }

    /// The number of classes with members.
    pub(super) fn live(&self) -> usize {
        self.classes.len() - self.free.len()
    }

    /// The cell of an element's class.
    pub(super) fn cell_of(&self, index: u64) -> CellId {
        self.classes[usize::from(self.labels[index as usize])].cell
    }

    /// Whether all elements have the same history again, and labels have paid for themselves since they were made.
    #[inline]
    pub(super) fn is_one(&self) -> bool {
        self.one
    }

    /// Judges an access to an element. False, without effect, if there would be too many classes.
    #[inline]
    pub(super) fn judge(
        &mut self,
        index: u64,
        accessor: Accessor<'_>,
        cells: &mut Cells,
        races: &mut impl RaceSink<CellId>,
    ) -> bool {
        let label = self.labels[index as usize];
        let class = &self.classes[usize::from(label)];
        let step = if accessor.writes() { class.after_write } else { class.after_read };
        let target = if step.epoch == accessor.epoch
            && self.classes[usize::from(step.class)].generation == step.generation
        {
            step.class
        } else if cells.knows(class.cell, &accessor) {
            return true;
        } else {
            match self.find_target(label, accessor, cells, races) {
                Some(target) => target,
                None => return false,
            }
        };
        self.moves += 1;
        self.labels[index as usize] = target;
        self.classes[usize::from(target)].members += 1;
        let left = &mut self.classes[usize::from(label)];
        left.members -= 1;
        if left.members == 0 {
            self.remove(label, cells);
            self.one = self.live() == 1 && self.moves >= self.labels.len() as u64;
        }
        true
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
        let after = cells.allocate(1);
        cells.copy(self.classes[usize::from(label)].cell, after);
        let mut races = Noticing { races, raced: false };
        cells.judge(after, accessor, &mut races);
        let raced = races.raced;
        let known = self.by_history.get(&cells.fingerprint(after)).copied();
        let known = known.filter(|&class| cells.same(self.classes[usize::from(class)].cell, after));
        let target = match known {
            Some(class) => {
                cells.give_back(after, 1);
                class
            }
            None => self.add(after, cells)?,
        };
        // A race is reported for each element, so each of them is judged.
        if !raced {
            let step = Step {
                epoch: accessor.epoch,
                class: target,
                generation: self.classes[usize::from(target)].generation,
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
                let step = Step::default();
                self.classes.push(Class {
                    cell,
                    members: 0,
                    generation: 0,
                    after_read: step,
                    after_write: step,
                });
                cells.index_bytes += (self.classes.capacity() - before) * size_of::<Class>();
                class
            }
        };
        self.one = false;
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
        (entry.after_read, entry.after_write) = (Step::default(), Step::default());
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
        for class in self.classes.iter().filter(|class| class.members > 0) {
            cells.give_back(class.cell, 1);
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
