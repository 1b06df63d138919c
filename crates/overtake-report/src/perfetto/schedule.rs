//! The schedule of a finding: what happened, and what could have.

use std::io;

use serde_json::json;

use super::STEPS;
use super::event::{Events, Lane};
use crate::result::{ArrowKind, Finding, Schedule};

/// How long a step takes, and how much of that its slice covers.
const STEP: u64 = 10;
const SLICE: u64 = 8;

/// Writes a finding's schedule, as it ran and, if that is another order, as it could have run.
pub(super) fn write(
    events: &mut Events<'_>,
    runs: usize,
    finding: &Finding,
    schedule: &Schedule,
) -> io::Result<()> {
    // Runs come first, then two processes for each finding.
    let process = runs.max(1) as u64 + 2 * u64::from(finding.id);
    let title = format!("#{} {}", finding.id, finding.sentence());
    let run: Vec<u32> = (0..schedule.steps.len() as u32).collect();
    Order::new(process, schedule, &run).write(events, &format!("{title}, as it ran"))?;
    if !schedule.witness.is_empty() {
        let order = Order::new(process + 1, schedule, &schedule.witness);
        order.write(events, &format!("{title}, as it could have run"))?;
    }
    Ok(())
}

/// Steps of a schedule in some order.
struct Order<'a> {
    process: u64,
    schedule: &'a Schedule,
    /// The steps that are shown, as positions in the schedule.
    order: Vec<u32>,
    /// By position in the schedule: when it takes place.
    times: Vec<Option<u64>>,
    left_out: usize,
}

impl<'a> Order<'a> {
    fn new(process: u64, schedule: &'a Schedule, order: &[u32]) -> Order<'a> {
        let left_out = order.len().saturating_sub(STEPS);
        let mut times = vec![None; schedule.steps.len()];
        let mut shown = Vec::new();
        for position in &order[left_out..] {
            // A damaged result may name steps that are not there, or twice, or have steps of no thread.
            let step = schedule.steps.get(*position as usize);
            let has_thread = step.is_some_and(|step| (step.thread as usize) < schedule.threads.len());
            if let (true, Some(time @ None)) = (has_thread, times.get_mut(*position as usize)) {
                *time = Some(shown.len() as u64 * STEP);
                shown.push(*position);
            }
        }
        Order { process, schedule, order: shown, times, left_out }
    }

    fn write(&self, events: &mut Events<'_>, title: &str) -> io::Result<()> {
        let label = match self.left_out {
            0 => "one step is ten microseconds".to_owned(),
            left_out => format!("one step is ten microseconds; {left_out} earlier steps are left out"),
        };
        events.process(self.process, title, &label)?;
        for (position, name) in self.schedule.threads.iter().enumerate() {
            events.thread(self.lane(position as u32), name)?;
        }
        self.order.iter().try_for_each(|position| self.write_step(events, *position))?;
        self.write_sections(events)?;
        self.write_arrows(events)
    }

    fn write_step(&self, events: &mut Events<'_>, position: u32) -> io::Result<()> {
        let step = &self.schedule.steps[position as usize];
        let name = format!("{} {}", step.operation, step.operand);
        let category = if step.role.is_some() { "race" } else { "step" };
        let args = json!({"event": step.event, "at": step.place, "events left out before": step.omitted});
        let time = self.time(position).unwrap_or(0);
        events.slice(self.lane(step.thread), (time, SLICE), category, name.trim(), args)
    }

    /// A section that begins before the steps, or ends after them, reaches to that end.
    fn write_sections(&self, events: &mut Events<'_>) -> io::Result<()> {
        let end = self.order.len() as u64 * STEP;
        for section in &self.schedule.sections {
            let from = match section.from {
                None => Some(0),
                // What is not in this order does not take place in it.
                Some(from) => self.time(from),
            };
            let to = section.to.and_then(|to| self.time(to)).map_or(end, |to| to + SLICE);
            let Some(from) = from.filter(|from| *from < to) else { continue };
            let thread = self.schedule.threads.get(section.thread as usize).map_or("", String::as_str);
            let args = json!({"lock": section.lock, "thread": thread, "shared": section.shared});
            events.span(
                self.lane(section.thread),
                (from, to),
                &format!("{} held by {thread}", section.lock),
                args,
            )?;
        }
        Ok(())
    }

    fn write_arrows(&self, events: &mut Events<'_>) -> io::Result<()> {
        for arrow in &self.schedule.arrows {
            let (Some(from), Some(to)) = (self.end(arrow.from), self.end(arrow.to)) else { continue };
            if from.1 < to.1 {
                events.arrow(name_of(arrow.kind), (from.0, from.1 + SLICE - 1), to)?;
            }
        }
        Ok(())
    }

    /// The lane and the time of a step that takes place.
    fn end(&self, position: u32) -> Option<(Lane, u64)> {
        let step = self.schedule.steps.get(position as usize)?;
        Some((self.lane(step.thread), self.time(position)?))
    }

    fn time(&self, position: u32) -> Option<u64> {
        self.times.get(position as usize).copied().flatten()
    }

    fn lane(&self, thread: u32) -> Lane {
        Lane { process: self.process, thread: u64::from(thread) + 1 }
    }
}

fn name_of(kind: ArrowKind) -> &'static str {
    match kind {
        ArrowKind::ReadsFrom => "reads from",
        ArrowKind::LockOrder => "lock order",
        ArrowKind::Fork => "fork",
        ArrowKind::Join => "join",
        ArrowKind::Wait => "wait",
        ArrowKind::WaitsFor => "waits for",
    }
}
