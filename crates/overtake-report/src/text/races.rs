//! Races by pair of source locations, most frequent first.

use std::fmt::Write;

use overtake_detect::{Access, AccessKind, Promise, RaceGroup, Verdict};
use overtake_trace::Symbols;

use super::{BOLD, DIM, Layout, printable, verdict_style};
use crate::model::{Analysed, Findings};
use crate::number::{counted, grouped};

/// What each detector found: its races, then one line that sums them up.
pub fn races(analysed: &Analysed<'_>, layout: &Layout) -> String {
    let mut text = String::new();
    for findings in &analysed.findings {
        one_detector(&mut text, findings, analysed.symbols, layout);
    }
    for findings in &analysed.findings {
        summary(&mut text, findings, analysed.trace.events);
        for remark in &findings.remarks {
            line(&mut text, format_args!("  {}", printable(remark)));
        }
    }
    text
}

fn one_detector(text: &mut String, findings: &Findings<'_>, symbols: &Symbols, layout: &Layout) {
    let groups = findings.groups_by_frequency();
    let shown = layout.limit.unwrap_or(usize::MAX).min(groups.len());
    if groups.is_empty() {
        return;
    }
    let detector = findings.detector;
    line(text, format_args!("{BOLD}{}{BOLD:#}: {}", detector.name, detector.promise.describe()));
    for verdict in [Verdict::Observed, Verdict::Predicted, Verdict::Suspected] {
        if groups.iter().any(|group| group.example.verdict == verdict) {
            line(text, format_args!("{DIM}{}{DIM:#}", meaning(verdict)));
        }
    }
    text.push('\n');
    for group in &groups[..shown] {
        one_group(text, group, symbols);
    }
    if shown < groups.len() {
        let hidden = counted((groups.len() - shown) as u64, "pair of locations", "pairs of locations");
        line(text, format_args!("... and {hidden} more; --limit 0 shows all\n"));
    }
}

fn one_group(text: &mut String, group: &RaceGroup, symbols: &Symbols) {
    let race = &group.example;
    let style = verdict_style(race.verdict);
    let variable = printable(&symbols.variables.display(race.var));
    let headline = format!(
        "{} while {}",
        actor(&race.first, symbols, race.second.at.location.is_known()),
        actor(&race.second, symbols, race.first.at.location.is_known())
    );
    let verdict = race.verdict.word();
    let (id, times) = (group.id, times(group));
    line(
        text,
        format_args!("{id}. {style}{verdict} race{style:#} on {BOLD}{variable}{BOLD:#}: {headline}{times}"),
    );
    let sides = [&race.first, &race.second].map(|access| Side::of(access, symbols));
    let width = |of: fn(&Side) -> &str| sides.iter().map(|side| of(side).chars().count()).max().unwrap_or(0);
    let (threads, ops, places) =
        (width(|side| &side.thread), width(|side| side.op), width(|side| &side.place));
    for (order, side) in ["first ", "second"].into_iter().zip(&sides) {
        let Side { thread, op, place, index } = side;
        line(
            text,
            format_args!(
                "     {order}  {thread:threads$}  {op:ops$}  {place:places$}  {DIM}event {index}{DIM:#}"
            ),
        );
    }
    text.push('\n');
}

/// One access of a race, in words.
struct Side {
    thread: String,
    op: &'static str,
    place: String,
    index: String,
}

impl Side {
    fn of(access: &Access, symbols: &Symbols) -> Side {
        let location = access.at.location;
        Side {
            thread: printable(&symbols.threads.display(access.at.thread)),
            op: access.kind.describe(),
            place: match location.is_known() {
                true => format!("at {}", printable(&symbols.location_name(location))),
                false => "at an unknown location".into(),
            },
            index: grouped(access.at.index.0),
        }
    }
}

/// Who does what: the source location where both sides have one, else the thread.
fn actor(access: &Access, symbols: &Symbols, other_is_known: bool) -> String {
    let location = access.at.location;
    let who = match location.is_known() && other_is_known {
        true => symbols.location_name(location),
        false => symbols.threads.display(access.at.thread),
    };
    format!("{} {}", printable(&who), does(access.kind))
}

fn does(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "reads",
        AccessKind::Write => "writes",
        AccessKind::Load => "loads atomically",
        AccessKind::Store => "stores atomically",
        AccessKind::Rmw => "updates atomically",
        AccessKind::Free => "frees",
    }
}

fn times(group: &RaceGroup) -> String {
    let observed = group.observed;
    match (group.count, group.example.verdict) {
        (1, _) => String::new(),
        (count, Verdict::Observed) if observed < count => {
            format!(", {} times, {} of them observed", grouped(count), grouped(observed))
        }
        (count, _) => format!(", {} times", grouped(count)),
    }
}

fn meaning(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Observed => "observed: nothing orders the two accesses in this run",
        Verdict::Predicted => {
            "predicted: another schedule of this very run brings the two accesses side by side"
        }
        Verdict::Suspected => "suspected: no lock protects both accesses; something else may order them",
    }
}

fn summary(text: &mut String, findings: &Findings<'_>, events: u64) {
    let name = findings.detector.name;
    let races = findings.races;
    if races.is_empty() {
        let what = match findings.detector.promise {
            Promise::Sampled | Promise::PropertyTester => "no race found in a sample of",
            _ => "no race in",
        };
        return line(text, format_args!("{name}: {what} {}", counted(events, "event", "events")));
    }
    let pairs = counted(races.groups().len() as u64, "pair of locations races", "pairs of locations race");
    let accesses = counted(races.racy_events().len() as u64, "access", "accesses");
    let variables = counted(races.racy_variables().len() as u64, "variable", "variables");
    let distance = counted(races.max_distance(), "event", "events");
    line(
        text,
        format_args!(
            "{name}: {pairs}: {accesses} to {variables}, at most {distance} apart{}",
            mixture(findings)
        ),
    );
}

/// How many of the pairs happens-before alone would miss, where a detector predicts.
fn mixture(findings: &Findings<'_>) -> String {
    if findings.detector.verdict != Verdict::Predicted {
        return String::new();
    }
    let groups = findings.races.groups();
    let predicted = groups.iter().filter(|group| group.example.verdict == Verdict::Predicted).count();
    format!("; {} predicted only", counted(predicted as u64, "pair is", "pairs are"))
}

fn line(text: &mut String, line: std::fmt::Arguments<'_>) {
    // Writing into a string does not fail.
    let _ = writeln!(text, "{line}");
}
