//! The process as a whole: where its log goes, its settings, start and end.
//!
//! Recording starts before the first constructor runs (`.preinit_array`), so that our `fork` handlers come first in a child and
//! our exit handler comes last.

use core::cell::UnsafeCell;
use core::ffi::{c_char, c_int, c_void};
use core::sync::atomic::{AtomicBool, AtomicI32, AtomicU8, AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{PieceKind, VERSION, process_keys as keys};

use crate::abi;
use crate::back_end;
use crate::environment::{self, number, setting};
use crate::hand_over;
use crate::libc_hooks;
use crate::libc_hooks::real::Real;
use crate::recorder::store;
use crate::sandbox;
use crate::stamp;
use crate::sys::{self, Errno, Fd};
use crate::text::Text;
use crate::thread;

const UNSTARTED: u8 = 0;
const STARTING: u8 = 1;
const RECORDING: u8 = 2;
const DISABLED: u8 = 3;

static PHASE: AtomicU8 = AtomicU8::new(UNSTARTED);
static EXACT: AtomicBool = AtomicBool::new(false);
static STARTED_DIRECTLY: AtomicBool = AtomicBool::new(false);
static PROCESS_ID: AtomicU32 = AtomicU32::new(0);
static SIZE_LIMIT: AtomicU64 = AtomicU64::new(0);
static MAPS: AtomicU32 = AtomicU32::new(0);
static NEW_MODULES: AtomicBool = AtomicBool::new(false);
/// A number for the file that descriptor 2 referred to at the start.
static STANDARD_ERROR: AtomicU64 = AtomicU64::new(0);
static LOSS_SAID: AtomicBool = AtomicBool::new(false);
/// The directory in which log directories are made, and the log directory of this process.
static ROOT: Path = Path(UnsafeCell::new(Text::empty()));
static DIRECTORY: Path = Path(UnsafeCell::new(Text::empty()));

struct Path(UnsafeCell<Text>);
// SAFETY: written by the one thread that is in phase STARTING (or alone after a fork), read after RECORDING was published.
unsafe impl Sync for Path {}

unsafe extern "C" {
    fn __register_atfork(
        prepare: Option<unsafe extern "C" fn()>,
        parent: Option<unsafe extern "C" fn()>,
        child: Option<unsafe extern "C" fn()>,
        module: *mut c_void,
    ) -> c_int;
    fn at_quick_exit(handler: extern "C" fn()) -> c_int;
}

#[cfg(feature = "staticlib")]
#[used]
#[unsafe(link_section = ".preinit_array")]
// Tools look for this name to see that a program is instrumented.
#[unsafe(export_name = "__local_tsan_preinit")]
static BEFORE_CONSTRUCTORS: extern "C" fn(c_int, *const *const c_char, *const *const c_char) =
    before_constructors;

/// The loader calls this before any constructor, also before those of libc.
#[cfg_attr(
    not(feature = "staticlib"),
    allow(dead_code, reason = "only the static library is linked into programs")
)]
extern "C" fn before_constructors(
    _count: c_int,
    _arguments: *const *const c_char,
    environment: *const *const c_char,
) {
    environment::take_given(environment);
    start();
}

/// The process id, as it was at the start or after the last `fork`.
pub(crate) fn id() -> u32 {
    PROCESS_ID.load(Ordering::Relaxed)
}

/// Whether the process records.
#[inline]
pub(crate) fn is_recording() -> bool {
    PHASE.load(Ordering::Acquire) == RECORDING
}

/// Whether every access is recorded.
pub(crate) fn is_exact() -> bool {
    EXACT.load(Ordering::Relaxed)
}

/// Bytes that the log may take; 0 is no limit.
pub(crate) fn size_limit() -> u64 {
    SIZE_LIMIT.load(Ordering::Relaxed)
}

/// Where the log goes.
pub(crate) fn directory() -> Option<&'static [u8]> {
    // SAFETY: see `Path`.
    (PHASE.load(Ordering::Acquire) >= STARTING).then(|| unsafe { &*DIRECTORY.0.get() }.as_bytes())
}

