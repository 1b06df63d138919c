//! Barriers: points that all threads pass together.

use overtake_trace::{Action, LocationId, LockId, Result, Symbols, SyncId};

use crate::sites::Sites;
use crate::tape::Tape;

/// Orders everything before it, in all threads, before everything after it.
#[derive(Debug)]
pub(crate) struct Barrier {
    threads: u32,
    kind: Kind,
    lines: [LocationId; 2],
}

#[derive(Debug)]
enum Kind {
    /// Every thread posts, then every thread waits. Two objects alternate, as in a sense-reversing barrier: with a single object, a
    /// wait could also be ordered after a post of the next round.
    PostWait { objects: [SyncId; 2], round: usize },
    /// Every thread acquires and releases one lock, twice. After the second time, each thread is ordered after all others.
    Lock(LockId),
}

impl Barrier {
    /// A barrier of `post` and `wait`.
    pub(crate) fn post_wait(symbols: &mut Symbols, sites: &mut Sites, threads: u32) -> Result<Barrier> {
        let objects = [symbols.objects.intern(b"barrier")?, symbols.objects.intern(b"barrier#1")?];
        let lines = sites.lines(symbols, "barrier.c", 8)?;
        Ok(Barrier { threads, kind: Kind::PostWait { objects, round: 0 }, lines })
    }

    /// A barrier made of a lock.
    pub(crate) fn lock(symbols: &mut Symbols, sites: &mut Sites, threads: u32) -> Result<Barrier> {
        let lock = symbols.locks.intern(b"L0")?;
        let lines = sites.lines(symbols, "barrier.c", 8)?;
        Ok(Barrier { threads, kind: Kind::Lock(lock), lines })
    }

    /// How many events a pass takes.
    pub(crate) fn events(&self) -> u64 {
        let each = match self.kind {
            Kind::PostWait { .. } => 2,
            Kind::Lock(_) => 4,
        };
        each * u64::from(self.threads)
    }

    pub(crate) fn pass(&mut self, tape: &mut Tape) {
        let [arrive, leave] = self.lines;
        match &mut self.kind {
            Kind::PostWait { objects, round } => {
                let object = objects[*round % 2];
                *round += 1;
                (0..self.threads).for_each(|thread| tape.push(thread, Action::Post(object), arrive));
                (0..self.threads).for_each(|thread| tape.push(thread, Action::Wait(object), leave));
            }
            Kind::Lock(lock) => {
                for thread in (0..self.threads).chain(0..self.threads) {
                    tape.push(thread, Action::Acquire(*lock), arrive);
                    tape.push(thread, Action::Release(*lock), leave);
                }
            }
        }
    }
}
