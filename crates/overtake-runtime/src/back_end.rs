//! The seam between the hooks and the back ends.
//!
//! Hooks (`abi`, `libc_hooks`, `process`) notice what the program does and call the [`ThreadState`] of the thread that did it. A
//! *back end* handles the call. It is chosen when the process starts: `OVERTAKE_BACK_END` names one of
//! [`BACK_ENDS`]; without it, the recorder (`recorder`) handles everything.
//!
//! **How to add a back end.** It is a module with a type that implements [`BackEnd`], and a row in [`BACK_ENDS`]. No hook
//! changes. Every plain access is passed to [`BackEnd::access`], everything else to [`BackEnd::operation`], in the terms of the raw log
//! ([`RecordKind`]). `ThreadStart` is the first operation of a thread and `ThreadEnd` the last; in a child process after `fork` the only
//! thread starts again. Operations that the program asked to ignore are not passed on. The rules of `lib.rs` hold: no
//! allocation, no lock that a signal handler could need, no libc function that we interpose.
//!
//! **Why the recorder is not a row.** It is called directly, so that the choice costs nothing: the assembly of
//! `abi::access` works on its tables, and each thread checks whether its recorder is muted, which it must check anyway because
//! programs can ask to ignore operations. Under another back end all recorders are muted and their tables stay empty. So every
//! access takes the slow path, and what is muted goes to the back end unless the program asked to ignore it. A back end
//! that records as well calls [`ThreadState::recorder`] itself.

use core::sync::atomic::{AtomicUsize, Ordering};

use overtake_rawlog::RecordKind;

use crate::gates::Gates;
use crate::silent::Silent;
use crate::thread::ThreadState;

/// A plain access.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Access {
    pub(crate) address: usize,
    pub(crate) length: usize,
    pub(crate) is_write: bool,
    /// The program counter after the access.
    pub(crate) pc: usize,
}

/// Any other operation, in the terms of the raw log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: RecordKind,
    pub(crate) extra: u8,
    /// The lock, the object, the block of memory, or the number of a thread.
    pub(crate) object: u64,
    pub(crate) pc: u64,
    /// A further number, for kinds that have one; else 0.
    pub(crate) more: u64,
}

impl Operation {
    /// A lock is acquired or released.
    pub(crate) fn of_lock(kind: RecordKind, lock: u64, pc: u64) -> Operation {
        Operation { kind, extra: 0, object: lock, pc, more: 0 }
    }
}

/// How a thread waits for the lock that it is about to acquire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    AsUsual,
    /// It continues as if it held the lock.
    NotAtAll,
}

/// A back end that replaces the recorder.
pub(crate) trait BackEnd: Sync {
    /// Its name in `OVERTAKE_BACK_END`.
    fn name(&self) -> &'static [u8];

    /// The process starts; there is one thread.
    fn start(&self) {}

    /// The thread is about to wait for a lock or to make an atomic access; [`operation`](Self::operation) follows. A compare-exchange,
    /// which may turn out to be a load, is announced as a load. Only for a lock may the answer be [`Wait::NotAtAll`].
    fn before(&self, _thread: &ThreadState, _operation: Operation) -> Wait {
        Wait::AsUsual
    }

    /// Whether the thread continued without this lock and so must not release it. Called once for each release.
    fn goes_without(&self, _thread: &ThreadState, _lock: u64) -> bool {
        false
    }

    /// A module is about to be loaded.
    fn expect_modules(&self) {}

    /// The thread is about to access memory.
    fn access(&self, thread: &ThreadState, access: Access);

    /// The thread did something else. As with the records of the same kinds, a release or post is about to happen, an acquire or wait has
    /// happened.
    fn operation(&self, thread: &ThreadState, operation: Operation);
}

/// All back ends except the recorder.
static BACK_ENDS: &[&dyn BackEnd] = &[&Gates, &Silent];

/// Number of the chosen back end in [`BACK_ENDS`], plus one; 0 is the recorder.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// Chooses a back end by name, once, before there are threads. False if no back end has this name: the recorder stays.
pub(crate) fn choose(name: &[u8]) -> bool {
    let found = BACK_ENDS.iter().position(|back_end| back_end.name() == name);
    CHOSEN.store(found.map_or(0, |number| number + 1), Ordering::Relaxed);
    found.is_some()
}

/// The back end that replaces the recorder; `None` if the recorder is in use.
pub(crate) fn other() -> Option<&'static dyn BackEnd> {
    let number = CHOSEN.load(Ordering::Relaxed).checked_sub(1)?;
    BACK_ENDS.get(number).copied()
}
