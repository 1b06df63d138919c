//! Threads that are held at accesses, and what happens when two of them meet.
//!
//! **State.** For each race: which thread stands at which side, whether the two sides have met, which thread goes first, and which thread
//! waits at each gate.
//! **Invariants.**
//!   G1  The state changes only inside a [`Section`]. Signals are blocked there, so that no handler finds it locked by its own thread.
//!   G2  A thread that stands at an access waits in [`hold`] and uses neither its room nor its stack until it is released.
//!   G3  After the two sides of a race have met, no thread is held for this race any more.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::gates;

use super::{Room, Seen, idle, plan, visits, wanted};
use crate::sys::{self, NoSignals};
use crate::thread::ThreadState;

/// How long a held thread sleeps before it checks again whether it must continue.
const LOOK_MILLISECONDS: u64 = 10;
/// The second access waits until the first is complete: until the other thread's next operation, but not longer than this.
const PASSING_MILLISECONDS: u64 = 100;

/// Who stands at an access, or before an acquire.
#[derive(Clone, Copy)]
pub(super) struct Stander {
    thread: *const ThreadState,
    kernel_id: u32,
    seen: Seen,
}

/// A thread that waits at a gate, and for which lock.
#[derive(Clone, Copy)]
pub(super) struct Waiting {
    pub(super) lock: u64,
    pub(super) thread: u32,
    pub(super) kernel_id: u32,
}

/// What is known of a race in this process.
pub(super) struct RaceState {
    standing: [Option<Stander>; gates::MOST_SIDES],
    holds: [u64; gates::MOST_SIDES],
    pub(super) has_met: bool,
    /// The access that went first is over.
    has_passed: bool,
    pub(super) gates: [GateState; gates::MOST_GATES],
}

/// What is known of a gate.
#[derive(Clone, Copy)]
pub(super) struct GateState {
    /// A thread waits there for the lock to be given back by another one.
    pub(super) waiting: Option<Waiting>,
    pub(super) is_open: bool,
}

impl GateState {
    const NEW: GateState = GateState { waiting: None, is_open: false };
}

impl RaceState {
    const NEW: RaceState = RaceState {
        standing: [None; gates::MOST_SIDES],
        holds: [0; gates::MOST_SIDES],
        has_met: false,
        has_passed: false,
        gates: [GateState::NEW; gates::MOST_GATES],
    };

    /// Resets the state. Field by field: compilers would clear the whole with `memset`, which we interpose.
    fn forget(&mut self) {
        self.let_all_go();
        for holds in &mut self.holds {
            // SAFETY: a number of ours; volatile so that it stays a loop.
            unsafe { core::ptr::write_volatile(holds, 0) };
        }
        self.has_met = false;
        self.has_passed = false;
        self.gates.iter_mut().for_each(|gate| *gate = GateState::NEW);
    }

    fn let_all_go(&mut self) {
        self.standing.iter_mut().for_each(|standing| *standing = None);
    }
}

struct Shared(UnsafeCell<[RaceState; gates::MOST_RACES]>);
// SAFETY: used inside a `Section` only (G1).
unsafe impl Sync for Shared {}

static STATE: Shared = Shared(UnsafeCell::new([const { RaceState::NEW }; gates::MOST_RACES]));
/// 0 if nobody is in a section.
static LOCK: AtomicU32 = AtomicU32::new(0);
/// Changes whenever held threads should look at their races.
static NEWS: AtomicU32 = AtomicU32::new(0);
/// How many threads are about to make an access for which somebody waits, wait at a gate, or go on without a lock; one more if modules are expected.
/// [`HELD`] more for each thread that is held. 0, nearly always.
static WATCHED: AtomicU32 = AtomicU32::new(0);
const HELD: u32 = 1 << 16;
/// The process whose threads the state is about.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// The only thread that looks at the state. Signals wait.
pub(super) struct Section {
    _quiet: NoSignals,
}

