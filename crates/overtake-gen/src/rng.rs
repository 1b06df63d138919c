//! The random numbers behind every generated trace.
//!
//! The generator is written here and not taken from a crate, because the numbers determine the benchmark: the same seed must give the
//! same trace with every version of every dependency, on every platform. For the same reason there are no logarithms or
//! other functions whose last bit differs between platforms, only integer arithmetic and IEEE basic operations.
//!
//! The generator is wyrand (Wang Yi, public domain): one addition and one wide multiplication per number, which passes
//! the usual statistical batteries. The seed is scrambled first, so that seeds 1 and 2 have nothing in common.

/// A seeded stream of random numbers, the same on every platform and in every version.
#[derive(Clone, Debug)]
pub(crate) struct Rng {
    state: u64,
}

const STEP: u64 = 0xa076_1d64_78bd_642f;
const MIX: u64 = 0xe703_7ed1_a0b4_28db;

impl Rng {
    pub(crate) fn new(seed: u64) -> Rng {
        let scrambled = fold(seed ^ MIX, STEP) ^ seed.rotate_left(32);
        let mut rng = Rng { state: scrambled };
        rng.next();
        rng
    }

    /// 64 random bits.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        fold(self.state, self.state ^ MIX)
    }

    /// A number below `bound`; 0 if `bound` is 0. The bias is below `bound` / 2^32.
    #[inline]
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        (((self.next() >> 32) * u64::from(bound)) >> 32) as u32
    }

    /// A number in `[0, 1)`.
    pub(crate) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// True with the given probability.
    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.unit() < probability
    }

    /// How many trials until an event with probability `rate` happens: between 1 and 2/rate, 1/rate on average.
    /// `u64::MAX` (never) for a rate of 0.
    pub(crate) fn gap(&mut self, rate: f64) -> u64 {
        if rate <= 0.0 {
            return u64::MAX;
        }
        1 + (self.unit() * (2.0 / rate - 1.0)) as u64
    }
}

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide >> 64) as u64 ^ wide as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_of_a_seed_never_changes() {
        let mut rng = Rng::new(7);
        let numbers: Vec<u64> = (0..3).map(|_| rng.next()).collect();
        let mut again = Rng::new(7);
        assert_eq!(numbers, (0..3).map(|_| again.next()).collect::<Vec<_>>());
        assert_eq!(numbers, STREAM_OF_SEED_7);
    }

    /// From the formula, computed elsewhere. If this line has to change, every generated benchmark trace changes.
    const STREAM_OF_SEED_7: [u64; 3] =
        [11_089_925_260_467_706_572, 17_422_030_307_473_434_772, 10_903_164_620_176_639_318];

    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut rng = Rng::new(1);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[rng.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|count| (9_500..10_500).contains(count)), "{counts:?}");
    }

    #[test]
    fn gaps_have_the_mean_of_their_rate() {
        let mut rng = Rng::new(2);
        let sum: u64 = (0..10_000).map(|_| rng.gap(0.01)).sum();
        assert!((950_000..1_050_000).contains(&sum), "{sum}");
        assert_eq!(rng.gap(0.0), u64::MAX);
        assert_eq!(rng.gap(1.0), 1);
    }
}
