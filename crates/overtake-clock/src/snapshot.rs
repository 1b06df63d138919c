//! Immutable clocks, shared by number.
//!
//! **State.** Chunks of 32-bit words. A snapshot is a header of two words (length, references) and its components; its
//! id is its position in units of four words, so that reading it is one look-up, and header and components share a
//! cache line. Freed places form a linked list for each size; their first word is the link.
//! **Invariants.**
//!   I1  As in `vector.rs`, the last component of a snapshot is not 0.
//!   I2  A snapshot with references is never changed nor moved.
//! **Cost.** O(length) to make, O(1) to share and to give back. 8 bytes plus 4 per component, rounded up to 16.

use crate::epoch::{Epoch, Time};
use crate::vector::VectorClock;

/// A snapshot's number. Only the [`Snapshots`] that made it can read it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[repr(transparent)]
pub struct SnapshotId(u32);

impl SnapshotId {
    /// The clock that knows nothing. It always exists and is not counted.
    pub const EMPTY: SnapshotId = SnapshotId(0);
}

impl Default for SnapshotId {
    fn default() -> Self {
        SnapshotId::EMPTY
    }
}

/// The clock of one event: `snapshot`, with the component of the event's own thread raised to its time.
///
/// The clock of a thread only grows. So a clock that covers `epoch` because it joined a stamp covers the whole stamp, provided that the
/// thread's time advanced after the stamp was handed out (see [`ThreadClock::publish`](crate::ThreadClock::publish)).
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Stamp {
    /// What the thread had learned from others.
    pub snapshot: SnapshotId,
    /// The thread and its own time.
    pub epoch: Epoch,
}

const _: () = assert!(size_of::<Stamp>() == 12);

const UNIT_WORDS: usize = 4;
const HEADER_WORDS: usize = 2;
const LENGTH: usize = 0;
const REFERENCES: usize = 1;
/// Units in a chunk: 256 KiB, so that growing never copies more than that.
const CHUNK_UNITS: usize = 1 << 14;
/// Each size up to this many units has its own free list. Larger sizes have four lists per power of two.
const EXACT_SIZES: usize = 16;
/// The end of a free list. Position 0 is the empty snapshot, which is never freed.
const END_OF_LIST: u32 = 0;

/// A store of immutable clocks.
///
/// Snapshots are counted: each kept [`SnapshotId`] owns one reference. [`insert`](Self::insert) hands out the first,
/// [`retain`](Self::retain) makes one more, [`release`](Self::release) gives one back, and the last one frees the place.
/// For a user who never releases, the store only grows.
#[derive(Debug)]
pub struct Snapshots {
    chunks: Vec<Vec<u32>>,
    /// The chunk that new snapshots are appended to.
    open: usize,
    /// First freed place of each size class.
    free: Vec<u32>,
    live: usize,
    /// Words in all chunks but the open one.
    closed_words: usize,
}

impl Default for Snapshots {
    fn default() -> Self {
        Snapshots::new()
    }
}

impl Snapshots {
    /// A store with nothing but the empty snapshot.
    pub fn new() -> Snapshots {
        Snapshots { chunks: vec![vec![0; UNIT_WORDS]], open: 0, free: Vec::new(), live: 0, closed_words: 0 }
    }

    /// The components of a snapshot, up to the highest thread it knows.
    #[inline]
    pub fn times(&self, id: SnapshotId) -> &[Time] {
        let (chunk, start) = place(id);
        let words = &self.chunks[chunk][start..];
        &words[HEADER_WORDS..HEADER_WORDS + words[LENGTH] as usize]
    }

    /// The time of `thread` in a snapshot.
    #[inline]
    pub fn get(&self, id: SnapshotId, thread: u32) -> Time {
        self.times(id).get(thread as usize).copied().unwrap_or(0)
    }

    /// The time of `thread` in the clock that `stamp` stands for.
    #[inline]
    pub fn time_in(&self, stamp: Stamp, thread: u32) -> Time {
        if thread == stamp.epoch.thread { stamp.epoch.time } else { self.get(stamp.snapshot, thread) }
    }

    /// Joins the clock that `stamp` stands for into `clock`. Returns whether anything was new.
    #[inline]
    pub fn join_into(&self, clock: &mut VectorClock, stamp: Stamp) -> bool {
        let learned = clock.join(self.times(stamp.snapshot));
        clock.raise(stamp.epoch) | learned
    }

    /// Stores the components of a clock. The caller owns the one reference.
    #[inline]
    pub fn insert(&mut self, times: &[Time]) -> SnapshotId {
        debug_assert!(times.last() != Some(&0), "I1");
        if times.is_empty() {
            return SnapshotId::EMPTY;
        }
        self.live += 1;
        let units = units_for(times.len());
        let id = self.take_free(units).unwrap_or_else(|| self.append(units));
        let (chunk, start) = place(id);
        let words = &mut self.chunks[chunk][start..start + units * UNIT_WORDS];
        words[LENGTH] = times.len() as u32;
        words[REFERENCES] = 1;
        words[HEADER_WORDS..HEADER_WORDS + times.len()].copy_from_slice(times);
        id
    }

