//! The flows of knowledge of a trace, numbered: what remains of it when accesses and names are taken away.
//!
//! A *node* is a thread or a carrier. A *channel* counts crossings from a thread to elsewhere: each time a thread gives
//! away what it knows, one channel counts it. Which channel is chosen so that one rule holds,
//!
//! > who has received crossing `k` of a channel comes after crossings `1..=k` of that channel,
//!
//! and so that there are few of them:
//! - a release counts in a channel of the lock (one for exclusive, one for shared releases): an acquire comes after all
//!   earlier releases;
//! - a fork, a post, an atomic write or a release fence counts in a channel of the thread that does it: its own earlier
//!   crossings come before by thread order;
//! - the end of a child, when it is joined, counts in the channel of the thread that joins, which is the only one to
//!   receive it and passes it on with its own later crossings.
//!
//! So there are at most 2L + T channels, and one for all forks and joins of a main thread, where a pseudo-lock for each
//! fork, join, semaphore token or release sequence would make their number grow with the trace.

use overtake_rules::Flows;
use overtake_trace::{ThreadId, TraceIds, VarId};

use crate::hb::Carrier;

/// No node, or no channel.
const NONE: u32 = u32::MAX;

/// Knowledge flows from one node to another.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Flow {
    /// The giving node; `NONE` if the receiving one is only emptied.
    from: u32,
    to: u32,
    how: How,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct How {
    /// What the receiving node held before is gone.
    replaces: bool,
    /// The crossing counts in the channel of the receiving node; else in that of the giving one, if it is a thread.
    counted_by_receiver: bool,
}

impl Flow {
    /// The giving node.
    #[inline]
    pub(super) fn from(self) -> Option<u32> {
        (self.from != NONE).then_some(self.from)
    }

    /// The receiving node.
    #[inline]
    pub(super) fn to(self) -> u32 {
        self.to
    }

    /// Whether what the receiving node held before is gone.
    #[inline]
    pub(super) fn replaces(self) -> bool {
        self.how.replaces
    }
}

/// Numbers of nodes and channels.
#[derive(Default, Debug)]
pub(super) struct Network {
    /// Node of each thread, or `NONE`.
    thread_nodes: Vec<u32>,
    /// Node of each carrier by kind and number, or `NONE`.
    carrier_nodes: [Vec<u32>; Carrier::KINDS],
    nodes: Vec<Node>,
    channels: u32,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    thread: Option<ThreadId>,
    channel: u32,
}

impl Network {
    /// How many nodes there are.
    pub(super) fn nodes(&self) -> usize {
        self.nodes.len()
    }

    /// How many channels there are.
    pub(super) fn channels(&self) -> usize {
        self.channels as usize
    }

    /// The node of `thread`, if it ever gave or received.
    #[inline]
    pub(super) fn node_of(&self, thread: ThreadId) -> Option<u32> {
        self.thread_nodes.get(thread.0 as usize).copied().filter(|&node| node != NONE)
    }

    /// The node of each thread, in the order of their ids.
    pub(super) fn threads(&self) -> impl Iterator<Item = Option<u32>> {
        self.thread_nodes.iter().map(|&node| (node != NONE).then_some(node))
    }

    /// The thread that a node is.
    #[inline]
    pub(super) fn thread_of(&self, node: u32) -> Option<ThreadId> {
        self.nodes[node as usize].thread
    }

    /// The channel that counts a flow.
    #[inline]
    pub(super) fn channel(&self, flow: Flow) -> Option<u32> {
        let from = self.nodes[flow.from()? as usize];
        from.thread?;
        let counting = if flow.how.counted_by_receiver { self.nodes[flow.to as usize] } else { from };
        Some(counting.channel)
    }

    /// A translator of rules into flows, each of which goes to `emit`.
    pub(super) fn flows<F: FnMut(Flow)>(&mut self, emit: F) -> impl Flows<Ids = TraceIds> {
        Translator { network: self, emit }
    }

