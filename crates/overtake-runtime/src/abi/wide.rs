//! Atomic operations on 16 bytes, by the processor's compare-exchange of that size.

use core::arch::asm;

use overtake_rawlog::RecordKind;

use super::atomic::{Effect, record};
use crate::libc_hooks::real::symbol;

type Value = u128;
const SIZE: usize = size_of::<Value>();

/// Replaces `expected` by `new`. Returns the old value.
fn compare_exchange(address: usize, expected: Value, new: Value) -> Value {
    let (mut low, mut high) = (expected as u64, (expected >> 64) as u64);
    // SAFETY: the compiler passes the address of an atomic object of this size, aligned. Rust does not allow rbx as an
    // operand.
    unsafe {
        asm!(
            "xchg rbx, rsi",
            "lock cmpxchg16b [rdi]",
            "mov rbx, rsi",
            inout("rsi") new as u64 => _,
            in("rdi") address,
            in("rcx") (new >> 64) as u64,
            inout("rax") low,
            inout("rdx") high,
            options(nostack),
        );
    }
    Value::from(high) << 64 | Value::from(low)
}

/// Changes the value. Returns the old value.
fn update(address: usize, change: impl Fn(Value) -> Value) -> Value {
    let mut seen = 0;
    loop {
        let found = compare_exchange(address, seen, change(seen));
        if found == seen {
            return seen;
        }
        seen = found;
    }
}

/// Exports a handler that takes the return address in `register`.
macro_rules! wide {
    ($($name:ident, $register:literal: $change:expr;)*) => {$(
        #[allow(improper_ctypes_definitions, reason = "the compilers pass 16 bytes in two registers, as Rust does")]
        extern "C" fn $name(address: usize, value: Value, order: u32, pc: usize) -> Value {
            let change: fn(Value, Value) -> Value = $change;
            record(address, SIZE, pc, RecordKind::AtomicRmw, || {
                (update(address, |old| change(old, value)), Effect { kind: RecordKind::AtomicRmw, order })
            })
        }
        symbol!(own $name, concat!("mov ", $register, ", [rsp]"), "jmp {handler}");
    )*};
}

wide! {
    __tsan_atomic128_exchange, "r8": |_, new| new;
    __tsan_atomic128_fetch_add, "r8": Value::wrapping_add;
    __tsan_atomic128_fetch_sub, "r8": Value::wrapping_sub;
    __tsan_atomic128_fetch_and, "r8": |old, mask| old & mask;
    __tsan_atomic128_fetch_or, "r8": |old, mask| old | mask;
    __tsan_atomic128_fetch_xor, "r8": |old, mask| old ^ mask;
    __tsan_atomic128_fetch_nand, "r8": |old, mask| !(old & mask);
}

#[allow(improper_ctypes_definitions, reason = "the compilers return 16 bytes in two registers, as Rust does")]
extern "C" fn __tsan_atomic128_load(address: usize, order: u32, pc: usize) -> Value {
    record(address, SIZE, pc, RecordKind::AtomicLoad, || {
        (compare_exchange(address, 0, 0), Effect { kind: RecordKind::AtomicLoad, order })
    })
}
symbol!(own __tsan_atomic128_load, "mov rdx, [rsp]", "jmp {handler}");

#[allow(improper_ctypes_definitions, reason = "as above")]
extern "C" fn __tsan_atomic128_store(address: usize, value: Value, order: u32, pc: usize) {
    record(address, SIZE, pc, RecordKind::AtomicStore, || {
        update(address, |_| value);
        ((), Effect { kind: RecordKind::AtomicStore, order })
    })
}
symbol!(own __tsan_atomic128_store, "mov r8, [rsp]", "jmp {handler}");

fn exchange_if(
    address: usize,
    expected: Value,
    new: Value,
    (order, failure): (u32, u32),
    pc: usize,
) -> Result<Value, Value> {
    record(address, SIZE, pc, RecordKind::AtomicLoad, || {
        let seen = compare_exchange(address, expected, new);
        if seen == expected {
            (Ok(seen), Effect { kind: RecordKind::AtomicRmw, order })
        } else {
            (Err(seen), Effect { kind: RecordKind::AtomicLoad, order: failure })
        }
    })
}

#[allow(improper_ctypes_definitions, reason = "as above")]
extern "C" fn __tsan_atomic128_compare_exchange_strong(
    address: usize,
    expected: *mut Value,
    new: Value,
    order: u32,
    failure: u32,
    pc: usize,
) -> i32 {
    // SAFETY: the compiler passes the address of the expected value, which is the caller's own.
    let result = exchange_if(address, unsafe { expected.read_unaligned() }, new, (order, failure), pc);
    if let Err(seen) = result {
        // SAFETY: as above.
        unsafe { expected.write_unaligned(seen) };
    }
    i32::from(result.is_ok())
}
symbol!(
    own __tsan_atomic128_compare_exchange_strong,
    ".weak __tsan_atomic128_compare_exchange_weak",
    ".type __tsan_atomic128_compare_exchange_weak, @function",
    "__tsan_atomic128_compare_exchange_weak:",
    // All argument registers are used, so that the return address is passed on the stack.
    "push qword ptr [rsp]",
    ".cfi_adjust_cfa_offset 8",
    "call {handler}",
    "add rsp, 8",
    ".cfi_adjust_cfa_offset -8",
    "ret"
);

#[allow(improper_ctypes_definitions, reason = "as above")]
extern "C" fn __tsan_atomic128_compare_exchange_val(
    address: usize,
    expected: Value,
    new: Value,
    order: u32,
    failure: u32,
    pc: usize,
) -> Value {
    exchange_if(address, expected, new, (order, failure), pc).unwrap_or_else(|seen| seen)
}
// The last argument is already on the stack: it is passed on, and the return address after it.
symbol!(
    own __tsan_atomic128_compare_exchange_val,
    "mov r10, [rsp]",
    "mov r11, [rsp + 8]",
    "sub rsp, 8",
    ".cfi_adjust_cfa_offset 8",
    "push r10",
    ".cfi_adjust_cfa_offset 8",
    "push r11",
    ".cfi_adjust_cfa_offset 8",
    "call {handler}",
    "add rsp, 24",
    ".cfi_adjust_cfa_offset -24",
    "ret"
);
