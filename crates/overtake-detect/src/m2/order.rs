//! Strict partial orders of a few events, closed under transitivity.

/// A strict partial order of the numbers below a bound.
#[derive(Clone, Debug)]
pub(super) struct Order {
    words: usize,
    /// What comes after each number, and what before, a row of bits each.
    after: Vec<u64>,
    before: Vec<u64>,
}

impl Order {
    /// The order of `count` numbers in which nothing comes before anything.
    pub(super) fn new(count: usize) -> Order {
        let words = count.div_ceil(64).max(1);
        Order { words, after: vec![0; words * count], before: vec![0; words * count] }
    }

    /// Whether `first` comes before `second`.
    #[inline]
    pub(super) fn has(&self, first: usize, second: usize) -> bool {
        self.after[first * self.words + second / 64] >> (second % 64) & 1 == 1
    }

    /// Puts `first` before `second`, and what follows from it. False if that is a cycle; the order must then not be used any more.
    pub(super) fn add(&mut self, first: usize, second: usize) -> bool {
        if first == second || self.has(second, first) {
            return false;
        }
        if self.has(first, second) {
            return true;
        }
        let (earlier, later) = (self.row(&self.before, first), self.row(&self.after, second));
        for number in members(&earlier) {
            join(&mut self.after[number * self.words..][..self.words], &later);
        }
        for number in members(&later) {
            join(&mut self.before[number * self.words..][..self.words], &earlier);
        }
        true
    }

    /// A row of bits with its own number added.
    fn row(&self, rows: &[u64], number: usize) -> Vec<u64> {
        let mut row = rows[number * self.words..][..self.words].to_vec();
        row[number / 64] |= 1 << (number % 64);
        row
    }

    /// The numbers in an order that respects this one: as early as possible, by number.
    pub(super) fn linearise(&self) -> Vec<usize> {
        let count = self.after.len() / self.words;
        let mut depth: Vec<(u32, usize)> = (0..count)
            .map(|number| {
                let row = &self.before[number * self.words..][..self.words];
                (row.iter().map(|word| word.count_ones()).sum(), number)
            })
            .collect();
        // What comes before something has fewer predecessors than it.
        depth.sort_unstable();
        depth.into_iter().map(|(_, number)| number).collect()
    }
}

fn join(row: &mut [u64], other: &[u64]) {
    row.iter_mut().zip(other).for_each(|(word, other)| *word |= other);
}

fn members(row: &[u64]) -> impl Iterator<Item = usize> {
    row.iter()
        .enumerate()
        .flat_map(|(at, &word)| (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| at * 64 + bit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_is_there_and_cycles_are_refused() {
        let mut order = Order::new(100);
        assert!(order.add(1, 70) && order.add(70, 3) && order.add(0, 1));
        assert!(order.has(0, 3) && order.has(1, 3) && !order.has(3, 0));
        let line = order.linearise();
        let place = |number| line.iter().position(|&one| one == number);
        assert!(place(0) < place(1) && place(1) < place(70) && place(70) < place(3));
        assert!(!order.add(3, 0));
    }
}
