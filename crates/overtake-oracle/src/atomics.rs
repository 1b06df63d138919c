//! What atomic operations and fences order, by the C++20 definition of release sequences.

use overtake_trace::{Action, MemoryOrder};

use crate::history::{History, Step};

/// All edges `from → to` that atomic operations and fences make, as positions.
pub(crate) fn edges(history: &History) -> Vec<(usize, usize)> {
    let mut edges = Vec::new();
    for reader in 0..history.steps.len() {
        for head in heads_seen(history, reader) {
            for from in released(history, head) {
                edges.extend(acquired_at(history, reader).map(|to| (from, to)));
            }
        }
    }
    edges
}

/// The heads of the release sequences that the load or read-modify-write at `reader` reads from.
///
/// It reads from the atomic write before it. That write is in its own sequence, and in those of the writes before it as
/// long as everything in between continues a sequence.
fn heads_seen(history: &History, reader: usize) -> Vec<usize> {
    let step = &history.steps[reader];
    let Some(var) =
        step.atomic_variable().filter(|_| step.touches().any(|touch| touch.atomic && touch.reads))
    else {
        return Vec::new();
    };
    let modification_order = (0..reader).rev().filter(|&i| {
        history.steps[i].touches().any(|touch| touch.var == var && touch.atomic && touch.writes)
    });
    let mut heads = Vec::new();
    for write in modification_order {
        heads.push(write);
        if !continues_release_sequence(&history.steps[write]) {
            break;
        }
    }
    heads
}

/// Whether an atomic write belongs to the release sequences of the write before it: a read-modify-write does, and so does
/// a volatile store.
fn continues_release_sequence(write: &Step) -> bool {
    matches!(write.event.action(), Action::Rmw(..) | Action::Store(_, MemoryOrder::Volatile))
}

/// What the atomic write at `head` releases: itself by its order, and the latest release fence of its thread.
fn released(history: &History, head: usize) -> impl Iterator<Item = usize> {
    let step = &history.steps[head];
    let fence = (0..head).rev().find(|&i| is_fence_of(step, &history.steps[i], MemoryOrder::releases));
    step.event.order().releases().then_some(head).into_iter().chain(fence)
}

/// Where the load or read-modify-write at `reader` acquires: at itself by its order, and at every later acquire fence of
/// its thread.
fn acquired_at(history: &History, reader: usize) -> impl Iterator<Item = usize> {
    let step = &history.steps[reader];
    let fences = (reader + 1..history.steps.len())
        .filter(move |&i| is_fence_of(step, &history.steps[i], MemoryOrder::acquires));
    step.event.order().acquires().then_some(reader).into_iter().chain(fences)
}

fn is_fence_of(access: &Step, fence: &Step, has_order: fn(MemoryOrder) -> bool) -> bool {
    access.thread() == fence.thread()
        && matches!(fence.event.action(), Action::Fence(order) if has_order(order))
}