impl Section {
    pub(super) fn new() -> Section {
        let quiet = NoSignals::new();
        while LOCK.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sys::wait_while(LOCK.as_ptr(), 1);
        }
        Section { _quiet: quiet }
    }

    pub(super) fn race(&mut self, race: usize) -> Option<&mut RaceState> {
        // SAFETY: only one section exists at a time, and it is borrowed.
        unsafe { &mut *STATE.0.get() }.get_mut(race)
    }

    /// A gate of a race, as long as threads are held for the race.
    pub(super) fn gate(&mut self, race: usize, gate: usize) -> Option<&mut GateState> {
        self.race(race).filter(|state| !state.has_met)?.gates.get_mut(gate)
    }

    /// Everybody who is held looks at their race.
    pub(super) fn announce() {
        NEWS.fetch_add(1, Ordering::Release);
        sys::wake_all(NEWS.as_ptr());
    }
}

impl Drop for Section {
    fn drop(&mut self) {
        LOCK.store(0, Ordering::Release);
        sys::wake_all(LOCK.as_ptr());
    }
}

/// A thread starts. If this is a new process, forgets the threads that stood somewhere: they are threads of the parent.
pub(super) fn forget_parent() {
    let process = sys::process_id();
    if PROCESS.swap(process, Ordering::Relaxed) != process {
        LOCK.store(0, Ordering::Relaxed);
        WATCHED.store(0, Ordering::Relaxed);
        super::MODULES_EXPECTED.store(0, Ordering::Relaxed);
        wanted::forget_all();
        let mut section = Section::new();
        for race in 0..plan::races() {
            if let Some(state) = section.race(race) {
                state.forget();
            }
        }
    }
}

/// The thread is about to make an access at a site, or to acquire a lock there. Returns whether it must continue without the lock.
pub(super) fn arrive(thread: &ThreadState, seen: Seen) -> bool {
    let is_acquire = seen.kind & gates::ACQUIRES != 0;
    let mut goes_without = false;
    for race in 0..plan::races() {
        let is_here = |side| plan::is_side(race, side, seen.pc) && is_meant(race, side, thread);
        let sides = Sides::of(is_here);
        let is_deadlock = plan::word(race, gates::CYCLE).load(Ordering::Relaxed) != 0;
        if !sides.is_empty() && is_deadlock == is_acquire {
            goes_without |= come_to(race, sides, thread, seen) && is_acquire;
        }
    }
    goes_without
}

/// Sides of a race, a bit each.
#[derive(Clone, Copy)]
struct Sides(u32);

impl Sides {
    fn of(is_here: impl Fn(usize) -> bool) -> Sides {
        Sides((0..gates::MOST_SIDES).filter(|side| is_here(*side)).fold(0, |sides, side| sides | 1 << side))
    }

    fn is_empty(self) -> bool {
        self.0 == 0
    }

    fn each(self) -> impl Iterator<Item = usize> {
        (0..gates::MOST_SIDES).filter(move |side| self.0 >> side & 1 != 0)
    }
}

/// Whether the access is called from where the plan says, by a thread that was created where it says.
fn is_meant(race: usize, side: usize, thread: &ThreadState) -> bool {
    was_created(race, gates::CREATED + 2 * side, thread) && is_called(race, gates::CALLERS + 2 * side, thread)
}

/// Whether a thread was created at the site that these words of a race name.
pub(super) fn was_created(race: usize, words: usize, thread: &ThreadState) -> bool {
    let get = |word: usize| plan::word(race, words + word).load(Ordering::Relaxed);
    let created = get(0);
    created == 0 || Room::of(thread).is_some_and(|room| room.created.get() == (created, get(1)))
}

/// Whether a thread makes the calls that these words of a race name.
pub(super) fn is_called(race: usize, words: usize, thread: &ThreadState) -> bool {
    let get = |word: usize| plan::word(race, words + word).load(Ordering::Relaxed);
    let wanted = get(0) as usize;
    wanted == 0 || callers_of(thread, wanted) == Some(get(1))
}

