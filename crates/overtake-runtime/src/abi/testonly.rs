//! Functions that tests of ThreadSanitizer call: a barrier that orders nothing, and the depth of the call stack.

use core::sync::atomic::{AtomicU32, Ordering};

use crate::libc_hooks::real::{define, symbol};
use crate::sys;
#[cfg(feature = "staticlib")]
use crate::thread;

/// The lowest bits of a barrier say how many threads meet there, the others how many have arrived. A barrier has 32 bits; older
/// headers give it room for 64.
const COUNT_BITS: u32 = 10;

fn round(state: u32) -> u32 {
    (state >> COUNT_BITS) / (state & ((1 << COUNT_BITS) - 1)).max(1)
}

/// Waits until all threads of the round have arrived. Nothing of this is recorded.
fn wait(barrier: &AtomicU32) {
    let one = 1 << COUNT_BITS;
    let before = barrier.fetch_add(one, Ordering::AcqRel);
    if round(before.wrapping_add(one)) != round(before) {
        return sys::wake_all(barrier.as_ptr());
    }
    loop {
        let now = barrier.load(Ordering::Acquire);
        if round(now) != round(before) {
            return;
        }
        sys::wait_while(barrier.as_ptr(), now);
    }
}

define! {
    fn __tsan_testonly_barrier_init(barrier: *const AtomicU32, count: u32; pc) {
        // SAFETY: our caller passes a barrier.
        unsafe { &*barrier }.store(count & ((1 << COUNT_BITS) - 1), Ordering::Release);
    }
    fn __tsan_testonly_barrier_wait(barrier: *const AtomicU32; pc) {
        // SAFETY: our caller passes a barrier.
        wait(unsafe { &*barrier });
    }
}

/// How many functions the call stack has, without those that a `longjmp` left.
#[allow(non_snake_case, reason = "the name is given")]
#[cfg(feature = "staticlib")]
extern "C" fn __tsan_testonly_shadow_stack_current_size(stack_pointer: usize) -> u64 {
    thread::current().map_or(0, |thread| thread.recorder().depth(stack_pointer))
}
symbol!(own __tsan_testonly_shadow_stack_current_size, "mov rdi, rsp", "jmp {handler}");
