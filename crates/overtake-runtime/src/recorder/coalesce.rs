//! Which bytes this thread has already recorded since its last synchronisation.
//!
//! Between two synchronisation operations of a thread (a *region*), an access that repeats an earlier one of the same kind to the
//! same bytes races with exactly what the earlier one races with, so it need not be recorded. A direct-mapped table has a slot
//! for each cache line: which bytes were accessed, which were written, and which were written again after their recorded
//! write. Prediction needs the last of these, because a later reader sees the *last* write and depends on everything
//! before it. So such bytes get one closing write when the region ends.
//!
//! **Invariants.**
//!   C1  A slot belongs to the current region only if its key holds the region's number. Numbers are not reused
//!       without clearing the table.
//!   C2  Every slot of the current region with `rewritten` bytes is in `dirty`, or its closing write is in the log, or
//!       `dirty` has overflowed and the whole table will be searched when the region ends.
//!   C3  A slot's masks belong to its key. While a slot gets a new line, its key is 0, so that a signal
//!       handler never reads the masks of another line. Masks grow only if the key has not changed (`detour`).
//!   C4  A table that was outgrown stays mapped: code that a signal handler interrupted may hold a slot of it.
//!
//! **Approximations.** A second code location of the same race in the same region is not seen. A signal handler can lose the closing
//! write of a line, if it takes the slot of the line while the interrupted code is about to note something there.

use core::cell::Cell;
use core::sync::atomic::{AtomicUsize, Ordering, compiler_fence};

use crate::detour::{Detour, here, labels};
use crate::sys::{self, Errno};

/// Bytes per slot.
pub(crate) const LINE_BYTES: usize = 64;
/// The address of a line takes bits 6 to 47 of a key, the region's number the other bits: the high bits count regions, the low bits
/// count how often the high bits have started again.
const LINE: u64 = (1 << 48) - LINE_BYTES as u64;
const ONE_REGION: u64 = 1 << 48;
const ROUNDS: u64 = LINE_BYTES as u64;

const FIRST_SLOTS: usize = 1 << 10;
/// Matrix multiplication on 200 by 200 doubles takes 1.7 s with 4,096 slots, where lines evict each other, and 0.4 s with this many.
const MOST_SLOTS: usize = 1 << 16;
/// A table grows when, in one region, lines lost one in so many of its slots to others: a line that loses its slot ends all runs, and
/// an array over which a loop goes in many small runs has many small variables for the rest of the program.
const PATIENCE: usize = 16;
/// With more dirty slots than this, searching a table of the largest size costs no more than 16 slots for each.
const DIRTY_SLOTS: usize = 4096;
/// Two slots fit into a cache line.
#[repr(C, align(32))]
pub(crate) struct Slot {
    key: Cell<u64>,
    accessed: Cell<u64>,
    written: Cell<u64>,
    rewritten: Cell<u64>,
}

// The look-up relies on this.
const _: () = assert!(size_of::<Slot>() * 2 == LINE_BYTES);

/// Bytes of a table: the slots, and behind them for each slot the program counter of a write of rewritten bytes.
const fn table_bytes(slots: usize) -> usize {
    slots * (size_of::<Slot>() + size_of::<u64>())
}

/// A table of empty slots.
fn new_table(slots: usize) -> Result<*const Slot, Errno> {
    sys::map_present(table_bytes(slots), slots * size_of::<Slot>()).map(|table| table.cast_const().cast())
}

/// Where the hooks for accesses find what they need, see `abi::access`.
pub(crate) mod offsets {
    use super::{LookUp, Slot};
    use core::mem::offset_of;

    pub(crate) const SLOTS: usize = offset_of!(LookUp, slots);
    /// The address of a line times [`MIX`], shifted right by [`MIX_SHIFT`], is the offset of its slot in an endless table: half of the
    /// address, and a little more with each 128 KiB. Otherwise arrays with a power of two as stride would share few slots.
    pub(crate) const MIX: u64 = (1 << 11) + 1;
    pub(crate) const MIX_SHIFT: u32 = 12;
    pub(crate) const MASK: usize = offset_of!(LookUp, mask);
    pub(crate) const REGION: usize = offset_of!(LookUp, region);
    /// The bytes of a slot's line of which a further read need not be noted.
    pub(crate) const READ: usize = offset_of!(Slot, accessed);
    /// The bytes of which a further write need not be noted: they will get a closing write anyway.
    pub(crate) const REWRITTEN: usize = offset_of!(Slot, rewritten);
    pub(crate) const WRITTEN: usize = offset_of!(Slot, written);
    pub(crate) const REPEATS: usize = offset_of!(LookUp, repeats);
    /// By how many bits to rotate a key, and which bits of the result are the region's number.
    pub(crate) const REGION_ROTATION: u32 = 16;
    pub(crate) const REGION_BITS: u64 = (!super::LINE).rotate_left(REGION_ROTATION);
}

