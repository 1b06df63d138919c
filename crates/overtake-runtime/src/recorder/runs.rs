//! Accesses by one instruction at equal distances: loops over arrays, also if the compiler unrolled them.
//!
//! A small table, by program counter, has the address that each instruction is expected to access next, and the record of its
//! run. One instruction adds an expected access to that record. This moves the access to an earlier place in the
//! log, which is correct as long as no record in between accesses its bytes:
//!
//!   R1  A run is continued only if its record is not before the floor. The floor moves up with every record of
//!       synchronisation, allocation or release, with every line that loses its slot in the table of bytes
//!       (`coalesce`), and when accesses are ignored.
//!   R2  An access is added only if the table of bytes says that it may be put anywhere in the region.
//!   R3  A run has one call stack: its record is not before the place where the log got its current stack.
//!   R4  An entry is valid for one tail of the log, whose tag is in the entry.
//!
//! A signal handler moves the floor, so that runs continue neither in it nor after it (`detour`).
//!
//! Brief records use the table, too: the number of an instruction's entry stands for the instruction.
//!
//!   R5  An entry names an instruction, with the tag of the tail, only if the last `Place` record of the entry in
//!       this tail names it, too. So an entry is emptied before such a record is written, and filled after it unless a signal
//!       handler has filled it meanwhile. A brief record is written only if nothing was written since the entry was read.

use core::cell::Cell;

use overtake_rawlog::{LONGEST_RUN, split_run};

use crate::detour::{Detour, here, labels};
use crate::recorder::Recorder;

/// Number of instructions that are followed at once.
const PLACES: usize = 256;

/// What is known of an instruction.
#[derive(Default)]
#[repr(C)]
pub(crate) struct Place {
    /// The instruction's program counter and the tag of the tail; zero if the entry is empty.
    pc: Cell<u64>,
    /// Where the next access is expected.
    next: Cell<u64>,
    /// The address of the last access's record: of a run, or of a single access plus one; 0 if there was none.
    record: Cell<usize>,
    stride: Cell<u64>,
}

/// All zeros is valid and knows nothing.
pub(crate) struct Runs {
    places: [Place; PLACES],
    floor: Cell<usize>,
    /// The tag of the current tail, in the top 16 bits.
    tag: Cell<u64>,
}

const ONE_TAIL: u64 = 1 << 48;

/// Where the hooks for accesses find what they need, see `abi::access`.
pub(crate) mod offsets {
    use super::{PLACES, Place, Runs};
    use core::mem::offset_of;

    pub(crate) const TABLE: usize = offset_of!(Runs, places);
    pub(crate) const FLOOR: usize = offset_of!(Runs, floor);
    pub(crate) const TAG: usize = offset_of!(Runs, tag);
    pub(crate) const PC: usize = offset_of!(Place, pc);
    pub(crate) const NEXT: usize = offset_of!(Place, next);
    pub(crate) const RECORD: usize = offset_of!(Place, record);
    pub(crate) const STRIDE: usize = offset_of!(Place, stride);
    const _: () = assert!(PLACES == 256 && size_of::<Place>() == 32); // the hooks have the numbers
}

/// Added to the address of a record that is not a run.
const SINGLE: usize = 1;

/// An address above all records.
const NEVER: usize = usize::MAX;

impl Runs {
    /// The number of an instruction's entry. Instructions of one loop are near each other, but each call is longer than four bytes.
    #[inline(always)]
    pub(crate) fn number(&self, pc: u64) -> u8 {
        (pc >> 2) as u8
    }

    #[inline(always)]
    fn place(&self, pc: u64) -> &Place {
        &self.places[usize::from(self.number(pc))]
    }

    /// The entry of an instruction, if brief records may use it.
    #[inline(always)]
    pub(crate) fn known(&self, pc: u64) -> Option<&Place> {
        let place = self.place(pc);
        // Volatile: signal handlers change them, and the caller has read the place in the log before.
        // SAFETY: reads fields.
        let (known, tag) = unsafe { (place.pc.as_ptr().read_volatile(), self.tag.as_ptr().read_volatile()) };
        (known == pc | tag).then_some(place)
    }

