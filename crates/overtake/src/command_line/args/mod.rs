//! What can be typed. Help, completions and manual pages all come from these definitions.
//!
//! This file defines the commands. Their options are in one file for each group of commands; `values` turns words into values.

mod bench;
mod compare;
mod crew;
mod detectors;
mod examples;
mod findings;
mod generate;
mod programs;
mod traces;
mod values;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use overtake_detect::Registry;
use overtake_report::{RENDERERS, find_renderer};

pub(crate) use bench::{
    BenchCommand, PapersArguments, SamplingArguments, SlimstateArguments, SpeedArguments,
};
pub(crate) use compare::{CompareArguments, CompareForm};
pub(crate) use crew::{ClusterArguments, read_hosts};
pub(crate) use findings::{
    AnalyzeArguments, AskArguments, BaselineArguments, CertifiedNotion, CertifyArguments, DiffArguments,
    ExplainArguments, ReportArguments, ReportTarget, StoredArguments, WitnessArguments,
};
pub(crate) use generate::{GenArguments, Product, WorkloadArguments};
pub(crate) use programs::{
    BuildArguments, CompilerArguments, ConfirmArguments, RecordArguments, RunArguments, SealArguments,
    TrialArguments,
};
pub(crate) use traces::{ConvertArguments, InputArguments, StatArguments};
pub(crate) use values::report_parser;

use examples::*;

/// The command line.
#[derive(Parser)]
#[command(
    name = "overtake",
    version,
    about = "Finds the data races of one run of a concurrent program, and those that another schedule of the run would have",
    after_help = EXIT_CODES,
    arg_required_else_help = true,
    help_template = "{about}\n\n{usage-heading} {usage}\n\n{before-help}Options:\n{options}{after-help}",
    max_term_width = 110
)]
pub(crate) struct Arguments {
    /// Print only results and errors; for each race only its headline
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Print everything that is known about each race, and what each detector counted
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 66 races reported, 1 error, 2 wrong usage, else 0.
run, record, build, cc and c++ end with the exit code of what they ran, unless they report races or fail themselves.
Results go to standard output, everything else to standard error.";

/// The commands.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a program and report its data races, those that happened and those that almost did
    #[command(after_help = RUN_EXAMPLES)]
    Run(RunArguments),

    /// Run a program and keep what it does as traces, one for each process
    #[command(after_help = RECORD_EXAMPLES)]
    Record(RecordArguments),

    /// Compile or link C as `cc` does, so that the program can be recorded
    #[command(after_help = COMPILER_EXAMPLES, disable_help_flag = true)]
    Cc(CompilerArguments),

    /// Compile or link C++ as `c++` does, so that the program can be recorded
    #[command(name = "c++", after_help = COMPILER_EXAMPLES, disable_help_flag = true)]
    Cxx(CompilerArguments),

    /// Run a build with `overtake cc` and `overtake c++` as its compilers
    #[command(after_help = BUILD_EXAMPLES)]
    Build(BuildArguments),

    /// Turn the log of a recorded process into a trace
    Seal(SealArguments),

    /// Try out recording with each compiler, and say what to install
    Doctor,

    /// Report the races in the log of a program that was started directly, or list such logs
    Finish {
        /// The log: a directory called overtake.RANDOM.PROCESS.NUMBER; without it, all logs that were not reported are listed
        #[arg(value_name = "LOG")]
        log: Option<PathBuf>,
    },

    /// Report the data races of a trace
    #[command(after_help = ANALYZE_EXAMPLES)]
    Analyze(AnalyzeArguments),

    /// Start the processes of a job that share the work of `analyze`, here or on other machines
    #[command(after_help = CLUSTER_EXAMPLES)]
    Cluster(ClusterArguments),

    /// Render stored results again, without analysing
    #[command(after_help = REPORT_EXAMPLES)]
    Report(StoredArguments),

    /// Show which findings of a result are new and which are gone
    #[command(after_help = DIFF_EXAMPLES)]
    Diff(DiffArguments),

    /// Note races as known, so that only new ones fail a run with --baseline
    #[command(after_help = BASELINE_EXAMPLES)]
    Baseline(BaselineArguments),

    /// Run the program of a result again and see its races happen
    #[command(after_help = CONFIRM_EXAMPLES)]
    Confirm(ConfirmArguments),