    pub(super) fn state_bytes(&self) -> usize {
        let numbers: usize = self.carrier_nodes.iter().map(Vec::capacity).sum();
        (numbers + self.thread_nodes.capacity()) * size_of::<u32>()
            + self.nodes.capacity() * size_of::<Node>()
    }

    fn thread(&mut self, thread: ThreadId) -> u32 {
        number(&mut self.nodes, &mut self.thread_nodes, thread.0, Some(thread))
    }

    fn carrier(&mut self, carrier: Carrier) -> u32 {
        let (kind, key) = carrier.key();
        number(&mut self.nodes, &mut self.carrier_nodes[kind], key, None)
    }

    /// The node of a carrier that held something before.
    fn known_carrier(&self, carrier: Carrier) -> Option<u32> {
        let (kind, key) = carrier.key();
        self.carrier_nodes[kind].get(key as usize).copied().filter(|&node| node != NONE)
    }

    /// Gives a node a channel of its own.
    fn open_channel(&mut self, node: u32) {
        let channel = &mut self.nodes[node as usize].channel;
        if *channel == NONE {
            *channel = self.channels;
            self.channels += 1;
        }
    }
}

fn number(nodes: &mut Vec<Node>, numbers: &mut Vec<u32>, key: u32, thread: Option<ThreadId>) -> u32 {
    let key = key as usize;
    if key >= numbers.len() {
        numbers.resize(key + 1, NONE);
    }
    if numbers[key] == NONE {
        numbers[key] = nodes.len() as u32;
        nodes.push(Node { thread, channel: NONE });
    }
    numbers[key]
}

struct Translator<'a, F> {
    network: &'a mut Network,
    emit: F,
}

impl<F: FnMut(Flow)> Translator<'_, F> {
    fn flow(&mut self, from: u32, to: u32, replaces: bool, counted_by_receiver: bool) {
        let flow = Flow { from, to, how: How { replaces, counted_by_receiver } };
        (self.emit)(flow);
    }

    fn give(&mut self, from: ThreadId, to: Carrier, replaces: bool) {
        let (from, to_node) = (self.network.thread(from), self.network.carrier(to));
        let by_lock = matches!(to, Carrier::Lock(_) | Carrier::SharedLock(_));
        self.network.open_channel(if by_lock { to_node } else { from });
        self.flow(from, to_node, replaces, by_lock);
    }

    /// `to` holds what `from` holds, besides what it held.
    fn transfer(&mut self, from: Carrier, to: Carrier) {
        if let Some(from) = self.network.known_carrier(from) {
            let to = self.network.carrier(to);
            self.flow(from, to, false, false);
        }
    }
}

impl<F: FnMut(Flow)> Flows for Translator<'_, F> {
    type Ids = TraceIds;

    fn publish(&mut self, from: ThreadId, to: Carrier) {
        self.give(from, to, false);
    }

    fn replace(&mut self, from: ThreadId, to: Carrier) {
        self.give(from, to, true);
    }

    fn receive(&mut self, to: ThreadId, from: Carrier) {
        if let Some(from) = self.network.known_carrier(from) {
            let to = self.network.thread(to);
            self.flow(from, to, false, false);
        }
    }

    fn keep_for_fence(&mut self, thread: ThreadId, var: VarId) {
        self.transfer(Carrier::Sequence(var), Carrier::AcquireFence(thread));
    }

    fn release_by_fence(&mut self, thread: ThreadId, var: VarId) {
        self.transfer(Carrier::ReleaseFence(thread), Carrier::Sequence(var));
    }

    fn forget(&mut self, carrier: Carrier) {
        if let Some(node) = self.network.known_carrier(carrier) {
            self.flow(NONE, node, true, false);
        }
    }

    fn start(&mut self, parent: ThreadId, child: ThreadId) {
        let (from, to) = (self.network.thread(parent), self.network.thread(child));
        self.network.open_channel(from);
        self.flow(from, to, false, false);
    }

    fn end(&mut self, child: ThreadId, parent: ThreadId) {
        let (from, to) = (self.network.thread(child), self.network.thread(parent));
        self.network.open_channel(to);
        self.flow(from, to, false, true);
    }
}
