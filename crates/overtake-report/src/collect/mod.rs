//! From what detectors found, in ids, to a [`Report`] that is complete in itself.
//!
//! One path for recorded programs and for traces of any format. The caller reads the trace for it, where it can be read again:
//!
//! 1. [`Collector::new`] brings the races of all detectors together;
//! 2. [`Collector::to_be_witnessed`] names the races that get a schedule; the caller has the schedules built and verified by
//!    [`overtake_detect::witness`] and hands them to [`Collector::witnessed`];
//! 3. [`Collector::read`] reads the trace once, for what happened around the accesses of all findings, or
//!    [`Collector::read_near`] only what is near them;
//! 4. [`Collector::finish`] spells everything out and reads the sources.
//!
//! Without the second and third step a report has no schedules, no locks and no explanations.

mod chosen;
mod contracts;
mod deadlock;
mod facts;
mod fingerprint;
mod gather;
mod group;
mod merge;
mod misuse;
mod names;
mod schedule;
mod sources;
mod timeline;
mod why;

use std::collections::BTreeSet;
use std::path::PathBuf;

use overtake_detect::witness::{self, DeadlockSchedule, Step};
use overtake_detect::{Access, AccessKind, Deadlock, Race, Verdict, Witness};
use overtake_trace::{EventSource, Landmarks, Module, OtrFile, Result, ThreadId, Variable};
use rustc_hash::{FxHashMap, FxHashSet};

use self::chosen::Chosen;
use self::deadlock::DeadlockGroup;
use self::facts::{Facts, Placed, Scene};
use self::gather::{Gathered, Question};
use self::group::Group;
pub use self::merge::merge;
use self::names::Names;
pub use self::timeline::TimelineRecorder;
use self::why::Case;
use crate::cause;
use crate::model::Analysed;
use crate::number::{counted, grouped};
use crate::result::{self, DetectorRun, Finding, HeldLock, Kind, RESULT_SCHEMA, Report, Run};

/// What to collect.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The working directory: files below it are named relative to it.
    pub directory: PathBuf,
    /// The directory of the sources, if locations of the trace name lines of files: `Main.java:12` is looked for here.
    pub source_root: Option<PathBuf>,
    /// How many predicted races get a schedule.
    pub witnesses: usize,
    /// Races whose second access comes after this many events get no schedule: the checker of schedules holds the trace in memory.
    pub witness_events: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Settings { directory: PathBuf::new(), source_root: None, witnesses: 20, witness_events: 1_000_000 }
    }
}

/// Collects findings for a report.
pub struct Collector<'a> {
    analysed: &'a Analysed<'a>,
    settings: Settings,
    names: Names<'a>,
    groups: Vec<Group>,
    misuses: Vec<Finding>,
    deadlocks: Vec<DeadlockGroup>,
    /// By position of the group.
    chosen: FxHashMap<usize, Chosen>,
    facts: Vec<Facts>,
    forks: FxHashMap<ThreadId, Placed>,
    ordinals: FxHashMap<Step, u64>,
    notes: Vec<String>,
}

