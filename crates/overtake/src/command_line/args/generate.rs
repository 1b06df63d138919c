//! `gen`.

use std::path::PathBuf;

use clap::Args;
use overtake_gen::Shape;
use overtake_gen::gadgets::GadgetKind;
use overtake_trace::Format;

use super::values::{count_parser, format_parser, shape_parser};

/// `gen`.
#[derive(Args)]
pub(crate) struct GenArguments {
    /// What to make
    #[arg(value_name = "SHAPE", required_unless_present = "list", value_parser = shape_parser())]
    pub(crate) shape: Option<Product>,

    /// List the shapes, with the parameters that each of them uses
    #[arg(long, conflicts_with = "shape")]
    pub(crate) list: bool,

    #[command(flatten)]
    pub(crate) parameters: WorkloadArguments,

    /// The file to write, or - for standard output
    #[arg(short, long, value_name = "FILE", required_unless_present = "list")]
    pub(crate) out: Option<PathBuf>,

    /// The format to write; without it the name of the file decides
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) to: Option<Format>,

    /// Write the races that must be found to this file, as JSON (hard cases)
    #[arg(long, value_name = "FILE")]
    pub(crate) expected: Option<PathBuf>,

    /// Print JSON about what was made
    #[arg(long)]
    pub(crate) json: bool,
}

/// What can be generated.
#[derive(Clone, Copy)]
pub(crate) enum Product {
    /// A workload.
    Shape(&'static Shape),
    /// A constructed hard case.
    Gadget(&'static GadgetKind),
}

/// The parameters of a workload or a hard case. Those that are left out have the shape's defaults.
#[derive(Args)]
pub(crate) struct WorkloadArguments {
    /// Number of events
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) events: Option<u64>,
    /// Number of threads, the main thread included
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) threads: Option<u64>,
    /// Number of locks
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) locks: Option<u64>,
    /// Number of variables, or of array elements
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) variables: Option<u64>,
    /// Fraction of accesses that touch shared variables
    #[arg(long, value_name = "FRACTION")]
    pub(crate) sharing: Option<f64>,
    /// Fraction of shared accesses without their synchronisation
    #[arg(long, value_name = "FRACTION")]
    pub(crate) raciness: Option<f64>,
    /// Most locks a thread holds at once
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) nesting: Option<u64>,
    /// Events between the two accesses of a planted race
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) distance: Option<u64>,
    /// Most source locations; 0 for none
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) locations: Option<u64>,
    /// Fraction of events that must change to make the trace race free
    #[arg(long, value_name = "FRACTION")]
    pub(crate) epsilon: Option<f64>,
    /// Number of vectors of a hard case
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) vectors: Option<u64>,
    /// Length of the vectors of a hard case
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) dimension: Option<u64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}
