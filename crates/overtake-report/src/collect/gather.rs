//! Reading a trace for the [`Facts`] of findings, all together.
//!
//! Only the threads that race are followed. Of each it is known which locks it holds, and its last few synchronisation events:
//! enough to say what passes between two threads, in memory that does not grow with the trace.
//!
//! A file that can be read at any place is read near the accesses only: a detector's reading left [`Landmarks`] to start at.
//! Locks that were held at a landmark already are looked for backwards from there.

use std::collections::VecDeque;
use std::ops::Range;

use overtake_detect::witness::Step;
use overtake_detect::{Access, Race};
use overtake_trace::{
    Action, Block, Checker, Event, EventIndex, EventSource, IdVec, Landmarks, LockId, Op, OtrFile, Result,
    Seen, ThreadId,
};
use rustc_hash::FxHashMap;

use super::facts::{AtomicUse, Common, Facts, Held, LockUse, Placed, Scene};

/// Synchronisation events of a thread that are remembered.
const REMEMBERED: usize = 64;
/// Different synchronisation events before an access that are told, and those after it.
const BEFORE: usize = 3;
const AFTER: usize = 2;
/// Synchronisation events after an access among which common locks are looked for.
const AFTERMATH: usize = 8;
/// Events for each thread, before an access, that are looked through for its synchronisation; together at least and at most.
const NEAR_EACH: u64 = 256;
const NEAR_LEAST: u64 = 4 * 1024;
const NEAR_MOST: u64 = 256 * 1024;

/// What was read.
pub(super) struct Gathered {
    /// One for each race.
    pub(super) facts: Vec<Facts>,
    /// Where threads were started.
    pub(super) forks: FxHashMap<ThreadId, Placed>,
    /// How many events of its thread come before each step.
    pub(super) ordinals: FxHashMap<Step, u64>,
}

/// What is to be found out.
#[derive(Clone, Copy)]
pub(super) struct Question<'a> {
    pub(super) races: &'a [Race],
    /// Events to be numbered.
    pub(super) steps: &'a [Step],
    /// How many threads the trace has.
    pub(super) threads: usize,
}

impl Question<'_> {
    /// Synchronisation that is more than so many events before an access is not told; after it, a quarter of that.
    fn near(&self) -> u64 {
        (NEAR_EACH * self.threads as u64).clamp(NEAR_LEAST, NEAR_MOST)
    }
}

/// Reads a whole trace.
pub(super) fn gather(source: &mut dyn EventSource, question: Question<'_>) -> Result<Gathered> {
    let mut gatherer = Gatherer::new(question);
    let mut checker = Checker::repairing();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        let checked = checker.check(&mut block, source.symbols_mut())?;
        gatherer.reserve_threads(checked.symbols().sizes().threads);
        for run in checked.runs() {
            gatherer.take(run.first, run.events);
        }
    }
    Ok(gatherer.finish())
}

/// Reads a file where it matters, with the same result.
pub(super) fn gather_near(file: &OtrFile, landmarks: &Landmarks, question: Question<'_>) -> Result<Gathered> {
    let mut gatherer = Gatherer::new(question);
    gatherer.reserve_threads(file.sizes().threads);
    for (thread, seen, ordinal) in landmarks.forks() {
        gatherer.forks.insert(thread, placed(seen, ordinal));
    }
    for (threads, seen, ordinal) in landmarks.joins() {
        gatherer.joins.insert(threads, placed(seen, ordinal));
    }
    let mut block = Block::default();
    let regions = regions(landmarks, question);
    for region in &regions {
        gatherer.begin(landmarks, region.start);
        read(file, region.clone(), &mut block, |first, events| gatherer.take(first, events))?;
    }
    find_acquires(file, landmarks, &regions, &mut gatherer.facts, &mut block)?;
    Ok(gatherer.finish())
}

fn placed((index, event): Seen, ordinal: u64) -> Placed {
    Placed { step: Step { index, event }, ordinal }
}

/// What has to be read: parts of the trace that begin at landmarks, in order and apart from each other.
fn regions(landmarks: &Landmarks, question: Question<'_>) -> Vec<Range<u64>> {
    let near = question.near();
    let accesses = question.races.iter().flat_map(|race| [race.first.at.index.0, race.second.at.index.0]);
    let near = accesses.map(|at| at.saturating_sub(near)..at + near / 4 + 1);
    let steps = question.steps.iter().map(|step| step.index.0..step.index.0 + 1);
    let from_landmark = |range: Range<u64>| start_before(landmarks, range.start)..range.end;
    let mut ranges: Vec<_> = near.chain(steps).map(from_landmark).collect();
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut regions: Vec<Range<u64>> = Vec::new();
    for range in ranges {
        let end = range.end.min(landmarks.events());
        match regions.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(end),
            _ => regions.push(range.start..end),
        }
    }
    regions
}

