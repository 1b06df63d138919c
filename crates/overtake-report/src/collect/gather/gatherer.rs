//! The reader itself: follows the threads that race and notes what is around their accesses.

use overtake_detect::witness::Step;
use overtake_detect::{Access, AccessKind, Race};
use overtake_trace::{Action, Event, EventIndex, IdVec, Landmarks, Op, ThreadId};
use rustc_hash::FxHashMap;

use super::super::facts::{Common, Facts, Held, Placed, Scene};
use super::following::Following;
use super::uses::{atomic_uses, both, lock_uses, objects};
use super::{Gathered, Question, lengths_at, placed};

/// Synchronisation events after an access that are listed.
const AFTER: usize = 2;

/// Findings with what is known of them so far.
pub(super) struct Gatherer<'a> {
    races: &'a [Race],
    near: u64,
    facts: Vec<Facts>,
    /// Accesses in trace order: index, finding, which of the two; and how many are over.
    wanted: Vec<(EventIndex, usize, usize)>,
    passed: usize,
    /// Events to be numbered, in trace order, and how many are over.
    numbered: Vec<EventIndex>,
    numbered_passed: usize,
    /// The next event that is wanted or to be numbered, and from where on synchronisation is remembered for it.
    next: u64,
    from: u64,
    ordinals: FxHashMap<Step, u64>,
    /// Events of each thread so far.
    lengths: IdVec<ThreadId, u64>,
    /// The threads that race.
    threads: IdVec<ThreadId, Option<Box<Following>>>,
    /// What the threads of first accesses did before them, until the second is reached.
    earlier: FxHashMap<usize, Vec<Placed>>,
    forks: FxHashMap<ThreadId, Placed>,
    /// The latest join of a thread by another.
    joins: FxHashMap<[ThreadId; 2], Placed>,
}

