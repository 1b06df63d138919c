//! Commands that build, run and record programs: `run`, `record`, `confirm`, `cc`, `c++`, `build`, `seal`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use overtake::Error;
use overtake::confirm::{ConfirmOptions, Trial};
use overtake::recording::RecordingOptions;
use overtake::surroundings::Surroundings;
use overtake_report::Renderer;

use super::detectors::{ChosenDetectors, DetectorArguments};
use super::findings::ReportArguments;
use super::unknown_option;
use super::values::{count_parser, duration_parser, renderer_parser};
use crate::command_line::shell;

/// What is recorded.
#[derive(Args, Clone)]
#[command(next_help_heading = "Recording")]
pub(crate) struct RecordingArguments {
    /// Record every access, also those that repeat one of the same thread since it last synchronised
    #[arg(long)]
    pub(crate) exact: bool,

    /// Keep about the newest BYTES of each process's log
    #[arg(long, value_name = "BYTES", value_parser = count_parser)]
    pub(crate) max_size: Option<u64>,

    /// Wait at most this long for processes that outlive the first: 90s, 5m, 1h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = duration_parser)]
    pub(crate) wait: Duration,

    /// Accept a run of which nothing was recorded
    #[arg(long)]
    pub(crate) allow_empty: bool,

    /// The program and its arguments
    #[arg(value_name = "PROGRAM", required = true, trailing_var_arg = true, allow_hyphen_values = true, help_heading = None::<&str>)]
    pub(crate) program: Vec<OsString>,
}

impl RecordingArguments {
    /// Refuses a program that looks like an option: everything from the program on is its own.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.program.first().and_then(|word| word.to_str()) {
            Some(word) if word.starts_with('-') => Err(Error::usage(unknown_option(word))),
            _ => Ok(()),
        }
    }

    /// What is recorded, as the library takes it.
    pub(crate) fn options(&self) -> RecordingOptions {
        RecordingOptions { exact: self.exact, max_size: self.max_size, wait: self.wait }
    }
}

/// `run`.
#[derive(Args)]
pub(crate) struct RunArguments {
    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

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

    /// Run the program again, to see predicted races happen
    #[arg(long, help_heading = "Seeing races happen")]
    pub(crate) confirm: bool,

    /// Try also suspected races, N races in all, and report only races that were seen
    #[arg(long, value_name = "N", help_heading = "Seeing races happen")]
    pub(crate) hunt: Option<usize>,

    /// Start no new run after this time (with --hunt)
    #[arg(long, value_name = "TIME", hide_short_help = true, default_value = "5m", value_parser = duration_parser, help_heading = "Seeing races happen")]
    pub(crate) hunt_time: Duration,

    /// Store the working directory and the environment in the result, for `overtake confirm` on another machine
    #[arg(long, hide_short_help = true, help_heading = "Seeing races happen")]
    pub(crate) keep_environment: bool,

    #[command(flatten)]
    pub(crate) trial: TrialArguments,

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

/// The most runs for each race, unless an option says otherwise.
const TRIES: u32 = 5;

/// How a program runs again.
#[derive(Args, Clone)]
#[command(next_help_heading = "Seeing races happen")]
pub(crate) struct TrialArguments {
    /// Most runs for each race
    #[arg(long, hide_short_help = true, value_name = "N", default_value_t = TRIES)]
    pub(crate) tries: u32,

    /// Hold a thread for at most this time: 2s, 1m; by default it follows from how long the program takes
    #[arg(long, hide_short_help = true, value_name = "TIME", value_parser = duration_parser)]
    pub(crate) hold: Option<Duration>,

    /// Run this shell command before each run
    #[arg(long, hide_short_help = true, value_name = "COMMAND")]
    pub(crate) setup: Option<String>,

    /// Run this shell command after each run
    #[arg(long, hide_short_help = true, value_name = "COMMAND")]
    pub(crate) teardown: Option<String>,

    /// Run this shell command beside the program, and end the program with SIGTERM when it is over
    #[arg(long, hide_short_help = true, value_name = "COMMAND")]
    pub(crate) client: Option<String>,

    /// The program reads this file; by default it reads nothing
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) stdin: Option<PathBuf>,
}

impl TrialArguments {
    /// The same as the library takes it, for a command; `repeat` is the command line that does it again.
    pub(crate) fn options(&self, command: Vec<OsString>, repeat: String) -> ConfirmOptions {
        let trial = Trial { command, surroundings: self.surroundings() };
        ConfirmOptions { tries: self.tries.max(1), hold: self.hold, budget: None, trial, repeat }
    }

    /// What is done around each run.
    pub(crate) fn surroundings(&self) -> Surroundings {
        let TrialArguments { setup, teardown, client, stdin, .. } = self.clone();
        Surroundings { setup, teardown, client, stdin, ..Surroundings::default() }
    }

    /// The options that were given, as a shell takes them, each after a space.
    pub(crate) fn spelled(&self) -> String {
        let TrialArguments { tries, hold, setup, teardown, client, stdin } = self;
        let tries = (*tries != TRIES).then(|| tries.to_string().into());
        let hold = hold.map(|hold| format!("{}ms", hold.as_millis()).into());
        let given: [(&str, Option<OsString>); 6] = [
            ("--tries", tries),
            ("--hold", hold),
            ("--setup", setup.as_ref().map(OsString::from)),
            ("--teardown", teardown.as_ref().map(OsString::from)),
            ("--client", client.as_ref().map(OsString::from)),
            ("--stdin", stdin.as_ref().map(OsString::from)),
        ];
        let spelled =
            |(name, value): (&str, Option<OsString>)| Some(format!(" {name} {}", shell::word(value?)));
        given.into_iter().filter_map(spelled).collect()
    }
}

/// `confirm`.
#[derive(Args)]
pub(crate) struct ConfirmArguments {
    /// A result that `--report result=FILE` stored
    #[arg(value_name = "RESULT")]
    pub(crate) result: PathBuf,

    /// Races by number or fingerprint; without any, all that were predicted, possible or suspected
    #[arg(value_name = "RACE")]
    pub(crate) races: Vec<String>,

    /// The program and its arguments; without it, those of the result
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,

    #[command(flatten)]
    pub(crate) trial: TrialArguments,

    /// Run the program in this directory and with this environment, not with those of the recorded run
    #[arg(long)]
    pub(crate) here: bool,

    /// Stop when both threads stand at the accesses of this race, and start gdb there
    #[arg(long, value_name = "RACE", conflicts_with = "races")]
    pub(crate) gdb: Option<String>,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print the report in this format instead of text
    #[arg(long, value_name = "FORMAT", value_parser = renderer_parser())]
    pub(crate) format: Option<&'static Renderer>,
}

/// `cc` and `c++`. The arguments are not parsed: they are those of the real compiler.
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
    /// The log: a directory called overtake.RANDOM.PROCESS.NUMBER
    #[arg(value_name = "LOG")]
    pub(crate) log: PathBuf,

    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: PathBuf,
}
