//! Dynamic annotations: `AnnotateHappensBefore` and the like, as the headers of Valgrind, Abseil and WebKit declare them.
//!
//! The first two arguments are the caller's file and line. They are not used, because the program counter gives the same.

use core::ffi::c_char;

use overtake_rawlog::{RecordKind, lock_flags, release_extra};

use super::interface::{ignore, ignore_from, lock_taken, note};
use crate::libc_hooks::real::define;
use crate::process;
use crate::thread;

fn benign(address: usize, length: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.sync_with(RecordKind::Benign, address as u64, pc as u64, length as u64);
    }
}

define! {
    fn AnnotateHappensBefore(file: usize, line: i32, object: usize; pc) { note(RecordKind::Post, 0, object, pc); }
    fn AnnotateHappensAfter(file: usize, line: i32, object: usize; pc) { note(RecordKind::Wait, 0, object, pc); }
    fn WTFAnnotateHappensBefore(file: usize, line: i32, object: usize; pc) { note(RecordKind::Post, 0, object, pc); }
    fn WTFAnnotateHappensAfter(file: usize, line: i32, object: usize; pc) { note(RecordKind::Wait, 0, object, pc); }
    fn AnnotateCondVarSignal(file: usize, line: i32, object: usize; pc) { note(RecordKind::Post, 0, object, pc); }
    fn AnnotateCondVarSignalAll(file: usize, line: i32, object: usize; pc) { note(RecordKind::Post, 0, object, pc); }
    fn AnnotateCondVarWait(file: usize, line: i32, object: usize, lock: usize; pc) {
        note(RecordKind::Wait, 0, object, pc);
    }

    fn AnnotateRWLockCreate(file: usize, line: i32, lock: usize; pc) { note(RecordKind::Forget, 0, lock, pc); }
    fn AnnotateRWLockCreateStatic(file: usize, line: i32, lock: usize; pc) {
        note(RecordKind::Forget, lock_flags::STATIC, lock, pc);
    }
    fn AnnotateRWLockDestroy(file: usize, line: i32, lock: usize; pc) { note(RecordKind::Destroy, 0, lock, pc); }
    fn AnnotateRWLockAcquired(file: usize, line: i32, lock: usize, exclusive: usize; pc) {
        lock_taken(lock, exclusive == 0, 0, pc);
    }
    fn AnnotateRWLockReleased(file: usize, line: i32, lock: usize, exclusive: usize; pc) {
        note(RecordKind::ReleaseAny, release_extra(exclusive == 0), lock, pc);
    }

    fn AnnotateBenignRace(file: usize, line: i32, address: usize, why: usize; pc) { benign(address, 1, pc); }
    fn AnnotateBenignRaceSized(file: usize, line: i32, address: usize, length: usize, why: usize; pc) {
        benign(address, length, pc);
    }
    fn WTFAnnotateBenignRaceSized(file: usize, line: i32, address: usize, length: usize, why: usize; pc) {
        benign(address, length, pc);
    }

    // Both ignore all accesses, reads and writes, as in ThreadSanitizer: programs rely on that.
    fn AnnotateIgnoreReadsBegin(file: usize, line: i32; pc) { ignore_from(false, pc); }
    fn AnnotateIgnoreReadsEnd(file: usize, line: i32; pc) { ignore(-1, -1, 0); }
    fn AnnotateIgnoreWritesBegin(file: usize, line: i32; pc) { ignore_from(false, pc); }
    fn AnnotateIgnoreWritesEnd(file: usize, line: i32; pc) { ignore(-1, -1, 0); }
    fn AnnotateIgnoreSyncBegin(file: usize, line: i32; pc) { ignore_from(true, pc); }
    fn AnnotateIgnoreSyncEnd(file: usize, line: i32; pc) { ignore(0, 0, -1); }
    fn AnnotateEnableRaceDetection(file: usize, line: i32, enable: i32; pc) {
        let change = if enable == 0 { 1 } else { -1 };
        ignore(change, change, 0);
    }

    fn AnnotateThreadName(file: usize, line: i32, name: *const c_char; pc) {
        if let Some(thread) = thread::current() {
            // SAFETY: the program passes a text.
            thread.name_thread(thread.number(), unsafe { process::bytes(name) });
        }
    }
    /// The memory counts as a new block.
    fn AnnotateNewMemory(file: usize, line: i32, address: usize, length: usize; pc) {
        if let Some(thread) = thread::current() {
            thread.sync_with(RecordKind::Map, address as u64, pc as u64, length as u64);
        }
    }

    fn AnnotateMutexIsUsedAsCondVar(file: usize, line: i32, object: usize; pc) {}
    fn AnnotateMutexIsNotPHB(file: usize, line: i32, object: usize; pc) {}
    fn AnnotatePCQCreate(file: usize, line: i32, queue: usize; pc) {}
    fn AnnotatePCQDestroy(file: usize, line: i32, queue: usize; pc) {}
    fn AnnotatePCQPut(file: usize, line: i32, queue: usize; pc) {}
    fn AnnotatePCQGet(file: usize, line: i32, queue: usize; pc) {}
    fn AnnotatePublishMemoryRange(file: usize, line: i32, address: usize, length: usize; pc) {}
    fn AnnotateUnpublishMemoryRange(file: usize, line: i32, address: usize, length: usize; pc) {}
    fn AnnotateMemoryIsInitialized(file: usize, line: i32, address: usize, length: usize; pc) {}
    fn AnnotateMemoryIsUninitialized(file: usize, line: i32, address: usize, length: usize; pc) {}
    fn AnnotateExpectRace(file: usize, line: i32, address: usize, why: usize; pc) {}
    fn AnnotateFlushExpectedRaces(file: usize, line: i32; pc) {}
    fn AnnotateFlushState(file: usize, line: i32; pc) {}
    fn AnnotateTraceMemory(file: usize, line: i32, address: usize; pc) {}
    fn AnnotateNoOp(file: usize, line: i32, address: usize; pc) {}
    fn RunningOnValgrind(; pc) -> i32 { 0 }
    fn ValgrindSlowdown(; pc) -> f64 { 10.0 }
}
