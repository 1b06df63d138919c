//! The process as a whole: where its log goes, what the environment asks for, start and end.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{VERSION, process_keys as keys};

use crate::stamp;
use crate::sys::{self, Fd};
use crate::text::Text;
use crate::thread;

const UNSTARTED: u8 = 0;
const STARTING: u8 = 1;
const RECORDING: u8 = 2;
const DISABLED: u8 = 3;

static PHASE: AtomicU8 = AtomicU8::new(UNSTARTED);
static EXACT: AtomicBool = AtomicBool::new(false);
static SIZE_LIMIT: AtomicU64 = AtomicU64::new(0);
static MAPS: AtomicU32 = AtomicU32::new(0);
static DIRECTORY: Directory = Directory(UnsafeCell::new(Text::new()));

struct Directory(UnsafeCell<Text>);
// SAFETY: written by the one thread that is in phase STARTING (or alone after a fork), read after RECORDING was published.
unsafe impl Sync for Directory {}

/// Whether the process records; starts recording at the first question.
pub(crate) fn is_recording() -> bool {
    match PHASE.load(Ordering::Acquire) {
        RECORDING => true,
        UNSTARTED => {
            start();
            PHASE.load(Ordering::Acquire) == RECORDING
        }
        _ => false,
    }
}

/// Whether every access is to be recorded.
pub(crate) fn is_exact() -> bool {
    EXACT.load(Ordering::Relaxed)
}

/// Bytes that the log may take; 0 is no limit.
pub(crate) fn size_limit() -> u64 {
    SIZE_LIMIT.load(Ordering::Relaxed)
}

/// Where the log goes.
pub(crate) fn directory() -> Option<&'static [u8]> {
    // SAFETY: see `Directory`.
    (PHASE.load(Ordering::Acquire) >= STARTING).then(|| unsafe { &*DIRECTORY.0.get() }.as_bytes())
}

/// Starts recording: makes the log directory, notes what the process is.
pub(crate) fn start() {
    if PHASE.compare_exchange(UNSTARTED, STARTING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    EXACT.store(setting(c"OVERTAKE_EXACT").is_some_and(|value| value == b"1"), Ordering::Relaxed);
    SIZE_LIMIT.store(setting(c"OVERTAKE_MAX_BYTES").map_or(0, number), Ordering::Relaxed);
    let made = make_log();
    PHASE.store(if made { RECORDING } else { DISABLED }, Ordering::Release);
    if made {
        thread::begin(thread::next_number(), thread::NO_THREAD, 0);
    }
}

/// In a child process after `fork`: a log of its own.
pub(crate) fn restart_after_fork() {
    if PHASE.load(Ordering::Relaxed) != RECORDING {
        return;
    }
    thread::abandon_after_fork();
    thread::restart_numbers();
    MAPS.store(0, Ordering::Relaxed);
    PHASE.store(STARTING, Ordering::Relaxed);
    let made = make_log();
    PHASE.store(if made { RECORDING } else { DISABLED }, Ordering::Release);
    if made {
        thread::begin(thread::next_number(), thread::NO_THREAD, 0);
    }
}

/// The value of an environment variable, without calling into libc's locale or locking code.
fn setting(name: &core::ffi::CStr) -> Option<&'static [u8]> {
    // SAFETY: getenv reads the environment, which nobody changes before main or in a fresh child.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| core::ffi::CStr::from_ptr(value).to_bytes())
    }
}

/// A decimal number; anything after the digits is ignored.
fn number(text: &[u8]) -> u64 {
    text.iter()
        .take_while(|byte| byte.is_ascii_digit())
        .fold(0, |number: u64, digit| number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
}

/// Makes `<OVERTAKE_LOG or the temporary directory>/overtake.<pid>.<stamp>` and writes its `process` file.
fn make_log() -> bool {
    // SAFETY: see `Directory`.
    let directory = unsafe { &mut *DIRECTORY.0.get() };
    *directory = Text::new();
    let parent = setting(c"OVERTAKE_LOG").or_else(|| setting(c"TMPDIR")).unwrap_or(b"/tmp");
    directory.push(parent).push(b"/overtake.").push_number(u64::from(sys::process_id()));
    directory.push(b".").push_number(stamp::now());
    let Some(path) = directory.terminated() else { return false };
    if sys::make_directory(path).is_err() {
        return false;
    }
    let mut line = Text::new();
    line.push(keys::VERSION.as_bytes()).push(b" ").push_number(VERSION);
    line.push(b"\n").push(keys::PID.as_bytes()).push(b" ").push_number(u64::from(sys::process_id()));
    line.push(b"\n")
        .push(keys::PARENT.as_bytes())
        .push(b" ")
        .push_number(u64::from(sys::parent_process_id()));
    line.push(b"\n").push(keys::STAMPS.as_bytes()).push(b" ").push(stamp::source_name()).push(b"\n");
    append(b"/process", line.as_bytes());
    copy_file(b"/proc/self/cmdline\0", b"/cmdline");
    note_modules();
    true
}

/// Appends to a file of the log.
fn append(name: &[u8], bytes: &[u8]) {
    let Some(directory) = directory() else { return };
    let mut path = Text::new();
    path.push(directory).push(name);
    let Some(path) = path.terminated() else { return };
    if let Ok(file) = Fd::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND) {
        file.write(bytes);
        file.close();
    }
}

/// Copies the memory map of now into the log, for symbolising later.
pub(crate) fn note_modules() {
    let mut name = Text::new();
    name.push(b"/maps.").push_number(u64::from(MAPS.fetch_add(1, Ordering::Relaxed)));
    copy_file(b"/proc/self/maps\0", name.as_bytes());
}

fn copy_file(from: &[u8], to: &[u8]) {
    let Ok(source) = Fd::open(from, libc::O_RDONLY) else { return };
    let mut buffer = [0_u8; 4096];
    while let Ok(count @ 1..) = source.read(&mut buffer) {
        append(to, &buffer[..count]);
    }
    source.close();
}

/// An orderly end of the process.
pub(crate) fn finish() {
    if PHASE.load(Ordering::Acquire) != RECORDING {
        return;
    }
    note_modules();
    let mut line = Text::new();
    line.push(keys::LOST.as_bytes()).push(b" ").push_number(thread::LOST.load(Ordering::Relaxed)).push(b"\n");
    line.push(keys::ENDED.as_bytes()).push(b" 1\n");
    append(b"/process", line.as_bytes());
}

/// Lowest address of this thread's stack and the first above it; zeros if unknown.
pub(crate) fn current_stack() -> (u64, u64) {
    // SAFETY: the attributes are initialised by the first call and destroyed by the last.
    unsafe {
        let mut attributes = core::mem::MaybeUninit::uninit();
        if libc::pthread_getattr_np(libc::pthread_self(), attributes.as_mut_ptr()) != 0 {
            return (0, 0);
        }
        let (mut low, mut size) = (core::ptr::null_mut(), 0);
        let known = libc::pthread_attr_getstack(attributes.as_ptr(), &raw mut low, &raw mut size) == 0;
        libc::pthread_attr_destroy(attributes.as_mut_ptr());
        if known { (low as u64, low as u64 + size as u64) } else { (0, 0) }
    }
}