/// The hash of the `wanted` innermost calls of the thread; None if there are fewer.
fn callers_of(thread: &ThreadState, wanted: usize) -> Option<u64> {
    let mut hash = gates::StackHash::EMPTY;
    let mut count = 0;
    thread.recorder().calls(|call| {
        if count < wanted {
            let (module, offset) = plan::site_of(call).unwrap_or_default();
            hash = hash.with(module, offset);
            count += 1;
        }
    });
    (count == wanted).then_some(hash.word())
}

/// What a thread that reached a site does next.
enum Arrival {
    Goes,
    Held(usize),
    /// The two sides have met.
    Met {
        goes_first: bool,
    },
}

/// Lets the thread stand or meet. Whether it met another one and goes first.
fn come_to(race: usize, sides: Sides, thread: &ThreadState, seen: Seen) -> bool {
    let mut arrival = {
        let mut section = Section::new();
        let Some(state) = section.race(race) else { return false };
        place(race, state, sides, &Stander { thread, kernel_id: sys::kernel_thread_id(), seen })
    };
    if let Arrival::Held(side) = arrival {
        arrival = hold(race, side, thread);
    }
    let is_acquire = seen.kind & gates::ACQUIRES != 0;
    match arrival {
        Arrival::Met { .. } if is_acquire => {}
        Arrival::Met { goes_first: true } => passes(thread, race),
        Arrival::Met { goes_first: false } => {
            wait_for(PASSING_MILLISECONDS, || Section::new().race(race).is_none_or(|state| state.has_passed));
            if seen.kind & gates::WRITES != 0 {
                passes(thread, race); // the value after this access is noted
            }
        }
        Arrival::Goes | Arrival::Held(_) => {}
    }
    matches!(arrival, Arrival::Met { goes_first: true })
}

/// Lets a thread meet whoever stands at the other sides, or stand here itself.
fn place(race: usize, state: &mut RaceState, sides: Sides, me: &Stander) -> Arrival {
    let get = |word: usize| plan::word(race, word).load(Ordering::Relaxed);
    let mut free = None;
    for side in sides.each() {
        plan::word(race, gates::ARRIVALS + side).fetch_add(1, Ordering::Relaxed);
        let number = me.visits(race, side);
        if state.has_met {
            continue;
        }
        match get(gates::CYCLE) as usize {
            0 if meets(race, state, side, number, me) => return meet(race, state, side, 2, me),
            0 => {}
            threads if closes(state, side, threads, me) => return meet(race, state, side, threads, me),
            _ => {}
        }
        let is_time = match get(gates::OCCURRENCES + side) {
            0 => state.holds.get(side).is_some_and(|holds| *holds < get(gates::MOST_HOLDS)),
            wanted => wanted == u64::from(number),
        };
        if is_time && state.standing.get(side).is_some_and(Option::is_none) {
            free = free.or(Some(side));
        }
    }
    let Some(side) = free else { return Arrival::Goes };
    // No index that is checked: a panic has no place here (H2).
    let (Some(holds), Some(place)) = (state.holds.get_mut(side), state.standing.get_mut(side)) else {
        return Arrival::Goes;
    };
    *holds += 1;
    *place = Some(*me);
    plan::header(gates::HOLDS).fetch_add(1, Ordering::Relaxed);
    Arrival::Held(side)
}

/// Whether the access races with that of whoever stands at the other side.
fn meets(race: usize, state: &RaceState, side: usize, number: u32, me: &Stander) -> bool {
    visits::note(race, side & 1, me.thread().number(), number, &me.seen);
    let Some(other) = &state.standing[1 - (side & 1)] else { return false };
    if core::ptr::eq(other.thread, me.thread) {
        return false;
    }
    let is_race = me.seen.conflicts(&other.seen) && !share_lock(me.thread(), other.thread());
    if !is_race {
        plan::word(race, gates::OTHER_MEETINGS).fetch_add(1, Ordering::Relaxed);
    }
    is_race
}

