//! Which pairs of accesses are worth a closer look.
//!
//! A pair is settled without a look if a lock held at both keeps them apart, or if the first precedes what the second cannot
//! run without. The rest is grouped by pair of locations, and of each group the first `instances` pairs are candidates; how many
//! more there are is counted. Pairs of a group in which a race is known already are candidates only for the sake of a second
//! access that is in no race yet.
//!
//! Runs beside `syncp` and remembers accesses of open variables only: those that matter, and whose accesses neither order nor a common lock
//! keeps apart (`syncp/guards.rs`); with a window, only accesses in it.
//! The clocks are those of the survey: thread order, fork, join, posts, and reads after the writes that they see.

use overtake_clock::Time;
use overtake_trace::{EventIndex, IdVec, LocationId, LockId, Sizes, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::order::Order;
use crate::access::{Access, AccessKind, At, Class};
use crate::detector::LockMode;
use crate::findings::Findings;
use crate::locks::{Held, HeldLocks};
use crate::race::Race;
use crate::syncp::Census;
use crate::visitor::{Touch, Visitor};

/// What to look for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Largest span of a pair.
    pub(crate) window: u64,
    /// Candidates of a group.
    pub(crate) instances: u64,
    /// One race is enough.
    pub(crate) first: bool,
}

/// A pair of accesses to be judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate {
    pub(crate) var: VarId,
    pub(crate) first: Access,
    pub(crate) second: Access,
    /// The second access is in a race that `syncp` found.
    pub(crate) is_known: bool,
    /// Candidates with one number ask the same: once one of them is a race, the others need no look.
    pub(crate) question: u64,
}

impl Candidate {
    pub(crate) fn group(&self) -> LocationPair {
        LocationPair::new(self.var, self.first.at.location, self.second.at.location)
    }
}

/// A pair of locations; without locations, of one variable.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LocationPair(LocationId, LocationId, Option<VarId>);

impl LocationPair {
    fn new(var: VarId, first: LocationId, second: LocationId) -> LocationPair {
        let subject = (!first.is_known() || !second.is_known()).then_some(var);
        LocationPair(first.min(second), first.max(second), subject)
    }

    pub(crate) fn of(race: &Race) -> LocationPair {
        LocationPair::new(race.var, race.first.at.location, race.second.at.location)
    }
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
    accesses: Vec<(Time, EventIndex, AccessKind)>,
}

impl Alike {
    /// How many of the first accesses are out of the window that ends with `last`.
    fn first_in_window(&self, last: EventIndex, window: u64) -> usize {
        self.accesses.partition_point(|&(_, index, _)| last.0 - index.0 >= window)
    }
}

#[derive(Clone, Copy, Default, Debug)]
struct GroupState {
    candidates: u64,
    has_race: bool,
}

/// The search over a whole trace.
pub(crate) struct Finder {
    pub(crate) census: Census,
    /// Whether a variable is open; none if all that matter are.
    open: Option<IdVec<VarId, bool>>,
    pub(super) limits: Limits,
    order: Order,
    held: HeldLocks,
    variables: FxHashMap<VarId, Vec<OfThread>>,
    groups: FxHashMap<LocationPair, GroupState>,
    /// Second accesses of races that `syncp` found in the current block, and how many of them are over.
    known: Vec<EventIndex>,
    passed: usize,
    /// The groups that it found in the current block, each with the second access of its first race, the last one first.
    new_groups: Vec<(EventIndex, LocationPair)>,
    /// How many racy events and groups of the findings are taken into account.
    events_taken: usize,
    groups_taken: usize,
    questions: u64,
    pub(crate) candidates: Vec<Candidate>,
    pub(crate) not_judged: u64,
}

impl Finder {
    /// A search among these variables; among all if there is no list.
    pub(crate) fn new(census: Census, open: Option<Vec<VarId>>, limits: Limits) -> Finder {
        let open = open.map(|variables| {
            let mut open = IdVec::new();
            variables.into_iter().for_each(|var| *open.entry(var) = true);
            open
        });
        Finder {
            order: Order::new(census.lives()),
            census,
            open,
            limits,
            held: HeldLocks::default(),
            variables: FxHashMap::default(),
            groups: FxHashMap::default(),
            known: Vec::new(),
            passed: 0,
            new_groups: Vec::new(),
            events_taken: 0,
            groups_taken: 0,
            questions: 0,
            candidates: Vec::new(),
            not_judged: 0,
        }
    }