/// The last landmark before an event.
fn start_before(landmarks: &Landmarks, event: u64) -> u64 {
    landmarks.before(EventIndex(event)).map_or(0, |place| place.next.0)
}

/// Hands on the events in `range`, block by block.
fn read(
    file: &OtrFile,
    range: Range<u64>,
    block: &mut Block,
    mut take: impl FnMut(EventIndex, &[Event]),
) -> Result<()> {
    let blocks = file.blocks_of(&range);
    for number in blocks {
        file.read_block(number, block)?;
        let first = block.first.0;
        let within = |at: u64| (at.saturating_sub(first) as usize).min(block.events.len());
        let (start, end) = (within(range.start), within(range.end));
        take(EventIndex(first + start as u64), &block.events[start..end]);
    }
    Ok(())
}

/// Looks for the acquires of locks that were held where a region began, from there towards the start of the trace.
fn find_acquires(
    file: &OtrFile,
    landmarks: &Landmarks,
    regions: &[Range<u64>],
    facts: &mut [Facts],
    block: &mut Block,
) -> Result<()> {
    let scenes = facts.iter_mut().flat_map(|facts| &mut facts.scenes);
    let mut wanted: Vec<Wanted<'_>> = scenes.flat_map(|scene| wanted_of(scene, regions)).collect();
    wanted.retain(|wanted| wanted.before > 0);
    // The latest place first: each stretch between landmarks is read once for all that are looked for there.
    while let Some(end) = wanted.iter().map(|wanted| wanted.before).max() {
        let start = start_before(landmarks, end - 1);
        let mut lengths = lengths_at(landmarks, start);
        read(file, start..end, block, |first, events| {
            for (event, index) in events.iter().zip(first.0..) {
                let length = lengths.entry(event.thread());
                *length += 1;
                let (Action::Acquire(lock) | Action::AcquireShared(lock)) = event.action() else { continue };
                for wanted in wanted.iter_mut().filter(|wanted| wanted.before == end) {
                    if wanted.thread == event.thread() && wanted.held.lock == lock {
                        wanted.held.acquire = Some(placed((EventIndex(index), *event), *length - 1));
                    }
                }
            }
        })?;
        wanted.retain_mut(|wanted| {
            wanted.before = wanted.before.min(start);
            wanted.held.acquire.is_none() && wanted.before > 0
        });
    }
    Ok(())
}

/// A lock whose acquire is before an event.
struct Wanted<'a> {
    thread: ThreadId,
    held: &'a mut Held,
    before: u64,
}

fn wanted_of<'a>(scene: &'a mut Scene, regions: &[Range<u64>]) -> Vec<Wanted<'a>> {
    let Some(Placed { step: Step { index, event }, .. }) = scene.access else { return Vec::new() };
    let region = regions[..regions.partition_point(|region| region.start <= index.0)].last();
    let (thread, before) = (event.thread(), region.map_or(0, |region| region.start));
    let unknown = scene.held.iter_mut().filter(|held| held.acquire.is_none());
    unknown.map(|held| Wanted { thread, held, before }).collect()
}

fn lengths_at(landmarks: &Landmarks, start: u64) -> IdVec<ThreadId, u64> {
    let place = landmarks.before(EventIndex(start));
    place.map(|place| place.lengths.iter().copied().collect()).unwrap_or_default()
}

struct Gatherer<'a> {
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

/// A thread that races.
#[derive(Default)]
struct Following {
    held: Vec<Held>,
    /// The last synchronisation events.
    recent: VecDeque<Placed>,
    /// Scenes that still want to know what comes after: finding, which of the two, up to which event.
    open: Vec<(usize, usize, u64)>,
}

