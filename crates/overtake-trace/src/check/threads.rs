//! Threads: their first events, forks and joins, and ids that are used again.

use super::{Checker, Repair, skip, thread_name};
use crate::error::Result;
use crate::event::{Event, Op};
use crate::id::{EventIndex, Id, ThreadId};
use crate::symbols::Symbols;

#[derive(Clone, Copy, Default, Debug)]
pub(super) struct ThreadState {
    pub(super) status: Status,
    forked: bool,
    /// The thread that events with this id belong to since the id was reused. `None`: the thread with the id itself.
    incarnation: Option<ThreadId>,
    /// Events under this id so far.
    pub(super) events: u64,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Status {
    #[default]
    Unseen,
    Running,
    Joined,
    /// The id was reused; see `incarnation`.
    Reused,
}

impl Checker {
    /// The slow path of the thread check: first events, renamed and joined threads.
    pub(super) fn enter_thread(
        &mut self,
        event: Event,
        at: usize,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let thread = self.incarnation(event.thread());
        let state = &mut self.threads[thread];
        match state.status {
            Status::Unseen => {
                state.status = Status::Running;
                self.note_first(thread, index, event);
                self.see(thread);
                self.wait_for_gap(event, thread, at);
            }
            Status::Joined => self.mend(Repair::EventAfterJoin, index, || {
                format!("thread `{}` goes on after it was joined", symbols.threads.display(thread))
            })?,
            Status::Running | Status::Reused => {}
        }
        Ok(event.with_thread(thread))
    }

    pub(super) fn fork(
        &mut self,
        event: Event,
        child: ThreadId,
        symbols: &mut Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let mut current = self.incarnation(child);
        if current == event.thread() {
            return self.drop_self(event, symbols, index);
        }
        let state = self.threads[current];
        if state.status == Status::Joined {
            self.mend(Repair::ReusedThread, index, || {
                format!("thread `{}` forked again after it was joined", symbols.threads.display(child))
            })?;
            let fresh = symbols.threads.intern_fresh(symbols.threads.name(child).to_vec().as_slice())?;
            self.threads.grow_to(symbols.threads.len());
            let original = &mut self.threads[child];
            original.status = Status::Reused;
            original.incarnation = Some(fresh);
            current = fresh;
        } else if state.forked || state.status == Status::Running {
            self.mend(Repair::LateFork, index, || {
                let what = if state.forked { "forked twice" } else { "forked after it ran" };
                format!("thread `{}` {what}", symbols.threads.display(child))
            })?;
        }
        self.threads[current].forked = true;
        self.see(current);
        self.forks_or_joins = true;
        let seen = self.seen(index, event);
        self.lives.forks.entry(current).or_insert(seen);
        Ok(event.with_operand(current.0))
    }

    pub(super) fn join(
        &mut self,
        event: Event,
        child: ThreadId,
        symbols: &Symbols,
        index: EventIndex,
    ) -> Result<Event> {
        let current = self.incarnation(child);
        if current == event.thread() {
            return self.drop_self(event, symbols, index);
        }
        self.threads[current].status = Status::Joined;
        self.see(current);
        self.forks_or_joins = true;
        let seen = self.seen(index, event);
        self.lives.joins.insert([current, event.thread()], seen);
        Ok(event.with_operand(current.0))
    }

    fn drop_self(&mut self, event: Event, symbols: &Symbols, index: EventIndex) -> Result<Event> {
        self.mend(Repair::SelfForkOrJoin, index, || {
            let verb = if event.op() == Op::Fork { "forks" } else { "joins" };
            format!("{} {verb} itself", thread_name(symbols, event.thread()))
        })?;
        Ok(skip(event))
    }

    fn see(&mut self, thread: ThreadId) {
        self.seen_threads = self.seen_threads.max(thread.index() + 1);
    }

    fn incarnation(&self, thread: ThreadId) -> ThreadId {
        self.threads[thread].incarnation.unwrap_or(thread)
    }
}