/// Whether all threads of a deadlock stand before their acquires, each of a lock that the next one has.
fn closes(state: &RaceState, side: usize, threads: usize, me: &Stander) -> bool {
    let at = |place: usize| if place == side { Some(me) } else { state.standing.get(place)?.as_ref() };
    (0..threads).all(|place| match (at(place), at((place + 1) % threads)) {
        (Some(one), Some(next)) => {
            !core::ptr::eq(one.thread, next.thread) && keeps_out(next.thread(), &one.seen)
        }
        _ => false,
    })
}

impl Stander {
    fn thread(&self) -> &ThreadState {
        // SAFETY: the thread stands there, and so exists (G2), or it is the one that runs this.
        unsafe { &*self.thread }
    }

    /// For which time the thread comes to a side of a race.
    fn visits(&self, race: usize, side: usize) -> u32 {
        let room = Room::of(self.thread());
        room.and_then(|room| room.visits.get(race)?.get(side)).map_or(0, |visits| {
            visits.set(visits.get().saturating_add(1));
            visits.get()
        })
    }
}

/// Whether a thread has a lock so that whoever is about to take it must wait.
fn keeps_out(thread: &ThreadState, acquire: &Seen) -> bool {
    let shares = acquire.kind & gates::SHARES != 0;
    Room::of(thread).is_some_and(|room| room.keeps_out(acquire.address as u64, shares))
}

/// Whether both threads hold a common lock. True if one of them holds too many locks to know.
fn share_lock(one: &ThreadState, other: &ThreadState) -> bool {
    let (Some(one), Some(other)) = (Room::of(one), Room::of(other)) else { return false };
    let (Some(ones), Some(others)) = (one.locks(), other.locks()) else { return true };
    ones.iter().any(|one| {
        let is_common = |other: super::HeldLock| {
            let are_shared = one.get().is_shared && other.is_shared;
            let is_excluding = !are_shared && !one.get().is_token;
            one.get().lock == other.lock && is_excluding
        };
        others.iter().any(|other| is_common(other.get()))
    })
}

/// Two threads stand at conflicting accesses, or all threads of a deadlock before their acquires: writes down what there is to see, and whose turn it is.
fn meet(race: usize, state: &mut RaceState, side: usize, sides: usize, me: &Stander) -> Arrival {
    let get = |word: usize| plan::word(race, word).load(Ordering::Relaxed);
    let set = |word: usize, value: u64| plan::word(race, word).store(value, Ordering::Relaxed);
    for at in 0..sides {
        let stander = if at == side { Some(me) } else { state.standing.get(at).and_then(Option::as_ref) };
        if let Some(stander) = stander {
            write_side(race, at, stander);
        }
    }
    let mut first = side;
    if get(gates::CYCLE) == 0 {
        let other = state.standing[1 - (side & 1)].as_ref();
        if let Some((address, length)) = other.and_then(|other| me.seen.common(&other.seen)) {
            set(gates::VALUE, value_at(address, length));
            set(gates::VALUE_BYTES, length.min(8) as u64);
        }
        first = match get(gates::ORDER) {
            1 => 0,
            2 => 1,
            _ => 1 - (side & 1),
        };
    }
    set(gates::WENT_FIRST, first as u64 + 1);
    state.has_met = true; // G3
    state.has_passed = false;
    state.let_all_go();
    plan::word(race, gates::MEETINGS).fetch_add(1, Ordering::Release);
    process_stops();
    Section::announce();
    Arrival::Met { goes_first: first == side }
}

/// Writes down who stands at a side.
fn write_side(race: usize, side: usize, stander: &Stander) {
    let base = gates::SIDES + side * gates::SIDE;
    let set = |word: usize, value: u64| plan::word(race, base + word).store(value, Ordering::Relaxed);
    let Seen { address, length, kind, pc } = stander.seen;
    set(gates::SIDE_ADDRESS, address as u64);
    set(gates::SIDE_LENGTH, length as u64);
    set(gates::SIDE_KIND, kind);
    set(gates::SIDE_THREAD, u64::from(stander.thread().number()));
    let mut frames = 0;
    let mut add = |pc: u64| {
        if let (true, Some((module, offset))) = (frames < gates::MOST_FRAMES, plan::site_of(pc)) {
            set(gates::SIDE_STACK + 2 * frames, module);
            set(gates::SIDE_STACK + 2 * frames + 1, offset);
            frames += 1;
        }
    };
    add(pc);
    stander.thread().recorder().calls(add);
    set(gates::SIDE_FRAMES, frames as u64);
}

