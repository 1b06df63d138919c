//! Memory that is allocated, freed, mapped.
//!
//! A block is recorded after it was allocated and before it is freed. The loader and the look-up of functions may allocate before we have
//! started: until then, glibc's own names for its allocator are called.

use core::ffi::c_void;

use overtake_rawlog::{RecordKind, misuse};

use super::loader;
use super::real::hook;
use super::{note_with, touch};
use crate::thread::{self, ThreadState};

unsafe extern "C" {
    fn __libc_malloc(size: usize) -> usize;
    fn __libc_calloc(count: usize, size: usize) -> usize;
    fn __libc_realloc(block: usize, size: usize) -> usize;
    fn __libc_memalign(alignment: usize, size: usize) -> usize;
    fn __libc_free(block: usize);
}

/// Memory of our own, which is not recorded.
pub(super) fn raw_allocate(size: usize) -> *mut c_void {
    // SAFETY: allocating is always safe.
    unsafe { __libc_malloc(size) as *mut c_void }
}

pub(super) fn raw_free(block: *mut c_void) {
    // SAFETY: comes from `raw_allocate`.
    unsafe { __libc_free(block as usize) }
}

/// What `operator new` does where there is no C++ library to ask. Out of memory, the program gets null.
pub(super) extern "C" fn allocate(size: usize) -> usize {
    // SAFETY: allocating is always safe.
    allocated(unsafe { __libc_malloc(size.max(1)) }, size, 0)
}

/// As [`allocate`], for types with an alignment of their own.
pub(super) extern "C" fn allocate_aligned(size: usize, alignment: usize) -> usize {
    // SAFETY: allocating is always safe.
    allocated(unsafe { __libc_memalign(alignment, size.max(1)) }, size, 0)
}

/// What `operator delete` does where there is no C++ library to ask.
pub(super) extern "C" fn release(block: usize) {
    freed(block, 0);
    // SAFETY: our caller passes a block of the allocator, or null.
    unsafe { __libc_free(block) };
}

/// The allocator may hold its locks when a signal handler comes.
#[inline]
fn unsafe_in_handler(thread: &ThreadState, pc: usize) {
    if thread.is_in_handler() {
        thread.sync(RecordKind::Misuse, misuse::UNSAFE_CALL, 0, pc as u64);
    }
}

#[inline]
fn allocated(block: usize, size: usize, pc: usize) -> usize {
    if block != 0
        && let Some(thread) = thread::current()
    {
        unsafe_in_handler(thread, pc);
        let sizes = (size as u64, usable(block) as u64);
        thread.allocated(block as u64, sizes, loader::holds(pc), pc as u64);
    }
    block
}

#[inline]
fn freed(block: usize, pc: usize) {
    if block != 0
        && let Some(thread) = thread::current_unless_over()
    {
        unsafe_in_handler(thread, pc);
        thread.freed(block as u64, usable(block) as u64, loader::holds(pc), pc as u64);
    }
}

fn usable(block: usize) -> usize {
    // SAFETY: a block of the allocator that is not free.
    unsafe { libc::malloc_usable_size(block as *mut c_void) }
}

/// `realloc` frees and allocates; if it fails, the block is still there.
fn moved(old: usize, size: usize, pc: usize, real: impl FnOnce() -> usize) -> usize {
    let old_size = if old == 0 { 0 } else { usable(old) };
    if old != 0 {
        touch::<false>(old, old_size.min(size), pc);
        freed(old, pc);
    }
    let new = real();
    if new != 0 {
        allocated(new, size, pc);
        touch::<true>(new, old_size.min(size), pc);
    } else if old != 0 && size != 0 {
        allocated(old, old_size, pc);
    }
    new
}

hook! {
    fn malloc(size: usize; pc) -> usize { allocated(real_or(__libc_malloc, size), size, pc) }
    fn calloc(count: usize, size: usize; pc) -> usize {
        allocated(real_or(__libc_calloc, count, size), count.wrapping_mul(size), pc)
    }
    fn realloc(block: usize, size: usize; pc) -> usize {
        moved(block, size, pc, || real_or(__libc_realloc, block, size))
    }
    fn reallocarray(block: usize, count: usize, size: usize; pc) -> usize {
        match count.checked_mul(size) {
            Some(total) => moved(block, total, pc, || real(block, count, size)),
            None => real(block, count, size),
        }
    }
    fn free(block: usize; pc) {
        freed(block, pc);
        real_or(__libc_free, block)
    }
    /// Gone from glibc; old programs mean `free`, which records it.
    fn cfree(block: usize; pc) {
        // SAFETY: a block of the allocator.
        unsafe { libc::free(block as *mut c_void) }
    }
    fn memalign(alignment: usize, size: usize; pc) -> usize {
        allocated(real_or(__libc_memalign, alignment, size), size, pc)
    }
    fn aligned_alloc(alignment: usize, size: usize; pc) -> usize {
        allocated(real_or(__libc_memalign, alignment, size), size, pc)
    }
    fn posix_memalign(block: *mut usize, alignment: usize, size: usize; pc) -> i32 {
        let result = real(block, alignment, size);
        if result == 0 {
            // SAFETY: written by the call.
            allocated(unsafe { *block }, size, pc);
        }
        result
    }
    fn valloc(size: usize; pc) -> usize { allocated(real(size), size, pc) }
    fn pvalloc(size: usize; pc) -> usize { allocated(real(size), size, pc) }

    fn mmap(address: usize, length: usize, protection: i32, flags: i32, file: i32, offset: i64; pc) -> usize {
        mapped(real(address, length, protection, flags, file, offset), length, pc)
    }
    fn mmap64(address: usize, length: usize, protection: i32, flags: i32, file: i32, offset: i64; pc) -> usize {
        mapped(real(address, length, protection, flags, file, offset), length, pc)
    }
    fn munmap(address: usize, length: usize; pc) -> i32 {
        note_with(RecordKind::Unmap, address, pc, length as u64);
        real(address, length)
    }
    fn mremap(address: usize, old: usize, new: usize, flags: i32, target: usize; pc) -> usize {
        note_with(RecordKind::Unmap, address, pc, old as u64);
        let moved = real(address, old, new, flags, target);
        if moved == FAILED {
            mapped(address, old, pc);
        }
        mapped(moved, new, pc)
    }
}

const FAILED: usize = usize::MAX;

fn mapped(address: usize, length: usize, pc: usize) -> usize {
    if address != FAILED
        && let Some(thread) = thread::current()
    {
        thread.mapped(address as u64, length as u64, pc as u64);
    }
    address
}
