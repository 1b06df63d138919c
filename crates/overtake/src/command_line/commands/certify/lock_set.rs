//! The text of certificates of locking discipline: each line is `race VAR`, `lock VAR LOCK` or `no-conflict VAR`, with the numbers of the trace's tables in order.

use overtake_detect::certificate::lock_set::{Certificate, Claim, Flaw};
use overtake_trace::{Id, IdVec, LockId, Symbols, VarId};

use super::{Lines, Written, small};

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

/// The lines of a certificate.
pub(super) fn written(certificate: &Certificate, symbols: &Symbols) -> Written {
    let mut text = Written::default();
    match certificate {
        Certificate::Race(var) => text.line(&format!("race {}", var.0), &name_of(*var, symbols)),
        Certificate::NoRace(claims) => {
            for (at, claim) in claims.iter().enumerate() {
                let name = name_of(VarId::from_index(at), symbols);
                match claim {
                    Claim::NoConflict => text.line(&format!("no-conflict {at}"), &name),
                    Claim::Lock(lock) => {
                        let names = format!("{name}: {}", lock_name(*lock, symbols));
                        text.line(&format!("lock {at} {}", lock.0), &names);
                    }
                }
            }
        }
    }
    text
}

/// Reads the lines of a certificate; the number of a line that is none, if there is one.
pub(super) fn read(lines: Lines<'_>) -> Result<Certificate, usize> {
    let mut claims = IdVec::new();
    for (number, word, numbers) in lines {
        // A certificate names variables one after the other: so no number decides how much memory is taken.
        let is_next = |var: u32| var as usize <= number;
        match (word, small(numbers).as_deref()) {
            ("race", Some(&[var])) => return Ok(Certificate::Race(VarId(var))),
            ("lock", Some(&[var, lock])) if is_next(var) => {
                *claims.entry(VarId(var)) = Claim::Lock(LockId(lock));
            }
            ("no-conflict", Some(&[var])) if is_next(var) => {
                *claims.entry(VarId(var)) = Claim::NoConflict;
            }
            _ => return Err(number),
        }
    }
    Ok(Certificate::NoRace(claims))
}

/// What a certificate proves.
pub(super) fn proven(certificate: &Certificate, symbols: &Symbols) -> String {
    match certificate {
        Certificate::Race(var) => format!("{} has a lock-set race", name_of(*var, symbols)),
        Certificate::NoRace(_) => "no variable has a lock-set race".to_owned(),
    }
}

/// What is wrong with a certificate.
pub(super) fn why(flaw: Flaw, symbols: &Symbols) -> String {
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
