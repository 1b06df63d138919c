//! Strided ranges: `first`, `first + step`, ..., `last`.
//!
//! **Invariants.**
//!   I1  `first <= last`, `step >= 1`, and `step` divides `last - first`.
//!   I2  A range of one element has step 1, so that equal sets are equal values.

/// A non-empty set of indices at equal distances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct StridedRange {
    pub(super) first: u64,
    pub(super) last: u64,
    pub(super) step: u64,
}

impl StridedRange {
    /// One index.
    pub(super) fn single(index: u64) -> StridedRange {
        StridedRange { first: index, last: index, step: 1 }
    }

    /// All indices from `first` up to and without `end`; there is at least one.
    pub(super) fn interval(first: u64, end: u64) -> StridedRange {
        debug_assert!(first < end);
        StridedRange { first, last: end - 1, step: 1 }
    }

    /// How many indices it has.
    pub(super) fn len(&self) -> u64 {
        (self.last - self.first) / self.step + 1
    }

    /// Whether `index` is one of them.
    #[inline]
    pub(super) fn contains(&self, index: u64) -> bool {
        let is_whole = |distance: u64| match self.step.is_power_of_two() {
            true => distance & (self.step - 1) == 0, // a division takes long
            false => distance.is_multiple_of(self.step),
        };
        (self.first..=self.last).contains(&index) && is_whole(index - self.first)
    }

    /// The range with `index` added, if that is a strided range again.
    #[inline]
    pub(super) fn extended(self, index: u64) -> Option<StridedRange> {
        let StridedRange { first, last, step } = self;
        if self.contains(index) {
            return Some(self);
        }
        if first == last {
            let step = index.abs_diff(first);
            return Some(StridedRange { first: first.min(index), last: last.max(index), step });
        }
        if index > last && index - last == step {
            return Some(StridedRange { last: index, ..self });
        }
        if index < first && first - index == step {
            return Some(StridedRange { first: index, ..self });
        }
        if last - first == step && index.abs_diff(first) == index.abs_diff(last) {
            return Some(StridedRange { step: step / 2, ..self }); // halfway between two
        }
        None
    }

    /// The indices from `start` up to and without `end`, counted from `start`.
    pub(super) fn within(&self, start: u64, end: u64) -> Option<StridedRange> {
        let StridedRange { first, last, step } = *self;
        let skipped = start.saturating_sub(first).div_ceil(step);
        let from = skipped.checked_mul(step).and_then(|distance| first.checked_add(distance))?;
        let highest = last.min(end.checked_sub(1)?);
        if from > highest {
            return None;
        }
        let steps = (highest - from) / step;
        let step = if steps == 0 { 1 } else { step }; // I2
        Some(StridedRange { first: from - start, last: from - start + steps * step, step })
    }

    /// The indices, ascending.
    pub(super) fn iter(self) -> impl Iterator<Item = u64> {
        (0..self.len()).map(move |at| self.first + at * self.step)
    }
}
