//! The schedule of a race or a deadlock.

use std::io;

use overtake_detect::witness::{Overtaken, Step};
use overtake_trace::Symbols;
use serde::Serialize;

use super::deadlock::DeadlockForm;
use super::{RaceForm, SCHEMA, TraceForm, write_line};
use crate::event::operand_name;
use crate::model::{DeadlockWitnessFacts, WitnessFacts};

/// Writes a verified schedule, as one line.
pub fn witness(out: &mut dyn io::Write, facts: &WitnessFacts<'_>) -> io::Result<()> {
    let WitnessFacts { trace, symbols, group, schedule } = facts;
    let form = WitnessForm {
        schema: SCHEMA,
        trace: TraceForm::of(trace),
        race: Some(RaceForm::of(group, symbols)),
        deadlock: None,
        verified: true,
        steps: schedule.events().map(|step| StepForm::of(&step, symbols)).collect(),
        overtaken: schedule.overtaken.iter().map(|overtaken| OvertakenForm::of(overtaken, symbols)).collect(),
    };
    write_line(out, &form)
}

/// Writes a verified schedule that leads to a deadlock, as one line.
pub fn deadlock_witness(out: &mut dyn io::Write, facts: &DeadlockWitnessFacts<'_>) -> io::Result<()> {
    let DeadlockWitnessFacts { trace, symbols, id, schedule } = facts;
    let steps = schedule.steps.iter().chain(&schedule.waiting);
    let form = WitnessForm {
        schema: SCHEMA,
        trace: TraceForm::of(trace),
        race: None,
        deadlock: Some(DeadlockForm::new(*id, &schedule.deadlock, 1, symbols)),
        verified: true,
        steps: steps.map(|step| StepForm::of(step, symbols)).collect(),
        overtaken: Vec::new(),
    };
    write_line(out, &form)
}

#[derive(Serialize)]
struct WitnessForm<'a> {
    schema: u32,
    trace: TraceForm<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    race: Option<RaceForm>,
    #[serde(skip_serializing_if = "Option::is_none")]
    deadlock: Option<DeadlockForm>,
    verified: bool,
    steps: Vec<StepForm>,
    overtaken: Vec<OvertakenForm>,
}

#[derive(Serialize)]
struct StepForm {
    index: u64,
    thread: String,
    op: &'static str,
    operand: String,
    location: Option<String>,
}

impl StepForm {
    fn of(step: &Step, symbols: &Symbols) -> StepForm {
        let event = &step.event;
        StepForm {
            index: step.index.0,
            thread: symbols.threads.display(event.thread()),
            op: event.op().describe(),
            operand: operand_name(event, symbols),
            location: event.location().is_known().then(|| symbols.location_name(event.location())),
        }
    }
}

#[derive(Serialize)]
struct OvertakenForm {
    lock: String,
    left_out: StepForm,
    by: StepForm,
}

impl OvertakenForm {
    fn of(overtaken: &Overtaken, symbols: &Symbols) -> OvertakenForm {
        OvertakenForm {
            lock: symbols.locks.display(overtaken.lock),
            left_out: StepForm::of(&overtaken.left_out, symbols),
            by: StepForm::of(&overtaken.by, symbols),
        }
    }
}
