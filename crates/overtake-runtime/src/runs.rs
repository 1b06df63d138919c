//! Accesses by one instruction at equal distances: loops over arrays, whatever the compiler unrolled them to.
//!
//! A small table, by program counter, knows where each instruction is expected to access next and the record of the run it is
//! in. An access that comes as expected is added to that record by one instruction. So the access moves to an earlier place in the
//! log, which is right as long as no record in between has to do with its bytes:
//!
//!   R1  A run is continued only if its record is not before the floor, and the floor moves up with every record of
//!       synchronisation, allocation or release, with every line that loses its place in the table of bytes
//!       (`coalesce`), and when accesses are ignored.
//!   R2  Only accesses are added of which the table of bytes says that they may stand anywhere in the region.
//!   R3  A run has one call stack: its record is not before the place where the log got the stack it has.
//!   R4  Records of an earlier tail are forgotten when the tail changes.
//!
//! A signal handler that runs the same instruction has another call stack (R3), so that it starts a run of its own.

use core::cell::Cell;

use overtake_rawlog::{LONGEST_RUN, ONE_MORE, split_run};

/// Number of instructions that are followed at once.
const PLACES: usize = 256;

/// What is known of an instruction.
#[derive(Default)]
#[repr(C)]
struct Place {
    pc: Cell<u64>,
    /// Where the next access is expected.
    next: Cell<u64>,
    /// The record of the run; null if there is none.
    record: Cell<usize>,
    stride: Cell<u64>,
}

/// All zeros is valid and knows nothing.
pub(crate) struct Runs {
    places: [Place; PLACES],
    floor: Cell<usize>,
}

/// Where the hooks for accesses find what they need, see `abi::access`.
pub(crate) mod offsets {
    use super::{PLACES, Place, Runs};
    use core::mem::offset_of;

    pub(crate) const TABLE: usize = offset_of!(Runs, places);
    pub(crate) const FLOOR: usize = offset_of!(Runs, floor);
    pub(crate) const PC: usize = offset_of!(Place, pc);
    pub(crate) const NEXT: usize = offset_of!(Place, next);
    pub(crate) const RECORD: usize = offset_of!(Place, record);
    pub(crate) const STRIDE: usize = offset_of!(Place, stride);
    pub(crate) const PLACE_SHIFT: u32 = size_of::<Place>().trailing_zeros();
    const _: () = assert!(PLACES == 256); // the hooks take the low byte
}

/// No record is as high as this.
const NEVER: usize = usize::MAX;

impl Runs {
    #[inline(always)]
    fn place(&self, pc: u64) -> &Place {
        &self.places[(pc ^ pc >> 8) as usize % PLACES]
    }

    /// The record of the run that an access continues; `None` if it continues none. `since` is where the log got the stack.
    #[inline(always)]
    pub(crate) fn continued(&self, address: u64, pc: u64, since: usize) -> Option<Continued<'_>> {
        let place = self.place(pc);
        let record = place.record.get();
        let is_next = place.pc.get() == pc && place.next.get() == address;
        if !is_next || record < self.floor.get() || record < since {
            return None;
        }
        // SAFETY: a record of three words that this thread wrote into the tail in use (R1, R4).
        let (_, count) = split_run(unsafe { *((record + 16) as *const u64) });
        (count < LONGEST_RUN).then_some(Continued { place, record, address })
    }

    /// An access that continues no run: the distance to the next if it is known, see [`start`](Self::start).
    #[inline(always)]
    pub(crate) fn expect(&self, address: u64, pc: u64) -> Option<i32> {
        let place = self.place(pc);
        let (stride, expected) = (place.stride.get(), place.next.get() == address);
        let was_run = place.record.replace(0) != 0;
        if place.pc.get() != pc {
            place.pc.set(pc);
            place.stride.set(0);
            place.next.set(address); // not to be taken for a stride
            return None;
        }
        if expected && stride != 0 && self.floor.get() != NEVER {
            place.next.set(address.wrapping_add(stride));
            return Some(stride as i32);
        }
        if was_run {
            // Elsewhere, but perhaps in the same steps: the next row of a matrix.
            place.next.set(address.wrapping_add(stride));
            return None;
        }
        let distance = address.wrapping_sub(place.next.get().wrapping_sub(stride));
        let stride = if distance as i64 == i64::from(distance as i32) { distance } else { 0 };
        place.stride.set(stride);
        place.next.set(address.wrapping_add(stride));
        None
    }

    /// The record of a run that starts with the access that was expected last.
    #[inline(always)]
    pub(crate) fn start(&self, pc: u64, record: *mut u64) {
        self.place(pc).record.set(record as usize);
    }

    /// Runs whose records are before `floor` are over (R1).
    #[inline(always)]
    pub(crate) fn end_before(&self, floor: *mut u64) {
        self.floor.set(floor as usize);
    }

    /// No run goes on or starts until [`end_before`](Self::end_before) is called.
    pub(crate) fn suspend(&self) {
        self.floor.set(NEVER);
    }

    /// The tail changes (R4).
    pub(crate) fn forget_all(&self) {
        for place in &self.places {
            place.record.set(0);
        }
    }
}

