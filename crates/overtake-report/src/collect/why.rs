//! Why nothing orders two accesses, and what would: sentences from facts.

use overtake_detect::witness::Overtaken;
use overtake_detect::{Access, AccessKind, Hinge, Silence, Verdict};
use overtake_trace::{MemoryOrder, SyncId, ThreadId};

use super::chosen::Chosen;
use super::contracts::{self, Call};
use super::facts::{AtomicUse, Facts, Held, LockUse, Placed};
use super::names::Names;
use crate::model::Analysed;
use crate::result::{Frame, Memory, innermost_own};

/// Locks, atomics and objects that one explanation names, at most, of each.
const MOST_NAMED: usize = 2;

/// Everything that is known of a finding; of pairs, the access that is named first comes first.
pub(super) struct Case<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) analysed: &'a Analysed<'a>,
    pub(super) verdict: Verdict,
    pub(super) accesses: [Access; 2],
    pub(super) memory: &'a Memory,
    pub(super) hinges: &'a [Hinge],
    pub(super) detectors: &'a [usize],
    pub(super) facts: &'a Facts,
    pub(super) chosen: Option<&'a Chosen>,
}

impl Case<'_> {
    /// Which synchronisation there is between the two threads and why it does not order the accesses.
    pub(super) fn why(&self) -> String {
        let mut sentences = match self.verdict {
            Verdict::Observed => vec![self.about_locks()],
            Verdict::Predicted => self.about_overtaking(),
            Verdict::Possible => vec![self.about_hinges()],
            Verdict::Suspected => vec![self.about_locks(), self.about_suspicion()],
        };
        if matches!(self.verdict, Verdict::Predicted | Verdict::Possible) {
            sentences.push(self.about_locks());
        }
        if self.verdict == Verdict::Observed {
            sentences.extend(self.about_other_locks());
            sentences.extend(self.about_objects());
        }
        if self.verdict != Verdict::Suspected {
            sentences.extend(self.about_atomics());
            sentences.extend(self.about_threads());
        }
        if sentences.len() == 1 && self.verdict == Verdict::Observed {
            sentences.push("Nothing else passes between the two threads that would order them.".into());
        }
        sentences.join(" ")
    }

    /// What a possible race hinges on.
    fn about_hinges(&self) -> String {
        let reads: Vec<_> = self.hinges.iter().take(MOST_NAMED).map(|hinge| self.racy_read(hinge)).collect();
        let reads = match reads.is_empty() {
            true => "reads that race with a write".to_owned(),
            false => reads.join(" and "),
        };
        format!(
            "Another schedule brings the accesses side by side if {reads} saw what stands before it in the recording, \
             which is not known: order these reads first."
        )
    }

    fn racy_read(&self, hinge: &Hinge) -> String {
        let line = self.names.line(hinge.read.location);
        let place = if line.is_empty() { String::new() } else { format!(" at {line}") };
        format!("the racy read of `{}`{place}", self.names.memory(hinge.var, None).name)
    }

    fn accesses(&self) -> [&Access; 2] {
        [&self.accesses[0], &self.accesses[1]]
    }

    fn held(&self) -> [&[Held]; 2] {
        [&self.facts.scenes[0].held, &self.facts.scenes[1].held]
    }

    /// A thread in a sentence.
    fn thread(&self, thread: ThreadId) -> String {
        let thread = self.names.thread(thread);
        if thread.main { "the main thread".into() } else { thread.name }
    }

    /// An access in a sentence: `the write at bank.c:15`, or `T1's write at bank.c:15` where both are such.
    fn access(&self, access: &Access) -> String {
        let described = |access: &Access| {
            let line = self.names.line(access.at.location);
            format!("{}{}", access.kind.describe(), at(&line))
        };
        let [one, other] = self.accesses().map(described);
        match one == other || !access.at.location.is_known() {
            true => format!("{}'s {}", self.thread(access.at.thread), described(access)),
            false => format!("the {}", described(access)),
        }
    }

    fn lock_held(&self, held: &Held) -> String {
        self.names.lock_taken(held.lock, held.acquire.map(|acquire| acquire.step.event.location()))
    }

    fn lock_used(&self, used: &LockUse) -> String {
        self.names.lock_taken(used.lock, Some(used.acquire.step.event.location()))
    }

    fn lock_names(&self, held: &[Held]) -> String {
        let name = |held: &Held| {
            let mode = if held.shared { " (shared)" } else { "" };
            format!("{}{mode}", self.lock_held(held))
        };
        listed(held.iter().map(name).collect())
    }

    fn about_locks(&self) -> String {
        let [one, other] = self.accesses().map(|access| self.access(access));
        let [one_held, other_held] = self.held();
        if let Some(lock) = self.shared_by_both() {
            return format!("Both accesses hold {lock}, but shared, which lets both in at once.");
        }
        match (one_held, other_held) {
            ([], []) => "Neither access is made under a lock.".into(),
            (held, []) => format!(
                "{} is made under {}, {other} under no lock; a lock orders only threads that all take it.",
                capital(&one),
                self.lock_names(held)
            ),
            ([], held) => format!(
                "{} is made under {}, {one} under no lock; a lock orders only threads that all take it.",
                capital(&other),
                self.lock_names(held)
            ),
            (one_held, other_held) => format!(
                "{} is made under {}, {other} under {}; different locks do not exclude each other.",
                capital(&one),
                self.lock_names(one_held),
                self.lock_names(other_held)
            ),
        }
    }

    /// A lock that both hold. Both hold it shared, or there would be no race.
    fn shared_by_both(&self) -> Option<String> {
        let [one, other] = self.held();
        let both = one.iter().find(|held| held.shared && other.iter().any(|theirs| theirs.lock == held.lock));
        both.map(|held| self.lock_held(held))
    }

    /// Locks that both threads use, but not at the accesses.
    fn elsewhere(&self) -> impl Iterator<Item = &[LockUse; 2]> {
        let is_held =
            |used: &LockUse| self.held().iter().any(|held| held.iter().any(|held| held.lock == used.lock));
        self.facts.common.locks.iter().filter(move |[used, _]| !is_held(used)).take(MOST_NAMED)
    }

    fn about_other_locks(&self) -> Option<String> {
        let locks: Vec<_> = self.elsewhere().map(|[used, _]| self.lock_used(used)).collect();
        let of_them = match locks.len() {
            0 => return None,
            1 => "of it",
            _ => "of them",
        };
        let locks = listed(locks);
        Some(format!(
            "Both threads also use {locks}, but no section {of_them} leads from the one access to the other in this run."
        ))
    }

    fn about_objects(&self) -> Option<String> {
        let name = |object: &SyncId| {
            let mut name = Vec::new();
            self.names.symbols.objects.write_name(*object, &mut name);
            format!("`{}`", String::from_utf8_lossy(&name))
        };
        let objects = listed(self.facts.common.objects.iter().take(MOST_NAMED).map(name).collect());
        (!objects.is_empty()).then(|| {
            format!(
                "Both threads also signal or wait through {objects}, but no signal sent after the one access is waited for before the other."
            )
        })
    }

    fn about_overtaking(&self) -> Vec<String> {
        let overtaken = self.chosen.map(|chosen| &*chosen.overtaken).unwrap_or_default();
        if let Some(hand_over) = self.between_the_threads(overtaken) {
            let lock = self.names.lock_name(hand_over.lock);
            let steps = [hand_over.left_out, hand_over.by];
            let [early, late] = steps.map(|step| self.thread(step.event.thread()));
            let [early_at, late_at] = steps.map(|step| at(&self.names.line(step.event.location())));
            return vec![
                format!(
                    "In this run the accesses were ordered only because {early} had `{lock}`{early_at} before {late} took it{late_at}."
                ),
                format!(
                    "Nothing fixes that order: {late} can take it first, while the section of {early} is still to come, and then both \
                     accesses can happen at the same time."
                ),
            ];
        }
        let through = listed(
            self.handed_over().map(|[used, _]| format!("`{}`", self.names.lock_name(used.lock))).collect(),
        );
        let [one, other] = self.accesses();
        let (early, late) = if one.at.index < other.at.index { (one, other) } else { (other, one) };
        let [one, other] = [early, late].map(|access| self.thread(access.at.thread));
        vec![match (self.chosen, through.is_empty()) {
            (Some(_), _) => "What came between the accesses in this run is not needed by either: in the schedule it is left \
                             out, and then both accesses can happen at the same time."
                .into(),
            (None, false) => format!(
                "In this run the accesses were ordered only because {one} had {through} before {other} took it; another schedule of \
                 this run lets {other} come first."
            ),
            (None, true) => "In this run something ordered the accesses, but another schedule of the same events brings them \
                             side by side."
                .into(),
        }]
    }

    /// Of several sections that are overtaken, the one that has most to do with the threads of the accesses, and of these the earliest, as on
    /// the page. A section of a third thread may be left out only because nobody needs it.
    fn between_the_threads<'o>(&self, overtaken: &'o [Overtaken]) -> Option<&'o Overtaken> {
        let leads = self.accesses().map(|access| access.at.thread);
        overtaken.iter().min_by_key(|overtaken| {
            let steps = [overtaken.left_out, overtaken.by];
            let strangers = steps.iter().filter(|step| !leads.contains(&step.event.thread())).count();
            (strangers, overtaken.by.index)
        })
    }

    /// Locks that the thread of the earlier access released after it and the other took before its own: the uses of the
    /// earlier thread and of the other.
    fn handed_over(&self) -> impl Iterator<Item = [LockUse; 2]> {
        let [one, other] = self.accesses().map(|access| access.at.index);
        let pairs = self.facts.common.locks.iter().take(MOST_NAMED);
        let in_order =
            pairs.map(move |&[mine, theirs]| if one < other { [mine, theirs] } else { [theirs, mine] });
        in_order.filter(move |[released, taken]| {
            released.release.is_some_and(|release| release > one.min(other))
                && taken.acquire.step.index < one.max(other)
        })
    }

    fn about_suspicion(&self) -> String {
        let findings = self.analysed.findings.iter().enumerate();
        let silent = findings.filter(|(at, _)| !self.detectors.contains(at));
        let order = match silent.map(|(_, findings)| findings.detector.silence).max() {
            Some(Silence::OrderedWhileLocksKeepTheirs) => {
                "Something else ordered them in this run, and in every schedule that keeps the order of each lock."
            }
            Some(Silence::OrderedInThisRun) => "Something else ordered them in this run.",
            Some(Silence::Nothing) | None => {
                "Starting or joining threads, hand-overs or atomics may still order them."
            }
        };
        let order = self.about_order().unwrap_or_else(|| order.into());
        format!("No common lock protects the two accesses. {order}")
    }

    /// How the start or the end of a thread orders the accesses.
    fn about_order(&self) -> Option<String> {
        let [one, other] = self.accesses();
        let pairs = [
            (one, other, self.facts.forks[1], self.facts.joins[1]),
            (other, one, self.facts.forks[0], self.facts.joins[0]),
        ];
        pairs.into_iter().find_map(|(mine, theirs, fork, join)| {
            let [me, them] = [mine, theirs].map(|access| self.thread(access.at.thread));
            let started = fork
                .filter(|fork| fork.step.event.thread() == mine.at.thread && mine.at.index < fork.step.index);
            let joined =
                join.filter(|join| theirs.at.index < join.step.index && join.step.index < mine.at.index);
            let place = |placed: Placed| at(&self.names.line(placed.step.event.location()));
            match (started, joined) {
                (Some(fork), _) => Some(format!(
                    "{} started {them}{} after its access, which orders the two.",
                    capital(&me),
                    place(fork)
                )),
                (_, Some(join)) => Some(format!(
                    "{} waited for {them}{} before its access, which orders the two.",
                    capital(&me),
                    place(join)
                )),
                _ => None,
            }
        })
    }

    fn about_atomics(&self) -> Option<String> {
        let [one, other] = self.relaxed_atomic()?;
        let name = self.names.memory(one.var, None).name;
        let places: Vec<_> =
            [one, other].iter().map(|used| self.names.line(used.access.step.event.location())).collect();
        let places = if places[0] == places[1] { at(&places[0]) } else { at(&places.join(" and ")) };
        Some(format!(
            "Both threads use an atomic in {name}{places}, but in relaxed order at least on one side, which orders nothing around it."
        ))
    }

    /// An atomic that both use, one of them relaxed. Atomics inside of libraries are not the program's to change.
    fn relaxed_atomic(&self) -> Option<&[AtomicUse; 2]> {
        let relaxed = |used: &AtomicUse| used.order == MemoryOrder::Relaxed;
        let is_own = |used: &AtomicUse| {
            let stack = self.names.stack(used.access.step.event.location());
            !self.names.is_recorded() || caller_of_atomic(&stack).is_some_and(Frame::is_own)
        };
        let mut atomics = self.facts.common.atomics.iter();
        atomics.find(|[one, other]| (relaxed(one) || relaxed(other)) && is_own(one) && is_own(other))
    }

    /// Which object of a library is shared, and what its users have to keep to; none if both accesses are in the program itself.
    fn contract(&self) -> Option<String> {
        let stacks = self.accesses().map(|access| self.names.stack(access.at.location));
        let [one, other] = [0, 1].map(|side| contracts::call_of(&stacks[side]));
        let Call { contract, object, .. } = one.or(other)?;
        let object = format!("{object}{}", self.which_object());
        let calls: Vec<String> = [one, other].iter().flatten().map(|call| call.describe()).collect();
        let shared = match &calls[..] {
            [call, same] if call == same => format!("Both threads are in {call}: they share a {object}."),
            [call] => format!("One thread is in {call}, and the other uses the same {object}."),
            _ => format!("The threads are in {}: they share a {object}.", calls.join(" and in ")),
        };
        Some(format!("{shared} {}", contract.rule))
    }

    /// Which of the program's objects it is, as far as its memory has a name or a place.
    fn which_object(&self) -> String {
        let memory = self.memory;
        let allocated = innermost_own(&memory.allocated_at).filter(|frame| frame.is_own());
        match (memory.kind.as_str(), allocated) {
            ("global", _) => format!(" (the global `{}`)", memory.whole()),
            ("stack", _) if !memory.owner.is_empty() => format!(" (on the stack of {})", memory.owner),
            (_, Some(frame)) => format!(" (its memory was allocated at {})", frame.place()),
            _ => String::new(),
        }
    }

    fn about_threads(&self) -> Vec<String> {
        let [one, other] = self.accesses().map(|access| access.at.thread);
        let mut sentences = Vec::new();
        for (creator, child, fork) in [(one, other, self.facts.forks[1]), (other, one, self.facts.forks[0])] {
            if let Some(fork) = fork.filter(|fork| fork.step.event.thread() == creator) {
                let [parent, child] = [creator, child].map(|thread| self.thread(thread));
                let place = at(&self.names.line(fork.step.event.location()));
                sentences.push(format!(
                    "{} started {child}{place} before its own access, so that starting it orders nothing here.",
                    capital(&parent)
                ));
            }
        }
        if let [Some(one), Some(other)] = self.facts.forks
            && one.step.event.thread() == other.step.event.thread()
        {
            let creator = self.thread(one.step.event.thread());
            sentences
                .push(format!("Both threads were started by {creator}, and neither waits for the other."));
        }
        if let Some((waiting, joined, place)) = self.late_join() {
            sentences.push(format!(
                "{} waits for {joined}{}, but only after its own access.",
                capital(&waiting),
                at(&place)
            ));
        }
        sentences
    }

    /// A join of one by the other that comes after both accesses: who waits, for whom, where.
    fn late_join(&self) -> Option<(String, String, String)> {
        let [one, other] = self.accesses().map(|access| access.at.thread);
        let last = self.accesses[0].at.index.max(self.accesses[1].at.index);
        let pairs = [(other, one, self.facts.joins[0]), (one, other, self.facts.joins[1])];
        pairs.into_iter().find_map(|(waiting, joined, join)| {
            let join = join.filter(|join| join.step.index > last)?;
            Some((self.thread(waiting), self.thread(joined), self.names.line(join.step.event.location())))
        })
    }

    /// What would order them.
    pub(super) fn remedy(&self) -> String {
        let [one, other] = self.accesses();
        if self.verdict == Verdict::Suspected {
            return format!("If nothing else is meant to order them: {}", lower(&self.lock_remedy()));
        }
        if let Some(contract) = self.contract() {
            return contract;
        }
        if self.memory.kind == "descriptor" {
            return self.descriptor_remedy();
        }
        let mut remedies = vec![];
        if [one, other].iter().any(|access| access.kind == AccessKind::Free) {
            remedies.push(self.free_remedy());
        } else {
            remedies.push(self.lock_remedy());
            remedies.extend(self.atomic_remedy());
        }
        if let Some((waiting, _, place)) = self.late_join() {
            remedies.push(format!("Or move the access of {waiting} behind the join{}.", at(&place)));
        }
        remedies.join(" ")
    }

    /// Opening and closing write a descriptor, everything else reads it.
    fn descriptor_remedy(&self) -> String {
        let [one, other] = self.accesses();
        let (closing, user) = if one.kind.writes() { (one, other) } else { (other, one) };
        let [closing, user] = [closing, user].map(|access| {
            let line = self.names.line(access.at.location);
            if line.is_empty() {
                format!("what {} does", self.thread(access.at.thread))
            } else {
                format!("the call at {line}")
            }
        });
        format!(
            "One thread closes or replaces the {} while another one uses it. Let {closing} happen only after {user}: join the thread, or let a \
             lock guard both the descriptor's use and its end. The number of a closed descriptor is given to the next file that is opened, so that a \
             late use reads or writes another file.",
            self.memory.name
        )
    }

    fn free_remedy(&self) -> String {
        let [one, other] = self.accesses();
        let (free, user) = if one.kind == AccessKind::Free { (one, other) } else { (other, one) };
        let [free, user] = [self.access(free), self.access(user)];
        let mut remedy = format!(
            "Let {free} happen only after {user}: join the thread, or hand the block over under a lock."
        );
        if let Some(atomic) = self.relaxed_atomic() {
            let place = at(&self.names.line(atomic[0].access.step.event.location()));
            remedy = format!(
                "Use release order where a thread is done with the block and acquire order before it is freed (an update in \
                 acquire-release order{place} is both)."
            );
        }
        remedy
    }

    fn lock_remedy(&self) -> String {
        let [one, other] = self.accesses();
        let [one_held, other_held] = self.held();
        if let Some(lock) = self.shared_by_both() {
            let writer = if one.kind.writes() { one } else { other };
            return format!("Take {lock} exclusively around {}.", self.access(writer));
        }
        let around = |lock: &Held, access: &Access| {
            let name = self.lock_held(lock);
            let mode = match lock.shared {
                true if access.kind.writes() => " exclusively",
                _ => "",
            };
            format!("Hold {name}{mode} around {}, too.", self.access(access))
        };
        let useful = |held: &[Held], access: &Access| -> Option<Held> {
            // A shared lock does not protect a write from other holders.
            held.iter().find(|held| !held.shared || !access.kind.writes()).copied()
        };
        match (useful(one_held, one), useful(other_held, other)) {
            (Some(lock), _) => around(&lock, other),
            (None, Some(lock)) => around(&lock, one),
            (None, None) => match self.elsewhere().next() {
                Some([used, _]) => format!(
                    "Hold one lock around both accesses, such as {}, which both threads use already.",
                    self.lock_used(used)
                ),
                None => "Hold one lock around both accesses.".into(),
            },
        }
    }

    fn atomic_remedy(&self) -> Option<String> {
        let [one, other] = self.accesses();
        match (one.kind.is_atomic(), other.kind.is_atomic()) {
            (false, false) => {
                Some("Or make both accesses atomic, if the variable is independent of others.".into())
            }
            (true, false) => Some(format!("Or make {} atomic, too.", self.access(other))),
            (false, true) => Some(format!("Or make {} atomic, too.", self.access(one))),
            (true, true) => None,
        }
    }
}

/// The innermost frame that is not an operation of an atomic itself.
fn caller_of_atomic(stack: &[Frame]) -> Option<&Frame> {
    let operations = ["std::atomic", "std::__atomic", "std::__1::atomic", "core::sync::atomic"];
    stack.iter().find(|frame| {
        let name = crate::function_name::short(&frame.function);
        !operations.iter().any(|operation| name.starts_with(operation))
    })
}

fn listed(names: Vec<String>) -> String {
    match names.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} and {last}", others.join(", ")),
    }
}

fn at(place: &str) -> String {
    if place.is_empty() { String::new() } else { format!(" at {place}") }
}

/// A sentence begins with a capital letter, but names stay as they are.
fn capital(text: &str) -> String {
    match text.strip_prefix("the ") {
        Some(rest) => format!("The {rest}"),
        None => text.to_owned(),
    }
}

/// A sentence that goes on after a colon.
fn lower(sentence: &str) -> String {
    let mut letters = sentence.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}