impl<'a> Collector<'a> {
    /// The findings of all detectors.
    pub fn new(analysed: &'a Analysed<'a>, settings: &Settings) -> Collector<'a> {
        let names = Names::new(analysed.symbols, settings);
        let mut collector = Collector {
            analysed,
            settings: settings.clone(),
            groups: group::groups(analysed, &names),
            misuses: misuse::findings(&analysed.trace.misuses, &racy_blocks(analysed), &names),
            deadlocks: deadlock::groups(analysed, &names),
            names,
            chosen: FxHashMap::default(),
            facts: Vec::new(),
            forks: FxHashMap::default(),
            ordinals: FxHashMap::default(),
            notes: Vec::new(),
        };
        let order = cause::order(&collector.races());
        collector.groups = order.into_iter().map(|at| collector.groups[at].clone()).collect();
        collector
    }

    /// The races, with what is known so far.
    fn races(&self) -> Vec<Finding> {
        (0..self.groups.len()).map(|at| self.finding(at)).collect()
    }

    /// Every finding, with what is known so far: races, deadlocks, misuses.
    fn findings(&self) -> Vec<Finding> {
        let mut findings = self.races();
        findings.extend(self.deadlocks.iter().map(|group| group.finding(self.analysed, &self.names)));
        findings.extend(self.misuses.iter().cloned());
        fingerprint::assign(&mut findings);
        for (finding, id) in findings.iter_mut().zip(1..) {
            finding.id = id;
        }
        findings
    }

    /// Whether neither a race nor a deadlock was found, so that there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.deadlocks.is_empty()
    }

    /// Forgets all findings but the one at a position.
    pub fn keep_only(&mut self, position: usize) {
        let deadlocks = self.groups.len();
        let misuses = deadlocks + self.deadlocks.len();
        keep(&mut self.groups, Some(position));
        keep(&mut self.deadlocks, position.checked_sub(deadlocks));
        keep(&mut self.misuses, position.checked_sub(misuses));
    }

    /// The race that is shown as the example of the finding at a position.
    pub fn example(&self, position: usize) -> Option<Race> {
        self.groups.get(position).map(|group| group.race)
    }

    /// Whether the trace is a recording.
    pub fn is_of_recording(&self) -> bool {
        self.analysed.symbols.program.is_recorded()
    }

    /// The races that get a schedule, each with how it is built.
    pub fn to_be_witnessed(&self) -> Vec<(Race, Witness)> {
        let groups = self.witnessed_groups().into_iter();
        groups.map(|at| (self.groups[at].race, self.witness(at))).collect()
    }

    /// How the schedule of a race is built. Of the detectors that found the race, the one that allows the most reorderings decides.
    fn witness(&self, at: usize) -> Witness {
        let ways = self.groups[at].detectors.iter().map(|&at| self.analysed.findings[at].detector.witness);
        ways.max().unwrap_or(Witness::None)
    }

    fn witnessed_groups(&self) -> Vec<usize> {
        let predicted = self.predicted().filter(|&at| !self.is_late(at));
        predicted.take(self.settings.witnesses).collect()
    }

    fn predicted(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.groups.len()).filter(|&at| {
            self.groups[at].race.verdict == Verdict::Predicted && self.witness(at) != Witness::None
        })
    }

    /// Takes the schedules of [`to_be_witnessed`](Self::to_be_witnessed), in that order. They must have been verified.
    pub fn witnessed(&mut self, schedules: &[witness::Schedule]) {
        let groups = self.witnessed_groups();
        self.chosen = groups.into_iter().zip(schedules.iter().map(Chosen::of)).collect();
        let (built, all) = (self.chosen.len(), self.predicted().count());
        let late = self.predicted().filter(|&at| self.is_late(at)).count();
        if built < all {
            let races = counted(all as u64, "predicted race", "predicted races");
            let more = if built < all - late { "; --witnesses N builds more" } else { "" };
            self.notes.push(format!("schedules were built for {built} of {races}{more}"));
        }
        if late > 0 {
            let limit = grouped(self.settings.witness_events);
            self.notes.push(format!(
                "{late} of them come after the first {limit} events: overtake explain TRACE RACE builds such a schedule, in memory for all \
                 of the trace"
            ));
        }
    }

    /// Whether a race comes too late in the trace to get a schedule.
    fn is_late(&self, at: usize) -> bool {
        self.groups[at].race.second.at.index.0 >= self.settings.witness_events
    }

    /// The deadlocks that get a schedule.
    pub fn deadlocks_to_be_witnessed(&self) -> Vec<Deadlock> {
        self.witnessed_deadlocks().into_iter().map(|at| self.deadlocks[at].deadlock.clone()).collect()
    }

    fn witnessed_deadlocks(&self) -> Vec<usize> {
        let is_near = |deadlock: &Deadlock| {
            deadlock.steps.iter().all(|step| step.at.index.0 < self.settings.witness_events)
        };
        let predicted = (0..self.deadlocks.len()).filter(|&at| {
            let deadlock = &self.deadlocks[at].deadlock;
            deadlock.verdict == Verdict::Predicted && is_near(deadlock)
        });
        predicted.take(self.settings.witnesses).collect()
    }

    /// Takes the schedules of [`deadlocks_to_be_witnessed`](Self::deadlocks_to_be_witnessed), in that order. They must have
    /// been verified.
    pub fn deadlocks_witnessed(&mut self, schedules: &[DeadlockSchedule]) {
        for (at, schedule) in self.witnessed_deadlocks().into_iter().zip(schedules) {
            self.deadlocks[at].witnessed(schedule);
        }
    }

    /// Reads the whole trace.
    pub fn read(&mut self, source: &mut dyn EventSource) -> Result<()> {
        let (races, steps) = self.to_be_read();
        self.gathered(gather::gather(source, self.question(&races, &steps))?);
        Ok(())
    }

    /// Reads the parts of the trace that matter, from a file with the landmarks that were noted when it was analysed.
    pub fn read_near(&mut self, file: &OtrFile, landmarks: &Landmarks) -> Result<()> {
        let (races, steps) = self.to_be_read();
        self.gathered(gather::gather_near(file, landmarks, self.question(&races, &steps))?);
        Ok(())
    }

    fn to_be_read(&self) -> (Vec<Race>, Vec<Step>) {
        let races = self.groups.iter().map(|group| group.race);
        (races.collect(), self.chosen.values().flat_map(Chosen::steps).collect())
    }

    fn question<'b>(&self, races: &'b [Race], steps: &'b [Step]) -> Question<'b> {
        Question { races, steps, threads: self.analysed.trace.sizes.threads }
    }

    fn gathered(&mut self, Gathered { facts, forks, ordinals }: Gathered) {
        (self.facts, self.forks, self.ordinals) = (facts, forks, ordinals);
    }

    /// The report.
    pub fn finish(self) -> Report {
        let findings = self.findings();
        Report {
            schema: RESULT_SCHEMA,
            version: env!("CARGO_PKG_VERSION").into(),
            runs: vec![self.run(&findings)],
            sources: sources::excerpts(&findings, self.names.source_directory()),
            findings,
            triage: Default::default(),
        }
    }

    fn run(&self, found: &[Finding]) -> Run {
        let Analysed { trace, symbols, findings, .. } = self.analysed;
        Run {
            modules: modules_of(&symbols.program.modules, found),
            trace: trace.file.clone(),
            format: trace.format.clone(),
            command: symbols.program.command.clone(),
            directory: String::new(),
            environment: Default::default(),
            process: symbols.program.pid,
            events: trace.events,
            threads: trace.sizes.threads as u64,
            locks: trace.sizes.locks as u64,
            variables: trace.sizes.variables as u64,
            detectors: findings.iter().map(detector_run).collect(),
            notes: crate::text::notes(trace).lines().map(str::to_owned).chain(self.notes.clone()).collect(),
            timeline: None,
        }
    }

    fn finding(&self, at: usize) -> Finding {
        let group = &self.groups[at];
        let mut accesses = group.accesses(&self.names);
        let swapped = accesses[0] != group.race.first;
        let facts = self.facts.get(at).map(|facts| facts.oriented(swapped));
        let scene = |side: usize| facts.as_ref().map(|facts| &facts.scenes[side]);
        // What races with a free is a use of the block, as a whole; the event says what it does to the part that it uses.
        for (side, access) in accesses.iter_mut().enumerate() {
            let event = scene(side).and_then(|scene| scene.access).map(|placed| placed.step.event);
            access.kind = event.and_then(|event| gather::access_kind(event.op())).unwrap_or(access.kind);
        }
        let [first, second] = [0, 1].map(|side| self.access(&accesses[side], scene(side)));
        let memory = self.names.memory(group.race.var, group.extent);
        let detectors = group.detectors.iter().map(|&at| self.analysed.findings[at].detector.name.to_owned());
        let explained = facts.as_ref().map(|facts| self.explained(at, accesses, &memory, facts));
        let (mut why, remedy) = explained.unwrap_or_default();
        if group.extent.is_some() {
            why.push_str(" Each access stands for those of its thread up to its next synchronisation.");
        }
        let frees = accesses.iter().any(|access| access.kind == AccessKind::Free);
        Finding {
            kind: Kind::Race,
            rule: if frees { "use-after-free" } else { "data-race" }.into(),
            verdict: group.race.verdict,
            headline: headline(&memory, &first, &second),
            memory: Some(memory),
            accesses: vec![first, second],
            count: group.count,
            observed: group.observed,
            detectors: detectors.collect(),
            runs: vec![0],
            why: why.trim_start().to_owned(),
            remedy,
            schedule: facts.and_then(|facts| {
                schedule::schedule(&facts, self.chosen.get(&at), &self.ordinals, accesses, &self.names)
            }),
            ..Finding::default()
        }
    }

    fn explained(
        &self,
        at: usize,
        accesses: [Access; 2],
        memory: &result::Memory,
        facts: &Facts,
    ) -> (String, String) {
        let case = Case {
            names: &self.names,
            analysed: self.analysed,
            verdict: self.groups[at].race.verdict,
            accesses,
            memory,
            hinges: &self.groups[at].hinges,
            detectors: &self.groups[at].detectors,
            facts,
            chosen: self.chosen.get(&at),
        };
        (case.why(), case.remedy())
    }

    fn access(&self, access: &Access, scene: Option<&Scene>) -> result::Access {
        let held = scene.map(|scene| &*scene.held).unwrap_or_default();
        let held = held.iter().map(|held| HeldLock {
            name: self.names.lock_name(held.lock),
            shared: held.shared,
            event: held.acquire.map_or(0, |acquire| acquire.step.index.0),
            taken_at: held
                .acquire
                .map_or_else(Vec::new, |acquire| self.names.stack(acquire.step.event.location())),
        });
        result::Access {
            operation: access.kind.describe().to_owned(),
            object: String::new(),
            writes: access.kind.writes(),
            bytes: self.names.bytes(access),
            event: access.at.index.0,
            thread: self.thread(access),
            stack: self.names.stack(access.at.location),
            held: held.collect(),
        }
    }

    /// The thread of an access; where the program does not say who created it, the trace does.
    fn thread(&self, access: &Access) -> result::Thread {
        let mut thread = self.names.thread(access.at.thread);
        if thread.creator.is_empty()
            && let Some(fork) = self.forks.get(&access.at.thread)
        {
            thread.creator = self.names.thread_name(fork.step.event.thread());
            thread.created_at = self.names.stack(fork.step.event.location());
        }
        thread
    }
}

