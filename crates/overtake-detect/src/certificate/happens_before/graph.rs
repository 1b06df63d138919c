//! The order of a trace as a sparse graph, and the pairs of accesses that decide whether it has a race.
//!
//! **Nodes.** A *stretch* of a thread: its accesses between two events at which it gives or receives. A *junction*: what a carrier holds when more is added to what it
//! held. Nodes are numbered as the trace comes to them, so that every edge leads to a higher number, and the nodes of a thread follow each other.
//! **Edges.** At most two lead to a node. An access happens before another one iff there is a path from its stretch to the other's.
//! **Pairs.** Lemma 12 of the paper: of the conflicting accesses only those need a look that are consecutive. Here atomic accesses do not conflict with each other. So a plain write, which conflicts with every other access,
//! is what makes earlier accesses needless; and a later access of the same thread and class makes the one before needless. If there is a race, the one whose second access is the
//! earliest, and of these the one whose first access is the latest, is among these pairs. There are at most 2N of them in a trace without atomic accesses, as in the paper, and else at most 4NT.

use overtake_trace::{EventIndex, IdVec, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::flows::Knowledge;
use crate::access::{At, Class};
use crate::visitor::Touch;

/// The number of a node.
pub type Node = u32;

/// No node.
pub(super) const NONE: Node = Node::MAX;

/// Two conflicting accesses of different threads, and the stretches that they are in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Pair {
    pub(super) second: EventIndex,
    pub(super) first: EventIndex,
    pub(super) nodes: (Node, Node),
}

/// A node: what leads to it, and the thread of a stretch.
#[derive(Clone, Copy, Debug)]
struct Entry {
    before: [Node; 2],
    thread: Option<ThreadId>,
}

/// What is known is a node: all that has a path to it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Known(Node);

impl Default for Known {
    fn default() -> Self {
        Known(NONE)
    }
}

/// An access that later ones are compared with.
#[derive(Clone, Copy, Debug)]
struct Kept {
    at: EventIndex,
    thread: ThreadId,
    class: Class,
    node: Node,
}

/// The graph, and the pairs so far.
#[derive(Default, Debug)]
pub(super) struct Graph {
    nodes: Vec<Entry>,
    /// Whether a thread gave away what it knows since its stretch began.
    has_given: IdVec<ThreadId, bool>,
    kept: IdVec<VarId, Vec<Kept>>,
    /// Of each two stretches, one pair.
    pairs: FxHashMap<(Node, Node), (EventIndex, EventIndex)>,
    events: u64,
}

impl Graph {
    /// How many nodes there are.
    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// How many accesses there are in the trace.
    pub(super) fn accesses(&self) -> u64 {
        self.events
    }

    /// The thread of a stretch; none of a junction.
    pub(super) fn thread(&self, node: Node) -> Option<ThreadId> {
        self.nodes[node as usize].thread
    }

    /// The nodes with an edge to this one.
    pub(super) fn before(&self, node: Node) -> impl Iterator<Item = Node> {
        self.nodes[node as usize].before.into_iter().filter(|&before| before != NONE)
    }

    /// Whether one node comes before another by an edge, or by the order of their thread.
    pub(super) fn is_step(&self, from: Node, to: Node) -> bool {
        let same_thread = self.thread(from).is_some() && self.thread(from) == self.thread(to);
        (same_thread && from < to) || self.before(to).any(|before| before == from)
    }

    /// The pairs that decide, by their second access.
    pub(super) fn pairs(&self) -> Vec<Pair> {
        let pair = |(&nodes, &(first, second)): (&(Node, Node), &_)| Pair { second, first, nodes };
        let mut pairs: Vec<_> = self.pairs.iter().map(pair).collect();
        pairs.sort_unstable();
        pairs
    }

    fn add(&mut self, before: [Node; 2], thread: Option<ThreadId>) -> Node {
        let node = self.nodes.len() as Node;
        self.nodes.push(Entry { before, thread });
        node
    }
}

impl Knowledge for Graph {
    type Value = Known;

    fn in_carrier(&mut self, held: Known, more: Known) -> Known {
        match (held.0, more.0) {
            (NONE, _) => more,
            (held_node, more_node) if more_node == NONE || more_node == held_node => held,
            (held, more) => Known(self.add([held, more], None)),
        }
    }

    fn in_thread(&mut self, thread: ThreadId, held: Known, more: Known) -> Known {
        if more.0 == NONE || more.0 == held.0 {
            return held;
        }
        *self.has_given.entry(thread) = false;
        Known(self.add([held.0, more.0], Some(thread)))
    }

    fn given(&mut self, thread: ThreadId) {
        *self.has_given.entry(thread) = true;
    }

    fn access(&mut self, at: At, touch: Touch<'_>, knows: &mut Known) {
        self.events += 1;
        if knows.0 == NONE || *self.has_given.entry(at.thread) {
            *self.has_given.entry(at.thread) = false;
            *knows = Known(self.add([knows.0, NONE], Some(at.thread)));
        }
        for (var, kind) in touch.each() {
            let access = Kept { at: at.index, thread: at.thread, class: Class::of(kind), node: knows.0 };
            let kept = self.kept.entry(var);
            for other in kept.iter() {
                if other.thread != access.thread && other.class.conflicts(access.class) {
                    self.pairs.entry((other.node, access.node)).or_insert((other.at, access.at));
                }
            }
            match access.class {
                Class::PlainWrite => kept.clear(),
                class => kept.retain(|other| (other.thread, other.class) != (access.thread, class)),
            }
            kept.push(access);
        }
    }
}