/// The fields that every access needs.
#[repr(C)]
pub(crate) struct LookUp {
    slots: Cell<*const Slot>,
    /// Distance of the last slot from the first, in bytes.
    mask: Cell<u64>,
    /// The region's number, at its position in a key.
    region: Cell<u64>,
    /// Accesses that repeated another and were left out.
    repeats: Cell<u64>,
}

// SAFETY: shared ones are only read: nothing is found in them, and nothing is noted.
unsafe impl Sync for LookUp {}

impl LookUp {
    /// For a thread that does not record: nothing is ever found.
    pub(crate) const fn none() -> LookUp {
        LookUp {
            slots: Cell::new(&raw const NO_SLOT.0),
            mask: Cell::new(0),
            region: Cell::new(0), // as in the only slot
            repeats: Cell::new(0),
        }
    }
}

/// All zeros is a table that has not been opened; it must be opened before it is used.
#[repr(C)] // for the hooks
pub(crate) struct Coalescer {
    look_up: LookUp,
    /// How often a line of the current region took the slot of another line of the region.
    evictions: Cell<u32>,
    /// False if every access is recorded.
    active: Cell<bool>,
    /// Number of dirty slots. Those that do not fit into the list are found by searching the table.
    dirty_count: AtomicUsize,
    dirty: [Cell<u32>; DIRTY_SLOTS],
    /// Tables that were outgrown (C4), by the binary logarithm of their size.
    outgrown: [Cell<*const Slot>; usize::BITS as usize],
}

/// Called for each closing write with the address of the line, its rewritten bytes, and the program counter of one of the writes.
pub(crate) trait Close: Fn(u64, u64, u64) {}
impl<F: Fn(u64, u64, u64)> Close for F {}

/// What to do about an access.
pub(crate) enum Found<'a> {
    /// Only [`count`](Coalescer::count_repeat) it: the log has it.
    Recorded,
    /// Record it, then call [`Coalescer::note`].
    New(&'a Slot),
}

/// The only slot of a table that stays empty. No program has a line at its address.
struct NoSlot(Slot);
// SAFETY: only ever read.
unsafe impl Sync for NoSlot {}
static NO_SLOT: NoSlot = NoSlot(Slot {
    key: Cell::new(LINE),
    accessed: Cell::new(0),
    written: Cell::new(0),
    rewritten: Cell::new(0),
});

impl Coalescer {
    /// Makes an empty table, or uses that of an ended thread. With `exact`, or if there is no memory for a table, nothing is ever found.
    pub(crate) fn open(&self, exact: bool, kept: Option<Table>) {
        let new = || new_table(FIRST_SLOTS).ok().map(|slots| Table { slots, region: ONE_REGION });
        let table = if exact { None } else { kept.or_else(new) };
        self.active.set(table.is_some());
        self.look_up.mask.set(if table.is_some() { mask(FIRST_SLOTS) } else { 0 });
        let table = table.unwrap_or(Table { slots: &raw const NO_SLOT.0, region: ONE_REGION });
        self.look_up.slots.set(table.slots);
        self.look_up.region.set(table.region);
    }

    /// False if every access is recorded.
    #[inline(always)]
    pub(crate) fn is_active(&self) -> bool {
        self.active.get()
    }

    /// The region's number.
    #[inline(always)]
    pub(crate) fn region(&self) -> u64 {
        // Volatile: signal handlers change it.
        // SAFETY: reads a field.
        unsafe { self.look_up.region.as_ptr().read_volatile() }
    }

    /// Accesses that were left out.
    pub(crate) fn repeats(&self) -> u64 {
        self.look_up.repeats.get()
    }