/// Starts recording: makes the log directory and writes down what is known of the process.
pub(crate) fn start() {
    if PHASE.compare_exchange(UNSTARTED, STARTING, Ordering::AcqRel, Ordering::Acquire).is_err() {
        return;
    }
    PROCESS_ID.store(sys::process_id(), Ordering::Relaxed);
    environment::look_at_rights();
    EXACT.store(setting(b"OVERTAKE_EXACT").is_some_and(|value| value == b"1"), Ordering::Relaxed);
    SIZE_LIMIT.store(setting(b"OVERTAKE_MAX_BYTES").map_or(0, number), Ordering::Relaxed);
    STANDARD_ERROR.store(Fd(2).identity().map_or(0, sys::Identity::as_number), Ordering::Relaxed);
    choose_back_end();
    STARTED_DIRECTLY.store(setting(b"OVERTAKE_LOG").is_none() && has_log(), Ordering::Relaxed);
    choose_root();
    if let Err(error) = make_log() {
        PHASE.store(DISABLED, Ordering::Release);
        register_at_exit();
        say(&[b"no log can be made in ", root(), b" (", error.reason(), b"), the run is not recorded"]);
        return;
    }
    // SAFETY: the handlers may run at any time from now on; libc copies its arguments.
    unsafe {
        __register_atfork(Some(before_fork), None, Some(after_fork_in_child), core::ptr::null_mut());
        register_at_exit();
        at_quick_exit(at_quick_end);
    }
    libc_hooks::start();
    if is_started_directly() {
        hand_over::start_family();
        libc_hooks::deaths::start();
    }
    PHASE.store(RECORDING, Ordering::Release);
    let quiet = sys::NoSignals::new();
    thread::begin(thread::next_number(), thread::NO_THREAD, 0);
    drop(quiet);
    note_options();
    environment::forget_given();
    abi::tell_started();
}

/// Lets the environment choose the back end.
fn choose_back_end() {
    if let Some(name) = setting(b"OVERTAKE_BACK_END").filter(|name| !name.is_empty())
        && !back_end::choose(name)
    {
        say(&[b"there is no back end `", name, b"`, the run is recorded"]);
    }
    if let Some(back_end) = back_end::other() {
        back_end.start();
    }
}

/// Whether the process has a log. Back ends other than the recorder have none.
fn has_log() -> bool {
    back_end::other().is_none()
}

/// Whether the log could not be made.
pub(crate) fn is_unrecorded() -> bool {
    PHASE.load(Ordering::Acquire) == DISABLED
}

/// Whether the process itself must hand its log over at its end.
pub(crate) fn is_started_directly() -> bool {
    STARTED_DIRECTLY.load(Ordering::Relaxed)
}

/// Registers our exit handler, without going through our own hook.
fn register_at_exit() {
    type Register = unsafe extern "C" fn(extern "C" fn(c_int, *mut c_void), *mut c_void) -> c_int;
    static REAL: Real = Real::new("on_exit\0");
    let address = REAL.address();
    if !address.is_null() {
        // SAFETY: the type is that of libc's function of this name.
        let register = unsafe { core::mem::transmute::<*mut c_void, Register>(address) };
        // SAFETY: the handler may run at any time from now on.
        unsafe { register(at_exit, core::ptr::null_mut()) };
    }
}

fn root() -> &'static [u8] {
    // SAFETY: see `Path`.
    unsafe { &*ROOT.0.get() }.as_bytes()
}

/// `OVERTAKE_LOG` or the temporary directory, as an absolute path: the program may change its directory.
fn choose_root() {
    let chosen = setting(b"OVERTAKE_LOG").or_else(|| setting(b"TMPDIR")).unwrap_or(b"/tmp");
    // SAFETY: see `Path`.
    let root = unsafe { &mut *ROOT.0.get() };
    if chosen.first() != Some(&b'/') {
        let mut room = [const { core::mem::MaybeUninit::uninit() }; 1024];
        root.push(sys::working_directory(&mut room).unwrap_or_default()).push(b"/");
    }
    root.push(chosen);
}