/// Stops the process for a debugger, if the plan wants it.
fn process_stops() {
    if plan::header(gates::STOPS).load(Ordering::Relaxed) != 0 {
        sys::stop_process();
    }
}

/// The first bytes of memory that a thread is about to access.
fn value_at(address: usize, length: usize) -> u64 {
    let mut value = [0_u8; 8];
    for (at, byte) in value.iter_mut().enumerate().take(length) {
        // SAFETY: the program is about to access it.
        *byte = unsafe { ((address + at) as *const u8).read_volatile() };
    }
    u64::from_le_bytes(value)
}

/// Holds the thread at its side until it meets another thread or must continue.
fn hold(race: usize, side: usize, thread: &ThreadState) -> Arrival {
    let limit = plan::header(gates::LIMIT).load(Ordering::Relaxed);
    let mut quiet_looks = 0;
    let mut blocked_on = None;
    let mut has_stalled = false;
    WATCHED.fetch_add(HELD, Ordering::SeqCst);
    let met = wait_for(limit, || {
        if Section::new().race(race).is_none_or(|state| state.standing.get(side).is_none_or(Option::is_none))
        {
            return true;
        }
        let is_mine = |address| lock_around(thread, address).is_some();
        let others = idle::look_at_others(stands, |other| spins_for(thread, other), is_mine);
        quiet_looks = if others.are_stuck { quiet_looks + 1 } else { 0 };
        blocked_on = others.wait_for;
        has_stalled = quiet_looks > 2;
        has_stalled
    });
    WATCHED.fetch_sub(HELD, Ordering::Relaxed);
    let mut section = Section::new();
    let Some(state) = section.race(race) else { return Arrival::Goes };
    if state.standing.get_mut(side).and_then(Option::take).is_none() {
        let goes_first = plan::word(race, gates::WENT_FIRST).load(Ordering::Relaxed) == side as u64 + 1;
        return Arrival::Met { goes_first };
    }
    let reason = if met && has_stalled { gates::STALLS } else { gates::TIMEOUTS };
    plan::word(race, reason).fetch_add(1, Ordering::Relaxed);
    if let Some(lock) = blocked_on {
        name_blocking_lock(race, thread, lock);
    }
    Arrival::Goes
}

/// The lock held by the thread that contains an address.
fn lock_around(thread: &ThreadState, address: u64) -> Option<super::HeldLock> {
    /// Bytes of the largest lock of libc, so that a futex in it is found.
    const LOCK_BYTES: u64 = 64;
    let locks = Room::of(thread).and_then(Room::locks).unwrap_or_default();
    locks
        .iter()
        .map(core::cell::Cell::get)
        .find(|held| (held.lock..held.lock + LOCK_BYTES).contains(&address))
}

/// Writes down where the thread acquired the lock for which another thread waits at this address.
fn name_blocking_lock(race: usize, thread: &ThreadState, address: u64) {
    if let Some(held) = lock_around(thread, address)
        && let Some((module, offset)) = plan::site_of(held.pc)
    {
        plan::word(race, gates::BLOCKING).store(module, Ordering::Relaxed);
        plan::word(race, gates::BLOCKING + 1).store(offset, Ordering::Relaxed);
        plan::word(race, gates::BLOCKING_THREAD).store(u64::from(thread.number()) + 1, Ordering::Relaxed);
    }
}

