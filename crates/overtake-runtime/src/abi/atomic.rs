//! Atomic operations: performed here, and recorded with a stamp in the same step.
//!
//! The operation and its stamp happen under a spin lock chosen by the address (a *stripe*), so that the stamps of operations on one
//! location are in the order in which the operations took effect. Otherwise a load could appear before the store that it saw.
//! The operations themselves are always sequentially consistent, which is at least as strong as requested.
//!
//! A thread that waits in a loop loads the same store over and over. Consecutive loads by one instruction that see the same store,
//! with no other record of the thread in between, share one record: the further ones order nothing more and change no schedule.
//! They are counted. Each stripe counts the stores to its locations, so that a load knows whether there was one since the last load.
//!
//! So do consecutive stores or updates of one location by one instruction, if no other thread used it atomically in between: whoever comes
//! after one of them comes after all, and the thread did nothing else meanwhile. A thread that counts in a loop leaves one record. (A load
//! in between would come after the first ones only, and a plain access after that load races with the others.)

use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence};

use overtake_rawlog::{RecordKind, atomic_extra};

use super::access::forward;
use crate::recorder::Counts;
use crate::sys;
use crate::thread;
use crate::tls;

const STRIPES: usize = 256;

/// A lock, how many threads sleep until it is free, and how many operations and how many stores there were under it.
#[repr(align(64))]
struct Stripe {
    holder: AtomicUsize,
    sleepers: AtomicU32,
    operations: AtomicU64,
    stores: AtomicU64,
}

impl Stripe {
    const fn new() -> Stripe {
        let (operations, stores) = (AtomicU64::new(0), AtomicU64::new(0));
        Stripe { holder: AtomicUsize::new(0), sleepers: AtomicU32::new(0), operations, stores }
    }
}

static STRIPE: [Stripe; STRIPES] = [const { Stripe::new() }; STRIPES];

/// After a fork nobody holds a stripe: the threads that held one are not in this process.
pub(crate) fn unlock_after_fork() {
    for stripe in &STRIPE {
        stripe.holder.store(0, Ordering::Relaxed);
        stripe.sleepers.store(0, Ordering::Relaxed);
    }
}

impl Stripe {
    /// Counts an operation on one of the stripe's locations. Returns the counts before it. The stripe must be held.
    #[inline(always)]
    fn count(&self, kind: RecordKind) -> Counts {
        // This need not be one atomic step: only the holder of the stripe counts.
        let before = Counts {
            operations: self.operations.load(Ordering::Relaxed),
            stores: self.stores.load(Ordering::Relaxed),
        };
        let after = before.after(kind);
        self.operations.store(after.operations, Ordering::Relaxed);
        self.stores.store(after.stores, Ordering::Relaxed);
        before
    }

