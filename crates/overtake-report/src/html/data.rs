//! A result in the form the page reads: what repeats is listed once and referred to by its position.
//!
//! Ten thousand findings share a few thousand frames and threads. [`Contents`] lists those, and of each finding what the list
//! needs; [`Details`] is the rest.

use std::hash::Hash;

use indexmap::IndexSet;
use overtake_detect::Verdict;
use serde::Serialize;

use crate::cause;
use crate::function_name::is_lambda;
use crate::result::{
    Access, Confirmed, Finding, Frame, HeldLock, Kind, Memory, Report, Run, Schedule, Status, Thread, Triage,
    VerdictForm, innermost_own,
};

/// Position in [`Contents::stacks`].
type StackRef = usize;
/// Position in [`Contents::threads`].
type ThreadRef = usize;

/// What the page reads first.
#[derive(Serialize)]
pub(super) struct Contents<'a> {
    version: &'a str,
    runs: &'a [Run],
    triage: &'a Triage,
    findings_per_parcel: usize,
    frames: IndexSet<&'a Frame>,
    /// Stacks as positions in `frames`.
    stacks: IndexSet<Vec<usize>>,
    /// For each frame, whether it is of the program itself; others are folded.
    own: Vec<bool>,
    /// Frames that have no name, as positions; they go by their place.
    lambdas: Vec<usize>,
    /// For each stack, the frame that it is known by (see [`innermost_own`]); `None` for an empty stack.
    sites: Vec<Option<usize>>,
    threads: IndexSet<ThreadForm<'a>>,
    findings: Vec<Summary<'a>>,
}

/// What the list shows, searches and filters by.
#[derive(Serialize)]
struct Summary<'a> {
    id: u32,
    fingerprint: &'a str,
    kind: Kind,
    rule: &'a str,
    title: String,
    /// Position of its cause; findings with the same one have one cause.
    cause: usize,
    confirmed: bool,
    #[serde(with = "VerdictForm")]
    verdict: Verdict,
    headline: &'a str,
    count: u64,
    memory: String,
    threads: Vec<ThreadRef>,
    stacks: Vec<StackRef>,
    locks: Vec<&'a str>,
    detectors: &'a [String],
    status: &'a Status,
}

/// What only the page of the finding itself shows.
#[derive(Serialize)]
pub(super) struct Details<'a> {
    observed: u64,
    runs: &'a [u32],
    why: &'a str,
    remedy: &'a str,
    notes: &'a [String],
    objects: &'a [String],
    confirmed: Option<&'a Confirmed>,
    memory: Option<MemoryForm<'a>>,
    accesses: Vec<AccessForm<'a>>,
    schedule: Option<&'a Schedule>,
}

#[derive(PartialEq, Eq, Hash, Serialize)]
struct ThreadForm<'a> {
    name: &'a str,
    main: bool,
    creator: &'a str,
    created_at: StackRef,
}

#[derive(Serialize)]
struct MemoryForm<'a> {
    name: &'a str,
    kind: &'a str,
    bytes: u64,
    offset: u64,
    owner: &'a str,
    allocated_at: StackRef,
    #[serde(skip_serializing_if = "Option::is_none")]
    freed: Option<FreedForm<'a>>,
}

#[derive(Serialize)]
struct FreedForm<'a> {
    by: &'a str,
    at: StackRef,
}

#[derive(Serialize)]
struct AccessForm<'a> {
    operation: &'a str,
    object: &'a str,
    writes: bool,
    bytes: u32,
    event: u64,
    thread: ThreadRef,
    stack: StackRef,
    held: Vec<HeldForm<'a>>,
}

#[derive(Serialize)]
struct HeldForm<'a> {
    name: &'a str,
    shared: bool,
    event: u64,
    taken_at: StackRef,
}

/// The contents, and the details of each finding in the same order.
pub(super) fn split(report: &Report) -> (Contents<'_>, Vec<Details<'_>>) {
    let mut contents = Contents {
        version: &report.version,
        runs: &report.runs,
        triage: &report.triage,
        findings_per_parcel: super::FINDINGS_PER_PARCEL,
        frames: IndexSet::new(),
        stacks: IndexSet::new(),
        own: Vec::new(),
        lambdas: Vec::new(),
        sites: Vec::new(),
        threads: IndexSet::new(),
        findings: Vec::with_capacity(report.findings.len()),
    };
    let findings = report.findings.iter().zip(cause::numbers(&report.findings));
    let details = findings.map(|(finding, cause)| contents.add(finding, cause)).collect();
    contents.own = contents.frames.iter().map(|frame| frame.is_own()).collect();
    let lambdas = contents.frames.iter().enumerate().filter(|(_, frame)| is_lambda(&frame.function));
    contents.lambdas = lambdas.map(|(at, _)| at).collect();
    (contents, details)
}