    /// Looks up an access within one line.
    #[inline(always)]
    pub(crate) fn find<const WRITE: bool>(&self, line: u64, bytes: u64, pc: u64) -> Found<'_> {
        let (slot, key) = (self.slot(line), line | self.region());
        if slot.key.get() == key {
            if WRITE {
                if slot.written.get() & bytes == bytes {
                    if slot.rewritten.get() & bytes != bytes {
                        self.note_rewritten(slot, key, bytes, pc);
                    }
                    return Found::Recorded;
                }
            } else if slot.accessed.get() & bytes == bytes {
                return Found::Recorded;
            }
        }
        Found::New(slot)
    }

    /// Whether a further access need not even be noted.
    #[inline(always)]
    pub(crate) fn is_known<const WRITE: bool>(&self, line: u64, bytes: u64) -> bool {
        let slot = self.slot(line);
        let known = if WRITE { &slot.rewritten } else { &slot.accessed };
        slot.key.get() == line | self.look_up.region.get() && known.get() & bytes == bytes
    }

    /// Counts an access that is left out.
    #[inline(always)]
    pub(crate) fn count_repeat(&self) {
        self.look_up.repeats.set(self.look_up.repeats.get() + 1);
    }

    #[inline(always)]
    fn slot(&self, line: u64) -> &Slot {
        let at = line.wrapping_mul(offsets::MIX) >> offsets::MIX_SHIFT; // as the hooks for accesses do it
        // SAFETY: reads fields, in this order: a signal handler may let the table grow, never shrink.
        let (mask, slots) = unsafe {
            (self.look_up.mask.as_ptr().read_volatile(), self.look_up.slots.as_ptr().read_volatile())
        };
        // SAFETY: masked to the table's size; the table belongs to this thread.
        unsafe { &*slots.byte_add((at & mask) as usize) }
    }

    /// The slot for an access that may be put anywhere in this region, before or after all others: a read of bytes that have
    /// not been written, or a write to bytes that have not been accessed. `None` if that is not certain. (The hooks for
    /// accesses decide in the same way.)
    #[inline(always)]
    pub(crate) fn free<const WRITE: bool>(&self, line: u64, bytes: u64) -> Option<Free<'_>> {
        let (slot, region) = (self.slot(line), self.look_up.region.get());
        let (found, key) = (slot.key.get(), line | region);
        let is_free = if found == key { !slot.bars::<WRITE>(bytes) } else { !is_same_region(found, region) };
        is_free.then_some(Free { slot, found, key, bytes })
    }

    /// Notes an access as recorded in a region. Returns whether another line of the region lost its slot to it, and so what was known of
    /// that line.
    #[inline]
    pub(crate) fn note<const WRITE: bool>(
        &self,
        slot: &Slot,
        (region, line, bytes): (u64, u64, u64),
        close: impl Close,
    ) -> bool {
        let key = line | region;
        let old = slot.key.get();
        if old == key {
            slot.add::<WRITE>(key, bytes);
            return false;
        }
        if region != self.region() {
            return false; // the region has ended: a signal handler came
        }
        let evicts = is_same_region(old, key);
        if evicts {
            self.evict(slot, &close);
        }
        if self.active.get() {
            slot.give_to::<WRITE>(key, bytes);
        }
        if evicts && self.evictions.get() as usize * PATIENCE >= self.size() {
            self.grow(close);
        }
        evicts
    }

    /// Takes a slot away from its line.
    #[inline]
    fn evict(&self, slot: &Slot, close: &impl Close) {
        self.evictions.set(self.evictions.get() + 1);
        if slot.rewritten.get() != 0 {
            self.close_slot(slot, close); // C2
        }
    }

    /// Writes the closing write of a slot.
    #[cold]
    #[inline(never)]
    fn close_slot(&self, slot: &Slot, close: &impl Close) {
        close(line_of(slot.key.get()), slot.rewritten.replace(0), self.rewriter(slot).get());
    }

    /// Number of slots.
    fn size(&self) -> usize {
        self.look_up.mask.get() as usize / size_of::<Slot>() + 1
    }

    fn index(&self, slot: &Slot) -> usize {
        (&raw const *slot as usize).wrapping_sub(self.look_up.slots.get() as usize) / size_of::<Slot>()
    }

    /// Where the program counter of a slot's rewritten bytes is.
    fn rewriter(&self, slot: &Slot) -> &Cell<u64> {
        let slots = self.size();
        // SAFETY: behind the table's slots there is a word for each; only slots of a table can have been written twice.
        unsafe {
            &*self.look_up.slots.get().add(slots).cast::<Cell<u64>>().add(self.index(slot) & (slots - 1))
        }
    }

    #[inline(never)]
    fn note_rewritten(&self, slot: &Slot, key: u64, bytes: u64, pc: u64) {
        let index = self.index(slot);
        if index >= self.size() {
            return; // the slot is in an old table: a signal handler has just made a larger one
        }
        if slot.rewritten.get() == 0 {
            let mut count = 1;
            // SAFETY: adds to a field that only this thread uses, by one instruction: signal handlers do the same.
            unsafe {
                core::arch::asm!(
                    "xadd qword ptr [{dirty}], {count}",
                    dirty = in(reg) self.dirty_count.as_ptr(),
                    count = inout(reg) count,
                    options(nostack),
                );
            }
            if let Some(place) = self.dirty.get(count) {
                place.set(index as u32);
            }
        }
        self.rewriter(slot).set(pc);
        slot.mark(key, 0, 0, bytes);
    }

    /// Writes the closing writes of the region, which is about to end.
    #[inline]
    pub(crate) fn close_region(&self, close: impl Close) {
        if self.dirty_count.load(Ordering::Relaxed) > 0 {
            self.close_dirty(close);
        }
    }

    /// Starts a new region, in which nothing is known. One instruction does it, so that regions of signal handlers are different ones.
    #[inline]
    pub(crate) fn next_region(&self) {
        self.evictions.set(0);
        loop {
            let region = self.region();
            let Some(next) = region.checked_add(ONE_REGION) else { return self.next_round() };
            let seen: u64;
            // SAFETY: changes a field that only this thread uses.
            unsafe {
                core::arch::asm!(
                    "cmpxchg qword ptr [{region}], {next}",
                    region = in(reg) self.look_up.region.as_ptr(),
                    next = in(reg) next,
                    inout("rax") region => seen,
                    options(nostack),
                );
            }
            if seen == region {
                return;
            }
        }
    }

    #[cold]
    #[inline(never)]
    fn close_dirty(&self, close: impl Close) {
        let mut done = 0;
        loop {
            let count = self.dirty_count.load(Ordering::Relaxed);
            if count <= DIRTY_SLOTS {
                for index in self.dirty.iter().take(count).skip(done) {
                    self.close_if_dirty(index.get() as usize, &close);
                }
            } else {
                for index in 0..self.size() {
                    self.close_if_dirty(index, &close);
                }
            }
            done = count;
            // A signal handler may have added to the list.
            if self.dirty_count.compare_exchange(count, 0, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                return;
            }
        }
    }

    fn close_if_dirty(&self, index: usize, close: &impl Close) {
        // SAFETY: within the table: the index comes from `note_rewritten`, and when the table grows, the list is emptied.
        let slot = unsafe { &*self.look_up.slots.get().add(index) };
        if slot.rewritten.get() != 0 && is_same_region(slot.key.get(), self.look_up.region.get()) {
            self.close_slot(slot, close);
        }
    }

    /// Forgets a range of memory that was allocated or freed. False if it is too long to search: then the
    /// caller ends the region instead.
    pub(crate) fn forget(&self, address: u64, length: u64, close: impl Close) -> bool {
        const MOST_LINES: u64 = 64;
        let (first, last) = (address & LINE, (address + length.max(1) - 1) & LINE);
        if !self.active.get() {
            return true;
        }
        if last - first >= MOST_LINES * LINE_BYTES as u64 {
            return false;
        }
        for line in (first..=last).step_by(LINE_BYTES) {
            let slot = self.slot(line);
            if slot.key.get() == line | self.look_up.region.get() {
                if slot.rewritten.get() != 0 {
                    self.close_slot(slot, &close);
                }
                slot.key.set(0);
            }
        }
        true
    }

    /// The high bits of the region's number start again.
    #[cold]
    #[inline(never)]
    fn next_round(&self) {
        let _quiet = sys::NoSignals::new();
        let round = (self.look_up.region.get() + 1) % ROUNDS;
        if round == 0 {
            self.clear(); // C1
        }
        self.look_up.region.set(ONE_REGION | round);
    }

    fn clear(&self) {
        if self.active.get() {
            for at in 0..self.size() {
                // SAFETY: within the table, which belongs to this thread.
                unsafe { (*self.look_up.slots.get().add(at)).key.set(0) };
            }
        }
    }

    /// Makes a table with four times as many slots, all empty.
    #[cold]
    #[inline(never)]
    fn grow(&self, close: impl Close) {
        let _quiet = sys::NoSignals::new();
        self.evictions.set(0);
        let slots = self.size();
        if slots >= MOST_SLOTS {
            return;
        }
        let Ok(table) = new_table(slots * 4) else { return };
        self.close_dirty(close);
        let old = self.look_up.slots.replace(table);
        self.look_up.mask.set(mask(slots * 4));
        if let Some(place) = self.outgrown.get(slots.trailing_zeros() as usize) {
            place.set(old); // C4
        }
    }

    /// The thread has ended. Returns its table for another thread, unless it has grown.
    pub(crate) fn close(&self) -> Option<Table> {
        if !self.active.get() {
            return None;
        }
        let slots = self.size();
        if slots == FIRST_SLOTS {
            self.next_region(); // C1: what is in the table is of an earlier region
            return Some(Table { slots: self.look_up.slots.get(), region: self.look_up.region.get() });
        }
        // SAFETY: the thread has ended; only it knew the tables, whose sizes are powers of two.
        unsafe {
            sys::unmap(self.look_up.slots.get().cast_mut().cast(), table_bytes(slots));
            for (exponent, outgrown) in self.outgrown.iter().enumerate() {
                if !outgrown.get().is_null() {
                    sys::unmap(outgrown.get().cast_mut().cast(), table_bytes(1 << exponent));
                }
            }
        }
        None
    }
}

