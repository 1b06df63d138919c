//! The dynamic loader. It allocates thread-local storage in the thread that uses it, and may free it in another thread: the
//! one that joins the thread, or that gets its stack. libc orders the two by locks that are not recorded, so what the loader frees is
//! not compared with accesses.

use core::sync::atomic::{AtomicUsize, Ordering};

/// Where the loader is mapped; zeros if there is none, as in a static program.
static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Whether the instruction at an address belongs to the loader.
#[inline]
pub(super) fn holds(pc: usize) -> bool {
    pc.wrapping_sub(START.load(Ordering::Relaxed)) < LENGTH.load(Ordering::Relaxed)
}

pub(super) fn start() {
    // SAFETY: reads what the kernel passed to the process.
    let base = unsafe { libc::getauxval(libc::AT_BASE) } as usize;
    if base != 0 {
        // SAFETY: the kernel mapped the loader there.
        let length = unsafe { length_at(base) };
        START.store(base, Ordering::Relaxed);
        LENGTH.store(length, Ordering::Relaxed);
    }
}

/// How many bytes the module at `base` takes: up to the end of its last segment.
///
/// # Safety
/// A module must be mapped there.
unsafe fn length_at(base: usize) -> usize {
    let header = base as *const libc::Elf64_Ehdr;
    // SAFETY: a module starts with its header, which says where its segments are listed.
    unsafe {
        let segments = (base + (*header).e_phoff as usize) as *const libc::Elf64_Phdr;
        let mut length = 0;
        for number in 0..usize::from((*header).e_phnum) {
            let segment = &*segments.add(number);
            if segment.p_type == libc::PT_LOAD {
                length = length.max((segment.p_vaddr + segment.p_memsz) as usize);
            }
        }
        length
    }
}
