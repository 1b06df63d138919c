//! What can be typed. Help, completions and manual pages all come from these definitions.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use overtake_detect::{DETECTORS, Entry, Judge, Notion, Options, Partitions, Strictness, find};
use overtake_gen::gadgets::{GADGETS, GadgetKind, find_gadget};
use overtake_gen::{SHAPES, Shape, find_shape};
use overtake_report::{RENDERERS, Renderer, find_renderer};
use overtake_trace::Format;

use crate::console::Console;
use crate::triage::TriageArguments;

/// The command line.
#[derive(Parser)]
#[command(
    name = "overtake",
    version,
    about = "Finds the data races of one run of a concurrent program, and those one overtaking manoeuvre away",
    after_help = EXIT_CODES,
    arg_required_else_help = true,
    max_term_width = 110
)]
pub(crate) struct Arguments {
    /// Print nothing but results and errors; of races their headlines only
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,

    /// Print everything that is known of races
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    #[command(subcommand)]
    pub(crate) command: Command,
}

const EXIT_CODES: &str = "\
Exit codes: 0 no race, 66 races reported, 1 error, 2 wrong usage.
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

    /// Report the races in the log of a program that was started directly
    #[command(hide = true)]
    Finish {
        /// The log
        #[arg(value_name = "LOG")]
        log: PathBuf,
    },

    /// Report the data races of a trace
    #[command(after_help = ANALYZE_EXAMPLES)]
    Analyze(AnalyzeArguments),

    /// Render a stored result again, without analysing
    #[command(after_help = REPORT_EXAMPLES)]
    Report(StoredArguments),

    /// Note races as known, so that only new ones fail a run with --baseline
    #[command(after_help = BASELINE_EXAMPLES)]
    Baseline(BaselineArguments),

    /// Print everything about one race
    #[command(after_help = EXPLAIN_EXAMPLES)]
    Explain(ExplainArguments),

    /// Show the schedule that exhibits a predicted race, checked
    #[command(after_help = WITNESS_EXAMPLES)]
    Witness(WitnessArguments),

    /// Run every detector on a trace and print one table
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

    /// Make a trace: a workload of some shape, or a hardness construction with its races
    #[command(after_help = GEN_EXAMPLES)]
    Gen(GenArguments),

    /// Measure speed
    #[command(subcommand, hide = true)]
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

const RUN_EXAMPLES: &str = "\
Examples:
  overtake run bank.c                       compile, run, report
  overtake run -- ./server --port 80        a program built with overtake cc or overtake c++
  overtake run --keep traces -- ./server    keep the traces for overtake analyze, stat, compare

The report goes to standard error. Exit code 66 when a race is reported, else that of the program; 128 + n when signal n
ended it.";

const RECORD_EXAMPLES: &str = "\
Examples:
  overtake record -o traces -- ./server --port 80
  overtake analyze traces/server.1234.otr

The exit code is that of the program.";

const COMPILER_EXAMPLES: &str = "\
Examples:
  overtake cc -O2 -c bank.c && overtake cc bank.o -o bank && ./bank
  make CC='overtake cc' CXX='overtake c++'
  CC='overtake cc' CXX='overtake c++' cmake -B build

OVERTAKE_CC and OVERTAKE_CXX name the real compilers. A program built this way records itself; started directly, it reports
its races when it ends.";

const BUILD_EXAMPLES: &str = "\
Examples:
  overtake build -- make
  overtake build -- cmake -B build && overtake build -- cmake --build build";

const ANALYZE_EXAMPLES: &str = "\
Examples:
  overtake analyze run.std                        observed and predicted races
  overtake analyze run.otr -d shb,lock-cover      two notions, one reading of the trace
  overtake analyze run.otr -d short-hb -w 1000    races at most 1,000 events apart
  overtake analyze run.otr -d rpt --epsilon 0.01  a sample of constant size, for traces too long to read
  zcat run.std.gz | overtake analyze - --json     for programs; see docs/json.md

Exit code 66 when a race is reported, 0 when none is.";

const REPORT_EXAMPLES: &str = "\
Examples:
  overtake run --report result=races.json -- ./server
  overtake report races.json                                     the text again
  overtake report races.json --report json=- | jq .findings

Exit code 66 when there is a race in it, 0 when there is none.";

const BASELINE_EXAMPLES: &str = "\
Examples:
  overtake run --report result=races.json -- ./server
  overtake baseline races.json -o races.toml --reason 'before the rewrite'
  overtake run --baseline races.toml -- ./server            exit code 66 for new races only
  overtake baseline races.json -o races.toml --prune        forget those that are gone

