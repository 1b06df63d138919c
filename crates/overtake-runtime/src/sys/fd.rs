//! Open files and their operations.

use core::mem::MaybeUninit;

use super::{Errno, filled, largest_file, limit, syscall6};

/// An open file of the runtime. Only the log file stays open between two hooks, because programs rely on which numbers are free.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fd(pub(crate) i32);

impl Fd {
    /// Creates or opens a file. `path` ends in a zero byte.
    pub(crate) fn open(path: &[u8], flags: i32) -> Result<Fd, Errno> {
        debug_assert_eq!(path.last(), Some(&0));
        let flags = flags | libc::O_CLOEXEC | libc::O_NOFOLLOW;
        // SAFETY: the path is zero-terminated and outlives the call.
        let opened = unsafe {
            syscall6(
                libc::SYS_openat,
                [libc::AT_FDCWD as usize, path.as_ptr() as usize, flags as usize, 0o600, 0, 0],
            )
        }?;
        Ok(Fd(opened as i32))
    }

    pub(crate) fn close(self) {
        // SAFETY: closes a descriptor that is ours; nobody else knows it.
        let _ = unsafe { syscall6(libc::SYS_close, [self.0 as usize, 0, 0, 0, 0, 0]) };
    }

    /// Reserves room in the file, so that writing to a mapping of it cannot fail later.
    pub(crate) fn allocate(self, offset: u64, bytes: usize) -> Result<(), Errno> {
        if offset + bytes as u64 > largest_file() {
            return Err(Errno(libc::EFBIG)); // asking the kernel would raise SIGXFSZ
        }
        // SAFETY: changes the size of a file that is ours.
        let reserved =
            unsafe { syscall6(libc::SYS_fallocate, [self.0 as usize, 0, offset as usize, bytes, 0, 0]) };
        match reserved {
            // Not every file system can reserve room; writing zeros reserves it, too.
            Err(Errno(libc::EOPNOTSUPP)) => self.write_zeros(offset, bytes),
            other => other.map(|_| ()),
        }
    }

    fn write_zeros(self, offset: u64, bytes: usize) -> Result<(), Errno> {
        static ZEROS: [u8; 4096] = [0; 4096];
        let mut done = 0;
        while done < bytes {
            let count = ZEROS.len().min(bytes - done);
            let from = ZEROS.as_ptr() as usize;
            // SAFETY: writes to a file that is ours from memory that stays.
            done += unsafe {
                syscall6(libc::SYS_pwrite64, [self.0 as usize, from, count, offset as usize + done, 0, 0])
            }?;
        }
        Ok(())
    }

