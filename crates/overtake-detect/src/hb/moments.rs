//! What threads know at the moments of a block, found out once, for all who judge accesses.
//!
//! Judging an access takes two things: what its thread knows, and what is kept of its variable. The first needs all synchronisation and no plain
//! access, the second needs one variable. So one worker follows the synchronisation of a trace ([`Skeleton`]) and writes down what threads
//! know ([`Moments`]), and others judge the accesses of their variables by it (`judging.rs`).
//!
//! **Moments** are numbered within a block. Every event that the follower gets begins one for its thread, which lasts until the thread's next one.
//! An atomic access begins two: what it acquires is known when it is judged, what it releases is new afterwards. Whoever sorts the events of
//! a block can so number the moments without knowing what happens at them, and gives each access the number of its own. For this, the
//! follower also gets the first event of each thread in a block, and its first one after a fork or a join of the thread.
//! **Late moments.** A release that the checker inserts begins a moment that nobody could number. It is kept apart: [`Moments::at`] finds it.
//! **Limits.** A moment holds a whole clock, unless the one of the thread's last moment is still right. So this is for traces with few threads
//! ([`MOST_THREADS`]).

use overtake_clock::{Epoch, Knowledge, Time};
use overtake_rules::LockMode;
use overtake_trace::{Checked, Event, EventIndex, IdVec, LockId, MemoryOrder, Op, Sizes, SyncId, ThreadId};

use super::sync::SyncClocks;
use crate::access::At;
use crate::run::{LiveBlocks, visit_event};
use crate::succession::OWN_NUMBERS;
use crate::visitor::{Touch, Visitor};

/// With more threads, every worker follows the synchronisation itself. So no two threads share a number here.
pub const MOST_THREADS: usize = OWN_NUMBERS as usize;

/// What threads know at the moments of one block.
#[derive(Clone, Default, Debug)]
pub struct Moments {
    /// Components of a clock.
    threads: usize,
    moments: Vec<Moment>,
    /// Clocks, one after the other. A thread knows all of itself: its own component is [`Time::MAX`].
    times: Vec<Time>,
    late: Vec<Late>,
    /// The places of events that the checker dropped.
    dropped: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Moment {
    epoch: Epoch,
    /// Where its clock begins.
    clock: u32,
}

/// A moment that has no number.
#[derive(Clone, Copy, Debug)]
struct Late {
    /// The place of the next event.
    place: u32,
    /// The number that it would have had: those of its thread that follow are not below.
    number: u32,
    moment: Moment,
}

/// What a thread knows at a moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Known<'a> {
    epoch: Epoch,
    times: &'a [Time],
}

impl Knowledge for Known<'_> {
    #[inline(always)]
    fn epoch(&self) -> Epoch {
        self.epoch
    }

    #[inline(always)]
    fn covers(&self, epoch: Epoch) -> bool {
        self.times.get(epoch.thread as usize).is_some_and(|known| *known >= epoch.time)
    }
}

impl Moments {
    /// Whether moments have no exceptions: none is late, and no event was dropped.
    pub(super) fn are_regular(&self) -> bool {
        self.late.is_empty() && self.dropped.is_empty()
    }

    /// What the thread of a numbered moment knows.
    #[inline(always)]
    pub(super) fn numbered(&self, number: u32) -> Known<'_> {
        self.known(self.moments[number as usize])
    }

    /// What a thread knows at an event of it, which has a numbered moment: a late one may have followed.
    pub(super) fn at(&self, thread: ThreadId, place: u32, number: u32) -> Known<'_> {
        let follows = |late: &&Late| {
            late.moment.epoch.thread == thread.0 && late.place <= place && late.number > number
        };
        match self.late.iter().rev().find(follows) {
            Some(late) => self.known(late.moment),
            None => self.numbered(number),
        }
    }

    #[inline(always)]
    fn known(&self, Moment { epoch, clock }: Moment) -> Known<'_> {
        Known { epoch, times: &self.times[clock as usize..][..self.threads] }
    }

    /// Whether the checker dropped the event at a place.
    pub(super) fn was_dropped(&self, place: u32) -> bool {
        self.dropped.binary_search(&place).is_ok()
    }

    fn begin_block(&mut self, threads: usize) {
        self.threads = threads;
        self.moments.clear();
        self.times.clear();
        self.late.clear();
        self.dropped.clear();
    }
}

