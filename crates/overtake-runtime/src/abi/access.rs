//! Plain accesses and function entry and exit.
//!
//! Most exported functions are two instructions: they pass on the return address, which is the program counter of the access, and
//! jump to the code below. (In stable Rust, a function cannot get its return address otherwise.)

use core::ffi::c_void;

use crate::detour::Detour;
#[cfg(any(feature = "staticlib", test))]
use crate::detour::{here, labels};
use crate::libc_hooks::real::Real;
use crate::process;
#[cfg(any(feature = "staticlib", test))]
use crate::recorder::coalesce::offsets;
#[cfg(any(feature = "staticlib", test))]
use crate::recorder::{self, runs};
use crate::thread::{self, ThreadState};

/// Assembly: jumps to 3 unless all bytes of an access are in the mask in rax. An access that crosses from one line to the next always
/// jumps.
#[cfg(any(feature = "staticlib", test))]
macro_rules! unless_known {
    (1) => {
        "bt rax, rdi\n jnc 3f"
    };
    (2) => {
        "mov ecx, edi\n shr rax, cl\n not eax\n test al, 3\n jne 3f"
    };
    (4) => {
        "mov ecx, edi\n shr rax, cl\n not eax\n test al, 15\n jne 3f"
    };
    (8) => {
        "mov ecx, edi\n shr rax, cl\n cmp al, -1\n jne 3f"
    };
    (16) => {
        "mov ecx, edi\n shr rax, cl\n cmp ax, -1\n jne 3f"
    };
}

/// Accesses of a few bytes. Most are within a cache line and repeat an access of the same region. The exported function finds this out
/// itself, without a call, and jumps on only if there is something to do. This is
/// `Coalescer::find` (`crate::recorder::coalesce`) by hand: compilers would save registers for the other path first, which costs a
/// third more.
///
/// The whole look-up is in one cache line; the jumps to the other paths come after it.
macro_rules! accesses {
    ($($kind:ident $size:tt, $known:ident: $($export:ident)*;)*) => {
        $($(#[cfg(any(feature = "staticlib", test))]
        core::arch::global_asm!(
            concat!(".pushsection .text.", stringify!($export), ",\"ax\",@progbits"),
            concat!(".globl ", stringify!($export)),
            concat!(".type ", stringify!($export), ", @function"),
            ".p2align 6",
            concat!(stringify!($export), ":"),
            ".cfi_startproc",
            "mov rdx, qword ptr fs:[overtake_thread_state@tpoff]",
            "mov rax, rdi",
            "and rax, -64", // the line
            "imul rsi, rax, {mix}",
            "or rax, [rdx + {region}]",
            "shr rsi, {mix_shift}",
            "and esi, [rdx + {mask}]",
            "add rsi, [rdx + {slots}]", // the slot
            "cmp rax, [rsi]",
            "jne 2f",
            "mov rax, [rsi + {known}]",
            unless_known!($size),
            "inc qword ptr [rdx + {repeats}]",
            here!("overtake_found_" $export),
            "ret",
            here!("overtake_missed_" $export),
            "2:",
            concat!("jmp overtake_other_line_", stringify!($kind), stringify!($size)),
            "3:",
            concat!("jmp overtake_same_line_", stringify!($kind), stringify!($size)),
            here!("overtake_end_" $export),
            ".cfi_endproc",
            concat!(".size ", stringify!($export), ", . - ", stringify!($export)),
            ".popsection",
            mix = const offsets::MIX,
            mix_shift = const offsets::MIX_SHIFT,
            mask = const offsets::MASK,
            slots = const offsets::SLOTS,
            region = const offsets::REGION,
            repeats = const offsets::REPEATS,
            known = const offsets::$known,
        );)*)*

        /// If a signal handler interrupts a look-up, the look-up starts again, because the region may have changed.
        #[cfg(any(feature = "staticlib", test))]
        static LOOK_UPS: &[[Detour; 2]] = &[$($({
            labels!(
                begin = stringify!($export),
                found = concat!("overtake_found_", stringify!($export)),
                missed = concat!("overtake_missed_", stringify!($export)),
                end = concat!("overtake_end_", stringify!($export)),
            );
            [Detour::new(begin, found, begin), Detour::new(missed, end, begin)]
        },)*)*];
    };
}

/// A line of assembly that only writes have.
#[cfg(any(feature = "staticlib", test))]
macro_rules! if_write {
    (true, $line:literal) => {
        $line
    };
    (false, $line:literal) => {
        ""
    };
}

/// One line of assembly for accesses of one byte, another for larger ones.
#[cfg(any(feature = "staticlib", test))]
macro_rules! if_byte {
    (1, $byte:expr, $bytes:expr) => {
        $byte
    };
    ($size:literal, $byte:expr, $bytes:expr) => {
        $bytes
    };
}

