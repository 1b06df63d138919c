//! Answers about two events, for people.

use std::fmt::Write;

use overtake_detect::ask::{Answer, Link, LinkReason, Obstacle, Unended};
use overtake_detect::{Access, At};
use overtake_trace::Symbols;

use super::{BOLD, DIM, printable};
use crate::event::object_name;

/// What each notion says of two events, and what forces their order where one does.
pub fn answer(answer: &Answer, symbols: &Symbols) -> String {
    let mut text = String::new();
    let (first, second) = (answer.first.index, answer.second.index);
    let verdict = match (&answer.race, answer.is_race()) {
        (_, true) => "a race",
        (Some(_), false) if answer.is_possible() => "a race is possible",
        (Some(_), false) if !answer.weakly_ordered => "no race, but a suspicion of the weak order",
        (Some(_), false) => "no race that any notion finds",
        (None, _) => "no conflicting accesses of different threads",
    };
    let _ = writeln!(text, "{BOLD}events {first} and {second}{BOLD:#}: {verdict}");
    match &answer.race {
        Some(race) => {
            let variable = printable(&symbols.variables.display(race.var));
            let _ = writeln!(text, "  variable         {variable}");
            for access in [race.first, race.second] {
                let _ = writeln!(text, "  {}", access_line(&access, symbols));
            }
        }
        None => {
            for at in [answer.first, answer.second] {
                let _ = writeln!(text, "  {}", place(at, symbols));
            }
        }
    }
    match &answer.happens_before {
        None => text.push_str("  happens-before   does not order them: observed\n"),
        Some(links) => {
            text.push_str("  happens-before   orders them:\n");
            chain(&mut text, links, symbols);
        }
    }
    if answer.race.is_some() {
        predictions(&mut text, answer, symbols);
    }
    text
}

fn predictions(text: &mut String, answer: &Answer, symbols: &Symbols) {
    let reordered = match answer.hinges_on_reads {
        true => "a reordering brings them side by side",
        false => "a reordering brings them side by side: predicted",
    };
    match &answer.kept_apart {
        None => {
            let _ = writeln!(text, "  sync-preserving  {reordered}");
        }
        Some(links) => {
            text.push_str("  sync-preserving  no: what precedes them contains one of them:\n");
            chain(text, links, symbols);
        }
    }
    match &answer.reversal_obstacle {
        None => {
            let _ = writeln!(text, "  sync-reversal    {reordered}");
        }
        Some(obstacle) => {
            let known = answer.kept_apart.as_deref();
            let _ = writeln!(text, "  sync-reversal    {}", obstacle_words(obstacle, known, symbols));
            obstacle_chains(text, obstacle, known, symbols);
        }
    }
    match (&answer.saturation_obstacle, answer.saturation) {
        (Some(obstacle), _) => {
            let known = answer.kept_apart.as_deref();
            let is_known = answer.reversal_obstacle.as_ref() == Some(obstacle);
            let words = match is_known {
                true => "no, for the same reason as sync-reversal".into(),
                false => obstacle_words(obstacle, known, symbols),
            };
            let _ = writeln!(text, "  saturation       {words}");
            if !is_known {
                obstacle_chains(text, obstacle, known, symbols);
            }
        }
        (None, Some(_)) => {
            let _ = writeln!(text, "  saturation       {reordered}");
        }
        (None, None) => text.push_str("  saturation       not asked: it would take too many events\n"),
    }
    weak_order(text, answer, symbols);
    if answer.hinges_on_reads {
        text.push_str("  recording        no schedule does without knowing what racy reads saw: possible, not predicted\n");
    }
}

fn weak_order(text: &mut String, answer: &Answer, symbols: &Symbols) {
    text.push_str(match (answer.weakly_ordered, &answer.weak_chain) {
        (false, _) => "  weak order       does not order them, which alone is a suspicion\n",
        (true, Some(_)) => "  weak order       orders them:\n",
        (true, None) => "  weak order       orders them; too many events are between them to show how\n",
    });
    chain(text, answer.weak_chain.as_deref().unwrap_or_default(), symbols);
}

