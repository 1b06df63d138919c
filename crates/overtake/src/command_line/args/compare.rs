//! `compare`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use overtake_detect::Strictness;
use overtake_trace::Format;

use super::detectors::{ChosenDetectors, DetectorArguments};
use super::values::{count_parser, duration_parser, format_parser};

/// `compare`.
#[derive(Args)]
pub(crate) struct CompareArguments {
    /// Traces, or directories of traces; - is standard input
    #[arg(value_name = "TRACE", required = true)]
    pub(crate) traces: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Read the traces as this format, whatever they look like
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) format: Option<Format>,

    /// Read what is intact of damaged .otr files and say what is missing
    #[arg(long)]
    pub(crate) salvage: bool,

    /// Refuse a trace that is not well formed instead of repairing it
    #[arg(long)]
    strict: bool,

    /// Runs of each detector; times are medians
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) repeat: usize,

    /// Stop a detector after this time; what it found until then counts
    #[arg(long, value_name = "TIME", value_parser = duration_parser)]
    pub(crate) timeout: Option<Duration>,

    /// Stop a detector that holds more bytes of state than this
    #[arg(long, value_name = "BYTES", value_parser = count_parser)]
    pub(crate) memory: Option<u64>,

    /// Print JSON, a line for each trace
    #[arg(long, conflicts_with_all = ["csv", "latex", "repeat", "timeout", "memory"])]
    json: bool,

    /// Print comma-separated values
    #[arg(long, conflicts_with = "latex")]
    csv: bool,

    /// Print a LaTeX table
    #[arg(long)]
    latex: bool,
}

/// How a comparison is printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompareForm {
    /// For people.
    Text,
    /// A line for each trace.
    Json,
    /// A line for each trace and detector.
    Csv,
    /// A table.
    Latex,
}

impl CompareArguments {
    /// How the comparison is printed.
    pub(crate) fn form(&self) -> CompareForm {
        match (self.json, self.csv, self.latex) {
            (true, ..) => CompareForm::Json,
            (_, true, _) => CompareForm::Csv,
            (.., true) => CompareForm::Latex,
            _ => CompareForm::Text,
        }
    }

    /// What to do about a trace that is not well formed.
    pub(crate) fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Refuse } else { Strictness::Repair }
    }
}