    /// The run that an access continues; `None` if it continues none. `since` is where the log got the current stack.
    #[inline(always)]
    pub(crate) fn continued(&self, address: u64, pc: u64, since: usize) -> Option<Continued<'_>> {
        let place = self.known(pc)?;
        let (record, floor) = (place.record.get(), self.floor.get());
        let is_run = record & SINGLE == 0;
        if place.next.get() != address || !is_run || record < floor || record < since {
            return None;
        }
        // SAFETY: a record of two words that this thread wrote into the current tail (R1, R4).
        let (_, count) = split_run(unsafe { *((record + 8) as *const u64) });
        (count < LONGEST_RUN).then_some(Continued { place, record, floor, address })
    }

    /// An access of a known instruction that continues no run. Returns the distance to the next access if a run starts here, see
    /// [`start`](Self::start).
    #[inline(always)]
    pub(crate) fn expect(&self, place: &Place, address: u64) -> Option<i32> {
        let (stride, expected) = (place.stride.get(), place.next.get() == address);
        let last = place.record.get();
        let was_run = last != 0 && last & SINGLE == 0;
        let is_near = stride as i64 == i64::from(stride as i32);
        // The loop continues within a region; otherwise the run would have only one access.
        if expected && is_near && stride != 0 && last >= self.floor.get() {
            place.next.set(address.wrapping_add(stride));
            return Some(stride as i32);
        }
        if was_run {
            // Another address, but perhaps the same stride: the next row of a matrix.
            place.next.set(address.wrapping_add(stride));
            return None;
        }
        // The next access may be as far from this one as this one is from the last. (The hooks for accesses do the same.)
        let distance = address.wrapping_sub(place.next.get().wrapping_sub(stride));
        place.stride.set(distance);
        place.next.set(address.wrapping_add(distance));
        None
    }

    /// Sets the record of a run that starts with the last access of [`expect`](Self::expect).
    #[inline(always)]
    pub(crate) fn start(&self, place: &Place, record: *mut u64) {
        place.record.set(record as usize);
    }

    /// Sets the record of an access that is in no run.
    #[inline(always)]
    pub(crate) fn note_single(&self, place: &Place, record: *mut u64) {
        place.record.set(record as usize | SINGLE);
    }

    /// Empties the entry for an instruction that is not known. *After* this, the caller reads the place in the log and writes a `Place`
    /// record there; then it calls [`name`](Taken::name).
    pub(crate) fn take(&self, pc: u64) -> Taken<'_> {
        let (place, tag) = (self.place(pc), self.tag.get());
        // SAFETY: writes a field, before all that follows (R5).
        unsafe { place.pc.as_ptr().write_volatile(0) };
        place.record.set(0);
        place.stride.set(0);
        place.next.set(0);
        Taken { place, pc: pc | tag }
    }

    /// Ends the runs whose records are before `floor` (R1).
    #[inline(always)]
    pub(crate) fn end_before(&self, floor: *mut u64) {
        self.floor.set(floor as usize);
    }

    /// No run continues or starts until [`end_before`](Self::end_before) is called.
    pub(crate) fn suspend(&self) {
        self.floor.set(NEVER);
    }

    /// The tail changes, or starts again: all entries become invalid (R4). Signals are blocked.
    pub(crate) fn next_tail(&self) {
        self.tag.set(self.tag.get().wrapping_add(ONE_TAIL));
        if self.tag.get() == 0 {
            for place in &self.places {
                place.pc.set(0);
            }
            self.tag.set(ONE_TAIL);
        }
    }
}

/// An entry that was emptied for an instruction.
pub(crate) struct Taken<'a> {
    place: &'a Place,
    /// What will be stored in the entry.
    pc: u64,
}

impl Taken<'_> {
    /// Whether no signal handler has filled it since.
    pub(crate) fn is_empty(&self) -> bool {
        // Volatile: signal handlers change it.
        // SAFETY: reads a field.
        unsafe { self.place.pc.as_ptr().read_volatile() == 0 }
    }

    /// The log has the record: one instruction fills the entry, unless a signal handler has done it (R5).
    pub(crate) fn name(self) {
        // SAFETY: changes one word that only this thread uses.
        unsafe {
            core::arch::asm!(
                "cmpxchg qword ptr [{place}], {pc}",
                place = in(reg) self.place.pc.as_ptr(),
                pc = in(reg) self.pc,
                inout("rax") 0_u64 => _,
                options(nostack),
            );
        }
    }
}

