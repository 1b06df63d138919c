//! The plan of a run: a file that tells the program which threads to hold where. Afterwards it says what happened.

use std::fs;
use std::path::{Path, PathBuf};

use overtake_rawlog::gates;
use overtake_report::result::{Access, Finding, Frame, Kind, Reversal};

use crate::Error;

/// An instruction: the hash of its module's file name, and its offset in the module.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site {
    pub(super) module: u64,
    pub(super) offset: u64,
}

/// Where a thread is held, and which of the threads that come there are held.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Side {
    pub(super) site: Site,
    /// How many of the calls around the access are compared, and their hash.
    callers: (u64, u64),
    /// Where the thread was created.
    created: Site,
    /// For which time the thread must come to be held; 0 is any time.
    occurrence: u64,
}

impl Side {
    /// Who made this access in the recorded run; none where its module is not known.
    fn of(access: &Access) -> Option<Side> {
        let mut sites: Vec<Site> = access.stack.iter().map_while(Site::of).collect();
        sites.dedup(); // functions that were inlined share their instruction
        let site = *sites.first()?;
        let callers = sites.iter().skip(1).take(gates::MOST_CALLERS);
        let hash =
            callers.clone().fold(gates::StackHash::EMPTY, |hash, site| hash.with(site.module, site.offset));
        let created = match access.thread.main {
            true => Site { module: gates::MAIN_THREAD, offset: 0 },
            false => access.thread.created_at.first().and_then(Site::of).unwrap_or_default(),
        };
        Some(Side { site, callers: (callers.count() as u64, hash.word()), created, occurrence: 0 })
    }
}

impl Site {
    /// The instruction at a frame; none where the module is not known.
    pub(super) fn of(frame: &Frame) -> Option<Site> {
        (!frame.module.is_empty())
            .then(|| Site { module: gates::module_hash(frame.module.as_bytes()), offset: frame.offset })
    }
}

/// An acquire that waits until another thread has given the lock back.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Gate {
    side: Side,
    /// The number of the thread that waits, plus one; 0 is any thread.
    pub(super) thread: u64,
    /// The release that ends the wait, and where its thread was created; any release where this is not known.
    until: Site,
    until_created: Site,
}

impl Gate {
    /// The gate that makes a section come as late as in the witness; none where the modules are not known.
    fn of(reversal: &Reversal) -> Option<Gate> {
        let Side { site, created, .. } = Side::of(&reversal.release)?;
        Some(Gate { side: Side::of(&reversal.acquire)?, thread: 0, until: site, until_created: created })
    }

    /// The gate at an acquire by which a held thread kept the other one away.
    fn learnt(site: Site, thread: u64) -> Gate {
        Gate { side: Side { site, ..Side::default() }, thread, ..Gate::default() }
    }

    pub(super) fn site(&self) -> Site {
        self.side.site
    }

    /// The release that ends the wait; none if any does.
    pub(super) fn until(&self) -> Option<Site> {
        (self.until != Site::default()).then_some(self.until)
    }
}

/// Which access goes first when both threads stand at theirs.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) enum Order {
    /// The one whose thread was held.
    #[default]
    Any,
    First,
    Second,
}

/// What is wanted of a run for one race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Request {
    /// The two accesses of a race; the acquires of a deadlock, each waiting for the next.
    pub(super) sides: Vec<Side>,
    pub(super) is_deadlock: bool,
    /// At most `gates::MOST_GATES`.
    pub(super) gates: Vec<Gate>,
    pub(super) order: Order,
}

impl Request {
    /// The request for the two accesses of a race or the acquires of a deadlock; `None` for other findings and for those of programs that were not recorded.
    pub(super) fn of(finding: &Finding) -> Option<Request> {
        let (is_deadlock, most) = match finding.kind {
            Kind::Race => (false, 2),
            Kind::Deadlock => (true, gates::MOST_SIDES),
            Kind::Misuse => return None,
        };
        let sides: Vec<Side> = finding.accesses.iter().map(Side::of).collect::<Option<_>>()?;
        let is_possible = (2..=most).contains(&sides.len());
        let reversals = finding.schedule.as_ref().map(|schedule| &*schedule.reversals).unwrap_or_default();
        let mut found: Vec<Gate> = Vec::new();
        // Those next to the accesses matter most.
        for gate in reversals.iter().rev().filter_map(Gate::of) {
            if found.len() < gates::MOST_GATES && !found.contains(&gate) {
                found.push(gate);
            }
        }
        is_possible.then_some(Request { sides, is_deadlock, gates: found, order: Order::Any })
    }

