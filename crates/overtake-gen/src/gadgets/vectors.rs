//! Vectors of bits, and random ones with about as many orthogonal pairs as others.

use crate::rng::Rng;

/// A vector of bits.
pub type Vector = Vec<bool>;

/// Positions of the ones.
pub(super) fn ones(vector: &[bool]) -> impl Iterator<Item = usize> {
    vector.iter().enumerate().filter(|&(_, &bit)| bit).map(|(at, _)| at)
}

/// Whether two vectors have no one in common.
pub(super) fn orthogonal(first: &[bool], second: &[bool]) -> bool {
    first.iter().zip(second).all(|(a, b)| !(a & b))
}

/// `count` random vectors with ones of the given density.
pub(super) fn random_vectors(count: u64, dimension: u64, density: f64, rng: &mut Rng) -> Vec<Vector> {
    (0..count).map(|_| (0..dimension).map(|_| rng.chance(density)).collect()).collect()
}

/// The density at which two random vectors have no one in common with a probability of about a half: a coordinate is one
/// in both with probability density², which is to be about 0.7 / dimension.
pub(super) fn balanced_density(dimension: u64) -> f64 {
    (0.7 / dimension as f64).sqrt()
}
