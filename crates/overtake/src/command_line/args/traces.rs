//! `stat`, `validate` and `convert`, and which trace a command reads.

use std::path::PathBuf;

use clap::Args;
use overtake::Input;
use overtake_detect::Strictness;
use overtake_trace::Format;

use super::values::format_parser;

/// Where help lists how a trace is read.
const READING: &str = "Reading the trace";

/// A trace to read.
#[derive(Args)]
pub(crate) struct InputArguments {
    /// The trace: a file, or - for standard input; gzip, zstd and xz are recognised
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Read the trace as this format, whatever it looks like
    #[arg(long, value_name = "FORMAT", value_parser = format_parser(), help_heading = READING)]
    pub(crate) format: Option<Format>,

    /// Read what is intact of a damaged .otr file and say what is missing
    #[arg(long, help_heading = READING)]
    pub(crate) salvage: bool,
}

impl InputArguments {
    /// The trace.
    pub(crate) fn input(&self) -> Input {
        Input::new(&self.trace).with_format(self.format).with_salvage(self.salvage)
    }
}

/// A trace to read and to check.
#[derive(Args)]
pub(crate) struct CheckedInputArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Refuse a trace that is not well formed instead of repairing it
    #[arg(long, help_heading = READING)]
    pub(crate) strict: bool,
}

impl CheckedInputArguments {
    /// What to do about a trace that is not well formed.
    pub(crate) fn strictness(&self) -> Strictness {
        if self.strict { Strictness::Refuse } else { Strictness::Repair }
    }
}

/// `stat` and `validate`.
#[derive(Args)]
pub(crate) struct StatArguments {
    #[command(flatten)]
    pub(crate) checked: CheckedInputArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `convert`.
#[derive(Args)]
pub(crate) struct ConvertArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// The file to write, or - for standard output
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,

    /// The format to write; without it the name of OUT decides
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) to: Option<Format>,

    /// Print JSON about what was written
    #[arg(long)]
    pub(crate) json: bool,
}
