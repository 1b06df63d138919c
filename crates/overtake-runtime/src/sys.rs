//! System calls without libc: they leave `errno` alone and cannot reach a function that we interpose.

use core::arch::asm;

/// What a failed system call returned, a positive error number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Errno(pub(crate) i32);

/// # Safety
/// The call must be sound with these arguments.
#[inline]
unsafe fn syscall6(number: i64, args: [usize; 6]) -> Result<usize, Errno> {
    let result: isize;
    // SAFETY: the kernel's calling convention; rcx and r11 are clobbered, memory may change.
    unsafe {
        asm!(
            "syscall",
            inlateout("rax") number as isize => result,
            in("rdi") args[0], in("rsi") args[1], in("rdx") args[2],
            in("r10") args[3], in("r8") args[4], in("r9") args[5],
            lateout("rcx") _, lateout("r11") _,
            options(nostack),
        );
    }
    if (-4095..0).contains(&result) { Err(Errno(-result as i32)) } else { Ok(result as usize) }
}

/// Private zeroed memory.
pub(crate) fn map_private(bytes: usize) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE) as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    unsafe { syscall6(libc::SYS_mmap, [0, bytes, protection, flags, usize::MAX, 0]) }.map(|at| at as *mut u8)
}

/// A range of a file, shared with it.
pub(crate) fn map_file(file: Fd, offset: u64, bytes: usize) -> Result<*mut u8, Errno> {
    let protection = (libc::PROT_READ | libc::PROT_WRITE) as usize;
    let flags = (libc::MAP_SHARED | libc::MAP_POPULATE) as usize;
    // SAFETY: a new mapping at an address of the kernel's choice touches nothing that exists.
    unsafe { syscall6(libc::SYS_mmap, [0, bytes, protection, flags, file.0 as usize, offset as usize]) }
        .map(|at| at as *mut u8)
}

/// # Safety
/// Nothing may use the range afterwards.
pub(crate) unsafe fn unmap(at: *mut u8, bytes: usize) {
    // SAFETY: the caller's promise. Failure leaves the mapping in place, which is harmless.
    let _ = unsafe { syscall6(libc::SYS_munmap, [at as usize, bytes, 0, 0, 0, 0]) };
}

/// Makes a private mapping larger, moving it if need be.
///
/// # Safety
/// `at` must be a private mapping of `old` bytes that only the caller knows.
pub(crate) unsafe fn remap(at: *mut u8, old: usize, new: usize) -> Result<*mut u8, Errno> {
    let flags = libc::MREMAP_MAYMOVE as usize;
    // SAFETY: the caller's promise.
    unsafe { syscall6(libc::SYS_mremap, [at as usize, old, new, flags, 0, 0]) }.map(|at| at as *mut u8)
}

/// An open file of the runtime's own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fd(pub(crate) i32);

impl Fd {
    pub(crate) const NONE: Fd = Fd(-1);

    /// Creates or opens a file. `path` ends in a zero byte.
    pub(crate) fn open(path: &[u8], flags: i32) -> Result<Fd, Errno> {
        debug_assert_eq!(path.last(), Some(&0));
        let flags = flags | libc::O_CLOEXEC;
        // SAFETY: the path is zero-terminated and outlives the call.
        let opened = unsafe {
            syscall6(
                libc::SYS_openat,
                [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, 0o600, 0, 0],
            )
        }?;
        Ok(Fd(opened as i32).out_of_the_way())
    }

    /// Moves a descriptor to a high number: programs and tests expect the low ones to be free, and some close them.
    fn out_of_the_way(self) -> Fd {
        // SAFETY: duplicates a descriptor that is ours.
        let high = unsafe {
            syscall6(libc::SYS_fcntl, [self.0 as usize, libc::F_DUPFD_CLOEXEC as usize, 512, 0, 0, 0])
        };
        match high {
            Ok(high) => {
                self.close();
                Fd(high as i32)
            }
            Err(_) => self,
        }
    }

    pub(crate) fn close(self) {
        // SAFETY: closes a descriptor that is ours; nobody else knows it.
        let _ = unsafe { syscall6(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }

    /// Reserves room in the file, so that writing to a mapping of it cannot fail later.
    pub(crate) fn allocate(self, offset: u64, bytes: usize) -> Result<(), Errno> {
        // SAFETY: changes the size of a file that is ours.
        let reserved =
            unsafe { syscall6(libc::SYS_fallocate, [self.0 as usize, 0, offset as usize, bytes, 0, 0]) };
        match reserved {
            // Not every file system can reserve; then a full disk ends in SIGBUS, which the log survives.
            Err(Errno(libc::EOPNOTSUPP)) => {
                let size = offset as usize + bytes;
                // SAFETY: as above.
                unsafe { syscall6(libc::SYS_ftruncate, [self.0 as usize, size, 0, 0, 0, 0]) }.map(|_| ())
            }
            other => other.map(|_| ()),
        }
    }

    /// Gives the room of a range back; the range reads as zeros afterwards.
    pub(crate) fn punch(self, offset: u64, bytes: usize) {
        let mode = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as usize;
        // SAFETY: changes a file that is ours.
        let _ =
            unsafe { syscall6(libc::SYS_fallocate, [self.0 as usize, mode, offset as usize, bytes, 0, 0]) };
    }

    /// Reads into `buffer`; 0 at the end.
    pub(crate) fn read(self, buffer: &mut [u8]) -> Result<usize, Errno> {
        // SAFETY: the buffer is exclusively ours for the call.
        unsafe {
            syscall6(libc::SYS_read, [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0])
        }
    }

    /// Writes all of `bytes`, or as much as there is room for.
    pub(crate) fn write(self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // SAFETY: the bytes outlive the call.
            let written = unsafe {
                syscall6(libc::SYS_write, [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0])
            };
            match written {
                Ok(0) => return,
                Ok(count) => bytes = &bytes[count.min(bytes.len())..],
                Err(Errno(libc::EINTR)) => {}
                Err(_) => return,
            }
        }
    }
}

/// Makes a directory; it may exist already. `path` ends in a zero byte.
pub(crate) fn make_directory(path: &[u8]) -> Result<(), Errno> {
    debug_assert_eq!(path.last(), Some(&0));
    // SAFETY: the path is zero-terminated and outlives the call.
    match unsafe { syscall6(libc::SYS_mkdir, [path.as_ptr() as usize, 0o700, 0, 0, 0, 0]) } {
        Err(Errno(libc::EEXIST)) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}

/// The process id, past libc's caches.
pub(crate) fn process_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_getpid, [0; 6]) }.unwrap_or(0) as u32
}

/// The parent's process id.
pub(crate) fn parent_process_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_getppid, [0; 6]) }.unwrap_or(0) as u32
}

/// The kernel's id of this thread.
pub(crate) fn kernel_thread_id() -> u32 {
    // SAFETY: touches nothing.
    unsafe { syscall6(libc::SYS_gettid, [0; 6]) }.unwrap_or(0) as u32
}

/// Lets another thread run.
pub(crate) fn give_way() {
    // SAFETY: touches nothing.
    let _ = unsafe { syscall6(libc::SYS_sched_yield, [0; 6]) };
}
