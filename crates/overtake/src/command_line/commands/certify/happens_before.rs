//! The text of certificates of happens-before: `race EVENT EVENT`, or lines `hub NODE` and `path NODE ...`.

use overtake_detect::certificate::happens_before::{Certificate, Flaw, Proof};
use overtake_trace::EventIndex;

use super::{Lines, Written, small};

/// The lines of a certificate.
pub(super) fn written(certificate: &Certificate) -> Written {
    let mut text = Written::default();
    match certificate {
        Certificate::Race(first, second) => text.line(&format!("race {first} {second}"), ""),
        Certificate::NoRace(Proof { hubs, paths }) => {
            hubs.iter().for_each(|hub| text.line(&format!("hub {hub}"), ""));
            for path in paths {
                let nodes: Vec<_> = path.iter().map(u32::to_string).collect();
                text.line(&format!("path {}", nodes.join(" ")), "");
            }
        }
    }
    text
}

/// Reads the lines of a certificate; the number of a line that is none, if there is one.
pub(super) fn read(lines: Lines<'_>) -> Result<Certificate, usize> {
    let mut proof = Proof::default();
    for (number, word, numbers) in lines {
        match (word, numbers) {
            ("race", Some(events)) if events.len() == 2 => {
                return Ok(Certificate::Race(EventIndex(events[0]), EventIndex(events[1])));
            }
            ("hub", numbers) => {
                let nodes = small(numbers).filter(|nodes| nodes.len() == 1);
                proof.hubs.extend(nodes.ok_or(number)?);
            }
            ("path", numbers) => {
                let nodes = small(numbers).filter(|nodes| !nodes.is_empty());
                proof.paths.push(nodes.ok_or(number)?);
            }
            _ => return Err(number),
        }
    }
    Ok(Certificate::NoRace(proof))
}

/// What a certificate proves.
pub(super) fn proven(certificate: &Certificate) -> String {
    match certificate {
        Certificate::Race(first, second) => format!("events {first} and {second} are a happens-before race"),
        Certificate::NoRace(_) => "there is no happens-before race".to_owned(),
    }
}

/// What is wrong with a certificate.
pub(super) fn why(flaw: Flaw) -> String {
    match flaw {
        Flaw::NoConflict(first, second) => {
            format!("events {first} and {second} are not conflicting accesses of two threads")
        }
        Flaw::Ordered(first, second) => format!("event {first} happens before event {second}"),
        Flaw::Unproven(first, second) => {
            format!("no hub and no path says why event {first} happens before event {second}")
        }
        Flaw::NoNode(node) => format!("the order of the trace has no node {node}"),
        Flaw::NoStep(from, to) => format!("node {from} does not come directly before node {to}"),
        _ => "it says what is not so".to_owned(),
    }
}
