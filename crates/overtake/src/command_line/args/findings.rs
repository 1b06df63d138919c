//! Commands that find races or show them: `analyze`, `report`, `diff`, `explain`, `baseline`, `witness`, `ask`.

use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::{ArgGroup, Args, ValueEnum};
use overtake::Error;
use overtake::files::OutputFile;
use overtake::reports::Details;
use overtake::triage::{OwnWords, Triage};
use overtake_detect::Verdict;
use overtake_report::Renderer;
use overtake_report::result::{Finding, Status};

use super::crew::CrewArguments;
use super::detectors::{ChosenDetectors, DetectorArguments, SETTINGS_HEADING};
use super::traces::{CheckedInputArguments, InputArguments};
use super::values::{count_parser, duration_parser, renderer_parser, report_parser, severity_parser};

/// `analyze`.
#[derive(Args)]
pub(crate) struct AnalyzeArguments {
    #[command(flatten)]
    pub(crate) checked: CheckedInputArguments,

    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Use lockstamp instead of hb where it is faster
    #[arg(long, help_heading = SETTINGS_HEADING, hide_short_help = true)]
    pub(crate) auto: bool,

    /// Repeat the test with smaller epsilon and delta for this time: 90s, 5m, 1h; stops at the first race (rpt)
    #[arg(long, value_name = "TIME", value_parser = duration_parser, help_heading = SETTINGS_HEADING, hide_short_help = true)]
    pub(crate) until: Option<Duration>,

    /// Repeat the test with smaller epsilon and delta until this many events were read; stops at the first race (rpt)
    #[arg(long, value_name = "EVENTS", value_parser = count_parser, help_heading = SETTINGS_HEADING, hide_short_help = true)]
    pub(crate) budget: Option<u64>,

    #[command(flatten)]
    pub(crate) crew: CrewArguments,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print what each detector found as JSON (docs/json.md); for the report use --report json=-
    #[arg(long)]
    pub(crate) json: bool,
}

/// What becomes of the findings.
#[derive(Args, Clone)]
#[command(next_help_heading = "Reports")]
pub(crate) struct ReportArguments {
    /// Write the findings to a file, - for standard output; may be given several times
    #[arg(long, value_name = "FORMAT=FILE", value_parser = OsStringValueParser::new().try_map(|text| report_parser(&text)))]
    pub(crate) report: Vec<ReportTarget>,

    #[command(flatten)]
    pub(crate) triage: TriageArguments,

    /// Show at most N causes, some of each verdict; 0 shows all
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) limit: usize,

    /// Build schedules for this many predicted races
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub(crate) witnesses: usize,

    /// Directory of the sources, if they are not where the trace says
    #[arg(long, value_name = "DIR")]
    pub(crate) source_root: Option<PathBuf>,

    /// The format that is printed instead of text, for commands whose `--format` is not that of a trace.
    #[arg(skip)]
    pub(crate) printed: Option<&'static Renderer>,
}

impl ReportArguments {
    /// Whether anything but the text is wanted.
    pub(crate) fn are_wanted(&self) -> bool {
        !self.report.is_empty()
    }

    /// Whether a result is stored.
    pub(crate) fn store_result(&self) -> bool {
        self.report.iter().any(|target| target.renderer.name == "result")
    }

    /// Whether some report wants to show whole runs.
    fn want_timeline(&self) -> bool {
        self.report.iter().any(|target| target.renderer.wants_timeline)
    }

    /// How much is reported about findings.
    pub(crate) fn details(&self) -> Details {
        Details {
            witnesses: self.witnesses,
            timeline: self.want_timeline(),
            source_root: self.source_root.clone(),
        }
    }

    /// Fails now if a file could not be read or written later, when races have been found.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.triage.triage().check()?;
        self.report.iter().try_for_each(|target| OutputFile::check(&target.file))
    }

    /// The same, printed in another format than text.
    pub(crate) fn printed_as(&self, format: Option<&'static Renderer>) -> ReportArguments {
        ReportArguments { printed: format, ..self.clone() }
    }
}

impl Default for ReportArguments {
    fn default() -> Self {
        let triage = TriageArguments::default();
        ReportArguments {
            report: Vec::new(),
            triage,
            limit: 25,
            witnesses: 20,
            source_root: None,
            printed: None,
        }
    }
}

/// What people already know about races.
#[derive(Args, Clone, Default)]
pub(crate) struct TriageArguments {
    /// Leave out the races that this file names, in ThreadSanitizer's grammar or ours; may be given several times. TSAN_OPTIONS
    /// is read, too
    #[arg(long, value_name = "FILE")]
    pub(crate) suppressions: Vec<PathBuf>,

    /// Fail only on races that are not in this file; `overtake baseline` writes it
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,

    /// Fail only on these findings: confirmed, observed, predicted, possible, suspected; may be a list
    #[arg(long, value_name = "KIND", hide_possible_values = true, value_delimiter = ',', value_parser = severity_parser())]
    pub(crate) fail_on: Vec<Severity>,

