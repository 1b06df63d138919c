//! Which thread accesses which elements of an array in which phase.
//!
//! A pattern is a pure function: the work of a thread in a phase is a sequence of parts, each a strided range of one array.
//! In every phase, parts of different threads that overlap are only read. So with a barrier between phases nothing races.

/// How programs walk over arrays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Pattern {
    /// One thread writes the whole array, then all read the whole of it.
    Whole,
    /// Two threads write one half each, then everybody reads one half.
    Halves,
    /// Every thread updates a block of its own, then reads its neighbour's.
    Blocks,
    /// Every thread updates every T-th element, then reads those of its neighbour.
    Strided,
    /// Buffers of which only the beginning is used: one thread fills it, then all read it.
    Prefix,
    /// A matrix, diagonal after diagonal: each element is computed from those above and to the left.
    Wavefront,
    /// The lower triangle of a matrix; the rows are distributed among the threads.
    Triangular,
    /// Elements in random order; which thread owns which element is random as well.
    Random,
    /// A few scattered elements of a large array.
    Sparse,
    /// Arrays without known length that are filled from the beginning and read as far as they are filled.
    Grow,
}

/// The size of the problem.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Extent {
    pub(crate) threads: u64,
    pub(crate) arrays: u64,
    /// Elements per array.
    pub(crate) length: u64,
    /// Multiplier of a permutation of the elements: coprime to `length`.
    pub(crate) scatter: u64,
}

/// What is done to each element of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Use {
    Read,
    Write,
    /// Read, then written.
    Update,
    /// The elements at these distances before it are read, then it is written; 0 for none.
    Stencil(u64, u64),
}

impl Use {
    /// How many events an element takes.
    pub(crate) fn events(self) -> u64 {
        match self {
            Use::Read | Use::Write => 1,
            Use::Update => 2,
            Use::Stencil(above, left) => 1 + u64::from(above > 0) + u64::from(left > 0),
        }
    }
}

/// A strided range of one array: `first`, `first + step`, ... below `end`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Part {
    pub(crate) array: u64,
    pub(crate) first: u64,
    pub(crate) end: u64,
    pub(crate) step: u64,
    pub(crate) usage: Use,
}

/// Buffers of the prefix pattern and arrays of the growing one.
const MANY_ARRAYS: u64 = 16;
/// The sparse pattern uses one element of this many.
const SPARSENESS: u64 = 64;
/// Elements that a growing array gains at a time.
const GROWTH: u64 = 64;

impl Pattern {
    /// How many arrays the elements are divided into.
    pub(crate) fn arrays(self) -> u64 {
        match self {
            Pattern::Prefix | Pattern::Grow => MANY_ARRAYS,
            _ => 1,
        }
    }

    /// Whether the arrays' lengths are known from the start.
    pub(crate) fn has_length(self) -> bool {
        self != Pattern::Grow
    }

    /// How many of `elements` an array really has: matrices are square.
    pub(crate) fn length(self, elements: u64) -> u64 {
        match self {
            Pattern::Wavefront | Pattern::Triangular => elements.isqrt().pow(2),
            _ => elements,
        }
    }

    /// The `number`-th part of a thread's work in a phase, until there is none.
    pub(crate) fn part(self, extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
        match self {
            Pattern::Whole => whole(extent, phase, thread, number),
            Pattern::Halves => halves(extent, phase, thread, number),
            Pattern::Blocks => blocks(extent, phase, thread, number),
            Pattern::Strided => strided(extent, phase, thread, number),
            Pattern::Prefix => prefix(extent, phase, thread, number),
            Pattern::Wavefront => wavefront(extent, phase, thread, number),
            Pattern::Triangular => triangular(extent, phase, thread, number),
            Pattern::Random => scattered(extent, phase, thread, number, extent.length),
            Pattern::Sparse => scattered(extent, phase, thread, number, extent.length.div_ceil(SPARSENESS)),
            Pattern::Grow => grow(extent, phase, thread, number),
        }
    }
}

fn range(array: u64, first: u64, end: u64, usage: Use) -> Option<Part> {
    (first < end).then_some(Part { array, first, end, step: 1, usage })
}

