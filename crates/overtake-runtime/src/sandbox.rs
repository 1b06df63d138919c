//! What the program forbids itself: system calls by `seccomp`, the time-stamp counter by `prctl`.
//!
//! A filter may kill the process for a system call that only we make. So each filter is run here, before the kernel gets it, on
//! every system call as we would make it. Calls for which it would do anything worse than return an error are not made any more, and
//! fail with [`FORBIDDEN`]. Filters cannot be removed, so what is forbidden once stays forbidden. The strict mode forbids one thread
//! nearly everything.
//!
//! **Approximations.** A filter applies to the thread that sets it and those it starts, or to all threads; here, always to all. The filter
//! gets zeros for arguments that are addresses or descriptors. A filter that was set by assembly, or before the program started, is not
//! seen.

use core::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use crate::recorder::store;
use crate::sys::Errno;
use crate::{stamp, tls};

/// The error of forbidden calls.
pub(crate) const FORBIDDEN: Errno = Errno(libc::ENOSYS);

const CALLS: usize = 512;
static IS_FILTERED: AtomicBool = AtomicBool::new(false);
static CALL_IS_FORBIDDEN: [AtomicU64; CALLS / 64] = [const { AtomicU64::new(0) }; CALLS / 64];
/// The thread that is in strict mode, by its thread pointer; [`EVERY_THREAD`] once there were two.
static STRICT_THREAD: AtomicUsize = AtomicUsize::new(0);
const EVERY_THREAD: usize = usize::MAX;
const STRICT_CALLS: [i64; 4] = [libc::SYS_read, libc::SYS_write, libc::SYS_exit, libc::SYS_rt_sigreturn];

/// Whether this thread must not make a system call.
#[inline]
pub(crate) fn forbids(call: i64) -> bool {
    IS_FILTERED.load(Ordering::Relaxed) && is_forbidden(call)
}

#[cold]
fn is_forbidden(call: i64) -> bool {
    let strict = STRICT_THREAD.load(Ordering::Relaxed);
    if strict == EVERY_THREAD || strict != 0 && strict == tls::thread_pointer() {
        return !STRICT_CALLS.contains(&call);
    }
    let number = call as usize;
    CALL_IS_FORBIDDEN
        .get(number / 64)
        .is_some_and(|word| word.load(Ordering::Relaxed) >> (number % 64) & 1 == 1)
}

/// Whether there is any filter.
pub(crate) fn is_filtered() -> bool {
    IS_FILTERED.load(Ordering::Relaxed)
}

/// The program calls `prctl`, with these arguments.
pub(crate) fn prctl(option: i32, argument: usize, more: usize) {
    match (option, argument as i32) {
        (libc::PR_SET_SECCOMP, mode) if mode as u32 == libc::SECCOMP_MODE_STRICT => enter_strict_mode(),
        (libc::PR_SET_SECCOMP, _) => filter(more),
        (libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) => stamp::count_from_now_on(),
        _ => {}
    }
}

/// The program makes a system call by its number.
pub(crate) fn system_call(number: i64, arguments: [usize; 3]) {
    let [first, second, third] = arguments;
    match number {
        libc::SYS_prctl => prctl(first as i32, second, third),
        libc::SYS_seccomp if first as u32 == libc::SECCOMP_SET_MODE_STRICT => enter_strict_mode(),
        libc::SYS_seccomp if first as u32 == libc::SECCOMP_SET_MODE_FILTER => filter(third),
        _ => {}
    }
}

fn enter_strict_mode() {
    store::prepare_reserve();
    stamp::count_from_now_on(); // strict mode forbids the time-stamp counter as well
    let me = tls::thread_pointer();
    let before = STRICT_THREAD.compare_exchange(0, me, Ordering::Relaxed, Ordering::Relaxed);
    if before.is_err_and(|before| before != me) {
        STRICT_THREAD.store(EVERY_THREAD, Ordering::Relaxed);
    }
    IS_FILTERED.store(true, Ordering::Relaxed);
}

/// Notes what a filter forbids. If setting the filter fails later, too much is forbidden.
fn filter(program: usize) {
    // SAFETY: the program passes a filter for the kernel to read, or null.
    let Some(filter) = (unsafe { (program as *const Filter).as_ref() }) else { return };
    if filter.instructions.is_null() {
        return;
    }
    // SAFETY: as above.
    let instructions =
        unsafe { core::slice::from_raw_parts(filter.instructions, usize::from(filter.length)) };
    let kills = |call: usize| harms(run(instructions, &question(call as i64)));
    let forbidden =
        |word: usize| (0..64).fold(0, |bits, bit| bits | u64::from(kills(64 * word + bit)) << bit);
    let forbidden: [u64; CALLS / 64] = core::array::from_fn(forbidden);
    let needs =
        |call: i64| forbidden.get(call as usize / 64).is_some_and(|word| word >> (call % 64) & 1 == 1);
    if [libc::SYS_pwrite64, libc::SYS_mmap, libc::SYS_fallocate, libc::SYS_openat].into_iter().any(needs) {
        store::prepare_reserve();
    }
    for (word, forbidden) in CALL_IS_FORBIDDEN.iter().zip(forbidden) {
        word.fetch_or(forbidden, Ordering::Relaxed);
    }
    IS_FILTERED.store(true, Ordering::Relaxed);
}

