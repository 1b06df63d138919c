//! Happens-before races by lock-indexed time, in two passes.
//!
//! **Source.** Kulkarni, Mathur and Pavlogiannis, *Dynamic Data-Race Detection Through the Fine-Grained Lens*, CONCUR 2021 (Theorem 4:
//! happens-before races in O(N·L)). A stamp does not say how much of each *thread* an event knows, but which crossings of each *channel* it
//! knows. A lock is a channel, and its releases are the crossings.
//! **Order.** For `e1` before `e2` in different threads, with `released(e1)[c]` the first crossing of `c` that `e1` comes
//! before and `acquired(e2)[c]` the last one that has reached `e2`: `e1` happens before `e2` iff
//! `released(e1)[c] <= acquired(e2)[c]` for some channel `c`. Any path between threads crosses a channel, and a channel
//! is such that its crossings up to the one received all come before (see [`network`]).
//! **Passes.** The first keeps the flows of knowledge (12 bytes per synchronising event, nothing per access) and at its
//! end goes backward over them, leaving a checkpoint after each chunk. The second goes forward: it recomputes the released
//! stamps of one chunk at a time from its checkpoint, keeps acquired stamps as it goes, and compares.
//! **Answer.** Every access that races with an earlier one, with the latest such: [`LastAccesses`] keeps the accesses of all threads, where the paper
//! keeps the last write and stops at the first race.
//! **Differs from the paper.** Channels for fork, join and all other operations than exclusive locks, few of them by
//! construction; stamps hold only the channels they know, and are shared by all accesses between two crossings.
//! **Limit.** A channel is crossed fewer than 2^32 - 1 times.
//! **Cost.** O(N·C) for C channels while no variable races, C at most 2L + T; a racy variable is compared with one access
//! per thread each time. Memory: the flows, the checkpoints, the stamps that kept accesses refer to.

mod network;
mod stamps;

use std::rc::Rc;

use overtake_rules::{Flows, flow};
use overtake_trace::{
    Checked, EventIndex, IdVec, LockId, MemoryOrder, Sizes, Symbols, SyncId, ThreadId, TraceIds, VarId,
};

use self::network::{Flow, Network};
use self::stamps::{Backward, Forward, Ledger, Released};
use super::last_accesses::{Entry, LastAccesses};
use crate::access::{Access, AccessKind, At};
use crate::detector::{Detector, LockMode};
use crate::findings::Findings;
use crate::passes::{After, Analysis, Pass};
use crate::race::{Race, Verdict};
use crate::run::{LiveBlocks, feed};
use crate::settings::{OptionError, Options};
use crate::visitor::Touch;

/// Fewest flows between checkpoints: the stamps of one chunk are in memory at once.
const LEAST_CHUNK: usize = 16 * 1024;

/// The fewest threads, and the fewest threads per lock, for lock-indexed time to pay off.
///
/// Lock-indexed time costs O(N·L) where vector clocks cost O(N·T), but reads the trace twice and keeps its flows. Measured
/// on random sections of all threads on all locks, in ns per event, `hb` against `lockstamp`:
///
/// | threads | 4 locks | 16 locks | 64 locks |
/// | --- | --- | --- | --- |
/// | 256 | 33 / 105 | 48 / 145 | 37 / 385 |
/// | 1024 | 160 / 149 | 147 / 120 | 168 / 411 |
/// | 4096 | 868 / 188 | 1058 / 152 | 1128 / 547 |
///
/// With 10,000 threads, 128 at a time, and 256 locks `hb` is still half as fast again.
const FEWEST_THREADS: u64 = 1024;
const THREADS_PER_LOCK: u64 = 64;

/// Whether a trace has so many threads and so few locks that lock-indexed time is faster than vector clocks.
pub(crate) fn suits(threads: u64, locks: u64) -> bool {
    threads >= FEWEST_THREADS.max(locks.saturating_mul(THREADS_PER_LOCK))
}

/// Starts the detector.
pub(crate) fn start(_options: &Options) -> Result<Analysis, OptionError> {
    Ok(analysis(LEAST_CHUNK))
}

/// An analysis with checkpoints at least `least_chunk` flows apart.
pub(crate) fn analysis(least_chunk: usize) -> Analysis {
    Analysis::new(First { walk: Walk { network: Network::default(), work: Vec::new() }, least_chunk })
}

/// The first pass.
struct First {
    walk: Walk<Vec<Flow>>,
    least_chunk: usize,
}

