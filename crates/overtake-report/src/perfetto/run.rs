//! A run: its threads, its critical sections, its races.

use std::collections::BTreeMap;
use std::io;

use serde_json::json;

use super::event::{Events, Lane};
use crate::result::{Access, Finding, Frame, HeldLock, Report, Status, Timeline};

/// Critical sections that the timelines do not have.
pub(super) fn sections_left_out(report: &Report) -> u64 {
    report
        .runs
        .iter()
        .filter_map(|run| run.timeline.as_ref())
        .map(|timeline| timeline.sections_left_out)
        .sum()
}

/// Writes the run at a position, which a damaged result may not have.
pub(super) fn write(events: &mut Events<'_>, report: &Report, position: usize) -> io::Result<()> {
    let process = position as u64 + 1;
    let run = report.runs.get(position);
    let command = run.map_or(String::new(), |run| run.command.join(" "));
    let name = match run {
        Some(run) if command.is_empty() => format!("run: {}", run.trace),
        Some(run) => format!("run: {command} ({})", run.process),
        None => "run".into(),
    };
    events.process(process, &name, "the order of the run: one event is one microsecond")?;
    let timeline = run.and_then(|run| run.timeline.as_ref());
    let findings: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.runs.first().is_none_or(|run| *run as usize == position))
        .filter(|finding| !matches!(finding.status, Status::Suppressed { .. }))
        .collect();
    let lanes = Lanes::of(process, timeline, &findings);
    for (name, lane) in lanes.in_order() {
        events.thread(lane, name)?;
    }
    match timeline {
        Some(timeline) => write_timeline(events, timeline, &lanes)?,
        None => write_held(events, &findings, &lanes)?,
    }
    findings.into_iter().try_for_each(|finding| write_race(events, finding, &lanes))
}

fn write_timeline(events: &mut Events<'_>, timeline: &Timeline, lanes: &Lanes) -> io::Result<()> {
    for thread in &timeline.threads {
        let duration = (thread.to - thread.from.min(thread.to)).max(1) + 1;
        events.slice(
            lanes.lane(&thread.name),
            (thread.from, duration),
            "thread",
            &thread.name,
            json!(null),
        )?;
    }
    for section in &timeline.sections {
        let Some(thread) = timeline.threads.get(section.thread as usize) else { continue };
        let args = json!({"lock": section.lock, "thread": thread.name, "shared": section.shared});
        let name = format!("{} held by {}", section.lock, thread.name);
        events.span(lanes.lane(&thread.name), (section.from, section.to + 1), &name, args)?;
    }
    Ok(())
}

/// What findings know of critical sections: that each was open from its acquire to the access.
fn write_held(events: &mut Events<'_>, findings: &[&Finding], lanes: &Lanes) -> io::Result<()> {
    // By section, the last access that is known to be in it.
    let mut sections: BTreeMap<(&str, u64), (&HeldLock, u64)> = BTreeMap::new();
    for finding in findings {
        for access in &finding.accesses {
            for held in &access.held {
                let known = sections.entry((&access.thread.name, held.event)).or_insert((held, access.event));
                known.1 = known.1.max(access.event);
            }
        }
    }
    for ((thread, from), (held, to)) in sections {
        let args = json!({"lock": held.name, "thread": thread, "shared": held.shared, "until": "at least"});
        events.span(lanes.lane(thread), (from, to + 1), &format!("{} held by {thread}", held.name), args)?;
    }
    Ok(())
}

fn write_race(events: &mut Events<'_>, finding: &Finding, lanes: &Lanes) -> io::Result<()> {
    let name = format!("{} #{}", finding.title(), finding.id);
    // In the order of the run, which is not always that of the finding.
    let mut accesses: Vec<&Access> = finding.accesses.iter().collect();
    accesses.sort_by_key(|access| access.event);
    for access in &accesses {
        let mut args = json!({
            "finding": finding.headline,
            "operation": access.operation,
            "event": access.event,
            "at": access.site().map(place),
            "fingerprint": finding.fingerprint,
        });
        if let Some(said) = finding.confirmation() {
            args["again"] = said.into();
        }
        events.slice(lanes.lane(&access.thread.name), (access.event, 1), finding.kind.word(), &name, args)?;
    }
    accesses.windows(2).try_for_each(|pair| {
        let end = |access: &Access| (lanes.lane(&access.thread.name), access.event);
        events.arrow(&name, end(pair[0]), end(pair[1]))
    })
}

fn place(frame: &Frame) -> String {
    match frame.line {
        0 => format!("{} {}", frame.function, frame.file).trim().to_owned(),
        line => format!("{} {}:{line}", frame.function, frame.file).trim().to_owned(),
    }
}

/// The lanes of a run, by name of the thread.
struct Lanes {
    process: u64,
    threads: BTreeMap<String, u64>,
}

impl Lanes {
    /// First the threads of the timeline, then other threads that take part in a race.
    fn of(process: u64, timeline: Option<&Timeline>, findings: &[&Finding]) -> Lanes {
        let mut threads = BTreeMap::new();
        let of_timeline =
            timeline.into_iter().flat_map(|timeline| &timeline.threads).map(|thread| &thread.name);
        let of_races = findings.iter().flat_map(|finding| &finding.accesses);
        for name in of_timeline.chain(of_races.map(|access| &access.thread.name)) {
            let next = threads.len() as u64 + 1;
            threads.entry(name.clone()).or_insert(next);
        }
        Lanes { process, threads }
    }

    fn lane(&self, name: &str) -> Lane {
        Lane { process: self.process, thread: self.threads.get(name).copied().unwrap_or(0) }
    }

    fn in_order(&self) -> impl Iterator<Item = (&str, Lane)> {
        let mut lanes: Vec<_> = self.threads.keys().map(|name| (name.as_str(), self.lane(name))).collect();
        lanes.sort_by_key(|(_, lane)| lane.thread);
        lanes.into_iter()
    }
}
