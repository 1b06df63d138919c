//! Rounds of barriers.

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::id::{SyncId, ThreadId};
use crate::symbols::Symbols;

/// Every barrier of a log: enter posts the generation of its round, exit waits for it.
#[derive(Default, Debug)]
pub(super) struct Barriers {
    barriers: FxHashMap<Vec<u8>, Barrier>,
}

#[derive(Debug)]
struct Barrier {
    /// The round that threads enter, counted from 1.
    round: u64,
    /// Whether a thread has left that round, so that the next to enter opens a new one.
    over: bool,
    /// The rounds of the threads inside.
    inside: FxHashMap<ThreadId, u64>,
}

impl Barriers {
    pub(super) fn enter(&mut self, thread: ThreadId, name: &[u8], symbols: &mut Symbols) -> Result<SyncId> {
        let barrier = self.barrier(name);
        if barrier.over {
            barrier.round += 1;
            barrier.over = false;
        }
        barrier.inside.insert(thread, barrier.round);
        symbols.objects.intern_generation(&object_name(name), barrier.round)
    }

    pub(super) fn exit(&mut self, thread: ThreadId, name: &[u8], symbols: &mut Symbols) -> Result<SyncId> {
        let barrier = self.barrier(name);
        let round = barrier.inside.remove(&thread).unwrap_or(barrier.round);
        barrier.over |= round == barrier.round;
        symbols.objects.intern_generation(&object_name(name), round)
    }

    fn barrier(&mut self, name: &[u8]) -> &mut Barrier {
        self.barriers.entry(name.to_vec()).or_insert_with(|| Barrier {
            round: 1,
            over: false,
            inside: FxHashMap::default(),
        })
    }
}

fn object_name(barrier: &[u8]) -> Vec<u8> {
    [b"barrier(", barrier, b")"].concat()
}
