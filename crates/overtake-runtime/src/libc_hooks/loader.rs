//! The dynamic loader. It allocates memory in one thread that others use, and frees it in a third: thread-local storage is freed
//! by the thread that joins its user, or that gets its stack; the name of a module, which `dl_iterate_phdr` shows to every thread, by the
//! thread that unloads the module. The loader orders all this by locks that are not recorded, so what it allocates and frees is not
//! compared with accesses. The times at which a callback of `dl_iterate_phdr` begins and ends are recorded, so that what it
//! reads is not taken for a later block at the same address.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicUsize, Ordering};

use overtake_rawlog::RecordKind;

use super::note;
use super::real::{Real, hook};

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

/// What `dl_iterate_phdr` calls for each module.
type Callback = unsafe extern "C" fn(*mut libc::dl_phdr_info, usize, *mut c_void) -> c_int;

/// The callback of the program, its argument, and who asked for it.
struct Visit {
    callback: Callback,
    data: *mut c_void,
    pc: usize,
}

/// Calls the program's callback.
unsafe extern "C" fn visit(info: *mut libc::dl_phdr_info, size: usize, visit: *mut c_void) -> c_int {
    // SAFETY: the hook below passes it.
    let Visit { callback, data, pc } = unsafe { &*visit.cast_const().cast::<Visit>() };
    note(RecordKind::Moment, 0, 0, *pc);
    // SAFETY: the program asked for this call.
    let result = unsafe { callback(info, size, *data) };
    note(RecordKind::Moment, 0, 0, *pc);
    result
}

/// Calls libc's function, which is not recorded.
///
/// # Safety
/// The callback must accept the data.
pub(crate) unsafe fn for_each_module(callback: Callback, data: *mut c_void) -> c_int {
    type ForEach = unsafe extern "C" fn(Callback, *mut c_void) -> c_int;
    #[used]
    #[unsafe(link_section = "overtake_real")]
    static REAL: Real = Real::new("dl_iterate_phdr\0");
    // SAFETY: the type is that of libc's function of this name, and our caller answers for the arguments.
    unsafe { core::mem::transmute::<*mut c_void, ForEach>(REAL.address())(callback, data) }
}

hook! {
    fn dl_iterate_phdr(callback: Callback, data: *mut c_void; pc) -> i32 {
        let mut own = Visit { callback, data, pc };
        real(visit, (&raw mut own).cast())
    }
}
