//! The schedule of a race as a code flow.

use std::collections::BTreeMap;

use serde::Serialize;

use super::Message;
use super::place::{Location, Place};
use crate::result::{Report, Schedule, Step};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CodeFlow<'a> {
    message: Message<'a>,
    thread_flows: Vec<ThreadFlow<'a>>,
}

#[derive(Serialize)]
struct ThreadFlow<'a> {
    id: &'a str,
    message: Message<'a>,
    locations: Vec<ThreadFlowLocation<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ThreadFlowLocation<'a> {
    location: Location<'a>,
    /// From 1, over all threads.
    execution_order: usize,
    importance: &'static str,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    kinds: &'static [&'static str],
    #[serde(skip_serializing_if = "Option::is_none")]
    properties: Option<StepProperties>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct StepProperties {
    event: u64,
    omitted_before: u64,
}

impl<'a> CodeFlow<'a> {
    /// The order that exhibits the race: the witness, or for a race that was observed that of the run. Of a long one the end,
    /// and the two accesses. None if there are no steps.
    pub(super) fn of(
        schedule: &'a Schedule,
        report: &'a Report,
        limit: usize,
        with_events: bool,
    ) -> Option<CodeFlow<'a>> {
        let order = order_of(schedule);
        let first_kept = order.len().saturating_sub(limit);
        let mut flows: BTreeMap<u32, Vec<ThreadFlowLocation>> = BTreeMap::new();
        let mut left_out = 0;
        for (position, step) in order.into_iter().enumerate() {
            if position < first_kept && step.role.is_none() {
                left_out += 1;
                continue;
            }
            let location = ThreadFlowLocation::of(step, position + 1, report, with_events);
            flows.entry(step.thread).or_default().push(location);
        }
        let thread_flows: Vec<_> = flows
            .into_iter()
            .map(|(thread, locations)| {
                let id = schedule.threads.get(thread as usize).map_or("", String::as_str);
                ThreadFlow { message: Message::new(format!("thread {id}")), id, locations }
            })
            .collect();
        let mut text = match schedule.witness.is_empty() {
            true => "What happened, in the order of the run.".to_owned(),
            false => {
                "Another order of the same run, checked: it ends with the accesses side by side.".to_owned()
            }
        };
        if left_out > 0 {
            text += &format!(" {left_out} earlier steps are left out.");
        }
        (!thread_flows.is_empty()).then_some(CodeFlow { message: Message::new(text), thread_flows })
    }
}

/// The steps in the order that exhibits the race. Positions that are not there, or twice, are passed over: a result may have been
/// damaged.
fn order_of(schedule: &Schedule) -> Vec<&Step> {
    if schedule.witness.is_empty() {
        return schedule.steps.iter().collect();
    }
    let mut seen = vec![false; schedule.steps.len()];
    let fresh = schedule.witness.iter().filter(|position| {
        seen.get_mut(**position as usize).is_some_and(|seen| !std::mem::replace(seen, true))
    });
    fresh.map(|position| &schedule.steps[*position as usize]).collect()
}

impl<'a> ThreadFlowLocation<'a> {
    fn of(
        step: &'a Step,
        execution_order: usize,
        report: &'a Report,
        with_events: bool,
    ) -> ThreadFlowLocation<'a> {
        let mut text = step.operation.clone();
        if !step.operand.is_empty() {
            text = format!("{text} {}", step.operand);
        }
        match step.role {
            Some(_) if step.operation == "acquire" => text += " (waits)",
            Some(0) => text += " (first access)",
            Some(1) => text += " (second access)",
            Some(other) => text += &format!(" (access {})", other + 1),
            None => {}
        }
        let location = Location::at(Place::of_step(&step.place, report), report).saying(text);
        ThreadFlowLocation {
            location,
            execution_order,
            importance: if step.role.is_some() { "essential" } else { "important" },
            kinds: kinds_of(step),
            properties: with_events
                .then_some(StepProperties { event: step.event, omitted_before: step.omitted }),
        }
    }
}

/// What sort of step it is, in the words that the standard proposes.
fn kinds_of(step: &Step) -> &'static [&'static str] {
    if step.role.is_some() {
        return &["memory", "danger"];
    }
    match step.operation.split(' ').next().unwrap_or_default() {
        "acquire" => &["acquire", "lock"],
        "release" => &["release", "lock"],
        "read" | "write" => &["memory"],
        _ => &[],
    }
}
