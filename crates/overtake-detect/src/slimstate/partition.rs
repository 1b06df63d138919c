//! Divisions of an array into parts, and how a footprint refines them.
//!
//! A partition is *precise* for a set of indices if the set is a union of its parts. [`Partition::refine`] makes a partition
//! precise for a footprint by splitting parts, and leaves one that is precise already as it is. The rules and their order are
//! those of the paper's table; one is more general than printed (see rule 14). [`Partition::refine_further`] has more partitions to offer
//! before elements have to stand alone: strides that do not divide the length, and strides within blocks.

use super::range::StridedRange;

/// How the indices below a length are divided into parts, numbered from 0. Sizes of blocks divide the length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Partition {
    /// One part.
    Coarse,
    /// Each index by itself.
    Fine,
    /// Blocks of this many neighbours.
    Block(u64),
    /// Indices with the same remainder.
    Stride(u64),
    /// The indices below, and the rest.
    Split(u64),
    /// Each index below by itself, and the rest.
    Prefix(u64),
    /// Indices of one block with the same remainder. A block is at least as long as the stride.
    Grid {
        /// Length of a block.
        block: u64,
        /// What is divided by.
        stride: u64,
    },
}

use Partition::{Block, Coarse, Fine, Grid, Prefix, Split, Stride};

impl Partition {
    /// How many parts there are for an array of `length` elements.
    pub(super) fn parts(self, length: u64) -> u64 {
        match self {
            Coarse => 1,
            Fine => length,
            Block(size) => length / size,
            Stride(stride) => stride,
            Split(_) => 2,
            Prefix(end) => end + 1,
            Grid { block, stride } => length / block * stride,
        }
    }

    /// The part that `index` is in.
    #[inline]
    pub(super) fn part_of(self, index: u64) -> u64 {
        match self {
            Coarse => 0,
            Fine => index,
            Block(size) => index / size,
            Stride(stride) => index % stride,
            Split(at) => u64::from(index >= at),
            Prefix(end) => index.min(end),
            Grid { block, stride } => index / block * stride + index % stride,
        }
    }

    /// The indices of a part.
    pub(super) fn part(self, length: u64, part: u64) -> StridedRange {
        match self {
            Coarse => StridedRange::interval(0, length),
            Fine => StridedRange::single(part),
            Block(size) => StridedRange::interval(part * size, (part + 1) * size),
            Stride(stride) => every(part, length, stride),
            Split(at) if part == 0 => StridedRange::interval(0, at),
            Split(at) => StridedRange::interval(at, length),
            Prefix(end) if part < end => StridedRange::single(part),
            Prefix(end) => StridedRange::interval(end, length),
            Grid { block, stride } => {
                let start = part / stride * block;
                let to_remainder = (part % stride + stride - start % stride) % stride;
                every(start + to_remainder, start + block, stride)
            }
        }
    }

    /// The parts that make up a set of indices that the partition is precise for.
    pub(super) fn parts_in(self, set: StridedRange) -> StridedRange {
        let (first, last) = (self.part_of(set.first), self.part_of(set.last));
        match self {
            // The whole of each remainder class that the step reaches: all classes that are equal modulo the step.
            Stride(stride) => {
                let steps = (stride - 1 - set.first) / set.step;
                let step = if steps == 0 { 1 } else { set.step };
                StridedRange { first: set.first, last: set.first + steps * step, step }
            }
            // Blocks have as many parts as there are remainders, so the parts of a remainder are a stride apart.
            Grid { block, stride } => match set.step {
                1 => StridedRange {
                    first: first / stride * stride,
                    last: last / stride * stride + stride - 1,
                    step: 1,
                },
                step => every(
                    set.first / block * stride + set.first % step,
                    (set.last / block + 1) * stride,
                    step,
                ),
            },
            Fine | Prefix(_) if set.step > 1 => StridedRange { first, last, step: set.step },
            _ => StridedRange { first, last, step: 1 },
        }
    }

