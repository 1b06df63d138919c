//! The settings of detectors.

use clap::Args;
use overtake::{Listener, Search};
use overtake_detect::{Entry, Judge, Options, Partitions};

use super::values::{count_parser, detector_parser, judge_parser, partitions_parser, window_parser};
use crate::console::Console;

/// Which detectors run.
#[derive(Args, Clone)]
pub(crate) struct ChosenDetectors {
    /// Detectors to run, separated by commas; if none is named, hb and syncp, or short-syncp where a trace is long
    #[arg(id = "detector", short, long = "detector", value_name = "NAME", value_delimiter = ',',
          value_parser = detector_parser())]
    named: Vec<&'static Entry>,
}

impl ChosenDetectors {
    /// A search with these detectors, or with those that suit the trace.
    pub(crate) fn search(&self, options: &DetectorArguments) -> Search {
        Search { detectors: self.named.clone(), options: options.options(), ..Search::default() }
    }
}

/// Settings of detectors.
#[derive(Args)]
#[command(next_help_heading = "Settings of detectors")]
pub(crate) struct DetectorArguments {
    /// Largest number of events from the first access of a race to the second, both counted (short-*)
    #[arg(short, long, hide_short_help = true, value_name = "EVENTS", value_parser = window_parser)]
    window: Option<u64>,

    /// Eraser's state machine instead of the definition (lock-set)
    #[arg(long, hide_short_help = true)]
    eraser: bool,

    /// Look at every event, even where it can take part in no race (syncp, osr, m2, short-*); slower, same races
    #[arg(long, hide_short_help = true)]
    no_filter: bool,

    /// Pairs of accesses between the same two locations that are judged beyond syncp; 0 is all of them (osr, short-osr, m2)
    #[arg(long, hide_short_help = true, value_name = "PAIRS")]
    instances: Option<u64>,

    /// Events that a schedule may take for its pair to be judged (m2)
    #[arg(long, hide_short_help = true, value_name = "EVENTS", value_parser = count_parser)]
    schedule_limit: Option<u64>,

    /// Stop reading once something is found
    #[arg(long)]
    first: bool,

    /// Part of the accesses that is sampled, above 0 and at most 1 (pacer, sampled-hb)
    #[arg(long, hide_short_help = true, value_name = "PART")]
    rate: Option<f64>,

    /// Events of a sampling period (pacer)
    #[arg(long, hide_short_help = true, value_name = "EVENTS", value_parser = count_parser)]
    period: Option<u64>,

    /// Part of all events that must change to make the trace race free, for a race to be found probably (rpt)
    #[arg(long, hide_short_help = true, value_name = "PART")]
    epsilon: Option<f64>,

    /// Probability that none is found nevertheless (rpt)
    #[arg(long, hide_short_help = true, value_name = "PROBABILITY")]
    delta: Option<f64>,

    /// Which races each window is searched for (rpt)
    #[arg(long, hide_short_help = true, value_name = "NAME", value_parser = judge_parser())]
    judge: Option<Judge>,

    /// Seed of all random choices (pacer, sampled-hb, rpt)
    #[arg(long, hide_short_help = true, value_name = "N")]
    seed: Option<u64>,

    /// How arrays are divided into parts that share their state (slimstate); same races
    #[arg(long, hide_short_help = true, value_name = "HOW", value_parser = partitions_parser())]
    partitions: Option<Partitions>,
}

impl DetectorArguments {
    /// Says which settings none of the detectors uses.
    pub(crate) fn warn_of_unused(&self, detectors: &[&Entry], console: Console) {
        let given = [
            ("window", self.window.is_some()),
            ("eraser", self.eraser),
            ("no-filter", self.no_filter),
            ("instances", self.instances.is_some()),
            ("schedule-limit", self.schedule_limit.is_some()),
            ("rate", self.rate.is_some()),
            ("period", self.period.is_some()),
            ("epsilon", self.epsilon.is_some()),
            ("delta", self.delta.is_some()),
            ("judge", self.judge.is_some()),
            ("seed", self.seed.is_some()),
            ("partitions", self.partitions.is_some()),
        ];
        for (name, _) in given.iter().filter(|(_, given)| *given) {
            if !detectors.iter().any(|entry| entry.options.contains(name)) {
                let detectors: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
                console.say(&format!("--{name} changes nothing for {}", detectors.join(", ")));
            }
        }
    }

    /// The settings as detectors take them.
    pub(crate) fn options(&self) -> Options {
        let mut options = Options::default();
        options.window = self.window.unwrap_or(options.window);
        options.eraser = self.eraser;
        options.no_filter = self.no_filter;
        options.first = self.first;
        options.instances = self.instances.unwrap_or(options.instances);
        options.schedule_limit = self.schedule_limit.unwrap_or(options.schedule_limit);
        options.rate = self.rate.unwrap_or(options.rate);
        options.period = self.period.unwrap_or(options.period);
        options.epsilon = self.epsilon.unwrap_or(options.epsilon);
        options.delta = self.delta.unwrap_or(options.delta);
        options.judge = self.judge.unwrap_or(options.judge);
        options.seed = self.seed.unwrap_or(options.seed);
        options.partitions = self.partitions.unwrap_or(options.partitions);
        options
    }

    /// Whether epsilon was given.
    pub(crate) fn has_epsilon(&self) -> bool {
        self.epsilon.is_some()
    }
}
