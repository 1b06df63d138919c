//! `overtake run --confirm` and `--hunt`: running the program again, to see races that did not happen in the recorded run.

use std::ffi::OsString;

use overtake::confirm::{RACE, candidates, confirm};
use overtake::files::is_standard;
use overtake::{Error, Listener, Search};
use overtake_detect::Verdict;
use overtake_report::collect::merge;
use overtake_report::result::Report;

use crate::command_line::args::{ReportArguments, ReportTarget, RunArguments, TrialArguments};
use crate::command_line::console::Console;
use crate::command_line::shell;

/// How the program runs again, if it does.
pub(super) struct Again<'a> {
    trial: &'a TrialArguments,
    /// How many candidates are tried: without `--hunt`, all of them.
    most: usize,
    /// With `--hunt`, no new run starts after this time.
    hunt: Option<std::time::Duration>,
    is_wanted: bool,
    /// The command line that does it again.
    repeat: String,
}

impl<'a> Again<'a> {
    /// What the command line asks for. `--fail-on confirmed` implies `--confirm`.
    pub(super) fn of(arguments: &'a RunArguments, reports: &ReportArguments) -> Again<'a> {
        let is_stored = |target: &&ReportTarget| target.renderer.is_result && !is_standard(&target.file);
        let stored = reports.report.iter().find(is_stored);
        let options = arguments.trial.spelled();
        Again {
            trial: &arguments.trial,
            most: arguments.hunt.unwrap_or(usize::MAX),
            hunt: arguments.hunt.map(|_| arguments.hunt_time),
            is_wanted: arguments.confirm || arguments.hunt.is_some() || reports.triage.want_confirmed(),
            repeat: stored.map_or_else(
                || {
                    format!(
                        "overtake run --confirm{options} --{}",
                        shell::words(&arguments.recording.program)
                    )
                },
                |target| format!("overtake confirm {} {RACE}{options}", shell::word(&target.file)),
            ),
        }
    }

    /// With `--hunt`, suspects every pair of accesses that fork and join do not order.
    pub(super) fn widen(&self, search: &mut Search) {
        if self.hunt.is_some() {
            search.suspects = true;
            search.options.unforked = true;
        }
    }

    /// Runs the program again for the races that were found, and notes in them what came of it. With `--hunt`, races that were not seen are
    /// removed.
    pub(super) fn see(
        &self,
        found: &mut Report,
        program: &[OsString],
        console: Console,
    ) -> Result<(), Error> {
        if !self.is_wanted {
            return Ok(());
        }
        let mut chosen = candidates(found);
        let all = chosen.len();
        chosen.truncate(self.most);
        if !chosen.is_empty() {
            let mut options = self.trial.options(program.to_vec(), self.repeat.clone());
            options.budget = self.hunt;
            confirm(found, &chosen, &options, &console)?;
        }
        if self.hunt.is_some() {
            let before = found.findings.len();
            found
                .findings
                .retain(|finding| finding.confirmed.is_some() || finding.verdict == Verdict::Observed);
            let hidden = before - found.findings.len();
            let tried = chosen.len();
            let candidates = if all == 1 { "candidate" } else { "candidates" };
            let not_seen = match hidden {
                0 => String::new(),
                1 => "; 1 was not seen and is not reported".to_owned(),
                _ => format!("; {hidden} were not seen and are not reported"),
            };
            console.say(&format!("{all} {candidates}, {tried} tried{not_seen}"));
        }
        *found = merge(vec![found.clone()]); // the most severe first again
        Ok(())
    }
}