    /// Gives one reference to `old` back and stores the components of a clock, if possible in the same place.
    /// The caller owns the one reference.
    #[inline]
    pub(crate) fn replace(&mut self, old: SnapshotId, times: &[Time]) -> SnapshotId {
        debug_assert!(times.last() != Some(&0), "I1");
        let (chunk, start) = place(old);
        let words = &mut self.chunks[chunk][start..];
        if words[REFERENCES] == 1 && words[LENGTH] as usize == times.len() {
            words[HEADER_WORDS..HEADER_WORDS + times.len()].copy_from_slice(times);
            return old;
        }
        self.release(old);
        self.insert(times)
    }

    /// As [`replace`](Self::replace), but the caller owns two references.
    #[inline]
    pub(crate) fn replace_by_two(&mut self, old: SnapshotId, times: &[Time]) -> SnapshotId {
        debug_assert!(times.last() != Some(&0), "I1");
        let (chunk, start) = place(old);
        let words = &mut self.chunks[chunk][start..];
        if words[REFERENCES] == 1 && words[LENGTH] as usize == times.len() {
            words[REFERENCES] = 2;
            words[HEADER_WORDS..HEADER_WORDS + times.len()].copy_from_slice(times);
            return old;
        }
        self.release(old);
        let id = self.insert(times);
        self.retain(id);
        id
    }

    /// Makes one more reference.
    #[inline]
    pub fn retain(&mut self, id: SnapshotId) {
        if id != SnapshotId::EMPTY {
            let (chunk, start) = place(id);
            let references = &mut self.chunks[chunk][start + REFERENCES];
            debug_assert!(*references > 0, "retained a snapshot that was freed");
            // A count that reaches the top stays there: the snapshot is then never freed.
            *references = references.saturating_add(1);
        }
    }

    /// Gives one reference back. The last one frees the place.
    #[inline]
    pub fn release(&mut self, id: SnapshotId) {
        if id == SnapshotId::EMPTY {
            return;
        }
        let (chunk, start) = place(id);
        let references = &mut self.chunks[chunk][start + REFERENCES];
        debug_assert!(*references > 0, "released a snapshot that was freed");
        if *references == u32::MAX {
            return;
        }
        *references -= 1;
        if *references == 0 {
            self.put_free(id);
        }
    }

    /// The number of snapshots with references.
    pub fn live(&self) -> usize {
        self.live
    }

    /// Bytes on the heap, freed places included.
    pub fn heap_bytes(&self) -> usize {
        (self.closed_words + self.chunks[self.open].capacity()) * size_of::<u32>()
            + self.chunks.capacity() * size_of::<Vec<u32>>()
            + self.free.capacity() * size_of::<u32>()
    }

    #[inline]
    fn take_free(&mut self, units: usize) -> Option<SnapshotId> {
        let head = self.free.get_mut(size_class(units))?;
        if *head == END_OF_LIST {
            return None;
        }
        let id = SnapshotId(*head);
        let (chunk, start) = place(id);
        *head = self.chunks[chunk][start];
        Some(id)
    }

    fn put_free(&mut self, id: SnapshotId) {
        self.live -= 1;
        let (chunk, start) = place(id);
        let words = &mut self.chunks[chunk][start..];
        let class = size_class(units_for(words[LENGTH] as usize));
        if class >= self.free.len() {
            self.free.resize(class + 1, END_OF_LIST);
        }
        words[0] = std::mem::replace(&mut self.free[class], id.0);
    }

    #[cold]
    fn append(&mut self, units: usize) -> SnapshotId {
        let words = units * UNIT_WORDS;
        if self.chunks[self.open].len() + words > CHUNK_UNITS * UNIT_WORDS {
            self.closed_words += self.chunks[self.open].capacity();
            self.open = self.chunks.len();
            // A snapshot longer than a chunk gets a chunk of its own length, which uses the numbers of several chunks.
            self.chunks.resize_with(self.open + units.div_ceil(CHUNK_UNITS), Vec::new);
        }
        let chunk = &mut self.chunks[self.open];
        let unit = self.open * CHUNK_UNITS + chunk.len() / UNIT_WORDS;
        chunk.resize(chunk.len() + words, 0);
        SnapshotId(u32::try_from(unit).expect("fewer than 2^32 units: 64 GiB of clocks"))
    }
}

#[inline]
fn place(id: SnapshotId) -> (usize, usize) {
    let unit = id.0 as usize;
    (unit / CHUNK_UNITS, unit % CHUNK_UNITS * UNIT_WORDS)
}

/// The units that this many components take. Small sizes are exact; larger ones are rounded up to one of four steps per power of two.
#[inline]
fn units_for(components: usize) -> usize {
    let units = (HEADER_WORDS + components).div_ceil(UNIT_WORDS);
    if units <= EXACT_SIZES { units } else { units.next_multiple_of(step(units)) }
}

/// The free list of a rounded size.
#[inline]
fn size_class(units: usize) -> usize {
    if units <= EXACT_SIZES {
        return units;
    }
    let octave = (units - 1).ilog2() as usize; // 16 < units <= 32 is octave 4
    EXACT_SIZES + (octave - 4) * 4 + (units - (1 << octave)).div_ceil(step(units))
}

/// A quarter of the power of two below `units`.
#[inline]
fn step(units: usize) -> usize {
    1 << ((units - 1).ilog2() - 2)
}
