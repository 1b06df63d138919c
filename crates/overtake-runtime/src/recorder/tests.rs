//! Compares the assembly of `abi::access` with the Rust code that defines what it must do: both get the same random accesses,
//! synchronisation and calls, and must write the same records.

extern crate std;

use core::arch::global_asm;
use std::vec::Vec;

use overtake_rawlog::{Record, RecordKind, Records};

use super::{Kept, Recorder, coalesce::LINE_BYTES};
use crate::sys;
use crate::thread::ThreadState;
use crate::tls;

/// Places from which hooks are called: the return address identifies the instruction. Each has 16 bytes, so that several share
/// an entry of the table of instructions.
const SITES: usize = 320;
const SITE_BYTES: usize = 16;
/// The offset in a site to which its call returns.
const RETURN: usize = 6;

global_asm!(
    ".pushsection .text.overtake_test_sites,\"ax\",@progbits",
    ".p2align 4",
    "overtake_test_sites:",
    ".rept {sites}",
    ".p2align 4",
    "sub rsp, 8",
    "call rsi",
    "add rsp, 8",
    "ret",
    ".endr",
    ".popsection",
    sites = const SITES,
);

unsafe extern "C" {
    fn overtake_test_sites();
}

fn site(number: usize) -> usize {
    overtake_test_sites as *const () as usize + number % SITES * SITE_BYTES
}

/// An access: the exported function, and what it must do.
struct Kind {
    size: usize,
    export: unsafe extern "C" fn(),
    by_rules: fn(&Recorder, usize, usize),
}

macro_rules! kinds {
    ($($export:ident: $write:literal, $size:literal;)*) => {{
        unsafe extern "C" { $(fn $export();)* }
        [$(Kind { size: $size, export: $export, by_rules: by_rules::<$write, $size> },)*]
    }};
}

fn kinds() -> [Kind; 10] {
    kinds! {
        __tsan_read1: false, 1;
        __tsan_read2: false, 2;
        __tsan_read4: false, 4;
        __tsan_read8: false, 8;
        __tsan_read16: false, 16;
        __tsan_write1: true, 1;
        __tsan_write2: true, 2;
        __tsan_write4: true, 4;
        __tsan_write8: true, 8;
        __tsan_write16: true, 16;
    }
}

/// Handles an access without assembly.
fn by_rules<const WRITE: bool, const SIZE: usize>(recorder: &Recorder, address: usize, pc: usize) {
    let from = address % LINE_BYTES;
    if from + SIZE > LINE_BYTES {
        return recorder.access_across::<WRITE, SIZE>(address, pc);
    }
    let (line, bytes) = ((address - from) as u64, ((1 << SIZE) - 1) << from);
    if recorder.coalescer.is_known::<WRITE>(line, bytes) {
        recorder.coalescer.count_repeat();
    } else if let Some(run) =
        recorder.runs.continued(address as u64, pc as u64, recorder.stack.current_since())
        && let Some(free) = recorder.coalescer.free::<WRITE>(line, bytes)
    {
        free.claim::<WRITE>();
        run.expect_next();
        // SAFETY: the second word of a run's record in the current tail.
        unsafe { *((run.record + 8) as *mut u64) += overtake_rawlog::ONE_MORE };
    } else {
        recorder.record_new::<WRITE, SIZE>(address, pc);
    }
}

/// A thread that records into memory.
struct Thread(*mut u8);

impl Thread {
    fn new() -> Thread {
        let room = sys::map_private(size_of::<ThreadState>()).expect("memory");
        let thread = Thread(room);
        let recorder = thread.recorder();
        assert!(recorder.open((0, 0), false, Kept::default()));
        recorder.buffer.open_in_memory();
        recorder.allow_runs();
        recorder.runs.next_tail();
        recorder.start_chunk();
        recorder.end_runs();
        thread
    }