impl<'a> Gatherer<'a> {
    fn new(question: Question<'a>) -> Gatherer<'a> {
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

    fn look_ahead(&mut self) {
        let wanted = self.wanted.get(self.passed).map(|(index, ..)| index.0);
        let numbered = self.numbered.get(self.numbered_passed).map(|index| index.0);
        self.next = wanted.into_iter().chain(numbered).min().unwrap_or(u64::MAX);
        self.from = self.next.saturating_sub(self.near);
    }

    fn reserve_threads(&mut self, threads: usize) {
        self.lengths.grow_to(threads);
        self.threads.grow_to(threads);
    }

    /// Goes on at a landmark, or at the start.
    fn begin(&mut self, landmarks: &Landmarks, start: u64) {
        self.lengths = lengths_at(landmarks, start);
        self.reserve_threads(self.threads.len());
        for following in self.threads.iter_mut().flatten() {
            following.held.clear();
            following.recent.clear();
            following.open.clear();
        }
        let Some(place) = landmarks.before(EventIndex(start)) else { return };
        for held in &place.held {
            if let Some(following) = &mut self.threads[held.thread] {
                following.held.push(Held { lock: held.lock, shared: held.shared, acquire: None });
            }
        }
    }

    fn take(&mut self, first: EventIndex, events: &[Event]) {
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
        following.open.push((finding, side, index + self.near / 4));
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
    fn finish(mut self) -> Gathered {
        for (facts, race) in self.facts.iter_mut().zip(self.races) {
            let [one, other] = [race.first.at.thread, race.second.at.thread];
            facts.forks = [one, other].map(|thread| self.forks.get(&thread).copied());
            facts.joins = [[one, other], [other, one]].map(|pair| self.joins.get(&pair).copied());
            facts.scenes.iter_mut().for_each(|scene| scene.after.truncate(AFTER));
        }
        Gathered { facts: self.facts, forks: self.forks, ordinals: self.ordinals }
    }
}

impl Following {
    fn take(&mut self, placed: Placed, is_near: bool, facts: &mut [Facts]) {
        if !self.open.is_empty() {
            self.open.retain(|&(finding, side, until)| {
                let after = &mut facts[finding].scenes[side].after;
                let is_near = placed.step.index.0 <= until;
                after.extend(is_near.then_some(placed));
                is_near && after.len() < AFTERMATH
            });
        }
        if is_near {
            if self.recent.len() == REMEMBERED {
                self.recent.pop_front();
            }
            self.recent.push_back(placed);
        }
        match placed.step.event.action() {
            Action::Acquire(lock) => self.acquire(lock, false, placed),
            Action::AcquireShared(lock) => self.acquire(lock, true, placed),
            Action::Release(lock) | Action::ReleaseShared(lock) => {
                self.held.retain(|held| held.lock != lock);
            }
            _ => {}
        }
    }

    fn acquire(&mut self, lock: LockId, shared: bool, acquire: Placed) {
        self.held.push(Held { lock, shared, acquire: Some(acquire) });
    }

    /// What is remembered from an event on.
    fn recent_from(&self, from: u64) -> impl DoubleEndedIterator<Item = &Placed> {
        self.recent.iter().filter(move |placed| placed.step.index.0 >= from)
    }

    /// The last different events, in their order: of what a loop repeats, once is enough.
    fn last_different(&self, from: u64) -> Vec<Placed> {
        let mut last: Vec<Placed> = Vec::new();
        for placed in self.recent_from(from).rev() {
            if last.iter().all(|known| known.step.event != placed.step.event) {
                last.push(*placed);
            }
            if last.len() == BEFORE {
                break;
            }
        }
        last.reverse();
        last
    }
}

/// The entries of one side that the other has, too, each with the other's.
fn both<T: Copy>(one: Vec<T>, other: &[T], is_same: impl Fn(&T, &T) -> bool) -> Vec<[T; 2]> {
    let pair = |used: T| Some([used, *other.iter().find(|theirs| is_same(&used, theirs))?]);
    one.into_iter().filter_map(pair).collect()
}

/// The latest section of each lock among the events of a thread, the latest lock first.
fn lock_uses(events: &[Placed]) -> Vec<LockUse> {
    let mut uses: Vec<LockUse> = Vec::new();
    let mut releases: Vec<(LockId, EventIndex)> = Vec::new();
    for placed in events.iter().rev() {
        match placed.step.event.action() {
            Action::Release(lock) | Action::ReleaseShared(lock)
                if releases.iter().all(|(known, _)| *known != lock) =>
            {
                releases.push((lock, placed.step.index));
            }
            Action::Acquire(lock) | Action::AcquireShared(lock)
                if uses.iter().all(|used| used.lock != lock) =>
            {
                let release = releases.iter().find(|(known, _)| *known == lock).map(|(_, index)| *index);
                uses.push(LockUse { lock, acquire: *placed, release });
            }
            _ => {}
        }
    }
    uses
}

/// The latest access of a thread to each atomic, the latest first.
fn atomic_uses(events: &[Placed]) -> Vec<AtomicUse> {
    let mut uses: Vec<AtomicUse> = Vec::new();
    for placed in events.iter().rev() {
        if let Action::Load(var, order) | Action::Store(var, order) | Action::Rmw(var, order) =
            placed.step.event.action()
            && uses.iter().all(|used| used.var != var)
        {
            uses.push(AtomicUse { var, order, access: *placed });
        }
    }
    uses
}

/// The objects that a thread posted or waited for, the latest first.
fn objects(events: &[Placed]) -> Vec<overtake_trace::SyncId> {
    let mut objects = Vec::new();
    for placed in events.iter().rev() {
        if let Action::Post(object) | Action::Wait(object) = placed.step.event.action()
            && !objects.contains(&object)
        {
            objects.push(object);
        }
    }
    objects
}

fn is_access(placed: &Placed, access: &Access) -> bool {
    let event = &placed.step.event;
    let op = event.op();
    event.thread() == access.at.thread
        && matches!(op, Op::Read | Op::Write | Op::Load | Op::Store | Op::Rmw | Op::Free)
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use overtake_detect::{Driver, Options, Outcome, Strictness, find};
    use overtake_gen::{Parameters, Workload, find_shape};
    use overtake_trace::{EventSink, OtrReader, OtrWriter, Trace};
    use tempfile::NamedTempFile;

    use super::*;

    fn sealed(source: &mut dyn EventSource) -> NamedTempFile {
        let file = NamedTempFile::new().expect("a temporary file");
        let mut writer = OtrWriter::new(file.as_file()).expect("written").with_block_events(1_000);
        let mut block = Block::default();
        while source.next_block(&mut block).expect("generated") {
            writer.write(&block.events, source.symbols()).expect("written");
        }
        writer.finish(source.symbols()).expect("written");
        drop(writer);
        file.as_file().flush().expect("written");
        file
    }

    /// Gathers near the races of a trace and in the whole of it; the parts that were read.
    fn compare(source: &mut dyn EventSource) -> Vec<Range<u64>> {
        let file = sealed(source);
        let open = || OtrReader::open(file.path()).expect("just written");
        let entry = find("hb").expect("in the table");
        let mut driver = Driver::start(&[entry], &Options::default(), Strictness::Refuse).expect("options");
        assert_eq!(driver.pass(&mut open(), &mut |_| ()).expect("well formed"), Outcome::Done);
        let races: Vec<Race> =
            driver.jobs()[0].findings().groups().iter().map(|group| group.example).take(6).collect();
        assert!(!races.is_empty());
        let random = OtrFile::open(file.path()).expect("just written");
        let mut block = Block::default();
        random.read_events(40_000..40_001, &mut block).expect("within");
        let steps = [Step { index: block.first, event: block.events[0] }];
        let question = Question { races: &races, steps: &steps, threads: random.sizes().threads };
        let near = gather_near(&random, driver.landmarks(), question).expect("a good file");
        let whole = gather(&mut open(), question).expect("a good file");
        assert_eq!((&near.forks, &near.ordinals), (&whole.forks, &whole.ordinals));
        assert_eq!(near.facts, whole.facts);
        regions(driver.landmarks(), question)
    }

    #[test]
    fn near_accesses_all_is_seen_that_the_whole_trace_shows() {
        for (name, seed) in [("lock-heavy", 1), ("lock-heavy", 2), ("mixed", 3), ("compute", 4)] {
            let Some(shape) = find_shape(name) else { panic!("no shape {name}") };
            let parameters = Parameters { events: 200_000, raciness: 0.001, seed, ..shape.defaults };
            let mut workload = Workload::new(shape, parameters).expect("parameters that fit");
            let regions = compare(&mut workload);
            let read: u64 = regions.iter().map(|region| region.end - region.start).sum();
            assert!(read < 150_000, "{name}: {regions:?}");
        }
    }

    #[test]
    fn locks_taken_long_ago_are_found() {
        let mut text = String::from("T0|fork(T1)|1\nT0|racq(g)|2\nT0|acq(h)|3\n");
        for round in 0..20_000 {
            text += &format!("T0|w(x{round})|4\nT1|acq(m)|5\nT1|rel(m)|6\n");
            if round == 15_000 {
                text += "T0|rel(h)|7\nT0|acq(h)|8\n";
            }
        }
        text += "T0|w(x)|9\nT1|w(x)|10\n";
        let trace = Trace::parse_std(text.as_bytes()).expect("a good trace");
        let regions = compare(&mut trace.source());
        assert!(regions[0].start > 0, "{regions:?}");
    }
}
