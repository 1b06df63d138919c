//! G3: hitting set as lock-set races.
//!
//! Thread 0 acquires the locks `l_i`, one for each `y_i` of the second set, writes `z_k` for each `x_k` of the first, and releases the
//! locks. Thread `j`, one per coordinate, holds `l_i` exactly if `y_i` has a zero at `j`, and writes `z_k` exactly if `x_k`
//! has a one there. So `l_i` protects `z_k` exactly if `x_k` and `y_i` are orthogonal, and `z_k` is a lock-set race exactly if
//! `x_k` is orthogonal to no vector of the second set.

use overtake_trace::VarId;

use crate::rng::Rng;

use super::vectors::{Vector, balanced_density, ones, orthogonal, random_vectors};
use super::writer::Writer;
use super::{Expected, Gadget, Notion, Races, Size};

pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    // Denser than for pairs, so that a vector shares a one with *all* others about half the time.
    let density = (1.6 * balanced_density(size.dimension)).min(0.9);
    let first = random_vectors(size.vectors, size.dimension, density, rng);
    let second = random_vectors(size.vectors, size.dimension, density, rng);
    hitting_set_lock_set(&first, &second)
}

/// The gadget for two sets of vectors, all of the same length. The second set must not be empty.
pub fn hitting_set_lock_set(first: &[Vector], second: &[Vector]) -> Gadget {
    let mut writer = Writer::default();
    let vars: Vec<VarId> = (0..first.len()).map(|number| writer.var(&format!("z{number}"))).collect();
    let dimension = first.first().map_or(0, Vec::len);
    let hold = |writer: &mut Writer, thread: &str, locks: &[usize], written: &[usize]| {
        for lock in locks {
            writer.acquire(thread, &format!("l{lock}"));
        }
        for var in written {
            writer.write(thread, &format!("z{var}"));
        }
        for lock in locks.iter().rev() {
            writer.release(thread, &format!("l{lock}"));
        }
    };
    let all_locks: Vec<usize> = (0..second.len()).collect();
    let all_vars: Vec<usize> = (0..first.len()).collect();
    hold(&mut writer, "t0", &all_locks, &all_vars);
    for at in 0..dimension {
        let locks: Vec<usize> = (0..second.len()).filter(|&number| !second[number][at]).collect();
        let written: Vec<usize> = (0..first.len()).filter(|&number| first[number][at]).collect();
        hold(&mut writer, &format!("t{}", at + 1), &locks, &written);
    }
    let races = |vector: &Vector| {
        ones(vector).next().is_some() && second.iter().all(|other| !orthogonal(vector, other))
    };
    let racy = first.iter().zip(&vars).filter(|(vector, _)| races(vector)).map(|(_, &var)| var).collect();
    let expected = Expected { notion: Notion::LockSet, races: Races::Variables(racy) };
    Gadget { trace: writer.finish(), expected: vec![expected] }
}
