//! A log that is sealed on one core while detectors read the trace on another.
//!
//! The trace is written to a file meanwhile if somebody is likely to read it again. Whoever does so where it was not likely has the log sealed
//! once more: the same log gives the same trace.

use std::ops::Range;
use std::path::Path;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use overtake_seal::Scanned;
use overtake_trace::{Event, EventSink, OtrWriter, RelaySink, RelaySource, Symbols, VarId, relay};

use super::loss::Losses;
use super::{modules, write_sealed};
use crate::Error;

/// Blocks that wait for the detectors at most.
const BLOCKS: usize = 8;

/// Whether the trace is written to its file while it is made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Writing {
    /// Nobody reads it twice, unless something is found.
    Not,
    /// Detectors that predict read it: once, if nothing is found and there are no locks.
    IfLocks,
    /// In any case.
    Always,
}

/// A log that is being sealed.
pub(crate) struct Live<'scope> {
    /// The trace, to be read once.
    pub(crate) source: RelaySource,
    /// The thread that makes it.
    pub(crate) sealing: ScopedJoinHandle<'scope, Result<Losses, Error>>,
}

impl<'scope> Live<'scope> {
    /// Starts to seal a log, in a thread of its own, also into the file `out` as `writing` says: it is complete when the source has come to
    /// its end. `None` if there can be no thread.
    pub(crate) fn start<'a: 'scope>(
        scope: &'scope Scope<'scope, '_>,
        log: &'a Path,
        out: &'a Path,
        writing: Writing,
    ) -> Option<Live<'scope>> {
        let (sink, source) = relay(BLOCKS);
        let sealing = Builder::new().spawn_scoped(scope, move || sealed(log, out, writing, sink)).ok()?;
        Some(Live { source, sealing })
    }
}

fn sealed(log: &Path, out: &Path, writing: Writing, mut relay: RelaySink) -> Result<Losses, Error> {
    let failed = |error: overtake_seal::Error| Error::failed(error.to_string());
    let modules = modules(log)?;
    let scanned = Scanned::of(log).map_err(failed)?;
    relay.promise(scanned.least_events(&modules));
    let is_written = writing == Writing::Always || (writing == Writing::IfLocks && scanned.has_locks());
    let sealed = match is_written {
        false => scanned.seal_with(modules, &mut relay).map_err(failed)?,
        true => {
            let written = write_sealed(out, |output| {
                let file = OtrWriter::new(output).map_err(|error| Error::in_file(out, error))?;
                scanned.seal_with(modules, &mut Both { relay: &mut relay, file }).map_err(failed)
            });
            written?.0
        }
    };
    relay.close();
    Ok(Losses::of(&sealed))
}

/// Hands events on before it writes them.
struct Both<'a, S> {
    relay: &'a mut RelaySink,
    file: S,
}

impl<S: EventSink> EventSink for Both<'_, S> {
    fn end_variables(&mut self, ended: &[Range<VarId>]) {
        self.relay.end_variables(ended);
    }

    fn write(&mut self, events: &[Event], symbols: &Symbols) -> overtake_trace::Result<()> {
        self.relay.write(events, symbols)?;
        self.file.write(events, symbols)
    }

    fn finish(&mut self, symbols: &Symbols) -> overtake_trace::Result<()> {
        self.relay.finish(symbols)?;
        self.file.finish(symbols)
    }
}
