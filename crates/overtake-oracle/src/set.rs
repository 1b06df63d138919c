//! Sets of positions, and the transitive closure of relations that point forward.

/// A set of positions below a fixed bound.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Set {
    words: Vec<u64>,
}

impl Set {
    /// The empty set of positions below `bound`.
    pub(crate) fn new(bound: usize) -> Set {
        Set { words: vec![0; bound.div_ceil(64)] }
    }

    pub(crate) fn insert(&mut self, at: usize) {
        self.words[at / 64] |= 1 << (at % 64);
    }

    pub(crate) fn contains(&self, at: usize) -> bool {
        self.words[at / 64] & (1 << (at % 64)) != 0
    }

    /// Whether some position is in both.
    pub(crate) fn meets(&self, other: &Set) -> bool {
        self.words.iter().zip(&other.words).any(|(word, other)| word & other != 0)
    }

    pub(crate) fn union(&mut self, other: &Set) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }
}

/// For every position, what is before or at it: the reflexive and transitive closure of the edges `i → j`, `i < j`, that
/// `sources` lists for each target `j`.
///
/// One pass suffices: every edge into a position comes from a smaller one, whose row is complete.
pub(crate) fn before_or_at(count: usize, mut sources: impl FnMut(usize, &mut Vec<usize>)) -> Vec<Set> {
    let mut rows: Vec<Set> = Vec::with_capacity(count);
    let mut edges = Vec::new();
    for target in 0..count {
        edges.clear();
        sources(target, &mut edges);
        let mut row = Set::new(count);
        row.insert(target);
        for &source in &edges {
            debug_assert!(source < target);
            row.union(&rows[source]);
        }
        rows.push(row);
    }
    rows
}