    /// The instructions at which threads are made to wait.
    pub(super) fn sites(&self) -> impl Iterator<Item = Site> + '_ {
        self.sides.iter().map(|side| side.site).chain(self.gates.iter().map(Gate::site))
    }

    /// The same after a run in which the threads did not meet, with the gate that this run asked for. A gate that has been there is for any thread now, or
    /// for the one that the run names: threads may have other numbers in another run.
    pub(super) fn with_gate(mut self, learnt: Option<Gate>) -> Request {
        for gate in &mut self.gates {
            let named = learnt.filter(|learnt| learnt.site() == gate.site() && gate.thread == 0);
            gate.thread = named.map_or(0, |learnt| learnt.thread);
        }
        let is_known = |learnt: &Gate| self.gates.iter().any(|gate| gate.site() == learnt.site());
        if let Some(learnt) = learnt.filter(|learnt| !is_known(learnt)) {
            self.gates.truncate(gates::MOST_GATES - 1);
            self.gates.push(learnt);
        }
        self
    }

    /// The same, but a thread is held only at its visit with this number.
    pub(super) fn at_occurrences(mut self, occurrences: [u64; 2]) -> Request {
        for (side, occurrence) in self.sides.iter_mut().zip(occurrences) {
            side.occurrence = occurrence;
        }
        self
    }

    /// Whether threads are held at one of their visits only.
    pub(super) fn names_occurrences(&self) -> bool {
        self.sides.iter().any(|side| side.occurrence != 0)
    }

    /// The same for more threads: first at any visit, then for threads that were created elsewhere, then for those that come through other calls.
    pub(super) fn coarser(mut self) -> Request {
        let names_creation = self.sides.iter().any(|side| side.created != Site::default());
        let names_occurrences = self.names_occurrences();
        for side in &mut self.sides {
            match (names_occurrences, names_creation) {
                (true, _) => side.occurrence = 0,
                (false, true) => side.created = Site::default(),
                (false, false) => side.callers = (0, 0),
            }
        }
        for gate in self.gates.iter_mut().filter(|_| !names_occurrences) {
            match names_creation {
                true => (gate.side.created, gate.until_created) = Default::default(),
                false => (gate.side.callers, gate.until) = Default::default(),
            }
        }
        self
    }
}

/// What happened to one race.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// How often threads came to each side.
    pub(super) arrivals: Vec<u64>,
    pub(super) timeouts: u64,
    pub(super) stalls: u64,
    /// How often both accesses were reached together without a conflict.
    pub(super) other_meetings: u64,
    pub(super) meeting: Option<Meeting>,
    /// The acquire that kept the other thread away.
    pub(super) blocking: Option<Gate>,
    /// Of accesses that are made too often to hold each of them: the visits at which threads accessed common bytes, but not at the same time.
    pub(super) learnt: Option<[u64; 2]>,
}

impl Seen {
    /// Whether nobody came to some side.
    pub(super) fn misses_a_side(&self) -> bool {
        self.arrivals.contains(&0)
    }
}

/// A thread that stood at a side when all of them met.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Present {
    pub(super) address: u64,
    pub(super) thread: u64,
    pub(super) length: u64,
    /// Bits of `gates::SIDE_KIND`.
    pub(super) kind: u64,
    /// The call stack, innermost first.
    pub(super) stack: Vec<Site>,
}

