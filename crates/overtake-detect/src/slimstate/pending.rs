//! What a thread has accessed since its last synchronisation and no detector has judged yet.
//!
//! **State.** Per thread a list of arrays, and for each a few footprints of what the thread has read, and a few of what it has written. A loop
//! may walk along an array in several places at once: a merge reads two runs, a stencil three rows. An access that no footprint can take
//! begins another one; if there are enough, the one that was used least recently is judged instead.
//! **Runs.** Most accesses are the next step of a footprint, or repeat one that it has. Where variables are known to be elements in order, up to the end
//! of a page of them, the thread remembers which variable would be the next step, and only counts; the footprint is
//! brought up to date when it is looked at.
//! **Invariants.**
//!   I1  While a run has counted steps, its footprint is not looked at but to add them.
//!   I2  Variables of a run from `low` on, up to and without `next`, that are a multiple of its step from `low`, are in its footprint.
//! **Limits.** At most as many arrays per thread as `--commit-buffer` says; then all of them are judged.

use overtake_trace::VarId;
use rustc_hash::FxHashMap;

use super::footprint::{Footprint, NEAR, Taken};
use super::pages::Order;
use super::range::StridedRange;
use crate::access::At;

/// Most footprints of one kind on an array, unless the paper's are wanted: it has one.
pub(super) const MOST_STREAMS: usize = 4;

/// So much room is kept for the next time. A thread that once touched very many arrays need not keep room for them.
const KEPT: usize = 16;

/// So few arrays are looked through. More have an index.
const FEW: usize = 8;

/// No footprint.
const NONE: u32 = u32::MAX;

/// A footprint in its list.
#[derive(Debug)]
struct Stream {
    footprint: Footprint,
    writes: bool,
    /// When it was used last, by the clock of its thread.
    used: u32,
    /// The next one on the array.
    next: u32,
}

/// An array that has footprints.
#[derive(Debug)]
struct Touched {
    /// Which array, by its number among the shadows.
    shadow: u32,
    /// The first footprint.
    first: u32,
    /// The footprints that took the latest read and the latest write.
    latest: [u32; 2],
}

/// Steps of a footprint that are only counted.
#[derive(Clone, Copy, Default, Debug)]
struct Run {
    /// The first variable that may be met again.
    low: u32,
    /// The variable of the next step.
    next: u32,
    /// Variables from this one on are not known to be elements in order.
    end: u32,
    /// From variable to variable.
    step: u32,
    /// Bits that a multiple of the step has not; all if not every such number is one.
    mask: u32,
    /// The variable of the first step that was counted.
    from: u32,
    /// The row that all variables of the run are in.
    row: Option<u32>,
    /// The footprint.
    stream: u32,
}

/// How many arrays, and footprints of one kind on each, a thread may have.
#[derive(Clone, Copy, Debug)]
pub(super) struct Most {
    pub(super) arrays: usize,
    pub(super) streams: usize,
}

/// What became of an access.
#[derive(Debug)]
pub(super) enum Collected {
    /// It is in a footprint.
    Taken,
    /// It is in a footprint, in the place of this one, which has to be judged.
    Instead(Taken),
    /// No footprint can even begin: everything pending has to be judged.
    Full,
}

/// The footprints of one thread.
#[derive(Default, Debug)]
pub(super) struct Pending {
    /// The runs of reads, and the runs of writes.
    runs: [[Run; MOST_STREAMS]; 2],
    /// How many of them there are.
    running: [u8; 2],
    streams: Vec<Stream>,
    touched: Vec<Touched>,
    /// The array touched last, which is most often the next one too.
    latest: usize,
    /// Positions in `touched` by shadow.
    positions: FxHashMap<u32, u32>,
    /// Counts accesses that are no steps of runs.
    clock: u32,
}

impl Pending {
    /// Takes an access to a variable, which may be in a row, if it is the next step of a run, or in one already.
    #[inline(always)]
    pub(super) fn follow(&mut self, var: VarId, writes: bool, row: Option<u32>) -> bool {
        let kind = usize::from(writes);
        let running = usize::from(self.running[kind]).min(MOST_STREAMS);
        for run in &mut self.runs[kind][..running] {
            let (distance, reached) = (var.0.wrapping_sub(run.low), run.next.wrapping_sub(run.low));
            if distance < reached {
                if distance & run.mask == 0 {
                    return true; // I2
                }
            } else if distance == reached && (var.0 < run.end || (row.is_some() && row == run.row)) {
                run.next = run.next.wrapping_add(run.step);
                return true;
            }
        }
        false
    }

