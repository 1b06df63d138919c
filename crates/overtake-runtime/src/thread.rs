//! The state of a recorded thread, and its records.

use core::cell::Cell;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::{HEADER_BYTES, RecordKind, THREAD_MAGIC, ThreadHeader, head};

use crate::buffer::Buffer;
use crate::coalesce::{Coalescer, Found, LINE_BYTES};
use crate::process;
use crate::stack::CallStack;
use crate::stamp;
use crate::sys::{self, Fd};
use crate::text::Text;
use crate::tls;

/// Number of a thread whose creator is unknown.
pub(crate) const NO_THREAD: u32 = u32::MAX;

static NEXT_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Accesses of threads that are over or could not be set up.
pub(crate) static LOST: AtomicU64 = AtomicU64::new(0);

/// Everything recording needs to know of one thread. Only that thread, and signal handlers on it, use it.
pub(crate) struct ThreadState {
    buffer: Buffer,
    stack: CallStack,
    coalescer: Coalescer,
    last_stamp: Cell<u64>,
    number: u32,
    /// Depth of `AnnotateIgnore*Begin` and the like.
    ignore_reads: Cell<u32>,
    ignore_writes: Cell<u32>,
    ignore_sync: Cell<u32>,
}

/// Stands for a thread that records nothing: it is being set up, or over.
const SILENT: *const ThreadState = 1 as *const ThreadState;

/// The next free thread number.
pub(crate) fn next_number() -> u32 {
    NEXT_NUMBER.fetch_add(1, Ordering::Relaxed)
}

/// After a fork, the child's only thread starts counting again.
pub(crate) fn restart_numbers() {
    NEXT_NUMBER.store(0, Ordering::Relaxed);
}

/// This thread's state, set up if need be; `None` if the thread records nothing.
#[inline(always)]
pub(crate) fn current() -> Option<&'static ThreadState> {
    let state = tls::state();
    if state > SILENT {
        // SAFETY: set by `begin` on this thread, valid until `end` replaces it.
        Some(unsafe { &*state })
    } else {
        set_up(state)
    }
}

#[cold]
#[inline(never)]
fn set_up(state: *const ThreadState) -> Option<&'static ThreadState> {
    if state == SILENT || !process::is_recording() {
        LOST.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    begin(next_number(), NO_THREAD, 0);
    let state = tls::state();
    // SAFETY: as in `current`.
    (state > SILENT).then(|| unsafe { &*state })
}

/// Starts recording this thread under `number`.
pub(crate) fn begin(number: u32, parent: u32, start: u64) {
    tls::set_state(SILENT);
    let Ok(room) = sys::map_private(size_of::<ThreadState>()) else { return };
    let (file, header) = open_file(number, parent).unwrap_or((Fd::NONE, core::ptr::null_mut()));
    let state: *mut ThreadState = room.cast();
    // SAFETY: fresh memory of the right size; mappings are page-aligned.
    let state = unsafe {
        state.write(ThreadState {
            buffer: Buffer::new(file, header),
            stack: CallStack::new(),
            coalescer: Coalescer::new(process::is_exact()),
            last_stamp: Cell::new(0),
            number,
            ignore_reads: Cell::new(0),
            ignore_writes: Cell::new(0),
            ignore_sync: Cell::new(0),
        });
        &*state
    };
    state.new_chunk();
    tls::set_state(state);
    state.sync(RecordKind::ThreadStart, 0, u64::from(number), start);
}

fn open_file(number: u32, parent: u32) -> Option<(Fd, *mut ThreadHeader)> {
    let mut path = Text::new();
    path.push(process::directory()?).push(b"/thread.").push_number(u64::from(number));
    let file = Fd::open(path.terminated()?, libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC).ok()?;
    let mapped = file.allocate(0, HEADER_BYTES).and_then(|()| sys::map_file(file, 0, HEADER_BYTES));
    let Ok(header) = mapped else {
        file.close();
        return None;
    };
    let header: *mut ThreadHeader = header.cast();
    let (stack_low, stack_high) = process::current_stack();
    // SAFETY: a fresh mapping, page-aligned and larger than a header.
    unsafe {
        header.write(ThreadHeader {
            magic: THREAD_MAGIC,
            number,
            parent,
            tid: sys::kernel_thread_id(),
            ended: 0,
            stack_low,
            stack_high,
            lost_bytes: 0,
            first_chunk: HEADER_BYTES as u64,
            dropped_bytes: 0,
            closing_writes: 0,
            name: [0; 16],
        });
    }
    Some((file, header))
}

/// Ends the recording of this thread.
pub(crate) fn end() {
    let state = tls::state();
    if state <= SILENT {
        return;
    }
    // SAFETY: as in `current`.
    let thread = unsafe { &*state };
    thread.sync(RecordKind::ThreadEnd, 0, u64::from(thread.number), 0);
    tls::set_state(SILENT);
    if let Some(header) = thread.buffer.header() {
        header.ended = 1;
    }
    thread.buffer.close();
    thread.stack.close();
    thread.coalescer.close();
    // SAFETY: the thread-local pointer was the only one.
    unsafe { sys::unmap(state.cast_mut().cast(), size_of::<ThreadState>()) };
}

/// In a child process: forget the parent's files. The caller begins a new thread.
pub(crate) fn abandon_after_fork() {
    let state = tls::state();
    if state > SILENT {
        // SAFETY: as in `current`.
        unsafe { &*state }.buffer.abandon_after_fork();
    }
    tls::set_state(core::ptr::null());
}

