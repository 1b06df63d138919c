//! A result: what was found, complete in itself.
//!
//! Names, stacks, source lines and schedules are all spelled out, so that a result can be stored, read again and rendered
//! without the trace, the program or its sources. It is what `--report result=FILE` stores and what every renderer of findings
//! takes. The stored form is this very structure as JSON; `docs/result.schema.json` describes it, `docs/json.md` in words.
//!
//! Same findings, same bytes: nothing here depends on hash order or on the clock. What another run of the same program numbers
//! otherwise (events, processes, how often something happened) is in fields of its own, so that renderers can leave it out.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

use overtake_detect::Verdict;
use serde::{Deserialize, Serialize};

/// The version of the stored form. Within one version fields are added, never changed.
pub const RESULT_SCHEMA: u32 = 1;

/// Everything that was found, in one run or in several processes of one.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Report {
    /// [`RESULT_SCHEMA`].
    pub schema: u32,
    /// The version of Overtake that made it.
    pub version: String,
    /// What was examined.
    pub runs: Vec<Run>,
    /// The findings: observed ones first, then predicted, then suspected. Among them, those of a recorded program by where they
    /// are, which no timing changes; those of a trace the most frequent first.
    pub findings: Vec<Finding>,
    /// Excerpts of source files, by path: those lines that stacks name, and their neighbours.
    pub sources: BTreeMap<String, Excerpt>,
    /// What triage made of the findings.
    #[serde(default)]
    pub triage: Triage,
}

/// One trace that was examined.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Run {
    /// The trace's file as it was given; empty for a recording that was not kept.
    pub trace: String,
    /// The format it was read as.
    pub format: String,
    /// The recorded program and its arguments; empty if it was not recorded.
    pub command: Vec<String>,
    /// Process id of the recorded program; 0 if it was not recorded.
    pub process: u64,
    /// Number of events.
    pub events: u64,
    /// Number of threads.
    pub threads: u64,
    /// Number of locks.
    pub locks: u64,
    /// Number of variables.
    pub variables: u64,
    /// The detectors at work.
    pub detectors: Vec<DetectorRun>,
    /// What is missing, was repaired or was passed over, a sentence each.
    pub notes: Vec<String>,
    /// Its threads and critical sections. None unless a renderer wanted them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeline: Option<Timeline>,
}

/// The threads and critical sections of a whole run, in event indices.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Timeline {
    /// The threads, in order of their first event.
    pub threads: Vec<ThreadSpan>,
    /// The critical sections, in order of their first event; of too many the longest.
    pub sections: Vec<SectionSpan>,
    /// How many sections are not among them.
    pub sections_left_out: u64,
}

/// From the first to the last event of a thread.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct ThreadSpan {
    /// Its name.
    pub name: String,
    /// Its first event.
    pub from: u64,
    /// Its last event.
    pub to: u64,
}

/// From the acquire to the release of a lock.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct SectionSpan {
    /// The lock.
    pub lock: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// The thread, as a position in [`Timeline::threads`].
    pub thread: u32,
    /// The acquire.
    pub from: u64,
    /// The release; of a section that stays open the last event of its thread.
    pub to: u64,
}

/// A detector at work on one trace.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct DetectorRun {
    /// Its name.
    pub name: String,
    /// What its answer means.
    pub promise: String,
    /// Whether it looks at a sample of the trace only.
    #[serde(default)]
    pub sampled: bool,
    /// Races that it reported, each second access counted once per partner.
    pub races: u64,
    /// What people must know to understand its answer, a sentence each.
    pub remarks: Vec<String>,
}

