//! Stamps: the order of synchronisation operations of different threads.
//!
//! A stamp is the processor's time-stamp counter if it is invariant (it runs at one rate on all cores, in all power
//! states) and the program may read it, else a shared counter. `rdtsc` may run before earlier instructions; without a fence before it, the
//! stamps of consecutive holders of a lock may be inverted. So there is a fence after an acquire. Before a release none is needed, as long
//! as the thread's own stamps keep their order, which saves half of the cost.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

use crate::sys;

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const TSC: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Where stamps come from: `tsc` or `counter`.
pub(crate) fn source_name() -> &'static [u8] {
    if source() == TSC { b"tsc" } else { b"counter" }
}

/// A stamp that is not later than anything after this call. It may be earlier than the last stamp of the thread: then the caller uses
/// that one.
#[inline]
pub(crate) fn before() -> u64 {
    if source() == TSC {
        // SAFETY: the counter exists on every x86-64.
        unsafe { core::arch::x86_64::_rdtsc() }
    } else {
        now()
    }
}

/// The current stamp, later than everything before. Stamps of causally ordered calls do not decrease.
#[inline]
pub(crate) fn now() -> u64 {
    if source() == TSC {
        // SAFETY: SSE2 and the counter exist on every x86-64.
        unsafe {
            core::arch::x86_64::_mm_lfence();
            core::arch::x86_64::_rdtsc()
        }
    } else {
        // Relaxed: one location has one modification order, and ordered calls see it in order.
        NEXT.fetch_add(1, Ordering::Relaxed)
    }
}

/// The time-stamp counter is about to be forbidden.
pub(crate) fn count_from_now_on() {
    /// Minutes ahead of the time-stamp counter, so that threads that are just reading it get earlier stamps.
    const AHEAD: u64 = 1 << 40;
    if source() == TSC {
        NEXT.store(now() + AHEAD, Ordering::SeqCst);
        SOURCE.store(COUNTER, Ordering::SeqCst);
    }
}

#[inline]
fn source() -> u8 {
    match SOURCE.load(Ordering::Relaxed) {
        UNKNOWN => choose_source(),
        source => source,
    }
}

#[cold]
fn choose_source() -> u8 {
    const INVARIANT_TSC: u32 = 1 << 8;
    let highest = core::arch::x86_64::__cpuid(0x8000_0000).eax;
    let invariant =
        highest >= 0x8000_0007 && core::arch::x86_64::__cpuid(0x8000_0007).edx & INVARIANT_TSC != 0;
    let source = if invariant && sys::may_read_time_stamps() { TSC } else { COUNTER };
    SOURCE.store(source, Ordering::Relaxed);
    source
}
