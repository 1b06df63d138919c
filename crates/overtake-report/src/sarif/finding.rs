//! A finding as a SARIF result.

use overtake_detect::Verdict;
use serde::Serialize;
use serde_json::{Value, json};

use super::flow::CodeFlow;
use super::place::{Location, Place};
use super::rules::{capitalised, id_of, index_of, rank_of};
use super::{Limits, Message};
use crate::result::{Access, Finding, Frame, Report, Run, Status, innermost_own};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ResultForm<'a> {
    rule_id: String,
    rule_index: usize,
    kind: &'static str,
    level: &'static str,
    /// How much it matters, up to 100.
    rank: f32,
    message: Message<'a>,
    locations: [Location<'a>; 1],
    partial_fingerprints: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    occurrence_count: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    related_locations: Vec<Location<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stacks: Vec<Stack<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    code_flows: Vec<CodeFlow<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    baseline_state: Option<&'static str>,
    /// An empty list says that suppressions were applied and none matches.
    suppressions: Vec<Suppression<'a>>,
    properties: Value,
}

#[derive(Serialize)]
struct Stack<'a> {
    message: Message<'a>,
    frames: Vec<StackFrame<'a>>,
}

#[derive(Serialize)]
struct StackFrame<'a> {
    location: Location<'a>,
    #[serde(skip_serializing_if = "str::is_empty")]
    module: &'a str,
}

#[derive(Serialize)]
struct Suppression<'a> {
    kind: &'static str,
    status: &'static str,
    justification: &'a str,
}

impl<'a> ResultForm<'a> {
    /// `occurrence` counts the findings with this fingerprint, from 1.
    pub(super) fn of(
        finding: &'a Finding,
        report: &'a Report,
        occurrence: u32,
        limits: &Limits,
    ) -> ResultForm<'a> {
        let accesses = in_stable_order(finding);
        let (shown, others) =
            accesses.split_first().map_or((None, &[][..]), |(shown, others)| (Some(*shown), others));
        let rule = finding.rule();
        let run = finding.runs.first().and_then(|run| report.runs.get(*run as usize));
        let trace = run.map_or("", |run| &run.trace);
        // How often a program ran into a race, and at which event, is different in another run.
        let is_recorded = run.is_some_and(Run::is_recorded);
        let primary = Location::primary(shown.and_then(Access::site), trace, report);
        let related = related(finding, others, report, limits);
        let fingerprint = &finding.fingerprint;
        // In which order a program happened to do things, is different in another run, too; a witness stays.
        let schedule =
            finding.schedule.as_ref().filter(|schedule| !is_recorded || !schedule.witness.is_empty());
        let flow = schedule.and_then(|schedule| CodeFlow::of(schedule, report, limits.flow, !is_recorded));
        ResultForm {
            rule_id: id_of(rule),
            rule_index: index_of(rule),
            kind: kind_of(finding),
            level: if kind_of(finding) == "fail" { crate::rules::level_of(finding) } else { "none" },
            rank: rank_of(finding),
            message: message(finding, others.first().copied(), related.first()),
            locations: [primary.saying(shown.map(said_of).unwrap_or_default())],
            // GitHub looks at the second one only, whose form is a hash and a count.
            partial_fingerprints: json!({
                "overtakeRace/v1": format!("{fingerprint}:{occurrence}"),
                "primaryLocationLineHash": format!("{fingerprint}:{occurrence}"),
            }),
            occurrence_count: (!is_recorded).then_some(finding.count.max(1)),
            related_locations: related,
            stacks: stacks(finding, report, limits.frames),
            code_flows: flow.into_iter().collect(),
            baseline_state: baseline_state(finding, report),
            suppressions: suppressions(finding),
            properties: properties(finding, !is_recorded),
        }
    }

    /// Drops what takes the most room.
    pub(super) fn leave_out_details(&mut self) {
        self.stacks.clear();
        self.code_flows.clear();
    }
}

/// The access that the result is shown at, and the others: the same ones whichever came first.
fn in_stable_order(finding: &Finding) -> Vec<&Access> {
    let key = |access: &Access| {
        let top = access.site();
        let place = top.and_then(Place::of).map(|place| (place.file.to_owned(), place.line, place.column));
        (!access.writes, place.is_none(), place, top.map(|frame| frame.function.clone()))
    };
    let mut accesses: Vec<&Access> = finding.accesses.iter().collect();
    accesses.sort_by_cached_key(|access| key(access));
    accesses
}

/// The headline, why, what to do, and a link to the other access.
/// What was merely suspected and never seen is to be looked at by people. SARIF gives such a result no level.
fn kind_of(finding: &Finding) -> &'static str {
    match finding.verdict {
        Verdict::Suspected if finding.confirmed.is_none() => "review",
        _ => "fail",
    }
}

fn message<'a>(finding: &Finding, other: Option<&Access>, link: Option<&Location<'_>>) -> Message<'a> {
    let mut text = capitalised(&finding.sentence());
    let confirmation = finding.confirmation().map(|said| format!("{}.", capitalised(&said)));
    for sentence in confirmation.iter().chain([&finding.why, &finding.remedy]) {
        if !sentence.is_empty() {
            text = format!("{}\n\n{sentence}", text.trim_end());
        }
    }
    // Names such as `operator[](int)` look like links.
    text = text.replace("](", "] (");
    if let Some(other) = other
        && link.is_some_and(|location| location.has_number(OTHER_ACCESS))
    {
        let said = said_of(other).replace(['[', ']'], "|");
        text += &format!("\n\nThe other {}: [{said}]({OTHER_ACCESS}).", noun(other));
    }
    Message::new(text)
}

