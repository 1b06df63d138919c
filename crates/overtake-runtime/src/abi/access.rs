//! Plain accesses and function entry and exit.
//!
//! The exported functions are two instructions: they pass on the return address, which is the program counter of the access, and
//! jump to the code below. (Stable Rust has no other way to ask for it.)

use core::ffi::c_void;

#[cfg(feature = "staticlib")]
use crate::coalesce::offsets;
use crate::libc_hooks::real::Real;
use crate::process;
#[cfg(feature = "staticlib")]
use crate::runs;
use crate::thread::{self, ThreadState};

/// Accesses of a few bytes. Most lie within a cache line and repeat one of the same region: the exported function looks that up
/// itself, without calling anything, and goes on to a handler only if there is something to do. This is
/// [`Coalescer::find`] (`crate::coalesce`) by hand: compilers save registers for the other path first, which costs a third more.
/// Of the others, most are the next access of a loop in a line that is in use: `ThreadState::access` by hand, for the same reason.
/// `$check` jumps to 4 if the access crosses a line, which those with an alignment do not.
macro_rules! accesses {
    ($($export:ident: $write:literal, $known:ident, $bars:ident, $size:literal, $test:literal, [$($note:literal)?] [$($check:literal)*];)*) => {$(
        #[cfg(feature = "staticlib")]
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($export), ",\"ax\",@progbits"),
            concat!(".globl ", stringify!($export)),
            concat!(".type ", stringify!($export), ", @function"),
            ".p2align 5",
            concat!(stringify!($export), ":"),
            ".cfi_startproc",
            "mov rdx, qword ptr fs:[overtake_thread_state@tpoff]",
            "cmp rdx, 2",
            "jbe 3f", // not set up, or over
            $($check,)*
            "mov rax, rdi",
            "shr rax, 6", // the line
            "mov r8, rax",
            "shr r8, 11",
            "xor r8, rax",
            "and r8, [rdx + {mask}]",
            "shl r8, {slot}",
            "add r8, [rdx + {slots}]", // the slot
            "or rax, [rdx + {region}]",
            "cmp rax, [r8]",
            "jne 2f",
            "mov rax, [r8 + {known}]",
            "not rax",
            "mov ecx, edi",
            "shr rax, cl",
            $test,
            "jne 5f",
            "inc qword ptr [rdx + {repeats}]",
            "ret",
            "2:",
            "mov rsi, [rsp]",
            "6:",
            "jmp {within}",
            "5:", // does it continue a run?
            "mov rsi, [rsp]",
            "mov eax, esi",
            "shr eax, 8",
            "xor eax, esi",
            "movzx eax, al",
            "shl eax, {place}",
            "lea r9, [rdx + rax + {places}]", // what is known of the instruction
            "mov r10, [rdx + {tag}]",
            "or r10, rsi",
            "cmp [r9 + {pc}], r10",
            "jne 6b",
            "cmp [r9 + {next}], rdi",
            "jne 6b",
            "mov r10, [r9 + {record}]",
            "cmp r10, [rdx + {floor}]",
            "jb 6b",
            "cmp r10, [rdx + {since}]",
            "jb 6b",
            "cmp dword ptr [r10 + 12], {longest}", // the number of accesses
            "jae 6b",
            concat!("mov eax, (1 << ", stringify!($size), ") - 1"),
            "shl rax, cl",
            "test [r8 + {bars}], rax",
            "jne 6b",
            "or [r8 + {read}], rax",
            $($note,)?
            "add dword ptr [r10 + 12], 1",
            "mov rax, [r9 + {stride}]",
            "add rax, rdi",
            "mov [r9 + {next}], rax",
            "ret",
            "3:",
            "mov rsi, [rsp]",
            "jmp {first}",
            "4:",
            "mov rsi, [rsp]",
            "jmp {across}",
            ".cfi_endproc",
            concat!(".size ", stringify!($export), ", . - ", stringify!($export)),
            ".popsection",
            mask = const offsets::MASK,
            slots = const offsets::SLOTS,
            region = const offsets::REGION,
            slot = const offsets::SLOT_SHIFT,
            repeats = const offsets::REPEATS,
            known = const offsets::$known,
            bars = const offsets::$bars,
            read = const offsets::READ,
            longest = const overtake_rawlog::LONGEST_RUN,
            place = const runs::offsets::PLACE_SHIFT,
            places = const thread::offsets::PLACES,
            floor = const thread::offsets::FLOOR,
            tag = const thread::offsets::TAG,
            since = const thread::offsets::SINCE,
            pc = const runs::offsets::PC,
            next = const runs::offsets::NEXT,
            record = const runs::offsets::RECORD,
            stride = const runs::offsets::STRIDE,
            within = sym within_line::<$write, $size>,
            across = sym across_lines::<$write, $size>,
            first = sym first_access::<$write, $size>,
        );
    )*};
}

