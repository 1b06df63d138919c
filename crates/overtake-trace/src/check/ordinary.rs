//! Ordinary events: accesses, acquiring a free lock, and releasing a lock that was acquired once.
//!
//! Nearly all events of a trace are ordinary, and processors cannot predict which operation comes next, so that a jump per
//! operation would cost more than all the rest. Here every operation does the same: it compares a word with what it expects and
//! replaces it. For a lock the word is its holder; all other operations use one word that never changes.

use crate::event::{Event, Op};
use crate::id::{Id, LockId};

/// Nobody holds the lock.
const FREE: u32 = u32::MAX;
/// One word is not enough: see the full state of the lock. No thread has this number or the one above.
const INVOLVED: u32 = u32::MAX - 1;

/// The holder of a lock, as far as one word can say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Holder {
    Nobody,
    /// This thread, having acquired the lock once.
    Thread(u32),
    /// One word cannot say it: see the full state of the lock.
    Involved,
}

/// The words, and what operations do with them.
#[derive(Debug)]
pub(super) struct Ordinary {
    /// The word of operations without lock, then one for each lock.
    words: Vec<u32>,
    /// The first value of each lock's word.
    unknown: u32,
    /// The locks whose words are known, if words start as unknown.
    known: Vec<LockId>,
    steps: [Step; Op::ALL.len()],
}

/// Which word an operation looks at, and what it expects and leaves there: a constant, or its thread.
#[derive(Clone, Copy, Debug)]
struct Step {
    /// All ones for operations on locks, else zero.
    uses_lock: u32,
    expects_thread: u32,
    expects: u32,
    leaves_thread: u32,
    leaves: u32,
}

const YES: u32 = u32::MAX;
const NO: u32 = 0;

impl Step {
    const NOTHING: Step =
        Step { uses_lock: NO, expects_thread: NO, expects: 0, leaves_thread: NO, leaves: 0 };
    const ACQUIRE: Step =
        Step { uses_lock: YES, expects_thread: NO, expects: FREE, leaves_thread: YES, leaves: 0 };
    const RELEASE: Step =
        Step { uses_lock: YES, expects_thread: YES, expects: 0, leaves_thread: NO, leaves: FREE };
    /// Expects a value that the word never has, so that the operation is never ordinary.
    const NEVER: Step = Step { uses_lock: NO, expects_thread: NO, expects: 1, leaves_thread: NO, leaves: 0 };

    fn of(op: Op) -> Step {
        match op {
            Op::Acquire => Step::ACQUIRE,
            Op::Release => Step::RELEASE,
            Op::AcquireShared | Op::ReleaseShared | Op::Fork | Op::Join | Op::Alloc | Op::Free => Step::NEVER,
            Op::Misuse | Op::Gap => Step::NEVER,
            _ => Step::NOTHING,
        }
    }
}

impl Ordinary {
    /// All locks are free.
    pub(super) fn new() -> Ordinary {
        Ordinary { words: vec![0], unknown: FREE, known: Vec::new(), steps: Op::ALL.map(Step::of) }
    }

    /// Nothing is known of any lock, so that the first operation on each is not ordinary.
    pub(super) fn mid_trace() -> Ordinary {
        Ordinary { unknown: INVOLVED, ..Ordinary::new() }
    }

    /// Forgets everything. Mid-trace this costs O(locks that became known), so that windows can be short where locks are
    /// many.
    pub(super) fn begin_window(&mut self) {
        if self.unknown == FREE {
            self.words.truncate(1);
        }
        for lock in self.known.drain(..) {
            self.words[lock.index() + 1] = self.unknown;
        }
        self.leave_accesses_out(false);
    }

    /// Whether accesses are left out of the ordinary events from now on, because blocks were renamed.
    pub(super) fn leave_accesses_out(&mut self, out: bool) {
        for op in [Op::Read, Op::Write, Op::Load, Op::Store, Op::Rmw] {
            self.steps[op as usize] = if out { Step::NEVER } else { Step::of(op) };
        }
    }

    /// From now on no operation on a lock is ordinary.
    #[cfg(test)]
    pub(super) fn leave_locks_out(&mut self) {
        (self.steps[Op::Acquire as usize], self.steps[Op::Release as usize]) = (Step::NEVER, Step::NEVER);
    }

    pub(super) fn reserve_locks(&mut self, locks: usize) {
        if locks + 1 > self.words.len() {
            self.words.resize(locks + 1, self.unknown);
        }
    }

    /// Handles the event if it is ordinary. Else returns false and changes nothing.
    #[inline(always)]
    pub(super) fn take(&mut self, event: &Event) -> bool {
        let step = self.steps[event.op() as usize];
        let thread = event.thread().0;
        let word = &mut self.words[(event.operand().wrapping_add(1) & step.uses_lock) as usize];
        let is_ordinary = *word == (thread & step.expects_thread) | step.expects;
        if is_ordinary {
            *word = (thread & step.leaves_thread) | step.leaves;
        }
        is_ordinary
    }

    /// The locks that are not free.
    pub(super) fn locks_in_use(&self) -> impl Iterator<Item = LockId> + '_ {
        let locks = self.words[1..].iter().enumerate();
        locks.filter(|(_, word)| **word != FREE).map(|(lock, _)| LockId::from_index(lock))
    }

    pub(super) fn holder(&self, lock: LockId) -> Holder {
        match self.words[lock.index() + 1] {
            FREE => Holder::Nobody,
            INVOLVED => Holder::Involved,
            thread => Holder::Thread(thread),
        }
    }

    /// The word of a lock is about to be written for the first time in a window.
    pub(super) fn note_known(&mut self, lock: LockId) {
        if self.unknown == INVOLVED {
            self.known.push(lock);
        }
    }

    pub(super) fn set_holder(&mut self, lock: LockId, holder: Holder) {
        self.words[lock.index() + 1] = match holder {
            Holder::Nobody => FREE,
            Holder::Involved => INVOLVED,
            Holder::Thread(thread) => thread,
        };
    }
}