fn whole(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let writing = phase.is_multiple_of(2);
    if number > 0 || (writing && thread != phase / 2 % extent.threads) {
        return None;
    }
    range(0, 0, extent.length, if writing { Use::Write } else { Use::Read })
}

fn halves(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let middle = extent.length / 2;
    let writing = phase.is_multiple_of(2);
    // In a writing phase two neighbours take one half each; a single thread takes both.
    let rank = (thread + phase / 2) % extent.threads;
    let half = if writing { rank + number } else { (rank + number) % 2 };
    let parts = if extent.threads == 1 { 2 } else { 1 };
    if number >= parts || half >= 2 {
        return None;
    }
    let usage = if writing { Use::Write } else { Use::Read };
    let (first, end) = if half == 0 { (0, middle) } else { (middle, extent.length) };
    range(0, first, end, usage)
}

fn blocks(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let writing = phase.is_multiple_of(2);
    let block = if writing { thread } else { (thread + 1) % extent.threads };
    let size = extent.length.div_ceil(extent.threads);
    let (first, end) = (block * size, ((block + 1) * size).min(extent.length));
    if number > 0 {
        return None;
    }
    range(0, first, end, if writing { Use::Update } else { Use::Read })
}

fn strided(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let writing = phase.is_multiple_of(2);
    let first = if writing { thread } else { (thread + 1) % extent.threads };
    let usage = if writing { Use::Update } else { Use::Read };
    let part = Part { array: 0, first, end: extent.length, step: extent.threads, usage };
    (number == 0 && first < extent.length).then_some(part)
}

fn prefix(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let fill = phase / 2;
    let array = fill % extent.arrays;
    // Between one element and just under a quarter of the buffer, differently each time.
    let used = 1 + (fill * 7919) % (extent.length / 4).max(1);
    let writing = phase.is_multiple_of(2);
    if number > 0 || (writing && thread != fill % extent.threads) {
        return None;
    }
    range(array, 0, used.min(extent.length), if writing { Use::Write } else { Use::Read })
}

fn wavefront(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let width = extent.length.isqrt();
    let diagonal = phase % (2 * width).saturating_sub(1).max(1);
    let first_row = (diagonal + 1).saturating_sub(width);
    // This thread takes its first row of this diagonal, then every T-th.
    let offset = (thread + extent.threads - first_row % extent.threads) % extent.threads;
    let row = first_row + offset + number * extent.threads;
    let column = diagonal.checked_sub(row)?;
    if row >= width {
        return None;
    }
    let above = if row > 0 { width } else { 0 };
    let left = u64::from(column > 0);
    let at = row * width + column;
    range(0, at, at + 1, Use::Stencil(above, left))
}

fn triangular(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let width = extent.length.isqrt();
    let row = thread + number * extent.threads;
    if row >= width {
        return None;
    }
    if phase.is_multiple_of(2) {
        return range(0, row * width, row * width + row + 1, Use::Update);
    }
    // A column: the diagonal and what is below it.
    Some(Part { array: 0, first: row * width + row, end: extent.length, step: width, usage: Use::Read })
}

/// Single elements in an irregular order: element `scatter·k mod length` for each k that belongs to the thread.
fn scattered(extent: &Extent, phase: u64, thread: u64, number: u64, used: u64) -> Option<Part> {
    let rank = (thread + phase) % extent.threads + number * extent.threads;
    if rank >= used {
        return None;
    }
    let at = (rank + phase / extent.threads * 31) % extent.length * extent.scatter % extent.length;
    range(0, at, at + 1, if phase.is_multiple_of(3) { Use::Update } else { Use::Read })
}

fn grow(extent: &Extent, phase: u64, thread: u64, number: u64) -> Option<Part> {
    let step = phase / 2;
    let array = step % extent.arrays;
    let chunks = extent.length.div_ceil(GROWTH).max(1);
    let chunk = step / extent.arrays % chunks; // starting over when the array is full
    let end = ((chunk + 1) * GROWTH).min(extent.length);
    let writing = phase.is_multiple_of(2);
    if number > 0 || (writing && thread != step % extent.threads) {
        return None;
    }
    if writing {
        return range(array, chunk * GROWTH, end, Use::Write);
    }
    // Readers read the last few chunks, not the whole array.
    range(array, chunk.saturating_sub(3) * GROWTH, end, Use::Read)
}
