//! Deadlocks: one finding for each cycle of places at which locks are taken, whichever detectors found it.

use std::collections::{BTreeMap, BTreeSet};

use overtake_detect::witness::DeadlockSchedule;
use overtake_detect::{Deadlock, DeadlockStep, Verdict};

use super::names::Names;
use crate::model::Analysed;
use crate::number::counted;
use crate::result::{
    Access, Arrow, ArrowKind, Finding, HeldLock, Kind, Schedule, Section, Step, innermost_own,
};

/// A finding in ids.
#[derive(Clone, Debug)]
pub(super) struct DeadlockGroup {
    pub(super) deadlock: Deadlock,
    count: u64,
    /// Positions of the detectors that report it.
    detectors: Vec<usize>,
    /// A schedule that leads to it was built and checked.
    checked: bool,
}

/// Brings the deadlocks of all detectors together, the surest first.
pub(super) fn groups(analysed: &Analysed<'_>, names: &Names<'_>) -> Vec<DeadlockGroup> {
    let mut by_key: BTreeMap<Vec<[String; 2]>, DeadlockGroup> = BTreeMap::new();
    for (detector, findings) in analysed.findings.iter().enumerate() {
        for group in findings.races.deadlocks() {
            let new = DeadlockGroup {
                deadlock: in_order_of_code(group.surest.clone(), names),
                count: group.count,
                detectors: Vec::new(),
                checked: false,
            };
            let known = by_key.entry(key(&group.example, names)).or_insert_with(|| new.clone());
            if new.deadlock.verdict < known.deadlock.verdict {
                known.deadlock = new.deadlock;
            }
            known.count = known.count.max(group.count);
            known.detectors.push(detector);
        }
    }
    let mut groups: Vec<_> = by_key.into_values().collect();
    groups.sort_by_key(|group| group.deadlock.verdict);
    groups
}

/// The same circle. Timing decides which thread of a recorded program is first in it, so the code does instead.
fn in_order_of_code(mut deadlock: Deadlock, names: &Names<'_>) -> Deadlock {
    if names.is_recorded() {
        let code = |step: &DeadlockStep| {
            let [at, held_at] = [step.at, step.held_at].map(|at| names.place_in_code(at.location));
            (at, held_at, names.lock_name(step.held))
        };
        let steps = deadlock.steps.iter().map(code).enumerate();
        let first = steps.min_by(|(_, one), (_, other)| one.cmp(other)).map_or(0, |(at, _)| at);
        deadlock.steps.rotate_left(first);
    }
    deadlock
}

/// Where the locks are taken and waited for; of an unknown place, the lock.
fn key(deadlock: &Deadlock, names: &Names<'_>) -> Vec<[String; 2]> {
    let place = |location, lock| {
        let line = names.line(location);
        if line.is_empty() { names.lock_name(lock) } else { line }
    };
    let steps = deadlock.steps.iter();
    let mut key: Vec<_> = steps
        .map(|step| [place(step.at.location, step.lock), place(step.held_at.location, step.held)])
        .collect();
    key.sort_unstable();
    key
}

impl DeadlockGroup {
    /// Takes note of a schedule that leads to it.
    pub(super) fn witnessed(&mut self, schedule: &DeadlockSchedule) {
        self.checked = schedule.deadlock == self.deadlock;
    }

    /// The finding, spelled out.
    pub(super) fn finding(&self, analysed: &Analysed<'_>, names: &Names<'_>) -> Finding {
        let steps = &self.deadlock.steps;
        let accesses: Vec<Access> = steps.iter().map(|step| access(step, names)).collect();
        let objects: Vec<String> = steps.iter().map(|step| names.lock_name(step.held)).collect();
        let detectors = self.detectors.iter().map(|&at| analysed.findings[at].detector.name.to_owned());
        Finding {
            kind: Kind::Deadlock,
            rule: "deadlock".into(),
            verdict: self.deadlock.verdict,
            headline: self.headline(&accesses, names),
            accesses,
            objects,
            count: self.count,
            detectors: detectors.collect(),
            runs: vec![0],
            why: self.why(names),
            remedy: remedy(steps.len()).into(),
            schedule: Some(self.schedule(names)),
            ..Finding::default()
        }
    }

