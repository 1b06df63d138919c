//! The races of recorded processes and of traces.

use std::path::{Path, PathBuf};
use std::{fs, io, thread};

use overtake_detect::{Driver, Entry, Options, Registry, Strictness};
use overtake_report::result::Report;
use overtake_seal::Sealed;
use rustix::process::{Resource, getrlimit};

use crate::files::Input;
use crate::recording::{Live, Losses, Scratch, Writing, seal_log};
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
    /// Seals a log and looks for races in it, at the same time if there are two cores and memory is not limited. The file `trace` is
    /// written only if the trace is read again, and removed at the end.
    pub fn in_log(&self, log: &Path, trace: &Path, listener: &dyn Listener) -> Result<Searched, Error> {
        let has_cores = thread::available_parallelism().is_ok_and(|cores| cores.get() > 1);
        // Both at once take more memory than one after the other.
        let has_room = getrlimit(Resource::As).current.is_none();
        // A search for the first finding stops reading there, and sealing would wait for it for ever.
        if has_cores
            && has_room
            && !self.options.first
            && let Some(searched) = self.while_sealing(log, trace, listener)
        {
            return searched;
        }
        let made = Made::of(log, trace, listener)?;
        listener.say(&made.losses.text);
        let mut input = Input::new(&made.trace);
        let examined = self.examined(&mut input, Strictness::Repair, listener)?;
        made.removed(self.explained(&examined, &mut input, &made.losses, listener)?)
    }

    /// Searches a trace while the log is sealed. Returns `None` if anything fails: the caller then seals first, which works or says what is
    /// wrong.
    fn while_sealing(
        &self,
        log: &Path,
        trace: &Path,
        listener: &dyn Listener,
    ) -> Option<Result<Searched, Error>> {
        let work = listener.working("searching what was recorded");
        // An earlier search that failed may have left the trace of another process.
        let _ = fs::remove_file(trace);
        let writing = match self.may_read_again()? {
            _ if self.details.timeline => Writing::Always,
            true => Writing::IfLocks,
            false => Writing::Not,
        };
        let (examined, mut input, losses) = thread::scope(|scope| {
            let Live { mut source, sealing } = Live::start(scope, log, trace, writing)?;
            let detectors = self.suited_to(|| source.is_longer_than(LONG_TRACE)).ok()?;
            let (from, to) = (log.to_owned(), trace.to_owned());
            let write = move || seal_log(&from, &to).map(drop);
            let mut input = Input::being_made(trace, Box::new(source), write);
            let examined =
                Examined::of(&mut input, &detectors, &self.options, Strictness::Repair, &()).ok()?;
            Some((examined, input, sealing.join().ok()?.ok()?))
        })?;
        drop(work);
        listener.say(&losses.text);
        let made = match examined.has_findings() && !trace.is_file() {
            true => Made::of(log, trace, listener),
            false => Ok(Made { losses, trace: trace.to_owned(), in_memory: None }),
        };
        Some(made.and_then(|made| {
            if made.in_memory.is_some() {
                input = Input::new(&made.trace);
            }
            made.removed(self.explained(&examined, &mut input, &made.losses, listener)?)
        }))
    }

    /// Whether detectors may read the trace more than once. `None` if they cannot be started.
    fn may_read_again(&self) -> Option<bool> {
        let entries = self.suited_to(|| Ok::<_, Error>(true)).ok()?;
        let driver = Driver::start(&entries, &self.options, Strictness::Repair).ok()?;
        Some(driver.may_need_another_pass())
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
        self.explained(&examined, &mut input, &Losses::of(sealed), listener)
    }

    fn explained(
        &self,
        examined: &Examined,
        input: &mut Input,
        losses: &Losses,
        listener: &dyn Listener,
    ) -> Result<Searched, Error> {
        let _work = listener.working(EXPLAINING);
        Ok(Searched {
            report: reports::collected(examined, input, &self.details)?,
            is_incomplete: losses.is_incomplete,
            is_uninstrumented: losses.is_uninstrumented,
        })
    }

    /// The detectors that were asked for, else those that suit the trace: the same for every command.
    pub fn suited(&self, input: &Input) -> Result<Vec<&'static Entry>, Error> {
        self.suited_to(|| input.is_longer_than(LONG_TRACE))
    }

    fn suited_to<E>(&self, is_long: impl FnOnce() -> Result<bool, E>) -> Result<Vec<&'static Entry>, E> {
        let mut detectors = self.detectors.clone();
        if detectors.is_empty() {
            detectors.extend(self.registry.defaults(is_long()?));
        }
        if self.suspects {
            let asked: Vec<_> = detectors.iter().map(|entry| entry.name).collect();
            detectors.extend(self.registry.hunting().filter(|entry| !asked.contains(&entry.name)));
        }
        Ok(detectors)
    }
}

/// A trace made of a log, wherever there was room for it.
struct Made {
    losses: Losses,
    trace: PathBuf,
    in_memory: Option<Scratch>,
}

impl Made {
    /// Seals a log into `trace`, or into memory if that cannot be: the log may have filled the disk.
    fn of(log: &Path, trace: &Path, listener: &dyn Listener) -> Result<Made, Error> {
        let _work = listener.working("sealing what was recorded");
        let made =
            |(sealed, _), trace: PathBuf, in_memory| Made { losses: Losses::of(&sealed), trace, in_memory };
        let failure = match seal_log(log, trace) {
            Ok(sealed) => return Ok(made(sealed, trace.to_owned(), None)),
            Err(failure) => failure,
        };
        // If this fails too, the first failure says more.
        let Ok(memory) = Scratch::new_in("overtake-trace-", Path::new(MEMORY)) else {
            return Err(failure);
        };
        let trace = memory.path().join(IN_MEMORY);
        let sealed = seal_log(log, &trace).map_err(|_| failure)?;
        Ok(made(sealed, trace, Some(memory)))
    }

    /// What was found in the trace, which is no longer needed.
    fn removed(&self, mut searched: Searched) -> Result<Searched, Error> {
        searched.report.runs.iter_mut().for_each(|run| run.trace.clear());
        match fs::remove_file(&self.trace) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(Error::in_file(&self.trace, error)),
            _ => Ok(searched),
        }
    }
}
