//! The call stack. It is kept in an array and written to the log only when a record needs it.
//!
//! **State.** `frames[FIRST..top]` is the stack. The log has `written - FIRST` frames, of which the first
//! `written_low - FIRST` are still correct.
//! **Invariants.**
//!   S1  `FIRST <= written_low <= top`, `written_low <= written`, `top <= capacity`.
//!   S2  `frames[0]` and `frames[1]` have the largest possible stack pointer, so that every search ends there.
//!   S3  A frame is filled before `top` moves, and again after that: a signal handler that comes in between may have used
//!       the place, and one that comes later compares stack pointers with it.
//!   S4  `written_low` moves down before `top` does, and up only when the log has the frames.
//!   S5  When the array grows, the old one stays: code that a signal handler interrupted may hold its address.
//!
//! A frame has its stack pointer. When a function is entered, frames whose stack pointer is not above the new one are gone (`longjmp`,
//! functions left without a call of the exit hook) and are dropped; when a function exits, frames below its own are dropped. Only pointers
//! into the thread's own stack are compared: signal handlers and coroutines may run on another stack.

use core::cell::Cell;

use overtake_rawlog::{RecordKind, head};

use super::buffer::Buffer;
use crate::sys;

#[derive(Clone, Copy)]
#[repr(C)]
struct Frame {
    call: u64,
    stack_pointer: u64,
}

/// A call of something without instrumentation.
pub(crate) struct Call {
    /// Its return address.
    pub(crate) from: u64,
    /// A stack pointer below that of its function.
    pub(crate) stack_pointer: u64,
}

const NEVER: usize = usize::MAX;
const FIRST: usize = 2;
const FIRST_CAPACITY: usize = 1024;
/// Most frames that are written at the start of a chunk: they take half of the smallest chunk.
const MOST_AT_CHUNK: usize = overtake_rawlog::SMALL_TAIL_BYTES / 8 / 2;

/// All zeros is a stack that has not been opened; it must be opened before it is used.
pub(crate) struct CallStack {
    frames: Cell<*mut Frame>,
    top: Cell<usize>,
    capacity: Cell<usize>,
    written_low: Cell<usize>,
    written: Cell<usize>,
    /// The place in the log where its current stack was written.
    written_at: Cell<usize>,
    /// The same place if that stack is the current one, else [`NEVER`].
    current_since: Cell<usize>,
    /// The thread's own stack.
    stack_low: Cell<u64>,
    stack_high: Cell<u64>,
    /// Arrays that were outgrown (S5).
    outgrown: [Cell<*mut Frame>; usize::BITS as usize],
}

/// Where the hooks for accesses find [`CallStack::current_since`], see `abi::access`.
pub(crate) const SINCE: usize = core::mem::offset_of!(CallStack, current_since);

impl CallStack {
    /// An empty stack of a thread whose own stack is `stack_low..stack_high`, perhaps in the array of an ended thread. False if there is
    /// no memory.
    pub(crate) fn open(&self, (stack_low, stack_high): (u64, u64), kept: Option<Frames>) -> bool {
        let new =
            || sys::map_private(FIRST_CAPACITY * size_of::<Frame>()).ok().map(|frames| Frames(frames.cast()));
        let Some(Frames(frames)) = kept.or_else(new) else { return false };
        self.frames.set(frames);
        for number in 0..FIRST {
            // SAFETY: within the array.
            unsafe { *self.frame(number) = Frame { call: 0, stack_pointer: u64::MAX } }; // S2
        }
        self.capacity.set(FIRST_CAPACITY);
        self.stack_low.set(stack_low);
        self.stack_high.set(stack_high);
        for depth in [&self.top, &self.written_low, &self.written] {
            depth.set(FIRST);
        }
        self.current_since.set(NEVER);
        true
    }

    #[inline(always)]
    fn frame(&self, number: usize) -> *mut Frame {
        // Volatile: a signal handler may have let the array grow.
        // SAFETY: reads a field.
        unsafe { self.frames.as_ptr().read_volatile() }.wrapping_add(number)
    }

    #[inline(always)]
    fn stack_pointer(&self, number: usize) -> u64 {
        // SAFETY: callers pass numbers below the capacity (S1, S2).
        unsafe { (*self.frame(number)).stack_pointer }
    }

    /// A function was called from `call`, and the stack pointer is now `stack_pointer`.
    #[inline(always)]
    pub(crate) fn enter(&self, call: u64, stack_pointer: u64) {
        let mut top = self.top.get();
        if self.stack_pointer(top - 1) <= stack_pointer {
            top = self.drop_frames(stack_pointer);
        }
        if top == self.capacity.get() && !self.grow() {
            return; // the frame is missing; its exit drops the caller's frame, and later entries correct that
        }
        let frame = Frame { call, stack_pointer };
        // SAFETY: below the capacity (S1); S3.
        unsafe {
            self.frame(top).write_volatile(frame);
            self.top.as_ptr().write_volatile(top + 1);
            self.current_since.set(NEVER);
            self.frame(top).write_volatile(frame);
        }
    }