/// A run and the instruction that is in it.
pub(crate) struct Continued<'a> {
    place: &'a Place,
    record: usize,
    address: u64,
}

impl Continued<'_> {
    /// Adds the access.
    #[inline(always)]
    pub(crate) fn add(self) {
        // SAFETY: a record of three words that this thread wrote into the tail in use (R4); in one instruction.
        unsafe {
            core::arch::asm!(
                "add qword ptr [{record} + 16], {one}",
                record = in(reg) self.record,
                one = in(reg) ONE_MORE,
                options(nostack),
            );
        }
        self.place.next.set(self.address.wrapping_add(self.place.stride.get()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_rawlog::run;

    extern crate std;
    use std::vec::Vec;

    /// What a log of runs would say: address, stride and number of each record.
    fn runs_of(accesses: &[(u64, u64)]) -> Vec<(u64, i64, u64)> {
        // SAFETY: zeros are valid.
        let runs: std::boxed::Box<Runs> = unsafe { std::boxed::Box::new_zeroed().assume_init() };
        let mut log = std::vec![[0_u64; 3]; accesses.len()];
        let mut used = 0;
        runs.end_before(log.as_mut_ptr().cast());
        for (address, pc) in accesses {
            if let Some(continued) = runs.continued(*address, *pc, 0) {
                continued.add();
                continue;
            }
            let stride = runs.expect(*address, *pc);
            log[used] = [*address, 0, stride.map_or(0, run)];
            if stride.is_some() {
                runs.start(*pc, log[used].as_mut_ptr());
            }
            used += 1;
        }
        let told = |[address, _, word]: &[u64; 3]| {
            let (stride, count) = split_run(*word);
            (*address, stride, count)
        };
        log[..used].iter().map(told).collect()
    }

    #[test]
    fn loops_become_runs_also_when_unrolled() {
        let plain: Vec<_> = (0..100).map(|i| (1000 + 8 * i, 7)).collect();
        assert_eq!(runs_of(&plain), [(1000, 0, 0), (1008, 0, 0), (1016, 8, 98)]);
        let unrolled: Vec<_> = (0..100).map(|i| (1000 - i, 70 + i % 2)).collect();
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
        runs.end_before(log.as_mut_ptr());
        for address in [0, 4] {
            assert_eq!(runs.expect(address, 9), None);
        }
        assert_eq!(runs.expect(8, 9), Some(4));
        runs.start(9, log.as_mut_ptr());
        assert!(runs.continued(12, 9, 0).is_some());
        assert!(runs.continued(13, 9, 0).is_none(), "another place");
        assert!(runs.continued(12, 8, 0).is_none(), "another instruction");
        assert!(runs.continued(12, 9, usize::MAX).is_none(), "another stack");
        runs.end_before(log[3..].as_mut_ptr());
        assert!(runs.continued(12, 9, 0).is_none(), "behind the floor");
        assert_eq!(runs.expect(12, 9), Some(4), "but a new run starts at once");
        runs.suspend();
        assert_eq!(runs.expect(16, 9), None);
    }
}
