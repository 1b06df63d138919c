//! `pacer`: happens-before races whose first access falls into a sampled period.
//!
//! **Source.** Bond, Coons and McKinley, *PACER: Proportional Detection of Data Races*, PLDI 2010.
//! **Answer.** Races between a sampled access and a later one, sampled or not. A race whose first access is the last of
//! the variable before the second is reported if its first access is sampled, which has the probability of the sampling
//! rate. With rate 1 all second events of happens-before races are reported, as `hb` does.
//! **Periods.** The trace is cut into periods of equally many events, each sampled with the probability of the rate by the
//! seed and its number alone: a choice that nothing in the program can influence.
//! **Handlers.** In a sampled period those of `hb`. Else an access is judged against what is kept of its variable and
//! is not kept itself; it takes the place of what FastTrack would have had it replace, so that what is kept dies out: a
//! write drops all there is, a read drops the only read if it is ordered before it, else the read of its own thread.
//! **Differs from the paper.** In sampled periods every race is kept in view, not only the first of a variable: FastTrack's
//! rules, which skip accesses in an epoch that was seen, would break the promise for later races. In the paper, all threads advance their time when a sampled period begins, and clocks carry a
//! version beside their times so that joins can be skipped. Here a thread's time advances before its first sampled access
//! since it was handed on (`accesses.rs`), which is as late as it can be and costs idle threads nothing, and the
//! times serve as versions. Clocks are shared snapshots, which are the paper's shallow copies.
//! **Cost.** As `accesses.rs`; memory for variables follows the sampled accesses that are not replaced yet.

use overtake_trace::EventIndex;

use super::accesses::{SampledAccesses, Sampler, Sampling};
use super::random::Chance;
use crate::passes::Analysis;
use crate::settings::{OptionError, Options};

/// Looks for races with accesses in sampled periods.
type Pacer = SampledAccesses<Periods>;

/// Sampled periods.
#[derive(Debug)]
struct Periods {
    chance: Chance,
    length: u64,
    /// The end of the present period, and whether it is sampled.
    until: u64,
    is_sampled: bool,
}

impl Sampling for Periods {
    const JUDGES_ALL: bool = true;

    #[inline]
    fn takes(&mut self, EventIndex(index): EventIndex) -> bool {
        if index >= self.until {
            let period = index / self.length;
            self.until = (period + 1).saturating_mul(self.length);
            self.is_sampled = self.chance.at(period);
        }
        self.is_sampled
    }
}

/// Starts the analysis.
pub(crate) fn start(options: &Options) -> Result<Analysis, OptionError> {
    let chance = Chance::new(options.seed, options.rate);
    let periods = Periods { chance, length: options.period, until: 0, is_sampled: false };
    Ok(Analysis::one_pass(Pacer::new(Sampler::new(periods))))
}
