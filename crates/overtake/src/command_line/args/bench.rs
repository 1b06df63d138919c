//! `bench`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::traces::InputArguments;
use super::values::count_parser;

/// `bench`.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Time reading, writing and every detector on generated traces, against goals
    Speed(SpeedArguments),
    /// Measure how often the property tester finds a race, and how its time grows with the trace
    Sampling(SamplingArguments),
    /// Measure what sharing state between array elements saves, pattern by pattern, against goals
    Slimstate(SlimstateArguments),
    /// Read a trace and do nothing with it
    Read(InputArguments),
}

/// `bench slimstate`.
#[derive(Args)]
pub(crate) struct SlimstateArguments {
    /// Events of each trace
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count_parser)]
    pub(crate) events: u64,
    /// Array elements of each trace
    #[arg(long, value_name = "N", default_value = "1M", value_parser = count_parser)]
    pub(crate) elements: u64,
    /// Rounds; times and ratios of times are medians over the rounds
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
}

/// `bench speed`.
#[derive(Args)]
pub(crate) struct SpeedArguments {
    /// Where the traces go
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Events of the traces
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count_parser)]
    pub(crate) events: u64,
    /// Rounds; figures are medians
    #[arg(long, value_name = "N", default_value_t = 5)]
    pub(crate) runs: usize,
    /// Events of the file for random access; 0 leaves it out
    #[arg(long, value_name = "N", default_value = "100M", value_parser = count_parser)]
    pub(crate) big_events: u64,
}

/// `bench sampling`.
#[derive(Args)]
pub(crate) struct SamplingArguments {
    /// Where the traces go
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: PathBuf,
    /// Lengths of the traces that time is measured on, separated by commas
    #[arg(long, value_name = "N", value_delimiter = ',', default_value = "1M,10M,100M", value_parser = count_parser)]
    pub(crate) lengths: Vec<u64>,
    /// Events of the traces that success is measured on
    #[arg(long, value_name = "N", default_value = "10M", value_parser = count_parser)]
    pub(crate) events: u64,
    /// Number of threads
    #[arg(long, value_name = "N", default_value = "4", value_parser = count_parser)]
    pub(crate) threads: u64,
    /// Number of locks
    #[arg(long, value_name = "N", default_value = "4", value_parser = count_parser)]
    pub(crate) locks: u64,
    /// Part of all events that must change to make the trace race free
    #[arg(long, value_name = "PART", default_value_t = 0.01)]
    pub(crate) epsilon: f64,
    /// Probability of missing all races in such a trace
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.1)]
    pub(crate) delta: f64,
    /// Seeds that success is counted over
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) seeds: u64,
    /// Rounds of time measurements; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
}