impl Pass for First {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.walk, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        let Walk { network, work } = self.walk;
        let work = StampJudge::new(network, work, self.least_chunk);
        After::Pass(Box::new(Second(Walk { network: Network::default(), work })))
    }

    fn state_bytes(&self) -> usize {
        self.walk.state_bytes()
    }

    fn readings(&self) -> u32 {
        2
    }
}

/// The second pass.
struct Second(Walk<StampJudge>);

impl Pass for Second {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        feed(&mut self.0, blocks, checked, findings);
    }

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        self.0.state_bytes()
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        let StampJudge { network, flows, .. } = &self.0.work;
        vec![("channels", network.channels() as u64), ("flows", flows.len() as u64)]
    }
}

/// What a pass does with flows and accesses.
trait Work {
    fn flow(&mut self, index: EventIndex, flow: Flow);
    fn access(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut Findings);
    fn state_bytes(&self) -> usize;
}

/// The first pass: keeps the flows.
impl Work for Vec<Flow> {
    fn flow(&mut self, _index: EventIndex, flow: Flow) {
        self.push(flow);
    }

    fn access(&mut self, _: At, _: VarId, _: AccessKind, _: &mut Findings) {}

    fn state_bytes(&self) -> usize {
        self.capacity() * size_of::<Flow>()
    }
}

/// The second pass: compares stamps.
struct StampJudge {
    /// All nodes and channels there are. The walk numbers them again as it meets them, in the same way.
    network: Network,
    flows: Vec<Flow>,
    /// How many of the flows have happened.
    done: usize,
    chunk: usize,
    /// The state after each chunk, the last chunk first; taken when the chunk begins.
    checkpoints: Vec<Backward>,
    /// For each flow of the current chunk that a thread gives: what is released from that thread after it.
    upcoming: Vec<Option<Rc<Released>>>,
    forward: Forward,
    leaving: IdVec<ThreadId, Leaving>,
    variables: IdVec<VarId, LastAccesses<Mark>>,
    access_bytes: usize,
    nothing: Rc<Released>,
    ledger: Ledger,
}

/// What is released from a thread.
#[derive(Debug)]
struct Leaving {
    now: Rc<Released>,
    /// The same before the event at `changed_at`, the last one that gave something away.
    before: Rc<Released>,
    changed_at: Option<EventIndex>,
}

impl Leaving {
    fn change(&mut self, index: EventIndex, released: Rc<Released>) {
        let now = std::mem::replace(&mut self.now, released);
        if self.changed_at != Some(index) {
            (self.before, self.changed_at) = (now, Some(index));
        }
    }

    /// What is released from the event at `index`, the current one: itself included, if it is a release.
    fn at(&self, index: EventIndex) -> Rc<Released> {
        Rc::clone(if self.changed_at == Some(index) { &self.before } else { &self.now })
    }
}

/// Time of an access.
#[derive(Clone, Debug)]
struct Mark {
    index: EventIndex,
    released: Rc<Released>,
}

impl PartialEq for Mark {
    fn eq(&self, other: &Self) -> bool {
        self.index == other.index
    }
}

impl PartialOrd for Mark {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        self.index.partial_cmp(&other.index)
    }
}

impl StampJudge {
    /// Goes backward over the flows.
    fn new(network: Network, flows: Vec<Flow>, least_chunk: usize) -> StampJudge {
        let ledger = Ledger::default();
        // A checkpoint holds a pointer per node and a count per channel; it must not outweigh the flows it stands for.
        let chunk = least_chunk.max(network.nodes() + network.channels()).max(1);
        let mut state = Backward::at_end(&network, &flows, &ledger);
        let mut checkpoints = Vec::new();
        for chunk in flows.chunks(chunk).rev() {
            checkpoints.push(state.clone());
            chunk.iter().rev().for_each(|&flow| state.undo(&network, flow));
        }
        let nothing = Released::empty(&ledger);
        let leaving = |released: Option<u32>| {
            let now = released.map_or(&nothing, |node| state.released(node));
            Leaving { now: Rc::clone(now), before: Rc::clone(&nothing), changed_at: None }
        };
        let leaving = network.threads().map(leaving).collect();
        StampJudge {
            network,
            flows,
            done: 0,
            chunk,
            checkpoints,
            upcoming: Vec::new(),
            forward: Forward::default(),
            leaving,
            variables: IdVec::new(),
            access_bytes: 0,
            nothing,
            ledger,
        }
    }

