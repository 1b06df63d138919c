//! Certificates of happens-before: that two accesses race, or that no two do.
//!
//! **Source.** Theorem 2 of Kulkarni, Mathur and Pavlogiannis, *Dynamic Data-Race Detection Through the Fine-Grained Lens*, CONCUR 2021.
//! **Certificate.** That there is a race: two events. That there is none: *hubs*, nodes of the graph of the order ([`Node`]) that lie on many paths, and *paths* for the pairs of accesses that no hub serves.
//! **Checking.** A race: one pass that follows who knows of the first event, a bit for each thread and each object. No race: the pass that builds the graph and the
//! pairs of Lemma 12; then every path is followed, and from every hub the graph is searched in both directions, 64 hubs at a time. A pair is proven if its first access reaches a hub that
//! reaches the second, or if there is a path.
//! **Cost.** With N accesses there are at most √N hubs for each N pairs, and every node is on fewer than √N paths: O(N^3/2) to check. To make a certificate takes, in the worst case, a search from each stretch of a
//! thread, 64 at a time.
//! **Independent of the detector.** There are no clocks; the rules of what orders what are the shared ones (`overtake_rules::flow`).

mod flows;
mod graph;
mod make;
#[cfg(test)]
mod tests;

use overtake_trace::{EventIndex, EventSource, Result, ThreadId, VarId};
use rustc_hash::FxHashSet;

use self::flows::{Knowledge, Walk};
pub use self::graph::Node;
use self::graph::{Graph, Pair};
use crate::access::{AccessKind, At};
use crate::run::{LiveBlocks, read_checked, visit};
use crate::visitor::Touch;

/// A proof that a trace has a happens-before race, or that it has none.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Certificate {
    /// These two accesses race.
    Race(EventIndex, EventIndex),
    /// No two do.
    NoRace(Proof),
}

/// Why the accesses of every pair are ordered.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Proof {
    /// Nodes that are searched from, in both directions.
    pub hubs: Vec<Node>,
    /// Nodes, each of which comes before the next by an edge or as an earlier one of the same thread.
    pub paths: Vec<Vec<Node>>,
}

/// Where a certificate is wrong.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Flaw {
    /// These events are not two conflicting accesses of different threads.
    NoConflict(EventIndex, EventIndex),
    /// The first event happens before the second.
    Ordered(EventIndex, EventIndex),
    /// Nothing says why these accesses are ordered.
    Unproven(EventIndex, EventIndex),
    /// The trace has fewer nodes.
    NoNode(Node),
    /// The first node does not come directly before the second.
    NoStep(Node, Node),
}

/// Makes the certificate of a trace: of the race whose second access is the earliest, if there is one.
pub fn certify(source: &mut dyn EventSource) -> Result<Certificate> {
    Ok(make::certificate(&read(source, Graph::default())?))
}

/// Checks a certificate. None if it holds, else the first flaw.
pub fn check(source: &mut dyn EventSource, certificate: &Certificate) -> Result<Option<Flaw>> {
    Ok(match certificate {
        &Certificate::Race(first, second) => read(source, Learners::new(first, second))?.flaw(),
        Certificate::NoRace(proof) => check_order(&read(source, Graph::default())?, proof).err(),
    })
}

fn read<K: Knowledge>(source: &mut dyn EventSource, knowledge: K) -> Result<K> {
    let mut walk = Walk::new(knowledge);
    let mut blocks = LiveBlocks::new();
    read_checked(source, None, |checked| visit(&mut walk, &mut blocks, checked))?;
    Ok(walk.knowledge)
}

/// Checks that the accesses of every pair are ordered.
fn check_order(graph: &Graph, proof: &Proof) -> std::result::Result<(), Flaw> {
    let nodes = proof.hubs.iter().chain(proof.paths.iter().flatten());
    if let Some(&node) = nodes.into_iter().find(|&&node| node as usize >= graph.len()) {
        return Err(Flaw::NoNode(node));
    }
    let mut proven = FxHashSet::default();
    for path in &proof.paths {
        for step in path.windows(2) {
            if !graph.is_step(step[0], step[1]) {
                return Err(Flaw::NoStep(step[0], step[1]));
            }
        }
        proven.extend(path.first().copied().zip(path.last().copied()));
    }
    let mut left = graph.pairs();
    left.retain(|pair| !proven.contains(&pair.nodes));
    for hubs in proof.hubs.chunks(64) {
        remove_served(graph, hubs, &mut left);
    }
    match left.first() {
        Some(&Pair { first, second, .. }) => Err(Flaw::Unproven(first, second)),
        None => Ok(()),
    }
}

/// Removes the pairs with a path through one of at most 64 hubs.
fn remove_served(graph: &Graph, hubs: &[Node], pairs: &mut Vec<Pair>) {
    let (mut from, mut to) = (vec![0_u64; graph.len()], vec![0_u64; graph.len()]);
    for (bit, &hub) in hubs.iter().enumerate() {
        from[hub as usize] |= 1 << bit;
        to[hub as usize] |= 1 << bit;
    }
    spread(graph, &mut from);
    for node in (0..graph.len()).rev() {
        graph.before(node as Node).for_each(|before| to[before as usize] |= to[node]);
    }
    pairs.retain(|pair| to[pair.nodes.0 as usize] & from[pair.nodes.1 as usize] == 0);
}

/// Adds the bits of each node to all that can be reached from it.
fn spread(graph: &Graph, bits: &mut [u64]) {
    for node in 0..graph.len() {
        let found =
            graph.before(node as Node).fold(bits[node], |found, before| found | bits[before as usize]);
        bits[node] = found;
    }
}

/// Who knows of an event.
#[derive(Debug)]
struct Learners {
    first: EventIndex,
    second: EventIndex,
    /// The thread of the first event, and what it accesses.
    accessed: Option<(ThreadId, Vec<(VarId, AccessKind)>)>,
    /// Whether the two conflict, and whether the thread of the second knows of the first then.
    found: Option<bool>,
}

impl Learners {
    fn new(first: EventIndex, second: EventIndex) -> Learners {
        Learners { first, second, accessed: None, found: None }
    }

    fn flaw(&self) -> Option<Flaw> {
        match self.found {
            None => Some(Flaw::NoConflict(self.first, self.second)),
            Some(true) => Some(Flaw::Ordered(self.first, self.second)),
            Some(false) => None,
        }
    }
}

impl Knowledge for Learners {
    type Value = bool;

    fn in_carrier(&mut self, held: bool, more: bool) -> bool {
        held | more
    }

    fn in_thread(&mut self, _: ThreadId, held: bool, more: bool) -> bool {
        held | more
    }

    fn access(&mut self, at: At, touch: Touch<'_>, knows: &mut bool) {
        if at.index == self.second
            && let Some((thread, accessed)) = &self.accessed
        {
            let conflicts = |(var, kind): (VarId, AccessKind)| {
                accessed.iter().any(|&(other, first)| other == var && first.conflicts(kind))
            };
            if *thread != at.thread && touch.each().any(conflicts) {
                self.found = Some(*knows);
            }
        }
        if at.index == self.first {
            self.accessed = Some((at.thread, touch.each().collect()));
            *knows = true;
        }
    }
}
