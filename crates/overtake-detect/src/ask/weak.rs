//! The chain by which the weak order of `wcp` orders two accesses.
//!
//! The rules of the definition (`docs/semantics.md`), applied to the events between the two until nothing new follows. All edges point forward in the
//! trace. So only events from the first access to the second are on the chain. Whether an edge is there depends on sections that end behind its beginning, and so on: the
//! events from a place on are looked at that is in no section.
//!
//! **Cost.** Two bits for each two of these events; so there are at most [`MOST_EVENTS`].

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use super::needs::merged;
use super::{Link, LinkReason};
use crate::access::At;
use crate::summary::{Event, Position, Section, Summary, What};

/// If more events are between two accesses, no chain is looked for.
const MOST_EVENTS: usize = 4_096;

/// The chain from one access to another; none if the weak order does not order them, or if too much is between them.
pub(super) fn chain(summary: &Summary, first: Position, second: Position) -> Option<Vec<Link>> {
    let [first, second] = [first, second].map(|position| summary.start(position));
    let start = start(summary, first);
    if (second - start) as usize >= MOST_EVENTS {
        return None;
    }
    let mut order = WeakOrder::new(summary, start, second);
    order.close();
    let links = order.path((first - start) as usize, (second - start) as usize)?;
    let at = |number: usize| {
        let event = order.event(number);
        At { index: event.index, thread: event.thread, location: event.location }
    };
    let link = |(from, to, reason)| Link { from: at(from), to: at(to), reason };
    Some(merged(links.into_iter().map(link).collect()))
}

/// The position at or before which no section is open that ends behind it.
fn start(summary: &Summary, first: Position) -> Position {
    let mut start = first;
    loop {
        let open = summary.sections.iter().flatten();
        let open = open.filter(|section| section.acquire < start && ends_behind(section, start));
        match open.map(|section| section.acquire).min() {
            Some(earlier) => start = earlier,
            None => return start,
        }
    }
}

fn ends_behind(section: &Section, position: Position) -> bool {
    section.released == overtake_clock::Time::MAX || section.release >= position
}

/// An edge to an event, from the event with this number.
#[derive(Clone, Copy, Debug)]
struct Edge {
    from: usize,
    /// It belongs to the weak order, not to happens-before alone.
    is_weak: bool,
    reason: LinkReason,
}

/// The events of a part of a trace, by their number in it.
struct WeakOrder<'a> {
    summary: &'a Summary,
    start: Position,
    /// By target.
    edges: Vec<Vec<Edge>>,
    /// The sections that begin in this part, by thread.
    sections: Vec<(overtake_trace::ThreadId, Section)>,
}

impl<'a> WeakOrder<'a> {
    fn new(summary: &'a Summary, start: Position, end: Position) -> WeakOrder<'a> {
        let sections = summary.sections.enumerate().flat_map(|(thread, sections)| {
            let inside = sections.iter().filter(|section| (start..=end).contains(&section.acquire));
            inside.map(move |section| (thread, *section))
        });
        let mut sections: Vec<_> = sections.collect();
        sections.sort_unstable_by_key(|(_, section)| section.acquire);
        let count = (end - start) as usize + 1;
        let mut order = WeakOrder { summary, start, edges: vec![Vec::new(); count], sections };
        for to in 0..count {
            let edges = (0..to).rev().filter_map(|from| order.edge(from, to)).collect();
            order.edges[to] = edges;
        }
        order.apply_rule_a();
        order
    }

    fn event(&self, number: usize) -> &'a Event {
        self.summary.event(self.start + number as Position)
    }

    /// The edge between two events that is there from the start.
    fn edge(&self, from: usize, to: usize) -> Option<Edge> {
        let [one, other] = [from, to].map(|number| self.event(number));
        if matches!(one.what, What::Block(_)) || matches!(other.what, What::Block(_)) {
            return None;
        }
        let forks_joined =
            matches!((one.what, other.what), (What::Fork(child), What::Join(joined)) if child == joined);
        if one.thread == other.thread && !forks_joined {
            let is_next = one.rank + 1 == other.rank;
            return is_next.then_some(Edge { from, is_weak: false, reason: LinkReason::Thread });
        }
        let reason = match (one.what, other.what) {
            (What::Fork(child), _) if child == other.thread => LinkReason::Fork,
            (_, What::Join(child)) if child == one.thread || forks_joined => LinkReason::Join,
            (What::Post(posted), What::Wait(object)) if posted == object => LinkReason::Object(object),
            (What::Access(..), What::Access(..)) if self.conflict(from, to, true) => LinkReason::Atomic,
            (What::Release(ended), What::Acquire(begun)) => {
                let ended = self.summary.section(one.thread, ended);
                let begun = self.summary.section(other.thread, begun);
                let reason = LinkReason::Lock(ended.lock);
                return ended.excludes(begun).then_some(Edge { from, is_weak: false, reason });
            }
            _ => return None,
        };
        Some(Edge { from, is_weak: true, reason })
    }

    /// Whether two events touch a variable that one of them writes.
    fn conflict(&self, from: usize, to: usize, atomic: bool) -> bool {
        let touches = |number: usize| self.summary.touches(self.start + number as Position);
        touches(from).any(|(var, one)| {
            touches(to).any(|(other_var, other)| {
                let is_meant = !atomic || (one.is_atomic() && other.is_atomic());
                var == other_var && (one.writes() || other.writes()) && is_meant
            })
        })
    }