/// Assembly for accesses of more than one byte: jumps to 8 if the access crosses from one line to the next.
#[cfg(any(feature = "staticlib", test))]
macro_rules! unless_across {
    ($size:tt) => {
        if_byte!(
            $size,
            "",
            concat!("mov eax, edi\n and eax, 63\n cmp eax, 64 - ", stringify!($size), "\n ja 8f")
        )
    };
}

/// Assembly: puts the entry of the instruction into r9, or jumps to 9 if there is none; puts the mask of the accessed bytes of the line
/// into r10.
#[cfg(any(feature = "staticlib", test))]
macro_rules! known_instruction {
    ($size:tt) => {
        concat!(
            "mov rsi, [rsp]\n mov r9d, esi\n and r9d, 0x3fc\n lea r9, [rdx + 8 * r9 + {places}]\n",
            "or rsi, [rdx + {tag}]\n cmp [r9 + {pc}], rsi\n jne 9f\n",
            if_byte!(
                $size,
                "xor r10d, r10d\n bts r10, rdi",
                concat!("mov ecx, edi\n mov r10d, (1 << ", stringify!($size), ") - 1\n shl r10, cl")
            )
        )
    };
}

/// Assembly: puts the record of the run that the access continues into rcx, and the address that is expected after this access into rsi.
/// Jumps to 4 if the access was expected after a single access, to 5 if it was not expected.
#[cfg(any(feature = "staticlib", test))]
macro_rules! continued_run {
    () => {
        concat!(
            "cmp [r9 + {next}], rdi\n jne 5f\n mov rcx, [r9 + {record}]\n test cl, 1\n jne 4f\n",
            "cmp rcx, [rdx + {floor}]\n jb 9f\n cmp rcx, [rdx + {since}]\n jb 9f\n",
            "cmp dword ptr [rcx + 12], {longest}\n jae 9f\n", // the number of accesses
            "mov rsi, [r9 + {stride}]\n add rsi, rdi"
        )
    };
}

