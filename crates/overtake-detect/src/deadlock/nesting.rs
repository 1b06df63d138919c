//! Which locks each thread takes under which others, with every nesting under a small number.
//!
//! The sections that a thread has open form a path; every path that occurs is a node of a tree. A node stands for an
//! *abstract acquire*: a thread takes this lock while it holds those of the nodes above. All its occurrences have the same
//! node, and finding it takes one look-up.

use overtake_trace::{Id, IdVec, LockId, ThreadId};
use rustc_hash::FxHashMap;

use crate::detector::LockMode;

/// How a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Take {
    pub(super) lock: LockId,
    pub(super) mode: LockMode,
    /// Whether the thread waits for the lock if it is held; else the acquire was a try.
    pub(super) waits: bool,
}

impl Take {
    /// Whether sections of these two kinds exclude each other: one lock, not both shared.
    pub(super) fn excludes(self, other: Take) -> bool {
        self.lock == other.lock && self.mode.excludes(other.mode)
    }
}

/// The number of an abstract acquire.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Node(pub(super) u32);

/// An abstract acquire.
#[derive(Clone, Copy, Debug)]
pub(super) struct Abstract {
    pub(super) thread: ThreadId,
    pub(super) take: Take,
    /// The innermost lock held, as the node under which it was taken.
    parent: Option<Node>,
}

/// All abstract acquires, and where each thread is.
#[derive(Default, Debug)]
pub(super) struct Nestings {
    nodes: Vec<Abstract>,
    children: FxHashMap<(u32, Take), Node>,
    open: IdVec<ThreadId, Vec<(Take, Node)>>,
}

impl Nestings {
    pub(super) fn reserve(&mut self, threads: usize) {
        self.open.grow_to(threads);
    }

    /// A lock is taken: the node of the acquire.
    #[inline]
    pub(super) fn acquire(&mut self, thread: ThreadId, take: Take) -> Node {
        let parent = self.open[thread].last().map(|&(_, node)| node);
        let node = self.child(thread, parent, take);
        self.open[thread].push((take, node));
        node
    }

    /// A lock is given back. The place of its section among the thread's open ones, if it has one.
    #[inline]
    pub(super) fn release(&mut self, thread: ThreadId, lock: LockId) -> Option<usize> {
        let at = self.open[thread].iter().rposition(|(take, _)| take.lock == lock)?;
        if at + 1 == self.open[thread].len() {
            self.open[thread].pop();
            return Some(at);
        }
        let above: Vec<_> = self.open[thread].drain(at..).skip(1).collect();
        for (take, _) in above {
            self.acquire(thread, take);
        }
        Some(at)
    }

    /// Forgets what is held, for another reading of the trace.
    pub(super) fn begin_again(&mut self) {
        self.open.iter_mut().for_each(Vec::clear);
    }

    fn child(&mut self, thread: ThreadId, parent: Option<Node>, take: Take) -> Node {
        // Nodes count up from 0, roots down from the end; neither reaches the middle.
        let above = parent.map_or(u32::MAX - thread.0, |node| node.0);
        let Nestings { nodes, children, .. } = self;
        *children.entry((above, take)).or_insert_with(|| {
            nodes.push(Abstract { thread, take, parent });
            Node(nodes.len() as u32 - 1)
        })
    }

    pub(super) fn get(&self, node: Node) -> Abstract {
        self.nodes[node.0 as usize]
    }

    /// The nodes under which the locks held at a node were taken, the last one first.
    pub(super) fn held(&self, node: Node) -> impl Iterator<Item = Node> {
        std::iter::successors(self.get(node).parent, |&above| self.get(above).parent)
    }

    /// How the locks held at a node were taken.
    pub(super) fn held_locks(&self, node: Node) -> impl Iterator<Item = Take> {
        self.held(node).map(|above| self.get(above).take)
    }

    /// All nodes, in the order of their first occurrence.
    pub(super) fn all(&self) -> impl Iterator<Item = Node> + use<> {
        (0..self.nodes.len() as u32).map(Node)
    }

    pub(super) fn state_bytes(&self) -> usize {
        self.nodes.capacity() * size_of::<Abstract>()
            + self.children.capacity() * size_of::<((u32, Take), Node)>()
            + self.open.table_bytes()
    }
}

/// The number of the largest lock plus one, for tables by lock.
pub(super) fn locks_of(nestings: &Nestings) -> usize {
    nestings.all().map(|node| nestings.get(node).take.lock.index() + 1).max().unwrap_or(0)
}
