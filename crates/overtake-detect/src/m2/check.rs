//! The three steps for one pair of accesses.

use overtake_trace::{ThreadId, VarId};
use rustc_hash::FxHashMap;

use super::order::Order;
use crate::access::AccessKind;
use crate::ask::{Hindrance, LinkReason};
use crate::summary::{Before, Chosen, Judgement, Position, Section, Summary, What, excluding};

/// An edge between events, by their numbers, and why it must be there.
type Edge = (usize, usize, LinkReason);

/// Judges pairs of accesses of one trace.
pub(crate) struct Saturation<'a> {
    summary: &'a Summary,
    limit: usize,
}

/// A read with the write that it sees, if any, by their numbers.
#[derive(Clone, Copy)]
struct Read {
    read: usize,
    var: VarId,
    sees: Option<usize>,
}

/// A chosen section, by the numbers of its acquire and its release; none while it stays open.
#[derive(Clone, Copy)]
struct ChosenSection {
    acquire: usize,
    release: Option<usize>,
    section: Section,
    thread: ThreadId,
}

/// Why there is nothing to be put in order.
enum NoTask {
    Hindrance(Hindrance),
    TooLarge,
}

/// What is to be put in order. Events go by their number among those chosen.
struct Task<'a> {
    summary: &'a Summary,
    events: Vec<Position>,
    reads: Vec<Read>,
    writes: FxHashMap<VarId, Vec<usize>>,
    sections: Vec<ChosenSection>,
}

impl<'a> Saturation<'a> {
    pub(crate) fn new(summary: &'a Summary, limit: u64) -> Saturation<'a> {
        Saturation { summary, limit: usize::try_from(limit).unwrap_or(usize::MAX) }
    }

    /// Whether two conflicting accesses of different threads are a race; `first` comes earlier.
    pub(crate) fn judge(&self, first: Position, second: Position) -> Judgement {
        match self.task(first, second) {
            Ok(task) => {
                let roles = [first, second].map(|access| self.summary.event(access).thread);
                let found = task.start().is_some_and(|order| {
                    roles.into_iter().any(|leader| task.complete(order.clone(), leader).is_some())
                });
                if found { Judgement::Race } else { Judgement::NoRace }
            }
            Err(NoTask::TooLarge) => Judgement::TooLarge,
            Err(NoTask::Hindrance(_)) => Judgement::NoRace,
        }
    }

    /// What keeps two accesses apart that were judged to be no race.
    pub(crate) fn hindrance(&self, first: Position, second: Position) -> Hindrance {
        let task = match self.task(first, second) {
            Ok(task) => task,
            Err(NoTask::Hindrance(hindrance)) => return hindrance,
            Err(NoTask::TooLarge) => return Hindrance::NotFound,
        };
        match task.forced() {
            Ok(_) => Hindrance::NotFound,
            Err(circle) => {
                let position = |number: usize| task.events[number];
                let links =
                    circle.into_iter().map(|(from, to, reason)| (position(from), position(to), reason));
                Hindrance::Circle(links.collect())
            }
        }
    }

    /// The schedule of a race: everything that runs before the two, in this order.
    pub(crate) fn schedule(&self, first: Position, second: Position) -> Option<Vec<Position>> {
        let task = self.task(first, second).ok()?;
        let roles = [first, second].map(|access| self.summary.event(access).thread);
        let order = task.start()?;
        let order = roles.into_iter().find_map(|leader| task.complete(order.clone(), leader))?;
        Some(order.linearise().into_iter().map(|number| task.events[number]).collect())
    }

    /// Step 1: the events.
    fn task(&self, first: Position, second: Position) -> Result<Task<'a>, NoTask> {
        let summary = self.summary;
        let racing = [first, second].map(|access| summary.event(access).thread);
        let chosen =
            Chosen::of(summary, first, second, Before::Everything, |thread| !racing.contains(&thread));
        let chosen = chosen.ok_or(NoTask::Hindrance(Hindrance::Needed))?;
        if let Some(open) = excluding(&chosen.open(summary)) {
            return Err(NoTask::Hindrance(Hindrance::BothOpen(open)));
        }
        if chosen.count() > self.limit {
            return Err(NoTask::TooLarge);
        }
        Ok(Task::new(summary, &chosen))
    }
}