/// A run that an access continues, and the entry of its instruction.
pub(crate) struct Continued<'a> {
    place: &'a Place,
    /// The record of the run.
    pub(crate) record: usize,
    /// The floor when the run was found.
    pub(crate) floor: usize,
    address: u64,
}

impl Continued<'_> {
    /// The access is about to be added, by [`overtake_count`].
    #[inline(always)]
    pub(crate) fn expect_next(&self) {
        self.place.next.set(self.address.wrapping_add(self.place.stride.get()));
    }
}

core::arch::global_asm!(
    ".pushsection .text.overtake_count,\"ax\",@progbits",
    ".p2align 4",
    here!("overtake_count"),
    ".cfi_startproc",
    "cmp [rdi + {floor}], r8",
    "jne 2f",
    "add dword ptr [rcx + 12], 1", // the number of accesses
    here!("overtake_counted"),
    "ret",
    here!("overtake_not_counted"),
    "2:",
    "jmp r9",
    ".cfi_endproc",
    ".popsection",
    floor = const crate::recorder::offsets::FLOOR,
);

#[allow(improper_ctypes, reason = "it is passed on to a function of ours")]
unsafe extern "C" {
    /// Counts one more access in a run's record if the floor has not moved: signal handlers move it. Otherwise calls `otherwise` with
    /// the first three arguments.
    pub(crate) fn overtake_count(
        recorder: &Recorder,
        address: usize,
        pc: usize,
        record: usize,
        floor: usize,
        otherwise: extern "C" fn(&Recorder, usize, usize),
    );
}

