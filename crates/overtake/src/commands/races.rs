//! The races of a recorded process: found, explained, told.

use std::fs;
use std::path::Path;

use overtake_detect::{Entry, Options, Strictness, find};
use overtake_report::{recorded, text};
use overtake_trace::{Block, OtrFile};

use super::examine::Examined;
use crate::args::InputArguments;
use crate::console::Console;
use crate::failure::Failure;
use crate::files::Input;
use crate::recording::{losses, seal_log};

/// Longer traces are searched for predicted races within a window.
const LONG_TRACE: u64 = 2_000_000;

/// How to look for races.
pub(crate) struct Search<'a> {
    /// Empty: those that suit the trace.
    pub(crate) detectors: &'a [&'static Entry],
    pub(crate) options: Options,
    pub(crate) limit: usize,
}

impl Search<'_> {
    /// Seals a log into `trace`, which is removed again, and looks for races in it.
    pub(crate) fn in_log(&self, log: &Path, trace: &Path, console: Console) -> Result<bool, Failure> {
        let (sealed, _) = seal_log(log, trace)?;
        console.say(&losses(&sealed));
        let found = self.in_trace(trace, console)?;
        fs::remove_file(trace).map_err(|error| Failure::in_file(trace, error))?;
        Ok(found)
    }

    /// Looks for races in a sealed trace; reports them on standard error. Whether there are any.
    pub(crate) fn in_trace(&self, trace: &Path, console: Console) -> Result<bool, Failure> {
        let arguments = InputArguments { trace: trace.to_owned(), format: None, salvage: false };
        let detectors = self.suited(trace)?;
        let quiet = Console { quiet: true };
        let examined =
            Examined::of(&mut Input::new(&arguments), &detectors, &self.options, Strictness::Repair, quiet)?;
        let analysed = examined.analysed();
        console.say(&text::notes(analysed.trace));
        let mut races = recorded::races(&analysed);
        if races.is_empty() {
            return Ok(false);
        }
        let mut held = recorded::Holdings::of(&races);
        let mut opened = Input::new(&arguments).open()?;
        let mut block = Block::default();
        while opened.next_block(&mut block)? && held.read(&block) {}
        held.tell(&mut races);
        console.report(&text::recorded(&analysed, &races, &console.layout(self.limit)));
        Ok(true)
    }

    fn suited(&self, trace: &Path) -> Result<Vec<&'static Entry>, Failure> {
        if !self.detectors.is_empty() {
            return Ok(self.detectors.to_vec());
        }
        let file = OtrFile::open(trace).map_err(|error| Failure::in_file(trace, error))?;
        let predicting = if file.parameters().events > LONG_TRACE { "short-syncp" } else { "syncp" };
        Ok(["hb", predicting].into_iter().filter_map(find).collect())
    }
}
