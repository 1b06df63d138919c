//! Reads-from posets: threads of reads and writes, an order between some of their events, and for each read the write that it sees.
//!
//! A poset is *realizable* if its events have a total order that keeps the threads and the order, and in which the last write before each
//! read is the one that the read sees. Here every read sees a write of its own thread, as the reduction assumes. So a write and the
//! read that sees it are a *section* of their variable: no other thread may write the variable in between.
//!
//! [`ReadsFromPoset::linearization`] decides by search. A state is how far each thread has come, since that determines which sections are open: the cost is the product of
//! the lengths of the threads. No algorithm is known that is not exponential in the number of threads.

use super::Size;
use crate::rng::Rng;

/// An event of a poset: its thread, and its position there.
pub type PosetEvent = (usize, usize);

/// One access of a thread, which begins or ends a section.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Access {
    /// The variable.
    pub variable: usize,
    /// Whether it is the write that begins a section; else it is the read that ends one.
    pub writes: bool,
}

/// Threads of sections, and orders between events of different threads.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct ReadsFromPoset {
    /// The accesses of each thread. Sections of one variable do not overlap within a thread.
    pub threads: Vec<Vec<Access>>,
    /// What comes before what. From one thread to another, of two orders one has both events before those of the other.
    pub orders: Vec<(PosetEvent, PosetEvent)>,
}

impl ReadsFromPoset {
    /// The poset of the gadget of this size.
    pub fn of_size(size: &Size) -> ReadsFromPoset {
        ReadsFromPoset::random(size, &mut Rng::new(size.seed))
    }

    /// Each thread has a section of each variable. Orders agree with some total order of all events, in which sections may overlap.
    pub(super) fn random(size: &Size, rng: &mut Rng) -> ReadsFromPoset {
        let threads: Vec<_> =
            (0..size.dimension).map(|_| random_thread(size.vectors as usize, rng)).collect();
        let mut total: Vec<PosetEvent> = Vec::new();
        let mut reached = vec![0; threads.len()];
        while let Some(thread) = random_unfinished(&threads, &reached, rng) {
            total.push((thread, reached[thread]));
            reached[thread] += 1;
        }
        let mut poset = ReadsFromPoset { threads, orders: Vec::new() };
        for at in 1..total.len() {
            let (later, earlier) = (total[at], total[rng.below(at as u32) as usize]);
            let is_step_on = |&((one, first), (other, second)): &(PosetEvent, PosetEvent)| {
                (one, other) != (earlier.0, later.0) || (first < earlier.1 && second < later.1)
            };
            // The second events come in the order of the total order, so only the first ones can go back.
            if earlier.0 != later.0 && poset.orders.iter().all(is_step_on) && rng.chance(0.4) {
                poset.orders.push((earlier, later));
            }
        }
        poset
    }

    /// A total order that realizes the poset, if there is one.
    pub fn linearization(&self) -> Option<Vec<PosetEvent>> {
        let mut search = Search::new(self);
        search.reach_end().then_some(search.path)
    }

    /// The orders from one thread to another, by position.
    pub(super) fn orders_between(&self, one: usize, other: usize) -> Vec<(usize, usize)> {
        let between = self.orders.iter().filter(|(first, second)| (first.0, second.0) == (one, other));
        let mut positions: Vec<_> = between.map(|(first, second)| (first.1, second.1)).collect();
        positions.sort_unstable();
        positions
    }

    /// The variables of sections that a thread is in before the event at a position.
    fn is_open(&self, thread: usize, position: usize, variable: usize) -> bool {
        let before = self.threads[thread][..position].iter().rev();
        before.clone().find(|access| access.variable == variable).is_some_and(|access| access.writes)
    }
}

/// A thread with a section of each variable, in random order.
fn random_thread(sections: usize, rng: &mut Rng) -> Vec<Access> {
    let mut closed: Vec<usize> = (0..sections).collect();
    let (mut open, mut accesses): (Vec<usize>, _) = (Vec::new(), Vec::new());
    while !closed.is_empty() || !open.is_empty() {
        let writes = !closed.is_empty() && (open.is_empty() || rng.chance(0.5));
        let from = if writes { &mut closed } else { &mut open };
        let variable = from.swap_remove(rng.below(from.len() as u32) as usize);
        accesses.push(Access { variable, writes });
        if writes {
            open.push(variable);
        }
    }
    accesses
}

fn random_unfinished(threads: &[Vec<Access>], reached: &[usize], rng: &mut Rng) -> Option<usize> {
    let unfinished: Vec<_> =
        (0..threads.len()).filter(|&thread| reached[thread] < threads[thread].len()).collect();
    (!unfinished.is_empty()).then(|| unfinished[rng.below(unfinished.len() as u32) as usize])
}

/// A search through the states of a poset.
struct Search<'a> {
    poset: &'a ReadsFromPoset,
    /// How many events of each thread are done.
    done: Vec<usize>,
    path: Vec<PosetEvent>,
    /// States from which the end was not reached, by number.
    dead: Vec<bool>,
}

impl<'a> Search<'a> {
    fn new(poset: &'a ReadsFromPoset) -> Search<'a> {
        let states = poset.threads.iter().map(|thread| thread.len() + 1).product();
        Search { poset, done: vec![0; poset.threads.len()], path: Vec::new(), dead: vec![false; states] }
    }

    /// Depth first. The path is the stack; going back continues with the thread after the one that was tried.
    fn reach_end(&mut self) -> bool {
        let mut next = 0;
        loop {
            let candidates = next..self.done.len();
            if let Some(thread) = candidates.into_iter().find(|&thread| self.may_run(thread)) {
                self.path.push((thread, self.done[thread]));
                self.done[thread] += 1;
                next = if self.dead[self.number()] { self.step_back() } else { 0 };
            } else if self.done.iter().zip(&self.poset.threads).all(|(&done, thread)| done == thread.len()) {
                return true;
            } else {
                let number = self.number();
                self.dead[number] = true;
                if self.path.is_empty() {
                    return false;
                }
                next = self.step_back();
            }
        }
    }

    /// Takes the last event back and returns the thread to try next.
    fn step_back(&mut self) -> usize {
        let Some((thread, position)) = self.path.pop() else { return 0 };
        self.done[thread] = position;
        thread + 1
    }

    fn number(&self) -> usize {
        let digits = self.done.iter().zip(&self.poset.threads);
        digits.fold(0, |number, (done, thread)| number * (thread.len() + 1) + done)
    }

    fn may_run(&self, thread: usize) -> bool {
        let position = self.done[thread];
        let Some(access) = self.poset.threads[thread].get(position) else { return false };
        let is_met = |&(first, second): &(PosetEvent, PosetEvent)| {
            second != (thread, position) || first.1 < self.done[first.0]
        };
        let is_free = || {
            let mut others = (0..self.done.len()).filter(|&other| other != thread);
            others.all(|other| !self.poset.is_open(other, self.done[other], access.variable))
        };
        self.poset.orders.iter().all(is_met) && (!access.writes || is_free())
    }
}