/// Writes what the program itself says about options and suppressions.
fn note_options() {
    let note = |name: &[u8], bytes: &[u8]| {
        let _ = append(name, bytes);
    };
    if let Some(options) = abi::default_options() {
        note(b"/options", options);
    }
    if let Some(options) = setting(b"TSAN_OPTIONS") {
        note(b"/options", b"\n");
        note(b"/options", options);
    }
    if let Some(suppressions) = abi::default_suppressions() {
        note(b"/suppressions", suppressions);
    }
}

/// In the parent, before `fork`.
unsafe extern "C" fn before_fork() {
    abi::tell_forking();
}

/// In a child process after `fork`: a log of its own.
unsafe extern "C" fn after_fork_in_child() {
    restart_after_fork();
}

/// In a child process: starts a log of its own. The thread that forked is its only one, and keeps its call stack.
pub(crate) fn restart_after_fork() {
    if !is_recording() {
        return;
    }
    let _quiet = sys::NoSignals::new();
    PROCESS_ID.store(sys::process_id(), Ordering::Relaxed);
    thread::abandon_after_fork();
    hand_over::restart_after_fork();
    store::abandon();
    abi::atomic::unlock_after_fork();
    MAPS.store(0, Ordering::Relaxed);
    PHASE.store(STARTING, Ordering::Relaxed);
    match make_log() {
        Ok(()) => {
            PHASE.store(RECORDING, Ordering::Release);
            thread::go_on_after_fork();
            note_options();
        }
        Err(error) => {
            PHASE.store(DISABLED, Ordering::Release);
            thread::stop_after_fork();
            note_unrecorded(error);
        }
    }
}

/// This child process has no log: notes it in the parent's log, and prints a message.
fn note_unrecorded(error: Errno) {
    let mut line = Text::new();
    line.push(keys::UNRECORDED.as_bytes()).push(b" ").push_number(u64::from(id())).push(b" ");
    line.push_number(error.0 as u64).push(b"\n");
    if store::append(PieceKind::Process, 0, line.as_bytes()).is_err() {
        store::note_loss(error);
    }
    say(&[b"no log can be made in ", root(), b" (", error.reason(), b"), a child process is not recorded"]);
}

/// The bytes of a zero-terminated text, without `strlen`, which we interpose.
///
/// # Safety
/// A zero-terminated text that stays.
pub(crate) unsafe fn bytes(text: *const c_char) -> &'static [u8] {
    let mut length = 0;
    // SAFETY: the caller's promise. Volatile, so that compilers do not make a call of `strlen` of the loop.
    unsafe {
        while text.add(length).read_volatile() != 0 {
            length += 1;
        }
        core::slice::from_raw_parts(text.cast(), length)
    }
}

/// Makes the directory of the log, the log file, and the files about the process.
fn make_log() -> Result<(), Errno> {
    if !has_log() {
        return Ok(());
    }
    make_directory()?;
    if let Err(error) = store::open() {
        remove_directory();
        return Err(error);
    }
    let mut line = Text::new();
    let mut room = [const { core::mem::MaybeUninit::uninit() }; 1024];
    line.push_number_line(keys::VERSION, VERSION)
        .push_number_line(keys::PID, u64::from(id()))
        .push_number_line(keys::PARENT, u64::from(sys::parent_process_id()))
        .push_line(keys::EXECUTABLE, sys::read_link(b"/proc/self/exe\0", &mut room).unwrap_or_default())
        .push_line(keys::DIRECTORY, sys::working_directory(&mut room).unwrap_or_default())
        .push_line(keys::STAMPS, stamp::source_name())
        .push_number_line(keys::EXACT, u64::from(is_exact()))
        .push_number_line(keys::MAX_BYTES, size_limit());
    append(b"/process", line.as_bytes())?;
    read_file(b"/proc/self/cmdline\0", |part| {
        let _ = append(b"/cmdline", part);
    });
    note_modules();
    Ok(())
}