extern "C" fn within_line<const WRITE: bool, const SIZE: usize>(
    address: usize,
    pc: usize,
    thread: &ThreadState,
) {
    thread.access::<WRITE, SIZE>(address, pc);
}

extern "C" fn across_lines<const WRITE: bool, const SIZE: usize>(
    address: usize,
    pc: usize,
    thread: &ThreadState,
) {
    thread.access_across::<WRITE, SIZE>(address, pc);
}

/// The first access of a thread that we did not see start, or one behind its end.
extern "C" fn first_access<const WRITE: bool, const SIZE: usize>(address: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.access_range::<WRITE>(address, SIZE, pc);
    }
}

/// Exports a function that jumps to a handler with the return address in a further argument register, or after another
/// instruction.
macro_rules! forward {
    ($export:ident => $handler:path, $register:literal) => {
        $crate::abi::forward!($export => $handler: concat!("mov ", $register, ", [rsp]"));
    };
    ($export:ident => $handler:path: $instruction:expr) => {
        #[cfg(feature = "staticlib")]
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($export), ",\"ax\",@progbits"),
            concat!(".globl ", stringify!($export)),
            concat!(".type ", stringify!($export), ", @function"),
            ".p2align 4",
            concat!(stringify!($export), ":"),
            ".cfi_startproc",
            $instruction,
            "jmp {handler}",
            ".cfi_endproc",
            concat!(".size ", stringify!($export), ", . - ", stringify!($export)),
            ".popsection",
            handler = sym $handler,
        );
    };
}
pub(crate) use forward;