    fn state(&self) -> &ThreadState {
        // SAFETY: zeroed memory of the right size, for which zeros are valid.
        unsafe { &*self.0.cast_const().cast() }
    }

    fn recorder(&self) -> &Recorder {
        self.state().recorder()
    }

    /// The records without their stamps.
    fn records(&self) -> Vec<Record> {
        let without_stamp = |mut record: Record| {
            match record.kind {
                RecordKind::Chunk => record.words[0] = 0,
                _ if record.stamp().is_some() => record.words[1] = 0,
                _ => {}
            }
            record
        };
        Records::new(self.recorder().buffer.bytes()).map(without_stamp).collect()
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.recorder().close().unmap();
        // SAFETY: nobody uses it any more.
        unsafe { sys::unmap(self.0, size_of::<ThreadState>()) };
    }
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % limit
    }
}

/// A random address in one of few lines, so that accesses repeat each other; some lines share a slot of the table.
fn address(random: &mut Random) -> usize {
    let line = 0x7000_0000 + random.below(12) * LINE_BYTES + random.below(3) * (1 << 17);
    line + random.below(LINE_BYTES)
}

/// Deeper frames have lower addresses.
fn stack_pointer(depth: usize) -> usize {
    (1 << 40) - depth
}

fn run(seed: u64) -> (Thread, Thread) {
    let (fast, plain) = (Thread::new(), Thread::new());
    let (kinds, mut random) = (kinds(), Random(seed));
    let access = |kind: &Kind, at: usize, address: usize| {
        // SAFETY: code above that calls the second argument, which takes the first.
        let call: extern "C" fn(usize, unsafe extern "C" fn()) = unsafe { core::mem::transmute(site(at)) };
        tls::set_state(fast.state());
        call(address, kind.export);
        (kind.by_rules)(plain.recorder(), address, site(at) + RETURN);
    };
    let both = |act: &dyn Fn(&Recorder)| [&fast, &plain].map(|thread| act(thread.recorder()));
    let mut depth = 0;
    for _ in 0..400 {
        match random.below(10) {
            0 => drop(both(&|recorder| recorder.sync(RecordKind::Post, 0, 5, 6))),
            1 => drop(both(&|recorder| recorder.allocated(0x7000_0000, (100, 100), true, 7))),
            2 if depth < 50 => {
                depth += 1;
                both(&|recorder| recorder.enter_function(site(depth), stack_pointer(depth)));
            }
            3 if depth > 0 => {
                both(&|recorder| recorder.leave_function(stack_pointer(depth)));
                depth -= 1;
            }
            4..7 => {
                let (kind, at, start) = (&kinds[random.below(10)], random.below(SITES), address(&mut random));
                let step = [kind.size, kind.size * 2, 24, 0][random.below(4)];
                for number in 0..random.below(40) {
                    access(kind, at, start + number * step);
                }
            }
            _ => {
                for _ in 0..random.below(12) {
                    access(&kinds[random.below(10)], random.below(SITES), address(&mut random));
                }
            }
        }
    }
    tls::set_state(core::ptr::null());
    (fast, plain)
}

#[test]
fn assembly_and_rust_write_the_same_records() {
    let mut runs = 0;
    for seed in 0..300 {
        let (fast, plain) = run(seed);
        let (records, expected) = (fast.records(), plain.records());
        for (number, (record, expected)) in records.iter().zip(&expected).enumerate() {
            assert_eq!(record, expected, "seed {seed}, record {number}");
        }
        assert_eq!(records.len(), expected.len(), "seed {seed}");
        let repeats = |thread: &Thread| thread.recorder().coalescer.repeats();
        assert_eq!(repeats(&fast), repeats(&plain), "seed {seed}");
        runs += records
            .iter()
            .filter(|record| matches!(record.kind, RecordKind::ReadRun | RecordKind::WriteRun))
            .count();
    }
    assert!(runs > 1000, "only {runs} runs were compared");
}
