//! Answers about two events, for people.

use std::fmt::Write;

use overtake_detect::ask::{Answer, Link, LinkReason};
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
    let words = |found| if found { reordered } else { "no" };
    let _ = writeln!(text, "  sync-reversal    {}", words(answer.sync_reversal));
    let saturation = answer.saturation.map_or("not asked: it would take too many events", words);
    let _ = writeln!(text, "  saturation       {saturation}");
    let weak =
        if answer.weakly_ordered { "orders them" } else { "does not order them, which alone is a suspicion" };
    let _ = writeln!(text, "  weak order       {weak}");
    if answer.hinges_on_reads {
        text.push_str("  recording        no schedule does without knowing what racy reads saw: possible, not predicted\n");
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