/// Why there is no reordering of a kind, but for chains; `known` is a chain that was shown already.
fn obstacle_words(obstacle: &Obstacle, known: Option<&[Link]>, symbols: &Symbols) -> String {
    match obstacle {
        Obstacle::Needed(links) if Some(&links[..]) == known => "no, by the same chain".into(),
        Obstacle::Needed(_) => "no: what precedes them contains one of them:".into(),
        Obstacle::BothOpen { lock, .. } => {
            format!("no: {} would be held twice:", printable(&symbols.locks.display(*lock)))
        }
        Obstacle::Circle(_) => "no: what has to come before what is a circle:".into(),
        _ => "no order was found, whichever of the two threads goes ahead".into(),
    }
}

fn obstacle_chains(text: &mut String, obstacle: &Obstacle, known: Option<&[Link]>, symbols: &Symbols) {
    match obstacle {
        Obstacle::Needed(links) if Some(&links[..]) == known => {}
        Obstacle::Needed(links) | Obstacle::Circle(links) => chain(text, links, symbols),
        Obstacle::BothOpen { lock, sections } => {
            let lock = printable(&symbols.locks.display(*lock));
            for Unended { acquire, end } in sections {
                let why = match end.is_empty() {
                    true => "and the trace does not release it",
                    false => "and can release it only after one of the two:",
                };
                let _ = writeln!(text, "    {} acquires {lock}, {why}", place(*acquire, symbols));
                let mut links = String::new();
                chain(&mut links, end, symbols);
                links.lines().for_each(|line| text.push_str(&format!("  {line}\n")));
            }
        }
        _ => {}
    }
}

fn chain(text: &mut String, links: &[Link], symbols: &Symbols) {
    for link in links {
        let [from, to] = [link.from, link.to].map(|at| place(at, symbols));
        let _ = writeln!(text, "    {from}  {DIM}{}{DIM:#}  {to}", reason(link.reason, symbols));
    }
}

/// Why one event comes before another, in words.
pub(crate) fn reason(reason: LinkReason, symbols: &Symbols) -> String {
    match reason {
        LinkReason::Thread => "comes in its thread before".into(),
        LinkReason::Fork => "forks the thread of".into(),
        LinkReason::Join => "is in the thread that is joined by".into(),
        LinkReason::Lock(lock) => {
            format!("releases {} before it is acquired by", printable(&symbols.locks.display(lock)))
        }
        LinkReason::Object(object) => {
            format!("posts {}, which is waited for by", printable(&object_name(object, symbols)))
        }
        LinkReason::Reads(var) => {
            format!("writes {}, which is read by", printable(&symbols.variables.display(var)))
        }
        LinkReason::Conflict(var) => {
            format!("accesses {}, and keeps its place before", printable(&symbols.variables.display(var)))
        }
        LinkReason::LeftOpen(lock) => {
            format!(
                "releases {} before it is acquired, and kept, by",
                printable(&symbols.locks.display(lock))
            )
        }
        LinkReason::Sees(var) => {
            format!(
                "must come, for reads of {} to see what they saw, before",
                printable(&symbols.variables.display(var))
            )
        }
        LinkReason::SectionConflicts(lock) => {
            format!("releases {} after a conflict with", printable(&symbols.locks.display(lock)))
        }
        LinkReason::SectionPrecedes(lock) => {
            format!(
                "releases {}, and its section has to come before that of",
                printable(&symbols.locks.display(lock))
            )
        }
        _ => "reaches, through atomic operations,".into(),
    }
}

fn access_line(access: &Access, symbols: &Symbols) -> String {
    format!("{:<16} {}", access.kind.describe(), place(access.at, symbols))
}

/// `event 7 (T1, worker.c:20)`.
fn place(at: At, symbols: &Symbols) -> String {
    let thread = printable(&symbols.threads.display(at.thread));
    let location = match at.location.is_known() {
        true => format!(", {}", printable(&symbols.location_name(at.location))),
        false => String::new(),
    };
    format!("event {} ({thread}{location})", at.index)
}