/// Where threads continue that a signal handler interrupted in `overtake_count`.
pub(crate) static DETOURS: &[Detour] = &[{
    labels!(begin = "overtake_count", counted = "overtake_counted", not_counted = "overtake_not_counted");
    Detour::new(begin, counted, not_counted)
}];

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_rawlog::{ONE_MORE, run};

    extern crate std;
    use std::vec::Vec;

    /// The entry of an instruction, which is taken if it is not known.
    fn known(runs: &Runs, pc: u64) -> &Place {
        if runs.known(pc).is_none() {
            runs.take(pc).name();
        }
        runs.known(pc).expect("just named")
    }

    /// The runs that would be in the log: address, stride and number of accesses of each.
    fn runs_of(accesses: &[(u64, u64)]) -> Vec<(u64, i64, u64)> {
        // SAFETY: zeros are valid.
        let runs: std::boxed::Box<Runs> = unsafe { std::boxed::Box::new_zeroed().assume_init() };
        let mut log = std::vec![[0_u64; 2]; accesses.len()];
        let mut used = 0;
        runs.next_tail();
        runs.end_before(log.as_mut_ptr().cast());
        for (address, pc) in accesses {
            if let Some(continued) = runs.continued(*address, *pc, 0) {
                continued.expect_next();
                // SAFETY: the second word of a record in the log above.
                unsafe { *((continued.record + 8) as *mut u64) += ONE_MORE };
                continue;
            }
            let stride = runs.expect(known(&runs, *pc), *address);
            log[used] = [*address, stride.map_or(0, run)];
            let record = log[used].as_mut_ptr();
            match stride {
                Some(_) => runs.start(known(&runs, *pc), record),
                None => runs.note_single(known(&runs, *pc), record),
            }
            used += 1;
        }
        let told = |[address, word]: &[u64; 2]| {
            let (stride, count) = split_run(*word);
            (*address, stride, count)
        };
        log[..used].iter().map(told).collect()
    }

    #[test]
    fn loops_become_runs_also_when_unrolled() {
        let plain: Vec<_> = (0..100).map(|i| (1000 + 8 * i, 7)).collect();
        assert_eq!(runs_of(&plain), [(1000, 0, 0), (1008, 0, 0), (1016, 8, 98)]);
        let unrolled: Vec<_> = (0..100).map(|i| (1000 - i, 70 + 5 * (i % 2))).collect();
        assert_eq!(runs_of(&unrolled)[4..], [(996, -2, 48), (995, -2, 48)]);
    }

    #[test]
    fn the_next_row_is_a_run_from_its_second_access_on() {
        let rows: Vec<_> = (0..40).map(|i| (i / 20 * 5000 + 4 * (i % 20), 7)).collect();
        assert_eq!(runs_of(&rows), [(0, 0, 0), (4, 0, 0), (8, 4, 18), (5000, 0, 0), (5004, 4, 19)]);
    }

    #[test]
    fn accesses_here_and_there_are_no_runs() {
        let mut state = 1_u64;
        let mut next = || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            state >> 20
        };
        let scattered: Vec<_> = (0..100).map(|_| (next(), 7)).collect();
        assert!(runs_of(&scattered).iter().all(|(_, _, count)| *count == 0));
        let same: Vec<_> = (0..10).map(|_| (1000, 7)).collect();
        assert_eq!(runs_of(&same).len(), 10);
    }

    #[test]
    fn long_runs_are_several() {
        let long: Vec<_> = (0..3000).map(|i| (i, 7)).collect();
        let counts: Vec<_> = runs_of(&long).iter().map(|(_, _, count)| *count).collect();
        assert_eq!(counts, [0, 0, 1024, 1024, 3000 - 2 - 2 * 1024]);
    }

    #[test]
    fn a_floor_ends_runs() {
        // SAFETY: zeros are valid.
        let runs: std::boxed::Box<Runs> = unsafe { std::boxed::Box::new_zeroed().assume_init() };
        let mut log = [0_u64; 12];
        runs.next_tail();
        runs.end_before(log.as_mut_ptr());
        for address in [100, 104] {
            assert_eq!(runs.expect(known(&runs, 9), address), None);
            runs.note_single(known(&runs, 9), log.as_mut_ptr());
        }
        assert_eq!(runs.expect(known(&runs, 9), 108), Some(4));
        runs.start(known(&runs, 9), log.as_mut_ptr());
        assert!(runs.continued(112, 9, 0).is_some());
        assert!(runs.continued(113, 9, 0).is_none(), "another address");
        assert!(runs.continued(112, 19, 0).is_none(), "another instruction");
        assert!(runs.continued(112, 9, usize::MAX).is_none(), "another stack");
        runs.end_before(log[3..].as_mut_ptr());
        assert!(runs.continued(112, 9, 0).is_none(), "behind the floor");
        assert_eq!(runs.expect(known(&runs, 9), 112), None);
        runs.note_single(known(&runs, 9), log[3..].as_mut_ptr());
        assert!(runs.continued(116, 9, 0).is_none(), "no run");
        assert_eq!(runs.expect(known(&runs, 9), 116), Some(4), "a new one in the same steps");
        runs.note_single(known(&runs, 9), log[4..].as_mut_ptr());
        runs.suspend();
        assert_eq!(runs.expect(known(&runs, 9), 120), None);
    }

    #[test]
    fn a_new_tail_knows_no_instruction() {
        // SAFETY: zeros are valid.
        let runs: std::boxed::Box<Runs> = unsafe { std::boxed::Box::new_zeroed().assume_init() };
        runs.next_tail();
        assert!(runs.known(9).is_none());
        runs.take(9).name();
        assert!(runs.known(9).is_some());
        assert!(runs.known(9 + 1024).is_none(), "the same place");
        for _ in 0..70_000 {
            runs.next_tail();
            assert!(runs.known(9).is_none());
        }
    }

    #[test]
    fn a_signal_handler_that_names_a_place_keeps_it() {
        // SAFETY: zeros are valid.
        let runs: std::boxed::Box<Runs> = unsafe { std::boxed::Box::new_zeroed().assume_init() };
        runs.next_tail();
        let interrupted = runs.take(9);
        assert!(interrupted.is_empty());
        runs.take(9 + 1024).name();
        assert!(!interrupted.is_empty());
        interrupted.name();
        assert!(runs.known(9).is_none());
        assert!(runs.known(9 + 1024).is_some());
        let interrupted = runs.take(9);
        runs.next_tail();
        interrupted.name();
        assert!(runs.known(9).is_none(), "named in the tail before");
    }
}