    /// Takes accesses to this many variables with consecutive numbers as far as they are the next steps of a run, or in one. Returns how many. They go to
    /// the run that would take them one by one.
    pub(super) fn follow_sweep(&mut self, var: VarId, count: u32, writes: bool) -> u32 {
        let kind = usize::from(writes);
        let mut most = count;
        for run in &mut self.runs[kind][..usize::from(self.running[kind])] {
            if run.low > var.0 {
                most = most.min(run.low - var.0);
            } else if run.next >= var.0 {
                if run.step != 1 {
                    return 0;
                }
                let taken = most.min(run.end.max(run.next) - var.0);
                run.next = run.next.max(var.0 + taken);
                return taken;
            }
        }
        0
    }

    /// Takes an access to element `index`, if it can. `ordered` is told how many elements came in order before, and says which variables from `var` on
    /// are elements in order.
    #[inline]
    pub(super) fn collect(
        &mut self,
        shadow: u32,
        (index, var): (u64, VarId),
        at: At,
        writes: bool,
        ordered: impl FnOnce(u32) -> Order,
        most: Most,
    ) -> Collected {
        let Some(position) = self.position(shadow, most.arrays) else { return Collected::Full };
        self.count_steps(writes);
        self.clock = self.clock.wrapping_add(1);
        // Most often it is the footprint that took the access before.
        let latest = self.touched[position].latest[usize::from(writes)];
        let goes_on = self.may_go_on(latest, index) && self.extend(latest, (index, var), at, writes);
        let (stream, before) = match goes_on {
            true => (latest, None),
            false if self.has(position, index, writes) => return Collected::Taken,
            false => self.take(position, (index, var), at, writes, most.streams),
        };
        self.streams[stream as usize].used = self.clock;
        self.touched[position].latest[usize::from(writes)] = stream;
        let Footprint { range, piece, .. } = &self.streams[stream as usize].footprint;
        if range.last == index {
            let order = ordered(piece.count);
            self.run_on(stream, var, writes, order);
        }
        before.map_or(Collected::Taken, Collected::Instead)
    }

    /// Whether a footprint has steps, of which an element may be a further one, or has just this element.
    #[inline]
    fn may_go_on(&self, number: u32, index: u64) -> bool {
        self.streams.get(number as usize).is_some_and(|stream| {
            let StridedRange { first, last, step } = stream.footprint.range;
            step > 0 && (first != last || first == index)
        })
    }

    /// Whether a footprint has an element.
    #[inline]
    fn has(&self, position: usize, index: u64, writes: bool) -> bool {
        let mut next = self.touched[position].first;
        while let Some(stream) = self.streams.get(next as usize) {
            let range = stream.footprint.range;
            if stream.writes == writes && range.step > 0 && range.contains(index) {
                return true;
            }
            next = stream.next;
        }
        false
    }

    /// Puts an access into a footprint. Returns which, and the footprint whose place it took.
    fn take(
        &mut self,
        position: usize,
        element: (u64, VarId),
        at: At,
        writes: bool,
        most: usize,
    ) -> (u32, Option<Taken>) {
        let latest = self.touched[position].latest[usize::from(writes)];
        let (numbers, count) = self.footprints_of(position, writes);
        let own = &numbers[..count];
        // It is a further step of a footprint.
        for &number in own {
            if self.may_go_on(number, element.0) && self.extend(number, element, at, writes) {
                return (number, None);
            }
        }
        // The second element decides about the steps. It is a near one, or the third has to be as far from it as it is from the first.
        let is_near =
            |&number: &u32| self.is_single(number) && self.range(number).first.abs_diff(element.0) <= NEAR;
        if let Some(number) = own.iter().copied().find(is_near)
            && self.extend(number, element, at, writes)
        {
            return (number, None);
        }
        if let Some(number) = self.join_singles(own, element, at, writes) {
            return (number, None);
        }
        if count < most {
            return (self.begin(position, element, at, writes), None);
        }
        if most == 1 && self.is_single(latest) && self.extend(latest, element, at, writes) {
            return (latest, None);
        }
        let age = |number: &u32| self.clock.wrapping_sub(self.streams[*number as usize].used);
        let oldest = own.iter().copied().max_by_key(age).unwrap_or(NONE);
        self.end_run(oldest, writes);
        let footprint = &mut self.streams[oldest as usize].footprint;
        let before = footprint.take();
        footprint.extend(element.0, element.1, at);
        (oldest, before)
    }

