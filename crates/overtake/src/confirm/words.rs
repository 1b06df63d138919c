//! Sentences about runs: where threads stood, and why they did not meet.

use std::collections::HashMap;

use overtake_rawlog::gates;
use overtake_report::result::{Finding, Frame, Kind, Report, Stand};

use super::Tally;
use super::plan::{Gate, Meeting, Present, Site};

pub(super) fn counted(runs: u32) -> String {
    if runs == 1 { "1 run".into() } else { format!("{runs} runs") }
}

/// Where the threads stood, and what the memory held.
pub(super) fn in_words(meeting: &Meeting) -> String {
    let Meeting { sides, value, new_value, value_bytes, .. } = meeting;
    let digits = 2 * *value_bytes as usize;
    let mut places: Vec<String> = sides.iter().map(|side| format!("{:#x}", side.address)).collect();
    places.dedup();
    let value = match new_value {
        Some(new) => format!("it held 0x{value:0digits$x}, and 0x{new:0digits$x} afterwards"),
        None => format!("it held 0x{value:0digits$x}"),
    };
    let threads: Vec<String> = sides.iter().map(|side| format!("T{}", side.thread)).collect();
    let (threads, places) = (threads.join(" and "), places.join(" and "));
    format!("{threads} stood at both accesses to {places} at the same time; {value}")
}

/// Which thread had the lock that the other one wanted.
pub(super) fn cycle_in_words(meeting: &Meeting) -> String {
    let sides = &meeting.sides;
    let next = sides.iter().cycle().skip(1);
    let waits = sides.iter().zip(next).map(|(one, next)| {
        format!("T{} wanted the lock at {:#x}, which T{} had", one.thread, one.address, next.thread)
    });
    let waits = waits.collect::<Vec<_>>().join(", ");
    format!("{waits}; one of them went on without its lock, so that the program could end")
}

/// Why a finding was not seen to happen.
pub(super) fn reason(finding: &Finding, tally: &Tally) -> String {
    let place = |at: usize| {
        let frame = finding.accesses.get(at).and_then(|access| access.stack.first());
        frame.map(Frame::place).unwrap_or_default()
    };
    let reached: Vec<String> =
        tally.arrivals.iter().enumerate().filter(|(_, times)| **times > 0).map(|(at, _)| place(at)).collect();
    let what = if finding.kind == Kind::Deadlock { "acquire" } else { "access" };
    let none = if tally.arrivals.len() == 2 { "neither" } else { "no" };
    let all = match (finding.kind, tally.arrivals.len()) {
        (Kind::Deadlock, 2) => "both acquires were reached".to_owned(),
        (Kind::Deadlock, threads) => format!("all {threads} acquires were reached"),
        _ => "both accesses were reached".to_owned(),
    };
    match reached.len() {
        0 => format!("{none} {what} was reached; is it the same program with the same input?"),
        some if some < tally.arrivals.len() => format!("only {} was reached", reached.join(" and ")),
        _ if tally.other_meetings > 0 => {
            format!("{all} together, but at other addresses or under a common lock")
        }
        _ if tally.stalls > 0 => {
            format!("{all}, but the thread held at one blocks the thread that would reach the other")
        }
        _ if tally.timeouts > 0 => {
            format!("{all}, but never at the same time within the time that threads are held")
        }
        _ => format!("{all}, but never at the same time"),
    }
}

/// What a result says about instructions.
pub(super) struct Atlas {
    /// The frames at an instruction: several where functions were inlined.
    frames: HashMap<Site, Vec<Frame>>,
    modules: HashMap<u64, String>,
}

impl Atlas {
    /// Collects all frames of a report.
    pub(super) fn of(report: &Report) -> Atlas {
        let mut atlas = Atlas { frames: HashMap::new(), modules: HashMap::new() };
        let schedules = report.findings.iter().filter_map(|finding| finding.schedule.as_ref());
        let reversed = schedules.flat_map(|schedule| &schedule.reversals);
        let reversed = reversed.flat_map(|reversal| [&reversal.acquire, &reversal.release]);
        for access in report.findings.iter().flat_map(|finding| &finding.accesses).chain(reversed) {
            let taken = access.held.iter().map(|held| &held.taken_at);
            for stack in [&access.stack, &access.thread.created_at].into_iter().chain(taken) {
                atlas.add(stack);
            }
        }
        atlas
    }

    fn add(&mut self, stack: &[Frame]) {
        for frames in stack.chunk_by(|one, next| Site::of(one) == Site::of(next)) {
            let Some((frame, site)) = frames.first().and_then(|frame| Some((frame, Site::of(frame)?))) else {
                continue;
            };
            self.modules.entry(site.module).or_insert_with(|| frame.module.clone());
            self.frames.entry(site).or_insert_with(|| frames.to_vec());
        }
    }

    /// The frames at an instruction. If the result has none, one frame with the module and the offset. Nothing in a module that the result does not
    /// name, such as the library that starts threads.
    fn frames_at(&self, site: Site) -> Vec<Frame> {
        let Some(module) = self.modules.get(&site.module) else { return Vec::new() };
        let unknown = || vec![Frame { module: module.clone(), offset: site.offset, ..Frame::default() }];
        self.frames.get(&site).cloned().unwrap_or_else(unknown)
    }

    /// Which acquires waited for which releases, so that the threads could meet; empty if none did.
    pub(super) fn waits(&self, meeting: &Meeting, gates: &[Gate]) -> String {
        let place = |site: Site| self.frames_at(site).first().map(Frame::place).unwrap_or_default();
        let served = meeting.served.iter().filter_map(|&at| gates.get(at));
        let waits = served.map(|gate| match gate.until() {
            Some(until) => {
                format!("; the acquire at {} waited for the release at {}", place(gate.site()), place(until))
            }
            None => format!("; the acquire at {} waited for another thread", place(gate.site())),
        });
        waits.collect()
    }

    /// Where the threads stood.
    pub(super) fn stands(&self, meeting: &Meeting) -> Vec<Stand> {
        let stand = |side: &Present| Stand {
            thread: format!("T{}", side.thread),
            operation: operation(side.kind).into(),
            address: format!("{:#x}", side.address),
            bytes: side.length,
            stack: side.stack.iter().flat_map(|site| self.frames_at(*site)).collect(),
        };
        meeting.sides.iter().map(stand).collect()
    }
}

/// The word for an access with these bits of `gates::SIDE_KIND`.
fn operation(kind: u64) -> &'static str {
    match (kind & gates::WRITES != 0, kind & gates::IS_ATOMIC != 0) {
        _ if kind & gates::ACQUIRES != 0 => Stand::ACQUIRE,
        (false, false) => "read",
        (true, false) => "write",
        (false, true) => "atomic load",
        (true, true) => "atomic write",
    }
}