impl<'a> Contents<'a> {
    fn add(&mut self, finding: &'a Finding, cause: usize) -> Details<'a> {
        let accesses: Vec<_> = finding.accesses.iter().map(|access| self.access(access)).collect();
        let memory = finding.memory.as_ref().map(|memory| self.memory(memory));
        self.findings.push(Summary {
            id: finding.id,
            fingerprint: &finding.fingerprint,
            kind: finding.kind,
            rule: &finding.rule,
            title: finding.title(),
            cause,
            confirmed: finding.confirmed.is_some(),
            verdict: finding.verdict,
            headline: &finding.headline,
            count: finding.count,
            memory: finding.subject(),
            threads: accesses.iter().map(|access| access.thread).collect(),
            stacks: accesses.iter().map(|access| access.stack).collect(),
            locks: accesses.iter().flat_map(|access| &access.held).map(|lock| lock.name).collect(),
            detectors: &finding.detectors,
            status: &finding.status,
        });
        Details {
            observed: finding.observed,
            runs: &finding.runs,
            why: &finding.why,
            remedy: &finding.remedy,
            notes: &finding.notes,
            objects: &finding.objects,
            confirmed: finding.confirmed.as_ref(),
            memory,
            accesses,
            schedule: finding.schedule.as_ref().filter(|schedule| is_consistent(schedule)),
        }
    }

    fn access(&mut self, access: &'a Access) -> AccessForm<'a> {
        AccessForm {
            operation: &access.operation,
            object: &access.object,
            writes: access.writes,
            bytes: access.bytes,
            event: access.event,
            thread: self.thread(&access.thread),
            stack: self.stack(&access.stack),
            held: access.held.iter().map(|lock| self.held(lock)).collect(),
        }
    }

    fn held(&mut self, lock: &'a HeldLock) -> HeldForm<'a> {
        let taken_at = self.stack(&lock.taken_at);
        HeldForm { name: &lock.name, shared: lock.shared, event: lock.event, taken_at }
    }

    fn memory(&mut self, memory: &'a Memory) -> MemoryForm<'a> {
        MemoryForm {
            name: &memory.name,
            kind: &memory.kind,
            bytes: memory.bytes,
            offset: memory.offset,
            owner: &memory.owner,
            allocated_at: self.stack(&memory.allocated_at),
            freed: match memory.freed_by.as_str() {
                "" => None,
                by => Some(FreedForm { by, at: self.stack(&memory.freed_at) }),
            },
        }
    }

    fn thread(&mut self, thread: &'a Thread) -> ThreadRef {
        let created_at = self.stack(&thread.created_at);
        let form = ThreadForm { name: &thread.name, main: thread.main, creator: &thread.creator, created_at };
        position(&mut self.threads, form)
    }

    fn stack(&mut self, stack: &'a [Frame]) -> StackRef {
        let frames = stack.iter().map(|frame| position(&mut self.frames, frame)).collect();
        let stack_ref = position(&mut self.stacks, frames);
        if stack_ref == self.sites.len() {
            self.sites.push(innermost_own(stack).map(|site| position(&mut self.frames, site)));
        }
        stack_ref
    }
}

/// Whether all positions are within the lists they refer to. A result that somebody stored may say anything, and the page
/// rather has no drawing than a wrong one.
fn is_consistent(schedule: &Schedule) -> bool {
    let is_thread = |thread: u32| (thread as usize) < schedule.threads.len();
    let is_step = |step: u32| (step as usize) < schedule.steps.len();
    schedule.steps.iter().all(|step| is_thread(step.thread))
        && schedule.witness.iter().all(|&step| is_step(step))
        && schedule.sections.iter().all(|section| {
            is_thread(section.thread) && section.from.is_none_or(is_step) && section.to.is_none_or(is_step)
        })
        && schedule.arrows.iter().all(|arrow| is_step(arrow.from) && is_step(arrow.to))
}

/// The position of `item` in `set`; a new item is added at the end.
fn position<T: Hash + Eq>(set: &mut IndexSet<T>, item: T) -> usize {
    set.insert_full(item).0
}