impl<'a> Gatherer<'a> {
    pub(super) fn new(question: Question<'a>) -> Gatherer<'a> {
        let Question { races, steps, .. } = question;
        let sides =
            |(at, race): (usize, &Race)| [(race.first.at.index, at, 0), (race.second.at.index, at, 1)];
        let mut wanted: Vec<_> = races.iter().enumerate().flat_map(sides).collect();
        wanted.sort_unstable();
        let mut numbered: Vec<_> = steps.iter().map(|step| step.index).collect();
        numbered.sort_unstable();
        numbered.dedup();
        let mut gatherer = Gatherer {
            races,
            near: question.near(),
            facts: vec![Facts::default(); races.len()],
            wanted,
            passed: 0,
            numbered,
            numbered_passed: 0,
            next: 0,
            from: 0,
            ordinals: FxHashMap::default(),
            lengths: IdVec::new(),
            threads: IdVec::new(),
            earlier: FxHashMap::default(),
            forks: FxHashMap::default(),
            joins: FxHashMap::default(),
        };
        for thread in races.iter().flat_map(|race| [race.first.at.thread, race.second.at.thread]) {
            gatherer.threads.entry(thread).get_or_insert_default();
        }
        gatherer.look_ahead();
        gatherer
    }

    /// Takes the starts and ends of threads that an earlier reading noted.
    pub(super) fn take_threads(&mut self, landmarks: &Landmarks) {
        for (thread, seen, ordinal) in landmarks.forks() {
            self.forks.insert(thread, placed(seen, ordinal));
        }
        for (threads, seen, ordinal) in landmarks.joins() {
            self.joins.insert(threads, placed(seen, ordinal));
        }
    }

    /// What is known so far, one for each race.
    pub(super) fn facts_mut(&mut self) -> &mut [Facts] {
        &mut self.facts
    }

    fn look_ahead(&mut self) {
        let wanted = self.wanted.get(self.passed).map(|(index, ..)| index.0);
        let numbered = self.numbered.get(self.numbered_passed).map(|index| index.0);
        self.next = wanted.into_iter().chain(numbered).min().unwrap_or(u64::MAX);
        self.from = self.next.saturating_sub(self.near);
    }

    pub(super) fn reserve_threads(&mut self, threads: usize) {
        self.lengths.grow_to(threads);
        self.threads.grow_to(threads);
    }

    /// Goes on at a landmark, or at the start.
    pub(super) fn begin(&mut self, landmarks: &Landmarks, start: u64) {
        self.lengths = lengths_at(landmarks, start);
        self.reserve_threads(self.threads.len());
        for following in self.threads.iter_mut().flatten() {
            following.clear();
        }
        let Some(place) = landmarks.before(EventIndex(start)) else { return };
        for held in &place.held {
            if let Some(following) = &mut self.threads[held.thread] {
                following.held.push(Held { lock: held.lock, shared: held.shared, acquire: None });
            }
        }
    }

    pub(super) fn take(&mut self, first: EventIndex, events: &[Event]) {
        for (event, index) in events.iter().zip(first.0..) {
            let thread = event.thread();
            let ordinal = self.lengths[thread];
            self.lengths[thread] = ordinal + 1;
            let seen = (EventIndex(index), *event);
            if index >= self.next {
                self.reach(placed(seen, ordinal));
            }
            if is_synchronisation(event.op()) {
                self.synchronise(placed(seen, ordinal));
            }
        }
    }

    fn synchronise(&mut self, placed: Placed) {
        let thread = placed.step.event.thread();
        match placed.step.event.action() {
            // Later forks of a thread are repairs or errors; the first one started it.
            Action::Fork(child) => {
                self.forks.entry(child).or_insert(placed);
            }
            Action::Join(child) => {
                self.joins.insert([child, thread], placed);
            }
            _ => {}
        }
        if let Some(following) = &mut self.threads[thread] {
            following.take(placed, placed.step.index.0 >= self.from, &mut self.facts);
        }
    }

    /// Notes the scenes of accesses at this event, and its number if that is wanted.
    fn reach(&mut self, placed: Placed) {
        self.number(placed);
        self.enter_scenes(placed);
        self.look_ahead();
    }

    /// A repair can put several events at one index: the number is wanted of all of them.
    fn number(&mut self, placed: Placed) {
        let index = placed.step.index;
        while self.numbered.get(self.numbered_passed).is_some_and(|wanted| *wanted < index) {
            self.numbered_passed += 1;
        }
        if self.numbered.get(self.numbered_passed) == Some(&index) {
            self.ordinals.insert(placed.step, placed.ordinal);
        }
    }

    fn enter_scenes(&mut self, placed: Placed) {
        while let Some(&(index, finding, side)) = self.wanted.get(self.passed)
            && index <= placed.step.index
        {
            let Race { first, second, .. } = self.races[finding];
            let access: Access = [first, second][side];
            if index == placed.step.index && !is_access(&placed, &access) {
                return; // what a repair put before it
            }
            self.passed += 1;
            if index == placed.step.index {
                self.enter_scene(placed, finding, side);
            }
        }
    }

    fn enter_scene(&mut self, placed: Placed, finding: usize, side: usize) {
        let Some(following) = &mut self.threads[placed.step.event.thread()] else { return };
        let index = placed.step.index.0;
        let from = index.saturating_sub(self.near);
        following.open(finding, side, index + self.near / 4);
        self.facts[finding].scenes[side] = Scene {
            access: Some(placed),
            held: following.held.clone(),
            before: following.last_different(from),
            after: Vec::new(),
        };
        if side == 0 {
            self.earlier.insert(finding, following.recent_from(from).copied().collect());
        } else {
            self.facts[finding].common = self.common(finding, from);
        }
    }

    /// What both threads of a finding used up to here: near the first access, and since an event.
    fn common(&mut self, finding: usize, from: u64) -> Common {
        let Race { first, second, .. } = self.races[finding];
        let recent =
            |thread| self.threads[thread].iter().flat_map(|following| following.recent_from(from)).copied();
        let mut one = self.earlier.remove(&finding).unwrap_or_default();
        one.extend(&self.facts[finding].scenes[0].after);
        let known = one.last().map(|last| last.step.index);
        one.extend(
            recent(first.at.thread).filter(|placed| known.is_none_or(|known| placed.step.index > known)),
        );
        let other: Vec<Placed> = recent(second.at.thread).collect();
        Common {
            locks: both(lock_uses(&one), &lock_uses(&other), |one, other| one.lock == other.lock),
            atomics: both(atomic_uses(&one), &atomic_uses(&other), |one, other| one.var == other.var),
            objects: both(objects(&one), &objects(&other), |one, other| one == other)
                .into_iter()
                .map(|[object, _]| object)
                .collect(),
        }
    }

    /// Forks and joins are known when the trace is over.
    pub(super) fn finish(mut self) -> Gathered {
        for (facts, race) in self.facts.iter_mut().zip(self.races) {
            let [one, other] = [race.first.at.thread, race.second.at.thread];
            facts.forks = [one, other].map(|thread| self.forks.get(&thread).copied());
            facts.joins = [[one, other], [other, one]].map(|pair| self.joins.get(&pair).copied());
            facts.scenes.iter_mut().for_each(|scene| scene.after.truncate(AFTER));
        }
        Gathered { facts: self.facts, forks: self.forks, ordinals: self.ordinals }
    }
}

fn is_access(placed: &Placed, access: &Access) -> bool {
    let event = &placed.step.event;
    event.thread() == access.at.thread && access_kind(event.op()).is_some()
}

/// What an event does that is an access.
pub(in crate::collect) fn access_kind(op: Op) -> Option<AccessKind> {
    Some(match op {
        Op::Read => AccessKind::Read,
        Op::Write => AccessKind::Write,
        Op::Load => AccessKind::Load,
        Op::Store => AccessKind::Store,
        Op::Rmw => AccessKind::Rmw,
        Op::Free => AccessKind::Free,
        Op::Alloc => AccessKind::Alloc,
        _ => return None,
    })
}

fn is_synchronisation(op: Op) -> bool {
    matches!(
        op,
        Op::Acquire
            | Op::Release
            | Op::AcquireShared
            | Op::ReleaseShared
            | Op::Fork
            | Op::Join
            | Op::Load
            | Op::Store
            | Op::Rmw
            | Op::Fence
            | Op::Post
            | Op::Wait
    )
}