Reasons and dates of races that are already there stay. Commit the file.";

const EXPLAIN_EXAMPLES: &str = "\
Examples:
  overtake explain races.json 3            of a stored result
  overtake explain races.json 1b560a57     by the beginning of its fingerprint
  overtake explain run.otr 3               of a trace, which is analysed again

Races have the numbers that the report gives them for the same detectors and options.";

const WITNESS_EXAMPLES: &str = "\
Examples:
  overtake witness run.otr --race 3                what matters of the schedule, a column per thread
  overtake witness run.otr --race 3 --full         every event
  overtake witness run.otr --race 3 --std w.std    the reordered run as a trace of its own

Races have the numbers that `overtake analyze` prints for the same detector and options. Every schedule is replayed by an
independent checker of correct reorderings before it is shown.";

const COMPARE_EXAMPLES: &str = "\
Examples:
  overtake compare run.std
  overtake compare run.otr --json | jq '.detectors[] | {name, seconds}'";

const STAT_EXAMPLES: &str = "\
Examples:
  overtake stat run.std
  overtake stat run.otr --json";

const VALIDATE_EXAMPLES: &str = "\
Examples:
  overtake validate run.std             what would be repaired
  overtake validate run.std --strict    stop at the first violation, exit code 1";

const CONVERT_EXAMPLES: &str = "\
Examples:
  overtake convert run.std.gz run.otr       seal a text trace
  overtake convert run.otr - --to std       text on standard output
  overtake convert broken.otr good.otr --salvage

Events are written as they are read, without repairs, so that their indices stay the same.";

const GEN_EXAMPLES: &str = "\
Examples:
  overtake gen --list                                    what can be made
  overtake gen lock-heavy --events 10M -o t.otr          ten million events
  overtake gen lock-heavy --raciness 0.001 --seed 7 -o t.std
  overtake gen gadget-g1 --vectors 50 -o g.std           prints the races that must be found

The same shape, options and seed make the same trace. The command that repeats a trace is printed.";

/// A trace to read.
#[derive(Args)]
pub(crate) struct InputArguments {
    /// The trace: a file, or - for standard input; gzip, zstd and xz are recognised
    #[arg(value_name = "TRACE")]
    pub(crate) trace: PathBuf,

    /// Read the trace as this format, whatever it looks like
    #[arg(long, value_name = "FORMAT", value_parser = format_parser())]
    pub(crate) format: Option<Format>,

    /// Read what is intact of a damaged .otr file and say what is missing
    #[arg(long)]
    pub(crate) salvage: bool,
}

/// A trace to read and to check.
#[derive(Args)]
pub(crate) struct CheckedInputArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Refuse a trace that is not well formed instead of repairing it
    #[arg(long)]
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

/// `analyze`.
#[derive(Args)]
pub(crate) struct AnalyzeArguments {
    #[command(flatten)]
    pub(crate) checked: CheckedInputArguments,

    /// Detectors to run, separated by commas
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', default_value = "hb,syncp",
          value_parser = detector_parser())]
    pub(crate) detector: Vec<&'static Entry>,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Let the numbers of threads and locks decide how happens-before races are found (hb)
    #[arg(long)]
    pub(crate) auto: bool,

    /// Test with ever smaller epsilon and delta for so long: 90s, 5m, 1h; stops at the first race (rpt)
    #[arg(long, value_name = "TIME", value_parser = duration_parser)]
    pub(crate) until: Option<Duration>,

    /// Test with ever smaller epsilon and delta, reading so many events; stops at the first race (rpt)
    #[arg(long, value_name = "EVENTS", value_parser = count_parser)]
    pub(crate) budget: Option<u64>,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print JSON: what each detector found; --report json=- is about races
    #[arg(long)]
    pub(crate) json: bool,
}

/// What becomes of the findings.
#[derive(Args, Clone)]
pub(crate) struct ReportArguments {
    /// Write the findings to a file, - for standard output; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = OsStringValueParser::new().try_map(|text| report_parser(&text)))]
    pub(crate) report: Vec<ReportTarget>,

    #[command(flatten)]
    pub(crate) triage: TriageArguments,

    /// Show at most this many races; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) limit: usize,

    /// Build schedules for this many predicted races
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) witnesses: usize,

    /// What is printed instead of text; commands whose `--format` is not that of a trace have it.
    #[arg(skip)]
    pub(crate) printed: Option<&'static Renderer>,
}

impl ReportArguments {
    /// Whether anything but the text is wanted.
    pub(crate) fn are_wanted(&self) -> bool {
        !self.report.is_empty()
    }