    /// Joins two footprints of one element each with an element that is as far from the one as that is from the other. Returns the footprint.
    fn join_singles(&mut self, own: &[u32], element: (u64, VarId), at: At, writes: bool) -> Option<u32> {
        let single = |index: u64| {
            own.iter().copied().find(|&number| self.is_single(number) && self.range(number).first == index)
        };
        let before = own.iter().copied().filter(|&number| self.is_single(number)).find_map(|second| {
            let between = self.range(second).first;
            let first = single(between.wrapping_sub(element.0.wrapping_sub(between)))?;
            (first != second).then_some((first, second))
        });
        let (first, second) = before?;
        self.end_run(second, writes);
        let between = self.streams[second as usize].footprint.take()?;
        self.streams[first as usize].footprint.append_single(&between);
        self.extend(first, element, at, writes).then_some(first)
    }

    /// Whether a footprint has one element.
    fn is_single(&self, number: u32) -> bool {
        self.streams.get(number as usize).is_some_and(|stream| {
            let StridedRange { first, last, step } = stream.footprint.range;
            first == last && step > 0
        })
    }

    /// Begins a footprint with an access.
    fn begin(&mut self, position: usize, (index, var): (u64, VarId), at: At, writes: bool) -> u32 {
        let mut next = self.touched[position].first;
        while let Some(stream) = self.streams.get_mut(next as usize) {
            // Two that were joined leave an empty one.
            if stream.writes == writes && stream.footprint.range.step == 0 {
                stream.footprint.extend(index, var, at);
                return next;
            }
            next = stream.next;
        }
        let mut footprint = Footprint::EMPTY;
        footprint.extend(index, var, at);
        self.add(position, footprint, writes)
    }

    fn add(&mut self, position: usize, footprint: Footprint, writes: bool) -> u32 {
        let number = self.streams.len() as u32;
        let touched = &mut self.touched[position];
        let next = std::mem::replace(&mut touched.first, number);
        self.streams.push(Stream { footprint, writes, used: self.clock, next });
        number
    }

    /// Adds an access to a footprint; false, without effect, if it does not fit.
    fn extend(&mut self, number: u32, (index, var): (u64, VarId), at: At, writes: bool) -> bool {
        let footprint = &mut self.streams[number as usize].footprint;
        let before = footprint.range;
        let fits = footprint.extend(index, var, at);
        if fits && footprint.range != before {
            self.end_run(number, writes);
        }
        fits
    }

    fn range(&self, number: u32) -> StridedRange {
        self.streams[number as usize].footprint.range
    }

    /// The footprints of one kind on an array that are not empty, and how many there are.
    fn footprints_of(&self, position: usize, writes: bool) -> ([u32; MOST_STREAMS], usize) {
        let (mut numbers, mut count) = ([NONE; MOST_STREAMS], 0);
        let mut next = self.touched[position].first;
        while let Some(stream) = self.streams.get(next as usize) {
            if stream.writes == writes && stream.footprint.range.step > 0 && count < MOST_STREAMS {
                numbers[count] = next;
                count += 1;
            }
            next = stream.next;
        }
        (numbers, count)
    }

    /// Brings the footprints of runs up to date (I1).
    #[inline]
    fn count_steps(&mut self, writes: bool) {
        let kind = usize::from(writes);
        for run in &mut self.runs[kind][..usize::from(self.running[kind])] {
            if run.next != run.from {
                let stream = &mut self.streams[run.stream as usize];
                let count = run.next.wrapping_sub(run.from) / run.step;
                stream.footprint.advance(VarId(run.from), run.step, count);
                stream.used = self.clock;
                run.from = run.next;
            }
        }
    }