    /// What the program itself says about reports.
    #[arg(skip)]
    pub(crate) own: OwnWords,
}

impl TriageArguments {
    /// The same as the library takes it.
    pub(crate) fn triage(&self) -> Triage {
        let TriageArguments { suppressions, baseline, own, .. } = self.clone();
        Triage { suppressions, baseline, own }
    }

    /// Whether a finding fails the command: nobody has accepted it, or not as one that was seen to happen.
    pub(crate) fn is_failing(&self, finding: &Finding) -> bool {
        match finding.status {
            Status::New => {
                self.fail_on.is_empty() || self.fail_on.iter().any(|severity| severity.has(finding))
            }
            Status::Known { .. } => self.want_confirmed() && finding.is_confirmed_since(),
            Status::Suppressed { .. } => false,
        }
    }

    /// Whether races count only if they were seen to happen.
    pub(crate) fn want_confirmed(&self) -> bool {
        self.fail_on.contains(&Severity::Confirmed)
    }
}

/// Which findings fail a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Severity {
    /// Seen to happen when the program ran again.
    Confirmed,
    /// With this verdict.
    With(Verdict),
}

impl Severity {
    /// All of them, by name.
    pub(crate) fn all() -> impl Iterator<Item = (&'static str, Severity)> {
        let verdicts = [Verdict::Observed, Verdict::Predicted, Verdict::Possible, Verdict::Suspected];
        let verdicts = verdicts.map(|verdict| (verdict.word(), Severity::With(verdict)));
        std::iter::once(("confirmed", Severity::Confirmed)).chain(verdicts)
    }

    fn has(self, finding: &Finding) -> bool {
        match self {
            Severity::Confirmed => finding.confirmed.is_some(),
            Severity::With(verdict) => finding.verdict == verdict,
        }
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
    /// Results: files that --report result=FILE or --report json=FILE wrote, or - for standard input; several are merged
    #[arg(value_name = "RESULT", required = true)]
    pub(crate) results: Vec<PathBuf>,

    #[command(flatten)]
    pub(crate) reports: ReportArguments,

    /// Print the report in this format instead of text
    #[arg(long, value_name = "FORMAT", value_parser = renderer_parser())]
    pub(crate) format: Option<&'static Renderer>,
}

/// `diff`.
#[derive(Args)]
pub(crate) struct DiffArguments {
    /// The old result
    #[arg(value_name = "OLD")]
    pub(crate) old: PathBuf,

    /// The new result
    #[arg(value_name = "NEW")]
    pub(crate) new: PathBuf,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
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

    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

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

    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,
}

/// `witness`.
#[derive(Args)]
pub(crate) struct WitnessArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Number of the race, as reports on the trace give it, or the beginning of its fingerprint
    #[arg(long, value_name = "RACE")]
    pub(crate) race: String,

    #[command(flatten)]
    pub(crate) detector: ChosenDetectors,

    #[command(flatten)]
    pub(crate) options: DetectorArguments,

    /// Show every event of the schedule
    #[arg(long)]
    pub(crate) full: bool,

    /// Write the reordered trace to this file: the two accesses last, or up to where the threads wait
    #[arg(long, value_name = "FILE")]
    pub(crate) std: Option<PathBuf>,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `certify`.
#[derive(Args)]
pub(crate) struct CertifyArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// What is certified
    #[arg(long, value_name = "NOTION", value_enum, default_value_t, conflicts_with = "check")]
    pub(crate) notion: CertifiedNotion,

    /// Check this certificate instead of making one
    #[arg(long, value_name = "FILE", conflicts_with = "out")]
    pub(crate) check: Option<PathBuf>,

    /// Write the certificate to this file instead of printing it
    #[arg(short, long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
}

/// What `certify` proves.
#[derive(Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum CertifiedNotion {
    /// Whether a variable is accessed under no lock that all its accesses share
    #[default]
    LockSet,
    /// Whether two conflicting accesses are not ordered in this run
    HappensBefore,
}

/// `ask`.
#[derive(Args)]
#[command(group = ArgGroup::new("question").args(["pair", "event"]).required(true))]
pub(crate) struct AskArguments {
    #[command(flatten)]
    pub(crate) input: InputArguments,

    /// Two events by their indices
    #[arg(long, value_name = "I,J", value_delimiter = ',')]
    pub(crate) pair: Vec<u64>,

    /// An access by its index: asks about it and every access that it conflicts with
    #[arg(long, value_name = "I")]
    pub(crate) event: Option<u64>,

    /// Only accesses of this thread (--event)
    #[arg(long, value_name = "NAME", requires = "event", conflicts_with = "pair")]
    pub(crate) thread: Option<String>,

    /// Answer for at most this many pairs, the nearest first; 0 is all (--event)
    #[arg(long, value_name = "N", default_value_t = 25)]
    pub(crate) limit: usize,

    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}
