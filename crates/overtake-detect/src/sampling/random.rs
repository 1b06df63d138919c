//! Random numbers by position: the n-th number of a seed, without computing those before it.
//!
//! What is sampled depends on the seed and on the index of an event alone, so that it is the same however a trace is read.
//! The function is the finaliser of SplitMix64 (Steele, Lea and Flood, *Fast Splittable Pseudorandom Number Generators*,
//! OOPSLA 2014), applied to a stream that the seed picks.

/// The numbers of one seed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Numbers {
    stream: u64,
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

impl Numbers {
    pub(crate) fn new(seed: u64) -> Numbers {
        Numbers { stream: scramble(seed.wrapping_add(STEP)) }
    }

    /// The number at `position`.
    #[inline]
    pub(crate) fn at(self, position: u64) -> u64 {
        scramble(self.stream.wrapping_add(position.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// The number at `position`, brought below `bound`, which is not 0. The bias is below `bound` / 2^64.
    pub(crate) fn below(self, position: u64, bound: u64) -> u64 {
        ((u128::from(self.at(position)) * u128::from(bound)) >> 64) as u64
    }
}

#[inline]
fn scramble(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Something that happens at a position with a given probability.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Chance {
    numbers: Numbers,
    /// Happens if the number is below this; none is always.
    below: Option<u64>,
}

impl Chance {
    /// `rate` is between 0 and 1.
    pub(crate) fn new(seed: u64, rate: f64) -> Chance {
        let below = (rate < 1.0).then_some((rate * 2_f64.powi(64)) as u64);
        Chance { numbers: Numbers::new(seed), below }
    }

    /// Whether it happens at `position`.
    #[inline]
    pub(crate) fn at(self, position: u64) -> bool {
        self.below.is_none_or(|below| self.numbers.at(position) < below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_come_at_their_rate_and_differ_by_seed() {
        for (rate, expected) in
            [(0.0, 0..=0), (0.03, 2800..=3200), (0.5, 49_200..=50_800), (1.0, 100_000..=100_000)]
        {
            let count = |seed| (0..100_000).filter(|&position| Chance::new(seed, rate).at(position)).count();
            assert!(expected.contains(&count(1)) && expected.contains(&count(2)), "{rate}: {}", count(1));
        }
        let agree = (0..10_000).filter(|&n| Chance::new(1, 0.5).at(n) == Chance::new(2, 0.5).at(n)).count();
        assert!((4800..=5200).contains(&agree), "{agree}");
    }

    #[test]
    fn numbers_below_a_bound_are_even() {
        let mut counts = [0; 10];
        (0..100_000).for_each(|n| counts[Numbers::new(5).below(n, 10) as usize] += 1);
        assert!(counts.iter().all(|count| (9_600..10_400).contains(count)), "{counts:?}");
    }
}