    /// Whether some report wants to show whole runs.
    pub(crate) fn want_timeline(&self) -> bool {
        self.report.iter().any(|target| target.renderer.wants_timeline())
    }

    /// The same, printed in another format than text.
    pub(crate) fn printed_as(&self, format: Option<&'static Renderer>) -> ReportArguments {
        ReportArguments { printed: format, ..self.clone() }
    }
}

impl Default for ReportArguments {
    fn default() -> Self {
        let triage = TriageArguments::default();
        ReportArguments { report: Vec::new(), triage, limit: 25, witnesses: 20, printed: None }
    }
}

/// A file that gets the findings.
#[derive(Clone)]
pub(crate) struct ReportTarget {
    pub(crate) renderer: &'static Renderer,
    pub(crate) file: PathBuf,
}

/// `report`.
#[derive(Args)]
pub(crate) struct StoredArguments {
    /// The result: a file that --report result=FILE or --report json=FILE wrote, or - for standard input
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print the report in this format instead of text
    #[arg(long, value_name = "FORMAT", value_parser = renderer_parser())]
    pub(crate) format: Option<&'static Renderer>,
}

/// `explain`.
#[derive(Args)]
pub(crate) struct ExplainArguments {
    /// A stored result, or a trace
    #[arg(value_name = "RESULT|TRACE")]
    pub(crate) input: PathBuf,

    /// Number of the race, or the beginning of its fingerprint
    #[arg(value_name = "RACE")]
    pub(crate) race: String,

    /// Detectors to run on a trace, separated by commas
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', default_value = "hb,syncp",
          value_parser = detector_parser())]
    pub(crate) detector: Vec<&'static Entry>,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,
}

/// `baseline`.
#[derive(Args)]
pub(crate) struct BaselineArguments {
    /// Results that --report result=FILE stored, or traces to analyse
    #[arg(value_name = "RESULT|TRACE", required = true)]
    pub(crate) inputs: Vec<PathBuf>,

    /// The baseline; if it is there already, races are added to it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,

    /// Why the added races are accepted
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,

    /// Remove races that were not found
    #[arg(long)]
    pub(crate) prune: bool,

    /// Do not add races that this file suppresses; may be given several times
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Vec<PathBuf>,

    /// Detectors to run on traces, separated by commas
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', default_value = "hb,syncp",
          value_parser = detector_parser())]
    pub(crate) detector: Vec<&'static Entry>,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,
}

/// What is recorded.
#[derive(Args, Clone)]
pub(crate) struct RecordingArguments {
    /// Record every access, also those that repeat one of the same thread since it last synchronised
    #[arg(long)]
    pub(crate) exact: bool,

    /// Keep only the newest part of each process, about this many bytes
    #[arg(long, value_name = "BYTES", value_parser = count_parser)]
    pub(crate) max_size: Option<u64>,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) program: Vec<OsString>,
}

/// `run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    /// Detectors to run, separated by commas
    #[arg(short, long, value_name = "NAME", value_delimiter = ',', value_parser = detector_parser())]
    pub(crate) detector: Vec<&'static Entry>,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print the report in this format instead of text
    #[arg(long, value_name = "FORMAT", value_parser = renderer_parser())]
    pub(crate) format: Option<&'static Renderer>,

    /// Keep the traces in this directory
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) recording: RecordingArguments,
}

/// `record`.
#[derive(Args)]
pub(crate) struct RecordArguments {
    /// Where the traces go
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    pub(crate) out: PathBuf,

    #[command(flatten)]
    pub(crate) recording: RecordingArguments,
}

/// `cc` and `c++`. What is typed never gets here: a compiler's arguments are not ours to parse.
#[derive(Args)]
pub(crate) struct CompilerArguments {
    /// What the real compiler takes
    #[arg(value_name = "ARGUMENTS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) arguments: Vec<OsString>,
}

/// `build`.
#[derive(Args)]
pub(crate) struct BuildArguments {
    /// The build and its arguments
    #[arg(value_name = "COMMAND", required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) command: Vec<OsString>,
}

/// `seal`.
#[derive(Args)]
pub(crate) struct SealArguments {
    /// The log: a directory called overtake.PROCESS.NUMBER
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}

/// `witness`.
#[derive(Args)]
pub(crate) struct WitnessArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Number of the race, as `analyze` prints it for the same detector
    #[arg(long, value_name = "ID", value_parser = race_parser)]
    pub(crate) race: u32,

    /// The detector that numbers the races
    #[arg(short, long, value_name = "NAME", default_value = "syncp", value_parser = predictor_parser())]
    pub(crate) detector: &'static Entry,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Show every event of the schedule
    #[arg(long)]
    pub(crate) full: bool,

    /// Write the reordered trace, the two accesses last, to this file
    #[arg(long, value_name = "FILE")]
    pub(crate) std: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `compare`.
