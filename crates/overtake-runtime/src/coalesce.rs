//! Which bytes this thread has already recorded since its last synchronisation.
//!
//! Between two synchronisation operations of a thread (a *region*) an access that repeats an earlier one of the same kind to the
//! same bytes races with whatever the earlier one races with, so it need not be recorded. A direct-mapped table has a slot
//! per cache line: which bytes were accessed, which were written, and which were written again after their recorded
//! write. The last must be known to prediction, because a later reader sees the *last* write and depends on everything
//! before it: such bytes get one closing write when the region ends.
//!
//! **Invariants.**
//!   C1  A slot speaks of the current region only if its key holds the region's number; numbers are not reused
//!       without clearing the table.
//!   C2  Every slot of the current region with `rewritten` bytes is in `dirty`, or its closing write is in the log.

use core::cell::Cell;

use crate::sys;

/// Bytes per slot.
pub(crate) const LINE_BYTES: usize = 64;
const LINE_BITS: u32 = 6;
/// Line addresses take the low 42 bits of a key, the region's number the rest.
const REGION_SHIFT: u32 = 48 - LINE_BITS;

const FIRST_SLOTS: usize = 1 << 10;
const MOST_SLOTS: usize = 1 << 16;
const DIRTY_SLOTS: usize = 256;

#[derive(Clone, Copy)]
#[repr(C, align(32))]
pub(crate) struct Slot {
    key: u64,
    accessed: u64,
    written: u64,
    rewritten: u64,
}

pub(crate) struct Coalescer {
    slots: Cell<*mut Slot>,
    mask: Cell<u64>,
    /// The region's number, in place in a key.
    region: Cell<u64>,
    /// Lines of the current region that took the place of another line of it.
    evictions: Cell<u32>,
    dirty_count: Cell<usize>,
    dirty: [Cell<u32>; DIRTY_SLOTS],
    /// False if every access is recorded.
    active: bool,
}

/// The slot of a table that stays empty.
struct NoSlot(Cell<Slot>);
// SAFETY: only ever read.
unsafe impl Sync for NoSlot {}

/// What to do about an access.
pub(crate) enum Found<'a> {
    /// Nothing: the log has it.
    Recorded,
    /// Record it, then call [`Slot::note`].
    New(&'a Cell<Slot>),
}

impl Coalescer {
    /// An empty table. With `exact`, or without memory for a table, nothing is ever found in it.
    pub(crate) fn new(exact: bool) -> Coalescer {
        static NO_SLOT: NoSlot = NoSlot(Cell::new(Slot { key: 0, accessed: 0, written: 0, rewritten: 0 }));
        let table = if exact { None } else { sys::map_private(FIRST_SLOTS * size_of::<Slot>()).ok() };
        let (slots, count) = match table {
            Some(slots) => (slots.cast(), FIRST_SLOTS),
            None => (NO_SLOT.0.as_ptr(), 1),
        };
        Coalescer {
            slots: Cell::new(slots),
            mask: Cell::new(count as u64 - 1),
            region: Cell::new(1 << REGION_SHIFT),
            evictions: Cell::new(0),
            dirty_count: Cell::new(0),
            dirty: [const { Cell::new(0) }; DIRTY_SLOTS],
            active: table.is_some(),
        }
    }

