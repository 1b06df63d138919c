//! What the checker repaired, by kind.

/// A way in which a trace breaks what the theory assumes, and what the checker does about it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Repair {
    /// A thread acquired a lock it holds: inner acquires and their releases are dropped.
    ReentrantAcquire,
    /// A lock was released that nobody holds: dropped, because it would order events that nothing ordered.
    UnheldRelease,
    /// A lock was acquired while another thread held it: the missing release is inserted just before.
    MissingRelease,
    /// A lock was released by a thread that does not hold it: it becomes a post that the next acquire waits for.
    ForeignRelease,
    /// A shared section was ended by an exclusive release, or the other way round: the mode is corrected.
    ReleaseMode,
    /// A thread ran before it was forked, or was forked again: the fork orders the thread's next event.
    LateFork,
    /// A thread that was joined is forked again: it becomes a new thread.
    ReusedThread,
    /// A thread goes on after it was joined: its events stay, unordered with the joining thread.
    EventAfterJoin,
    /// A thread forked or joined itself: dropped.
    SelfForkOrJoin,
    /// A block was allocated under the name of an earlier block: it becomes a new block with new elements.
    ReusedBlock,
    /// A block was freed that is not allocated: dropped.
    UnallocatedFree,
    /// Events are missing: everything before comes before everything after.
    Gap,
    /// A lock was released that was acquired where events are missing: everything before comes before everything after.
    ReleaseAfterGap,
}

impl Repair {
    /// Every repair, in the order in which they are listed.
    pub const ALL: [Repair; 13] = [
        Repair::ReentrantAcquire,
        Repair::UnheldRelease,
        Repair::MissingRelease,
        Repair::ForeignRelease,
        Repair::ReleaseMode,
        Repair::LateFork,
        Repair::ReusedThread,
        Repair::EventAfterJoin,
        Repair::SelfForkOrJoin,
        Repair::ReusedBlock,
        Repair::UnallocatedFree,
        Repair::Gap,
        Repair::ReleaseAfterGap,
    ];

    /// A stable name for machines.
    pub fn name(self) -> &'static str {
        match self {
            Repair::ReentrantAcquire => "reentrant-acquire",
            Repair::UnheldRelease => "unheld-release",
            Repair::MissingRelease => "missing-release",
            Repair::ForeignRelease => "foreign-release",
            Repair::ReleaseMode => "release-mode",
            Repair::LateFork => "late-fork",
            Repair::ReusedThread => "reused-thread",
            Repair::EventAfterJoin => "event-after-join",
            Repair::SelfForkOrJoin => "self-fork-or-join",
            Repair::ReusedBlock => "reused-block",
            Repair::UnallocatedFree => "unallocated-free",
            Repair::Gap => "gap",
            Repair::ReleaseAfterGap => "release-after-gap",
        }
    }

    /// What was found and what was done, for people.
    pub fn describe(self) -> &'static str {
        match self {
            Repair::ReentrantAcquire => "re-entrant acquires dropped, with their releases",
            Repair::UnheldRelease => "releases of a lock that nobody held dropped",
            Repair::MissingRelease => "missing releases inserted before another thread's acquire",
            Repair::ForeignRelease => "releases by a thread other than the holder turned into posts",
            Repair::ReleaseMode => "releases in the wrong mode (shared or exclusive) corrected",
            Repair::LateFork => "forks of a thread that already ran applied to its next event",
            Repair::ReusedThread => "forks of a joined thread given a new thread",
            Repair::EventAfterJoin => "events of a thread after its join kept, unordered with the joiner",
            Repair::SelfForkOrJoin => "forks or joins of the thread itself dropped",
            Repair::ReusedBlock => "allocations under an earlier block's name given a new block",
            Repair::UnallocatedFree => "frees of a block that is not allocated dropped",
            Repair::Gap => "gaps where events are missing: all before ordered before all after",
            Repair::ReleaseAfterGap => {
                "releases of locks acquired where events are missing: all before ordered before all after"
            }
        }
    }
}

/// How often each repair was made.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Repairs {
    counts: [u64; Repair::ALL.len()],
}

impl Repairs {
    pub(crate) fn count(&mut self, repair: Repair) {
        self.add(repair, 1);
    }

    /// Counts a repair that was made several times.
    pub fn add(&mut self, repair: Repair, times: u64) {
        self.counts[repair as usize] += times;
    }

    /// How often `repair` was made.
    pub fn of(&self, repair: Repair) -> u64 {
        self.counts[repair as usize]
    }

    /// How many repairs were made in all.
    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// The repairs that were made, with their counts.
    pub fn made(&self) -> impl Iterator<Item = (Repair, u64)> {
        Repair::ALL.into_iter().map(|repair| (repair, self.of(repair))).filter(|&(_, count)| count > 0)
    }
}