/// The code that the functions above jump to. It is `Recorder::record_new` by hand, for the same reason, in the frequent cases: an
/// access that continues a run, or one that has nothing to do with runs, to a line that has a slot in this region or whose slot
/// is free. All other cases go to the handler. So does an access that a signal handler interrupts before it is in the log;
/// if it is already in the log, the rest is left undone (`crate::detour`).
///
/// Registers: rdi is the address, rdx the thread, r8 the slot, r9 the entry of the instruction, r10 the mask of accessed bytes of the
/// line, r11 zero if the slot belongs to the line and -1 otherwise, rax the place in the log.
macro_rules! recorders {
    ($($kind:ident $size:tt: $write:tt, $bars:ident;)*) => {
        $(#[cfg(any(feature = "staticlib", test))]
        core::arch::global_asm!(
            concat!(".pushsection .text.overtake_", stringify!($kind), stringify!($size), ",\"ax\",@progbits"),
            ".p2align 5",
            ".cfi_startproc",
            here!("overtake_same_line_" $kind $size),
            unless_across!($size),
            "mov r8, rsi",
            known_instruction!($size),
            "xor r11d, r11d",
            continued_run!(),
            "test [r8 + {bars}], r10",
            "jne 9f",
            "add dword ptr [rcx + 12], 1",
            here!("overtake_counted_same_" $kind $size),
            "mov [r9 + {next}], rsi",
            "2:", // notes the bytes
            "or [r8 + {read}], r10",
            if_write!($write, "or [r8 + {written}], r10"),
            "ret",
            here!("overtake_other_line_" $kind $size),
            unless_across!($size),
            "mov r8, rsi",
            "mov r11, [r8]",
            "xor r11, [rdx + {region}]",
            "rol r11, {region_rotation}",
            "test r11d, {region_bits}",
            "je 9f", // another line of this region
            known_instruction!($size),
            "or r11, -1",
            continued_run!(),
            "add dword ptr [rcx + 12], 1",
            here!("overtake_counted_other_" $kind $size),
            "mov [r9 + {next}], rsi",
            "3:", // gives the slot to the line
            "and rdi, -64",
            "or rdi, [rdx + {region}]",
            "xor ecx, ecx",
            "mov [r8], rcx",
            "mov [r8 + {read}], r10",
            "mov [r8 + {written}], rcx",
            if_write!($write, "mov [r8 + {written}], r10"),
            "mov [r8 + {rewritten}], rcx",
            "mov [r8], rdi",
            here!("overtake_finish_" $kind $size),
            "ret",
            here!("overtake_write_" $kind $size),
            "4:", // expected after a single access: the second of this region starts a run
            "cmp rcx, [rdx + {floor}]",
            "jb 5f",
            "mov rsi, [r9 + {stride}]",
            "test rsi, rsi",
            "je 5f",
            "movsxd rax, esi",
            "cmp rax, rsi",
            "jne 9f",
            "mov rax, [rdx + {cursor}]",
            "cmp qword ptr [rdx + {since}], -1",
            "je 9f",
            "cmp rax, [rdx + {end}]",
            "jae 9f",
            if_write!($write, "mov rcx, [r8 + {written}]"),
            if_write!($write, "not rcx"),
            if_write!($write, "or rcx, r11"), // does not matter if the slot belongs to another line
            if_write!($write, "test rcx, r10"),
            if_write!($write, "je 9f"),
            "mov ecx, esi",
            "bts rcx, 32", // one access
            "mov [rax + 8], rcx",
            "mov [r9 + {record}], rax",
            "add rsi, rdi",
            "mov [r9 + {next}], rsi",
            "mov ecx, {run_code}",
            "lea rsi, [rax + 16]",
            "jmp 6f",
            "5:", // no run
            "mov rax, [rdx + {cursor}]",
            "cmp qword ptr [rdx + {floor}], -1",
            "je 9f",
            "cmp qword ptr [rdx + {since}], -1",
            "je 9f",
            "cmp rax, [rdx + {end}]",
            "jae 9f",
            if_write!($write, "mov rcx, [r8 + {written}]"),
            if_write!($write, "not rcx"),
            if_write!($write, "or rcx, r11"),
            if_write!($write, "test rcx, r10"),
            if_write!($write, "je 9f"),
            "mov rsi, [r9 + {stride}]",
            "test byte ptr [r9 + {record}], 1",
            "je 7f", // elsewhere after a run, but perhaps with the same stride
            "add rsi, rdi",
            "sub rsi, [r9 + {next}]",
            "mov [r9 + {stride}], rsi",
            "7:",
            "add rsi, rdi",
            "mov [r9 + {next}], rsi",
            "lea rcx, [rax + 1]",
            "mov [r9 + {record}], rcx",
            "mov ecx, {code}",
            "lea rsi, [rax + 8]",
            "6:", // the first word
            "mov r9d, [rsp]",
            "shr r9d, 2",
            "movzx r9d, r9b",
            "or ecx, r9d",
            "mov r9, rdi",
            "shl r9, 16",
            "shrd r9, rcx, 16",
            "mov [rax], r9",
            "mov [rdx + {cursor}], rsi",
            here!("overtake_written_" $kind $size),
            "test r11, r11",
            "je 2b",
            "jmp 3b",
            here!("overtake_record_" $kind $size),
            unless_across!($size),
            "9:",
            "mov rsi, [rsp]",
            "jmp {within}",
            "8:",
            "mov rsi, [rsp]",
            "jmp {across}",
            ".cfi_endproc",
            ".popsection",
            region = const offsets::REGION,
            region_rotation = const offsets::REGION_ROTATION,
            region_bits = const offsets::REGION_BITS,
            bars = const offsets::$bars,
            read = const offsets::READ,
            written = const offsets::WRITTEN,
            rewritten = const offsets::REWRITTEN,
            longest = const overtake_rawlog::LONGEST_RUN,
            code = const (overtake_rawlog::brief_access($write, $size) as u32) << 8,
            run_code = const (overtake_rawlog::brief_run($write, $size) as u32) << 8,
            places = const recorder::offsets::PLACES,
            floor = const recorder::offsets::FLOOR,
            tag = const recorder::offsets::TAG,
            since = const recorder::offsets::SINCE,
            cursor = const recorder::offsets::CURSOR,
            end = const recorder::offsets::END,
            pc = const runs::offsets::PC,
            next = const runs::offsets::NEXT,
            record = const runs::offsets::RECORD,
            stride = const runs::offsets::STRIDE,
            within = sym within_line::<$write, $size>,
            across = sym across_lines::<$write, $size>,
        );)*

        #[cfg(any(feature = "staticlib", test))]
        static RECORDERS: &[[Detour; 6]] = &[$({
            labels!(
                same = concat!("overtake_same_line_", stringify!($kind), stringify!($size)),
                counted_same = concat!("overtake_counted_same_", stringify!($kind), stringify!($size)),
                other = concat!("overtake_other_line_", stringify!($kind), stringify!($size)),
                counted_other = concat!("overtake_counted_other_", stringify!($kind), stringify!($size)),
                write = concat!("overtake_write_", stringify!($kind), stringify!($size)),
                written = concat!("overtake_written_", stringify!($kind), stringify!($size)),
                record = concat!("overtake_record_", stringify!($kind), stringify!($size)),
                finish = concat!("overtake_finish_", stringify!($kind), stringify!($size)),
            );
            [
                Detour::new(same, counted_same, record),
                Detour::new(counted_same, other, finish),
                Detour::new(other, counted_other, record),
                Detour::new(counted_other, write, finish),
                Detour::new(write, written, record),
                Detour::new(written, record, finish),
            ]
        },)*];
    };
}

