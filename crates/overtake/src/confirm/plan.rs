//! The plan of a run: a file that tells the program which threads to hold where. Afterwards it says what happened.

use std::fs;
use std::path::{Path, PathBuf};

use overtake_rawlog::gates;
use overtake_report::result::{Access, Finding, Frame, Kind};

use crate::Error;

/// An instruction: the hash of its module's file name, and its offset in the module.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, Debug)]
pub(super) struct Site {
    pub(super) module: u64,
    pub(super) offset: u64,
}

/// Which of the threads that come to a site are held.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(super) struct Comer {
    /// How many of the calls around the access are compared, and their hash.
    callers: (u64, u64),
    /// Where the thread was created.
    created: Site,
}

impl Comer {
    /// Who made this access in the recorded run.
    fn of(access: &Access) -> Comer {
        let mut sites: Vec<Site> = access.stack.iter().map_while(Site::of).collect();
        sites.dedup(); // functions that were inlined share their instruction
        let callers = sites.iter().skip(1).take(gates::MOST_CALLERS);
        let hash =
            callers.clone().fold(gates::StackHash::EMPTY, |hash, site| hash.with(site.module, site.offset));
        let created = match access.thread.main {
            true => Site { module: gates::MAIN_THREAD, offset: 0 },
            false => access.thread.created_at.first().and_then(Site::of).unwrap_or_default(),
        };
        Comer { callers: (callers.count() as u64, hash.word()), created }
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gate {
    site: Site,
    /// The number of the thread that waits, plus one; 0 is any thread.
    pub(super) thread: u64,
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
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Request {
    pub(super) sites: [Site; 2],
    pub(super) comers: [Comer; 2],
    /// Two threads that wait for each other's lock, instead of a race.
    pub(super) is_deadlock: bool,
    pub(super) gate: Option<Gate>,
    pub(super) order: Order,
}

impl Request {
    /// The request for the two accesses of a race or the two acquires of a deadlock; `None` for other findings and for those of programs that were not recorded.
    pub(super) fn of(finding: &Finding) -> Option<Request> {
        let [first, second] = &finding.accesses[..] else { return None };
        let is_deadlock = match finding.kind {
            Kind::Race => false,
            Kind::Deadlock => true,
            Kind::Misuse => return None,
        };
        let site = |access: &Access| access.stack.first().and_then(Site::of);
        let sites = [site(first)?, site(second)?];
        let comers = [Comer::of(first), Comer::of(second)];
        Some(Request { sites, comers, is_deadlock, gate: None, order: Order::Any })
    }

    /// The same for more threads: first for those that were created elsewhere, then for those that come through other calls.
    pub(super) fn coarser(self) -> Request {
        let any = Site::default();
        let comers = match self.comers.iter().any(|comer| comer.created != any) {
            true => self.comers.map(|comer| Comer { created: any, ..comer }),
            false => [Comer::default(); 2],
        };
        Request { comers, ..self }
    }
}

/// What happened to one race.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub(super) struct Seen {
    /// How often threads came to each access.
    pub(super) arrivals: [u64; 2],
    pub(super) timeouts: u64,
    pub(super) stalls: u64,
    /// How often both accesses were reached together without a conflict.
    pub(super) other_meetings: u64,
    pub(super) meeting: Option<Meeting>,
    /// The acquire that kept the other thread away.
    pub(super) blocking: Option<Gate>,
}

/// Two threads stood at conflicting accesses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Meeting {
    pub(super) addresses: [u64; 2],
    pub(super) threads: [u64; 2],
    pub(super) lengths: [u64; 2],
    /// Bits of `gates::SIDE_KIND`.
    pub(super) kinds: [u64; 2],
    /// What the common bytes held before, and after the last write, as numbers of `value_bytes` bytes.
    pub(super) value: u64,
    pub(super) new_value: Option<u64>,
    pub(super) value_bytes: u64,
    /// Which access went first, from 0.
    pub(super) first: u32,
    /// The call stacks of both, innermost first.
    pub(super) stacks: [Vec<Site>; 2],
}

/// A plan that was written.
pub(super) struct Plan {
    path: PathBuf,
    races: usize,
}

impl Plan {
    /// Writes a plan into a directory.
    pub(super) fn write(
        directory: &Path,
        requests: &[Request],
        limit_milliseconds: u64,
        stops: bool,
    ) -> Result<Plan, Error> {
        let races = requests.len().min(gates::MOST_RACES);
        let mut words = vec![0_u64; gates::words(gates::MOST_RACES)];
        words[0] = gates::MAGIC;
        words[gates::RACES] = races as u64;
        words[gates::LIMIT] = limit_milliseconds;
        words[gates::STOPS] = u64::from(stops);
        for (race, request) in words[gates::HEADER..].chunks_exact_mut(gates::RACE).zip(requests) {
            for (at, site) in request.sites.iter().enumerate() {
                race[gates::SITES + 2 * at] = site.module;
                race[gates::SITES + 2 * at + 1] = site.offset;
            }
            for (at, Comer { callers, created }) in request.comers.iter().enumerate() {
                race[gates::CALLERS + 2 * at] = callers.0;
                race[gates::CALLERS + 2 * at + 1] = callers.1;
                race[gates::CREATED + 2 * at] = created.module;
                race[gates::CREATED + 2 * at + 1] = created.offset;
            }
            if let Some(gate) = request.gate {
                race[gates::GATE] = gate.site.module;
                race[gates::GATE + 1] = gate.site.offset;
                race[gates::GATE_THREAD] = gate.thread;
            }
            race[gates::IS_DEADLOCK] = u64::from(request.is_deadlock);
            race[gates::ORDER] = request.order as u64;
            race[gates::MOST_HOLDS] = MOST_HOLDS;
        }
        let path = directory.join("plan");
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
        fs::write(&path, bytes).map_err(|error| Error::in_file(&path, error))?;
        Ok(Plan { path, races })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What happened, race by race.
    pub(super) fn outcome(&self) -> Result<Vec<Seen>, Error> {
        let bytes = fs::read(&self.path).map_err(|error| Error::in_file(&self.path, error))?;
        let words: Vec<u64> = bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect();
        let races = words.get(gates::HEADER..).unwrap_or_default().chunks_exact(gates::RACE);
        Ok(races.take(self.races).map(seen).collect())
    }
}

/// How often a run holds threads at one site. After that they pass it: the site may be in a loop.
const MOST_HOLDS: u64 = 8;

fn seen(race: &[u64]) -> Seen {
    let side = |side: usize, word: usize| race[gates::SIDES + side * gates::SIDE + word];
    let stack = |at: usize| {
        let words = &race[gates::SIDES + at * gates::SIDE + gates::SIDE_STACK..];
        let frames = (side(at, gates::SIDE_FRAMES) as usize).min(gates::MOST_FRAMES);
        let pairs = words.chunks_exact(2).take(frames);
        pairs.map(|pair| Site { module: pair[0], offset: pair[1] }).collect()
    };
    let meeting = (race[gates::MEETINGS] > 0).then(|| Meeting {
        addresses: [0, 1].map(|at| side(at, gates::SIDE_ADDRESS)),
        threads: [0, 1].map(|at| side(at, gates::SIDE_THREAD)),
        lengths: [0, 1].map(|at| side(at, gates::SIDE_LENGTH)),
        kinds: [0, 1].map(|at| side(at, gates::SIDE_KIND)),
        value: race[gates::VALUE],
        new_value: (race[gates::HAS_NEW_VALUE] != 0).then_some(race[gates::NEW_VALUE]),
        value_bytes: race[gates::VALUE_BYTES],
        first: u32::from(race[gates::WENT_FIRST] == 2),
        stacks: [stack(0), stack(1)],
    });
    let site = Site { module: race[gates::BLOCKING], offset: race[gates::BLOCKING + 1] };
    Seen {
        arrivals: [race[gates::ARRIVALS], race[gates::ARRIVALS + 1]],
        timeouts: race[gates::TIMEOUTS],
        stalls: race[gates::STALLS],
        other_meetings: race[gates::OTHER_MEETINGS],
        meeting,
        blocking: (site.module != 0).then_some(Gate { site, thread: race[gates::BLOCKING_THREAD] }),
    }
}
