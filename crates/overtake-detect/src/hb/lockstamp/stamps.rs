//! Stamps of nodes, forward and backward through the flows.
//!
//! Forward: for each channel, the last crossing that a node has received ("acquired").
//! Backward: for each channel, the first crossing that will carry what the node knows ("released"). It is stored as its complement, so
//! that the minimum becomes a maximum and "never" becomes 0, which clocks do not store.

use std::cell::Cell;
use std::rc::Rc;

use overtake_clock::ChunkedClock;

use super::network::{Flow, Network};

/// Shared count of the bytes of all stamps.
pub(super) type Ledger = Rc<Cell<usize>>;

/// A backward stamp that knows what it weighs. Shared by all accesses of a thread between two crossings.
#[derive(Debug)]
pub(super) struct Released {
    crossings: ChunkedClock<u32>,
    ledger: Ledger,
}

impl Released {
    pub(super) fn empty(ledger: &Ledger) -> Rc<Released> {
        Released::counted(ChunkedClock::new(), Rc::clone(ledger)).into()
    }

    fn counted(crossings: ChunkedClock<u32>, ledger: Ledger) -> Released {
        let released = Released { crossings, ledger };
        released.ledger.set(released.ledger.get() + released.bytes());
        released
    }

    fn bytes(&self) -> usize {
        size_of::<Released>() + 2 * size_of::<usize>() + self.crossings.heap_bytes()
    }

    /// Whether something released here was acquired there: some crossing lies between.
    #[inline]
    pub(super) fn reaches(&self, acquired: &ChunkedClock<u32>) -> bool {
        self.crossings.any_pair(acquired, |released, acquired| released >= !acquired)
    }

    fn change(&mut self, change: impl FnOnce(&mut ChunkedClock<u32>)) {
        let before = self.bytes();
        change(&mut self.crossings);
        self.ledger.set(self.ledger.get() + self.bytes() - before);
    }
}

impl Clone for Released {
    fn clone(&self) -> Self {
        Released::counted(self.crossings.clone(), Rc::clone(&self.ledger))
    }
}

impl Drop for Released {
    fn drop(&mut self) {
        self.ledger.set(self.ledger.get() - self.bytes());
    }
}

/// Forward stamps of all nodes, and how often each channel was crossed.
#[derive(Default, Debug)]
pub(super) struct Forward {
    acquired: Vec<ChunkedClock<u32>>,
    crossings: Vec<u32>,
    heap_bytes: usize,
}

impl Forward {
    /// The stamp of a node.
    #[inline]
    pub(super) fn acquired(&self, node: u32) -> Option<&ChunkedClock<u32>> {
        self.acquired.get(node as usize)
    }

    pub(super) fn apply(&mut self, network: &Network, flow: Flow) {
        if self.acquired.len() < network.nodes() {
            self.acquired.resize_with(network.nodes(), ChunkedClock::new);
        }
        let to = flow.to() as usize;
        self.heap_bytes -= self.acquired[to].heap_bytes();
        if flow.replaces() {
            self.acquired[to] = ChunkedClock::new();
        }
        if let Some(from) = flow.from() {
            let nodes = [from as usize, to];
            let [from, to] = self.acquired.get_disjoint_mut(nodes).expect("a flow has two different ends");
            to.join(from);
            if let Some(channel) = network.channel(flow) {
                to.raise(channel, cross(&mut self.crossings, channel));
            }
        }
        self.heap_bytes += self.acquired[to].heap_bytes();
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.acquired.capacity() * size_of::<ChunkedClock<u32>>()
            + self.crossings.capacity() * 4
            + self.heap_bytes
    }
}

/// Counts a crossing.
fn cross(crossings: &mut Vec<u32>, channel: u32) -> u32 {
    let channel = channel as usize;
    if crossings.len() <= channel {
        crossings.resize(channel + 1, 0);
    }
    crossings[channel] += 1;
    crossings[channel]
}

/// Backward stamps of all nodes at some point of the trace, and how often each channel was crossed before it.
#[derive(Clone, Debug)]
pub(super) struct Backward {
    released: Vec<Rc<Released>>,
    crossings: Vec<u32>,
    empty: Rc<Released>,
}

impl Backward {
    /// The end of the trace.
    pub(super) fn at_end(network: &Network, flows: &[Flow], ledger: &Ledger) -> Backward {
        let empty = Released::empty(ledger);
        let mut crossings = vec![0; network.channels()];
        for channel in flows.iter().filter_map(|&flow| network.channel(flow)) {
            crossings[channel as usize] += 1;
        }
        Backward { released: vec![Rc::clone(&empty); network.nodes()], crossings, empty }
    }

    /// What is released from a node, seen from here.
    pub(super) fn released(&self, node: u32) -> &Rc<Released> {
        &self.released[node as usize]
    }

    /// Goes back over one flow.
    pub(super) fn undo(&mut self, network: &Network, flow: Flow) {
        let to = flow.to() as usize;
        if let Some(from) = flow.from() {
            let beyond = Rc::clone(&self.released[to]);
            let crossed = network.channel(flow).map(|channel| {
                let count = &mut self.crossings[channel as usize];
                *count -= 1;
                (channel, !(*count + 1))
            });
            Rc::make_mut(&mut self.released[from as usize]).change(|released| {
                released.join(&beyond.crossings);
                if let Some((channel, first)) = crossed {
                    released.raise(channel, first);
                }
            });
        }
        if flow.replaces() {
            self.released[to] = Rc::clone(&self.empty);
        }
    }

    /// Bytes besides the stamps, which the ledger counts.
    pub(super) fn table_bytes(&self) -> usize {
        self.released.capacity() * size_of::<Rc<Released>>() + self.crossings.capacity() * 4
    }
}