    /// Recomputes the released stamps of the chunk that begins now.
    fn enter_chunk(&mut self) {
        self.upcoming.clear();
        let Some(mut state) = self.checkpoints.pop() else { return };
        let end = self.flows.len().min(self.done + self.chunk);
        for &flow in self.flows[self.done..end].iter().rev() {
            let giver = flow.from().filter(|&node| self.network.thread_of(node).is_some());
            self.upcoming.push(giver.map(|node| Rc::clone(state.released(node))));
            state.undo(&self.network, flow);
        }
    }
}

impl Work for StampJudge {
    fn flow(&mut self, index: EventIndex, flow: Flow) {
        debug_assert_eq!(self.flows.get(self.done), Some(&flow), "both passes see the same trace");
        if self.done.is_multiple_of(self.chunk) {
            self.enter_chunk();
        }
        self.done += 1;
        self.forward.apply(&self.network, flow);
        if let Some(Some(released)) = self.upcoming.pop()
            && let Some(thread) = flow.from().and_then(|node| self.network.thread_of(node))
        {
            self.leaving[thread].change(index, released);
        }
    }

    fn access(&mut self, at: At, var: VarId, kind: AccessKind, races: &mut Findings) {
        let released = match self.leaving.get(at.thread) {
            Some(leaving) => leaving.at(at.index),
            None => Rc::clone(&self.nothing),
        };
        let mark = Mark { index: at.index, released };
        let acquired = self.network.node_of(at.thread).and_then(|node| self.forward.acquired(node));
        let accesses = self.variables.entry(var);
        let before = accesses.heap_bytes();
        let partner = accesses
            .access(Entry { thread: at.thread, location: at.location, mark, kind }, |entry| {
                acquired.is_some_and(|acquired| entry.mark.released.reaches(acquired))
            });
        self.access_bytes = self.access_bytes + accesses.heap_bytes() - before;
        if let Some(entry) = partner {
            report(races, var, &entry, Access { at, kind });
        }
    }

    fn state_bytes(&self) -> usize {
        let checkpoints: usize = self.checkpoints.iter().map(Backward::table_bytes).sum();
        self.network.state_bytes()
            + self.flows.capacity() * size_of::<Flow>()
            + checkpoints
            + self.upcoming.capacity() * size_of::<Option<Rc<Released>>>()
            + self.forward.state_bytes()
            + self.leaving.table_bytes()
            + self.variables.table_bytes()
            + self.access_bytes
            + self.ledger.get()
    }
}

#[cold]
fn report(races: &mut Findings, var: VarId, entry: &Entry<Mark>, second: Access) {
    let at = At { index: entry.mark.index, thread: entry.thread, location: entry.location };
    let first = Access { at, kind: entry.kind };
    races.report(Race { var, verdict: Verdict::Observed, first, second });
}

/// A pass over the trace: events become flows and accesses.
struct Walk<W> {
    network: Network,
    work: W,
}

impl<W: Work> Walk<W> {
    fn synchronise(&mut self, at: At) -> impl Flows<Ids = TraceIds> {
        let Walk { network, work } = self;
        network.flows(move |flow| work.flow(at.index, flow))
    }
}

impl<W: Work> Detector for Walk<W> {
    fn reserve(&mut self, _sizes: &Sizes) {}

    #[inline(always)] // in the event loop there is no heap block
    fn access(&mut self, at: At, touch: Touch<'_>, races: &mut Findings) {
        if let Some(order) = touch.order {
            flow::atomic(&mut self.synchronise(at), at.thread, touch.var, touch.kind, order);
        }
        self.work.access(at, touch.var, touch.kind, races);
        if let Some(block) = touch.block {
            self.work.access(at, block, AccessKind::Read, races);
        }
    }

    fn fence(&mut self, at: At, order: MemoryOrder, _: &mut Findings) {
        flow::fence(&mut self.synchronise(at), at.thread, order);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        flow::acquire(&mut self.synchronise(at), at.thread, lock, mode);
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode, _: &mut Findings) {
        flow::release(&mut self.synchronise(at), at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        flow::fork(&mut self.synchronise(at), at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId, _: &mut Findings) {
        flow::join(&mut self.synchronise(at), at.thread, child);
    }

    fn post(&mut self, at: At, object: SyncId, _: &mut Findings) {
        flow::post(&mut self.synchronise(at), at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId, _: &mut Findings) {
        flow::wait(&mut self.synchronise(at), at.thread, object);
    }

    fn state_bytes(&self) -> usize {
        self.network.state_bytes() + self.work.state_bytes()
    }
}