/// The argument of `seccomp`: `struct sock_fprog`.
#[repr(C)]
struct Filter {
    length: u16,
    instructions: *const Instruction,
}

/// `struct sock_filter`.
#[repr(C)]
#[derive(Clone, Copy)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

/// Words of a filter's input (`struct seccomp_data`): call, architecture, address of the call, six arguments.
const QUESTION_WORDS: usize = 16;

/// A system call as we make it.
fn question(call: i64) -> [u32; QUESTION_WORDS] {
    const X86_64: u32 = 0xc000_003e;
    let (read_write, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
    let opening = libc::O_RDWR | libc::O_CREAT | libc::O_EXCL | libc::O_CLOEXEC | libc::O_NOFOLLOW;
    let arguments: [i32; 4] = match call {
        libc::SYS_openat => [libc::AT_FDCWD, 0, opening, 0o600],
        libc::SYS_mmap => [0, 4096, read_write, shared],
        libc::SYS_clone => [libc::SIGCHLD, 0, 0, 0],
        libc::SYS_fcntl => [0, libc::F_DUPFD_CLOEXEC, 0, 0],
        libc::SYS_rt_sigprocmask => [libc::SIG_SETMASK, 0, 0, 8],
        libc::SYS_write => [2, 0, 80, 0],
        _ => [0; 4],
    };
    let mut words = [0; QUESTION_WORDS];
    words[0] = call as u32;
    words[1] = X86_64;
    for (word, argument) in words.iter_mut().skip(4).step_by(2).zip(arguments) {
        *word = argument as u32;
    }
    words
}

/// Whether an answer of a filter is worse than an error.
fn harms(answer: u32) -> bool {
    const ACTION: u32 = 0xffff_0000;
    matches!(
        answer & ACTION,
        libc::SECCOMP_RET_KILL_PROCESS | libc::SECCOMP_RET_KILL_THREAD | libc::SECCOMP_RET_TRAP
    )
}

/// The answer of a filter. Instructions that the kernel would refuse end it, and the call is allowed.
fn run(instructions: &[Instruction], question: &[u32; QUESTION_WORDS]) -> u32 {
    let mut machine = Machine { accumulator: 0, index: 0, memory: [0; 16] };
    let mut at = 0;
    while let Some(&instruction) = instructions.get(at) {
        match machine.step(instruction, question) {
            Step::Answer(answer) => return answer,
            Step::Skip(count) => at += 1 + count,
            Step::Unknown => break,
        }
    }
    libc::SECCOMP_RET_ALLOW
}

/// The part of the classic Berkeley packet filter that `seccomp` uses.
struct Machine {
    accumulator: u32,
    index: u32,
    memory: [u32; 16],
}

enum Step {
    Answer(u32),
    /// Skips this many instructions.
    Skip(usize),
    Unknown,
}

mod codes {
    pub(super) const CLASS: u16 = 0x07;
    pub(super) const LOAD: u16 = 0x00;
    pub(super) const LOAD_INDEX: u16 = 0x01;
    pub(super) const STORE: u16 = 0x02;
    pub(super) const STORE_INDEX: u16 = 0x03;
    pub(super) const CALCULATE: u16 = 0x04;
    pub(super) const JUMP: u16 = 0x05;
    pub(super) const RETURN: u16 = 0x06;
    pub(super) const MOVE: u16 = 0x07;
    pub(super) const MODE: u16 = 0xe0;
    pub(super) const IMMEDIATE: u16 = 0x00;
    pub(super) const ABSOLUTE: u16 = 0x20;
    pub(super) const MEMORY: u16 = 0x60;
    pub(super) const LENGTH: u16 = 0x80;
    pub(super) const OPERATION: u16 = 0xf0;
    pub(super) const BY_INDEX: u16 = 0x08;
    pub(super) const BY_ACCUMULATOR: u16 = 0x10;
    pub(super) const TO_ACCUMULATOR: u16 = 0x80;
}

impl Machine {
    fn step(&mut self, instruction: Instruction, question: &[u32; QUESTION_WORDS]) -> Step {
        let Instruction { code, operand, .. } = instruction;
        let source = if code & codes::BY_INDEX != 0 { self.index } else { operand };
        match code & codes::CLASS {
            codes::LOAD => self.accumulator = self.load(code, operand, question),
            codes::LOAD_INDEX => self.index = self.load(code, operand, question),
            codes::STORE => self.store(operand, self.accumulator),
            codes::STORE_INDEX => self.store(operand, self.index),
            codes::CALCULATE => match calculate(code & codes::OPERATION, self.accumulator, source) {
                Some(result) => self.accumulator = result,
                None => return Step::Unknown,
            },
            codes::JUMP => return self.jump(instruction, source),
            codes::RETURN if code & codes::BY_ACCUMULATOR != 0 => return Step::Answer(self.accumulator),
            codes::RETURN => return Step::Answer(operand),
            codes::MOVE if code & codes::TO_ACCUMULATOR != 0 => self.accumulator = self.index,
            _ => self.index = self.accumulator,
        }
        Step::Skip(0)
    }

    fn load(&self, code: u16, operand: u32, question: &[u32; QUESTION_WORDS]) -> u32 {
        let word = match code & codes::MODE {
            codes::IMMEDIATE => return operand,
            codes::LENGTH => return 4 * QUESTION_WORDS as u32,
            codes::ABSOLUTE => question.get(operand as usize / 4),
            codes::MEMORY => self.memory.get(operand as usize),
            _ => None,
        };
        word.copied().unwrap_or(0)
    }

    fn store(&mut self, at: u32, value: u32) {
        if let Some(word) = self.memory.get_mut(at as usize) {
            *word = value;
        }
    }

    fn jump(&self, instruction: Instruction, source: u32) -> Step {
        let holds = match instruction.code & codes::OPERATION {
            0x00 => return Step::Skip(instruction.operand as usize),
            0x10 => self.accumulator == source,
            0x20 => self.accumulator > source,
            0x30 => self.accumulator >= source,
            0x40 => self.accumulator & source != 0,
            _ => return Step::Unknown,
        };
        Step::Skip(usize::from(if holds { instruction.if_true } else { instruction.if_false }))
    }
}

fn calculate(operation: u16, left: u32, right: u32) -> Option<u32> {
    Some(match operation {
        0x00 => left.wrapping_add(right),
        0x10 => left.wrapping_sub(right),
        0x20 => left.wrapping_mul(right),
        0x30 => left.checked_div(right)?,
        0x40 => left | right,
        0x50 => left & right,
        0x60 => left.checked_shl(right).unwrap_or(0),
        0x70 => left.checked_shr(right).unwrap_or(0),
        0x80 => left.wrapping_neg(),
        0xa0 => left ^ right,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn instruction(code: u16, if_true: u8, if_false: u8, operand: u32) -> Instruction {
        Instruction { code, if_true, if_false, operand }
    }

    const LOAD_CALL: Instruction = instruction(0x20, 0, 0, 0);

    fn answer(instructions: &[Instruction], call: i64) -> u32 {
        run(instructions, &question(call))
    }

    #[test]
    fn a_filter_kills_what_it_names_alone() {
        let filter = [
            LOAD_CALL,
            instruction(0x15, 0, 1, libc::SYS_openat as u32),
            instruction(0x06, 0, 0, libc::SECCOMP_RET_KILL_PROCESS),
            instruction(0x06, 0, 0, libc::SECCOMP_RET_ALLOW),
        ];
        assert!(harms(answer(&filter, libc::SYS_openat)));
        assert!(!harms(answer(&filter, libc::SYS_pwrite64)));
    }

    #[test]
    fn filters_look_at_arguments_and_calculate() {
        // Kills `openat` that may write: flags & 3 != 0, where the mask is made of 5 - 2 in memory.
        let filter = [
            instruction(0x00, 0, 0, 5),
            instruction(0x14, 0, 0, 2),
            instruction(0x02, 0, 0, 7),
            instruction(0x61, 0, 0, 7),
            instruction(0x20, 0, 0, 32),
            instruction(0x5c, 0, 0, 0),
            instruction(0x15, 1, 0, 0),
            instruction(0x06, 0, 0, libc::SECCOMP_RET_TRAP),
            instruction(0x06, 0, 0, libc::SECCOMP_RET_ERRNO | 1),
        ];
        assert!(harms(answer(&filter, libc::SYS_openat)));
        assert!(!harms(answer(&filter, libc::SYS_close)));
        assert_eq!(answer(&filter, libc::SYS_close), libc::SECCOMP_RET_ERRNO | 1);
    }

    #[test]
    fn filters_that_make_no_sense_allow() {
        assert_eq!(answer(&[], 0), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(&[instruction(0x05, 0, 0, u32::MAX)], 0), libc::SECCOMP_RET_ALLOW);
        assert_eq!(answer(&[instruction(0x34, 0, 0, 0)], 0), libc::SECCOMP_RET_ALLOW);
    }
}
