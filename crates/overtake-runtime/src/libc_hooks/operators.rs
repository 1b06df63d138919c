//! `operator new` and `delete` of C++.
//!
//! Those of the C++ library call `malloc` and `free`, which record. All that is done here is to remember who called the operator:
//! without that, every block of a program would be allocated in the C++ library. Exceptions pass by, because the exported
//! functions jump to the library's own. Where that is linked statically there is nothing behind ours, and `malloc` serves.

use core::ffi::c_void;

use super::memory::{allocate, allocate_aligned, release};
use super::real::{Real, symbol};
use crate::thread;

/// Defines operators: the handler remembers the caller and says where to jump. `$fallback` takes the same arguments.
macro_rules! operators {
    ($fallback:ident, $matters:expr; $($name:ident)*) => {$(
        #[allow(non_snake_case, reason = "the name is given")]
        extern "C" fn $name(argument: usize, pc: usize) -> *const c_void {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            let matters: fn(usize) -> bool = $matters;
            if matters(argument) && let Some(thread) = thread::current() {
                thread.operator_called(pc);
            }
            REAL.known().map_or($fallback as *const c_void, |real| real.cast_const())
        }
        symbol!($name,
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

operators! { allocate, |_| true; _Znwm _Znam _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t }
operators! { allocate_aligned, |_| true;
    _ZnwmSt11align_val_t _ZnamSt11align_val_t _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
}
operators! { release, |block| block != 0;
    _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvRKSt9nothrow_t _ZdaPvRKSt9nothrow_t _ZdlPvSt11align_val_t _ZdaPvSt11align_val_t
    _ZdlPvmSt11align_val_t _ZdaPvmSt11align_val_t _ZdlPvSt11align_val_tRKSt9nothrow_t _ZdaPvSt11align_val_tRKSt9nothrow_t
}