/// The table of an ended thread, and the number of a region of which it has nothing.
#[derive(Clone, Copy)]
pub(crate) struct Table {
    slots: *const Slot,
    region: u64,
}

impl Table {
    /// Frees the table.
    pub(crate) fn unmap(self) {
        // SAFETY: nobody uses it.
        unsafe { sys::unmap(self.slots.cast_mut().cast(), table_bytes(FIRST_SLOTS)) };
    }
}

/// The slot that [`Coalescer::free`] found.
pub(crate) struct Free<'a> {
    slot: &'a Slot,
    found: u64,
    key: u64,
    bytes: u64,
}

impl Free<'_> {
    /// Notes the access.
    #[inline(always)]
    pub(crate) fn claim<const WRITE: bool>(self) {
        if self.found == self.key {
            self.slot.add::<WRITE>(self.key, self.bytes);
        } else {
            self.slot.give_to::<WRITE>(self.key, self.bytes);
        }
    }
}

impl Slot {
    /// Whether accesses that are noted here must stay before one to these bytes.
    #[inline(always)]
    fn bars<const WRITE: bool>(&self, bytes: u64) -> bool {
        (if WRITE { &self.accessed } else { &self.written }).get() & bytes != 0
    }

    /// Adds bytes of the slot's line.
    #[inline(always)]
    fn add<const WRITE: bool>(&self, key: u64, bytes: u64) {
        self.mark(key, bytes, if WRITE { bytes } else { 0 }, 0);
    }