/// Keeps what is at a position and nothing else.
fn keep<T>(items: &mut Vec<T>, position: Option<usize>) {
    *items = items.drain(..).skip(position.unwrap_or(usize::MAX)).take(1).collect();
}

/// The modules that findings are in and that can be told from others of the same name.
fn modules_of(modules: &[Module], found: &[Finding]) -> Vec<result::Module> {
    let stacks = found.iter().flat_map(|finding| &finding.accesses).map(|access| &access.stack);
    let names: BTreeSet<&str> = stacks.flatten().map(|frame| frame.module.as_str()).collect();
    let is_named = |module: &&Module| {
        let name = module.path.rsplit('/').next().unwrap_or_default();
        !module.build_id.is_empty() && names.contains(name)
    };
    let known = modules.iter().filter(is_named);
    known
        .map(|Module { path, build_id }| result::Module { path: path.clone(), build_id: build_id.clone() })
        .collect()
}

fn detector_run(findings: &crate::Findings<'_>) -> DetectorRun {
    DetectorRun {
        name: findings.detector.name.to_owned(),
        promise: findings.detector.promise.describe().to_owned(),
        sampled: findings.detector.promise.is_sampled(),
        races: findings.races.races(),
        remarks: findings.remarks.clone(),
    }
}

/// `counter: main.c:8 writes while worker.c:9 reads`.
fn headline(memory: &result::Memory, first: &result::Access, second: &result::Access) -> String {
    let by_place = !first.stack.is_empty() && !second.stack.is_empty();
    let does = |access: &result::Access| match memory.kind.as_str() {
        "descriptor" if access.writes => "opens or closes it",
        "descriptor" => "uses it",
        _ => does(access),
    };
    let [first, second] =
        [first, second].map(|access| format!("{} {}", actor(access, by_place), does(access)));
    format!("{}: {first} while {second}", memory.name)
}

