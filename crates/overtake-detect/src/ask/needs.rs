//! What each event cannot run without, with reasons: the chain that keeps two accesses apart.
//!
//! The smallest sync-preserving set with what precedes the two, computed from explicit dependencies, breadth first, so that chains
//! are short. If it contains one of the two, the dependencies that led there are the reason why no such reordering brings
//! them side by side.

use std::collections::{BTreeMap, VecDeque};

use overtake_trace::{EventIndex, LockId, MemoryOrder, SyncId, ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::{Link, LinkReason};
use crate::access::{AccessKind, At};
use crate::detector::LockMode;
use crate::visitor::{Touch, Visitor};

/// Where an event is.
type Place = usize;

/// The events of a trace with what each needs.
#[derive(Default, Debug)]
pub(super) struct Needs {
    events: Vec<At>,
    needs: Vec<Vec<(Place, LinkReason)>>,
    sections: BTreeMap<LockId, Vec<Section>>,
    latest: FxHashMap<ThreadId, Place>,
    forks: FxHashMap<ThreadId, Vec<Place>>,
    posts: FxHashMap<SyncId, Vec<Place>>,
    writes: FxHashMap<VarId, Place>,
    allocations: FxHashMap<VarId, Place>,
    /// The allocation of the block that an access uses, with the block.
    blocks: FxHashMap<Place, (Place, VarId)>,
}

#[derive(Clone, Copy, Debug)]
struct Section {
    thread: ThreadId,
    mode: LockMode,
    acquire: Place,
    release: Option<Place>,
}

impl Needs {
    /// Adds an event with what it needs besides its thread's past.
    fn add(&mut self, at: At, more: impl IntoIterator<Item = (Place, LinkReason)>) -> Place {
        let place = self.events.len();
        let mut needs: Vec<_> = self.before(at.thread).collect();
        needs.extend(more);
        self.events.push(at);
        self.needs.push(needs);
        self.latest.insert(at.thread, place);
        place
    }

    /// The last event of a thread, and its forks.
    fn before(&self, thread: ThreadId) -> impl Iterator<Item = (Place, LinkReason)> {
        let latest = self.latest.get(&thread).map(|&place| (place, LinkReason::Thread));
        let forks = self.forks.get(&thread).into_iter().flatten();
        latest.into_iter().chain(forks.map(|&fork| (fork, LinkReason::Fork)))
    }

    fn place(&self, index: EventIndex) -> Option<Place> {
        let behind = self.events.partition_point(|event| event.index <= index);
        behind.checked_sub(1).filter(|&place| self.events[place].index == index)
    }

    /// What links the first event to the second, or to what precedes it, if every reordering with what precedes the two contains one of
    /// them: every sync-preserving one, or, if sections need not keep their order, every one.
    pub(super) fn chain(
        &self,
        first: EventIndex,
        second: EventIndex,
        keeps_sections: bool,
    ) -> Option<Vec<Link>> {
        let goals = [self.place(first)?, self.place(second)?];
        let mut search = Search::new(self);
        for goal in goals {
            for &(before, reason) in &self.needs[goal] {
                if matches!(reason, LinkReason::Thread | LinkReason::Fork) {
                    search.reach(before, goal, reason);
                }
            }
        }
        if let Some(&(allocation, block)) = self.blocks.get(&goals[0]) {
            search.reach(allocation, goals[0], LinkReason::Reads(block));
        }
        search.run(self, goals, keeps_sections)
    }

    /// What links one of two events to the end of a section of a lock, by its acquire; nothing if it does not end.
    pub(super) fn chain_to_end(
        &self,
        first: EventIndex,
        second: EventIndex,
        lock: LockId,
        acquire: At,
    ) -> Vec<Link> {
        let mut sections = self.sections.get(&lock).into_iter().flatten();
        let section = sections.find(|section| self.events[section.acquire] == acquire);
        let release = section.and_then(|section| section.release);
        let Some(((release, first), second)) = release.zip(self.place(first)).zip(self.place(second)) else {
            return Vec::new();
        };
        let mut search = Search::new(self);
        for &(before, reason) in &self.needs[release] {
            search.reach(before, release, reason);
        }
        search.run(self, [first, second], false).unwrap_or_default()
    }
}

struct Search {
    /// For each event inside, what needs it and why.
    because: Vec<Option<(Place, LinkReason)>>,
    pending: VecDeque<Place>,
}

impl Search {
    fn new(needs: &Needs) -> Search {
        Search { because: vec![None; needs.events.len()], pending: VecDeque::new() }
    }

    /// Follows what is needed until it reaches a goal: the links from it to where the search began.
    fn run(&mut self, needs: &Needs, goals: [Place; 2], keeps_sections: bool) -> Option<Vec<Link>> {
        loop {
            while let Some(place) = self.pending.pop_front() {
                if goals.contains(&place) {
                    return Some(self.links(needs, place));
                }
                for &(needed, reason) in &needs.needs[place] {
                    self.reach(needed, place, reason);
                }
            }
            for (&lock, sections) in needs.sections.iter().filter(|_| keeps_sections) {
                for (release, by) in self.missing_ends(sections) {
                    self.reach(release, by, LinkReason::Lock(lock));
                }
            }
            if self.pending.is_empty() {
                return None;
            }
        }
    }

    fn reach(&mut self, place: Place, by: Place, reason: LinkReason) {
        if self.because[place].is_none() {
            self.because[place] = Some((by, reason));
            self.pending.push_back(place);
        }
    }

    fn is_inside(&self, place: Place) -> bool {
        self.because[place].is_some()
    }

    /// Ends of sections of a lock that later acquires inside need, each with the first of these.
    fn missing_ends(&self, sections: &[Section]) -> Vec<(Place, Place)> {
        let inside: Vec<&Section> =
            sections.iter().filter(|section| self.is_inside(section.acquire)).collect();
        let missing = inside.iter().enumerate().filter_map(|(rank, section)| {
            let release = section.release.filter(|&release| !self.is_inside(release))?;
            let excludes =
                |later: &&&Section| later.thread != section.thread && later.mode.excludes(section.mode);
            Some((release, inside[rank + 1..].iter().find(excludes)?.acquire))
        });
        missing.collect()
    }

    /// The links from an event to what it was needed for first.
    fn links(&self, needs: &Needs, goal: Place) -> Vec<Link> {
        let mut links = Vec::new();
        let mut place = goal;
        while let Some((by, reason)) = self.because[place]
            && links.len() < self.because.len()
        {
            links.push(Link { from: needs.events[place], to: needs.events[by], reason });
            place = by;
            if place == goal {
                break;
            }
        }
        merged(links)
    }
}

/// Links of one thread that follow each other are one.
pub(super) fn merged(links: Vec<Link>) -> Vec<Link> {
    let mut merged: Vec<Link> = Vec::new();
    for link in links {
        match merged.last_mut() {
            Some(last) if last.reason == LinkReason::Thread && link.reason == LinkReason::Thread => {
                last.to = link.to;
            }
            _ => merged.push(link),
        }
    }
    merged
}

impl Visitor for Needs {
    fn access(&mut self, at: At, touch: Touch<'_>) {
        let reads = touch.each().filter(|(_, kind)| kind.reads()).map(|(var, _)| var);
        let seen: Vec<_> =
            reads.filter_map(|var| Some((*self.writes.get(&var)?, LinkReason::Reads(var)))).collect();
        let place = self.add(at, seen);
        if touch.kind.writes() {
            self.writes.insert(touch.var, place);
        }
        if touch.kind == AccessKind::Alloc {
            self.allocations.insert(touch.var, place);
        } else if let Some(block) = touch.block_in_use()
            && let Some(&allocation) = self.allocations.get(&block)
        {
            self.blocks.insert(place, (allocation, block));
        }
    }

    fn fence(&mut self, at: At, _: MemoryOrder) {
        self.add(at, []);
    }

    fn acquire(&mut self, at: At, lock: LockId, mode: LockMode) {
        let acquire = self.add(at, []);
        let section = Section { thread: at.thread, mode, acquire, release: None };
        self.sections.entry(lock).or_default().push(section);
    }

    fn release(&mut self, at: At, lock: LockId, _: LockMode) {
        let release = self.add(at, []);
        let sections = self.sections.entry(lock).or_default().iter_mut().rev();
        let mut own = sections.filter(|section| section.thread == at.thread && section.release.is_none());
        if let Some(section) = own.next() {
            section.release = Some(release);
        }
    }

    fn fork(&mut self, at: At, child: ThreadId) {
        let fork = self.add(at, []);
        self.forks.entry(child).or_default().push(fork);
    }

    fn join(&mut self, at: At, child: ThreadId) {
        let child: Vec<_> = self.before(child).map(|(place, _)| (place, LinkReason::Join)).collect();
        self.add(at, child);
    }

    fn post(&mut self, at: At, object: SyncId) {
        let post = self.add(at, []);
        self.posts.entry(object).or_default().push(post);
    }

    fn wait(&mut self, at: At, object: SyncId) {
        let posts = self.posts.get(&object).cloned().unwrap_or_default();
        self.add(at, posts.into_iter().map(|post| (post, LinkReason::Object(object))));
    }

    fn other(&mut self, at: At) {
        self.add(at, []);
    }
}
