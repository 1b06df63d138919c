//! Makes certificates of happens-before.
//!
//! Paths come from searches forward from 64 stretches at a time. A path is followed backward: from a stretch to the first one of its thread that was reached, and from there to where
//! that one learned of the source. So it meets no thread twice. Then nodes that are on many paths become hubs, the ones on most paths first, until every node is on fewer than √N of those that are left.

use overtake_trace::{Id, ThreadId};

use super::graph::{Graph, NONE, Node, Pair};
use super::{Certificate, Proof, spread};

/// The certificate of a trace.
pub(super) fn certificate(graph: &Graph) -> Certificate {
    let mut pairs = graph.pairs();
    pairs.sort_unstable_by_key(|pair| pair.nodes);
    let mut paths = Vec::with_capacity(pairs.len());
    let mut race: Option<Pair> = None;
    let mut left = pairs.as_slice();
    while !left.is_empty() {
        let search = Search::new(graph, left);
        let (these, others) = left.split_at(search.pairs);
        for pair in these {
            match search.path(pair.nodes) {
                Some(path) => paths.push(path),
                None => race = Some(race.map_or(*pair, |race| race.min(*pair))),
            }
        }
        left = others;
    }
    match race {
        Some(race) => Certificate::Race(race.first, race.second),
        None => Certificate::NoRace(with_hubs(graph, paths)),
    }
}

/// What is reached from at most 64 stretches.
struct Search<'a> {
    graph: &'a Graph,
    sources: Vec<Node>,
    /// How many pairs, from the first on, begin at one of the sources.
    pairs: usize,
    /// A bit for each source that a node is reached from.
    reached: Vec<u64>,
    /// For each thread and source: the first stretch that is reached.
    first: Vec<[Node; 64]>,
}

impl<'a> Search<'a> {
    /// Searches from the first sources of pairs that are sorted by their sources.
    fn new(graph: &'a Graph, pairs: &[Pair]) -> Self {
        let by_source = pairs.chunk_by(|one, other| one.nodes.0 == other.nodes.0).take(64);
        let (sources, counts): (Vec<Node>, Vec<usize>) =
            by_source.map(|pairs| (pairs[0].nodes.0, pairs.len())).unzip();
        let mut reached = vec![0_u64; graph.len()];
        for (bit, &source) in sources.iter().enumerate() {
            reached[source as usize] |= 1 << bit;
        }
        spread(graph, &mut reached);
        let mut first: Vec<[Node; 64]> = Vec::new();
        for (node, &bits) in reached.iter().enumerate().filter(|(_, bits)| **bits != 0) {
            let Some(thread) = graph.thread(node as Node).map(ThreadId::index) else { continue };
            if thread >= first.len() {
                first.resize(thread + 1, [NONE; 64]);
            }
            for bit in (0..64).filter(|bit| bits >> bit & 1 == 1) {
                first[thread][bit] = first[thread][bit].min(node as Node);
            }
        }
        Search { graph, sources, pairs: counts.iter().sum(), reached, first }
    }

    /// The path from a source to a stretch, if there is one.
    fn path(&self, (source, target): (Node, Node)) -> Option<Vec<Node>> {
        let bit = self.sources.binary_search(&source).expect("a source of this search");
        let is_reached = |node: &Node| self.reached[*node as usize] >> bit & 1 == 1;
        let mut node = Some(target).filter(is_reached)?;
        let mut path = vec![node];
        loop {
            if let Some(thread) = self.graph.thread(node) {
                let first = self.first[thread.index()][bit];
                if first != node {
                    path.push(first);
                    node = first;
                }
            }
            if node == source {
                path.reverse();
                return Some(path);
            }
            node = self.graph.before(node).find(is_reached)?;
            path.push(node);
        }
    }
}

/// Chooses hubs, and keeps the paths that meet none of them.
fn with_hubs(graph: &Graph, paths: Vec<Vec<Node>>) -> Proof {
    let many = (graph.accesses() as f64).sqrt().ceil().max(2.0) as usize;
    let mut on = vec![Vec::new(); graph.len()];
    for (number, path) in paths.iter().enumerate() {
        path.iter().for_each(|&node| on[node as usize].push(number));
    }
    let mut counts: Vec<usize> = on.iter().map(Vec::len).collect();
    let mut is_served = vec![false; paths.len()];
    let mut hubs = Vec::new();
    let most = |counts: &[usize]| counts.iter().copied().enumerate().max_by_key(|(_, count)| *count);
    while let Some((hub, _)) = most(&counts).filter(|(_, count)| *count >= many) {
        hubs.push(hub as Node);
        for &number in &on[hub] {
            if !std::mem::replace(&mut is_served[number], true) {
                paths[number].iter().for_each(|&node| counts[node as usize] -= 1);
            }
        }
    }
    let paths = paths.into_iter().zip(is_served).filter(|(_, is_served)| !is_served);
    Proof { hubs, paths: paths.map(|(path, _)| path).collect() }
}