impl ThreadState {
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// A plain access of `SIZE` bytes, aligned so that it lies within one cache line.
    #[inline(always)]
    pub(crate) fn access<const WRITE: bool, const SIZE: usize>(&self, address: usize, pc: usize) {
        let line = (address / LINE_BYTES) as u64;
        let bytes = ((1_u64 << SIZE) - 1) << (address % LINE_BYTES);
        if let Found::New(slot) = self.coalescer.find::<WRITE>(line, bytes) {
            self.record_access::<WRITE>(address, SIZE as u8, pc);
            self.coalescer.note::<WRITE>(slot, line, bytes, |line, bytes| self.close_line(line, bytes, pc));
        }
    }

    /// A plain access of any size and alignment.
    pub(crate) fn access_range(&self, write: bool, address: usize, length: usize, pc: usize) {
        if length == 0 {
            return;
        }
        if length <= 16 && address % LINE_BYTES + length <= LINE_BYTES {
            if write {
                self.access_within::<true>(address, length, pc)
            } else {
                self.access_within::<false>(address, length, pc)
            }
            return;
        }
        if self.is_ignoring(write) {
            return;
        }
        self.prepare();
        let kind = if write { RecordKind::WriteRange } else { RecordKind::ReadRange };
        self.buffer.write([head(kind, 0, address as u64), pc as u64, length as u64]);
    }

    fn access_within<const WRITE: bool>(&self, address: usize, length: usize, pc: usize) {
        let line = (address / LINE_BYTES) as u64;
        let bytes = ((1_u64 << length) - 1) << (address % LINE_BYTES);
        if let Found::New(slot) = self.coalescer.find::<WRITE>(line, bytes) {
            self.record_access::<WRITE>(address, length as u8, pc);
            self.coalescer.note::<WRITE>(slot, line, bytes, |line, bytes| self.close_line(line, bytes, pc));
        }
    }

    #[inline]
    fn record_access<const WRITE: bool>(&self, address: usize, size: u8, pc: usize) {
        if self.is_ignoring(WRITE) {
            return;
        }
        self.prepare();
        let kind = if WRITE { RecordKind::Write } else { RecordKind::Read };
        self.buffer.write([head(kind, size, address as u64), pc as u64]);
    }

    /// Records that bytes of a line were written again after their recorded write: one record per run of bytes.
    #[cold]
    #[inline(never)]
    fn close_line(&self, line: u64, mut bytes: u64, pc: usize) {
        while bytes != 0 {
            let start = bytes.trailing_zeros();
            let length = (bytes >> start).trailing_ones();
            self.prepare();
            let address = line * LINE_BYTES as u64 + u64::from(start);
            self.buffer.write([head(RecordKind::Write, length as u8, address), pc as u64]);
            bytes &= if start + length == 64 { 0 } else { u64::MAX << (start + length) };
            if let Some(header) = self.buffer.header() {
                header.closing_writes += 1;
            }
        }
    }

    /// A synchronisation operation on `value`, stamped now.
    #[inline]
    pub(crate) fn sync(&self, kind: RecordKind, extra: u8, value: u64, pc: u64) {
        debug_assert_eq!(kind.words(), 3);
        if let Some(stamp) = self.end_region(pc) {
            self.buffer.write([head(kind, extra, value), pc, stamp]);
        }
    }

    /// A synchronisation operation with one more number.
    pub(crate) fn sync_with(&self, kind: RecordKind, value: u64, pc: u64, more: u64) {
        debug_assert_eq!(kind.words(), 4);
        if let Some(stamp) = self.end_region(pc) {
            self.buffer.write([head(kind, 0, value), pc, stamp, more]);
        }
    }

    /// Closes the region and takes the stamp; `None` if synchronisation is being ignored.
    #[inline]
    fn end_region(&self, pc: u64) -> Option<u64> {
        if self.ignore_sync.get() > 0 {
            return None;
        }
        self.coalescer.end_region(|line, bytes| self.close_line(line, bytes, pc as usize));
        self.prepare();
        let stamp = stamp::now();
        self.last_stamp.set(stamp);
        Some(stamp)
    }

    /// Makes room for a record and brings the call stack up to date.
    #[inline(always)]
    fn prepare(&self) {
        if !self.buffer.has_room() {
            self.new_chunk();
        }
        if !self.stack.is_written() {
            self.stack.write(&self.buffer, || self.new_chunk());
        }
    }

    #[cold]
    #[inline(never)]
    fn new_chunk(&self) {
        self.buffer.next_chunk(self.last_stamp.get());
        self.stack.write_all(&self.buffer);
    }

    #[inline(always)]
    pub(crate) fn enter_function(&self, call: usize, stack_pointer: usize) {
        self.stack.enter(call as u64, stack_pointer as u64);
    }

    #[inline(always)]
    pub(crate) fn leave_function(&self) {
        self.stack.leave();
    }

    fn is_ignoring(&self, write: bool) -> bool {
        (if write { &self.ignore_writes } else { &self.ignore_reads }).get() > 0
    }

    /// Counts up or down how often reads, writes and synchronisation are to be ignored.
    pub(crate) fn ignore(&self, reads: i32, writes: i32, sync: i32) {
        for (depth, change) in
            [(&self.ignore_reads, reads), (&self.ignore_writes, writes), (&self.ignore_sync, sync)]
        {
            depth.set(depth.get().saturating_add_signed(change));
        }
    }
}