/// Two threads stood at conflicting accesses, or all threads of a deadlock before their acquires.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meeting {
    pub(super) sides: Vec<Present>,
    /// What the common bytes held before, and after the last write, as numbers of `value_bytes` bytes.
    pub(super) value: u64,
    pub(super) new_value: Option<u64>,
    pub(super) value_bytes: u64,
    /// Which side went first, from 0.
    pub(super) first: u32,
    /// The gates at which a thread waited until the lock was released, by position in the request.
    pub(super) served: Vec<usize>,
}

/// A plan that was written.
pub(super) struct Plan {
    path: PathBuf,
    /// How many sides each race has.
    sides: Vec<usize>,
}

impl Plan {
    /// Writes a plan into a directory.
    pub(super) fn write(
        directory: &Path,
        requests: &[Request],
        limit_milliseconds: u64,
        stops: bool,
    ) -> Result<Plan, Error> {
        let requests = &requests[..requests.len().min(gates::MOST_RACES)];
        let mut words = vec![0_u64; gates::words(gates::MOST_RACES)];
        words[0] = gates::MAGIC;
        words[gates::RACES] = requests.len() as u64;
        words[gates::LIMIT] = limit_milliseconds;
        words[gates::STOPS] = u64::from(stops);
        for (race, request) in words[gates::HEADER..].chunks_exact_mut(gates::RACE).zip(requests) {
            fill(race, request);
        }
        let path = directory.join("plan");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        fs::write(&path, bytes).map_err(|error| Error::in_file(&path, error))?;
        Ok(Plan { path, sides: requests.iter().map(|request| request.sides.len()).collect() })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What happened, race by race.
    pub(super) fn outcome(&self) -> Result<Vec<Seen>, Error> {
        let bytes = fs::read(&self.path).map_err(|error| Error::in_file(&self.path, error))?;
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let races = words.get(gates::HEADER..).unwrap_or_default().chunks_exact(gates::RACE);
        Ok(races.zip(&self.sides).map(|(race, sides)| seen(race, *sides)).collect())
    }
}

/// How often a run holds threads at one site. After that they pass it: the site may be in a loop.
const MOST_HOLDS: u64 = 8;

/// Writes what is wanted for one race.
fn fill(race: &mut [u64], request: &Request) {
    for (at, Side { site, callers, created, occurrence }) in request.sides.iter().enumerate() {
        race[gates::SITES + 2 * at] = site.module;
        race[gates::SITES + 2 * at + 1] = site.offset;
        race[gates::CALLERS + 2 * at] = callers.0;
        race[gates::CALLERS + 2 * at + 1] = callers.1;
        race[gates::CREATED + 2 * at] = created.module;
        race[gates::CREATED + 2 * at + 1] = created.offset;
        race[gates::OCCURRENCES + at] = *occurrence;
    }
    for (words, gate) in
        race[gates::GATES..].chunks_exact_mut(gates::GATE).zip(&request.gates).take(gates::MOST_GATES)
    {
        let Gate { side: Side { site, callers, created, .. }, thread, until, until_created } = *gate;
        let mut set = |at: usize, pair: [u64; 2]| words[at..at + 2].copy_from_slice(&pair);
        set(gates::GATE_SITE, [site.module, site.offset]);
        set(gates::GATE_CALLERS, [callers.0, callers.1]);
        set(gates::GATE_CREATED, [created.module, created.offset]);
        set(gates::GATE_UNTIL, [until.module, until.offset]);
        set(gates::GATE_UNTIL_CREATED, [until_created.module, until_created.offset]);
        words[gates::GATE_THREAD] = thread;
    }
    race[gates::CYCLE] = if request.is_deadlock { request.sides.len() as u64 } else { 0 };
    race[gates::ORDER] = request.order as u64;
    race[gates::MOST_HOLDS] = MOST_HOLDS;
}

/// What happened to a race with so many sides.
fn seen(race: &[u64], sides: usize) -> Seen {
    let meeting = (race[gates::MEETINGS] > 0).then(|| Meeting {
        sides: race[gates::SIDES..].chunks_exact(gates::SIDE).take(sides).map(present).collect(),
        value: race[gates::VALUE],
        new_value: (race[gates::HAS_NEW_VALUE] != 0).then_some(race[gates::NEW_VALUE]),
        value_bytes: race[gates::VALUE_BYTES],
        first: (race[gates::WENT_FIRST] as u32).saturating_sub(1),
        served: (0..gates::MOST_GATES).filter(|gate| race[served_word(*gate)] != 0).collect(),
    });
    let site = Site { module: race[gates::BLOCKING], offset: race[gates::BLOCKING + 1] };
    let learnt = [race[gates::LEARNT], race[gates::LEARNT + 1]];
    let is_loop = race[gates::ARRIVALS..][..sides].iter().any(|arrivals| *arrivals > MOST_HOLDS);
    Seen {
        arrivals: race[gates::ARRIVALS..][..sides].to_vec(),
        timeouts: race[gates::TIMEOUTS],
        stalls: race[gates::STALLS],
        other_meetings: race[gates::OTHER_MEETINGS],
        meeting,
        blocking: (site.module != 0).then(|| Gate::learnt(site, race[gates::BLOCKING_THREAD])),
        learnt: (!learnt.contains(&0) && is_loop).then_some(learnt),
    }
}

/// The word of a race that says whether a thread waited at a gate.
fn served_word(gate: usize) -> usize {
    gates::GATES + gate * gates::GATE + gates::GATE_SERVED
}

/// Who stood at a side.
fn present(side: &[u64]) -> Present {
    let frames = (side[gates::SIDE_FRAMES] as usize).min(gates::MOST_FRAMES);
    let pairs = side[gates::SIDE_STACK..].chunks_exact(2).take(frames);
    Present {
        address: side[gates::SIDE_ADDRESS],
        thread: side[gates::SIDE_THREAD],
        length: side[gates::SIDE_LENGTH],
        kind: side[gates::SIDE_KIND],
        stack: pairs.map(|pair| Site { module: pair[0], offset: pair[1] }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use overtake_report::result::Schedule;

    use super::*;

    #[test]
    fn what_the_witness_reverses_waits_and_what_a_run_learns_is_added() {
        let access = |offset: u64| {
            let frame = Frame { module: "program".into(), offset, ..Frame::default() };
            Access { stack: vec![frame], ..Access::default() }
        };
        let reversal = Reversal { acquire: access(1), release: access(2) };
        let schedule = Schedule { reversals: vec![reversal.clone(), reversal], ..Schedule::default() };
        let finding =
            Finding { accesses: vec![access(3), access(4)], schedule: Some(schedule), ..Finding::default() };
        let request = Request::of(&finding).expect("two accesses of a program");
        let [gate] = request.gates[..] else { panic!("not one gate: {request:?}") };
        let module = gates::module_hash(b"program");
        assert_eq!(
            (gate.site(), gate.until()),
            (Site { module, offset: 1 }, Some(Site { module, offset: 2 }))
        );
        // A run names a thread that is in the way there; the next one is for any thread again.
        let named = request.with_gate(Some(Gate::learnt(gate.site(), 7)));
        assert_eq!(named.gates, [Gate { thread: 7, ..gate }]);
        let other = Gate::learnt(Site { module, offset: 5 }, 2);
        assert_eq!(named.with_gate(Some(other)).gates, [gate, other]);
    }

    #[test]
    fn less_and_less_is_said_about_who_is_meant() {
        let site = Site { module: 1, offset: 2 };
        let side = Side { site, callers: (1, 7), created: site, occurrence: 0 };
        let request =
            Request { sides: vec![side; 2], is_deadlock: false, gates: Vec::new(), order: Order::Any };
        let at_times = request.clone().at_occurrences([700, 300]);
        assert_eq!(at_times.sides.iter().map(|side| side.occurrence).collect::<Vec<_>>(), [700, 300]);
        assert_eq!(at_times.coarser(), request);
        let anywhere = request.coarser();
        assert_eq!(anywhere.sides[0], Side { created: Site::default(), ..side });
        let whoever = anywhere.coarser();
        assert_eq!(whoever.sides[1], Side { site, ..Side::default() });
        assert_eq!(whoever.clone().coarser(), whoever);
    }
}
