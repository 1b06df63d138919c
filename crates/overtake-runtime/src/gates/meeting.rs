//! Threads that are held at accesses, and what happens when two of them meet.
//!
//! **State.** For each race: which thread stands at which side, whether the two sides have met, which thread goes first, and which thread
//! waits at the gate.
//! **Invariants.**
//!   G1  The state changes only inside a [`Section`]. Signals are blocked there, so that no handler finds it locked by its own thread.
//!   G2  A thread that stands at an access waits in [`hold`] and uses neither its room nor its stack until it is released.
//!   G3  After the two sides of a race have met, no thread is held for this race any more.

use core::cell::UnsafeCell;
use core::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::gates;

use super::{Room, Seen, idle, plan};
use crate::sys::{self, NoSignals};
use crate::thread::ThreadState;

/// How long a held thread sleeps before it checks again whether it must continue.
const LOOK_MILLISECONDS: u64 = 10;
/// The second access waits until the first is complete: until the other thread's next operation, but not longer than this.
const PASSING_MILLISECONDS: u64 = 100;

/// A thread that stands at an access.
#[derive(Clone, Copy)]
struct Stander {
    thread: *const ThreadState,
    kernel_id: u32,
    seen: Seen,
}

/// A thread that waits at a gate, and for which lock.
#[derive(Clone, Copy)]
struct Waiting {
    lock: u64,
    thread: u32,
    kernel_id: u32,
}

/// The state of a race in this process.
struct RaceState {
    standing: [Option<Stander>; 2],
    holds: [u64; 2],
    has_met: bool,
    /// The access that went first is complete.
    has_passed: bool,
    /// The thread that waits at the gate until another thread has released the lock.
    waiting: Option<Waiting>,
    is_gate_open: bool,
}

impl RaceState {
    const NEW: RaceState = RaceState {
        standing: [None; 2],
        holds: [0; 2],
        has_met: false,
        has_passed: false,
        waiting: None,
        is_gate_open: false,
    };