impl<'a> Task<'a> {
    fn new(summary: &'a Summary, chosen: &Chosen) -> Task<'a> {
        let events: Vec<Position> = chosen.between(summary, 0, Position::MAX).collect();
        let mut task =
            Task { summary, events, reads: Vec::new(), writes: FxHashMap::default(), sections: Vec::new() };
        let mut numbers: FxHashMap<(ThreadId, u32), usize> = FxHashMap::default();
        for number in 0..task.events.len() {
            let event = summary.event(task.events[number]);
            match event.what {
                What::Access(..) => {
                    for (var, kind) in summary.touches(task.events[number]) {
                        task.note_access(number, var, kind);
                    }
                }
                What::Acquire(place) => {
                    numbers.insert((event.thread, place), task.sections.len());
                    let section = *summary.section(event.thread, place);
                    let thread = event.thread;
                    task.sections.push(ChosenSection { acquire: number, release: None, section, thread });
                }
                What::Release(place) => {
                    if let Some(&at) = numbers.get(&(event.thread, place)) {
                        task.sections[at].release = Some(number);
                    }
                }
                What::Block(_)
                | What::Fork(_)
                | What::Join(_)
                | What::Post(_)
                | What::Wait(_)
                | What::Other => {}
            }
        }
        task
    }

    fn note_access(&mut self, number: usize, var: VarId, kind: AccessKind) {
        let known = self.writes.entry(var).or_default();
        if kind.reads() {
            // The write that it saw in the trace is chosen, and no later one comes before it there.
            self.reads.push(Read { read: number, var, sees: known.last().copied() });
        }
        if kind.writes() {
            known.push(number);
        }
    }

    fn thread(&self, number: usize) -> ThreadId {
        self.summary.event(self.events[number]).thread
    }

    /// Step 2: what every reordering must respect. None if that is a cycle.
    fn start(&self) -> Option<Order> {
        self.forced().ok()
    }

    /// The same; if it is a cycle, its edges.
    fn forced(&self) -> Result<Order, Vec<Edge>> {
        let mut order = Order::new(self.events.len());
        let mut edges = Vec::new();
        let mut last: FxHashMap<ThreadId, usize> = FxHashMap::default();
        for number in 0..self.events.len() {
            let before = last.insert(self.thread(number), number);
            edges.extend(before.map(|before| (before, number, LinkReason::Thread)));
        }
        edges.extend(self.dependencies());
        let is_order = edges.iter().all(|&(from, to, _)| order.add(from, to));
        match is_order && self.saturate(&mut order, &mut edges) {
            true => Ok(order),
            false => Err(circle(&edges)),
        }
    }

    /// Fork, join, wait, and reads after the writes that they see.
    fn dependencies(&self) -> Vec<Edge> {
        let seen = |read: &Read| Some((read.sees?, read.read, LinkReason::Reads(read.var)));
        let mut edges: Vec<Edge> = self.reads.iter().filter_map(seen).collect();
        for to in 0..self.events.len() {
            for from in 0..to {
                let [one, other] = [from, to].map(|number| self.summary.event(self.events[number]));
                let fork = matches!(one.what, What::Fork(child) if child == other.thread);
                let awaited = match other.what {
                    What::Join(child) => {
                        let is_of_child =
                            one.thread == child || matches!(one.what, What::Fork(forked) if forked == child);
                        is_of_child.then_some(LinkReason::Join)
                    }
                    What::Wait(object) => {
                        let is_post = matches!(one.what, What::Post(posted) if posted == object);
                        is_post.then_some(LinkReason::Object(object))
                    }
                    _ => None,
                };
                let reason = if fork { Some(LinkReason::Fork) } else { awaited };
                edges.extend(reason.map(|reason| (from, to, reason)));
            }
        }
        edges
    }

    /// Adds what follows, until nothing new does. False if that is a cycle; its last edge is the last one added then.
    fn saturate(&self, order: &mut Order, edges: &mut Vec<Edge>) -> bool {
        loop {
            let mut new = Vec::new();
            for read in &self.reads {
                self.follow_read(read, order, &mut new);
            }
            for (rank, one) in self.sections.iter().enumerate() {
                for other in &self.sections[..rank] {
                    if one.thread != other.thread && one.section.excludes(&other.section) {
                        follow_sections(one, other, order, &mut new);
                        follow_sections(other, one, order, &mut new);
                    }
                }
            }
            new.retain(|&(from, to, _)| from == to || !order.has(from, to));
            if new.is_empty() {
                return true;
            }
            for edge in new {
                edges.push(edge);
                if !order.add(edge.0, edge.1) {
                    return false;
                }
            }
        }
    }

    fn follow_read(&self, read: &Read, order: &Order, new: &mut Vec<Edge>) {
        let reason = LinkReason::Sees(read.var);
        for &write in self.writes.get(&read.var).into_iter().flatten() {
            if Some(write) == read.sees || write == read.read {
                continue;
            }
            match read.sees {
                None => new.push((read.read, write, reason)),
                Some(sees) => {
                    if order.has(write, read.read) {
                        new.push((write, sees, reason));
                    }
                    if order.has(sees, write) {
                        new.push((read.read, write, reason));
                    }
                }
            }
        }
    }

    /// Step 3: settles what is open, with `leader` first wherever it may be.
    fn complete(&self, mut order: Order, leader: ThreadId) -> Option<Order> {
        let leads = |number: usize| self.thread(number) == leader;
        let pairs = self.conflicts();
        for &(from, to) in pairs.iter().filter(|&&(from, to)| !leads(from) && !leads(to)) {
            if !self.settle(&mut order, from, to) {
                return None;
            }
        }
        for &(from, to) in pairs.iter().filter(|&&(from, to)| leads(from) != leads(to)) {
            let (ahead, behind) = if leads(from) { (from, to) } else { (to, from) };
            if !self.settle(&mut order, ahead, behind) {
                return None;
            }
        }
        Some(order)
    }

    /// Puts one event before another unless they are ordered. Of sections, the end of one before the start of the other.
    fn settle(&self, order: &mut Order, from: usize, to: usize) -> bool {
        let is_settled = order.has(from, to) || order.has(to, from);
        is_settled || (order.add(self.end(from).unwrap_or(from), to) && self.saturate(order, &mut Vec::new()))
    }

    /// The number of the release that ends the section which a number begins.
    fn end(&self, number: usize) -> Option<usize> {
        let section = self.sections.iter().find(|section| section.acquire == number)?;
        section.release
    }

    /// The pairs of different threads whose order matters, in trace order: accesses with a write, and acquires.
    fn conflicts(&self) -> Vec<(usize, usize)> {
        let mut pairs = Vec::new();
        let touches = |number: usize| self.summary.touches(self.events[number]);
        for to in 0..self.events.len() {
            for from in (0..to).filter(|&from| self.thread(from) != self.thread(to)) {
                let conflict = |(a, one): (VarId, AccessKind)| {
                    touches(to).any(|(b, other)| a == b && (one.writes() || other.writes()))
                };
                if touches(from).any(conflict) {
                    pairs.push((from, to));
                }
            }
        }
        for (rank, one) in self.sections.iter().enumerate() {
            for other in self.sections[..rank].iter().filter(|other| other.thread != one.thread) {
                if one.section.excludes(&other.section) {
                    pairs.push((other.acquire, one.acquire));
                }
            }
        }
        pairs.sort_unstable_by_key(|&(from, to)| (to, from));
        pairs
    }
}

/// Sections that exclude each other do not overlap.
fn follow_sections(one: &ChosenSection, other: &ChosenSection, order: &Order, new: &mut Vec<Edge>) {
    let lock = one.section.lock;
    match (one.release, other.release) {
        (Some(release), Some(other_release)) if order.has(one.acquire, other_release) => {
            new.push((release, other.acquire, LinkReason::Lock(lock)));
        }
        (Some(release), None) => new.push((release, other.acquire, LinkReason::LeftOpen(lock))),
        _ => {}
    }
}

/// The shortest circle that the last of these edges closes, with that edge first.
fn circle(edges: &[Edge]) -> Vec<Edge> {
    let Some((&last, before)) = edges.split_last() else { return Vec::new() };
    let mut from: FxHashMap<usize, Vec<&Edge>> = FxHashMap::default();
    before.iter().for_each(|edge| from.entry(edge.0).or_default().push(edge));
    let mut reached: FxHashMap<usize, Edge> = FxHashMap::default();
    let mut pending = std::collections::VecDeque::from([last.1]);
    while let Some(at) = pending.pop_front() {
        for &&edge in from.get(&at).into_iter().flatten() {
            if edge.1 != last.1 && !reached.contains_key(&edge.1) {
                reached.insert(edge.1, edge);
                pending.push_back(edge.1);
            }
        }
    }
    let back = std::iter::successors(reached.get(&last.0), |edge| reached.get(&edge.0));
    let mut path: Vec<Edge> = back.copied().collect();
    path.push(last);
    path.reverse();
    path
}
