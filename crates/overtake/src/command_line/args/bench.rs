//! `bench`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::traces::InputArguments;
use super::values::{count_parser, duration_parser};

/// `bench`.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Time reading, writing and every detector on generated traces and on recordings, against goals
    Speed(SpeedArguments),
    /// Measure how often the property tester finds a race, and how its time grows with the trace
    Sampling(SamplingArguments),
    /// Measure what sharing state between array elements saves, pattern by pattern, against goals
    Slimstate(SlimstateArguments),
    /// Make the tables and figures of the papers again
    Papers(PapersArguments),
    /// Read a trace and do nothing with it
    Read(InputArguments),
}

/// `bench papers`.
#[derive(Args)]
pub(crate) struct PapersArguments {
    /// Papers, or one table of a paper: `slimstate`, `slimstate.time`; all if none is named
    #[arg(value_name = "PAPER[.TABLE]")]
    pub(crate) papers: Vec<String>,
    /// Traces, or directories of traces, to measure on instead of generated ones
    #[arg(long, value_name = "PATH", num_args = 1..)]
    pub(crate) traces: Vec<PathBuf>,
    /// Events of generated traces
    #[arg(long, value_name = "N", default_value = "1M", value_parser = count_parser)]
    pub(crate) events: u64,
    /// Runs of each analysis; times are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) repeat: usize,
    /// Stop an analysis after this time in the detector; what it found until then counts
    #[arg(long, value_name = "TIME", value_parser = duration_parser)]
    pub(crate) timeout: Option<Duration>,
    /// Stop an analysis that holds more bytes of state than this
    #[arg(long, value_name = "BYTES", value_parser = count_parser)]
    pub(crate) memory: Option<u64>,
    /// Analyses at the same time; more than one disturbs the times
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) jobs: usize,
    /// Keep what an earlier run into the same directory has measured
    #[arg(long)]
    pub(crate) resume: bool,
    /// Where tables, plots, the page and the measurements go
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: PathBuf,
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
    /// Recordings to time every detector on as well
    #[arg(long, value_name = "TRACE", num_args = 1..)]
    pub(crate) recordings: Vec<PathBuf>,
}

/// `bench sampling`.
#[derive(Args)]
pub(crate) struct SamplingArguments {
    /// Where the traces go; without it they are removed at the end
    #[arg(long, value_name = "DIR")]
    pub(crate) dir: Option<PathBuf>,
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