/// Makes `<root>/overtake.<random>.<pid>.<stamp>`, whose name nobody can guess, and which nobody else may enter.
fn make_directory() -> Result<(), Errno> {
    const ATTEMPTS: usize = 16;
    // SAFETY: see `Path`.
    let directory = unsafe { &mut *DIRECTORY.0.get() };
    for _ in 0..ATTEMPTS {
        directory.clear().push(root()).push(b"/overtake.").push_number(sys::random());
        directory.push(b".").push_number(u64::from(id()));
        directory.push(b".").push_number(stamp::now());
        let path = directory.terminated().ok_or(Errno(libc::ENAMETOOLONG))?;
        match sys::make_directory(path) {
            Err(Errno(libc::EEXIST)) => {}
            made => return made,
        }
    }
    Err(Errno(libc::EEXIST))
}

/// Whether programs that this one started have told it that they had races, or were not checked.
pub(crate) fn has_descendants() -> bool {
    let mut path = Text::new();
    path.push(directory().unwrap_or_default()).push(b"/descendants");
    let opened = path.terminated().and_then(|path| Fd::open(path, libc::O_RDONLY).ok());
    opened.map(Fd::close).is_some()
}

/// Removes the log, because nobody needs it.
pub(crate) fn remove_log() {
    for name in [&b"/threads"[..], b"/process", b"/cmdline", b"/options", b"/suppressions"] {
        let mut path = Text::new();
        path.push(directory().unwrap_or_default()).push(name);
        if let Some(path) = path.terminated() {
            sys::remove_file(path);
        }
    }
    remove_directory();
}

/// The log was handed over, but the process continues: what it does from now on is not recorded.
pub(crate) fn stop_recording() {
    if is_recording() {
        PHASE.store(DISABLED, Ordering::Release);
        thread::stop_after_fork();
        say(&[b"the process could not become another program, and is not recorded any more"]);
    }
}

/// The log is about to be read. What other threads do from now on is not part of it: read at different times, their records could hold an
/// acquire without the release before it.
pub(crate) fn close_log() {
    store::close();
    let mut line = Text::new();
    append_to_process_file(line.push_number_line(keys::CLOSED, stamp::now()).as_bytes());
}

/// Removes the directory of the log, which must be empty.
fn remove_directory() {
    let mut path = Text::new();
    path.push(directory().unwrap_or_default());
    if let Some(path) = path.terminated() {
        sys::remove_directory(path);
    }
}

/// Appends to a file in the directory of the log.
fn append(name: &[u8], bytes: &[u8]) -> Result<(), Errno> {
    let Some(directory) = directory().filter(|_| has_log()) else { return Ok(()) };
    let mut path = Text::new();
    path.push(directory).push(name);
    let path = path.terminated().ok_or(Errno(libc::ENAMETOOLONG))?;
    let file = Fd::open(path, libc::O_WRONLY | libc::O_CREAT | libc::O_APPEND)?;
    file.write(bytes);
    file.close();
    Ok(())
}

/// Appends to the `process` file, or to the log file if that fails.
fn append_to_process_file(bytes: &[u8]) {
    if has_log() && append(b"/process", bytes).is_err() {
        let _ = store::append(PieceKind::Process, 0, bytes);
    }
}

/// Copies the current memory map into the log, for symbolising later.
pub(crate) fn note_modules() {
    if PHASE.load(Ordering::Acquire) == UNSTARTED || !has_log() {
        return;
    }
    NEW_MODULES.store(false, Ordering::Relaxed);
    let number = u64::from(MAPS.fetch_add(1, Ordering::Relaxed));
    let mut line = Text::new();
    let _ = store::append(PieceKind::Map, number, line.push_number_line("stamp", stamp::now()).as_bytes());
    read_file(b"/proc/self/maps\0", |part| {
        let _ = store::append(PieceKind::Map, number, part);
    });
}

