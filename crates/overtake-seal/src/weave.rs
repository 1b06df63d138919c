//! Records of one loop become one.
//!
//! A loop over an array leaves several records: the first access of an instruction is a record of its own, a run ends when the recorder can no
//! longer be sure that it may go on, and a compiler that unrolls the loop makes several instructions of one, each of which accesses every
//! second, fourth or eighth element. If all of these were events, memory would be cut into elements, and the trace would have
//! an event for each. So records are joined when a part of a log has been read, in its bytes, before anybody looks at them:
//!
//!   J1  A run or access joins the last record of its instruction if it continues it at the same distance.
//!   J2  As many runs as fit into their distance, of neighbouring elements, are *woven*: they become one run without gaps.
//!   J3  A woven run joins the woven run of the same instructions that it continues.
//!   J4  What was written again, line by line, becomes one record if the records follow each other and the lines do.
//!
//! **Order.** A record moves to the place of the other only if none in between accesses the same bytes in a way that conflicts, and only
//! within a stretch of accesses, in which there is no synchronisation, no change of memory and no other call stack. So each byte sees the
//! same reads and writes in the same order.
//!
//! **Instructions.** A woven run has one instruction for each *lane*: of its elements, number `n` was accessed by lane `n` modulo the
//! number of lanes. The record has the place of the first lane; the other places are in the second word of a record that it made superfluous,
//! and the distance to that word is where other runs have their stride.
//!
//! **Form.** A superfluous record gets a code that no record has, and readers pass over it. Joined runs may have more
//! accesses than the recorder would put into one, see [`split`].
//!
//! **Cost.** One look at each record, and up to [`WINDOW`] bytes for each that joins another.

use overtake_rawlog::{BRIEF_ACQUIRE, LONGEST_RUN, RecordKind, VALUE_BITS, head, split_brief, split_run};

/// Records further apart are not joined.
const WINDOW: usize = 64 * 8;
/// Most lanes of a woven run: the places of all but the first fit into a word.
const MOST_LANES: usize = 8;
/// How many runs with gaps are remembered.
const RECENT: usize = 16;

/// In the second word of a run: 20 bits for the number of accesses, 4 for the number of lanes less one.
const COUNT_AT: u32 = 32;
const LANES_AT: u32 = 52;
const MOST_ACCESSES: u64 = (1 << (LANES_AT - COUNT_AT)) - 1;
/// Makes the code of a record one that no record has.
const SUPERFLUOUS: u64 = 1 << 63;
/// The bits of a record's first word that are the address.
const ADDRESS: u64 = (1 << VALUE_BITS) - 1;
/// The code of a run is that of its accesses, and this bit.
const RUN: u8 = 0x10;

/// Distance, number of accesses and number of lanes of a run of accesses of `size` bytes.
#[inline]
pub(crate) fn split(word: u64, size: u64) -> (i64, u64, usize) {
    let lanes = (word >> LANES_AT & 0xf) as usize + 1;
    let count = word >> COUNT_AT & MOST_ACCESSES;
    let (stride, recorded) = split_run(word);
    match lanes {
        1 if stride.unsigned_abs() == size => (stride, count, 1),
        1 => (stride, recorded.min(count), 1),
        _ => (size as i64, count, lanes),
    }
}

/// The places of the lanes of a woven run at `at`, in the order of addresses.
pub(crate) fn lanes(bytes: &[u8], at: usize) -> impl Iterator<Item = u8> {
    let run = Brief::at(bytes, at).filter(|run| run.lanes > 1);
    let further = run.map_or(0, |run| word(bytes, at.wrapping_add_signed(run.link as isize)));
    let number = run.map_or(1, |run| run.lanes.min(MOST_LANES));
    let first = run.map_or(0, |run| run.place);
    std::iter::once(first).chain((0..number - 1).map(move |lane| (further >> (8 * lane)) as u8))
}

/// Joins the records of a part of a log.
pub(crate) fn weave(bytes: &mut [u8]) {
    let mut weaver = Weaver {
        bytes,
        floor: 0,
        last: [Last::NONE; 256],
        last_woven: [None; 256],
        recent: [None; RECENT],
        oldest: 0,
        again: None,
    };
    let mut at = 0;
    while at + 8 <= weaver.bytes.len() {
        let first = word(weaver.bytes, at);
        at += match split_brief((first >> 56) as u8) {
            Some((_, false, _)) => weaver.single(at, first),
            Some((_, true, _)) => weaver.run(at),
            None => weaver.other(at, first),
        };
    }
}

