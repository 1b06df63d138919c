//! How a libc function is interposed: the exported symbol, the handler, and the function behind ours.
//!
//! The exported symbols are weak: a program that defines `malloc` itself keeps its own. All functions behind ours are
//! looked up before the program starts, because `dlsym` takes locks, which a signal handler must not.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::sync::atomic::{AtomicPtr, Ordering};

use crate::process;

/// A function of libc that we interpose.
pub(crate) struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
    scope: *mut c_void,
}

// SAFETY: the scope is a constant that is never read through.
unsafe impl Sync for Real {}

impl Real {
    pub(crate) const fn new(name: &'static str) -> Real {
        Real::found_in(libc::RTLD_NEXT, name)
    }

    /// A variable of a library: that of the program, if that has its own copy.
    pub(crate) const fn variable(name: &'static str) -> Real {
        Real::found_in(libc::RTLD_DEFAULT, name)
    }

    const fn found_in(scope: *mut c_void, name: &'static str) -> Real {
        match CStr::from_bytes_with_nul(name.as_bytes()) {
            Ok(name) => Real { name, address: AtomicPtr::new(core::ptr::null_mut()), scope },
            Err(_) => panic!("a name ends in its only zero byte"),
        }
    }

    /// The function's address; null if there is none.
    #[inline(always)]
    pub(crate) fn address(&self) -> *mut c_void {
        let address = self.address.load(Ordering::Relaxed);
        if address.is_null() { self.look_up() } else { address }
    }

    /// The function's address in a library that may not be loaded: a linker that leaves unneeded libraries out sees that we have the function.
    /// The library is loaded at the first call.
    pub(crate) fn address_in(&self, library: &'static CStr) -> *mut c_void {
        let address = self.address();
        if address.is_null() { self.load(library) } else { address }
    }

    #[cold]
    fn load(&self, library: &'static CStr) -> *mut c_void {
        type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;
        // SAFETY: the names are zero-terminated, and the type is that of libc's function, which we interpose ourselves.
        let address = unsafe {
            let open = libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr());
            if open.is_null() {
                return open;
            }
            let open = core::mem::transmute::<*mut c_void, Open>(open);
            libc::dlsym(open(library.as_ptr(), libc::RTLD_LAZY), self.name.as_ptr())
        };
        process::expect_new_modules();
        self.address.store(address, Ordering::Relaxed);
        address
    }

    /// The function's address if it has been looked up.
    #[inline(always)]
    pub(crate) fn known(&self) -> Option<*mut c_void> {
        let address = self.address.load(Ordering::Relaxed);
        (!address.is_null()).then_some(address)
    }

    #[cold]
    #[inline(never)]
    fn look_up(&self) -> *mut c_void {
        // Condition variables had another layout before this version, and `dlsym` may find that.
        // SAFETY: the names are zero-terminated.
        let address = unsafe {
            let versioned = libc::dlvsym(self.scope, self.name.as_ptr(), c"GLIBC_2.3.2".as_ptr());
            if versioned.is_null() { libc::dlsym(self.scope, self.name.as_ptr()) } else { versioned }
        };
        self.address.store(address, Ordering::Relaxed);
        address
    }
}

/// Looks up every function behind ours.
pub(crate) fn look_up_all() {
    unsafe extern "C" {
        #[link_name = "__start_overtake_real"]
        static FIRST: u8;
        #[link_name = "__stop_overtake_real"]
        static END: u8;
    }
    let (mut real, end): (*const Real, *const Real) = ((&raw const FIRST).cast(), (&raw const END).cast());
    while real < end {
        // SAFETY: the linker lays the statics of that section out as an array between these symbols.
        unsafe {
            (*real).look_up();
            real = real.add(1);
        }
    }
}

/// Defines a handler for a libc function and exports it. The handler gets the function's arguments and, as the last one, the program
/// counter after the call. In it, `real` is the function behind ours.
macro_rules! hook {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, clippy::too_many_arguments, reason = "the name and the arguments are given")]
        extern "C" fn $name($($argument: $type,)* $pc: usize) $(-> $result)? {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: $crate::libc_hooks::real::Real =
                $crate::libc_hooks::real::Real::new(concat!(stringify!($name), "\0"));
            #[allow(dead_code, clippy::too_many_arguments, reason = "some functions are replaced altogether")]
            #[inline(always)]
            fn real($($argument: $type),*) $(-> $result)? {
                // SAFETY: the type is that of libc's function of this name.
                let function = unsafe {
                    core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(
                        REAL.address(),
                    )
                };
                // SAFETY: our caller calls this function with these arguments.
                unsafe { function($($argument),*) }
            }
            /// As `real`, but calls `fallback` as long as the function has not been looked up.
            #[allow(dead_code, reason = "for the few functions that looking up needs itself")]
            #[allow(clippy::too_many_arguments, reason = "libc's function has so many, and there is the fallback")]
            #[inline(always)]
            fn real_or(
                fallback: unsafe extern "C" fn($($type),*) $(-> $result)?,
                $($argument: $type),*
            ) $(-> $result)? {
                let function = match REAL.known() {
                    // SAFETY: the type is that of libc's function of this name.
                    Some(address) => unsafe {
                        core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($($type),*) $(-> $result)?>(address)
                    },
                    None => fallback,
                };
                // SAFETY: our caller meant to call this function with these arguments.
                unsafe { function($($argument),*) }
            }
            let _ = $pc;
            $body
        }
        $crate::libc_hooks::real::export!(hooked $name, $($argument)*);
    )*};
}
pub(crate) use hook;

