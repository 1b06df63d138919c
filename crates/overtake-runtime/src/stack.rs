//! The call stack, kept on the side and written to the log only when a record needs it.
//!
//! **Invariants.**
//!   S1  `base <= written_low <= top <= end`, `written_low <= written`.
//!   S2  The frames below `written_low` are the ones the log has; the log has `written - base` frames in all, those from
//!       `written_low` on have been left since.
//!   S3  `top` moves before the frame is filled: a signal handler that comes between pushes above it.
//!
//! A frame remembers its stack pointer. Frames that are no longer below the current one are dropped on entry to the next
//! function: that heals what `longjmp` and functions left without notice leave behind.

use core::cell::Cell;

use overtake_rawlog::{RecordKind, head};

use crate::buffer::Buffer;
use crate::sys;

#[derive(Clone, Copy)]
#[repr(C)]
struct Frame {
    call: u64,
    stack_pointer: u64,
}

const FIRST_BYTES: usize = 16 * 1024;

pub(crate) struct CallStack {
    top: Cell<*mut Frame>,
    end: Cell<*mut Frame>,
    base: Cell<*mut Frame>,
    written_low: Cell<*mut Frame>,
    written: Cell<*mut Frame>,
    /// Frames that found no memory: as many exits are ignored.
    missing: Cell<usize>,
}

impl CallStack {
    pub(crate) fn new() -> CallStack {
        let base: *mut Frame = sys::map_private(FIRST_BYTES).map_or(core::ptr::null_mut(), |at| at.cast());
        let end = if base.is_null() { base } else { base.wrapping_byte_add(FIRST_BYTES) };
        CallStack {
            top: Cell::new(base),
            end: Cell::new(end),
            base: Cell::new(base),
            written_low: Cell::new(base),
            written: Cell::new(base),
            missing: Cell::new(0),
        }
    }

    /// A function was called from `call`, and the stack pointer is now `stack_pointer`.
    #[inline(always)]
    pub(crate) fn enter(&self, call: u64, stack_pointer: u64) {
        let mut top = self.top.get();
        // SAFETY: frames from base to top are filled (S1, S3), and `top < end` holds after `grow`.
        unsafe {
            if top > self.base.get() && (*top.sub(1)).stack_pointer <= stack_pointer {
                self.drop_dead_frames(stack_pointer);
                top = self.top.get();
            }
            if top == self.end.get() {
                if !self.grow() {
                    self.missing.set(self.missing.get() + 1);
                    return;
                }
                top = self.top.get();
            }
            self.top.set(top.add(1)); // S3
            core::sync::atomic::compiler_fence(core::sync::atomic::Ordering::SeqCst);
            *top = Frame { call, stack_pointer };
        }
    }

    /// The function entered last is left.
    #[inline(always)]
    pub(crate) fn leave(&self) {
        let top = self.top.get();
        if self.missing.get() > 0 {
            self.missing.set(self.missing.get() - 1);
        } else if top > self.base.get() {
            let top = top.wrapping_sub(1);
            self.top.set(top);
            if top < self.written_low.get() {
                self.written_low.set(top); // S2
            }
        }
    }

    /// Whether the log has this very stack.
    #[inline(always)]
    pub(crate) fn is_written(&self) -> bool {
        let top = self.top.get();
        self.written_low.get() == top && self.written.get() == top
    }

    /// Brings the log's idea of the stack up to date.
    #[cold]
    #[inline(never)]
    pub(crate) fn write(&self, buffer: &Buffer, new_chunk: impl Fn()) {
        let (low, top) = (self.written_low.get(), self.top.get());
        // SAFETY: S1, all within one mapping.
        let left = unsafe { self.written.get().offset_from(low) };
        self.written_low.set(top);
        self.written.set(top);
        if left > 0 {
            buffer.write([head(RecordKind::Pop, 0, left as u64)]);
        }
        let mut frame = low;
        while frame < top {
            if !buffer.has_room() {
                new_chunk();
                return; // which wrote the whole stack
            }
            // SAFETY: S1, S3.
            buffer.write([head(RecordKind::Push, 0, unsafe { (*frame).call })]);
            frame = frame.wrapping_add(1);
        }
    }

    /// Writes the whole stack at the start of a chunk, as far as half a chunk goes: the innermost frames.
    pub(crate) fn write_all(&self, buffer: &Buffer) {
        const MOST_FRAMES: usize = 2048;
        let top = self.top.get();
        self.written_low.set(top);
        self.written.set(top);
        let mut frame = self.base.get();
        // SAFETY: S1.
        let depth = unsafe { top.offset_from(frame) } as usize;
        if depth > MOST_FRAMES {
            frame = frame.wrapping_add(depth - MOST_FRAMES);
        }
        while frame < top {
            // SAFETY: S1, S3.
            buffer.write([head(RecordKind::Push, 0, unsafe { (*frame).call })]);
            frame = frame.wrapping_add(1);
        }
    }

    #[cold]
    #[inline(never)]
    fn drop_dead_frames(&self, stack_pointer: u64) {
        // SAFETY: S1, S3.
        while self.top.get() > self.base.get()
            && unsafe { (*self.top.get().sub(1)).stack_pointer } <= stack_pointer
        {
            self.leave();
        }
    }

    #[cold]
    #[inline(never)]
    fn grow(&self) -> bool {
        let base = self.base.get();
        if base.is_null() {
            return false;
        }
        let bytes = self.end.get() as usize - base as usize;
        // SAFETY: a private mapping that only this thread knows; every pointer into it is moved below.
        let Ok(moved) = (unsafe { sys::remap(base.cast(), bytes, bytes * 2) }) else { return false };
        let moved: *mut Frame = moved.cast();
        for pointer in [&self.top, &self.written_low, &self.written] {
            pointer.set(moved.wrapping_byte_add(pointer.get() as usize - base as usize));
        }
        self.base.set(moved);
        self.end.set(moved.wrapping_byte_add(bytes * 2));
        true
    }

    pub(crate) fn close(&self) {
        let base = self.base.replace(core::ptr::null_mut());
        if !base.is_null() {
            // SAFETY: the thread is over; only it knew the mapping.
            unsafe { sys::unmap(base.cast(), self.end.get() as usize - base as usize) };
        }
    }
}