/// Races between one pair of code locations.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Finding {
    /// Its number in this report, from 1.
    pub id: u32,
    /// What stays the same from run to run: 16 hexadecimal digits, from the two stacks and the kind of memory, whichever access
    /// came first. Addresses, thread numbers, event numbers and line numbers have no part in it.
    pub fingerprint: String,
    /// How sure it is; the surest of its races.
    #[serde(with = "VerdictForm")]
    pub verdict: Verdict,
    /// One line in plain words, without the verdict: `counters.hits: Server::poll reads while Stats::reset writes`.
    pub headline: String,
    /// The memory both accesses touch.
    pub memory: Memory,
    /// The access of the example that is named first. In a trace it is the earlier one. In a recorded program timing decides
    /// which is earlier, so the code does instead (functions, files, lines); [`Access::event`] tells which came earlier.
    pub first: Access,
    /// The other access.
    pub second: Access,
    /// How many races there are between these locations.
    pub count: u64,
    /// How many of them were observed.
    pub observed: u64,
    /// The detectors that report it.
    pub detectors: Vec<String>,
    /// The runs that have it, as positions in [`Report::runs`]; the example is from the first.
    pub runs: Vec<u32>,
    /// Which synchronisation there is between the two threads and why it does not order the accesses. A paragraph.
    pub why: String,
    /// What would order them. A sentence or two.
    pub remedy: String,
    /// The part of the run around the two accesses, and how another schedule brings them together. None where it was not built.
    pub schedule: Option<Schedule>,
    /// Whether it is new, known or suppressed.
    #[serde(default)]
    pub status: Status,
}

/// One of the two accesses.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Access {
    /// In words: `read`, `write`, `atomic load`, `free`, ...
    pub operation: String,
    /// Whether it changes the memory.
    pub writes: bool,
    /// How many bytes it touches; 0 if unknown.
    pub bytes: u32,
    /// Index of the event in the trace.
    pub event: u64,
    /// The thread.
    pub thread: Thread,
    /// The call stack, innermost first. A trace that has locations only gives one frame without a function.
    /// Empty if nothing is known.
    pub stack: Vec<Frame>,
    /// The locks its thread holds, in the order in which they were taken.
    pub held: Vec<HeldLock>,
}

/// A thread.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Thread {
    /// Its name in the trace, or the name it gave itself.
    pub name: String,
    /// Whether it is the first one of its process.
    pub main: bool,
    /// The name of the thread that created it; empty if unknown.
    pub creator: String,
    /// Where it was created, innermost first; empty if unknown.
    pub created_at: Vec<Frame>,
}

/// A function on a call stack.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Debug)]
pub struct Frame {
    /// Demangled name; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Source file, relative to the working directory where it lies below it; empty if unknown. Of a trace, the location as
    /// the trace has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Line, from 1; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column: u32,
    /// Module (executable or shared library), without its directory; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// Offset of the instruction in the module.
    #[serde(default, skip_serializing_if = "is_zero_wide")]
    pub offset: u64,
}

impl Frame {
    /// Whether it is code of the program itself, as far as one can tell: of a known file, outside the system's directories.
    pub fn is_own(&self) -> bool {
        let system = ["/usr/include/", "/usr/lib/", "/usr/src/", "/build/", "../sysdeps/", "./nptl/"];
        !self.file.is_empty()
            && !self.file.contains("/include/c++/")
            && !system.iter().any(|directory| self.file.starts_with(directory))
    }

    /// `file:line`, where in which module if the file is not known, or the location of a trace.
    pub fn place(&self) -> String {
        match (self.file.as_str(), self.line) {
            ("", _) if self.module.is_empty() => String::new(),
            ("", _) => format!("{}+{:#x}", self.module, self.offset),
            (file, 0) => file.to_owned(),
            (file, line) => format!("{file}:{line}"),
        }
    }

    /// The function without its parameters and template arguments, as headlines name it: `Server::poll`.
    pub fn function_name(&self) -> String {
        crate::function_name::short(&self.function)
    }
}

impl Finding {
    /// Whether another run of the program may exchange the two threads: both run the same function, and neither is the main one.
    pub fn has_threads_alike(&self) -> bool {
        let Finding { first, second, .. } = self;
        let entry = |access: &Access| {
            let outermost = access.stack.iter().rfind(|frame| frame.is_own())?;
            Some(outermost.function.clone()).filter(|function| !function.is_empty())
        };
        entry(first).is_some() && entry(first) == entry(second) && !first.thread.main && !second.thread.main
    }

