//! Limits that the program sets for itself. A limit for the size of files also limits the log.

use super::real::hook;
use super::touch;
use crate::recorder::store;

const FILE_SIZE: i32 = libc::RLIMIT_FSIZE as i32;

/// The program is about to set a limit; `limit` is null if it only asks for the current one.
fn about_to_limit(what: i32, limit: usize, pc: usize) {
    if limit == 0 {
        return;
    }
    touch::<false>(limit, size_of::<libc::rlimit>(), pc);
    // SAFETY: the program passes a limit for the kernel to read.
    let most = unsafe { (*(limit as *const libc::rlimit)).rlim_cur };
    if what == FILE_SIZE && most != libc::RLIM_INFINITY {
        store::prepare_reserve();
    }
}

hook! {
    fn setrlimit(what: i32, limit: usize; pc) -> i32 {
        about_to_limit(what, limit, pc);
        real(what, limit)
    }
    fn setrlimit64(what: i32, limit: usize; pc) -> i32 {
        about_to_limit(what, limit, pc);
        real(what, limit)
    }
    fn prlimit(process: i32, what: i32, new: usize, old: usize; pc) -> i32 {
        about_to_limit(what, new, pc);
        real(process, what, new, old)
    }
    fn prlimit64(process: i32, what: i32, new: usize, old: usize; pc) -> i32 {
        about_to_limit(what, new, pc);
        real(process, what, new, old)
    }
}