    /// Writes memory to a place in the file.
    ///
    /// # Safety
    /// `from` must point to at least `bytes` bytes.
    pub(crate) unsafe fn write_at(self, from: *const u8, bytes: usize, offset: u64) -> Result<(), Errno> {
        if offset + bytes as u64 > largest_file() {
            return Err(Errno(libc::EFBIG)); // asking the kernel would raise SIGXFSZ
        }
        let mut done = 0;
        while done < bytes {
            let from = from as usize + done;
            // SAFETY: the caller's promise.
            let written = unsafe {
                syscall6(
                    libc::SYS_pwrite64,
                    [self.0 as usize, from, bytes - done, offset as usize + done, 0, 0],
                )
            };
            match written {
                Ok(0) => return Err(Errno(libc::ENOSPC)),
                Ok(count) => done += count,
                Err(Errno(libc::EINTR)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Bytes that are free on the file system of the file; `None` if it does not tell.
    pub(crate) fn free_bytes(self) -> Option<u64> {
        let mut facts = MaybeUninit::<libc::statfs>::uninit();
        // SAFETY: the kernel fills the facts.
        unsafe {
            syscall6(libc::SYS_fstatfs, [self.0 as usize, facts.as_mut_ptr() as usize, 0, 0, 0, 0]).ok()?;
            let facts = facts.assume_init_ref();
            Some(facts.f_bavail.saturating_mul(facts.f_bsize as u64)).filter(|free| *free > 0)
        }
    }

    /// Frees the room of a range. The range reads as zeros afterwards.
    pub(crate) fn punch(self, offset: u64, bytes: usize) {
        let mode = (libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE) as usize;
        // SAFETY: changes a file that is ours.
        let _ =
            unsafe { syscall6(libc::SYS_fallocate, [self.0 as usize, mode, offset as usize, bytes, 0, 0]) };
    }

    /// Which file it is; `None` if it is closed.
    pub(crate) fn identity(self) -> Option<Identity> {
        let mut facts = MaybeUninit::<libc::stat>::uninit();
        // SAFETY: the kernel fills the facts.
        unsafe {
            syscall6(libc::SYS_fstat, [self.0 as usize, facts.as_mut_ptr() as usize, 0, 0, 0, 0]).ok()?;
            let facts = facts.assume_init_ref();
            let is_file = facts.st_mode & libc::S_IFMT == libc::S_IFREG;
            let is_nothing =
                facts.st_mode & libc::S_IFMT == libc::S_IFCHR && facts.st_rdev == libc::makedev(1, 3);
            Some(Identity { device: facts.st_dev, inode: facts.st_ino, is_file, is_nothing })
        }
    }

    /// Another descriptor for the same file, closed by `exec`, with a number that programs do not use.
    pub(crate) fn duplicate_high(self) -> Option<Fd> {
        /// Not higher, because the kernel keeps a table up to the highest number.
        const HIGHEST: u64 = 1 << 10;
        /// Other descriptors may have the highest numbers already.
        const ROOM: u64 = 16;
        let least = limit(libc::RLIMIT_NOFILE)?.min(HIGHEST).saturating_sub(ROOM);
        let command = libc::F_DUPFD_CLOEXEC as usize;
        // SAFETY: makes a descriptor that nobody else knows.
        let made = unsafe { syscall6(libc::SYS_fcntl, [self.0 as usize, command, least as usize, 0, 0, 0]) };
        made.ok().map(|made| Fd(made as i32))
    }

    /// Fills `buffer` from a place in the file. False if the file ends before.
    pub(crate) fn read_at(self, buffer: &mut [u8], offset: u64) -> bool {
        let at = buffer.as_mut_ptr() as usize;
        // SAFETY: the buffer is exclusively ours for the call.
        let read = unsafe {
            syscall6(libc::SYS_pread64, [self.0 as usize, at, buffer.len(), offset as usize, 0, 0])
        };
        read == Ok(buffer.len())
    }

    /// Gives this file the number of another descriptor.
    pub(crate) fn replace(self, other: Fd) {
        // SAFETY: changes descriptors that nobody else uses.
        let _ = unsafe { syscall6(libc::SYS_dup2, [self.0 as usize, other.0 as usize, 0, 0, 0, 0]) };
    }

    /// Reads into `buffer`. Returns how many bytes were filled, 0 at the end.
    pub(crate) fn read_into(self, buffer: &mut [MaybeUninit<u8>]) -> Result<usize, Errno> {
        // SAFETY: the buffer is exclusively ours for the call.
        unsafe {
            syscall6(libc::SYS_read, [self.0 as usize, buffer.as_mut_ptr() as usize, buffer.len(), 0, 0, 0])
        }
    }

    /// Reads as much as fits into `buffer`.
    pub(crate) fn read(self, buffer: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
        let count = self.read_into(buffer).ok()?;
        filled(buffer, count)
    }

    /// Entries of a directory in the kernel's form (`getdents64`); none at the end.
    pub(crate) fn entries(self, buffer: &mut [MaybeUninit<u8>]) -> Option<&[u8]> {
        let at = buffer.as_mut_ptr() as usize;
        // SAFETY: the buffer is exclusively ours for the call.
        let count =
            unsafe { syscall6(libc::SYS_getdents64, [self.0 as usize, at, buffer.len(), 0, 0, 0]) }.ok()?;
        filled(buffer, count)
    }

    /// Writes all of `bytes`, or as much as possible.
    pub(crate) fn write(self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            // SAFETY: the bytes outlive the call.
            let written = unsafe {
                syscall6(libc::SYS_write, [self.0 as usize, bytes.as_ptr() as usize, bytes.len(), 0, 0, 0])
            };
            match written {
                Ok(0) => return,
                Ok(count) => bytes = bytes.get(count..).unwrap_or_default(),
                Err(Errno(libc::EINTR)) => {}
                Err(_) => return,
            }
        }
    }
}

/// Which file a descriptor stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Identity {
    device: u64,
    inode: u64,
    /// A file on a disk, not a terminal, a pipe or the like.
    pub(crate) is_file: bool,
    /// `/dev/null`.
    pub(crate) is_nothing: bool,
}

impl Identity {
    /// A number that differs between files that are open at the same time.
    pub(crate) fn as_number(self) -> u64 {
        self.device.rotate_left(32) ^ self.inode
    }
}