    /// Adds to the masks, unless a signal handler has given the slot to another line.
    #[inline(always)]
    fn mark(&self, key: u64, accessed: u64, written: u64, rewritten: u64) {
        // SAFETY: changes masks of a slot that belongs to this thread.
        unsafe { overtake_mark(self, key, accessed, written, rewritten) };
    }

    /// Gives the slot to another line, with its first bytes.
    #[inline(always)]
    fn give_to<const WRITE: bool>(&self, key: u64, bytes: u64) {
        self.key.set(0);
        compiler_fence(Ordering::SeqCst);
        self.accessed.set(bytes);
        self.written.set(if WRITE { bytes } else { 0 });
        self.rewritten.set(0);
        compiler_fence(Ordering::SeqCst);
        self.key.set(key); // C3
    }
}

core::arch::global_asm!(
    ".pushsection .text.overtake_mark,\"ax\",@progbits",
    ".p2align 4",
    here!("overtake_mark"),
    ".cfi_startproc",
    "cmp [rdi], rsi",
    "jne 2f",
    "or [rdi + {accessed}], rdx",
    "or [rdi + {written}], rcx",
    "or [rdi + {rewritten}], r8",
    here!("overtake_marked"),
    "2:",
    "ret",
    ".cfi_endproc",
    ".popsection",
    accessed = const offsets::READ,
    written = const offsets::WRITTEN,
    rewritten = const offsets::REWRITTEN,
);

unsafe extern "C" {
    /// Adds to the masks of a slot if its key has not changed.
    fn overtake_mark(slot: &Slot, key: u64, accessed: u64, written: u64, rewritten: u64);
}

/// Where threads continue that a signal handler interrupted in `overtake_mark`. The marks that are left out would only have saved work.
pub(crate) static DETOURS: &[Detour] = &[{
    labels!(begin = "overtake_mark", marked = "overtake_marked");
    Detour::new(begin, marked, marked)
}];

fn line_of(key: u64) -> u64 {
    key & LINE
}

fn is_same_region(key: u64, other: u64) -> bool {
    (key ^ other) & !LINE == 0
}

/// The mask that gives the offset of a slot in a table of this many slots.
fn mask(slots: usize) -> u64 {
    ((slots - 1) * size_of::<Slot>()) as u64
}

#[cfg(test)]
mod tests;