    fn why(&self, names: &Names<'_>) -> String {
        let waits = self.deadlock.steps.iter().map(|step| {
            let thread = names.thread_name(step.at.thread);
            let [held, wanted] = [step.held, step.lock].map(|lock| names.lock_name(lock));
            format!("{thread} holds {held} and waits for {wanted}")
        });
        let waits = waits.collect::<Vec<_>>().join(", ");
        let how = match (self.deadlock.verdict, self.checked) {
            (Verdict::Observed, _) => "The run ends like this",
            (Verdict::Predicted, true) => {
                "A schedule of this run leads here, with every lock taken in the order of the run; it was replayed and checked"
            }
            (Verdict::Predicted, false) => {
                "A reordering of this run leads here, with every lock taken in the order of the run"
            }
            (Verdict::Possible, _) => {
                "A reordering of this run leads here, if reads that race with a write saw what the merged order suggests"
            }
            (Verdict::Suspected, _) => {
                "No lock that all of them hold, no thread creation, no join and no wait keeps them apart. Whether the values that they \
                 read do was not checked"
            }
        };
        let blocks = self.blocks(names);
        match self.deadlock.verdict {
            Verdict::Suspected => format!("{waits}. {how}.{blocks}"),
            _ => format!("{how}: {waits}.{blocks}"),
        }
    }

    /// Sentences that say what the heap blocks of the locks are.
    fn blocks(&self, names: &Names<'_>) -> String {
        let mut known: BTreeMap<(String, u64), BTreeSet<String>> = BTreeMap::new();
        for block in self.deadlock.steps.iter().filter_map(|step| names.block_of(step.held)) {
            known.entry((block.place, block.bytes)).or_default().insert(block.name);
        }
        let sentence = |((place, bytes), blocks): (&(String, u64), &BTreeSet<String>)| {
            let blocks: Vec<&str> = blocks.iter().map(String::as_str).collect();
            let size = counted(*bytes, "byte", "bytes");
            match &blocks[..] {
                [block] => format!(" {block} is a heap block of {size} that was allocated at {place}."),
                [others @ .., last] => {
                    let others = others.join(", ");
                    format!(" {others} and {last} are heap blocks of {size} that were allocated at {place}.")
                }
                [] => String::new(),
            }
        };
        known.iter().map(sentence).collect()
    }

    /// `m1, m2: transfer waits for m2 while audit waits for m1`; of more than two threads, only where they wait. A lock in a
    /// heap block goes by the line that allocates the block, because the numbers of blocks are those of one run.
    fn headline(&self, accesses: &[Access], names: &Names<'_>) -> String {
        let steps = &self.deadlock.steps;
        let lock = |lock| match names.block_of(lock) {
            Some(block) => format!("a lock allocated at {}", block.place),
            None => names.lock_name(lock),
        };
        let held: Vec<String> = steps.iter().map(|step| lock(step.held)).collect();
        let function = |access: &Access| {
            innermost_own(&access.stack).map(|frame| frame.function_name()).filter(|name| !name.is_empty())
        };
        let actor = |access: &Access| function(access).unwrap_or_else(|| access.thread.name.clone());
        let actors: Vec<String> = accesses.iter().map(actor).collect();
        match (&actors[..], &held[..]) {
            ([one], [own]) => format!("{own}: {one} waits for {own}, which it holds"),
            ([one, other], [own, others]) if own == others => {
                format!("{}: {one} waits for one while {other} waits for the other", objects(&held))
            }
            ([one, other], [own, others]) => {
                format!("{}: {one} waits for {others} while {other} waits for {own}", objects(&held))
            }
            _ if accesses.iter().all(|access| function(access).is_some()) => {
                let threads = counted(steps.len() as u64, "thread", "threads");
                let functions = listed(&distinct(&actors), "function");
                format!("{}: {threads} wait for each other in {functions}", objects(&held))
            }
            _ => {
                let threads = listed(&distinct(&actors), "thread");
                format!("{}: {threads} wait for each other", objects(&held))
            }
        }
    }

