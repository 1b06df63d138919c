//! G1: orthogonal vectors as happens-before races.
//!
//! For each `x` of the first set: thread `x.0` does `w z; cs(lx)`, and for each one of `x`, at coordinate `i`, thread `x.i` does
//! `cs(lx); cs(d_i)`. The last thread of a coordinate also does `cs(y.i)` for every `y` of the second set. Then for each `y`,
//! thread `y` does `cs(y.i)` for each of its ones, and `r z`.
//!
//! The write of `x` reaches the read of `y` through `lx`, `d_i` and `y.i` exactly if both have a one at `i`. So the pair races
//! exactly if `x` and `y` are orthogonal. Nothing reaches a write, so all writes race with each other.
//!
//! A detector that remembers only the last write can miss the race with the read of `y`.

use overtake_trace::EventIndex;

use crate::rng::Rng;

use super::vectors::{Vector, balanced_density, ones, orthogonal, random_vectors};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Size};

pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    let density = balanced_density(size.dimension);
    let first = random_vectors(size.vectors, size.dimension, density, rng);
    let second = random_vectors(size.vectors, size.dimension, density, rng);
    orthogonal_vectors_happens_before(&first, &second)
}

/// The gadget for two sets of vectors, all of the same length.
pub fn orthogonal_vectors_happens_before(first: &[Vector], second: &[Vector]) -> Gadget {
    let mut writer = Writer::default();
    let writes: Vec<EventIndex> =
        (0..first.len()).map(|number| write_first(&mut writer, first, number, second.len())).collect();
    let reads: Vec<EventIndex> = second
        .iter()
        .enumerate()
        .map(|(number, vector)| {
            let thread = format!("y{number}");
            ones(vector).for_each(|at| writer.cs(&thread, &format!("y{number}.{at}")));
            writer.read(&thread, "z")
        })
        .collect();
    let mut pairs = Vec::new();
    for (number, vector) in first.iter().enumerate() {
        pairs.extend(writes[number + 1..].iter().map(|&later| (writes[number], later)));
        let racing = second.iter().zip(&reads).filter(|(other, _)| orthogonal(vector, other));
        pairs.extend(racing.map(|(_, &read)| (writes[number], read)));
    }
    Gadget { trace: writer.finish(), expected: vec![Expected::pairs(Notion::HappensBefore, pairs)] }
}

/// The threads of one vector of the first set; returns its write.
fn write_first(writer: &mut Writer, first: &[Vector], number: usize, readers: usize) -> EventIndex {
    let own_lock = format!("l{number}");
    let thread = format!("x{number}.0");
    let write = writer.write(&thread, "z");
    writer.cs(&thread, &own_lock);
    for at in ones(&first[number]) {
        let thread = format!("x{number}.{}", at + 1);
        writer.cs(&thread, &own_lock);
        writer.cs(&thread, &format!("d{at}"));
        let is_last = first[number + 1..].iter().all(|later| !later[at]);
        if is_last {
            (0..readers).for_each(|reader| writer.cs(&thread, &format!("y{reader}.{at}")));
        }
    }
    write
}