    /// Print everything about one race
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),

    /// Show a checked schedule in which a predicted race or deadlock happens
    #[command(after_help = WITNESS_EXAMPLES)]
    Witness(WitnessArguments),

    /// Tell whether two accesses are a race, and if not, what keeps them apart
    #[command(after_help = ASK_EXAMPLES)]
    Ask(AskArguments),

    /// Prove that a trace has a race or none, and check such a proof
    #[command(after_help = CERTIFY_EXAMPLES)]
    Certify(CertifyArguments),

    /// Run detectors on traces and print a row for each, with what it found and what it took
    #[command(after_help = COMPARE_EXAMPLES)]
    Compare(CompareArguments),

    /// Print what a trace is made of
    #[command(after_help = STAT_EXAMPLES)]
    Stat(StatArguments),

    /// Tell whether a trace is well formed, and what has to be repaired
    #[command(after_help = VALIDATE_EXAMPLES)]
    Validate(StatArguments),

    /// Write a trace in another format
    #[command(after_help = CONVERT_EXAMPLES)]
    Convert(ConvertArguments),

    /// Make a trace: a workload of some shape, or a constructed hard case with known races
    #[command(after_help = GEN_EXAMPLES)]
    Gen(GenArguments),

    /// Measure speed and memory of detectors on generated traces
    #[command(subcommand)]
    Bench(BenchCommand),

    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },

    /// Print the manual page, or write the pages of all commands to a directory
    Man {
        /// Where to write the pages
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
}

/// Commands by what people want, the usual ones first.
const GROUPS: [(&str, &[&str]); 4] = [
    ("Check a program", &["run", "confirm", "build", "cc", "c++", "finish", "doctor"]),
    ("Work with findings", &["report", "explain", "baseline", "diff"]),
    (
        "Work with traces",
        &["record", "seal", "analyze", "witness", "ask", "compare", "stat", "validate", "convert", "gen"],
    ),
    ("Others", &["certify", "cluster", "bench", "completions", "man", "help"]),
];

/// The commands with what they do, in groups.
fn grouped(command: &clap::Command) -> String {
    let about = |name: &str| {
        let found = command.get_subcommands().find(|command| command.get_name() == name);
        found.and_then(clap::Command::get_about).map(ToString::to_string).unwrap_or_default()
    };
    let tables = GROUPS.iter().map(|(heading, names)| {
        let rows: Vec<_> = names.iter().map(|name| (*name, about(name))).collect();
        table(heading, rows.iter().map(|(name, about)| (*name, about.as_str())))
    });
    tables.collect::<Vec<_>>().join("\n")
}

/// The definitions, with the tables of detectors and renderers filled in.
pub(crate) fn command(registry: Registry) -> clap::Command {
    let mut command = Arguments::command();
    command.build();
    let groups = grouped(&command);
    let detectors = table("Detectors", registry.entries().iter().map(|entry| (entry.name, entry.summary)));
    let renderers = table("Formats", RENDERERS.iter().map(|renderer| (renderer.name, renderer.summary)));
    detectors::with_registry(Arguments::command(), registry)
        .before_help(groups)
        .mut_subcommand("analyze", |analyze| with_tables(analyze, &[&detectors, &renderers]))
        .mut_subcommand("run", |run| with_tables(run, &[&renderers]))
        .mut_subcommand("report", |report| without_schedules(with_tables(report, &[&renderers])))
        .mut_subcommand("confirm", without_schedules)
}

/// Stored results have their schedules: these commands build none.
fn without_schedules(command: clap::Command) -> clap::Command {
    command.mut_arg("witnesses", |argument| argument.hide(true))
}

fn with_tables(command: clap::Command, tables: &[&str]) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    // The tables are for those who ask for everything: `--help`, not `-h`.
    command.after_long_help(format!("{}\n{examples}", tables.join("\n")))
}

/// What to type instead of an option that does not exist: `--html x` is `--report html=x`.
pub(crate) fn meant(error: &clap::Error) -> Option<String> {
    let ContextValue::String(word) = error.get(ContextKind::InvalidArg)? else { return None };
    let is_known = || find_renderer(format_in(word)).is_some();
    (error.kind() == ErrorKind::UnknownArgument && is_known()).then(|| unknown_option(word))
}

/// The message about an option that does not exist, with what to type instead.
pub(crate) fn unknown_option(word: &str) -> String {
    match find_renderer(format_in(word)) {
        Some(renderer) => format!("there is no option {word}; write --report {}=FILE", renderer.name),
        None => format!("there is no option {word}; see --help"),
    }
}

/// `html` of `--html=x`.
fn format_in(word: &str) -> &str {
    word.trim_start_matches('-').split('=').next().unwrap_or_default()
}

fn table<'a>(heading: &str, rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.fold(format!("{heading}:\n"), |table, (name, summary)| {
        format!("{table}  {name:width$}  {summary}\n")
    })
}