/// Modules may be loaded from now on: the next thread that starts a new chunk notes them.
pub(crate) fn expect_new_modules() {
    NEW_MODULES.store(true, Ordering::Relaxed);
    if let Some(other) = back_end::other() {
        other.expect_modules();
    }
}

/// Notes modules that were loaded since the last time.
#[inline]
pub(crate) fn note_new_modules() {
    if NEW_MODULES.load(Ordering::Relaxed) {
        note_modules();
    }
}

/// Reads a file of the kernel part by part.
fn read_file(path: &[u8], mut take: impl FnMut(&[u8])) {
    let Ok(source) = Fd::open(path, libc::O_RDONLY) else { return };
    let mut buffer = [const { core::mem::MaybeUninit::uninit() }; 4096];
    while let Ok(count @ 1..) = source.read_into(&mut buffer) {
        // SAFETY: the kernel filled this many bytes.
        take(unsafe { core::slice::from_raw_parts(buffer.as_ptr().cast(), count) });
    }
    source.close();
}

/// Whether descriptor 2 still is a standard error: what it was at the start, or something where somebody may read. If the program closed
/// standard error, a file that it opened later may have this number; a daemon has `/dev/null` there.
pub(crate) fn has_standard_error() -> bool {
    match Fd(2).identity() {
        Some(now) => {
            now.as_number() == STANDARD_ERROR.load(Ordering::Relaxed) || !now.is_file && !now.is_nothing
        }
        None => false,
    }
}

/// Prints a line on standard error.
pub(crate) fn say(parts: &[&[u8]]) {
    if !has_standard_error() {
        return;
    }
    let mut line = Text::new();
    line.push(b"overtake: ");
    for part in parts {
        line.push(part);
    }
    Fd(2).write(line.push(b"\n").as_bytes());
}

/// Records of some thread cannot be written, for this reason. Says so once.
pub(crate) fn note_loss(error: Errno) {
    if !LOSS_SAID.swap(true, Ordering::Relaxed) {
        say(&[
            b"the log in ",
            root(),
            b" cannot be written (",
            error.reason(),
            b"), the rest of the run is recorded in part or not at all",
        ]);
    }
}

/// An orderly end of the process, caused by `how`.
pub(crate) fn finish(how: &[u8]) {
    if !is_recording() {
        return;
    }
    let _quiet = sys::NoSignals::new();
    if let Some(thread) = thread::recording() {
        if how == b"exit" {
            thread.end_ignoring();
        }
        thread.recorder().close_region();
        thread.recorder().note_coalesced();
    }
    if sandbox::is_filtered() {
        note_new_modules(); // if the program could open modules, we can read the memory map
    } else {
        note_modules();
    }
    let mut line = Text::new();
    line.push_number_line(keys::LOST, thread::lost()).push_line(keys::ENDED, how);
    append_to_process_file(line.as_bytes());
}

extern "C" fn at_exit(code: c_int, _argument: *mut c_void) {
    finish(b"exit");
    if let Some(code) = hand_over::hand_over(true, code) {
        // SAFETY: an exit handler that calls `exit` again lets glibc run the other handlers and end with the new code.
        unsafe { libc::exit(code) }
    }
}

/// The exit code of `quick_exit`.
static QUICK_CODE: AtomicI32 = AtomicI32::new(0);

/// The process is about to end by `quick_exit`, which does not pass its exit code to handlers.
pub(crate) fn note_quick_code(code: c_int) {
    QUICK_CODE.store(code, Ordering::Relaxed);
}

extern "C" fn at_quick_end() {
    end_now(b"_exit", QUICK_CODE.load(Ordering::Relaxed));
}

/// The process ends with an exit code but without exit handlers. Ends it here if the exit code must be another.
pub(crate) fn end_now(how: &[u8], code: c_int) {
    finish(how);
    if let Some(code) = hand_over::hand_over(false, code) {
        sys::exit_now(code);
    }
}
