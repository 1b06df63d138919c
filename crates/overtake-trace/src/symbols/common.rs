//! A value for each id, where many have the same one: a loop that allocates makes a million blocks of one size at one place.

use std::hash::Hash;
use std::marker::PhantomData;

use rustc_hash::FxHashMap;

use super::numbers::Numbers;
use crate::id::Id;

/// Values by id. Each distinct one is kept once.
#[derive(Clone, Debug)]
pub struct Common<I, T> {
    /// By id: the position of its value.
    numbers: Numbers,
    values: Vec<T>,
    positions: FxHashMap<T, u64>,
    id: PhantomData<fn(I) -> I>,
}

impl<I, T> Default for Common<I, T> {
    fn default() -> Self {
        let (numbers, values, positions) = (Numbers::default(), Vec::new(), FxHashMap::default());
        Common { numbers, values, positions, id: PhantomData }
    }
}

impl<I: Id, T: Copy + Default + Eq + Hash> PartialEq for Common<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<I: Id, T: Copy + Default + Eq + Hash> Eq for Common<I, T> {}

impl<I: Id, T: Copy + Default + Eq + Hash> Common<I, T> {
    /// The value of `id`, if the table reaches that far.
    #[inline]
    pub fn get(&self, id: I) -> Option<&T> {
        (id.index() < self.len()).then(|| &self.values[self.numbers.get(id.index()) as usize])
    }

    /// Sets the value of `id`. Ids before it that have none get the default.
    pub fn set(&mut self, id: I, value: T) {
        let between = if id.index() > self.len() { self.position(T::default()) } else { 0 };
        let position = self.position(value);
        self.numbers.set(id.index(), position, between);
    }

    fn position(&mut self, value: T) -> u64 {
        let Common { values, positions, .. } = self;
        *positions.entry(value).or_insert_with(|| {
            values.push(value);
            values.len() as u64 - 1
        })
    }

    /// The number of ids.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there are no ids.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All values in id order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &T> {
        self.numbers.iter().map(|number| &self.values[number as usize])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::ArrayId;

    #[test]
    fn equal_values_are_kept_once_and_each_id_has_its_own() {
        let mut table: Common<ArrayId, u32> = Common::default();
        assert!(table.is_empty() && table.get(ArrayId(0)).is_none());
        for at in (3..1_000).rev().chain(0..2) {
            table.set(ArrayId(at), 7 * (at % 5));
        }
        let expected = (0..1_000).map(|at| if at == 2 { 0 } else { 7 * (at % 5) });
        assert!(table.iter().copied().eq(expected));
        assert_eq!((table.len(), table.values.len()), (1_000, 5));
        table.set(ArrayId(500), 1);
        assert_eq!([499, 500, 501].map(|at| table.get(ArrayId(at)).copied()), [Some(28), Some(1), Some(7)]);
    }
}
