//! `operator new` and `delete` of C++, and the functions of the C++ library for threads and condition variables that are not inlined.
//!
//! The library's functions call `malloc`, `pthread_create` and so on, which record. These hooks only remember who called
//! the library: otherwise every block of a program would seem to be allocated, and every thread started, in the library. Exceptions do not
//! pass through our frames, because the exported functions jump to the library's own. If the library is linked statically, there is
//! nothing behind our operators, and they call `malloc`. The other functions are then the library's, because they are in the same object
//! files as constructors that the linker needs anyway.

use core::ffi::c_void;

use super::memory::{allocate, allocate_aligned, release};
use super::real::{Real, symbol};
use crate::thread;

/// Defines functions. The handler remembers the caller, if `$matters` says so for the first argument, and returns where to jump.
/// `$fallback` takes the same arguments.
macro_rules! pass_by {
    ($fallback:expr, $matters:expr; $($name:ident)*) => {$(
        #[allow(non_snake_case, reason = "the name is given")]
        extern "C" fn $name(argument: usize, pc: usize) -> *const c_void {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            let matters: fn(usize) -> bool = $matters;
            if matters(argument) && let Some(thread) = thread::current() {
                thread.library_called(pc);
            }
            let fallback: fn(&Real) -> *const c_void = $fallback;
            REAL.known().map_or_else(|| fallback(&REAL), |real| real.cast_const())
        }
        symbol!(hooked $name,
            "push rdi", ".cfi_adjust_cfa_offset 8",
            "push rsi", ".cfi_adjust_cfa_offset 8",
            "push rdx", ".cfi_adjust_cfa_offset 8",
            "mov rsi, [rsp + 24]",
            "call {handler}",
            "pop rdx", ".cfi_adjust_cfa_offset -8",
            "pop rsi", ".cfi_adjust_cfa_offset -8",
            "pop rdi", ".cfi_adjust_cfa_offset -8",
            "jmp rax");
    )*};
}

pass_by! { |_| allocate as *const c_void, |_| true; _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t }
pass_by! { |_| allocate_aligned as *const c_void, |_| true;
    _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
}
pass_by! { |_| release as *const c_void, |block| block != 0;
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}
// `std::thread::_M_start_thread` and `join`, `std::condition_variable::wait`, `notify_one` and `notify_all`.
pass_by! { |real| real.address().cast_const(), |_| true;
    _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE _ZNSt6thread4joinEv
    _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
    _ZNSt18condition_variable10notify_oneEv _ZNSt18condition_variable10notify_allEv
}