#[derive(Args)]
pub(crate) struct CompareArguments {
    #[command(flatten)]
    pub(crate) checked: CheckedInputArguments,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// Settings of detectors.
#[derive(Args)]
pub(crate) struct DetectorArguments {
    /// Largest number of events from the first access of a race to the second, both counted (short-*)
    #[arg(short, long, value_name = "EVENTS", value_parser = window_parser)]
    window: Option<u64>,

    /// Eraser's state machine instead of the definition (lock-set)
    #[arg(long)]
    eraser: bool,

    /// Look at every event, even where it can take part in no race (syncp, short-syncp); slower, same races
    #[arg(long)]
    no_filter: bool,

    /// Part of the accesses that is sampled, above 0 and at most 1 (pacer, sampled-hb)
    #[arg(long, value_name = "PART")]
    rate: Option<f64>,

    /// Events of a sampling period (pacer)
    #[arg(long, value_name = "EVENTS", value_parser = count_parser)]
    period: Option<u64>,

    /// Part of all events that must change to make the trace race free, for a race to be found probably (rpt)
    #[arg(long, value_name = "PART")]
    epsilon: Option<f64>,

    /// Probability that none is found nevertheless (rpt)
    #[arg(long, value_name = "PROBABILITY")]
    delta: Option<f64>,

    /// Which races each window is searched for (rpt)
    #[arg(long, value_name = "NAME", value_parser = judge_parser())]
    judge: Option<Judge>,

    /// Seed of all random choices (pacer, sampled-hb, rpt)
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// How arrays are divided into parts that share their state (slimstate); same races
    #[arg(long, value_name = "HOW", value_parser = partitions_parser())]
    partitions: Option<Partitions>,
}

impl DetectorArguments {
    /// Says which settings none of the detectors uses.
    pub(crate) fn warn_of_unused(&self, detectors: &[&Entry], console: Console) {
        let given = [
            ("window", self.window.is_some()),
            ("eraser", self.eraser),
            ("no-filter", self.no_filter),
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

    /// Write the races that must be found to this file, as JSON (hardness constructions)
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
    /// A hardness construction.
    Gadget(&'static GadgetKind),
}

/// What a workload or a hardness construction can be asked for; what is left out is the shape's default.
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
    /// Fraction of shared accesses that forget their synchronisation
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
    /// Number of vectors of a hardness construction
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) vectors: Option<u64>,
    /// Length of the vectors of a hardness construction
    #[arg(long, value_name = "N", value_parser = count_parser)]
    pub(crate) dimension: Option<u64>,
    /// Seed of all random choices
    #[arg(long, value_name = "N")]
    pub(crate) seed: Option<u64>,
}

/// `bench`.
#[derive(Subcommand)]
pub(crate) enum BenchCommand {
    /// Time reading, writing and every detector on generated traces, against goals
    Speed(SpeedArguments),
    /// Success of the property tester against raciness, and its time against the length of the trace
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
    /// Rounds; times are medians, and ratios of times medians of the ratios of each round
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
    /// Probability that no race is found nevertheless
    #[arg(long, value_name = "PROBABILITY", default_value_t = 0.1)]
    pub(crate) delta: f64,
    /// Seeds that success is counted over
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) seeds: u64,
    /// Rounds of time measurements; figures are medians
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(crate) runs: usize,
}

/// The definitions, with the tables of detectors and renderers filled in.
pub(crate) fn command() -> clap::Command {
    let detectors = table("Detectors", DETECTORS.iter().map(|entry| (entry.name, entry.summary)));
    let renderers = table("Formats", RENDERERS.iter().map(|renderer| (renderer.name, renderer.summary)));
    Arguments::command()
        .mut_subcommand("analyze", |analyze| with_tables(analyze, &[&detectors, &renderers]))
        .mut_subcommand("run", |run| with_tables(run, &[&renderers]))
        .mut_subcommand("report", |report| with_tables(report, &[&renderers]))
}

fn with_tables(command: clap::Command, tables: &[&str]) -> clap::Command {
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    command.after_help(format!("{}\n{examples}", tables.join("\n")))
}

fn table<'a>(heading: &str, rows: impl Iterator<Item = (&'a str, &'a str)> + Clone) -> String {
    let width = rows.clone().map(|(name, _)| name.len()).max().unwrap_or(0);
    rows.fold(format!("{heading}:\n"), |table, (name, summary)| {
        format!("{table}  {name:width$}  {summary}\n")
    })
}

