//! For which time threads must come to a site to meet there.
//!
//! A site in a loop is reached again and again, and a thread cannot be held there each time. But a run in which nobody met tells where to hold in the next
//! one: each thread counts its visits of a site, and a table keeps for each side of a race which addresses were accessed at which visit.
//! When a thread accesses bytes at one side that another thread accessed at the other side, the numbers of both visits go into the plan's file
//! (`gates::LEARNT`).
//!
//! **What may be lost.** The table forgets old visits when it is full, and it knows an access by the eight bytes in which it starts. Then another run is
//! tried in vain or not tried; nothing is believed because of this table.

use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use overtake_rawlog::gates;

use super::{Seen, plan};

/// The latest visit at which an address was accessed.
struct Visit {
    /// Stands for race, side and address; 0 is nobody.
    key: AtomicU64,
    thread: AtomicU32,
    number: AtomicU32,
}

const PLACES: usize = 1 << 15;
/// Places that are looked at for one key.
const STEPS: usize = 8;
static VISITS: [Visit; PLACES] =
    [const { Visit { key: AtomicU64::new(0), thread: AtomicU32::new(0), number: AtomicU32::new(0) } };
        PLACES];

/// A thread accesses memory at a side of a race, at its visit with this number. Called by one thread at a time (G1).
pub(super) fn note(race: usize, side: usize, thread: u32, number: u32, seen: &Seen) {
    let other = key(race, 1 - side, seen.address);
    let known = places(other).find(|visit| visit.key.load(Ordering::Relaxed) == other);
    if let Some(visit) = known.filter(|visit| visit.thread.load(Ordering::Relaxed) != thread)
        && plan::word(race, gates::LEARNT).load(Ordering::Relaxed) == 0
    {
        plan::word(race, gates::LEARNT + side).store(number.into(), Ordering::Relaxed);
        let others = visit.number.load(Ordering::Relaxed);
        plan::word(race, gates::LEARNT + 1 - side).store(others.into(), Ordering::Relaxed);
    }
    let mine = key(race, side, seen.address);
    let is_mine =
        |visit: &&Visit| matches!(visit.key.load(Ordering::Relaxed), key if key == mine || key == 0);
    if let Some(visit) = places(mine).find(is_mine).or_else(|| places(mine).next()) {
        visit.key.store(mine, Ordering::Relaxed);
        visit.thread.store(thread, Ordering::Relaxed);
        visit.number.store(number, Ordering::Relaxed);
    }
}

/// What stands for the eight bytes around an address, at a side of a race.
fn key(race: usize, side: usize, address: usize) -> u64 {
    let side = (2 * race + side) as u64;
    (((address / 8) as u64) ^ side << 52).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1
}

fn places(key: u64) -> impl Iterator<Item = &'static Visit> {
    (0..STEPS).map(move |step| &VISITS[((key >> 40) as usize + step) % PLACES])
}
