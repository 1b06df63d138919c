//! Trace events.

use std::io;

use serde::Serialize;
use serde_json::{Value, json};

/// A lane: a thread of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Lane {
    pub(super) process: u64,
    pub(super) thread: u64,
}

/// Writes events, with commas between them.
pub(super) struct Events<'a> {
    out: &'a mut dyn io::Write,
    any: bool,
    /// The last id that was used. Each asynchronous span and each arrow has its own.
    last_id: u64,
}

#[derive(Serialize)]
struct Event<'a> {
    ph: &'a str,
    pid: u64,
    tid: u64,
    ts: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    dur: Option<u64>,
    cat: &'a str,
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bp: Option<&'a str>,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
}

/// An event with what all have.
fn event<'a>(ph: &'a str, lane: Lane, ts: u64, cat: &'a str, name: &'a str) -> Event<'a> {
    let Lane { process: pid, thread: tid } = lane;
    Event { ph, pid, tid, ts, dur: None, cat, name, id: None, bp: None, args: Value::Null }
}

impl<'a> Events<'a> {
    pub(super) fn new(out: &'a mut dyn io::Write) -> Events<'a> {
        Events { out, any: false, last_id: 0 }
    }

    /// Names a process, says what it shows, and puts it at its place.
    pub(super) fn process(&mut self, process: u64, name: &str, label: &str) -> io::Result<()> {
        let lane = Lane { process, thread: 0 };
        self.metadata(lane, "process_name", json!({"name": name}))?;
        self.metadata(lane, "process_labels", json!({"labels": label}))?;
        self.metadata(lane, "process_sort_index", json!({"sort_index": process}))
    }

    /// Names a thread and puts it at its place.
    pub(super) fn thread(&mut self, lane: Lane, name: &str) -> io::Result<()> {
        self.metadata(lane, "thread_name", json!({"name": name}))?;
        self.metadata(lane, "thread_sort_index", json!({"sort_index": lane.thread}))
    }

    /// Something that a thread does. Slices of one lane must not overlap in part.
    pub(super) fn slice(
        &mut self,
        lane: Lane,
        (from, duration): (u64, u64),
        category: &str,
        name: &str,
        args: Value,
    ) -> io::Result<()> {
        self.write(&Event { dur: Some(duration), args, ..event("X", lane, from, category, name) })
    }

    /// A span that may overlap others.
    pub(super) fn span(
        &mut self,
        lane: Lane,
        (from, to): (u64, u64),
        name: &str,
        args: Value,
    ) -> io::Result<()> {
        let id = self.fresh_id();
        self.write(&Event { id: Some(id), args, ..event("b", lane, from, "lock", name) })?;
        self.write(&Event { id: Some(id), ..event("e", lane, to.max(from), "lock", name) })
    }

    /// An arrow between two slices, which it finds by a moment within each.
    pub(super) fn arrow(&mut self, name: &str, from: (Lane, u64), to: (Lane, u64)) -> io::Result<()> {
        let id = self.fresh_id();
        self.write(&Event { id: Some(id), ..event("s", from.0, from.1, "arrow", name) })?;
        self.write(&Event { id: Some(id), bp: Some("e"), ..event("f", to.0, to.1, "arrow", name) })
    }

    fn metadata(&mut self, lane: Lane, name: &str, args: Value) -> io::Result<()> {
        self.write(&Event { args, ..event("M", lane, 0, "__metadata", name) })
    }

    fn fresh_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn write(&mut self, event: &Event<'_>) -> io::Result<()> {
        self.out.write_all(if self.any { b",\n" } else { b"\n" })?;
        self.any = true;
        Ok(serde_json::to_writer(&mut *self.out, event)?)
    }
}
