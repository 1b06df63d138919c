//! Routines in which every operation occurs.
//!
//! Each class of locks excludes in another way: mutexes, reader-writer locks, atomic flags with every memory order
//! that makes a lock, flags with relaxed atomics and fences, binary semaphores. All of them order what they guard, so a
//! detector that misses an ordering reports races on a trace that has none.

use overtake_trace::{MemoryOrder, Result, Symbols};

use crate::sites::add_array;

use super::layout::{BLOCK_ELEMENTS, Layout};
use super::routine::{ATOMIC, AccessStyle, Author, BLOCK, ELEMENT, Guard, Kind, MUTEX};

use MemoryOrder::{AcqRel, Acquire, Consume, Relaxed, Release, SeqCst, Volatile};

/// How many classes of locks there are.
pub(crate) const CLASSES: u32 = 10;
/// The class whose locks are semaphores. The object of lock `l` has number `l` / [`CLASSES`].
const SEMAPHORES: u32 = 9;

/// The ways to enter and leave a section, with the class of locks that each works on.
const GUARDS: [(u32, Guard); 12] = [
    (0, Guard { enter: &[(Kind::Request, Relaxed), (Kind::Acquire, Relaxed)], ..MUTEX }),
    (1, MUTEX),
    (
        1,
        Guard {
            enter: &[(Kind::AcquireShared, Relaxed)],
            leave: &[(Kind::ReleaseShared, Relaxed)],
            reads_only: true,
        },
    ),
    (2, flag(&[(Kind::Take, Acquire)], &[(Kind::Give, Release)])),
    (3, flag(&[(Kind::Take, SeqCst)], &[(Kind::Give, SeqCst)])),
    (4, flag(&[(Kind::Take, AcqRel)], &[(Kind::GiveRmw, AcqRel)])),
    (5, flag(&[(Kind::Take, Consume)], &[(Kind::GiveRmw, Release)])),
    (6, flag(&[(Kind::Take, Volatile)], &[(Kind::Give, Volatile)])),
    (
        7,
        flag(
            &[(Kind::Take, Relaxed), (Kind::Fence, Acquire)],
            &[(Kind::Fence, Release), (Kind::Give, Relaxed)],
        ),
    ),
    (
        8,
        flag(
            &[(Kind::Take, Relaxed), (Kind::Fence, AcqRel)],
            &[(Kind::Fence, SeqCst), (Kind::Give, Relaxed)],
        ),
    ),
    (
        8,
        flag(
            &[(Kind::Take, Relaxed), (Kind::Fence, Consume)],
            &[(Kind::Fence, AcqRel), (Kind::GiveRmw, Relaxed)],
        ),
    ),
    (SEMAPHORES, flag(&[(Kind::WaitTurn, Relaxed)], &[(Kind::PostTurn, Relaxed)])),
];

const fn flag(enter: &'static [(Kind, MemoryOrder)], leave: &'static [(Kind, MemoryOrder)]) -> Guard {
    Guard { enter, leave, reads_only: false }
}

/// Names for objects, markers and heap blocks.
pub(crate) fn add_names(symbols: &mut Symbols, layout: &Layout, locks: u32) -> Result<()> {
    for semaphore in 0..locks.saturating_sub(SEMAPHORES).div_ceil(CLASSES) {
        symbols.objects.intern(format!("S{semaphore}").as_bytes())?;
    }
    for marker in ["request", "retry"] {
        symbols.markers.intern(marker.as_bytes())?;
    }
    for block in 0..layout.blocks.count {
        add_array(symbols, &format!("B{block}"), BLOCK_ELEMENTS)?;
    }
    for block in 0..layout.blocks.count {
        let array = symbols.variables.intern_array(format!("B{block}").as_bytes())?;
        symbols.variables.set_length(array, u64::from(BLOCK_ELEMENTS));
        symbols.variables.intern_block(array)?;
    }
    Ok(())
}

/// Writes all routines and returns them with their weights.
pub(crate) fn routines(
    author: &mut Author<'_>,
    style: &mut AccessStyle<'_>,
    locks: u32,
    nesting: u8,
) -> Result<Vec<(u32, f64)>> {
    let mut weighted = Vec::new();
    for depth in 1..=nesting {
        for (class, guard) in &GUARDS {
            let available = locks.saturating_sub(*class).div_ceil(CLASSES);
            if available >= u32::from(depth) {
                let weight = 1.0 / f64::from(depth * depth);
                let accesses = 3 * u32::from(depth);
                let routine = style.locked_routine(author, guard, *class, depth, accesses, weight)?;
                weighted.push((routine, weight));
            }
        }
    }
    weighted.push((counters(author, Kind::Load, &[Relaxed, Consume, Acquire, SeqCst, Volatile])?, 0.3));
    weighted.push((counters(author, Kind::Store, &[Relaxed, Release, SeqCst, Volatile])?, 0.3));
    weighted.push((counters(author, Kind::Rmw, &MemoryOrder::ALL)?, 0.3));
    weighted.push((marked(author)?, 0.5));
    Ok(weighted)
}

/// Atomic counters that guard nothing, in every order.
fn counters(author: &mut Author<'_>, kind: Kind, orders: &[MemoryOrder]) -> Result<u32> {
    for &order in orders {
        let field = author.rng.below(16) as u8;
        author.step(kind, order, ATOMIC, field)?;
    }
    Ok(author.finish_routine(0, 0))
}

/// Markers, which order nothing.
fn marked(author: &mut Author<'_>) -> Result<u32> {
    author.step(Kind::Begin, Relaxed, 0, 0)?;
    author.step(Kind::Branch, Relaxed, 0, 1)?;
    author.step(Kind::Fence, Relaxed, 0, 0)?;
    author.step(Kind::End, Relaxed, 0, 0)?;
    Ok(author.finish_routine(0, 0))
}

/// A heap block that one thread allocates, uses and frees.
pub(crate) fn block_routine(author: &mut Author<'_>) -> Result<u32> {
    author.step(Kind::Alloc, Relaxed, BLOCK, 0)?;
    for element in 0..BLOCK_ELEMENTS as u8 {
        author.step(Kind::Write, Relaxed, ELEMENT, element)?;
    }
    for element in 0..BLOCK_ELEMENTS as u8 {
        author.step(Kind::Read, Relaxed, ELEMENT, element)?;
    }
    author.step(Kind::Free, Relaxed, BLOCK, 0)?;
    Ok(author.finish_routine(0, 0))
}