/// An access or a run that has a brief record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Brief {
    at: usize,
    /// The code of one access.
    code: u8,
    place: u8,
    is_write: bool,
    is_run: bool,
    size: u64,
    /// Where the first access is.
    address: u64,
    stride: i64,
    count: u64,
    lanes: usize,
    /// For a woven run, the distance to the word with the places of its lanes.
    link: i32,
}

impl Brief {
    #[inline]
    fn at(bytes: &[u8], at: usize) -> Option<Brief> {
        let first = word(bytes, at);
        let code = (first >> 56) as u8;
        let (is_write, is_run, size) = split_brief(code)?;
        let (place, address) = ((first >> VALUE_BITS) as u8, first & ADDRESS);
        let second = if is_run { word(bytes, at + 8) } else { 0 };
        if second >> 56 != 0 || (is_run && at + 16 > bytes.len()) {
            return None;
        }
        let (stride, count, lanes) = if is_run { split(second, size) } else { (0, 1, 1) };
        let code = code & !RUN;
        Some(Brief {
            at,
            code,
            place,
            is_write,
            is_run,
            size,
            address,
            stride,
            count,
            lanes,
            link: second as i32,
        })
    }

    fn words(&self) -> usize {
        1 + usize::from(self.is_run)
    }

    /// Where an access would be that continues it.
    fn next(&self) -> u64 {
        self.address.wrapping_add_signed(self.stride.wrapping_mul(self.count as i64))
    }

    fn lowest(&self) -> u64 {
        match self.stride < 0 {
            true => self.next().wrapping_add_signed(-self.stride),
            false => self.address,
        }
    }

    fn end(&self) -> u64 {
        let rest = self.stride.unsigned_abs().wrapping_mul(self.count.saturating_sub(1));
        self.lowest().wrapping_add(rest).wrapping_add(self.size)
    }

    /// Whether there are bytes between its accesses.
    fn has_gaps(&self) -> bool {
        self.stride.unsigned_abs() != self.size
    }

    /// Whether it cannot change places with another: they access a byte, and one of them writes.
    fn conflicts_with(&self, other: &Brief) -> bool {
        // A single access is as a run of any stride.
        let stride = self.stride.unsigned_abs().max(other.stride.unsigned_abs());
        let has_stride = |one: &Brief| one.stride == 0 || one.stride.unsigned_abs() == stride;
        let are_apart = || {
            let distance = self.lowest().wrapping_sub(other.lowest()) as i64;
            let rest = distance.rem_euclid(stride as i64) as u64;
            has_stride(self) && has_stride(other) && rest >= other.size && stride - rest >= self.size
        };
        (self.is_write || other.is_write)
            && self.lowest() < other.end()
            && other.lowest() < self.end()
            && !(stride > 0 && are_apart())
    }
}

/// The last records of an instruction.
#[derive(Clone, Copy)]
struct Last {
    at: u32,
    before: u32,
    /// Where an access would be that continues the last one, if that is a run.
    next: u64,
}

impl Last {
    /// There is none: no part of a log has so many bytes, and no program such an address.
    const NONE: Last = Last { at: u32::MAX, before: u32::MAX, next: u64::MAX };
}

/// Records of bytes that were written again, which are or may become one.
#[derive(Clone, Copy)]
struct Again {
    /// Where the first is, and where the next must be.
    first: usize,
    until: usize,
    start: u64,
    end: u64,
    pc: u64,
}

struct Weaver<'a> {
    bytes: &'a mut [u8],
    /// Records before it join nothing: something else than an access has come since.
    floor: usize,
    /// The last records of each place, and where its last woven run is.
    last: [Last; 256],
    last_woven: [Option<u32>; 256],
    /// Where runs with gaps are.
    recent: [Option<u32>; RECENT],
    oldest: usize,
    again: Option<Again>,
}

