//! The threads and critical sections of a whole run.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use overtake_trace::{Action, Block, LockId, Symbols, ThreadId};

use crate::result::{SectionSpan, ThreadSpan, Timeline};

/// Follows threads and locks through a trace.
///
/// If there are too many critical sections, the longest are kept: they can be seen on a timeline. Memory is bounded by the number of kept sections, of
/// threads, and of locks held at once.
#[derive(Debug)]
pub struct TimelineRecorder {
    limit: usize,
    threads: BTreeMap<ThreadId, Running>,
    /// The shortest on top; of equals the latest.
    longest: BinaryHeap<Reverse<(u64, Reverse<u64>, Section)>>,
    left_out: u64,
}

#[derive(Debug)]
struct Running {
    from: u64,
    to: u64,
    open: Vec<(LockId, bool, u64)>,
}

/// A critical section in ids.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Section {
    from: u64,
    to: u64,
    thread: ThreadId,
    lock: LockId,
    shared: bool,
}

impl TimelineRecorder {
    /// How many sections are kept by default: more cannot be distinguished on a screen.
    pub const SECTIONS: usize = 20_000;

    /// Keeps at most this many sections.
    pub fn new(limit: usize) -> TimelineRecorder {
        TimelineRecorder { limit, threads: BTreeMap::new(), longest: BinaryHeap::new(), left_out: 0 }
    }

    /// Reads the next block of the trace.
    pub fn read(&mut self, block: &Block) {
        for (offset, event) in block.events.iter().enumerate() {
            let index = block.first.0 + offset as u64;
            let thread = event.thread();
            let new = || Running { from: index, to: index, open: Vec::new() };
            let running = self.threads.entry(thread).or_insert_with(new);
            running.to = index;
            match event.action() {
                Action::Acquire(lock) => running.open.push((lock, false, index)),
                Action::AcquireShared(lock) => running.open.push((lock, true, index)),
                Action::Release(lock) | Action::ReleaseShared(lock) => {
                    let Some(position) = running.open.iter().rposition(|open| open.0 == lock) else {
                        continue;
                    };
                    let (_, shared, from) = running.open.remove(position);
                    self.keep(Section { from, to: index, thread, lock, shared });
                }
                _ => {}
            }
        }
    }

    fn keep(&mut self, section: Section) {
        self.longest.push(Reverse((section.to - section.from, Reverse(section.from), section)));
        if self.longest.len() > self.limit {
            self.longest.pop();
            self.left_out += 1;
        }
    }

    /// What was read, with names. A section that is still open lasts as long as its thread.
    pub fn finish(mut self, symbols: &Symbols) -> Timeline {
        let open: Vec<_> = self
            .threads
            .iter()
            .flat_map(|(&thread, running)| {
                let to = running.to;
                running.open.iter().map(move |&(lock, shared, from)| Section {
                    from,
                    to,
                    thread,
                    lock,
                    shared,
                })
            })
            .collect();
        open.into_iter().for_each(|section| self.keep(section));
        let mut threads: Vec<_> = self.threads.into_iter().collect();
        threads.sort_by_key(|(_, running)| running.from);
        let positions: BTreeMap<ThreadId, u32> = threads.iter().map(|(thread, _)| *thread).zip(0..).collect();
        let mut sections: Vec<_> = self.longest.into_iter().map(|Reverse((_, _, section))| section).collect();
        sections.sort_unstable();
        let span = |section: Section| SectionSpan {
            lock: symbols.locks.display(section.lock),
            shared: section.shared,
            thread: positions[&section.thread],
            from: section.from,
            to: section.to,
        };
        Timeline {
            threads: threads
                .into_iter()
                .map(|(thread, Running { from, to, .. })| ThreadSpan {
                    name: symbols.threads.display(thread),
                    from,
                    to,
                })
                .collect(),
            sections: sections.into_iter().map(span).collect(),
            sections_left_out: self.left_out,
        }
    }
}

#[cfg(test)]
mod tests {
    use overtake_trace::{Event, EventIndex, LocationId};

    use super::*;

    fn recorded(limit: usize, actions: &[(u32, Action)]) -> Timeline {
        let events =
            actions.iter().map(|&(thread, action)| Event::new(ThreadId(thread), action, LocationId::UNKNOWN));
        let mut recorder = TimelineRecorder::new(limit);
        recorder.read(&Block { first: EventIndex(100), events: events.collect() });
        let mut symbols = Symbols::default();
        for number in 0..8 {
            let _: ThreadId = symbols.threads.intern(format!("T{number}").as_bytes()).expect("there is room");
            let _: LockId = symbols.locks.intern(format!("L{number}").as_bytes()).expect("there is room");
        }
        recorder.finish(&symbols)
    }

    fn spans(timeline: &Timeline) -> Vec<(u32, u64, u64)> {
        timeline.sections.iter().map(|section| (section.thread, section.from, section.to)).collect()
    }

    const A: LockId = LockId(0);
    const B: LockId = LockId(1);

    #[test]
    fn sections_may_overlap_and_stay_open() {
        use Action::*;
        let timeline = recorded(
            10,
            &[
                (7, Acquire(A)),
                (3, AcquireShared(B)),
                (7, Acquire(B)),
                (7, Release(A)),
                (7, Release(B)),
                (3, Skip),
                (3, Release(A)),
            ],
        );
        assert_eq!(spans(&timeline), [(0, 100, 103), (1, 101, 106), (0, 102, 104)]);
        assert!(timeline.sections[1].shared);
        let threads: Vec<_> = timeline.threads.iter().map(|thread| (thread.from, thread.to)).collect();
        assert_eq!(threads, [(100, 104), (101, 106)]);
    }

    #[test]
    fn the_longest_sections_stay() {
        use Action::*;
        let timeline = recorded(
            2,
            &[
                (0, Acquire(A)),
                (0, Release(A)),
                (0, Acquire(A)),
                (0, Skip),
                (0, Release(A)),
                (0, Acquire(B)),
                (0, Release(B)),
            ],
        );
        assert_eq!(spans(&timeline), [(0, 100, 101), (0, 102, 104)]);
        assert_eq!(timeline.sections_left_out, 1);
    }
}