    /// The function whose stack pointer is `stack_pointer` exits.
    #[inline(always)]
    pub(crate) fn leave(&self, stack_pointer: u64) {
        let mut top = self.top.get();
        // If even the caller's frame is not above this stack pointer, the innermost frame does not belong to this function.
        if self.stack_pointer(top - 2) <= stack_pointer {
            top = self.drop_frames_but_one(stack_pointer);
        }
        if top > FIRST {
            self.cut(top - 1);
        }
    }

    #[inline(always)]
    fn cut(&self, top: usize) {
        // SAFETY: writes fields, in this order (S4).
        unsafe {
            if top < self.written_low.get() {
                self.written_low.as_ptr().write_volatile(top);
            }
            self.top.as_ptr().write_volatile(top);
        }
        self.current_since.set(NEVER);
    }

    /// The call that the innermost function has made and that has not returned. It leaves its return address where that of the entry hook
    /// was, unless the function moved its stack pointer in between (`alloca`): then this is an earlier call, of which nothing is known.
    pub(crate) fn call_in_progress(&self) -> Option<Call> {
        let local = 0_u8;
        let here = &raw const local as u64;
        let place = self.stack_pointer(self.top.get() - 1);
        if !self.is_own(place) || !self.is_own(here) || place <= here {
            return None;
        }
        // SAFETY: on this thread's stack, above what is in use.
        let from = unsafe { (place as *const u64).read() };
        Some(Call { from, stack_pointer: place - 1 })
    }

    /// Calls `each` with the return addresses of the calls, innermost first.
    pub(crate) fn calls(&self, mut each: impl FnMut(u64)) {
        for number in (FIRST..self.top.get()).rev() {
            // SAFETY: below the capacity (S1).
            each(unsafe { (*self.frame(number)).call });
        }
    }

    /// Whether the log is known to have the current stack. If not, [`write`](Self::write) must be called, which may find that it has.
    #[inline(always)]
    pub(crate) fn is_written(&self) -> bool {
        // Volatile: signal handlers change it.
        // SAFETY: reads a field.
        unsafe { self.current_since.as_ptr().read_volatile() != NEVER }
    }

    /// The place from which on records have the current stack; [`NEVER`] if the log does not have it.
    #[inline(always)]
    pub(crate) fn current_since(&self) -> usize {
        self.current_since.get()
    }

    /// Writes to the log what changed in the stack, unless a signal handler comes in between. `new_chunk` writes the whole stack.
    #[cold]
    #[inline(never)]
    pub(crate) fn write(&self, buffer: &Buffer, new_chunk: impl Fn()) {
        let (mut depth, top) = (self.written_low.get(), self.top.get());
        if depth == top && self.written.get() == top {
            self.current_since.set(self.written_at.get()); // functions were entered and left since
            return;
        }
        let mut place = buffer.place();
        // A push itself cuts the stack, by up to 256 frames.
        if depth == top || self.written.get().saturating_sub(depth) > 200 {
            if !buffer.write_at(place, [head(RecordKind::Cut, 0, (depth - FIRST) as u64)]) {
                return; // a signal handler came; the caller will try again
            }
            place = place.wrapping_add(1);
        }
        while depth < top {
            if !buffer.has_room() {
                return new_chunk();
            }
            if !buffer.write_at(place, [self.push(depth)]) {
                return;
            }
            place = place.wrapping_add(1);
            depth += 1;
        }
        if buffer.place() == place {
            self.note_written(top, buffer);
        }
    }

    fn note_written(&self, top: usize, buffer: &Buffer) {
        let place = buffer.place() as usize;
        self.written_at.set(place);
        self.written.set(top);
        self.written_low.set(top); // S4
        self.current_since.set(place);
    }

    /// The record of a frame.
    fn push(&self, number: usize) -> u64 {
        // SAFETY: below the capacity (S1).
        let call = unsafe { (*self.frame(number)).call };
        head(RecordKind::Push, (number - FIRST) as u8, call)
    }

    /// How many of the outermost frames [`write_all`](Self::write_all) leaves out.
    pub(crate) fn too_many(&self) -> usize {
        (self.top.get() - FIRST).saturating_sub(MOST_AT_CHUNK)
    }

    /// Writes the stack at the start of a chunk.
    pub(crate) fn write_all(&self, buffer: &Buffer) {
        let top = self.top.get();
        for number in FIRST + self.too_many()..top {
            buffer.write([self.push(number)]);
        }
        self.note_written(top, buffer);
    }

    /// The thread's own stack.
    pub(crate) fn own(&self) -> (u64, u64) {
        (self.stack_low.get(), self.stack_high.get())
    }

    fn is_own(&self, stack_pointer: u64) -> bool {
        self.stack_low.get() <= stack_pointer && stack_pointer < self.stack_high.get()
    }