accesses! {
    __tsan_read1: false, READ, WRITTEN, 1, "test al, 1", [] [];
    __tsan_read2: false, READ, WRITTEN, 2, "test al, 3", [] [];
    __tsan_read4: false, READ, WRITTEN, 4, "test al, 15", [] [];
    __tsan_read8: false, READ, WRITTEN, 8, "test al, -1", [] [];
    __tsan_read16: false, READ, WRITTEN, 16, "test ax, -1", [] [];
    __tsan_write1: true, REWRITTEN, READ, 1, "test al, 1", ["or [r8 + 16], rax"] [];
    __tsan_write2: true, REWRITTEN, READ, 2, "test al, 3", ["or [r8 + 16], rax"] [];
    __tsan_write4: true, REWRITTEN, READ, 4, "test al, 15", ["or [r8 + 16], rax"] [];
    __tsan_write8: true, REWRITTEN, READ, 8, "test al, -1", ["or [r8 + 16], rax"] [];
    __tsan_write16: true, REWRITTEN, READ, 16, "test ax, -1", ["or [r8 + 16], rax"] [];
    __tsan_volatile_read1: false, READ, WRITTEN, 1, "test al, 1", [] [];
    __tsan_volatile_read2: false, READ, WRITTEN, 2, "test al, 3", [] [];
    __tsan_volatile_read4: false, READ, WRITTEN, 4, "test al, 15", [] [];
    __tsan_volatile_read8: false, READ, WRITTEN, 8, "test al, -1", [] [];
    __tsan_volatile_read16: false, READ, WRITTEN, 16, "test ax, -1", [] [];
    __tsan_volatile_write1: true, REWRITTEN, READ, 1, "test al, 1", ["or [r8 + 16], rax"] [];
    __tsan_volatile_write2: true, REWRITTEN, READ, 2, "test al, 3", ["or [r8 + 16], rax"] [];
    __tsan_volatile_write4: true, REWRITTEN, READ, 4, "test al, 15", ["or [r8 + 16], rax"] [];
    __tsan_volatile_write8: true, REWRITTEN, READ, 8, "test al, -1", ["or [r8 + 16], rax"] [];
    __tsan_volatile_write16: true, REWRITTEN, READ, 16, "test ax, -1", ["or [r8 + 16], rax"] [];
    __tsan_unaligned_read1: false, READ, WRITTEN, 1, "test al, 1", [] [];
    __tsan_unaligned_read2: false, READ, WRITTEN, 2, "test al, 3", [] ["mov eax, edi" "and eax, 63" "cmp eax, 62" "ja 4f"];
    __tsan_unaligned_read4: false, READ, WRITTEN, 4, "test al, 15", [] ["mov eax, edi" "and eax, 63" "cmp eax, 60" "ja 4f"];
    __tsan_unaligned_read8: false, READ, WRITTEN, 8, "test al, -1", [] ["mov eax, edi" "and eax, 63" "cmp eax, 56" "ja 4f"];
    __tsan_unaligned_read16: false, READ, WRITTEN, 16, "test ax, -1", [] ["mov eax, edi" "and eax, 63" "cmp eax, 48" "ja 4f"];
    __tsan_unaligned_write1: true, REWRITTEN, READ, 1, "test al, 1", ["or [r8 + 16], rax"] [];
    __tsan_unaligned_write2: true, REWRITTEN, READ, 2, "test al, 3", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 62" "ja 4f"];
    __tsan_unaligned_write4: true, REWRITTEN, READ, 4, "test al, 15", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 60" "ja 4f"];
    __tsan_unaligned_write8: true, REWRITTEN, READ, 8, "test al, -1", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 56" "ja 4f"];
    __tsan_unaligned_write16: true, REWRITTEN, READ, 16, "test ax, -1", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 48" "ja 4f"];
    __tsan_unaligned_volatile_read1: false, READ, WRITTEN, 1, "test al, 1", [] [];
    __tsan_unaligned_volatile_read2: false, READ, WRITTEN, 2, "test al, 3", [] ["mov eax, edi" "and eax, 63" "cmp eax, 62" "ja 4f"];
    __tsan_unaligned_volatile_read4: false, READ, WRITTEN, 4, "test al, 15", [] ["mov eax, edi" "and eax, 63" "cmp eax, 60" "ja 4f"];
    __tsan_unaligned_volatile_read8: false, READ, WRITTEN, 8, "test al, -1", [] ["mov eax, edi" "and eax, 63" "cmp eax, 56" "ja 4f"];
    __tsan_unaligned_volatile_read16: false, READ, WRITTEN, 16, "test ax, -1", [] ["mov eax, edi" "and eax, 63" "cmp eax, 48" "ja 4f"];
    __tsan_unaligned_volatile_write1: true, REWRITTEN, READ, 1, "test al, 1", ["or [r8 + 16], rax"] [];
    __tsan_unaligned_volatile_write2: true, REWRITTEN, READ, 2, "test al, 3", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 62" "ja 4f"];
    __tsan_unaligned_volatile_write4: true, REWRITTEN, READ, 4, "test al, 15", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 60" "ja 4f"];
    __tsan_unaligned_volatile_write8: true, REWRITTEN, READ, 8, "test al, -1", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 56" "ja 4f"];
    __tsan_unaligned_volatile_write16: true, REWRITTEN, READ, 16, "test ax, -1", ["or [r8 + 16], rax"] ["mov eax, edi" "and eax, 63" "cmp eax, 48" "ja 4f"];
    __tsan_vptr_read: false, READ, WRITTEN, 8, "test al, -1", [] [];
}

/// Accesses that read and write.
macro_rules! ranges {
    ($($export:ident => $handler:ident: $size:literal;)*) => {$(
        extern "C" fn $handler(address: usize, pc: usize) {
            if let Some(thread) = thread::current() {
                thread.access_range::<false>(address, $size, pc);
                thread.access_range::<true>(address, $size, pc);
            }
        }
        forward!($export => $handler, "rsi");
    )*};
}

