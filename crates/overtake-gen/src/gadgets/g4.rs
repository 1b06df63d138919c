//! G4: orthogonal triples of vectors as sync-preserving races.
//!
//! Three sets of vectors of length d. Thread `X_a` writes `z` under lock `X` after `cs(l_k)` for each one of its vector; thread
//! `Y_b` reads `z` under lock `Y` after `sync(s_b)` and `cs(m_k)` for each one of its vector. Thread `K_k` walks through the third
//! set, once for each coordinate: at a vector with a one at `k` it holds `l_k` in the first half of its turn and `m_k` in the
//! second, overlapping in between. Thread `T` walks along with rounds of `sync(e_k)`, holding `Y` from the middle of one turn to
//! the middle of the next, so that a reordering that stops in front of the accesses stops all `K_k` in the same turn. Such a
//! stop is possible exactly if no `K_k` there holds both a lock that `X_a` and one that `Y_b` need.
//!
//! The write of `X_a` and the read of `Y_b` are a sync-preserving race exactly if some vector of the third set has, together with
//! theirs, no coordinate at which all three are one. There are no other sync-preserving races.
//!
//! **Differs from the paper** in how the `K_k` and `T` alternate: strict alternation as printed is impossible, because both have
//! the same number of rounds and `K_k` would have to have the first and the last one. They alternate in pairs.

use overtake_trace::EventIndex;

use crate::rng::Rng;

use super::vectors::{Vector, balanced_density, ones, random_vectors};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Size};

pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    // Dense enough that not every pair finds its third vector.
    let density = (1.2 * balanced_density(size.dimension).sqrt()).min(0.9);
    let sets: [Vec<Vector>; 3] =
        std::array::from_fn(|_| random_vectors(size.vectors, size.dimension, density, rng));
    three_orthogonal_vectors_sync_preserving(&sets[0], &sets[1], &sets[2])
}

/// The gadget for three sets of vectors, all of the same length. The third set must not be empty.
pub fn three_orthogonal_vectors_sync_preserving(
    first: &[Vector],
    second: &[Vector],
    third: &[Vector],
) -> Gadget {
    let mut writer = Writer::default();
    walk_third_set(&mut writer, third, second.len());
    for (number, vector) in first.iter().enumerate() {
        ones(vector).for_each(|at| writer.cs(&format!("X{number}"), &format!("l{at}")));
    }
    for (number, vector) in second.iter().enumerate() {
        let thread = format!("Y{number}");
        writer.sync(&thread, &format!("s{number}"));
        ones(vector).for_each(|at| writer.cs(&thread, &format!("m{at}")));
    }
    let writes: Vec<EventIndex> = (0..first.len())
        .map(|number| {
            let thread = format!("X{number}");
            writer.guarded(&thread, &["X".into()], |writer| writer.write(&thread, "z"))
        })
        .collect();
    writer.cs("T", "X");
    writer.release("T", "Y");
    let reads: Vec<EventIndex> = (0..second.len())
        .map(|number| {
            let thread = format!("Y{number}");
            writer.guarded(&thread, &["Y".into()], |writer| writer.read(&thread, "z"))
        })
        .collect();
    let mut pairs = Vec::new();
    for (x, &write) in first.iter().zip(&writes) {
        let racing = second.iter().zip(&reads).filter(|(y, _)| third.iter().any(|z| !meet(x, y, z)));
        pairs.extend(racing.map(|(_, &read)| (write, read)));
    }
    Gadget { trace: writer.finish(), expected: vec![Expected::pairs(Notion::SyncPreserving, pairs)] }
}

/// Whether all three vectors are one at some coordinate.
fn meet(x: &[bool], y: &[bool], z: &[bool]) -> bool {
    ones(x).any(|at| y[at] && z[at])
}

/// The threads `K_k` and `T`, up to the place where `T` holds `Y` in its last turn.
fn walk_third_set(writer: &mut Writer, third: &[Vector], readers: usize) {
    let dimension = third.first().map_or(0, Vec::len);
    let round = |writer: &mut Writer| (0..dimension).for_each(|at| writer.sync("T", &format!("e{at}")));
    let first_half = |writer: &mut Writer, z: &Vector| {
        for (at, &bit) in z.iter().enumerate() {
            let thread = format!("K{at}");
            if bit {
                writer.acquire(&thread, &format!("l{at}"));
            }
            writer.sync(&thread, &format!("e{at}"));
        }
    };
    let second_half = |writer: &mut Writer, z: &Vector| {
        for (at, &bit) in z.iter().enumerate() {
            let thread = format!("K{at}");
            if bit {
                writer.acquire(&thread, &format!("m{at}"));
                writer.release(&thread, &format!("l{at}"));
            }
            writer.sync(&thread, &format!("e{at}"));
            if bit {
                writer.release(&thread, &format!("m{at}"));
            }
        }
    };
    let Some((last, _)) = third.split_last() else { return };
    first_half(writer, &third[0]);
    round(writer);
    (0..readers).for_each(|number| writer.sync("T", &format!("s{number}")));
    for turn in third.windows(2) {
        writer.acquire("T", "Y");
        round(writer);
        second_half(writer, &turn[0]);
        first_half(writer, &turn[1]);
        round(writer);
        writer.release("T", "Y");
    }
    writer.acquire("T", "Y");
    round(writer);
    second_half(writer, last);
}
