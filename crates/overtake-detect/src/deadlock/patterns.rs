//! Cycles of abstract acquires: the patterns that deadlocks have.
//!
//! A pattern is a cycle of abstract acquires in distinct threads, each of a lock that the next one's thread holds, such that
//! no two of the threads hold locks that exclude each other (a common gate lock keeps them apart). Most programs take their
//! locks in one order: then the graph of locks has no cycle, and that is found out in linear time. Patterns can be
//! exponentially many; the search stops after a number of steps and says so.

use overtake_trace::{Id, IdVec, LockId};

use super::nesting::{Nestings, Node, locks_of};

/// The patterns of a trace.
#[derive(Default, Debug)]
pub(super) struct Patterns {
    /// Each as the nodes of its cycle: each waits for the next, the last for the first. The one that occurred first stands
    /// first.
    pub(super) cycles: Vec<Vec<Node>>,
    /// Whether the search gave up before it had seen all of them.
    pub(super) incomplete: bool,
}

impl Patterns {
    /// All patterns among the nestings, unless finding them takes more than `steps`.
    pub(super) fn of(nestings: &Nestings, steps: u64) -> Patterns {
        let component = components(nestings);
        let is_cyclic = |node: &Node| {
            let take = nestings.get(*node).take;
            let mut held = nestings.held_locks(*node).filter(|held| held.lock != take.lock);
            take.waits && held.any(|held| component[held.lock] == component[take.lock])
        };
        let nodes: Vec<Node> = nestings.all().filter(is_cyclic).collect();
        let mut holders: IdVec<LockId, Vec<Node>> = IdVec::new();
        for &node in &nodes {
            for held in nestings.held_locks(node) {
                holders.entry(held.lock).push(node);
            }
        }
        let mut search = Search { nestings, holders, steps, patterns: Patterns::default() };
        for &start in &nodes {
            search.extend(&mut vec![start]);
        }
        search.patterns
    }
}

struct Search<'a> {
    nestings: &'a Nestings,
    /// Per lock, the nodes that hold it.
    holders: IdVec<LockId, Vec<Node>>,
    steps: u64,
    patterns: Patterns,
}

impl Search<'_> {
    /// Extends a path of nodes in all ways, and keeps the cycles.
    fn extend(&mut self, path: &mut Vec<Node>) {
        let Some((&start, &last)) = path.first().zip(path.last()) else { return };
        let wanted = self.nestings.get(last).take;
        if path.len() > 1 && self.nestings.held_locks(start).any(|held| held.excludes(wanted)) {
            self.patterns.cycles.push(path.clone());
        }
        let candidates = self.holders.get(wanted.lock).cloned().unwrap_or_default();
        for next in candidates.into_iter().filter(|&next| next > start) {
            if self.steps == 0 {
                self.patterns.incomplete = true;
                return;
            }
            self.steps -= 1;
            if self.fits(path, next) {
                path.push(next);
                self.extend(path);
                path.pop();
            }
        }
    }

    /// Whether the last node of a path waits for `next`, which all of the path can wait together with.
    fn fits(&self, path: &[Node], next: Node) -> bool {
        let Some(&last) = path.last() else { return false };
        let wanted = self.nestings.get(last).take;
        let thread = self.nestings.get(next).thread;
        self.nestings.held_locks(next).any(|held| held.excludes(wanted))
            && path.iter().all(|&one| {
                let excluded = |held| self.nestings.held_locks(next).any(|other| other.excludes(held));
                self.nestings.get(one).thread != thread && !self.nestings.held_locks(one).any(excluded)
            })
    }
}

/// For each lock a number that it shares with the locks it is on a cycle with: strongly connected components of the graph
/// with an edge from each lock held to the lock taken. By Tarjan's algorithm, without recursion.
fn components(nestings: &Nestings) -> IdVec<LockId, u32> {
    let locks = locks_of(nestings);
    let mut edges: Vec<Vec<u32>> = vec![Vec::new(); locks];
    for node in nestings.all() {
        let taken = nestings.get(node).take.lock;
        for held in nestings.held_locks(node) {
            edges[held.lock.index()].push(taken.0);
        }
    }
    for targets in &mut edges {
        targets.sort_unstable();
        targets.dedup();
    }
    let mut walk = Tarjan { edges, order: vec![0; locks], low: vec![0; locks], ..Tarjan::default() };
    walk.component.grow_to(locks);
    for lock in 0..locks as u32 {
        walk.visit(lock);
    }
    walk.component
}

#[derive(Default)]
struct Tarjan {
    edges: Vec<Vec<u32>>,
    /// When each lock was first seen, from 1; 0 is not yet.
    order: Vec<u32>,
    /// The earliest lock of the stack that each one reaches.
    low: Vec<u32>,
    stack: Vec<u32>,
    seen: u32,
    /// 0 while a lock is on the stack.
    component: IdVec<LockId, u32>,
    components: u32,
}

impl Tarjan {
    fn visit(&mut self, root: u32) {
        if self.order[root as usize] > 0 {
            return;
        }
        let mut path = vec![(root, 0)];
        self.enter(root);
        while let Some((lock, edge)) = path.last_mut() {
            let lock = *lock;
            let target = self.edges[lock as usize].get(*edge).copied();
            *edge += 1;
            match target {
                Some(target) if self.order[target as usize] == 0 => {
                    self.enter(target);
                    path.push((target, 0));
                }
                Some(target) if self.component[LockId(target)] == 0 => {
                    self.low[lock as usize] = self.low[lock as usize].min(self.order[target as usize]);
                }
                Some(_) => {}
                None => {
                    path.pop();
                    self.leave(lock);
                    if let Some(&(above, _)) = path.last() {
                        self.low[above as usize] = self.low[above as usize].min(self.low[lock as usize]);
                    }
                }
            }
        }
    }

    fn enter(&mut self, lock: u32) {
        self.seen += 1;
        self.order[lock as usize] = self.seen;
        self.low[lock as usize] = self.seen;
        self.stack.push(lock);
    }

    /// All that a lock reaches was seen: if it reaches nothing earlier, what is above it on the stack is a component.
    fn leave(&mut self, lock: u32) {
        if self.low[lock as usize] != self.order[lock as usize] {
            return;
        }
        self.components += 1;
        while let Some(member) = self.stack.pop() {
            self.component[LockId(member)] = self.components;
            if member == lock {
                return;
            }
        }
    }
}