/// Whether the thread with this kernel id stands at an access. A thread that waits at a gate counts as one that can run: it must give
/// up first.
fn stands(kernel_id: u32) -> bool {
    is_any(|state| state.standing.iter().flatten().any(|stander| stander.kernel_id == kernel_id))
}

/// The lock for which a thread spins in vain: this thread has it, or one that stands at an access. A thread that spins looks to the kernel like one that
/// works.
pub(super) fn spins_for(thread: &ThreadState, other: u32) -> Option<u64> {
    let has = |thread: &ThreadState, lock| lock_around(thread, lock).is_some();
    let stands_with =
        |lock| is_any(|state| state.standing.iter().flatten().any(|stander| has(stander.thread(), lock)));
    wanted::by(other).filter(|&lock| has(thread, lock) || stands_with(lock))
}

/// Whether the thread stands at an access or waits at a gate.
pub(super) fn is_held(kernel_id: u32) -> bool {
    let is_it = |gate: &GateState| gate.waiting.is_some_and(|waiting| waiting.kernel_id == kernel_id);
    stands(kernel_id) || is_any(|state| state.gates.iter().any(is_it))
}

fn is_any(holds: impl Fn(&RaceState) -> bool) -> bool {
    let mut section = Section::new();
    (0..plan::races()).any(|race| section.race(race).is_some_and(|state| holds(state)))
}

/// Waits until `is_over`, at most so long. Whether it was over.
pub(super) fn wait_for(milliseconds: u64, mut is_over: impl FnMut() -> bool) -> bool {
    let end = sys::milliseconds().saturating_add(milliseconds);
    loop {
        let news = NEWS.load(Ordering::Acquire);
        if is_over() {
            return true;
        }
        let now = sys::milliseconds();
        if now >= end {
            return false;
        }
        sys::wait_briefly(NEWS.as_ptr(), news, LOOK_MILLISECONDS.min(end - now) as i64 * 1_000_000);
    }
}

/// The thread is about to make its access of a race.
fn passes(thread: &ThreadState, race: usize) {
    if let Some(room) = Room::of(thread)
        && room.passing.replace(race + 1) == 0
    {
        watch_more();
    }
}

/// Not 0 if operations are to be looked at more closely; see [`WATCHED`].
#[inline(always)]
pub(super) fn watched() -> u32 {
    WATCHED.load(Ordering::Relaxed) & (HELD - 1)
}

/// The same, and also not 0 if somebody is held.
#[inline(always)]
pub(super) fn watched_or_held() -> u32 {
    WATCHED.load(Ordering::Relaxed)
}

/// One more thread is to be looked at.
pub(super) fn watch_more() {
    WATCHED.fetch_add(1, Ordering::SeqCst);
}

/// One thread less.
pub(super) fn watch_less() {
    WATCHED.fetch_sub(1, Ordering::Relaxed);
}

/// The thread does its next operation: the access for which it was released is complete.
#[cold]
#[inline(never)]
pub(super) fn passed(thread: &ThreadState) {
    if let Some(room) = Room::of(thread)
        && room.passing.get() != 0
    {
        watch_less();
        note_passed(room.passing.replace(0) - 1);
    }
}

fn note_passed(race: usize) {
    let base = [0, 1].map(|side| gates::SIDES + side * gates::SIDE);
    let get = |word: usize| plan::word(race, word).load(Ordering::Relaxed);
    let [one, other] = base.map(|base| Seen {
        address: get(base + gates::SIDE_ADDRESS) as usize,
        length: get(base + gates::SIDE_LENGTH) as usize,
        kind: get(base + gates::SIDE_KIND),
        pc: 0,
    });
    // A freed block may be unmapped.
    if let Some((address, length)) = one.common(&other).filter(|_| one.length <= 16 && other.length <= 16) {
        plan::word(race, gates::NEW_VALUE).store(value_at(address, length), Ordering::Relaxed);
        plan::word(race, gates::HAS_NEW_VALUE).store(1, Ordering::Relaxed);
    }
    if let Some(state) = Section::new().race(race) {
        state.has_passed = true;
    }
    Section::announce();
}
