//! Statistics of a trace: its parameters, how often each operation occurs, and what its threads share.
//!
//! [`Statistics`] takes checked blocks, or the blocks of a reader as they are. For the latter, it treats locks as the checker
//! would repair them (see [`Parameters`]); events that the checker would drop are counted under their own operation, not as
//! skipped.
//!
//! **State.** O(T + L + V): an owner and two flags for each variable and lock, a counter for each thread.

#[cfg(test)]
mod tests;

use crate::check::Checked;
use crate::event::{Event, Op, OperandKind};
use crate::id::{EventIndex, Id, IdVec, LockId, ThreadId, VarId};
use crate::parameters::{Holdings, Parameters};
use crate::symbols::Symbols;

/// Accumulates the statistics of a trace, block by block.
#[derive(Clone, Default, Debug)]
pub struct Statistics {
    events: u64,
    inserted: u64,
    counts: [u64; Op::ALL.len()],
    threads: IdVec<ThreadId, u64>,
    variables: IdVec<VarId, Usage>,
    locks: IdVec<LockId, Usage>,
    holdings: Holdings<SectionStart>,
    longest: Option<CriticalSection>,
}

/// Who uses a variable or a lock, and whether it is written.
#[derive(Clone, Copy, Default, Debug)]
struct Usage {
    owner: Option<ThreadId>,
    is_shared: bool,
    is_written: bool,
}

impl Usage {
    #[inline]
    fn note(&mut self, thread: ThreadId, writes: bool) {
        self.is_shared |= *self.owner.get_or_insert(thread) != thread;
        self.is_written |= writes;
    }
}

#[derive(Clone, Copy, Debug)]
struct SectionStart {
    acquire: EventIndex,
    /// How many events the thread had done, the acquire included.
    thread_events: u64,
}

/// A critical section that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CriticalSection {
    /// The lock.
    pub lock: LockId,
    /// The thread that held it.
    pub thread: ThreadId,
    /// Index of the acquire.
    pub acquire: EventIndex,
    /// Index of the release.
    pub release: EventIndex,
    /// Events of the thread between the two.
    pub length: u64,
}

/// What [`Statistics`] found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TraceSummary {
    /// N, T, L, V, A and h.
    pub parameters: Parameters,
    /// Events of each operation, by its code. They add up to N and `inserted`.
    pub operations: [u64; Op::ALL.len()],
    /// Events that the checker inserted; they are not part of N.
    pub inserted: u64,
    /// How variables are used.
    pub variables: VariableUsage,
    /// How locks are used.
    pub locks: LockUsage,
    /// Locks held when the trace ends, counted once for each holder.
    pub held_at_end: u64,
    /// The critical section with most events of its thread in it; the first of several.
    pub longest_section: Option<CriticalSection>,
    /// Arrays and heap blocks.
    pub arrays: u64,
    /// Arrays among them that are allocated or freed as a whole.
    pub blocks: u64,
    /// Synchronisation objects.
    pub objects: u64,
    /// Source locations.
    pub locations: u64,
}

/// How the variables of a trace are used. The four add up to V.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct VariableUsage {
    /// Accessed by one thread only.
    pub private: u64,
    /// Accessed by several threads, none of which writes.
    pub read_only: u64,
    /// Accessed by several threads, and written.
    pub shared: u64,
    /// Named but not accessed, such as a block that is allocated and never freed.
    pub unused: u64,
}

/// How the locks of a trace are used. The three add up to L.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct LockUsage {
    /// Acquired by one thread only.
    pub private: u64,
    /// Acquired by several threads.
    pub shared: u64,
    /// Named but not acquired.
    pub unused: u64,
}

impl TraceSummary {
    /// How many events do `op`.
    pub fn count(&self, op: Op) -> u64 {
        self.operations[op as usize]
    }
}

impl Statistics {
    /// Nothing seen yet.
    pub fn new() -> Statistics {
        Statistics::default()
    }

    /// Adds a checked block.
    pub fn add_checked(&mut self, checked: &Checked<'_>) {
        let before: u64 = self.counts.iter().sum();
        for run in checked.runs() {
            self.note(run.first, run.events);
        }
        let after: u64 = self.counts.iter().sum();
        self.events += checked.len() as u64;
        self.inserted += after - before - checked.len() as u64;
    }

    /// Adds events as a reader hands them out. Their ids must be within their tables.
    pub fn add_events(&mut self, first: EventIndex, events: &[Event]) {
        self.note(first, events);
        self.events += events.len() as u64;
    }

    fn note(&mut self, first: EventIndex, events: &[Event]) {
        for (index, event) in (first.0..).map(EventIndex).zip(events) {
            let thread_events = self.threads.entry(event.thread());
            *thread_events += 1;
            self.counts[event.op() as usize] += 1;
            match event.op() {
                Op::Alloc | Op::Request => {}
                op if op.operand_kind() == OperandKind::Variable => {
                    let writes = !matches!(op, Op::Read | Op::Load);
                    self.variables.entry(VarId(event.operand())).note(event.thread(), writes);
                }
                op if op.operand_kind() == OperandKind::Lock => self.note_lock(index, event),
                _ => {}
            }
        }
    }

    fn note_lock(&mut self, index: EventIndex, event: &Event) {
        if matches!(event.op(), Op::Acquire | Op::AcquireShared) {
            self.locks.entry(LockId(event.operand())).note(event.thread(), true);
        }
        let Statistics { threads, holdings, longest, .. } = self;
        let start = || SectionStart { acquire: index, thread_events: threads[event.thread()] };
        holdings.apply(event, start, |thread, lock, start: SectionStart| {
            // The release itself is not part of the section; a section that another thread ended has no release of its own.
            let own_release = u64::from(thread == event.thread());
            let length = (threads[thread] - start.thread_events).saturating_sub(own_release);
            if longest.is_none_or(|longest| length > longest.length) {
                let acquire = start.acquire;
                *longest = Some(CriticalSection { lock, thread, acquire, release: index, length });
            }
        });
    }

    /// The statistics of all that was added, given the names of the trace.
    pub fn summary(&self, symbols: &Symbols) -> TraceSummary {
        let sizes = symbols.sizes();
        let parameters = self.holdings.parameters(self.events, &sizes);
        TraceSummary {
            parameters,
            operations: self.counts,
            inserted: self.inserted,
            variables: self.variable_usage(sizes.variables),
            locks: self.lock_usage(sizes.locks),
            held_at_end: self.holdings.held(),
            longest_section: self.longest,
            arrays: symbols.variables.array_count() as u64,
            blocks: symbols.variables.block_count() as u64,
            objects: sizes.objects as u64,
            locations: sizes.locations as u64,
        }
    }

    fn variable_usage(&self, count: usize) -> VariableUsage {
        let mut usage = VariableUsage::default();
        for at in 0..count {
            match self.variables.get(VarId::from_index(at)).copied().unwrap_or_default() {
                Usage { owner: None, .. } => usage.unused += 1,
                Usage { is_shared: false, .. } => usage.private += 1,
                Usage { is_written: false, .. } => usage.read_only += 1,
                Usage { .. } => usage.shared += 1,
            }
        }
        usage
    }

    fn lock_usage(&self, count: usize) -> LockUsage {
        let mut usage = LockUsage::default();
        for at in 0..count {
            match self.locks.get(LockId::from_index(at)).copied().unwrap_or_default() {
                Usage { owner: None, .. } => usage.unused += 1,
                Usage { is_shared: false, .. } => usage.private += 1,
                Usage { .. } => usage.shared += 1,
            }
        }
        usage
    }
}