    /// Waits until the stripe may be free.
    #[cold]
    fn wait(&self) {
        /// A holder that leaves may miss a thread that began to wait just now: to see it, every atomic operation would need a fence.
        /// So a waiter does not sleep longer than this, in nanoseconds.
        const LONGEST_SLEEP: i64 = 1_000_000;
        for _ in 0..64 {
            core::hint::spin_loop();
            if self.holder.load(Ordering::Relaxed) == 0 {
                return;
            }
        }
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        let holder = self.holder.load(Ordering::SeqCst);
        if holder != 0 {
            sys::wait_briefly(self.futex(), holder as u32, LONGEST_SLEEP);
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    /// The half of the holder's word in which holders differ.
    fn futex(&self) -> *const u32 {
        self.holder.as_ptr().cast()
    }

    #[cold]
    fn wake(&self) {
        sys::wake_all(self.futex());
    }
}

/// Holds a stripe, unless this thread already held it (then this is a signal handler that interrupted the holder).
struct Held(Option<&'static Stripe>);

impl Held {
    fn new(stripe: &'static Stripe) -> Held {
        let me = tls::thread_pointer();
        loop {
            match stripe.holder.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Held(Some(stripe)),
                Err(holder) if holder == me => return Held(None),
                Err(_) => stripe.wait(),
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(stripe) = self.0 {
            stripe.holder.store(0, Ordering::Release);
            if stripe.sleepers.load(Ordering::Relaxed) > 0 {
                stripe.wake();
            }
        }
    }
}

/// What an operation did. Only a compare-exchange has several outcomes.
pub(super) struct Effect {
    pub(super) kind: RecordKind,
    pub(super) order: u32,
}

/// Performs `operation` and records the effect that it returns.
pub(super) fn record<R>(
    address: usize,
    size: usize,
    pc: usize,
    likely: RecordKind,
    operation: impl FnOnce() -> (R, Effect),
) -> R {
    let Some(thread) = thread::current() else { return operation().0 };
    let size = size.trailing_zeros() as u8;
    thread.about_to_access(likely, atomic_extra(size, 0), address as u64, pc as u64);
    let stripe = &STRIPE[(address >> 3 ^ address >> 11) % STRIPES]; // the division bounds the index
    let _held = Held::new(stripe);
    let (result, effect) = operation();
    let extra = atomic_extra(size, (effect.order & 7) as u8);
    let before = stripe.count(effect.kind);
    thread.atomic(effect.kind, extra, address as u64, pc as u64, before);
    result
}

/// Performs `operation` and records it as an atomic operation of this kind and order.
pub(crate) fn note<R>(
    address: usize,
    size: usize,
    pc: usize,
    kind: RecordKind,
    order: u32,
    operation: impl FnOnce() -> R,
) -> R {
    record(address, size, pc, kind, || (operation(), Effect { kind, order }))
}

macro_rules! atomics {
    ($($type:ty, $atomic:ty, $module:ident, $load:ident, $store:ident, $exchange:ident, $add:ident, $sub:ident, $and:ident, $or:ident, $xor:ident,
       $nand:ident, $strong:ident, $weak:ident, $value:ident;)*) => {$(
        mod $module {
            use super::*;

            type Value = $type;

            fn at(address: usize) -> &'static $atomic {
                // SAFETY: the compiler passes the address of an atomic object of this size, aligned.
                unsafe { <$atomic>::from_ptr(address as *mut Value) }
            }

            extern "C" fn load(address: usize, order: u32, pc: usize) -> Value {
                record(address, size_of::<Value>(), pc, RecordKind::AtomicLoad, || {
                    (at(address).load(Ordering::SeqCst), Effect { kind: RecordKind::AtomicLoad, order })
                })
            }
            forward!($load => load, "rdx");

            extern "C" fn store(address: usize, value: Value, order: u32, pc: usize) {
                record(address, size_of::<Value>(), pc, RecordKind::AtomicStore, || {
                    (at(address).store(value, Ordering::SeqCst), Effect { kind: RecordKind::AtomicStore, order })
                })
            }
            forward!($store => store, "rcx");

            modify!($exchange, exchange, swap);
            modify!($add, add, fetch_add);
            modify!($sub, sub, fetch_sub);
            modify!($and, and, fetch_and);
            modify!($or, or, fetch_or);
            modify!($xor, xor, fetch_xor);
            modify!($nand, nand, fetch_nand);

            fn exchange_if(address: usize, expected: Value, new: Value, order: u32, failure: u32, pc: usize) -> Result<Value, Value> {
                record(address, size_of::<Value>(), pc, RecordKind::AtomicLoad, || {
                    let result = at(address).compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst);
                    let effect = match result {
                        Ok(_) => Effect { kind: RecordKind::AtomicRmw, order },
                        Err(_) => Effect { kind: RecordKind::AtomicLoad, order: failure },
                    };
                    (result, effect)
                })
            }

            extern "C" fn strong(address: usize, expected: *mut Value, new: Value, order: u32, failure: u32, pc: usize) -> i32 {
                // SAFETY: the compiler passes the address of the expected value, which is the caller's own.
                let result = exchange_if(address, unsafe { expected.read() }, new, order, failure, pc);
                if let Err(seen) = result {
                    // SAFETY: as above.
                    unsafe { expected.write(seen) };
                }
                i32::from(result.is_ok())
            }
            forward!($strong => strong, "r9");
            forward!($weak => strong, "r9");

            extern "C" fn value(address: usize, expected: Value, new: Value, order: u32, failure: u32, pc: usize) -> Value {
                exchange_if(address, expected, new, order, failure, pc).unwrap_or_else(|seen| seen)
            }
            forward!($value => value, "r9");
        }
    )*};
}

macro_rules! modify {
    ($export:ident, $handler:ident, $method:ident) => {
        extern "C" fn $handler(address: usize, value: Value, order: u32, pc: usize) -> Value {
            record(address, size_of::<Value>(), pc, RecordKind::AtomicRmw, || {
                (at(address).$method(value, Ordering::SeqCst), Effect { kind: RecordKind::AtomicRmw, order })
            })
        }
        forward!($export => $handler, "rcx");
    };
}

atomics! {
    u8, AtomicU8, of_8, __tsan_atomic8_load, __tsan_atomic8_store, __tsan_atomic8_exchange, __tsan_atomic8_fetch_add, __tsan_atomic8_fetch_sub,
        __tsan_atomic8_fetch_and, __tsan_atomic8_fetch_or, __tsan_atomic8_fetch_xor, __tsan_atomic8_fetch_nand,
        __tsan_atomic8_compare_exchange_strong, __tsan_atomic8_compare_exchange_weak, __tsan_atomic8_compare_exchange_val;
    u16, AtomicU16, of_16, __tsan_atomic16_load, __tsan_atomic16_store, __tsan_atomic16_exchange, __tsan_atomic16_fetch_add, __tsan_atomic16_fetch_sub,
        __tsan_atomic16_fetch_and, __tsan_atomic16_fetch_or, __tsan_atomic16_fetch_xor, __tsan_atomic16_fetch_nand,
        __tsan_atomic16_compare_exchange_strong, __tsan_atomic16_compare_exchange_weak, __tsan_atomic16_compare_exchange_val;
    u32, AtomicU32, of_32, __tsan_atomic32_load, __tsan_atomic32_store, __tsan_atomic32_exchange, __tsan_atomic32_fetch_add, __tsan_atomic32_fetch_sub,
        __tsan_atomic32_fetch_and, __tsan_atomic32_fetch_or, __tsan_atomic32_fetch_xor, __tsan_atomic32_fetch_nand,
        __tsan_atomic32_compare_exchange_strong, __tsan_atomic32_compare_exchange_weak, __tsan_atomic32_compare_exchange_val;
    u64, AtomicU64, of_64, __tsan_atomic64_load, __tsan_atomic64_store, __tsan_atomic64_exchange, __tsan_atomic64_fetch_add, __tsan_atomic64_fetch_sub,
        __tsan_atomic64_fetch_and, __tsan_atomic64_fetch_or, __tsan_atomic64_fetch_xor, __tsan_atomic64_fetch_nand,
        __tsan_atomic64_compare_exchange_strong, __tsan_atomic64_compare_exchange_weak, __tsan_atomic64_compare_exchange_val;
}

extern "C" fn thread_fence(order: u32, pc: usize) {
    fence(Ordering::SeqCst);
    if let Some(thread) = thread::current() {
        thread.sync(RecordKind::Fence, (order & 7) as u8, 0, pc as u64);
    }
}
forward!(__tsan_atomic_thread_fence => thread_fence, "rsi");

/// Orders a thread with its own signal handlers, and nothing between threads.
#[unsafe(no_mangle)]
extern "C" fn __tsan_atomic_signal_fence(_order: u32) {
    core::sync::atomic::compiler_fence(Ordering::SeqCst);
}
