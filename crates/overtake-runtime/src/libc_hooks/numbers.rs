//! Functions of the mathematical library that return a second result through a pointer, as in `effects.rs`. Their first arguments are
//! floating-point numbers, which are not passed in the registers of the others.
//! Rust has no type for `long double`: functions of it are called as they were called by the program, after what they write was recorded.

use super::real::{Real, export, symbol};
use super::touch;

/// One row for each function: its numbers, then where it writes what types.
macro_rules! numbers {
    ($(fn $name:ident($($number:ident: $type:ty),*; $($out:ident: *mut $written:ty),*) -> $result:ty;)*) => {$(
        extern "C" fn $name($($number: $type,)* $($out: *mut $written,)* pc: usize) -> $result {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            type Function = unsafe extern "C" fn($($type,)* $(*mut $written),*) -> $result;
            // SAFETY: the type is that of the library's function of this name.
            let function = unsafe { core::mem::transmute::<*mut core::ffi::c_void, Function>(REAL.address_in(c"libm.so.6")) };
            // SAFETY: our caller calls this function with these arguments.
            let result = unsafe { function($($number,)* $($out),*) };
            $(touch::<true>($out as usize, size_of::<$written>(), pc);)*
            result
        }
        export!(hooked $name, $($out)*);
    )*};
}

numbers! {
    fn modf(number: f64; out: *mut f64) -> f64;
    fn modff(number: f32; out: *mut f32) -> f32;
    fn frexp(number: f64; out: *mut i32) -> f64;
    fn frexpf(number: f32; out: *mut i32) -> f32;
    fn remquo(number: f64, divisor: f64; out: *mut i32) -> f64;
    fn remquof(number: f32, divisor: f32; out: *mut i32) -> f32;
    fn lgamma_r(number: f64; out: *mut i32) -> f64;
    fn lgammaf_r(number: f32; out: *mut i32) -> f32;
    fn sincos(number: f64; sine: *mut f64, cosine: *mut f64) -> ();
    fn sincosf(number: f32; sine: *mut f32, cosine: *mut f32) -> ();
}

/// Exports a handler that gets the two registers which may hold pointers, and returns the address of the library's function: a jump to it passes on what
/// the caller passed.
macro_rules! jump_to_real {
    ($name:ident) => {
        symbol!(
            hooked $name,
            "push rdi",
            ".cfi_adjust_cfa_offset 8",
            "push rsi",
            ".cfi_adjust_cfa_offset 8",
            "mov rdx, [rsp + 16]",
            "sub rsp, 8",
            ".cfi_adjust_cfa_offset 8",
            "call {handler}",
            "add rsp, 8",
            ".cfi_adjust_cfa_offset -8",
            "pop rsi",
            ".cfi_adjust_cfa_offset -8",
            "pop rdi",
            ".cfi_adjust_cfa_offset -8",
            "jmp rax"
        );
    };
}

/// One row for each function of `long double`: where it writes how much. Such numbers are passed on the stack, so that a jump to the
/// library's function passes them on.
macro_rules! long_numbers {
    ($(fn $name:ident($out:ident: $bytes:expr $(, $second:ident: $more:expr)?);)*) => {$(
        /// Records what is going to be written. The library's function.
        extern "C" fn $name($out: usize, second: usize, pc: usize) -> usize {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            touch::<true>($out, $bytes, pc);
            let _ = second;
            $(let $second = second; touch::<true>($second, $more, pc);)?
            REAL.address_in(c"libm.so.6") as usize
        }
        jump_to_real!($name);
    )*};
}

/// The bytes that a `long double` takes in memory.
const LONG: usize = 16;

long_numbers! {
    fn modfl(out: LONG);
    fn frexpl(out: 4);
    fn remquol(out: 4);
    fn lgammal_r(out: 4);
    fn sincosl(sine: LONG, cosine: LONG);
}

/// The functions that leave the sign of their result in `signgam`, which belongs to all threads.
macro_rules! leaving_a_sign {
    ($(fn $name:ident($type:ty);)*) => {$(
        extern "C" fn $name(number: $type, pc: usize) -> $type {
            #[used]
            #[unsafe(link_section = "overtake_real")]
            static REAL: Real = Real::new(concat!(stringify!($name), "\0"));
            // SAFETY: the type is that of the library's function of this name.
            let function = unsafe {
                core::mem::transmute::<*mut core::ffi::c_void, unsafe extern "C" fn($type) -> $type>(REAL.address_in(c"libm.so.6"))
            };
            // SAFETY: our caller calls this function with this argument.
            let result = unsafe { function(number) };
            sign_is_left(pc);
            result
        }
        export!(hooked $name, );
    )*};
}

leaving_a_sign! {
    fn lgamma(f64);
    fn lgammaf(f32);
}

/// The number is on the stack.
extern "C" fn lgammal(_: usize, _: usize, pc: usize) -> usize {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("lgammal\0");
    sign_is_left(pc);
    REAL.address_in(c"libm.so.6") as usize
}
jump_to_real!(lgammal);

fn sign_is_left(pc: usize) {
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static SIGN: Real = Real::variable("signgam\0");
    touch::<true>(SIGN.address_in(c"libm.so.6") as usize, size_of::<i32>(), pc);
}