/// Who does it: the function, else where it is, else the thread.
fn actor(access: &result::Access, by_place: bool) -> String {
    match access.site() {
        Some(frame) if !frame.function.is_empty() => frame.function_name(),
        Some(frame) if by_place && !frame.file.is_empty() => frame.place(),
        Some(frame) if by_place => format!("{}+{:#x}", frame.module, frame.offset),
        _ => access.thread.name.clone(),
    }
}

/// The names of the blocks of which an allocation or a free races with a use.
fn racy_blocks(analysed: &Analysed<'_>) -> FxHashSet<String> {
    let variables = &analysed.symbols.variables;
    let racy = analysed.findings.iter().flat_map(|findings| findings.races.racy_variables());
    racy.filter(|&var| matches!(variables.get(var), Variable::Block(_)))
        .map(|var| variables.display(var))
        .collect()
}

fn does(access: &result::Access) -> &'static str {
    let kinds = [
        (AccessKind::Read, "reads"),
        (AccessKind::Write, "writes"),
        (AccessKind::Load, "loads atomically"),
        (AccessKind::Store, "stores atomically"),
        (AccessKind::Rmw, "updates atomically"),
        (AccessKind::Free, "frees it"),
        (AccessKind::Alloc, "allocates it"),
    ];
    kinds
        .into_iter()
        .find(|(kind, _)| kind.describe() == access.operation)
        .map_or("accesses it", |(_, does)| does)
}