/// Defines and exports a function with no libc function behind it. The handler gets the program counter as the last argument.
macro_rules! define {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*; $pc:ident) $(-> $result:ty)? $body:block)*) => {$(
        $(#[$meta])*
        #[allow(non_snake_case, reason = "the name is given")]
        extern "C" fn $name($($argument: $type,)* $pc: usize) $(-> $result)? {
            let _ = ($($argument,)* $pc);
            $body
        }
        $crate::libc_hooks::real::export!(own $name, $($argument)*);
    )*};
}
pub(crate) use define;

/// Exports a handler that takes these arguments and the return address.
macro_rules! export {
    ($origin:ident $name:ident, ) => {
        $crate::libc_hooks::real::jump!($origin $name, "rdi");
    };
    ($origin:ident $name:ident, $a:ident) => {
        $crate::libc_hooks::real::jump!($origin $name, "rsi");
    };
    ($origin:ident $name:ident, $a:ident $b:ident) => {
        $crate::libc_hooks::real::jump!($origin $name, "rdx");
    };
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident) => {
        $crate::libc_hooks::real::jump!($origin $name, "rcx");
    };
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident) => {
        $crate::libc_hooks::real::jump!($origin $name, "r8");
    };
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        $crate::libc_hooks::real::jump!($origin $name, "r9");
    };
    // All argument registers are used, so that the return address is passed on the stack, which also keeps it aligned.
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident) => {
        $crate::libc_hooks::real::symbol!(
            $origin $name,
            "push qword ptr [rsp]",
            ".cfi_adjust_cfa_offset 8",
            "call {handler}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "ret"
        );
    };
    // The seventh argument is on the stack behind the return address; both are passed on the stack.
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident) => {
        $crate::libc_hooks::real::symbol!(
            $origin $name,
            "sub rsp, 8",
            "push qword ptr [rsp + 8]",
            "push qword ptr [rsp + 24]",
            ".cfi_adjust_cfa_offset 24",
            "call {handler}",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret"
        );
    };
    // So are the seventh and the eighth.
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident $e:ident $f:ident $g:ident $h:ident) => {
        $crate::libc_hooks::real::symbol!(
            $origin $name,
            "push qword ptr [rsp]",
            "push qword ptr [rsp + 24]",
            "push qword ptr [rsp + 24]",
            ".cfi_adjust_cfa_offset 24",
            "call {handler}",
            "add rsp, 24",
            ".cfi_adjust_cfa_offset -24",
            "ret"
        );
    };
}
pub(crate) use export;

