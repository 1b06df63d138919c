//! Gates: acquires that wait until another thread has given the lock back.

use core::sync::atomic::Ordering;

use overtake_rawlog::gates;

use super::meeting::{self, Section, Waiting};
use super::{idle, plan};
use crate::sys;
use crate::thread::ThreadState;

/// The thread is about to wait for a lock at the site of a gate: it does not do so before another thread has given the lock back.
pub(super) fn wait(thread: &ThreadState, lock: u64, pc: u64) {
    for race in (0..plan::races()).filter(|race| plan::is_gate(*race, pc)) {
        if !comes_to(race, thread, lock) {
            continue;
        }
        let limit = plan::header(gates::LIMIT).load(Ordering::Relaxed);
        let mut quiet_looks = 0;
        meeting::wait_for(limit, || {
            let is_open = Section::new().race(race).is_none_or(|state| state.is_gate_open || state.has_met);
            let spins_for = |other| meeting::spins_for(thread, other);
            let is_stalled =
                !is_open && idle::look_at_others(meeting::is_held, spins_for, |_| false).are_stuck;
            quiet_looks = if is_stalled { quiet_looks + 1 } else { 0 };
            is_open || quiet_looks > 2
        });
        if let Some(state) = Section::new().race(race) {
            state.waiting = None;
            state.is_gate_open = true;
        }
        meeting::watch_less();
    }
}

/// Whether the thread has to wait at the gate of a race. Then it is known to wait.
fn comes_to(race: usize, thread: &ThreadState, lock: u64) -> bool {
    let wanted = plan::word(race, gates::GATE_THREAD).load(Ordering::Relaxed);
    let me = thread.number();
    Section::new().race(race).is_some_and(|state| {
        let waits = !state.has_met
            && !state.is_gate_open
            && state.waiting.is_none()
            && (wanted == 0 || wanted == u64::from(me) + 1);
        if waits {
            meeting::watch_more(); // before anybody can look for waiters
            plan::header(gates::HOLDS).fetch_add(1, Ordering::Relaxed);
            state.waiting = Some(Waiting { lock, thread: me, kernel_id: sys::kernel_thread_id() });
        }
        waits
    })
}

/// The thread is about to give a lock back: whoever waits for that goes on.
pub(super) fn open(thread: &ThreadState, lock: u64) {
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
