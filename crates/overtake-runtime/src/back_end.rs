//! The seam between the hooks and what stands behind them.
//!
//! Hooks (`abi`, `libc_hooks`, `process`) notice what the program does and tell the [`ThreadState`] of the thread that did it. What
//! becomes of that is the business of a *back end*, which is chosen when the process starts: `OVERTAKE_BACK_END` names one of
//! [`BACK_ENDS`]; without it, the recorder (`recorder`) takes everything.
//!
//! **How a second back end plugs in.** It is a module with a type that implements [`BackEnd`], and a row in [`BACK_ENDS`]. No hook
//! changes. Every plain access comes to [`BackEnd::access`], everything else to [`BackEnd::operation`], in the words of the raw log
//! ([`RecordKind`]): `ThreadStart` is the first operation of a thread and `ThreadEnd` the last; in a child process after `fork` the only
//! thread starts once more. Operations that the program asked to ignore do not arrive. The rules of `lib.rs` hold: no
//! allocation, no lock that a signal handler could want, no libc function that we interpose.
//!
//! **Why the recorder is not a row like the others.** It is called directly, so that choosing costs nothing: the assembly of
//! `abi::access` works on its tables, and each thread asks the recorder whether it is muted, which it had to ask anyway because
//! programs can ask to ignore operations. Under another back end all recorders are muted and their tables stay empty. So every
//! access falls through to the slow path, and what is muted goes to the back end unless the program wants it ignored. A back end
//! that only adds to recording (one that holds threads back at certain accesses, say) calls [`ThreadState::recorder`] itself.

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

/// Anything else, in the words of the raw log.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Operation {
    pub(crate) kind: RecordKind,
    pub(crate) extra: u8,
    /// The lock, the object, the block of memory, the number of a thread.
    pub(crate) object: u64,
    pub(crate) pc: u64,
    /// Of kinds that have one more number; else 0.
    pub(crate) more: u64,
}

impl Operation {
    /// A lock is taken or given back.
    pub(crate) fn of_lock(kind: RecordKind, lock: u64, pc: u64) -> Operation {
        Operation { kind, extra: 0, object: lock, pc, more: 0 }
    }
}

/// How a thread waits for what it is about to take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wait {
    AsUsual,
    /// It goes on as if it had it.
    NotAtAll,
}

/// What takes the place of the recorder.
pub(crate) trait BackEnd: Sync {
    /// What `OVERTAKE_BACK_END` calls it.
    fn name(&self) -> &'static [u8];

    /// The process starts; there is one thread.
    fn start(&self) {}

    /// The thread is about to wait for a lock or to make an atomic access; [`operation`](Self::operation) follows. Of an access that may turn out
    /// to be a load (compare-exchange) it is said that it is one. Only a mutex can be gone without.
    fn before(&self, _thread: &ThreadState, _operation: Operation) -> Wait {
        Wait::AsUsual
    }

    /// Whether the thread went on without this mutex and so must not give it back. Asked once for each time.
    fn goes_without(&self, _thread: &ThreadState, _mutex: u64) -> bool {
        false
    }

    /// The thread is about to access memory.
    fn access(&self, thread: &ThreadState, access: Access);

    /// The thread did something else. What it announces has not happened yet, and what it took is already taken, as with the
    /// records of the same kinds.
    fn operation(&self, thread: &ThreadState, operation: Operation);
}

/// All but the recorder.
static BACK_ENDS: &[&dyn BackEnd] = &[&Gates, &Silent];

/// Number of the chosen one in [`BACK_ENDS`], plus one; 0 is the recorder.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// Chooses by name, once, before there are threads. False if there is none of this name: the recorder stays.
pub(crate) fn choose(name: &[u8]) -> bool {
    let found = BACK_ENDS.iter().position(|back_end| back_end.name() == name);
    CHOSEN.store(found.map_or(0, |number| number + 1), Ordering::Relaxed);
    found.is_some()
}

/// The back end that takes the place of the recorder; `None` if nothing does.
pub(crate) fn other() -> Option<&'static dyn BackEnd> {
    let number = CHOSEN.load(Ordering::Relaxed).checked_sub(1)?;
    BACK_ENDS.get(number).copied()
}