/// Defines a handler for a libc function that takes any number of arguments, and exports it. The handler gets the named arguments
/// (at most five), the list of the others, and the program counter. In it, `real` is the function that takes a list,
/// whose name follows the `=`.
macro_rules! hook_any {
    ($($(#[$meta:meta])* fn $name:ident($($argument:ident: $type:ty),*; $list:ident; $pc:ident) -> $result:ty = $with_list:ident $body:block)*) => {$(
        $(#[$meta])*
        extern "C" fn $name($($argument: $type,)* $list: *mut core::ffi::c_void, $pc: usize) -> $result {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: $crate::libc_hooks::real::Real =
                $crate::libc_hooks::real::Real::new(concat!(stringify!($with_list), "\0"));
            #[allow(dead_code, reason = "some functions are replaced altogether")]
            #[inline(always)]
            fn real($($argument: $type,)* $list: *mut core::ffi::c_void) -> $result {
                // SAFETY: the type is that of libc's function of this name; a list is passed by its address.
                let function = unsafe {
                    core::mem::transmute::<
                        *mut core::ffi::c_void,
                        unsafe extern "C" fn($($type,)* *mut core::ffi::c_void) -> $result,
                    >(REAL.address())
                };
                // SAFETY: our caller meant to call this function with these arguments.
                unsafe { function($($argument,)* $list) }
            }
            $body
        }
        $crate::libc_hooks::real::export_any!(hooked $name, $($argument)*);
    )*};
}
pub(crate) use hook_any;

/// Exports a handler that takes these arguments, the list of the following ones, and the return address.
macro_rules! export_any {
    ($origin:ident $name:ident, $a:ident) => {
        $crate::libc_hooks::real::list!($origin $name, "8", "rsi", "rdx");
    };
    ($origin:ident $name:ident, $a:ident $b:ident) => {
        $crate::libc_hooks::real::list!($origin $name, "16", "rdx", "rcx");
    };
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident) => {
        $crate::libc_hooks::real::list!($origin $name, "24", "rcx", "r8");
    };
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident) => {
        $crate::libc_hooks::real::list!($origin $name, "32", "r8", "r9");
    };
    // The return address is passed on the stack, which stays aligned.
    ($origin:ident $name:ident, $a:ident $b:ident $c:ident $d:ident $e:ident) => {
        $crate::libc_hooks::real::list!(
            $origin $name, "40", "r9", "rax";
            "sub rsp, 8", "push rax", ".cfi_adjust_cfa_offset 16";
            "add rsp, 16", ".cfi_adjust_cfa_offset -16"
        );
    };
}
pub(crate) use export_any;

/// Stores all registers that may hold arguments in memory, in the layout of an argument list: 24 bytes at the stack pointer that say where
/// the arguments are, and the registers 32 bytes above it.
macro_rules! list {
    ($origin:ident $name:ident, $named_bytes:literal, $list:literal, $pc:literal $(; $($before:literal),*; $($after:literal),*)?) => {
        $crate::libc_hooks::real::symbol!(
            $origin $name,
            "sub rsp, 216",
            ".cfi_adjust_cfa_offset 216",
            "mov [rsp + 32], rdi",
            "mov [rsp + 40], rsi",
            "mov [rsp + 48], rdx",
            "mov [rsp + 56], rcx",
            "mov [rsp + 64], r8",
            "mov [rsp + 72], r9",
            "test al, al",
            "je 2f",
            "movaps [rsp + 80], xmm0",
            "movaps [rsp + 96], xmm1",
            "movaps [rsp + 112], xmm2",
            "movaps [rsp + 128], xmm3",
            "movaps [rsp + 144], xmm4",
            "movaps [rsp + 160], xmm5",
            "movaps [rsp + 176], xmm6",
            "movaps [rsp + 192], xmm7",
            "2:",
            concat!("mov dword ptr [rsp], ", $named_bytes),
            "mov dword ptr [rsp + 4], 48",
            "lea rax, [rsp + 224]",
            "mov [rsp + 8], rax",
            "lea rax, [rsp + 32]",
            "mov [rsp + 16], rax",
            concat!("mov ", $list, ", rsp"),
            concat!("mov ", $pc, ", [rsp + 216]"),
            $($($before,)*)?
            "call {handler}",
            $($($after,)*)?
            "add rsp, 216",
            ".cfi_adjust_cfa_offset -216",
            "ret"
        );
    };
}
pub(crate) use list;

macro_rules! jump {
    ($origin:ident $name:ident, $register:literal) => {
        $crate::libc_hooks::real::symbol!($origin $name, concat!("mov ", $register, ", [rsp]"), "jmp {handler}");
    };
}
pub(crate) use jump;

/// A function that replaces one of libc has a second name. Programs that define the first name themselves call ours by the second.
macro_rules! symbol {
    (hooked $name:ident, $($line:expr),*) => {
        $crate::libc_hooks::real::symbol!(
            $name;
            concat!(".weak __interceptor_", stringify!($name)),
            concat!(".type __interceptor_", stringify!($name), ", @function"),
            concat!("__interceptor_", stringify!($name), ":");
            $($line),*
        );
    };
    (own $name:ident, $($line:expr),*) => {
        $crate::libc_hooks::real::symbol!($name; ; $($line),*);
    };
    ($name:ident; $($alias:expr),*; $($line:expr),*) => {
        #[cfg(feature = "staticlib")]
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($name), ",\"ax\",@progbits"),
            // In C++, an odd address of a member function stands for a virtual one.
            ".p2align 4",
            concat!(".weak ", stringify!($name)),
            concat!(".type ", stringify!($name), ", @function"),
            $($alias,)*
            concat!(stringify!($name), ":"),
            ".cfi_startproc",
            $($line,)*
            ".cfi_endproc",
            concat!(".size ", stringify!($name), ", . - ", stringify!($name)),
            ".popsection",
            handler = sym $name,
        );
    };
}
pub(crate) use symbol;