/// What an access is called.
fn noun(access: &Access) -> &'static str {
    if access.operation == "lock" { "acquire" } else { "access" }
}

/// `write of 8 bytes by thread main in Stats::reset()`.
fn said_of(access: &Access) -> String {
    let mut text = match access.object.as_str() {
        "" => access.operation.clone(),
        object => format!("{} of {object}", access.operation),
    };
    if access.bytes > 0 {
        text += &format!(" of {} byte{}", access.bytes, if access.bytes == 1 { "" } else { "s" });
    }
    if !access.thread.name.is_empty() {
        text += &format!(" by thread {}", access.thread.name);
    }
    match access.site() {
        Some(top) if !top.function.is_empty() => text += &format!(" in {}", top.full_name()),
        _ => {}
    }
    text
}

/// The id of the related location that is the other access.
const OTHER_ACCESS: usize = 1;

/// Places that have to do with the race, with ids from 1; the other access first.
fn related<'a>(
    finding: &'a Finding,
    others: &[&'a Access],
    report: &'a Report,
    limits: &Limits,
) -> Vec<Location<'a>> {
    let mut labelled: Vec<(String, &[Frame])> =
        others.iter().map(|other| (said_of(other), &other.stack[..])).collect();
    if labelled.is_empty() {
        labelled.push((String::new(), &[]));
    }
    labelled.push((format!("{} is allocated here", finding.subject()), finding.allocated_at()));
    labelled.push((format!("{} is freed here", finding.subject()), finding.freed_at()));
    for access in &finding.accesses {
        let name = &access.thread.name;
        labelled.push((format!("thread {name} is created here"), &access.thread.created_at));
        let held = access.held.iter();
        labelled
            .extend(held.map(|lock| (format!("thread {name} takes {} here", lock.name), &lock.taken_at[..])));
    }
    let mut id = OTHER_ACCESS;
    let mut related = Vec::new();
    for (number, (label, stack)) in labelled.into_iter().enumerate() {
        // The other access has its number to itself, also if it has no place.
        id += usize::from(number == 1);
        let Some(top) = innermost_own(stack).filter(|frame| Place::of(frame).is_some()) else { continue };
        related.push(Location::of(top, report).saying(label).numbered(id));
        id += usize::from(number > 0);
    }
    related.truncate(limits.related);
    related
}

fn stacks<'a>(finding: &'a Finding, report: &'a Report, limit: usize) -> Vec<Stack<'a>> {
    let words = ["first", "second", "third", "fourth"].into_iter().chain(std::iter::repeat("another"));
    let mut labelled: Vec<(String, &[Frame])> = words
        .zip(&finding.accesses)
        .map(|(word, access)| (format!("{word} {}: {}", noun(access), said_of(access)), &access.stack[..]))
        .collect();
    labelled.push((format!("allocation of {}", finding.subject()), finding.allocated_at()));
    labelled.push((format!("free of {}", finding.subject()), finding.freed_at()));
    for access in &finding.accesses {
        labelled.push((format!("creation of thread {}", access.thread.name), &access.thread.created_at));
        for lock in &access.held {
            labelled.push((format!("thread {} takes {}", access.thread.name, lock.name), &lock.taken_at));
        }
    }
    labelled.retain(|(_, frames)| !frames.is_empty());
    labelled.dedup_by(|a, b| a.0 == b.0);
    let stack = |(text, stack): (String, &'a [Frame])| {
        let shown = crate::frames::shown(stack).count().min(limit);
        let text = match stack.len() > shown {
            true => format!("{text} ({shown} of {} frames)", stack.len()),
            false => text,
        };
        let frames = crate::frames::shown(stack)
            .take(limit)
            .map(|(frame, _)| StackFrame { location: Location::of(frame, report), module: &frame.module });
        Stack { message: Message::new(text), frames: frames.collect() }
    };
    labelled.into_iter().map(stack).collect()
}

/// What is suppressed was not compared with the baseline.
fn baseline_state(finding: &Finding, report: &Report) -> Option<&'static str> {
    if report.triage.baseline.is_empty() {
        return None;
    }
    match finding.status {
        Status::New => Some("new"),
        Status::Known { .. } if finding.is_confirmed_since() => Some("updated"),
        Status::Known { .. } => Some("unchanged"),
        Status::Suppressed { .. } => None,
    }
}

fn suppressions(finding: &Finding) -> Vec<Suppression<'_>> {
    match &finding.status {
        Status::Suppressed { by } => {
            vec![Suppression { kind: "external", status: "accepted", justification: by }]
        }
        _ => vec![],
    }
}

fn properties(finding: &Finding, with_counts: bool) -> Value {
    let mut properties = json!({
        "id": finding.id,
        "verdict": finding.verdict.word(),
        "headline": finding.headline,
        "fingerprint": finding.fingerprint,
        "detectors": finding.detectors,
        "runs": finding.runs,
    });
    if let Some(memory) = &finding.memory {
        properties["memory"] = json!({"name": memory.name, "kind": memory.kind, "bytes": memory.bytes});
    }
    if !finding.objects.is_empty() {
        properties["objects"] = json!(finding.objects);
    }
    if let Some(confirmed) = &finding.confirmed {
        properties["confirmed"] = json!(confirmed);
    }
    if let Status::Known { reason, since, verdict } = &finding.status {
        properties["knownSince"] = since.as_str().into();
        if !verdict.is_empty() {
            properties["knownAs"] = verdict.as_str().into();
        }
        properties["reason"] = reason.as_str().into();
    }
    if with_counts {
        properties["races"] = finding.count.into();
        properties["observed"] = finding.observed.into();
    }
    properties
}