    /// The finding as every run of the program tells it: of two threads that are alike, that with the lower number makes the
    /// first access. It stays as it is where a witness or an explanation tells who is who.
    pub fn settled(&self) -> Cow<'_, Finding> {
        let number = |access: &Access| (access.thread.name.len(), access.thread.name.clone());
        let names = [&self.first, &self.second].map(|access| access.thread.name.as_str());
        let is_named = |text: &str| names.iter().any(|name| text.contains(name));
        let has_witness = self.schedule.as_ref().is_some_and(|schedule| !schedule.witness.is_empty());
        let keeps = has_witness || is_named(&self.why) || is_named(&self.remedy);
        if keeps || !self.has_threads_alike() || number(&self.first) <= number(&self.second) {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        std::mem::swap(&mut settled.first.thread, &mut settled.second.thread);
        Cow::Owned(settled)
    }
}

impl Access {
    /// The innermost frame of the program itself, else the innermost one: what a headline and an annotation point at.
    pub fn site(&self) -> Option<&Frame> {
        innermost_own(&self.stack)
    }
}

/// The innermost frame of the program itself, else the innermost one.
pub fn innermost_own(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().find(|frame| frame.is_own()).or(stack.first())
}

/// A lock that is held at an access.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct HeldLock {
    /// Its name.
    pub name: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// Index of the acquire.
    pub event: u64,
    /// Where it was taken, innermost first; empty if unknown.
    pub taken_at: Vec<Frame>,
}

/// What memory a race is on.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Memory {
    /// As a headline names it: `counters.hits`, `counters+8`, `a heap block of 64 bytes`, `A3[0..4096 step 2]`.
    pub name: String,
    /// `variable` (of a trace), `heap`, `global`, `stack`, `mapped` or `unknown`.
    pub kind: String,
    /// How the name ends if debug information tells which member or element of a global it is: `.hits`, `[3].name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// Size of the whole block or global; 0 if unknown.
    pub bytes: u64,
    /// Which byte or element of it; 0 for the first.
    pub offset: u64,
    /// Who allocated it, or whose stack it is; empty if unknown.
    pub owner: String,
    /// Where it was allocated, innermost first; empty if unknown.
    pub allocated_at: Vec<Frame>,
}

impl Memory {
    /// The name of the whole of which it is a part: `counters` for `counters.hits` and `counters+8`.
    pub fn whole(&self) -> &str {
        let part = match (self.kind.as_str(), self.member.as_str()) {
            ("variable", _) => self.name.split_once('['),
            ("global" | "mapped", "") => self.name.rsplit_once('+'),
            ("global", member) => self.name.strip_suffix(member).map(|whole| (whole, member)),
            _ => None,
        };
        part.map_or(&*self.name, |(whole, _)| whole)
    }
}

/// What happened around the two accesses, and in which order it might have happened.
///
/// Steps are listed in the order of the run. Most events matter to nobody and are only counted, before the step that follows
/// them.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Schedule {
    /// The threads that have a step, in order of their first one.
    pub threads: Vec<String>,
    /// The steps, in the order of the run.
    pub steps: Vec<Step>,
    /// The other order, as positions in `steps`, the two accesses last: a correct reordering of the run, checked. Steps
    /// that are not in it do not take place before the race. Empty for a race that was observed and needs no other order.
    pub witness: Vec<u32>,
    /// Critical sections that have a step.
    pub sections: Vec<Section>,
    /// What passes from step to step.
    pub arrows: Vec<Arrow>,
}