/// Where threads continue that a signal handler interrupted in one of the functions above.
pub(crate) fn detours() -> impl Iterator<Item = &'static Detour> {
    #[cfg(any(feature = "staticlib", test))]
    let detours = LOOK_UPS.iter().flatten().chain(RECORDERS.iter().flatten());
    #[cfg(not(any(feature = "staticlib", test)))]
    let detours = core::iter::empty();
    detours
}

extern "C" fn within_line<const WRITE: bool, const SIZE: usize>(
    address: usize,
    pc: usize,
    state: *const ThreadState,
) {
    if let Some(thread) = thread::found(state) {
        thread.record_new::<WRITE, SIZE>(address, pc);
    }
}

extern "C" fn across_lines<const WRITE: bool, const SIZE: usize>(
    address: usize,
    pc: usize,
    state: *const ThreadState,
) {
    if let Some(thread) = thread::found(state) {
        thread.access_across::<WRITE, SIZE>(address, pc);
    }
}

extern "C" fn access<const WRITE: bool, const SIZE: usize>(address: usize, pc: usize) {
    if let Some(thread) = thread::current() {
        thread.access_range::<WRITE>(address, SIZE, pc);
    }
}

/// Exports a function that jumps to a handler, with the return address in a further argument register, or after another
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

recorders! {
    read 1: false, WRITTEN;
    read 2: false, WRITTEN;
    read 4: false, WRITTEN;
    read 8: false, WRITTEN;
    read 16: false, WRITTEN;
    write 1: true, READ;
    write 2: true, READ;
    write 4: true, READ;
    write 8: true, READ;
    write 16: true, READ;
}

accesses! {
    read 1, READ: __tsan_read1 __tsan_volatile_read1 __tsan_unaligned_read1 __tsan_unaligned_volatile_read1;
    read 2, READ: __tsan_read2 __tsan_volatile_read2 __tsan_unaligned_read2 __tsan_unaligned_volatile_read2;
    read 4, READ: __tsan_read4 __tsan_volatile_read4 __tsan_unaligned_read4 __tsan_unaligned_volatile_read4;
    read 8, READ: __tsan_read8 __tsan_volatile_read8 __tsan_unaligned_read8 __tsan_unaligned_volatile_read8 __tsan_vptr_read;
    read 16, READ: __tsan_read16 __tsan_volatile_read16 __tsan_unaligned_read16 __tsan_unaligned_volatile_read16;
    write 1, REWRITTEN: __tsan_write1 __tsan_volatile_write1 __tsan_unaligned_write1 __tsan_unaligned_volatile_write1;
    write 2, REWRITTEN: __tsan_write2 __tsan_volatile_write2 __tsan_unaligned_write2 __tsan_unaligned_volatile_write2;
    write 4, REWRITTEN: __tsan_write4 __tsan_volatile_write4 __tsan_unaligned_write4 __tsan_unaligned_volatile_write4;
    write 8, REWRITTEN: __tsan_write8 __tsan_volatile_write8 __tsan_unaligned_write8 __tsan_unaligned_volatile_write8;
    write 16, REWRITTEN: __tsan_write16 __tsan_volatile_write16 __tsan_unaligned_write16 __tsan_unaligned_volatile_write16;
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

// The variants that get the program counter as an argument. Virtual machines set bit 60 in those of their own code, which a record has no room for.
forward!(__tsan_read1_pc => access::<false, 1>: "btr rsi, 60");
forward!(__tsan_read2_pc => access::<false, 2>: "btr rsi, 60");
forward!(__tsan_read4_pc => access::<false, 4>: "btr rsi, 60");
forward!(__tsan_read8_pc => access::<false, 8>: "btr rsi, 60");
forward!(__tsan_read16_pc => access::<false, 16>: "btr rsi, 60");
forward!(__tsan_write1_pc => access::<true, 1>: "btr rsi, 60");
forward!(__tsan_write2_pc => access::<true, 2>: "btr rsi, 60");
forward!(__tsan_write4_pc => access::<true, 4>: "btr rsi, 60");
forward!(__tsan_write8_pc => access::<true, 8>: "btr rsi, 60");
forward!(__tsan_write16_pc => access::<true, 16>: "btr rsi, 60");
forward!(__tsan_read_range_pc => read_range: "btr rdx, 60");
forward!(__tsan_write_range_pc => write_range: "btr rdx, 60");

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

/// A constructor or destructor sets the table of virtual functions. If the value does not change, that is not a write.
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
