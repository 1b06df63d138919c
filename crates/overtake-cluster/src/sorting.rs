//! What each worker gets of a block, if one of them follows the synchronisation for all.
//!
//! An access goes to the worker of its variable, with the number of the moment at which it happens (`moments` in `overtake-detect`). Whatever
//! begins a moment goes to the follower: what synchronises, what the checker may drop, the first event of each thread in the block, and its first one after
//! a fork or a join of the thread. So the follower's checker sees which threads run, without seeing their accesses.
//!
//! No jump depends on the event, except for forks and joins: each event is put where it may belong, and stays if it does. A jump that cannot be
//! predicted would cost more than all the rest.

use overtake_detect::{Accesses, PlacedAccess};
use overtake_trace::{
    Action, Block, Event, EventIndex, Id, LeftOut, Limits, LocationId, Op, Part, Result, Sizes, ThreadId,
};

use crate::owners::Owners;

/// No moment of the thread began in this block, or none that still lasts.
const NONE: u32 = u32::MAX;

/// How operations are sorted: words of ones or zeros instead of truth values, so that they can choose without a jump.
#[derive(Clone, Copy, Debug)]
struct Kind {
    /// The follower needs it.
    followed: u32,
    /// It touches a variable.
    touches: u32,
    /// How many moments it begins if it is followed.
    moments: u32,
}

impl Kind {
    fn of(op: Op) -> Kind {
        let (is_followed, touches) = match op {
            Op::Read | Op::Write => (false, true),
            Op::Load | Op::Store | Op::Rmw | Op::Alloc | Op::Free => (true, true),
            Op::Begin | Op::End | Op::Request | Op::Branch => (false, false),
            _ => (true, false),
        };
        let is_atomic = matches!(op, Op::Load | Op::Store | Op::Rmw);
        let moments = if is_atomic { 2 } else { 1 };
        Kind { followed: ones_if(is_followed), touches: ones_if(touches), moments }
    }
}

#[inline(always)]
fn ones_if(condition: bool) -> u32 {
    0_u32.wrapping_sub(u32::from(condition))
}

/// The first one where `choice` has ones, else the second one.
#[inline(always)]
fn choose(choice: u32, first: u32, second: u32) -> u32 {
    (first & choice) | (second & !choice)
}

/// What is known of a thread while a block is sorted.
#[derive(Clone, Copy, Debug)]
struct Now {
    moment: u32,
    /// Events that the follower did not get and was not told of.
    left_out: u32,
}

/// Sorts blocks.
#[derive(Debug)]
pub(crate) struct Sorter {
    limits: Limits,
    kinds: [Kind; Op::ALL.len()],
    threads: Vec<Now>,
    /// What goes to the follower, before it is put into its part.
    followed: Vec<(Event, u32)>,
    /// How many accesses each worker has, and last nobody.
    counts: Vec<usize>,
    /// Takes what is no access.
    basket: Accesses,
}

impl Sorter {
    /// For a trace with tables of these lengths.
    pub(crate) fn new(sizes: &Sizes) -> Sorter {
        Sorter {
            limits: Limits::new(sizes),
            kinds: Op::ALL.map(Kind::of),
            threads: vec![Now { moment: NONE, left_out: 0 }; sizes.threads],
            followed: Vec::new(),
            counts: Vec::new(),
            basket: Accesses::default(),
        }
    }

    /// Puts what the follower gets of a block into `followed`, and the accesses of each worker into theirs. Fails if an id is outside of its table.
    pub(crate) fn sort(
        &mut self,
        owners: &Owners,
        block: &Block,
        followed: &mut Part,
        accesses: &mut [Accesses],
    ) -> Result<()> {
        let length = block.events.len();
        self.begin(block, followed, accesses);
        let Sorter { limits, kinds, threads, followed: room, counts, basket } = self;
        let nobody = accesses.len() as u32;
        let mut lists: Vec<&mut [PlacedAccess]> =
            accesses.iter_mut().chain([basket]).map(|list| list.room(length)).collect();
        let (mut given, mut moments) = (0, 0_u32);
        let mut before = blank();
        for (place, event) in (0_u32..).zip(&block.events) {
            limits.check(event, EventIndex(block.first.0 + u64::from(place)))?;
            let now = &mut threads[event.thread().0 as usize];
            let kind = kinds[event.op() as usize];
            let owner = owners.owner(event.operand() & kind.touches, nobody);
            let owner = choose(kind.touches, owner, nobody) as usize;
            let continues = event.continues(&before);
            before = *event;
            if continues && let Some(sweep) = swept(lists[owner], counts[owner], place) {
                sweep.count += 1;
                now.left_out += 1;
                continue;
            }
            let is_followed = kind.followed | ones_if(now.moment == NONE);
            let moment = choose(is_followed, moments, now.moment);
            moments += kind.moments & is_followed;
            now.moment = choose(is_followed, moments.wrapping_sub(1), now.moment);
            now.left_out += !is_followed & 1;
            room[given] = (*event, place);
            given += (is_followed & 1) as usize;
            lists[owner][counts[owner]] = PlacedAccess { event: *event, place, moment, count: 1 };
            counts[owner] += usize::from(owner != nobody as usize);
            if matches!(event.op(), Op::Fork | Op::Join) {
                let (thread, before) = (event.thread(), given as u32 - 1);
                let left_out = LeftOut { before, thread, events: std::mem::take(&mut now.left_out) };
                followed.left_out.push(left_out);
                threads[event.operand() as usize].moment = NONE;
            }
        }
        followed.block.events.extend(room[..given].iter().map(|(event, _)| *event));
        followed.places.extend(room[..given].iter().map(|(_, place)| *place));
        accesses.iter_mut().zip(counts).for_each(|(list, count)| list.keep(*count));
        self.end(followed);
        Ok(())
    }

