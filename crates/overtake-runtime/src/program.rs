//! Where the instructions of the program itself are: those of the executable, which this library is linked into.

use core::sync::atomic::{AtomicUsize, Ordering};

static START: AtomicUsize = AtomicUsize::new(0);
static LENGTH: AtomicUsize = AtomicUsize::new(0);

/// Whether an instruction belongs to the executable, and not to a shared library.
#[inline(always)]
pub(crate) fn holds(pc: usize) -> bool {
    pc.wrapping_sub(START.load(Ordering::Relaxed)) < LENGTH.load(Ordering::Relaxed)
}

/// Called before anything is recorded.
pub(crate) fn start() {
    // SAFETY: reads what the kernel passed to the process.
    let (table, count) = unsafe { (libc::getauxval(libc::AT_PHDR), libc::getauxval(libc::AT_PHNUM)) };
    if table == 0 {
        return;
    }
    // SAFETY: the kernel says that the executable has so many segments, listed there.
    let segments = unsafe { core::slice::from_raw_parts(table as *const libc::Elf64_Phdr, count as usize) };
    // The list is a segment itself, which says where it was meant to be; a program without it is where it was meant to be.
    let own = segments.iter().find(|segment| segment.p_type == libc::PT_PHDR);
    let moved = own.map_or(0, |own| table.wrapping_sub(own.p_vaddr));
    let code = segments
        .iter()
        .filter(|segment| segment.p_type == libc::PT_LOAD && segment.p_flags & libc::PF_X != 0);
    let (start, end) = code.fold((u64::MAX, 0), |(start, end), segment| {
        (start.min(segment.p_vaddr), end.max(segment.p_vaddr + segment.p_memsz))
    });
    START.store(start.wrapping_add(moved) as usize, Ordering::Relaxed);
    LENGTH.store(end.saturating_sub(start) as usize, Ordering::Relaxed);
}