fn renderer_parser() -> impl TypedValueParser<Value = &'static Renderer> {
    let names = RENDERERS.iter().map(|renderer| PossibleValue::new(renderer.name).help(renderer.summary));
    PossibleValuesParser::new(names).try_map(|name| find_renderer(&name).ok_or("no such format"))
}

/// A format and a file: `sarif=races.sarif`.
pub(crate) fn report_parser(text: &OsStr) -> Result<ReportTarget, String> {
    let expected = || {
        let names: Vec<_> = RENDERERS.iter().map(|renderer| renderer.name).collect();
        format!("expected FORMAT=FILE with a format of {}, found `{}`", names.join(", "), text.display())
    };
    let bytes = text.as_bytes();
    let (name, file) = bytes.split_at(bytes.iter().position(|byte| *byte == b'=').ok_or_else(expected)?);
    let file = OsStr::from_bytes(&file[1..]);
    let renderer = str::from_utf8(name).ok().and_then(find_renderer).filter(|_| !file.is_empty());
    Ok(ReportTarget { renderer: renderer.ok_or_else(expected)?, file: file.into() })
}

fn detector_parser() -> impl TypedValueParser<Value = &'static Entry> {
    let names = DETECTORS.iter().map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names).try_map(|name| find(&name).ok_or("no such detector"))
}

/// Detectors whose races have schedules.
fn predictor_parser() -> impl TypedValueParser<Value = &'static Entry> {
    let predictors = DETECTORS.iter().filter(|entry| entry.notion == Notion::SyncPreserving);
    let names = predictors.map(|entry| PossibleValue::new(entry.name).help(entry.summary));
    PossibleValuesParser::new(names).try_map(|name| find(&name).ok_or("no such detector"))
}

/// A race's number, with or without the dot that `analyze` prints behind it.
fn race_parser(text: &str) -> Result<u32, String> {
    text.trim_end_matches('.').parse().map_err(|_| format!("expected the number of a race, found `{text}`"))
}

fn partitions_parser() -> impl TypedValueParser<Value = Partitions> {
    PossibleValuesParser::new(Partitions::ALL.map(Partitions::name)).try_map(|name| {
        Partitions::ALL.into_iter().find(|partitions| partitions.name() == name).ok_or("no such partitions")
    })
}

fn shape_parser() -> impl TypedValueParser<Value = Product> {
    let shapes = SHAPES.iter().map(|shape| PossibleValue::new(shape.name).help(shape.description));
    let gadgets = GADGETS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.description));
    PossibleValuesParser::new(shapes.chain(gadgets)).try_map(|name| {
        let shape = find_shape(&name).map(Product::Shape);
        shape.or_else(|| find_gadget(&name).map(Product::Gadget)).ok_or("no such shape")
    })
}

fn format_parser() -> impl TypedValueParser<Value = Format> {
    PossibleValuesParser::new(Format::ALL.map(Format::name))
        .try_map(|name| Format::from_name(&name).ok_or("no such format"))
}

/// A number that may end in k, M or G, for thousands, millions and thousands of millions.
fn count_parser(text: &str) -> Result<u64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'K', 'm', 'M', 'g', 'G']) {
        Some(digits) if text.ends_with(['k', 'K']) => (digits, 1_000),
        Some(digits) if text.ends_with(['m', 'M']) => (digits, 1_000_000),
        Some(digits) => (digits, 1_000_000_000),
        None => (text, 1),
    };
    let number = digits.parse::<u64>().map_err(|error| error.to_string())?;
    number.checked_mul(factor).ok_or_else(|| "number too large".into())
}

fn judge_parser() -> impl TypedValueParser<Value = Judge> {
    PossibleValuesParser::new(Judge::NAMES.map(|(name, _)| name)).try_map(|name| {
        let judge = Judge::NAMES.into_iter().find(|(known, _)| *known == name);
        judge.map(|(_, judge)| judge).ok_or("no such judge")
    })
}

/// A time in ms, s, m or h; a bare number is seconds.
fn duration_parser(text: &str) -> Result<Duration, String> {
    let units = [("ms", 0.001), ("s", 1.0), ("m", 60.0), ("h", 3600.0)];
    let unit = units.into_iter().find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)));
    let (number, seconds) = unit.unwrap_or((text, 1.0));
    let number = number.parse::<f64>().map_err(|_| format!("expected a time such as 90s, found `{text}`"))?;
    Duration::try_from_secs_f64(number * seconds).map_err(|error| error.to_string())
}

fn window_parser(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err("a window holds at least one event".into()),
        Ok(window) => Ok(window),
        Err(error) => Err(error.to_string()),
    }
}