ranges! {
    __tsan_read_write1 => read_write1: 1;
    __tsan_read_write2 => read_write2: 2;
    __tsan_read_write4 => read_write4: 4;
    __tsan_read_write8 => read_write8: 8;
    __tsan_read_write16 => read_write16: 16;
    __tsan_unaligned_read_write1 => unaligned_read_write1: 1;
    __tsan_unaligned_read_write2 => unaligned_read_write2: 2;
    __tsan_unaligned_read_write4 => unaligned_read_write4: 4;
    __tsan_unaligned_read_write8 => unaligned_read_write8: 8;
    __tsan_unaligned_read_write16 => unaligned_read_write16: 16;
}

// The variants that are told the program counter.
forward!(__tsan_read1_pc => first_access::<false, 1>: "");
forward!(__tsan_read2_pc => first_access::<false, 2>: "");
forward!(__tsan_read4_pc => first_access::<false, 4>: "");
forward!(__tsan_read8_pc => first_access::<false, 8>: "");
forward!(__tsan_read16_pc => first_access::<false, 16>: "");
forward!(__tsan_write1_pc => first_access::<true, 1>: "");
forward!(__tsan_write2_pc => first_access::<true, 2>: "");
forward!(__tsan_write4_pc => first_access::<true, 4>: "");
forward!(__tsan_write8_pc => first_access::<true, 8>: "");
forward!(__tsan_write16_pc => first_access::<true, 16>: "");
forward!(__tsan_read_range_pc => read_range: "");
forward!(__tsan_write_range_pc => write_range: "");

extern "C" fn read_range(address: usize, length: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.access_range::<false>(address, length, pc);
    }
}
forward!(__tsan_read_range => read_range, "rdx");

extern "C" fn write_range(address: usize, length: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.access_range::<true>(address, length, pc);
    }
}
forward!(__tsan_write_range => write_range, "rdx");

/// A constructor or destructor sets the table of virtual functions; setting it to what it is is no write.
extern "C" fn vptr_update(slot: *const usize, new: usize, pc: usize) {
    // SAFETY: the compiler passes the address of an object's table pointer.
    if unsafe { slot.read_volatile() } != new
        && let Some(thread) = thread::current()
    {
        thread.access_range::<true>(slot as usize, 8, pc);
    }
}
forward!(__tsan_vptr_update => vptr_update, "rdx");

extern "C" fn enter_function(call: usize, stack_pointer: usize) {
    if let Some(thread) = thread::current() {
        thread.enter_function(call, stack_pointer);
    }
}

extern "C" fn leave_function(stack_pointer: usize) {
    if let Some(thread) = thread::current() {
        thread.leave_function(stack_pointer);
    }
}

forward!(__tsan_func_entry => enter_function: "mov rsi, rsp");
forward!(__tsan_func_exit => leave_function: "mov rdi, rsp");

/// Called by a constructor of every instrumented object file.
extern "C" fn start() {
    process::start();
}
forward!(__tsan_init => start: "");

extern "C" fn memory_copy(to: usize, from: usize, length: usize, pc: usize) -> *mut c_void {
    if let Some(thread) = thread::current() {
        thread.access_range::<false>(from, length, pc);
        thread.access_range::<true>(to, length, pc);
    }
    MEMMOVE.call(to, from, length)
}
forward!(__tsan_memcpy => memory_copy, "rcx");
forward!(__tsan_memmove => memory_copy, "rcx");

extern "C" fn memory_set(to: usize, value: usize, length: usize, pc: usize) -> *mut c_void {
    if let Some(thread) = thread::current() {
        thread.access_range::<true>(to, length, pc);
    }
    MEMSET.call(to, value, length)
}
forward!(__tsan_memset => memory_set, "rcx");

/// A function of libc behind one of ours.
struct Behind(Real);

static MEMMOVE: Behind = Behind(Real::new("memmove\0"));
static MEMSET: Behind = Behind(Real::new("memset\0"));

impl Behind {
    fn call(&self, to: usize, from: usize, length: usize) -> *mut c_void {
        // SAFETY: both functions have this type, up to the type of the second argument; our caller meant to call them.
        unsafe {
            let function: unsafe extern "C" fn(usize, usize, usize) -> *mut c_void =
                core::mem::transmute(self.0.address());
            function(to, from, length)
        }
    }
}
