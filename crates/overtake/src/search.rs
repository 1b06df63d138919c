//! The races of recorded processes and of traces.

use std::fs;
use std::path::Path;

use overtake_detect::{Entry, Options, Registry, Strictness};
use overtake_report::result::Report;
use overtake_seal::Sealed;

use crate::files::Input;
use crate::recording::{Scratch, is_incomplete, is_uninstrumented, losses, seal_log};
use crate::reports::{self, Details};
use crate::{Error, Examined, Listener};

/// In a trace with more events, races are predicted within a window only.
const LONG_TRACE: u64 = 2_000_000;

/// A directory in memory, and the name of a trace in it.
const MEMORY: &str = "/dev/shm";
const IN_MEMORY: &str = "trace.otr";

/// The name of the work that follows when the races are known.
pub const EXPLAINING: &str = "explaining what was found";

/// What was found in the log of a process, and what could not be.
pub struct Searched {
    /// The findings.
    pub report: Report,
    /// Something is missing that nobody asked to leave out.
    pub is_incomplete: bool,
    /// Threads and locks were seen, but nothing of compiled code.
    pub is_uninstrumented: bool,
}

/// How to look for races.
#[derive(Clone, Default)]
pub struct Search {
    /// The detectors; if there are none, those that suit the trace.
    pub detectors: Vec<&'static Entry>,
    /// Suspicions are wanted as well: pairs of accesses without a common lock.
    pub suspects: bool,
    /// The table of detectors from which these are taken.
    pub registry: Registry,
    /// The settings of the detectors.
    pub options: Options,
    /// How much is reported about findings.
    pub details: Details,
}

impl Search {
    /// Seals a log into `trace`, which is removed again, and looks for races in it.
    pub fn in_log(&self, log: &Path, trace: &Path, listener: &dyn Listener) -> Result<Searched, Error> {
        let mut in_memory = None;
        let work = listener.working("sealing what was recorded");
        let sealed = seal_log(log, trace).or_else(|failure| {
            // The log may have filled the disk, so the trace goes to memory. If that fails too, the first failure says more.
            let Ok(memory) = Scratch::new_in("overtake-trace-", Path::new(MEMORY)) else {
                return Err(failure);
            };
            let trace = in_memory.insert(memory).path().join(IN_MEMORY);
            seal_log(log, &trace).map_err(|_| failure)
        });
        drop(work);
        let (sealed, _) = sealed?;
        listener.say(&losses(&sealed));
        let trace =
            in_memory.as_ref().map_or_else(|| trace.to_owned(), |memory| memory.path().join(IN_MEMORY));
        let mut searched = self.in_sealed(&trace, &sealed, listener)?;
        searched.report.runs.iter_mut().for_each(|run| run.trace.clear());
        fs::remove_file(&trace).map_err(|error| Error::in_file(&trace, error))?;
        Ok(searched)
    }

    /// Looks for races in a trace of any format.
    pub fn in_file(&self, path: impl AsRef<Path>) -> Result<Report, Error> {
        self.in_input(&mut Input::new(path.as_ref()), Strictness::Repair, &())
    }

    /// Looks for races in a trace.
    pub fn in_input(
        &self,
        input: &mut Input,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<Report, Error> {
        let examined = self.examined(input, strictness, listener)?.with_events()?;
        let _work = listener.working(EXPLAINING);
        reports::collected(&examined, input, &self.details)
    }

    fn examined(
        &self,
        input: &mut Input,
        strictness: Strictness,
        listener: &dyn Listener,
    ) -> Result<Examined, Error> {
        input.make_rereadable(strictness, listener)?;
        let detectors = self.suited(input)?;
        Examined::of(input, &detectors, &self.options, strictness, listener)
    }

    /// Looks for races in the trace that a log was sealed into. It may be empty: a process may have done nothing that matters.
    pub fn in_sealed(
        &self,
        trace: &Path,
        sealed: &Sealed,
        listener: &dyn Listener,
    ) -> Result<Searched, Error> {
        let mut input = Input::new(trace);
        let examined = self.examined(&mut input, Strictness::Repair, listener)?;
        let _work = listener.working(EXPLAINING);
        Ok(Searched {
            report: reports::collected(&examined, &mut input, &self.details)?,
            is_incomplete: is_incomplete(sealed),
            is_uninstrumented: is_uninstrumented(sealed),
        })
    }

    /// The detectors that were asked for, else those that suit the trace: the same for every command.
    pub fn suited(&self, input: &Input) -> Result<Vec<&'static Entry>, Error> {
        let mut detectors = self.detectors.clone();
        if detectors.is_empty() {
            detectors.extend(self.registry.defaults(input.is_longer_than(LONG_TRACE)?));
        }
        if self.suspects {
            let asked: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
            detectors.extend(self.registry.hunting().filter(|entry| !asked.contains(&entry.name)));
        }
        Ok(detectors)
    }
}