/// An event of a schedule.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Step {
    /// Index in the trace.
    pub event: u64,
    /// Its thread, as a position in [`Schedule::threads`].
    pub thread: u32,
    /// The operation in words: `acquire`, `write`, ...
    pub operation: String,
    /// On what; empty for none.
    pub operand: String,
    /// `function file:line` or the trace's location; empty if unknown.
    pub place: String,
    /// Whether it is one of the two accesses, and which.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
    /// Events of its thread between the step before (of the same thread) and this one that are not listed.
    pub omitted: u64,
}

/// Which of the two accesses.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// [`Finding::first`].
    First,
    /// [`Finding::second`].
    Second,
}

/// A critical section.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Section {
    /// The lock.
    pub lock: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// The thread, as a position in [`Schedule::threads`].
    pub thread: u32,
    /// Position of the acquire in `steps`; none if it is not listed.
    pub from: Option<u32>,
    /// Position of the release in `steps`; none if it is not listed.
    pub to: Option<u32>,
}

/// Something that passes from one step to another.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Arrow {
    /// Position of the step it comes from.
    pub from: u32,
    /// Position of the step it goes to.
    pub to: u32,
    /// What passes.
    pub kind: ArrowKind,
}

/// What passes from one step to another.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ArrowKind {
    /// A value that was written is read.
    ReadsFrom,
    /// A lock that was released is taken.
    LockOrder,
    /// A thread is created.
    Fork,
    /// A thread's end is waited for.
    Join,
    /// A post is waited for.
    Wait,
}

/// Lines of a source file.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Excerpt {
    /// The lines that are known, by number.
    pub lines: BTreeMap<u32, String>,
    /// Of lines that are too long, how many bytes are left out before the part that is in `lines`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub cut: BTreeMap<u32, u32>,
}

impl Excerpt {
    /// The column of a frame within the part of its line that is known; 0 if it is not known.
    pub fn column(&self, frame: &Frame) -> u32 {
        frame.column.saturating_sub(self.cut.get(&frame.line).copied().unwrap_or_default())
    }
}

/// What triage says of a finding.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
#[serde(tag = "is", rename_all = "lowercase")]
pub enum Status {
    /// Nobody has judged it yet.
    #[default]
    New,
    /// The baseline has it.
    Known {
        /// Why it is there.
        reason: String,
        /// Since when: `2026-11-15`.
        since: String,
    },
    /// A suppression matches it.
    Suppressed {
        /// The suppression as written, with its file and line.
        by: String,
    },
}

/// What suppressions and baseline made of all findings.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Triage {
    /// The baseline that was compared with; empty if there was none.
    pub baseline: String,
    /// Races of the baseline that were not found: fixed, or not exercised.
    pub fixed: Vec<FixedRace>,
    /// Suppressions that matched nothing, as written, with file and line.
    pub unused_suppressions: Vec<String>,
}

/// A race of the baseline that was not found again.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct FixedRace {
    /// Its fingerprint.
    pub fingerprint: String,
    /// Its headline when it was found.
    pub headline: String,
}

impl Run {
    /// Whether it is a recorded program, whose next run numbers events, threads and processes otherwise.
    pub fn is_recorded(&self) -> bool {
        !self.command.is_empty()
    }
}

impl Report {
    /// Reads a stored result.
    pub fn read(from: impl io::Read) -> io::Result<Report> {
        let report: Report = serde_json::from_reader(io::BufReader::new(from))?;
        if report.schema != RESULT_SCHEMA {
            let message = format!("expected a result of version {RESULT_SCHEMA}, found {}", report.schema);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        Ok(report)
    }

    /// Writes it as `--report result=FILE` stores it.
    pub fn write(&self, to: &mut dyn io::Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, self)?;
        to.write_all(b"\n")
    }

    /// The findings that nobody has accepted: those that fail a run.
    pub fn new_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| finding.status == Status::New)
    }
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Verdict", rename_all = "lowercase")]
pub(crate) enum VerdictForm {
    Observed,
    Predicted,
    Possible,
    Suspected,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_zero_wide(number: &u64) -> bool {
    *number == 0
}
