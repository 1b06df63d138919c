//! Raw logs of recorded programs turned into traces.
//!
//! A recorded process leaves a log with the records of each thread (see `overtake-rawlog`). Sealing reads it twice: once to find out
//! how accesses divide memory into variables, once to merge the threads by their stamps into one well-formed trace, with bytes resolved to
//! variables, objects to ids, and program counters to call stacks. The log of a crashed process can be sealed, too.
#![forbid(unsafe_code)]

mod code;
mod debug_info;
mod demangle;
mod descriptors;
mod error;
mod kept;
mod log;
mod members;
mod memory;
mod merge;
mod modules;
mod objects;
mod pages;
mod pieces;
mod scan;
mod sources;
mod stacks;
mod weave;

use std::path::Path;

pub use debug_info::build_id;
pub use error::{Error, Result};
pub use log::{Log, Reader, ThreadLog};
pub use members::{GlobalByte, members};
pub use modules::{Modules, Policy};
pub use sources::{sources_of, without_dots};

use overtake_trace::{EventSink, Symbols};

/// The result of sealing a log.
#[derive(Debug)]
pub struct Sealed {
    /// Number of events written.
    pub events: u64,
    /// The names and stacks.
    pub symbols: Symbols,
    /// What the log says about the process.
    pub log: Log,
    /// Whether compiled code called the recorder, not only libc functions that are interposed.
    pub has_instrumented_code: bool,
}

/// Seals the log in `directory` into `out`.
pub fn seal(directory: &Path, out: &mut dyn EventSink) -> Result<Sealed> {
    seal_with(directory, Modules::default(), out)
}

/// As [`seal`], with what the policies of modules leave.
pub fn seal_with(directory: &Path, modules: Modules, out: &mut dyn EventSink) -> Result<Sealed> {
    Scanned::of(directory)?.seal_with(modules, out)
}

/// A log that was read once, and what was learnt from that.
pub struct Scanned {
    log: Log,
    scan: scan::Scan,
}

impl Scanned {
    /// Reads the log in `directory`.
    pub fn of(directory: &Path) -> Result<Scanned> {
        let mut log = Log::open(directory)?;
        let scan = scan::scan(&log)?;
        if scan.shortened > 0 {
            log.damage.push(format!(
                "{} ranges of more than {} bytes were cut",
                scan.shortened,
                scan::LONGEST_RANGE
            ));
        }
        log.damage.extend(scan.damage.iter().cloned());
        Ok(Scanned { log, scan })
    }

    /// Whether the process takes locks or does atomic operations: if not, detectors that predict are likely to read its trace once.
    pub fn has_locks(&self) -> bool {
        self.scan.has_locks
    }

    /// A number of events that the trace has at least; 0 if nothing is known.
    pub fn least_events(&self, modules: &Modules) -> u64 {
        let has_all =
            self.log.is_complete() && !self.scan.has_unchecked_memory && modules.take_compiled_code();
        if has_all { self.scan.certain_events } else { 0 }
    }

    /// Seals the log into `out`, with what the policies of modules leave.
    pub fn seal_with(self, modules: Modules, out: &mut dyn EventSink) -> Result<Sealed> {
        let Scanned { log, scan } = self;
        let has_instrumented_code = scan.has_instrumented_code;
        let (events, symbols) = merge::merge(&log, scan, modules, out)?;
        Ok(Sealed { events, symbols, log, has_instrumented_code })
    }
}