    /// Resets the state. Field by field: compilers would clear the whole with `memset`, which we interpose.
    fn forget(&mut self) {
        self.standing[0] = None;
        self.standing[1] = None;
        self.holds[0] = 0;
        self.holds[1] = 0;
        self.has_met = false;
        self.has_passed = false;
        self.waiting = None;
        self.is_gate_open = false;
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
/// How many threads are about to make an access for which another thread waits: nearly always 0.
static PASSING: AtomicU32 = AtomicU32::new(0);
/// The process whose threads the state describes.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// A critical section: only its thread looks at the state. Signals are blocked.
struct Section {
    _quiet: NoSignals,
}

impl Section {
    fn new() -> Section {
        let quiet = NoSignals::new();
        while LOCK.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_err() {
            sys::wait_while(LOCK.as_ptr(), 1);
        }
        Section { _quiet: quiet }
    }

    fn race(&mut self, race: usize) -> Option<&mut RaceState> {
        // SAFETY: only one section exists at a time, and it is borrowed.
        unsafe { &mut *STATE.0.get() }.get_mut(race)
    }

    /// Wakes all held threads, so that they look at their races.
    fn announce() {
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
        PASSING.store(0, Ordering::Relaxed);
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
        let sides = [0, 1].map(|side| plan::is_side(race, side, seen.pc) && is_meant(race, side, thread));
        let is_deadlock = plan::word(race, gates::IS_DEADLOCK).load(Ordering::Relaxed) != 0;
        if sides != [false; 2] && is_deadlock == is_acquire {
            goes_without |= come_to(race, sides, thread, seen) && is_acquire;
        }
    }
    goes_without
}

/// Whether the callers of the access, and the place where its thread was created, are those of the plan.
fn is_meant(race: usize, side: usize, thread: &ThreadState) -> bool {
    let get = |word: usize| plan::word(race, word + 2 * side).load(Ordering::Relaxed);
    let created = get(gates::CREATED);
    if created != 0
        && Room::of(thread).is_none_or(|room| room.created.get() != (created, get(gates::CREATED + 1)))
    {
        return false;
    }
    let wanted = get(gates::CALLERS) as usize;
    wanted == 0 || callers_of(thread, wanted) == Some(get(gates::CALLERS + 1))
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

/// Holds the thread, or lets it meet another one. Returns whether it met another thread and goes first.
fn come_to(race: usize, sides: [bool; 2], thread: &ThreadState, seen: Seen) -> bool {
    let mut arrival = {
        let mut section = Section::new();
        let Some(state) = section.race(race) else { return false };
        place(race, state, sides, thread, seen)
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

/// Lets a thread meet the thread at the other side, or makes it stand here.
fn place(race: usize, state: &mut RaceState, sides: [bool; 2], thread: &ThreadState, seen: Seen) -> Arrival {
    for (side, _) in sides.iter().enumerate().filter(|(_, is_here)| **is_here) {
        plan::word(race, gates::ARRIVALS + side).fetch_add(1, Ordering::Relaxed);
        let Some(other) = state.standing[1 - side].filter(|other| !core::ptr::eq(other.thread, thread))
        else {
            continue;
        };
        if state.has_met {
            return Arrival::Goes;
        }
        // SAFETY: the thread stands there, and so exists (G2).
        let other_thread = unsafe { &*other.thread };
        let is_found = match seen.kind & gates::ACQUIRES {
            0 => seen.conflicts(&other.seen) && !share_lock(thread, other_thread),
            _ => holds(other_thread, seen.address) && holds(thread, other.seen.address),
        };
        if is_found {
            return meet(race, state, side, thread, seen, other);
        }
        plan::word(race, gates::OTHER_MEETINGS).fetch_add(1, Ordering::Relaxed);
    }
    let most = plan::word(race, gates::MOST_HOLDS).load(Ordering::Relaxed);
    let free = |side: &usize| sides[*side] && state.standing[*side].is_none() && state.holds[*side] < most;
    let Some(side) = [0, 1].into_iter().find(free).filter(|_| !state.has_met) else { return Arrival::Goes };
    state.holds[side] += 1;
    state.standing[side] = Some(Stander { thread, kernel_id: sys::kernel_thread_id(), seen });
    plan::header(gates::HOLDS).fetch_add(1, Ordering::Relaxed);
    Arrival::Held(side)
}

/// Whether a thread holds the lock at an address.
fn holds(thread: &ThreadState, lock: usize) -> bool {
    Room::of(thread).is_some_and(|room| room.holds(lock as u64))
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

/// Two threads are at conflicting accesses. Writes down what is known of both, and which goes first.
fn meet(
    race: usize,
    state: &mut RaceState,
    side: usize,
    thread: &ThreadState,
    seen: Seen,
    other: Stander,
) -> Arrival {
    state.has_met = true; // G3
    state.has_passed = false;
    state.standing = [None; 2];
    let set = |word: usize, value: u64| plan::word(race, word).store(value, Ordering::Relaxed);
    // SAFETY: the other thread stands there (G2).
    for (side, thread, seen) in [(side, thread, seen), (1 - side, unsafe { &*other.thread }, other.seen)] {
        let base = gates::SIDES + side * gates::SIDE;
        set(base + gates::SIDE_ADDRESS, seen.address as u64);
        set(base + gates::SIDE_LENGTH, seen.length as u64);
        set(base + gates::SIDE_KIND, seen.kind);
        set(base + gates::SIDE_THREAD, u64::from(thread.number()));
        let mut frames = 0;
        let mut add = |pc: u64| {
            if let (true, Some((module, offset))) = (frames < gates::MOST_FRAMES, plan::site_of(pc)) {
                set(base + gates::SIDE_STACK + 2 * frames, module);
                set(base + gates::SIDE_STACK + 2 * frames + 1, offset);
                frames += 1;
            }
        };
        add(seen.pc);
        thread.recorder().calls(add);
        set(base + gates::SIDE_FRAMES, frames as u64);
    }
    if let Some((address, length)) = seen.common(&other.seen) {
        set(gates::VALUE, value_at(address, length));
        set(gates::VALUE_BYTES, length.min(8) as u64);
    }
    let first = match plan::word(race, gates::ORDER).load(Ordering::Relaxed) {
        1 => 0,
        2 => 1,
        _ => 1 - side,
    };
    set(gates::WENT_FIRST, first as u64 + 1);
    plan::word(race, gates::MEETINGS).fetch_add(1, Ordering::Release);
    process_stops();
    Section::announce();
    Arrival::Met { goes_first: first == side }
}

/// Stops the process for a debugger, if the plan asks for it.
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
    let mut blocked_on = 0;
    let mut has_stalled = false;
    let met = wait_for(limit, || {
        if Section::new().race(race).is_none_or(|state| state.standing[side].is_none()) {
            return true;
        }
        let stalled = idle::blocked_on(stands, |address| lock_around(thread, address).is_some());
        quiet_looks = if stalled.is_some() { quiet_looks + 1 } else { 0 };
        blocked_on = stalled.unwrap_or(blocked_on);
        has_stalled = quiet_looks > 2;
        has_stalled
    });
    let mut section = Section::new();
    let Some(state) = section.race(race) else { return Arrival::Goes };
    if state.standing[side].take().is_none() {
        let goes_first = plan::word(race, gates::WENT_FIRST).load(Ordering::Relaxed) == side as u64 + 1;
        return Arrival::Met { goes_first };
    }
    let reason = if met && has_stalled { gates::STALLS } else { gates::TIMEOUTS };
    plan::word(race, reason).fetch_add(1, Ordering::Relaxed);
    if has_stalled {
        name_blocking_lock(race, thread, blocked_on);
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

/// Whether the thread stands at an access or waits at a gate.
fn is_held(kernel_id: u32) -> bool {
    stands(kernel_id) || is_any(|state| state.waiting.is_some_and(|waiting| waiting.kernel_id == kernel_id))
}

fn is_any(holds: impl Fn(&RaceState) -> bool) -> bool {
    let mut section = Section::new();
    (0..plan::races()).any(|race| section.race(race).is_some_and(|state| holds(state)))
}

/// Waits until `is_over` returns true, at most so many milliseconds. Returns whether it did.
fn wait_for(milliseconds: u64, mut is_over: impl FnMut() -> bool) -> bool {
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
        PASSING.fetch_add(1, Ordering::Relaxed);
    }
}

/// Whether some thread is about to make an access for which another thread waits.
#[inline(always)]
pub(super) fn is_anybody_passing() -> bool {
    PASSING.load(Ordering::Relaxed) != 0
}

/// The thread does its next operation: the access for which it was released is complete.
#[cold]
#[inline(never)]
pub(super) fn passed(thread: &ThreadState) {
    if let Some(room) = Room::of(thread)
        && room.passing.get() != 0
    {
        PASSING.fetch_sub(1, Ordering::Relaxed);
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

/// The thread is about to wait for a lock at the site of a gate. It is held until another thread has released the lock.
pub(super) fn wait_at_gate(thread: &ThreadState, lock: u64, pc: u64) {
    for race in (0..plan::races()).filter(|race| plan::is_gate(*race, pc)) {
        let wanted = plan::word(race, gates::GATE_THREAD).load(Ordering::Relaxed);
        let me = thread.number();
        let waits = Section::new().race(race).is_some_and(|state| {
            let waits = !state.has_met
                && !state.is_gate_open
                && state.waiting.is_none()
                && (wanted == 0 || wanted == u64::from(me) + 1);
            if waits {
                plan::header(gates::HOLDS).fetch_add(1, Ordering::SeqCst); // before anybody can look for waiters
                state.waiting = Some(Waiting { lock, thread: me, kernel_id: sys::kernel_thread_id() });
            }
            waits
        });
        if waits {
            let limit = plan::header(gates::LIMIT).load(Ordering::Relaxed);
            let mut quiet_looks = 0;
            wait_for(limit, || {
                let is_open =
                    Section::new().race(race).is_none_or(|state| state.is_gate_open || state.has_met);
                let is_stalled = !is_open && idle::blocked_on(is_held, |_| false).is_some();
                quiet_looks = if is_stalled { quiet_looks + 1 } else { 0 };
                is_open || quiet_looks > 2
            });
            if let Some(state) = Section::new().race(race) {
                state.waiting = None;
                state.is_gate_open = true;
            }
        }
    }
}

/// The thread is about to release a lock.
pub(super) fn gave_back(thread: &ThreadState, lock: u64) {
    if plan::races() == 0 || plan::header(gates::HOLDS).load(Ordering::Relaxed) == 0 {
        return;
    }
    let mut opened = false;
    let mut section = Section::new();
    for race in 0..plan::races() {
        let Some(state) = section.race(race) else { continue };
        if state.waiting.is_some_and(|waiting| waiting.lock == lock && waiting.thread != thread.number()) {
            state.is_gate_open = true;
            opened = true;
        }
    }
    drop(section);
    if opened {
        Section::announce();
    }
}
