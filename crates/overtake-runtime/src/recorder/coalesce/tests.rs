use super::*;
use core::cell::RefCell;

extern crate std;
use std::vec::Vec;

struct Log {
    coalescer: std::boxed::Box<Coalescer>,
    closed: RefCell<Vec<(u64, u64, u64)>>,
}

impl Log {
    fn new(exact: bool) -> Log {
        // SAFETY: zeros are valid.
        let coalescer = unsafe { std::boxed::Box::<Coalescer>::new_zeroed().assume_init() };
        coalescer.open(exact, None);
        Log { coalescer, closed: RefCell::default() }
    }

    /// Whether an access would be recorded. If so, notes it. Lines are given by number.
    fn access<const WRITE: bool>(&self, line: u64, bytes: u64, pc: u64) -> bool {
        let line = address(line);
        match self.coalescer.find::<WRITE>(line, bytes, pc) {
            Found::Recorded => {
                self.coalescer.count_repeat();
                false
            }
            Found::New(slot) => {
                self.coalescer.note::<WRITE>(slot, (self.coalescer.region(), line, bytes), self.close());
                true
            }
        }
    }

    /// Whether an access may be put anywhere in the region. If so, notes it.
    fn claim<const WRITE: bool>(&self, line: u64, bytes: u64) -> bool {
        self.coalescer.free::<WRITE>(address(line), bytes).map(Free::claim::<WRITE>).is_some()
    }

    fn close(&self) -> impl Close {
        |line, bytes, pc| self.closed.borrow_mut().push((line / LINE_BYTES as u64, bytes, pc))
    }

    fn end_region(&self) -> Vec<(u64, u64, u64)> {
        self.coalescer.close_region(self.close());
        self.coalescer.next_region();
        self.closed.take()
    }
}

fn address(line: u64) -> u64 {
    line * LINE_BYTES as u64
}

impl Drop for Log {
    fn drop(&mut self) {
        let _kept = self.coalescer.close();
    }
}

#[test]
fn repeated_accesses_are_recorded_once_per_region() {
    let log = Log::new(false);
    assert!(log.access::<false>(5, 0xf, 1));
    assert!(!log.access::<false>(5, 0xf, 1));
    assert!(!log.access::<false>(5, 0x3, 1)); // some of its bytes
    assert!(log.access::<false>(5, 0x1f, 1)); // one byte more
    assert!(log.access::<true>(5, 0xf, 1)); // another kind
    assert!(!log.access::<false>(5, 0xf, 1));
    assert_eq!(log.coalescer.repeats(), 3);
    assert_eq!(log.end_region(), []);
    assert!(log.access::<false>(5, 0xf, 1));
}

#[test]
fn bytes_written_again_get_one_closing_write() {
    let log = Log::new(false);
    assert!(log.access::<true>(5, 0xff, 1));
    assert!(!log.access::<true>(5, 0xf0, 2));
    assert!(!log.access::<true>(5, 0xf0, 3));
    assert_eq!(log.end_region(), [(5, 0xf0, 2)]);
    assert_eq!(log.end_region(), []);
}

#[test]
fn evicted_lines_are_closed_at_once() {
    let log = Log::new(false);
    let (line, rival) = (1, 1025); // both in slot 1
    assert_eq!(
        log.coalescer.index(log.coalescer.slot(address(line))),
        log.coalescer.index(log.coalescer.slot(address(rival)))
    );
    assert!(log.access::<true>(line, 1, 7));
    assert!(!log.access::<true>(line, 1, 8));
    assert!(log.access::<true>(rival, 1, 9));
    assert_eq!(log.closed.take(), [(line, 1, 8)]);
    assert_eq!(log.end_region(), []);
}

#[test]
fn any_number_of_lines_gets_closing_writes() {
    let log = Log::new(false);
    let lines = 2 * DIRTY_SLOTS as u64;
    for round in 0..10 {
        for line in 0..lines {
            log.access::<true>(line, 1, round);
        }
    }
    // Once the table has grown large enough: all of them, at the end.
    assert!(log.coalescer.size() as u64 > lines);
    log.end_region();
    for line in 0..lines {
        assert!(log.access::<true>(line, 1, 1));
        assert!(!log.access::<true>(line, 1, 2));
    }
    let closed = log.end_region();
    assert_eq!(closed.len() as u64, lines);
    assert!(closed.iter().all(|(_, bytes, pc)| (*bytes, *pc) == (1, 2)));
    assert_eq!(log.end_region(), []);
}

#[test]
fn frequent_evictions_let_the_table_grow() {
    let log = Log::new(false);
    for _ in 0..8 {
        for line in 0..10_000 {
            log.access::<true>(line, 1, 0);
        }
    }
    assert_eq!(log.coalescer.size(), 1 << 14);
    assert!((0..10_000).all(|line| !log.access::<true>(line, 1, 0)));
}

#[test]
fn only_bytes_without_order_can_be_claimed() {
    let log = Log::new(false);
    let (line, rival) = (1, 1025); // both in slot 1
    assert!(log.claim::<false>(line, 0x7));
    assert!(log.claim::<false>(line, 0xe), "reads have no order among them");
    assert!(!log.claim::<true>(line, 0x18), "some are read");
    assert!(log.claim::<true>(line, 0xf0));
    assert!(!log.claim::<false>(line, 0x100f0), "some are written");
    assert!(!log.claim::<true>(rival, 1), "the other line would be forgotten");
    assert!(!log.access::<false>(line, 0xff, 0));
    assert!(!log.access::<true>(line, 0xf0, 5));
    assert_eq!(log.end_region(), [(line, 0xf0, 5)]);
    assert!(log.claim::<true>(rival, 1), "a new region");
}

#[test]
fn forgotten_memory_is_recorded_again() {
    let log = Log::new(false);
    log.access::<true>(4, 1, 0);
    log.access::<true>(4, 1, 3);
    log.access::<true>(9, 1, 0);
    assert!(log.coalescer.forget(4 * 64 + 8, 100, log.close()));
    assert_eq!(log.closed.take(), [(4, 1, 3)]);
    assert!(log.access::<true>(4, 1, 0));
    assert!(!log.access::<true>(9, 1, 0));
    assert!(!log.coalescer.forget(0, 1 << 20, log.close()));
}

#[test]
fn region_numbers_that_start_again_find_nothing_old() {
    let log = Log::new(false);
    assert!(log.access::<true>(4, 1, 0));
    for _ in 0..0xffff * ROUNDS {
        log.coalescer.next_region();
    }
    assert_eq!(log.coalescer.look_up.region.get(), ONE_REGION);
    assert!(log.access::<true>(4, 1, 0));
}

#[test]
fn exact_recording_coalesces_nothing() {
    let log = Log::new(true);
    assert!(log.access::<true>(4, 1, 0));
    assert!(log.access::<true>(4, 1, 0));
    assert_eq!(log.end_region(), []);
}
