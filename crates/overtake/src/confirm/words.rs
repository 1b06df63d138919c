//! Sentences about runs: where threads stood, and why they did not meet.

use std::collections::HashMap;

use overtake_rawlog::gates;
use overtake_report::result::{Finding, Frame, Report, Stand};

use super::Tally;
use super::plan::{Meeting, Site};

/// How the note about a race that was not met begins.
pub(super) const NOT_CONFIRMED: &str = "not confirmed";

pub(super) fn counted(runs: u32) -> String {
    if runs == 1 { "1 run".into() } else { format!("{runs} runs") }
}

/// Where the threads stood, and what the memory held.
pub(super) fn in_words(meeting: &Meeting) -> String {
    let Meeting { addresses: [one, other], threads: [first, second], value, new_value, value_bytes, .. } =
        meeting;
    let digits = 2 * *value_bytes as usize;
    let place = match one == other {
        true => format!("{one:#x}"),
        false => format!("{one:#x} and {other:#x}"),
    };
    let value = match new_value {
        Some(new) => format!("it held 0x{value:0digits$x}, and 0x{new:0digits$x} afterwards"),
        None => format!("it held 0x{value:0digits$x}"),
    };
    format!("T{first} and T{second} stood at both accesses to {place} at the same time; {value}")
}

/// Which thread had the lock that the other one wanted.
pub(super) fn cycle_in_words(meeting: &Meeting) -> String {
    let Meeting { addresses: [one, other], threads: [first, second], .. } = meeting;
    format!(
        "T{first} had the lock at {other:#x} and wanted the one at {one:#x}; T{second} had {one:#x} and wanted {other:#x}; \
         one of them went on without its lock, so that the program could end"
    )
}

/// Why a race was not met.
pub(super) fn reason(finding: &Finding, tally: &Tally) -> String {
    let place = |at: usize| {
        let frame = finding.accesses.get(at).and_then(|access| access.stack.first());
        frame.map(Frame::place).unwrap_or_default()
    };
    match tally.arrivals {
        [0, 0] => "neither access was reached; is it the same program with the same input?".into(),
        [_, 0] => format!("only {} was reached", place(0)),
        [0, _] => format!("only {} was reached", place(1)),
        _ if tally.other_meetings > 0 => {
            "both accesses were reached together, but at other addresses or under a common lock".into()
        }
        _ if tally.stalls > 0 => {
            "both accesses were reached, but the thread held at one blocks the thread that would reach the other"
                .into()
        }
        _ if tally.timeouts > 0 => {
            "both accesses were reached, but never at the same time within the time that threads are held"
                .into()
        }
        _ => "both accesses were reached, but never at the same time".into(),
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
        for access in report.findings.iter().flat_map(|finding| &finding.accesses) {
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

    /// Where the two threads stood.
    pub(super) fn stands(&self, meeting: &Meeting) -> Vec<Stand> {
        let stand = |at: usize| Stand {
            thread: format!("T{}", meeting.threads[at]),
            operation: operation(meeting.kinds[at]).into(),
            address: format!("{:#x}", meeting.addresses[at]),
            bytes: meeting.lengths[at],
            stack: meeting.stacks[at].iter().flat_map(|site| self.frames_at(*site)).collect(),
        };
        vec![stand(0), stand(1)]
    }
}

/// The word for an access with these bits of `gates::SIDE_KIND`.
fn operation(kind: u64) -> &'static str {
    match (kind & gates::WRITES != 0, kind & gates::IS_ATOMIC != 0) {
        _ if kind & gates::ACQUIRES != 0 => "acquire",
        (false, false) => "read",
        (true, false) => "write",
        (false, true) => "atomic load",
        (true, true) => "atomic write",
    }
}
