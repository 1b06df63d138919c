//! Which pairs of accesses are worth a closer look, and which of them are races.
//!
//! A pair is settled without a look if a lock held at both keeps them apart, or if the first precedes what the second cannot
//! run without. The rest is grouped by pair of locations, and of each group the first `instances` pairs are judged; how many
//! were not is counted. Pairs of a group in which a race is known already are judged only for the sake of a second access
//! that is in no race yet.

use overtake_clock::Time;
use overtake_trace::{EventIndex, IdVec, LocationId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::{Judgement, Position, Summary, What};
use crate::access::{Access, Class};
use crate::findings::Findings;
use crate::locks::{Held, HeldLocks};
use crate::race::{Race, Verdict};

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest span of a pair.
    pub(crate) window: u64,
    /// Pairs of a group that are judged.
    pub(crate) instances: u64,
}

/// What was looked at.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) judged: u64,
    pub(crate) not_judged: u64,
    pub(crate) found: u64,
    /// Of those judged, how many would have taken too many events.
    pub(crate) too_large: u64,
}

/// The accesses of a thread to a variable.
#[derive(Debug)]
struct OfThread {
    thread: ThreadId,
    last: Time,
    /// What is held at all of them.
    common: Held,
    classes: Vec<Alike>,
}

/// Accesses of a thread to a variable that are alike: same kind, locks and location.
#[derive(Debug)]
struct Alike {
    class: Class,
    held: Held,
    location: LocationId,
    accesses: Vec<(Time, Position)>,
}

/// An access that is judged as the second one of pairs.
#[derive(Clone, Copy, Debug)]
struct Second {
    position: Position,
    var: VarId,
    access: Access,
    held: Held,
    /// It is in a race already.
    is_known: bool,
}

/// Pairs of locations; without locations, of one variable.
type Group = (LocationId, LocationId, Option<VarId>);

#[derive(Clone, Copy, Default, Debug)]
struct GroupState {
    judged: u64,
    has_race: bool,
}

/// The search over a whole trace.
pub(crate) struct Candidates<'a> {
    summary: &'a Summary,
    judge: &'a mut dyn FnMut(Position, Position) -> Judgement,
    limits: Limits,
    held: HeldLocks,
    variables: IdVec<VarId, Vec<OfThread>>,
    groups: FxHashMap<Group, GroupState>,
    /// Second accesses of known races, ascending, and how many of them are over.
    known: &'a [EventIndex],
    passed: usize,
    pub(crate) counts: Counts,
}