    /// Ends the run of a footprint that is up to date.
    fn end_run(&mut self, number: u32, writes: bool) {
        let kind = usize::from(writes);
        let running = usize::from(self.running[kind]);
        let runs = &mut self.runs[kind][..running];
        if let Some(at) = runs.iter().position(|run| run.stream == number) {
            runs.swap(at, running - 1);
            self.running[kind] -= 1;
        }
    }

    /// Begins a run after the last element of a footprint, which is this variable.
    #[inline]
    fn run_on(&mut self, number: u32, var: VarId, writes: bool, order: Order) {
        let Footprint { range, piece, .. } = &self.streams[number as usize].footprint;
        let steps = range.step / order.distance;
        let step = u32::try_from(steps).ok().and_then(|steps| steps.checked_mul(order.stride));
        let (Some(step), Ok(index_step)) = (step, i32::try_from(range.step)) else { return };
        let Some(next) = var.0.checked_add(step).filter(|_| range.step.is_multiple_of(order.distance)) else {
            return;
        };
        let is_even = piece.count > 1 && (piece.index_step, piece.var_step) == (index_step, step);
        if order.end <= next && order.row.is_none() && !is_even {
            return;
        }
        let low = if is_even { piece.var } else { next };
        let mask = if step.is_power_of_two() { step - 1 } else { u32::MAX };
        self.end_run(number, writes);
        let kind = usize::from(writes);
        let running = usize::from(self.running[kind]);
        let place = if running < MOST_STREAMS { running } else { self.clock as usize % MOST_STREAMS };
        self.running[kind] = (running + 1).min(MOST_STREAMS) as u8;
        self.runs[kind][place] = {
            let Order { end, row, .. } = order;
            Run { low, next, end, step, mask, from: next, row, stream: number }
        };
    }

    /// Where an array is in the list. `None` if the buffer is full and has to be judged first.
    #[inline]
    fn position(&mut self, shadow: u32, most: usize) -> Option<usize> {
        if self.touched.get(self.latest).is_none_or(|touched| touched.shadow != shadow) {
            self.latest = self.find_position(shadow, most)?;
        }
        Some(self.latest)
    }

    #[inline(never)]
    fn find_position(&mut self, shadow: u32, most: usize) -> Option<usize> {
        let found = match self.touched.len() <= FEW {
            true => self.touched.iter().position(|touched| touched.shadow == shadow),
            false => self.positions.get(&shadow).map(|&position| position as usize),
        };
        if found.is_some() || self.touched.len() >= most {
            return found;
        }
        self.touched.push(Touched { shadow, first: NONE, latest: [NONE; 2] });
        if self.touched.len() > FEW {
            let unlisted = if self.positions.is_empty() { 0 } else { self.touched.len() - 1 };
            let listed = self.touched.iter().zip(0..).skip(unlisted);
            self.positions.extend(listed.map(|(touched, position)| (touched.shadow, position)));
        }
        Some(self.touched.len() - 1)
    }

    /// Takes a footprint out, with its array and whether it was written: last array first, and writes of an array first. After the last one there is nothing.
    pub(super) fn pop(&mut self) -> Option<(u32, bool, Taken)> {
        for writes in [false, true] {
            self.count_steps(writes);
        }
        self.running = [0; 2];
        while let Some(&Touched { shadow, first, .. }) = self.touched.last() {
            for writes in [true, false] {
                let mut next = first;
                while let Some(stream) = self.streams.get_mut(next as usize) {
                    next = stream.next;
                    if stream.writes == writes
                        && let Some(taken) = stream.footprint.take()
                    {
                        return Some((shadow, writes, taken));
                    }
                }
            }
            self.touched.pop();
        }
        self.streams.clear();
        self.positions.clear();
        if self.streams.capacity() > KEPT {
            self.streams.shrink_to(KEPT);
            self.touched.shrink_to(KEPT);
            self.positions.shrink_to(0);
        }
        None
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.touched.is_empty()
    }

    pub(super) fn heap_bytes(&self) -> usize {
        let pieces: usize = self.streams.iter().map(|stream| stream.footprint.heap_bytes()).sum();
        self.touched.capacity() * size_of::<Touched>()
            + self.streams.capacity() * size_of::<Stream>()
            + pieces
            + self.positions.capacity() * 2 * size_of::<u32>()
    }
}
