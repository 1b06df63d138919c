//! Gates: acquires that wait until another thread has given the lock back.
//!
//! A gate comes from the witness of a race, where the sections of a lock are in another order than in the recorded run, or from a run in which a held thread had a
//! lock that the other one needed. The plan says who waits (by site, calls and creation, or by number) and, if that is known, which release opens the gate. A
//! gate makes one thread wait once.

use core::sync::atomic::Ordering;

use overtake_rawlog::gates;

use super::meeting::{self, Section, Waiting};
use super::{idle, plan};
use crate::sys;
use crate::thread::ThreadState;

/// The thread is about to wait for a lock at the site of a gate: it does not do so before another thread has given the lock back.
pub(super) fn wait(thread: &ThreadState, lock: u64, pc: u64) {
    for race in 0..plan::races() {
        for gate in (0..gates::MOST_GATES).filter(|gate| plan::is_gate(race, *gate, pc)) {
            if comes_to(race, gate, thread, lock) {
                wait_at(race, gate, thread);
            }
        }
    }
}

fn wait_at(race: usize, gate: usize, thread: &ThreadState) {
    let limit = plan::header(gates::LIMIT).load(Ordering::Relaxed);
    let mut quiet_looks = 0;
    meeting::wait_for(limit, || {
        let is_open = Section::new().gate(race, gate).is_none_or(|gate| gate.is_open);
        let spins_for = |other| meeting::spins_for(thread, other);
        let is_stalled = !is_open && idle::look_at_others(meeting::is_held, spins_for, |_| false).are_stuck;
        quiet_looks = if is_stalled { quiet_looks + 1 } else { 0 };
        is_open || quiet_looks > 2
    });
    if let Some(gate) = Section::new().race(race).and_then(|state| state.gates.get_mut(gate)) {
        gate.waiting = None;
        gate.is_open = true;
    }
    meeting::watch_less();
}

/// Whether the thread has to wait at a gate. Then it is known to wait.
fn comes_to(race: usize, gate: usize, thread: &ThreadState, lock: u64) -> bool {
    let words = plan::gate_word(gate);
    let wanted = plan::word(race, words + gates::GATE_THREAD).load(Ordering::Relaxed);
    let me = thread.number();
    let is_meant = (wanted == 0 || wanted == u64::from(me) + 1)
        && meeting::was_created(race, words + gates::GATE_CREATED, thread)
        && meeting::is_called(race, words + gates::GATE_CALLERS, thread);
    is_meant
        && Section::new().gate(race, gate).is_some_and(|gate| {
            let waits = !gate.is_open && gate.waiting.is_none();
            if waits {
                meeting::watch_more(); // before anybody can look for waiters
                plan::header(gates::HOLDS).fetch_add(1, Ordering::Relaxed);
                gate.waiting = Some(Waiting { lock, thread: me, kernel_id: sys::kernel_thread_id() });
            }
            waits
        })
}

/// The thread is about to give a lock back: whoever waits for that goes on.
pub(super) fn open(thread: &ThreadState, lock: u64, pc: u64) {
    let mut opened = false;
    let mut section = Section::new();
    for race in 0..plan::races() {
        for number in 0..gates::MOST_GATES {
            let Some(gate) = section.gate(race, number) else { continue };
            let waits = |waiting: Waiting| waiting.lock == lock && waiting.thread != thread.number();
            if gate.waiting.is_some_and(waits) && opens(race, number, thread, pc) {
                gate.is_open = true;
                plan::word(race, plan::gate_word(number) + gates::GATE_SERVED).store(1, Ordering::Relaxed);
                opened = true;
            }
        }
    }
    drop(section);
    if opened {
        Section::announce();
    }
}

/// Whether a release at this program counter opens a gate.
fn opens(race: usize, gate: usize, thread: &ThreadState, pc: u64) -> bool {
    let words = plan::gate_word(gate);
    let get = |word: usize| plan::word(race, words + gates::GATE_UNTIL + word).load(Ordering::Relaxed);
    let wanted = (get(0), get(1));
    (wanted.0 == 0 || plan::site_of(pc) == Some(wanted))
        && meeting::was_created(race, words + gates::GATE_UNTIL_CREATED, thread)
}
