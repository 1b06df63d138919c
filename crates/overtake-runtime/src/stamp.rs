//! Stamps: the order of synchronisation operations of different threads.
//!
//! A stamp is the processor's time-stamp counter where it is invariant (it runs at one rate on all cores, in all power
//! states), else a shared counter. `rdtsc` may run ahead of earlier instructions; without a fence before it, the stamps of
//! consecutive holders of a lock come out inverted.

use core::sync::atomic::{AtomicU8, AtomicU64, Ordering};

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const TSC: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);
static NEXT: AtomicU64 = AtomicU64::new(1);

/// Where stamps come from: `tsc` or `counter`.
pub(crate) fn source_name() -> &'static [u8] {
    if source() == TSC { b"tsc" } else { b"counter" }
}

/// The stamp of now. Stamps of causally ordered calls do not decrease.
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
    let source = if invariant { TSC } else { COUNTER };
    SOURCE.store(source, Ordering::Relaxed);
    source
}
