//! G6: first-order formulas with the quantifiers "for all x there are y and z" as happens-before races.
//!
//! The formula is a disjunction of clauses, each of which asks for a relation between `x` and `y`, one between `y` and `z`, and one between `z` and `x`; a negated
//! relation is its complement. In layers, there is a node for each `x`, then for each clause one for each `y` and one for each `z`, and at last
//! another one for each `x`. An edge leads from a node to one of the next layer if they are related. So `x` has fitting `y` and `z` exactly if a
//! path leads from the first node of `x` to its last one.
//!
//! Each node is a thread with one write, under the locks of all edges at the node; an edge has a lock of its own. Threads come layer by layer. So a write happens before
//! another one exactly if a path leads there. The two nodes of an `x` write the same variable, all others write their own: the two writes of `x` race exactly if
//! `x` has no fitting `y` and `z`, and nothing else races.
//!
//! **Differs from the paper**, which adds threads that do nothing, so that the trace is as long as the number of pairs of nodes; they change no race.

use overtake_trace::EventIndex;

use crate::rng::Rng;

use super::vectors::{Vector, random_vectors};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Size};

/// A relation between as many things: a row for each, with a one for each thing that it is related to.
pub type Relation = Vec<Vector>;

/// The relations that a clause asks for: of `x` to `y`, of `y` to `z`, of `z` to `x`.
pub type Clause = [Relation; 3];

/// There are as many things as vectors, and as many clauses as a vector has coordinates. About half of the things have what the formula asks for.
pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    let pairs = (size.vectors * size.vectors * size.dimension) as f64;
    let density = (0.7 / pairs).cbrt();
    let clauses: Vec<Clause> = (0..size.dimension)
        .map(|_| std::array::from_fn(|_| random_vectors(size.vectors, size.vectors, density, rng)))
        .collect();
    for_all_exists_happens_before(size.vectors as usize, &clauses)
}

/// The gadget for `things` things and a formula with these clauses.
pub fn for_all_exists_happens_before(things: usize, clauses: &[Clause]) -> Gadget {
    let mut graph = Graph { writer: Writer::default(), things };
    let first: Vec<EventIndex> = (0..things)
        .map(|x| {
            let leaving = clauses.iter().enumerate().flat_map(|(clause, [relation, ..])| {
                (0..things).filter(move |&y| relation[x][y]).map(move |y| edge(clause, 0, x, y))
            });
            graph.node(&format!("s{x}"), &format!("v{x}"), leaving.collect())
        })
        .collect();
    for (number, clause) in clauses.iter().enumerate() {
        graph.middle(number, clause, 0);
        graph.middle(number, clause, 1);
    }
    let mut pairs = Vec::new();
    for (x, &earlier) in first.iter().enumerate() {
        let coming = clauses.iter().enumerate().flat_map(|(clause, [.., relation])| {
            (0..things).filter(move |&z| relation[z][x]).map(move |z| edge(clause, 2, z, x))
        });
        let later = graph.node(&format!("t{x}"), &format!("v{x}"), coming.collect());
        if !clauses.iter().any(|clause| holds(clause, x)) {
            pairs.push((earlier, later));
        }
    }
    Gadget { trace: graph.writer.finish(), expected: vec![Expected::pairs(Notion::HappensBefore, pairs)] }
}

/// Whether there are `y` and `z` that fit `x`.
fn holds([to_y, to_z, to_x]: &Clause, x: usize) -> bool {
    let things = 0..to_y.len();
    things.clone().any(|y| to_y[x][y] && things.clone().any(|z| to_z[y][z] && to_x[z][x]))
}

fn edge(clause: usize, layer: usize, from: usize, to: usize) -> String {
    format!("l{clause}.{layer}.{from}.{to}")
}

struct Graph {
    writer: Writer,
    things: usize,
}

impl Graph {
    fn node(&mut self, thread: &str, variable: &str, locks: Vec<String>) -> EventIndex {
        self.writer.guarded(thread, &locks, |writer| writer.write(thread, variable))
    }

    /// The nodes of a clause for each `y` (`layer` 0) or for each `z`.
    fn middle(&mut self, number: usize, clause: &Clause, layer: usize) {
        for (node, related) in clause[layer + 1].iter().enumerate() {
            let others = 0..self.things;
            let coming = others.clone().filter(|&other| clause[layer][other][node]);
            let leaving = others.filter(|&other| related[other]);
            let locks = coming
                .map(|other| edge(number, layer, other, node))
                .chain(leaving.map(|other| edge(number, layer + 1, node, other)));
            let name = format!("{}{number}.{node}", ["y", "z"][layer]);
            let locks = locks.collect();
            self.node(&name, &format!("v{name}"), locks);
        }
    }
}