    /// Drops the frames that must be gone when a function is entered at `stack_pointer`. Returns the depth that is left.
    #[cold]
    #[inline(never)]
    fn drop_frames(&self, stack_pointer: u64) -> usize {
        self.drop_frames_above(stack_pointer, 1)
    }

    /// Drops the frames that must be gone when a function exits at `stack_pointer`, but not its own.
    #[cold]
    #[inline(never)]
    fn drop_frames_but_one(&self, stack_pointer: u64) -> usize {
        self.drop_frames_above(stack_pointer, 2)
    }

    /// How many functions there are, including the one whose stack pointer is `stack_pointer`.
    #[cfg(feature = "staticlib")]
    pub(crate) fn depth(&self, stack_pointer: u64) -> u64 {
        (self.drop_frames_but_one(stack_pointer) - FIRST) as u64
    }

    fn drop_frames_above(&self, stack_pointer: u64, seen: usize) -> usize {
        let mut top = self.top.get();
        while self.is_own(stack_pointer)
            && self.is_own(self.stack_pointer(top - 1))
            && self.stack_pointer(top - seen) <= stack_pointer
        {
            top -= 1;
            self.cut(top);
        }
        top
    }

    #[cold]
    #[inline(never)]
    fn grow(&self) -> bool {
        let _quiet = sys::NoSignals::new();
        let capacity = self.capacity.get();
        if self.top.get() < capacity {
            return true; // a signal handler was here first
        }
        let bytes = capacity * size_of::<Frame>();
        let Ok(larger) = sys::map_private(bytes * 2) else { return false };
        let old = self.frame(0);
        // SAFETY: both arrays have at least so many bytes and belong to this thread.
        unsafe { sys::copy(old.cast(), larger, bytes) };
        if let Some(place) = self.outgrown.get(capacity.trailing_zeros() as usize) {
            place.set(old); // S5
        }
        self.frames.set(larger.cast());
        self.capacity.set(capacity * 2);
        true
    }

    /// The thread has ended. Returns its array for another thread, unless it has grown.
    pub(crate) fn close(&self) -> Option<Frames> {
        let frames = self.frames.replace(core::ptr::null_mut());
        if frames.is_null() {
            return None;
        }
        if self.capacity.get() == FIRST_CAPACITY {
            return Some(Frames(frames));
        }
        // SAFETY: the thread has ended; only it knew the arrays, whose capacities are powers of two.
        unsafe {
            sys::unmap(frames.cast(), self.capacity.get() * size_of::<Frame>());
            for (exponent, outgrown) in self.outgrown.iter().enumerate() {
                if !outgrown.get().is_null() {
                    sys::unmap(
                        outgrown.replace(core::ptr::null_mut()).cast(),
                        size_of::<Frame>() << exponent,
                    );
                }
            }
        }
        None
    }
}

/// The array of an ended thread.
#[derive(Clone, Copy)]
pub(crate) struct Frames(*mut Frame);

impl Frames {
    /// Frees the array.
    pub(crate) fn unmap(self) {
        // SAFETY: nobody uses it.
        unsafe { sys::unmap(self.0.cast(), FIRST_CAPACITY * size_of::<Frame>()) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stack of a thread whose own stack is at the addresses 0..1,000,000.
    fn stack() -> CallStack {
        // SAFETY: zeros are valid.
        let stack: CallStack = unsafe { core::mem::zeroed() };
        assert!(stack.open((0, 1_000_000), None));
        stack
    }

    fn depth(stack: &CallStack) -> usize {
        stack.top.get() - FIRST
    }

    #[test]
    fn functions_left_without_notice_are_dropped() {
        let stack = stack();
        for depth in 0..10 {
            stack.enter(depth, 900_000 - depth * 100);
        }
        assert_eq!(depth(&stack), 10);
        stack.enter(7, 900_000 - 350); // called by the fourth function: the others are gone
        assert_eq!(depth(&stack), 5);
        stack.leave(900_000 - 350);
        stack.leave(900_000 - 100); // the second function exits: the third and fourth are gone too
        assert_eq!(depth(&stack), 1);
        stack.leave(900_000);
        stack.leave(900_000);
        assert_eq!(depth(&stack), 0);
        stack.close();
    }

    #[test]
    fn other_stacks_drop_nothing() {
        let stack = stack();
        for depth in 0..5 {
            stack.enter(depth, 900_000 - depth * 100);
        }
        stack.enter(9, 5_000_000); // a signal handler on a stack of its own
        assert_eq!(depth(&stack), 6);
        stack.leave(5_000_000);
        assert_eq!(depth(&stack), 5);
        stack.close();
    }

    #[test]
    fn deep_stacks_grow_and_shrink() {
        let stack = stack();
        for depth in 0..100_000_u64 {
            stack.enter(depth, 999_999 - depth);
        }
        assert_eq!(depth(&stack), 100_000);
        assert_eq!(stack.too_many(), 100_000 - MOST_AT_CHUNK);
        for depth in (0..100_000_u64).rev() {
            stack.leave(999_999 - depth);
        }
        assert_eq!(depth(&stack), 0);
        stack.close();
    }
}