    /// Looks an access up whose bytes are within one line.
    #[inline(always)]
    pub(crate) fn find<const WRITE: bool>(&self, line: u64, bytes: u64) -> Found<'_> {
        let slot = self.slot(line);
        let Slot { key, accessed, written, rewritten } = slot.get();
        if key == line | self.region.get() {
            if WRITE {
                if written & bytes == bytes {
                    if rewritten & bytes != bytes {
                        self.note_rewritten(slot, bytes);
                    }
                    return Found::Recorded;
                }
            } else if accessed & bytes == bytes {
                return Found::Recorded;
            }
        }
        Found::New(slot)
    }

    #[inline(always)]
    fn slot(&self, line: u64) -> &Cell<Slot> {
        // Arrays with a power of two as stride would meet in few slots without the mix.
        let at = (line ^ (line >> 10) ^ (line >> 20)) & self.mask.get();
        // SAFETY: masked to the table's size; the table is this thread's own.
        unsafe { &*self.slots.get().add(at as usize).cast() }
    }

    /// Notes an access as recorded. `close` records the closing write of a line: its address and bytes.
    #[inline]
    pub(crate) fn note<const WRITE: bool>(
        &self,
        slot: &Cell<Slot>,
        line: u64,
        bytes: u64,
        close: impl Fn(u64, u64),
    ) {
        if !self.active {
            return;
        }
        let key = line | self.region.get();
        let mut entry = slot.get();
        if entry.key != key {
            if entry.key >> REGION_SHIFT == key >> REGION_SHIFT {
                self.evictions.set(self.evictions.get() + 1);
                if entry.rewritten != 0 {
                    close(line_of(entry.key), entry.rewritten); // C2
                }
            }
            entry = Slot { key, accessed: 0, written: 0, rewritten: 0 };
        }
        entry.accessed |= bytes;
        if WRITE {
            entry.written |= bytes;
        }
        slot.set(entry);
        if self.evictions.get() as u64 > self.mask.get() {
            self.grow(close);
        }
    }

    #[cold]
    #[inline(never)]
    fn note_rewritten(&self, slot: &Cell<Slot>, bytes: u64) {
        let mut entry = slot.get();
        let count = self.dirty_count.get();
        if entry.rewritten == 0 {
            if count == DIRTY_SLOTS {
                // No room to remember it: let the next write of these bytes be recorded as new.
                entry.written &= !bytes;
                slot.set(entry);
                return;
            }
            // SAFETY: both in the table.
            let at = unsafe { slot.as_ptr().offset_from(self.slots.get()) };
            self.dirty[count].set(at as u32);
            self.dirty_count.set(count + 1);
        }
        entry.rewritten |= bytes;
        slot.set(entry);
    }

    /// Ends the region: closing writes, then nothing is known.
    #[inline]
    pub(crate) fn end_region(&self, close: impl Fn(u64, u64)) {
        if self.dirty_count.get() > 0 {
            self.close_dirty(close);
        }
        self.evictions.set(0);
        let next = self.region.get().wrapping_add(1 << REGION_SHIFT);
        self.region.set(next);
        if next == 0 {
            self.clear();
        }
    }

    #[cold]
    #[inline(never)]
    fn close_dirty(&self, close: impl Fn(u64, u64)) {
        for at in 0..self.dirty_count.replace(0) {
            // SAFETY: indices come from `note_rewritten`; the table only grows, which empties the list.
            let slot: &Cell<Slot> = unsafe { &*self.slots.get().add(self.dirty[at].get() as usize).cast() };
            let mut entry = slot.get();
            if entry.key >> REGION_SHIFT == self.region.get() >> REGION_SHIFT && entry.rewritten != 0 {
                close(line_of(entry.key), entry.rewritten);
                entry.rewritten = 0;
                slot.set(entry);
            }
        }
    }

    /// C1: the numbers start again.
    #[cold]
    fn clear(&self) {
        for at in 0..=self.mask.get() as usize {
            if self.active {
                // SAFETY: within the table, which is this thread's own.
                unsafe { (*self.slots.get().add(at)).key = 0 };
            }
        }
        self.region.set(1 << REGION_SHIFT);
    }

    /// Twice the slots, all empty.
    #[cold]
    #[inline(never)]
    fn grow(&self, close: impl Fn(u64, u64)) {
        self.evictions.set(0);
        let slots = self.mask.get() as usize + 1;
        if slots >= MOST_SLOTS {
            return;
        }
        let larger = (slots * 4).min(MOST_SLOTS);
        let Ok(table) = sys::map_private(larger * size_of::<Slot>()) else { return };
        self.close_dirty(close);
        let old = self.slots.replace(table.cast());
        self.mask.set(larger as u64 - 1);
        // SAFETY: nothing points into the old table any more.
        unsafe { sys::unmap(old.cast(), slots * size_of::<Slot>()) };
    }

    pub(crate) fn close(&self) {
        if !self.active {
            return;
        }
        let slots = self.mask.get() as usize + 1;
        // SAFETY: the thread is over; only it knew the table.
        unsafe { sys::unmap(self.slots.get().cast(), slots * size_of::<Slot>()) };
    }
}

fn line_of(key: u64) -> u64 {
    key & ((1 << REGION_SHIFT) - 1)
}