    /// The coarsest partition in reach that refines this one and is precise for the footprint `⟨b:e:k⟩`.
    pub(super) fn refine(self, length: u64, footprint: StridedRange) -> Partition {
        let (n, StridedRange { first: b, last: e, step: k }) = (length, footprint);
        let dense = k == 1;
        let every_kth = b < k && n - 1 < e.saturating_add(k);
        match self {
            Coarse if dense && b == 0 && e == n - 1 => Coarse, // 1
            Coarse if dense && b == 0 => Split(e + 1),         // 2
            Coarse if dense && e == n - 1 => Split(b),         // 3
            Coarse if dense && divisor(&[n, b, e + 1]) > 1 => Block(divisor(&[n, b, e + 1])), // 4
            Coarse if k > 1 && every_kth && n.is_multiple_of(k) => Stride(k), // 5
            Coarse if quarter(e, n) => Prefix(e + 1),          // 6
            Block(d) if dense && divisor(&[d, b, e + 1]) > 1 => Block(divisor(&[d, b, e + 1])), // 7
            Split(i) if dense && b == 0 && e == i - 1 => Split(i), // 8
            Split(i) if dense && b == i && e == n - 1 => Split(i), // 9
            Split(i) if dense && b == 0 && e == n - 1 => Split(i), // 10
            Split(i) if dense && divisor(&[n, i, b, e + 1]) > 1 => Block(divisor(&[n, i, b, e + 1])), // 11
            Split(i) if quarter(i.max(e), n) => Prefix(i.max(e) + 1), // 12
            Stride(s) if every_kth => match common_multiple(k, s).filter(|&m| n.is_multiple_of(m)) {
                Some(multiple) if multiple > 1 => Stride(multiple), // 13
                _ => Fine,                                          // 17
            },
            // 14, which the paper has for b = i only; a footprint that begins earlier is a union of parts as well.
            Prefix(i) if dense && b <= i && e == n - 1 => Prefix(i),
            Prefix(i) if e < i => Prefix(i),                           // 15
            Prefix(_) if e.saturating_mul(2) < n - 1 => Prefix(2 * e), // 16
            _ => Fine,                                                 // 17
        }
    }
}

impl Partition {
    /// As [`Partition::refine`], but with partitions that the paper does not have where its own would let elements stand alone: blocks, strides, and strides within
    /// blocks, for footprints that are every `k`th element of some blocks.
    pub(super) fn refine_further(self, length: u64, footprint: StridedRange) -> Partition {
        let (n, StridedRange { first: b, last: e, step: k }) = (length, footprint);
        let (block, stride) = match self {
            Coarse => (n, 1),
            Block(block) => (block, 1),
            Stride(stride) => (n, stride),
            Split(at) => (divisor(&[n, at]), 1),
            Grid { block, stride } => (block, stride),
            Fine | Prefix(_) => return self.refine(length, footprint),
        };
        if !matches!(self, Grid { .. }) {
            let refined = self.refine(length, footprint);
            if !matches!(refined, Fine | Prefix(_)) {
                return refined;
            }
        }
        let (start, end) = (b - b % k, (e - b % k).saturating_add(k).min(n));
        let block = divisor(&[block, start, end]);
        match common_multiple(stride, k) {
            Some(stride) if block == n && stride < n => Stride(stride),
            Some(1) if block > 1 => Block(block),
            Some(stride) if stride <= block => Grid { block, stride },
            _ => Fine,
        }
    }

    /// The parts with indices that `unit` does not divide.
    pub(super) fn parts_beside(self, unit: u64, length: u64) -> impl Iterator<Item = u64> {
        let stride = match self {
            Stride(stride) | Grid { stride, .. } if stride.is_multiple_of(unit) => Some(stride),
            _ => None,
        };
        let is_beside = move |part: &u64| stride.is_none_or(|stride| !(part % stride).is_multiple_of(unit));
        (0..self.parts(length)).filter(is_beside)
    }

    /// Partitions with fewer parts that this one refines, the coarsest first.
    pub(super) fn coarser(self) -> impl Iterator<Item = Partition> {
        let (one, others) = match self {
            Block(_) | Stride(_) | Split(_) => (Some(Coarse), [None, None]),
            Grid { block, stride } => (Some(Coarse), [Some(Stride(stride)), Some(Block(block))]),
            Coarse | Fine | Prefix(_) => (None, [None, None]),
        };
        one.into_iter().chain(others.into_iter().flatten())
    }
}

/// Every `step`th index from `first` up to and without `end`; there is at least one.
fn every(first: u64, end: u64, step: u64) -> StridedRange {
    let steps = (end - 1 - first) / step;
    let step = if steps == 0 { 1 } else { step };
    StridedRange { first, last: first + steps * step, step }
}

/// Whether `index` is in the first quarter: worth a prefix.
fn quarter(index: u64, length: u64) -> bool {
    index.saturating_mul(4) < length
}

/// The greatest common divisor; 0 is divisible by everything.
fn divisor(numbers: &[u64]) -> u64 {
    numbers.iter().fold(0, |divisor, &number| {
        let (mut a, mut b) = (divisor, number);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

fn common_multiple(a: u64, b: u64) -> Option<u64> {
    (a / divisor(&[a, b])).checked_mul(b)
}