impl Weaver<'_> {
    /// A single access, of which most join nothing. Returns how many bytes it has.
    #[inline]
    fn single(&mut self, at: usize, first: u64) -> usize {
        let place = usize::from((first >> VALUE_BITS) as u8);
        let last = &mut self.last[place];
        if last.next == first & ADDRESS && last.at as usize >= self.floor {
            self.take(at);
        } else {
            *last = Last { at: at as u32, before: last.at, next: u64::MAX };
        }
        8
    }

    fn run(&mut self, at: usize) -> usize {
        if self.take(at) { 16 } else { 8 }
    }

    /// Something else than a brief access. Returns how many bytes it has.
    #[inline]
    fn other(&mut self, at: usize, first: u64) -> usize {
        let code = (first >> 56) as u8;
        let words = match RecordKind::from_code(code) {
            Some(RecordKind::Place) => {
                let place = usize::from((first >> VALUE_BITS) as u8);
                (self.last[place], self.last_woven[place]) = (Last::NONE, None);
                return 8;
            }
            Some(kind) => {
                if kind == RecordKind::WriteAgain {
                    self.again(at, first & ADDRESS, u64::from((first >> VALUE_BITS) as u8));
                }
                kind.words()
            }
            // A word that was reserved and never filled.
            None if first == 0 => return 8,
            None if code == BRIEF_ACQUIRE => 2,
            None => 1,
        };
        self.floor = at + words * 8;
        words * 8
    }

    /// J4. Two such records have room for one that has a length; further ones only make it longer.
    fn again(&mut self, at: usize, address: u64, bytes: u64) {
        let pc = word(self.bytes, at + 8);
        match self.again {
            Some(Again { first, start, end, pc: same, until }) if (until, end, same) == (at, address, pc) => {
                set_word(self.bytes, at, 0);
                set_word(self.bytes, at + 8, 0);
                set_word(self.bytes, first, head(RecordKind::WriteAgainRange, 0, start));
                set_word(self.bytes, first + 16, address + bytes - start);
                self.again = Some(Again { first, start, end: address + bytes, pc, until: at + 16 });
            }
            _ => {
                let end = address + bytes;
                self.again = Some(Again { first: at, start: address, end, pc, until: at + 16 });
            }
        }
    }

    /// The record at a place that was noted before, if `later` may still join it.
    fn noted(&self, noted: Option<u32>, later: &Brief) -> Option<Brief> {
        let at = noted? as usize;
        let is_near = at >= self.floor && later.at.abs_diff(at) <= WINDOW;
        Brief::at(self.bytes, at).filter(|earlier| is_near && earlier.code == later.code)
    }

    /// Joins an access or a run to what it continues. False if there is none, because it is damaged.
    fn take(&mut self, at: usize) -> bool {
        let Some(brief) = Brief::at(self.bytes, at) else { return false };
        let place = usize::from(brief.place);
        let Last { at: last, before, .. } = self.last[place];
        let mut joined = brief;
        // An instruction that is new has two records before its run starts.
        for earlier in [last, before] {
            if let Some(earlier) = self.noted(Some(earlier), &joined)
                && earlier.place == brief.place
                && earlier.lanes == 1
                && earlier.at != joined.at
            {
                joined = self.join(earlier, joined);
            }
        }
        let before = if last as usize == joined.at { u32::MAX } else { last };
        let next = if joined.is_run { joined.next() & ADDRESS } else { u64::MAX };
        self.last[place] = Last { at: joined.at as u32, before, next };
        if brief.is_run && joined.has_gaps() && joined.count > 0 {
            self.recent[self.oldest] = Some(joined.at as u32);
            self.oldest = (self.oldest + 1) % RECENT;
            self.weave_around(joined);
        }
        true
    }

    /// J1: joins two records of an instruction if that can be. Returns what the last record is then.
    fn join(&mut self, earlier: Brief, later: Brief) -> Brief {
        let (stride, next) = match (earlier.is_run, later.is_run) {
            (true, _) => (earlier.stride, earlier.next()),
            (false, true) => (later.stride, earlier.address.wrapping_add_signed(later.stride)),
            (false, false) => return later,
        };
        let count = earlier.count + later.count;
        let most = if stride.unsigned_abs() == earlier.size { MOST_ACCESSES } else { LONGEST_RUN };
        if next != later.address || count > most || (later.is_run && later.stride != stride) {
            return later;
        }
        let joined = Brief { address: earlier.address, stride, count, is_run: true, ..later };
        if later.is_run && self.may_pass(&earlier, earlier.at, later.at) {
            self.remove(&earlier);
            return self.put(joined);
        }
        if earlier.is_run && self.may_pass(&later, earlier.at, later.at) {
            self.remove(&later);
            return self.put(Brief { at: earlier.at, ..joined });
        }
        later
    }

    /// J2: weaves the runs around one with gaps, if all of them are there.
    fn weave_around(&mut self, run: Brief) {
        let stride = run.stride.unsigned_abs();
        let lanes = (stride / run.size) as usize;
        if !stride.is_multiple_of(run.size) || !(2..=MOST_LANES).contains(&lanes) || run.count > LONGEST_RUN {
            return;
        }
        let mut found: Vec<Brief> = Vec::new();
        for recent in self.recent {
            let other = self.noted(recent, &run).filter(|other| {
                let is_alike = (other.stride, other.count, other.lanes) == (run.stride, run.count, 1);
                is_alike && other.is_run && other.lowest().abs_diff(run.lowest()) < stride
            });
            found.extend(other);
        }
        found.sort_unstable_by_key(Brief::lowest);
        let are_neighbours = |pair: &[Brief]| pair[0].lowest() + run.size == pair[1].lowest();
        let all = found.windows(lanes).find(|all| all.windows(2).all(are_neighbours) && all.contains(&run));
        if let Some(all) = all {
            self.weave_all(all, &run);
        }
    }

    /// J2, for all lanes, in the order of addresses. Reads go to the place of the first, writes to that of the last: in a loop that
    /// changes what it has read, they can do so.
    fn weave_all(&mut self, all: &[Brief], one: &Brief) {
        let places = all.iter().map(|run| run.at);
        let (first, last) = places.fold((one.at, one.at), |(first, last), at| (first.min(at), last.max(at)));
        let target = if one.is_write { last } else { first };
        let is_lane = |at: usize| all.iter().any(|run| run.at == at);
        let mut at = first;
        while at < last {
            let Some(other) = Brief::at(self.bytes, at) else {
                at += 8;
                continue;
            };
            at += other.words() * 8;
            let passes = |run: &&Brief| (run.at < other.at) != (target < other.at);
            if !is_lane(other.at) && all.iter().filter(passes).any(|run| run.conflicts_with(&other)) {
                return;
            }
        }
        let places = all[1..].iter().rev().fold(0, |places, run| places << 8 | u64::from(run.place));
        for run in all {
            self.last[usize::from(run.place)] = Last::NONE;
            self.remove(run);
        }
        let holder = all.iter().map(|run| run.at).find(|at| *at != target).unwrap_or(target) + 8;
        set_word(self.bytes, holder, places);
        let link = (holder as i64 - target as i64) as i32;
        let woven = Brief {
            at: target,
            address: all[0].lowest(),
            place: all[0].place,
            stride: one.size as i64,
            count: all.iter().map(|run| run.count).sum(),
            lanes: all.len(),
            link,
            ..*one
        };
        self.put(woven);
        let joined = self.join_woven(woven, places);
        self.last_woven[usize::from(joined.place)] = Some(joined.at as u32);
    }

    /// J3.
    fn join_woven(&mut self, later: Brief, places: u64) -> Brief {
        let Some(earlier) = self.noted(self.last_woven[usize::from(later.place)], &later) else {
            return later;
        };
        let count = earlier.count + later.count;
        let same_lanes = earlier.lanes == later.lanes && earlier.place == later.place;
        let continues = earlier.end() == later.address || later.end() == earlier.address;
        let holder = earlier.at.wrapping_add_signed(earlier.link as isize);
        let is_same = same_lanes && word(self.bytes, holder) == places;
        if !is_same || !continues || count > MOST_ACCESSES || !self.may_pass(&earlier, earlier.at, later.at) {
            return later;
        }
        self.remove(&earlier);
        self.put(Brief { address: earlier.address.min(later.address), count, ..later })
    }

    /// Whether an access conflicts with none that are behind `from` and before `to`.
    fn may_pass(&self, moved: &Brief, from: usize, to: usize) -> bool {
        let mut at = from;
        while at < to {
            let Some(other) = Brief::at(self.bytes, at) else {
                at += 8;
                continue;
            };
            at += other.words() * 8;
            if other.at != from && moved.conflicts_with(&other) {
                return false;
            }
        }
        true
    }

    fn remove(&mut self, brief: &Brief) {
        set_word(self.bytes, brief.at, word(self.bytes, brief.at) | SUPERFLUOUS);
        if brief.is_run {
            set_word(self.bytes, brief.at + 8, 0);
        }
    }

    /// Writes a run into the place of a record of two words.
    fn put(&mut self, run: Brief) -> Brief {
        let code = u64::from(run.code | RUN);
        let first = code << 56 | u64::from(run.place) << VALUE_BITS | run.address & ADDRESS;
        let low = if run.lanes > 1 { run.link } else { run.stride as i32 };
        let second = u64::from(low as u32) | run.count << COUNT_AT | (run.lanes as u64 - 1) << LANES_AT;
        set_word(self.bytes, run.at, first);
        set_word(self.bytes, run.at + 8, second);
        run
    }
}

#[inline]
fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |word| u64::from_le_bytes(*word))
}

fn set_word(bytes: &mut [u8], at: usize, word: u64) {
    if let Some(place) = bytes.get_mut(at..).and_then(<[u8]>::first_chunk_mut) {
        *place = word.to_le_bytes();
    }
}

#[cfg(test)]
mod tests;