    fn number(&self, position: Position) -> Option<usize> {
        let number = position.checked_sub(self.start)? as usize;
        (number < self.edges.len()).then_some(number)
    }

    /// The pairs of sections that exclude each other, each with the earlier one first.
    fn excluding(&self) -> Vec<[usize; 2]> {
        let mut by_lock: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        let mut pairs = Vec::new();
        for (at, (thread, section)) in self.sections.iter().enumerate() {
            let before = by_lock.entry(section.lock).or_default();
            let excludes = |&&other: &&usize| {
                let (user, other) = &self.sections[other];
                user != thread && other.excludes(section)
            };
            pairs.extend(before.iter().filter(excludes).map(|&other| [other, at]));
            before.push(at);
        }
        pairs
    }

    /// The number of the release of a section, if it is in this part.
    fn end(&self, section: &Section) -> Option<usize> {
        let is_ended = section.released != overtake_clock::Time::MAX;
        self.number(section.release).filter(|_| is_ended)
    }

    /// The accesses in a section.
    fn inside(&self, (thread, section): &(overtake_trace::ThreadId, Section)) -> Vec<usize> {
        let start = self.number(section.acquire).unwrap_or(0);
        let end = self.end(section).unwrap_or(self.edges.len());
        let is_access = |&number: &usize| {
            let event = self.event(number);
            event.thread == *thread && matches!(event.what, What::Access(..))
        };
        (start..end).filter(is_access).collect()
    }

    /// Rule (a): a release comes before what conflicts with its section in a section of the lock.
    fn apply_rule_a(&mut self) {
        for [one, other] in self.excluding() {
            let (earlier, later) = (self.inside(&self.sections[one]), self.inside(&self.sections[other]));
            let Some(from) = self.end(&self.sections[one].1) else { continue };
            let reason = LinkReason::SectionConflicts(self.sections[one].1.lock);
            for to in later.into_iter().filter(|&to| to > from) {
                if earlier.iter().any(|&access| self.conflict(access, to, false)) {
                    self.edges[to].push(Edge { from, is_weak: true, reason });
                }
            }
        }
    }

    /// Rule (b), until nothing new follows: a release comes before another one of the lock if its acquire does weakly.
    fn close(&mut self) {
        let mut open = self.excluding();
        loop {
            let weak = self.weakly_before();
            let before = open.len();
            open.retain(|&[one, other]| {
                let [first, second] = [one, other].map(|at| self.sections[at].1);
                let (Some(acquire), Some(from), Some(to)) =
                    (self.number(first.acquire), self.end(&first), self.end(&second))
                else {
                    return false;
                };
                let follows = from < to && weak[to].has(acquire);
                if follows {
                    let reason = LinkReason::SectionPrecedes(first.lock);
                    self.edges[to].push(Edge { from, is_weak: true, reason });
                }
                !follows
            });
            if open.len() == before {
                return;
            }
        }
    }

    /// What is weakly before each event.
    fn weakly_before(&self) -> Vec<Row> {
        let count = self.edges.len();
        let (mut happens, mut weak): (Vec<Row>, Vec<Row>) = (Vec::new(), Vec::new());
        for (to, edges) in self.edges.iter().enumerate() {
            let (mut of_happens, mut of_weak) = (Row::new(count), Row::new(count));
            of_happens.insert(to);
            for edge in edges {
                let is_rule =
                    matches!(edge.reason, LinkReason::SectionConflicts(_) | LinkReason::SectionPrecedes(_));
                if !is_rule {
                    of_happens.join(&happens[edge.from]);
                    of_weak.join(&weak[edge.from]);
                }
                if edge.is_weak {
                    of_weak.join(&happens[edge.from]);
                }
            }
            happens.push(of_happens);
            weak.push(of_weak);
        }
        weak
    }

    /// The shortest path from one event to another with an edge of the weak order.
    fn path(&self, first: usize, second: usize) -> Option<Vec<(usize, usize, LinkReason)>> {
        // A place is an event, and whether such an edge is on the way from it to the second one.
        let mut next: FxHashMap<(usize, bool), (usize, bool, LinkReason)> = FxHashMap::default();
        let mut pending = VecDeque::from([(second, false)]);
        while let Some((to, has_weak)) = pending.pop_front() {
            for edge in self.edges[to].iter().filter(|edge| edge.from >= first) {
                let place = (edge.from, has_weak || edge.is_weak);
                if let std::collections::hash_map::Entry::Vacant(entry) = next.entry(place) {
                    entry.insert((to, has_weak, edge.reason));
                    pending.push_back(place);
                }
            }
        }
        let mut links = Vec::new();
        let mut place = (first, true);
        while place != (second, false) {
            let &(to, has_weak, reason) = next.get(&place)?;
            links.push((place.0, to, reason));
            place = (to, has_weak);
        }
        Some(links)
    }
}

/// A set of numbers.
struct Row(Vec<u64>);

impl Row {
    fn new(count: usize) -> Row {
        Row(vec![0; count.div_ceil(64)])
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    fn has(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn join(&mut self, other: &Row) {
        self.0.iter_mut().zip(&other.0).for_each(|(word, other)| *word |= other);
    }
}
