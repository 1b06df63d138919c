//! Statistics as JSON.

use std::io;

use overtake_trace::{CriticalSection, Op, Symbols};
use serde::Serialize;

use super::{Counts, SCHEMA, TraceForm, write_line};
use crate::model::StatisticsFacts;

/// Writes what a trace is made of, as one line.
pub fn statistics(out: &mut dyn io::Write, facts: &StatisticsFacts<'_>) -> io::Result<()> {
    write_line(out, &StatisticsForm::of(facts))
}

#[derive(Serialize)]
struct StatisticsForm<'a> {
    schema: u32,
    trace: TraceForm<'a>,
    parameters: ParametersForm,
    operations: Counts<&'static str>,
    variables: Counts<&'static str>,
    locks: Counts<&'static str>,
    arrays: u64,
    blocks: u64,
    objects: u64,
    locations: u64,
    longest_section: Option<SectionForm>,
    held_at_end: u64,
    bytes: Option<u64>,
    bytes_per_event: Option<f64>,
}

#[derive(Serialize)]
#[allow(non_snake_case, reason = "the papers' letters")]
struct ParametersForm {
    N: u64,
    T: u64,
    L: u64,
    V: u64,
    A: u64,
    h: u64,
    m: u64,
}

#[derive(Serialize)]
struct SectionForm {
    lock: String,
    thread: String,
    acquire: u64,
    release: u64,
    length: u64,
}

impl<'a> StatisticsForm<'a> {
    fn of(facts: &StatisticsFacts<'a>) -> StatisticsForm<'a> {
        let StatisticsFacts { trace, summary, symbols, bytes } = facts;
        let parameters = &summary.parameters;
        let (variables, locks) = (&summary.variables, &summary.locks);
        let events = (trace.events > 0).then_some(trace.events as f64);
        StatisticsForm {
            schema: SCHEMA,
            trace: TraceForm::of(trace),
            parameters: ParametersForm {
                N: parameters.events,
                T: parameters.threads,
                L: parameters.locks,
                V: parameters.variables,
                A: parameters.acquires,
                h: parameters.most_held,
                m: parameters.m(),
            },
            operations: Counts(Op::ALL.map(|op| (op_name(op), summary.count(op))).to_vec()),
            variables: Counts(vec![
                ("shared", variables.shared),
                ("read_only", variables.read_only),
                ("private", variables.private),
                ("unused", variables.unused),
            ]),
            locks: Counts(vec![
                ("shared", locks.shared),
                ("private", locks.private),
                ("unused", locks.unused),
            ]),
            arrays: summary.arrays,
            blocks: summary.blocks,
            objects: summary.objects,
            locations: summary.locations,
            longest_section: summary.longest_section.map(|section| SectionForm::of(&section, symbols)),
            held_at_end: summary.held_at_end,
            bytes: *bytes,
            bytes_per_event: bytes.zip(events).map(|(bytes, events)| bytes as f64 / events),
        }
    }
}

impl SectionForm {
    fn of(section: &CriticalSection, symbols: &Symbols) -> SectionForm {
        SectionForm {
            lock: symbols.locks.display(section.lock),
            thread: symbols.threads.display(section.thread),
            acquire: section.acquire.0,
            release: section.release.0,
            length: section.length,
        }
    }
}

fn op_name(op: Op) -> &'static str {
    match op {
        Op::Read => "read",
        Op::Write => "write",
        Op::Acquire => "acquire",
        Op::Release => "release",
        Op::AcquireShared => "acquire_shared",
        Op::ReleaseShared => "release_shared",
        Op::Fork => "fork",
        Op::Join => "join",
        Op::Begin => "begin",
        Op::End => "end",
        Op::Load => "load",
        Op::Store => "store",
        Op::Rmw => "rmw",
        Op::Fence => "fence",
        Op::Post => "post",
        Op::Wait => "wait",
        Op::Alloc => "alloc",
        Op::Free => "free",
        Op::Request => "request",
        Op::Branch => "branch",
        Op::Skip => "skip",
        Op::Misuse => "misuse",
        Op::Gap => "gap",
    }
}