impl<'a> Candidates<'a> {
    /// A search in `summary`, where races with the given second accesses are known.
    pub(crate) fn new(
        summary: &'a Summary,
        known: &'a [EventIndex],
        limits: Limits,
        judge: &'a mut dyn FnMut(Position, Position) -> Judgement,
    ) -> Candidates<'a> {
        let mut held = HeldLocks::default();
        held.grow_to(summary.sections.len());
        let mut variables = IdVec::new();
        variables.grow_to(summary.variables);
        Candidates {
            summary,
            judge,
            limits,
            held,
            variables,
            groups: FxHashMap::default(),
            known,
            passed: 0,
            counts: Counts::default(),
        }
    }

    /// A race of this pair of accesses is known.
    pub(crate) fn note(&mut self, race: &Race) {
        self.groups
            .entry(group(race.var, race.first.at.location, race.second.at.location))
            .or_default()
            .has_race = true;
    }

    /// Reports all races to `findings`.
    pub(crate) fn search(&mut self, findings: &mut Findings) {
        for position in 0..self.summary.events.len() as Position {
            let event = self.summary.event(position);
            match event.what {
                What::Acquire(place) => {
                    let section = self.summary.section(event.thread, place);
                    self.held.acquire(event.thread, section.lock, section.mode);
                }
                What::Release(place) => {
                    let section = self.summary.section(event.thread, place);
                    self.held.release(event.thread, section.lock, section.mode);
                }
                What::Access(..) | What::Block(_) => {
                    if let Some((var, access)) = self.summary.access(position) {
                        self.look(position, var, access, findings);
                        self.record(position, var, access);
                    }
                }
                What::Fork(_) | What::Join(_) | What::Post(_) | What::Wait(_) | What::Other => {}
            }
        }
    }

    fn record(&mut self, position: Position, var: VarId, access: Access) {
        let thread = access.at.thread;
        let held = self.held.of(thread);
        let rank = self.summary.event(self.summary.start(position)).rank;
        let class = Class::of(access.kind);
        let threads = &mut self.variables[var];
        let of_thread = match threads.iter().position(|of| of.thread == thread) {
            Some(at) => &mut threads[at],
            None => {
                threads.push(OfThread { thread, last: 0, common: held, classes: Vec::new() });
                threads.last_mut().expect("just pushed")
            }
        };
        of_thread.last = rank;
        if of_thread.common != held {
            of_thread.common = self.held.sets.held_at_both(of_thread.common, held);
        }
        let location = access.at.location;
        let alike = |one: &&mut Alike| (one.class, one.held, one.location) == (class, held, location);
        match of_thread.classes.iter_mut().find(alike) {
            Some(one) => one.accesses.push((rank, position)),
            None => of_thread.classes.push(Alike { class, held, location, accesses: vec![(rank, position)] }),
        }
    }

    /// Judges an access as the second one of a pair.
    fn look(&mut self, position: Position, var: VarId, access: Access, findings: &mut Findings) {
        if self.variables[var].is_empty() {
            return;
        }
        while self.known.get(self.passed).is_some_and(|&known| known < access.at.index) {
            self.passed += 1;
        }
        let is_known = self.known.get(self.passed) == Some(&access.at.index);
        let second = Second { position, var, access, held: self.held.of(access.at.thread), is_known };
        let threads = std::mem::take(&mut self.variables[var]);
        for of_thread in threads.iter().filter(|of| of.thread != access.at.thread) {
            let before = self.summary.time_before(position, of_thread.thread);
            if of_thread.last > before && !self.held.sets.have_common_lock(of_thread.common, second.held) {
                self.look_at_thread(of_thread, before, &second, findings);
            }
        }
        self.variables[var] = threads;
    }

    fn look_at_thread(
        &mut self,
        of_thread: &OfThread,
        before: Time,
        second: &Second,
        findings: &mut Findings,
    ) {
        let Second { position, var, access, held, is_known } = *second;
        let class = Class::of(access.kind);
        for alike in &of_thread.classes {
            if !alike.class.conflicts(class) || self.held.sets.have_common_lock(alike.held, held) {
                continue;
            }
            let start = alike.accesses.partition_point(|&(rank, _)| rank <= before);
            let accesses = &alike.accesses[start..];
            let key = group(var, alike.location, access.at.location);
            let state = self.groups.entry(key).or_default();
            if accesses.is_empty() || (is_known && state.has_race) {
                continue;
            }
            for (at, &(_, first)) in accesses.iter().enumerate() {
                let distance = access.at.index.0 - self.summary.event(first).index.0;
                if distance >= self.limits.window {
                    continue;
                }
                if state.judged >= self.limits.instances {
                    self.counts.not_judged += (accesses.len() - at) as u64;
                    break;
                }
                state.judged += 1;
                self.counts.judged += 1;
                let judgement = (self.judge)(first, position);
                self.counts.too_large += u64::from(judgement == Judgement::TooLarge);
                if judgement == Judgement::Race {
                    state.has_race = true;
                    self.counts.found += 1;
                    if let Some((_, first)) = self.summary.access(first) {
                        findings.report(Race { var, verdict: Verdict::Predicted, first, second: access });
                    }
                    break;
                }
            }
        }
    }
}

fn group(var: VarId, first: LocationId, second: LocationId) -> Group {
    let subject = (!first.is_known() || !second.is_known()).then_some(var);
    (first.min(second), first.max(second), subject)
}