    fn begin(&mut self, block: &Block, followed: &mut Part, accesses: &mut [Accesses]) {
        let length = block.events.len();
        self.threads.iter_mut().for_each(|now| *now = Now { moment: NONE, left_out: 0 });
        self.counts.clear();
        self.counts.resize(accesses.len() + 1, 0);
        if self.followed.len() < length {
            self.followed.resize(length, (blank(), 0));
        }
        followed.block.first = block.first;
        followed.length = length as u32;
        followed.left_out.clear();
        followed.block.events.clear();
        followed.places.clear();
        accesses.iter_mut().for_each(|list| list.first = block.first);
    }

    /// Tells the follower of the events that it did not get.
    fn end(&self, followed: &mut Part) {
        let before = followed.places.len() as u32;
        for (thread, now) in self.threads.iter().enumerate().filter(|(_, now)| now.left_out > 0) {
            let thread = ThreadId::from_index(thread);
            followed.left_out.push(LeftOut { before, thread, events: now.left_out });
        }
    }
}

/// An event that nothing continues.
fn blank() -> Event {
    Event::new(ThreadId(0), Action::Skip, LocationId(0))
}

/// The last access of a list, if the one at `place` follows it and can be a part of its sweep.
#[inline(always)]
fn swept(list: &mut [PlacedAccess], count: usize, place: u32) -> Option<&mut PlacedAccess> {
    let last = list[..count].last_mut()?;
    (last.place + last.count == place).then_some(last)
}

#[cfg(test)]
mod tests {
    use overtake_trace::{Symbols, Trace};

    use super::*;
    use crate::owners::Slice;

    const ONLY: Slice = Slice { number: 0, of: 1 };

    fn sorted(trace: &Trace, workers: u16) -> (Part, Vec<Accesses>) {
        let block = Block { first: EventIndex(8), events: trace.events.clone() };
        let owners = Owners::new(&trace.symbols, workers, 0, ONLY);
        let (mut followed, mut accesses) = (Part::default(), vec![Accesses::default(); workers.into()]);
        let mut sorter = Sorter::new(&trace.symbols.sizes());
        sorter.sort(&owners, &block, &mut followed, &mut accesses).expect("ids of the trace");
        (followed, accesses)
    }

    #[test]
    fn moments_begin_where_a_thread_may_learn_something() {
        let text = b"T0|w(x)|1\nT0|fork(T1)|2\nT0|r(x)|3\nT1|r(x)|4\nT1|acq(m)|5\nT1|w(x)|6\nT1|w(x)|7\nT1|rel(m)|8\nT0|join(T1)|9\nT1|r(x)|10\nT0|r(x)|11\n";
        let trace = Trace::parse_std(text).expect("a good trace");
        for workers in 1..4 {
            let (followed, accesses) = sorted(&trace, workers);
            assert_eq!(
                followed.places,
                [0, 1, 3, 4, 7, 8, 9],
                "openings, synchronisation, and the event after a join"
            );
            let mut moments: Vec<_> =
                accesses.iter().flat_map(Accesses::list).map(|entry| (entry.place, entry.moment)).collect();
            moments.sort_unstable();
            assert_eq!(moments, [(0, 0), (2, 1), (3, 2), (5, 3), (6, 3), (9, 6), (10, 5)]);
            let left_out: Vec<_> =
                followed.left_out.iter().map(|out| (out.before, out.thread.0, out.events)).collect();
            assert_eq!(left_out, [(1, 0, 0), (5, 0, 1), (7, 0, 1), (7, 1, 2)]);
        }
    }

    #[test]
    fn a_sweep_is_one_entry_for_each_worker() {
        let mut symbols = Symbols::default();
        let array = symbols.variables.intern_array(b"A").expect("few names");
        symbols.threads.intern(b"T0").expect("few names");
        symbols.locations.intern(b"1").expect("few names");
        let event = |index| {
            let var = symbols.variables.intern_element(array, index).expect("few names");
            Event::new(ThreadId(0), Action::Write(var), LocationId(0))
        };
        let events: Vec<_> = (0..100_000).map(event).collect();
        let (_, accesses) = sorted(&Trace { symbols, events }, 2);
        for list in &accesses {
            let counts = || list.list().iter().map(|entry| entry.count);
            assert!(counts().all(|count| [0, 100_000 % 256].contains(&(count % 256))));
        }
        let all: u32 = accesses.iter().flat_map(Accesses::list).map(|entry| entry.count).sum();
        assert_eq!(all, 100_000);
    }

    #[test]
    fn an_atomic_access_begins_two_moments() {
        let trace = Trace::parse_std(b"T0|rmw.acq_rel(x)|1\nT0|w(y)|2\n").expect("a good trace");
        let (followed, accesses) = sorted(&trace, 1);
        assert_eq!(followed.places, [0]);
        let moments: Vec<_> = accesses[0].list().iter().map(|entry| entry.moment).collect();
        assert_eq!(moments, [0, 1]);
    }

    #[test]
    fn an_id_outside_of_its_table_is_refused() {
        let mut trace = Trace::parse_std(b"T0|w(x)|1\n").expect("a good trace");
        trace.events[0] = trace.events[0].with_operand(7);
        let block = Block { first: EventIndex(0), events: trace.events.clone() };
        let owners = Owners::new(&trace.symbols, 1, 0, ONLY);
        let mut sorter = Sorter::new(&trace.symbols.sizes());
        let error = sorter.sort(&owners, &block, &mut Part::default(), &mut [Accesses::default()]);
        assert!(error.is_err());
    }
}