    /// Whether nothing can be found, because no variable is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.open.as_ref().is_some_and(IdVec::is_empty)
    }

    /// Takes note of what `syncp` found in the block that comes next.
    pub(crate) fn note(&mut self, findings: &Findings) {
        self.known.clear();
        self.passed = 0;
        self.known.extend(findings.racy_events_from(self.events_taken));
        self.events_taken += self.known.len();
        self.pass_groups(EventIndex(u64::MAX));
        for group in &findings.groups()[self.groups_taken..] {
            self.new_groups.push((group.example.second.at.index, LocationPair::of(&group.example)));
            self.groups_taken += 1;
        }
        self.new_groups.sort_by_key(|&(second, _)| std::cmp::Reverse(second));
    }

    /// From the event at `now` on, the groups with a race up to it have one. So nothing depends on the size of blocks.
    fn pass_groups(&mut self, now: EventIndex) {
        while let Some((_, group)) = self.new_groups.pop_if(|(second, _)| *second <= now) {
            self.groups.entry(group).or_default().has_race = true;
        }
    }

    fn is_open(&self, var: VarId) -> bool {
        match &self.open {
            Some(open) => open.get(var).copied().unwrap_or(false),
            None => self.census.matters(var),
        }
    }

    fn record(&mut self, var: VarId, access: Access) {
        let thread = access.at.thread;
        let (held, time) = (self.held.of(thread), self.order.time(thread));
        let class = Class::of(access.kind);
        let threads = self.variables.entry(var).or_default();
        let of_thread = match threads.iter().position(|of| of.thread == thread) {
            Some(at) => &mut threads[at],
            None => {
                threads.push(OfThread { thread, last: 0, common: held, classes: Vec::new() });
                threads.last_mut().expect("just pushed")
            }
        };
        of_thread.last = time;
        if of_thread.common != held {
            of_thread.common = self.held.sets.held_at_both(of_thread.common, held);
        }
        let (location, entry) = (access.at.location, (time, access.at.index, access.kind));
        let alike = |one: &&mut Alike| (one.class, one.held, one.location) == (class, held, location);
        match of_thread.classes.iter_mut().find(alike) {
            Some(one) => {
                if one.accesses.len() == one.accesses.capacity() {
                    let over = one.first_in_window(access.at.index, self.limits.window);
                    one.accesses.drain(..over);
                }
                one.accesses.push(entry);
            }
            None => of_thread.classes.push(Alike { class, held, location, accesses: vec![entry] }),
        }
    }

    /// Looks at an access as the second one of pairs.
    fn look(&mut self, var: VarId, second: Access) {
        let Some(threads) = self.variables.remove(&var) else { return };
        while self.known.get(self.passed).is_some_and(|&known| known < second.at.index) {
            self.passed += 1;
        }
        self.pass_groups(second.at.index);
        let is_known = self.known.get(self.passed) == Some(&second.at.index);
        let held = self.held.of(second.at.thread);
        for of_thread in threads.iter().filter(|of| of.thread != second.at.thread) {
            let before = self.order.known(second.at.thread, of_thread.thread);
            if of_thread.last > before && !self.held.sets.have_common_lock(of_thread.common, held) {
                self.look_at_thread(of_thread, before, var, second, is_known);
            }
        }
        self.variables.insert(var, threads);
    }

    fn look_at_thread(
        &mut self,
        of_thread: &OfThread,
        before: Time,
        var: VarId,
        second: Access,
        is_known: bool,
    ) {
        let (class, held) = (Class::of(second.kind), self.held.of(second.at.thread));
        for alike in &of_thread.classes {
            if !alike.class.conflicts(class) || self.held.sets.have_common_lock(alike.held, held) {
                continue;
            }
            let unordered = alike.accesses.partition_point(|&(time, ..)| time <= before);
            let start = unordered.max(alike.first_in_window(second.at.index, self.limits.window));
            let accesses = &alike.accesses[start..];
            let pair = LocationPair::new(var, alike.location, second.at.location);
            let state = self.groups.entry(pair).or_default();
            if accesses.is_empty() || (is_known && state.has_race) {
                continue;
            }
            self.questions += 1;
            for (at, &(_, index, kind)) in accesses.iter().enumerate() {
                // An allocation that happens before a use was handed over; what does not is no prediction.
                let is_handed_over = self.census.is_recorded && kind == AccessKind::Alloc;
                if is_handed_over {
                    continue;
                }
                if state.candidates >= self.limits.instances {
                    self.not_judged += (accesses.len() - at) as u64;
                    break;
                }
                state.candidates += 1;
                let at = At { index, thread: of_thread.thread, location: alike.location };
                let (first, question) = (Access { at, kind }, self.questions);
                self.candidates.push(Candidate { var, first, second, is_known, question });
            }
        }
    }

    /// The thread knows the writes that an access sees, and others can see what it writes.
    fn take_effect(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each().filter(|&(var, _)| self.census.matters(var)) {
            if kind.reads() {
                self.order.see(at.thread, var);
            }
        }
        if touch.kind.writes() && self.census.matters(touch.var) {
            self.order.write(at.thread, touch.var, at.index);
        }
    }

    pub(crate) fn state_bytes(&self) -> usize {
        let alike = |one: &Alike| size_of::<Alike>() + one.accesses.capacity() * 24;
        let of_thread = |of: &OfThread| size_of::<OfThread>() + of.classes.iter().map(alike).sum::<usize>();
        let accesses: usize = self.variables.values().flatten().map(of_thread).sum();
        self.order.state_bytes()
            + self.held.state_bytes()
            + self.candidates.capacity() * size_of::<Candidate>()
            + accesses
    }
}

impl Visitor for Finder {
    fn reserve(&mut self, sizes: &Sizes) {
        self.order.reserve(sizes);
        self.held.grow_to(sizes.threads);
    }

    #[inline]
    fn access(&mut self, at: At, touch: Touch<'_>) {
        for (var, kind) in touch.each() {
            if self.is_open(var) {
                let access = Access { at, kind };
                self.look(var, access);
                self.record(var, access);
            }
        }
        self.take_effect(at, touch);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.acquire(at.thread, lock, mode);
        if self.held.wants_collection() {
            let of_threads = self.variables.values().flatten();
            let held = of_threads.flat_map(|of| of.classes.iter().map(|one| one.held).chain([of.common]));
            self.held.collect(held.flat_map(|held| [held.all, held.exclusive]));
        }
    }

    fn release(&mut self, at: At, lock: LockId, mode: LockMode) {
        self.held.release(at.thread, lock, mode);
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        self.order.hand_over(at.thread, child);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        self.order.join(at.thread, child, at.index);
    }

    fn post(&mut self, at: At, object: SyncId) {
        self.order.post(at.thread, object);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        self.order.wait(at.thread, object);
    }
}
