//! `sampled-hb`: happens-before races between sampled accesses.
//!
//! **Source.** The problem is that of Zhang, Lim, Al Thokair, Mathur and Viswanathan, *Efficient Timestamping for Sampling-Based Race
//! Detection*, PLDI 2025; the formulation is our own, see `accesses.rs`.
//! **Answer.** Exactly the sampled accesses that race with an earlier sampled access. With rate 1 these are all second
//! events of happens-before races, as `hb` reports them.
//! **Sample.** Each access is sampled with the probability of the rate, by the seed and its index alone.
//! **Cost.** As `accesses.rs`. A race is found with the probability of the square of the rate; `pacer` does better
//! where long runs of events may be sampled as a whole.

use overtake_trace::EventIndex;

use super::accesses::{SampledAccesses, Sampler, Sampling};
use super::random::Chance;
use crate::passes::Analysis;
use crate::settings::{OptionError, Options};

/// Looks for races between sampled accesses.
type SampledHappensBefore = SampledAccesses<Each>;

/// Each access has its own chance.
#[derive(Debug)]
struct Each(Chance);

impl Sampling for Each {
    const JUDGES_ALL: bool = false;

    #[inline]
    fn takes(&mut self, EventIndex(index): EventIndex) -> bool {
        self.0.at(index)
    }
}

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    let chance = Chance::new(options.seed, options.rate);
    Ok(Analysis::one_pass(SampledHappensBefore::new(Sampler::new(Each(chance)))))
}
