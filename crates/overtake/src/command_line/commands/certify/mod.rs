//! `overtake certify`: a short proof that a trace has a race or that it has none, and the check of such a proof.
//!
//! A certificate is text. Its first line is the [heading](heading) of its notion; each further line is a word and numbers, and what they stand for behind `#`.

mod happens_before;
mod lock_set;

use std::fmt::Write;
use std::path::Path;

use overtake::Error;
use overtake_detect::certificate::{happens_before as order, lock_set as discipline};

use crate::command_line::args::{CertifiedNotion, CertifyArguments};
use crate::command_line::console::Console;
use crate::command_line::verdict::{Outcome, Verdict};

/// The first line of the certificates of a notion.
fn heading(notion: CertifiedNotion) -> &'static str {
    match notion {
        CertifiedNotion::LockSet => "overtake certificate 1: lock-set",
        CertifiedNotion::HappensBefore => "overtake certificate 1: happens-before",
    }
}

/// A certificate of any notion.
enum Certificate {
    Discipline(discipline::Certificate),
    Order(order::Certificate),
}

/// Makes a certificate, or checks one.
pub(crate) fn run(arguments: &CertifyArguments, console: Console) -> Outcome {
    let Some(path) = &arguments.check else { return make(arguments, console) };
    let certificate = read(path)?;
    let mut opened = arguments.input.input().open()?;
    let source = opened.source_mut();
    let flaw = match &certificate {
        Certificate::Discipline(certificate) => {
            let flaw = discipline::check(source, certificate).map_err(|error| opened.failure(error))?;
            flaw.map(|flaw| lock_set::why(flaw, opened.source().symbols()))
        }
        Certificate::Order(certificate) => {
            let flaw = order::check(source, certificate).map_err(|error| opened.failure(error))?;
            flaw.map(happens_before::why)
        }
    };
    if let Some(flaw) = flaw {
        return Err(Error::failed(format!("the certificate does not hold: {flaw}")));
    }
    let proven = match &certificate {
        Certificate::Discipline(certificate) => lock_set::proven(certificate, opened.source().symbols()),
        Certificate::Order(certificate) => happens_before::proven(certificate),
    };
    console.print(&format!("the certificate holds: {proven}\n"))?;
    Ok(verdict(&certificate))
}

fn make(arguments: &CertifyArguments, console: Console) -> Outcome {
    let mut opened = arguments.input.input().open()?;
    let source = opened.source_mut();
    let certificate = match arguments.notion {
        CertifiedNotion::LockSet => discipline::certify(source).map(Certificate::Discipline),
        CertifiedNotion::HappensBefore => order::certify(source).map(Certificate::Order),
    };
    let certificate = certificate.map_err(|error| opened.failure(error))?;
    let Written(lines) = match &certificate {
        Certificate::Discipline(certificate) => lock_set::written(certificate, opened.source().symbols()),
        Certificate::Order(certificate) => happens_before::written(certificate),
    };
    let text = format!("{}\n{lines}", heading(arguments.notion));
    match &arguments.out {
        Some(path) => std::fs::write(path, text).map_err(|error| Error::in_file(path, error))?,
        None => console.print(&text)?,
    }
    Ok(verdict(&certificate))
}

fn verdict(certificate: &Certificate) -> Verdict {
    match certificate {
        Certificate::Discipline(discipline::Certificate::Race(_))
        | Certificate::Order(order::Certificate::Race(..)) => Verdict::Races,
        _ => Verdict::Fine,
    }
}

/// The lines of a certificate, as they are written.
#[derive(Default)]
struct Written(String);

impl Written {
    /// Adds a line, with the names that its numbers stand for.
    fn line(&mut self, claim: &str, names: &str) {
        let printable = names.replace(char::is_control, " ");
        let separator = if names.is_empty() { "" } else { " # " };
        writeln!(self.0, "{claim}{separator}{printable}").expect("text takes all");
    }
}

/// The lines behind the heading: the number of each, its word, and its numbers, if they are some.
type Lines<'a> = &'a mut dyn Iterator<Item = (usize, &'a str, Option<Vec<u64>>)>;

fn read(path: &Path) -> Result<Certificate, Error> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::in_file(path, error))?;
    let mut lines = text.lines().enumerate().skip(1).map(|(number, line)| {
        let mut words = line.split('#').next().unwrap_or_default().split_whitespace();
        let word = words.next().unwrap_or_default();
        (number, word, words.map(|word| word.parse().ok()).collect())
    });
    let first = text.lines().next().unwrap_or_default();
    let certificate = if first == heading(CertifiedNotion::LockSet) {
        lock_set::read(&mut lines).map(Certificate::Discipline)
    } else if first == heading(CertifiedNotion::HappensBefore) {
        happens_before::read(&mut lines).map(Certificate::Order)
    } else {
        Err(0)
    };
    certificate.map_err(|number| {
        let found = text.lines().nth(number).unwrap_or_default();
        let line = number + 1;
        Error::in_file(path, format!("line {line}: expected a line of a certificate, found {found:?}"))
    })
}

/// Numbers of tables, which are small.
fn small(numbers: Option<Vec<u64>>) -> Option<Vec<u32>> {
    numbers?.into_iter().map(|number| number.try_into().ok()).collect()
}
