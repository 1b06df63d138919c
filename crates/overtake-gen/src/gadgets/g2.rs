//! G2: orthogonal vectors as lock-cover races.
//!
//! Two threads, one per set. Each vector is one write of the same variable, under lock `k` exactly if coordinate `k` is one. Two
//! writes of different threads have disjoint locks exactly if their vectors are orthogonal.

use crate::rng::Rng;

use super::vectors::{Vector, balanced_density, ones, orthogonal, random_vectors};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Size};

pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    let density = balanced_density(size.dimension);
    let first = random_vectors(size.vectors, size.dimension, density, rng);
    let second = random_vectors(size.vectors, size.dimension, density, rng);
    orthogonal_vectors_lock_cover(&first, &second)
}

/// The gadget for two sets of vectors, all of the same length.
pub fn orthogonal_vectors_lock_cover(first: &[Vector], second: &[Vector]) -> Gadget {
    let mut writer = Writer::default();
    let mut write_all = |thread: &str, vectors: &[Vector]| {
        let write = |vector: &Vector| {
            let locks: Vec<String> = ones(vector).map(|at| format!("l{at}")).collect();
            writer.guarded(thread, &locks, |writer| writer.write(thread, "z"))
        };
        vectors.iter().map(write).collect::<Vec<_>>()
    };
    let earlier = write_all("x", first);
    let later = write_all("y", second);
    let mut pairs = Vec::new();
    for (vector, &write) in first.iter().zip(&earlier) {
        let racing = second.iter().zip(&later).filter(|(other, _)| orthogonal(vector, other));
        pairs.extend(racing.map(|(_, &second_write)| (write, second_write)));
    }
    Gadget { trace: writer.finish(), expected: vec![Expected::pairs(Notion::LockCover, pairs)] }
}