/// Follows the synchronisation of a trace.
#[derive(Default, Debug)]
pub struct Skeleton {
    clocks: SyncClocks,
    /// Where the clock of each thread is among those of the block, if it is there and right.
    written: IdVec<ThreadId, Option<u32>>,
    blocks: LiveBlocks,
}

impl Skeleton {
    /// Writes down the moments of the next block, of which the checker got all events that begin one.
    pub fn follow(&mut self, checked: &Checked<'_>, moments: &mut Moments) {
        let sizes = checked.symbols().sizes();
        self.clocks.reserve(&sizes);
        self.written.grow_to(sizes.threads);
        self.written.iter_mut().for_each(|written| *written = None);
        self.blocks.leave_out();
        moments.begin_block(sizes.threads);
        let Skeleton { clocks, written, blocks } = self;
        let first = checked.first().0;
        let mut following = Following { clocks, written, moments, first, is_inserted: false };
        let symbols = checked.symbols();
        if let Some(events) = checked.scattered() {
            for (index, event) in events {
                following.note_dropped(index, event);
                visit_event(&mut following, blocks, symbols, index, event);
            }
            return;
        }
        for run in checked.runs() {
            following.is_inserted = run.is_inserted;
            for (index, event) in (run.first.0..).map(EventIndex).zip(run.events) {
                following.note_dropped(index, event);
                visit_event(&mut following, blocks, symbols, index, event);
            }
        }
    }

    /// Bytes of all clocks and tables.
    pub fn state_bytes(&self) -> usize {
        self.clocks.state_bytes() + self.written.table_bytes()
    }
}

/// Follows the events of one block.
struct Following<'a> {
    clocks: &'a mut SyncClocks,
    written: &'a mut IdVec<ThreadId, Option<u32>>,
    moments: &'a mut Moments,
    /// The block's first event.
    first: u64,
    /// The checker inserted the event.
    is_inserted: bool,
}

impl Following<'_> {
    #[inline(always)]
    fn note_dropped(&mut self, index: EventIndex, event: &Event) {
        if event.op() == Op::Skip {
            self.moments.dropped.push((index.0 - self.first) as u32);
        }
    }

    /// A moment begins in which the thread has learned nothing that is not written.
    #[inline(always)]
    fn begin(&mut self, at: At) {
        let clock = match self.written[at.thread] {
            Some(clock) => clock,
            None => self.write(at.thread),
        };
        let moment = Moment { epoch: self.clocks.thread(at.thread).epoch(), clock };
        if self.is_inserted {
            let (place, number) = ((at.index.0 - self.first) as u32, self.moments.moments.len() as u32);
            self.moments.late.push(Late { place, number, moment });
        } else {
            self.moments.moments.push(moment);
        }
    }

    /// A moment begins in which the thread may know more than what is written.
    #[inline(always)]
    fn begin_wiser(&mut self, at: At) {
        self.written[at.thread] = None;
        self.begin(at);
    }

    #[inline]
    fn write(&mut self, thread: ThreadId) -> u32 {
        let times = &mut self.moments.times;
        let learned = self.clocks.thread(thread).learned().times();
        let clock = times.len();
        times.extend_from_slice(learned);
        times.resize(clock + self.moments.threads, 0);
        times[clock + thread.0 as usize] = Time::MAX;
        self.written[thread] = Some(clock as u32);
        clock as u32
    }
}

impl Visitor for Following<'_> {
    #[inline(always)]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let Some(order) = touch.order else { return self.begin(at) };
        self.clocks.atomic_acquire(at.thread, touch.var, touch.kind, order);
        self.begin_wiser(at);
        self.clocks.atomic_release(at.thread, touch.var, touch.kind, order);
        self.begin(at);
    }

    fn fence(&mut self, at: At, order: MemoryOrder) {
        self.clocks.fence(at.thread, order);
        self.begin_wiser(at);
    }

    #[inline(always)]
    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.acquire(at.thread, lock, mode);
        self.begin_wiser(at);
    }

    #[inline(always)]
    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.clocks.release(at.thread, lock, mode);
        self.begin(at);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.clocks.fork(at.thread, child);
        self.written[child] = None;
        self.begin(at);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.clocks.join(at.thread, child);
        self.begin_wiser(at);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.clocks.post(at.thread, object);
        self.begin(at);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.clocks.wait(at.thread, object);
        self.begin_wiser(at);
    }

    fn other(&mut self, at: At) {
        self.begin(at);
    }

    fn reserve(&mut self, sizes: &Sizes) {
        self.clocks.reserve(sizes);
    }
}