    /// Who holds what since when, who waits where, and for whom.
    fn schedule(&self, names: &Names<'_>) -> Schedule {
        let steps = &self.deadlock.steps;
        let mut events: Vec<(usize, bool)> =
            (0..steps.len()).flat_map(|lane| [(lane, false), (lane, true)]).collect();
        let at = |(lane, waits): (usize, bool)| if waits { steps[lane].at } else { steps[lane].held_at };
        events.sort_by_key(|&event| at(event).index);
        let position = |event| events.iter().position(|&known| known == event).unwrap_or(0) as u32;
        let step = |&(lane, waits): &(usize, bool)| {
            let lock = if waits { steps[lane].lock } else { steps[lane].held };
            Step {
                event: at((lane, waits)).index.0,
                thread: lane as u32,
                operation: "acquire".into(),
                operand: names.lock_name(lock),
                place: names.place(at((lane, waits)).location),
                role: waits.then_some(lane as u32),
                omitted: 0,
            }
        };
        let order = |waits| events.iter().copied().filter(move |event| event.1 == waits).map(position);
        let section = |lane: usize| Section {
            lock: names.lock_name(steps[lane].held),
            shared: false,
            thread: lane as u32,
            from: Some(position((lane, false))),
            to: None,
        };
        let arrow = |lane: usize| Arrow {
            from: position((lane, true)),
            to: position(((lane + 1) % steps.len(), false)),
            kind: ArrowKind::WaitsFor,
        };
        Schedule {
            threads: steps.iter().map(|step| names.thread_name(step.at.thread)).collect(),
            steps: events.iter().map(step).collect(),
            witness: if self.checked { order(false).chain(order(true)).collect() } else { Vec::new() },
            sections: (0..steps.len()).map(section).collect(),
            arrows: (0..steps.len()).map(arrow).collect(),
            reversals: Vec::new(),
        }
    }
}

/// What to do about a circle of so many threads.
fn remedy(threads: usize) -> &'static str {
    match threads {
        1 => "The thread that holds the lock must not lock it again; a recursive mutex lets it.",
        _ => {
            "Take the locks in the same order everywhere, or take all of them at once (std::scoped_lock does)."
        }
    }
}

fn access(step: &DeadlockStep, names: &Names<'_>) -> Access {
    Access {
        operation: "lock".into(),
        object: names.lock_name(step.lock),
        event: step.at.index.0,
        thread: names.thread(step.at.thread),
        stack: names.stack(step.at.location),
        held: vec![HeldLock {
            name: names.lock_name(step.held),
            shared: false,
            event: step.held_at.index.0,
            taken_at: names.stack(step.held_at.location),
        }],
        ..Access::default()
    }
}

/// Locks, threads and functions that a headline names, at most, of each.
const MOST_NAMED: usize = 4;

/// The locks of a headline: `m1, m2`, `2 locks allocated at graph.cpp:13`.
fn objects(held: &[String]) -> String {
    let with_number = |name: &&str| {
        let alike = held.iter().filter(|other| other == name).count();
        match name.strip_prefix("a lock ") {
            Some(rest) if alike > 1 => format!("{alike} locks {rest}"),
            _ => (*name).to_owned(),
        }
    };
    let names: Vec<String> = distinct(held).iter().map(with_number).collect();
    listed(&names, "lock")
}

/// `a, b, c, d and 2 other locks`.
fn listed<Name: AsRef<str>>(names: &[Name], what: &str) -> String {
    let named: Vec<&str> = names.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    let named = named.join(", ");
    match names.len().saturating_sub(MOST_NAMED) {
        0 => named,
        1 => format!("{named} and another {what}"),
        more => format!("{named} and {more} other {what}s"),
    }
}

/// Each name once, in the order of first appearance.
fn distinct(names: &[String]) -> Vec<&str> {
    let mut known = BTreeSet::new();
    names.iter().map(String::as_str).filter(|name| known.insert(*name)).collect()
}
