//! Elements of an array that race together.

use overtake_trace::ArrayId;
use rustc_hash::FxHashMap;

/// Elements of an array that race together: `first`, `first + step`, ... below `end`.
///
/// The accesses of such a race are to the first element. The same threads race on each of the other elements in the same regions:
/// between its accesses a thread makes nothing known (it releases no lock, posts nothing, forks no thread), so no other thread
/// learns of one access without the others.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Extent {
    /// The array.
    pub array: ArrayId,
    /// Index of the first element.
    pub first: u64,
    /// No element has this index or a higher one.
    pub end: u64,
    /// From element to element, at least 1.
    pub step: u64,
}

impl Extent {
    /// How many elements it has.
    pub fn elements(&self) -> u64 {
        self.end.saturating_sub(self.first).div_ceil(self.step)
    }
}

/// The union of many extents, for looking up elements.
pub(crate) struct ExtentSet {
    by_array: FxHashMap<ArrayId, Strides>,
}

/// By step and remainder, disjoint intervals in ascending order.
type Strides = FxHashMap<u64, FxHashMap<u64, Vec<(u64, u64)>>>;

impl ExtentSet {
    pub(crate) fn new(extents: impl Iterator<Item = Extent>) -> ExtentSet {
        let mut by_array: FxHashMap<ArrayId, Strides> = FxHashMap::default();
        for Extent { array, first, end, step } in extents {
            let strides = by_array.entry(array).or_default();
            strides.entry(step).or_default().entry(first % step).or_default().push((first, end));
        }
        let lists = by_array.values_mut().flat_map(|strides| strides.values_mut());
        lists.flat_map(|remainders| remainders.values_mut()).for_each(unite);
        ExtentSet { by_array }
    }

    pub(crate) fn contains(&self, array: ArrayId, index: u64) -> bool {
        self.by_array.get(&array).is_some_and(|strides| {
            strides.iter().any(|(step, remainders)| {
                remainders.get(&(index % step)).is_some_and(|intervals| covers(intervals, index))
            })
        })
    }
}

/// Sorts intervals and merges those that overlap or touch.
fn unite(intervals: &mut Vec<(u64, u64)>) {
    intervals.sort_unstable();
    intervals.dedup_by(|(first, end), (_, before_end)| {
        let touches = first <= before_end;
        if touches {
            *before_end = (*before_end).max(*end);
        }
        touches
    });
}

fn covers(intervals: &[(u64, u64)], index: u64) -> bool {
    let after = intervals.partition_point(|&(first, _)| first <= index);
    after.checked_sub(1).is_some_and(|at| index < intervals[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_union_has_the_elements_of_each() {
        let array = ArrayId(3);
        let extents = [(0, 9, 2), (4, 6, 1), (6, 8, 1), (1, 20, 5), (30, 31, 1), (12, 19, 2)]
            .map(|(first, end, step)| Extent { array, first, end, step });
        let set = ExtentSet::new(extents.into_iter());
        for index in 0..40 {
            let within = |extent: &Extent| {
                (extent.first..extent.end).step_by(extent.step as usize).any(|element| element == index)
            };
            assert_eq!(set.contains(array, index), extents.iter().any(within), "{index}");
        }
        assert!(!set.contains(ArrayId(2), 0));
        assert_eq!(extents.map(|extent| extent.elements()), [5, 2, 2, 4, 1, 4]);
    }
}
