//! Timelines for the Perfetto UI, as trace events in JSON.
//!
//! Each run is a process with its threads: races are slices of length one with an arrow from the earlier access to the later, and
//! critical sections are spans of their own. The first findings with a schedule are processes, too: one in the order of
//! the run, and one in the order that exhibits the race, if that is another one.
//!
//! **Time** is invented. A recorded run has an order, not durations: one event is one microsecond, and a step of a schedule is
//! ten.
//!
//! **Critical sections** may overlap without one being inside the other, which slices of a thread must not. They are
//! asynchronous events, which may. All of them are there if the run has a [`Timeline`](crate::result::Timeline); otherwise those
//! that are known from the findings, from the acquire to the access.
//!
//! **Limits.** [`SCHEDULES`] findings with their schedules and [`STEPS`] steps of each; races are all marked. What was left out is
//! said in `otherData`, which the UI shows under "Info and stats".

mod event;
mod run;
mod schedule;

use std::io;

use serde_json::json;

use self::event::Events;
use crate::result::{Report, Status};

/// How many findings are shown with their schedules.
pub const SCHEDULES: usize = 100;

/// How many steps of a schedule are shown: the last ones.
pub const STEPS: usize = 2_000;

/// Writes the trace, one event on each line.
pub fn write(out: &mut dyn io::Write, report: &Report) -> io::Result<()> {
    let shown = |status: &Status| !matches!(status, Status::Suppressed { .. });
    let findings = report.findings.iter().filter(|finding| shown(&finding.status));
    let with_schedule = findings.filter_map(|finding| Some((finding, finding.schedule.as_ref()?)));
    let scheduled: Vec<_> = with_schedule.collect();
    let about = json!({
        "tool": format!("Overtake {}", report.version),
        "time": "one event of a run is one microsecond, one step of a schedule ten: an order, no durations",
        "findings": report.findings.len(),
        "schedules left out": scheduled.len().saturating_sub(SCHEDULES),
        "critical sections left out": run::sections_left_out(report),
    });
    write!(out, "{{\"displayTimeUnit\":\"ns\",\"otherData\":{about},\n\"traceEvents\":[")?;
    let mut events = Events::new(out);
    for position in 0..report.runs.len().max(1) {
        run::write(&mut events, report, position)?;
    }
    for (finding, schedule) in scheduled.into_iter().take(SCHEDULES) {
        schedule::write(&mut events, report.runs.len(), finding, schedule)?;
    }
    out.write_all(b"\n]}\n")
}
