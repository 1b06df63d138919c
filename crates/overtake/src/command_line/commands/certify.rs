//! `overtake certify`: a short proof that a trace has a lock-set race or that it has none, and the check of such a proof.
//!
//! A certificate is text. Its first line is [`HEADING`]; each further line is `race VAR`, `lock VAR LOCK` or `no-conflict VAR`, with the numbers of the trace's tables in order, and the
//! names behind `#`.

use std::fmt::Write;
use std::path::Path;

use overtake::Error;
use overtake_detect::certificate::{Certificate, Claim, Flaw, certify, check};
use overtake_trace::{Id, IdVec, LockId, Symbols, VarId};

use crate::command_line::args::CertifyArguments;
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

const HEADING: &str = "overtake certificate 1: lock-set";

/// Makes a certificate, or checks one.
pub(crate) fn run(arguments: &CertifyArguments, console: Console) -> Outcome {
    let mut opened = arguments.input.input().open()?;
    let Some(path) = &arguments.check else {
        let certificate = certify(opened.source_mut()).map_err(|error| opened.failure(error))?;
        let text = written(&certificate, opened.source().symbols());
        match &arguments.out {
            Some(path) => std::fs::write(path, text).map_err(|error| Error::in_file(path, error))?,
            None => console.print(&text)?,
        }
        return Ok(verdict(&certificate));
    };
    let certificate = read(path)?;
    let flaw = check(opened.source_mut(), &certificate).map_err(|error| opened.failure(error))?;
    let symbols = opened.source().symbols();
    match flaw {
        Some(flaw) => Err(Error::failed(format!("the certificate does not hold: {}", why(flaw, symbols)))),
        None => {
            let proven = match &certificate {
                Certificate::Race(var) => format!("{} has a lock-set race", name_of(*var, symbols)),
                Certificate::NoRace(_) => "no variable has a lock-set race".to_owned(),
            };
            console.print(&format!("the certificate holds: {proven}\n"))?;
            Ok(verdict(&certificate))
        }
    }
}

fn verdict(certificate: &Certificate) -> Verdict {
    match certificate {
        Certificate::Race(_) => Verdict::Races,
        Certificate::NoRace(_) => Verdict::Fine,
    }
}

fn name_of(var: VarId, symbols: &Symbols) -> String {
    match var.index() < symbols.variables.len() {
        true => symbols.variables.display(var),
        false => format!("variable {}, which the trace does not have,", var.0),
    }
}

fn lock_name(lock: LockId, symbols: &Symbols) -> String {
    match lock.index() < symbols.locks.len() {
        true => symbols.locks.display(lock),
        false => format!("lock {}, which the trace does not have,", lock.0),
    }
}

fn written(certificate: &Certificate, symbols: &Symbols) -> String {
    let mut text = format!("{HEADING}\n");
    let mut line = |claim: String, names: String| {
        let printable = names.replace(char::is_control, " ");
        writeln!(text, "{claim} # {printable}").expect("text takes all");
    };
    match certificate {
        Certificate::Race(var) => line(format!("race {}", var.0), name_of(*var, symbols)),
        Certificate::NoRace(claims) => {
            for (at, claim) in claims.iter().enumerate() {
                let var = VarId::from_index(at);
                let name = name_of(var, symbols);
                match claim {
                    Claim::NoConflict => line(format!("no-conflict {at}"), name),
                    Claim::Lock(lock) => {
                        let names = format!("{name}: {}", lock_name(*lock, symbols));
                        line(format!("lock {at} {}", lock.0), names);
                    }
                }
            }
        }
    }
    text
}

fn read(path: &Path) -> Result<Certificate, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::in_file(path, error))?;
    let failure = |line: usize, found: &str| {
        Error::in_file(path, format!("line {}: expected a line of a certificate, found {found:?}", line + 1))
    };
    let mut claims = IdVec::new();
    for (number, line) in text.lines().enumerate() {
        if number == 0 {
            if line == HEADING {
                continue;
            }
            return Err(failure(number, line));
        }
        let words: Vec<_> = line.split('#').next().unwrap_or_default().split_whitespace().collect();
        let numbers: Option<Vec<u32>> =
            words.get(1..).unwrap_or_default().iter().map(|word| word.parse().ok()).collect();
        match (words.first().copied(), numbers.as_deref()) {
            (Some("race"), Some(&[var])) => return Ok(Certificate::Race(VarId(var))),
            (Some("lock"), Some(&[var, lock])) if var as usize <= number => {
                *claims.entry(VarId(var)) = Claim::Lock(LockId(lock));
            }
            (Some("no-conflict"), Some(&[var])) if var as usize <= number => {
                *claims.entry(VarId(var)) = Claim::NoConflict;
            }
            _ => return Err(failure(number, line)),
        }
    }
    match text.is_empty() {
        true => Err(failure(0, "")),
        false => Ok(Certificate::NoRace(claims)),
    }
}

fn why(flaw: Flaw, symbols: &Symbols) -> String {
    match flaw {
        Flaw::NotHeld(event, var, lock) => {
            format!("event {event} accesses {} without {}", name_of(var, symbols), lock_name(lock, symbols))
        }
        Flaw::Conflict(event, var) => {
            format!("event {event} conflicts with an earlier access to {}", name_of(var, symbols))
        }
        Flaw::Protected(var, lock) => {
            format!("{} protects {}", lock_name(lock, symbols), name_of(var, symbols))
        }
        Flaw::NoPair(var) => format!("no two accesses to {} conflict", name_of(var, symbols)),
        _ => "it says what is not so".to_owned(),
    }
}
