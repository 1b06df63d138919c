//! What is missing from a log, in sentences for people.

use overtake_seal::{Sealed, ThreadLog};

/// What is missing from a log: all that is needed of [`Sealed`] once the events were written.
#[derive(Clone, Debug)]
pub struct Losses {
    /// What [`losses`] says.
    pub text: String,
    /// What [`is_incomplete`] says.
    pub is_incomplete: bool,
    /// What [`is_uninstrumented`] says.
    pub is_uninstrumented: bool,
}

impl Losses {
    /// What the log of a sealed trace does not have.
    pub fn of(sealed: &Sealed) -> Losses {
        Losses {
            text: losses(sealed),
            is_incomplete: is_incomplete(sealed),
            is_uninstrumented: is_uninstrumented(sealed),
        }
    }
}

/// What is missing from the trace, one line each. Reports on the trace say it as well.
pub fn missing(sealed: &Sealed) -> String {
    sealed.symbols.program.missing.iter().map(|sentence| format!("missing: {sentence}\n")).collect()
}

/// What else was not recorded, or could not be read, one line each.
pub fn losses(sealed: &Sealed) -> String {
    let log = &sealed.log;
    let mut text = String::new();
    let mut say = |line: String| text.push_str(&(line + "\n"));
    for damage in &log.damage {
        say(format!("damaged: {damage}"));
    }
    if log.lost_events > 0 {
        say(format!("missing: {} events of threads that could not be recorded", log.lost_events));
    }
    text
}

/// Whether something is missing that nobody asked to leave out.
pub fn is_incomplete(sealed: &Sealed) -> bool {
    let log = &sealed.log;
    let is_damaged = !log.damage.is_empty() || !log.loss.is_empty();
    is_damaged || log.lost_events > 0 || log.threads.iter().any(|thread| thread.lost_bytes > 0)
}

/// Whether threads or locks were seen, but no instrumented code: our compilers linked the program but did not compile it.
pub fn is_uninstrumented(sealed: &Sealed) -> bool {
    let sizes = sealed.symbols.sizes();
    !sealed.has_instrumented_code && (sizes.locks > 0 || sizes.threads > 1)
}

/// How many accesses were left out because they repeat recorded ones, in one line; empty if none was.
pub fn coalesced(sealed: &Sealed) -> String {
    let sum = |of: fn(&ThreadLog) -> u64| sealed.log.threads.iter().map(of).sum::<u64>();
    match (sum(|thread| thread.coalesced), sum(|thread| thread.closing_writes)) {
        (0, 0) => String::new(),
        (accesses, writes) => format!(
            "left out: at least {accesses} accesses that repeat recorded ones; extra records of their last writes: {writes}\n"
        ),
    }
}
