//! Threads that come one after the other share a number, so that the clocks of a program with a million short threads stay short.
//!
//! A thread that joins another one knows everything that it did, in every schedule: only the join says so, no lock. If it then starts a
//! thread, that thread can take over the number of the joined one: its events continue those of its predecessor in thread order, which is an
//! order that fork and join make anyway. So the same events race. What is reported per thread (the first racing access of each other thread,
//! for example) is reported once for all threads with the number.
//!
//! **State.** For each thread the number that it has, if it is another one's, and the numbers that it may give to threads which it starts:
//! those of the threads that it joined, and what those could give. A number has one owner, so it is never given twice.
//! **Which traces.** Recordings only: there a thread is joined once, and does nothing afterwards. The first threads keep their own numbers, so
//! that reports about programs with few threads name the access of each thread.
//! **Tables.** A recording names all its threads in advance. The numbers that are in use are fewer, and tables need not be longer.
//! **Cost.** Nothing until a number is taken over; then a copy of each block.

use overtake_trace::{Action, Checked, Event, EventIndex, Id, IdVec, Renumbered, ThreadId};
use rustc_hash::FxHashMap;

use crate::access::At;

/// So many threads are started before the first one takes over a number.
pub(crate) const OWN_NUMBERS: u64 = 64;

/// Which thread has which number.
#[derive(Clone, Debug)]
pub(crate) struct Succession {
    /// So many threads start with a number of their own.
    own_numbers: u64,
    started: u64,
    /// Found out at the first fork or join.
    is_recording: Option<bool>,
    /// The number of each thread that has another one's, by thread.
    numbers: IdVec<ThreadId, Option<ThreadId>>,
    /// What a thread may give, by its number.
    given_back: IdVec<ThreadId, Vec<ThreadId>>,
    /// The threads that took over a number, each with the event that starts it, by number.
    successors: FxHashMap<ThreadId, Vec<(EventIndex, ThreadId)>>,
    /// Some number was taken over in this pass.
    is_shared: bool,
    /// One more than the largest number that was in use.
    numbers_used: usize,
    room: Renumbered,
}

impl Succession {
    /// Takes numbers over after so many threads.
    pub(crate) fn after(own_numbers: u64) -> Succession {
        Succession {
            own_numbers,
            started: 0,
            is_recording: None,
            numbers: IdVec::new(),
            given_back: IdVec::new(),
            successors: FxHashMap::default(),
            is_shared: false,
            numbers_used: 0,
            room: Renumbered::default(),
        }
    }

    /// Another pass over the same trace begins. Numbers are taken over at the same events.
    pub(crate) fn begin_pass(&mut self) {
        self.started = 0;
        self.numbers = IdVec::new();
        self.given_back = IdVec::new();
        self.is_shared = false;
    }

    /// Hands out the next block, with numbers in place of threads.
    pub(crate) fn renumber(&mut self, checked: &Checked<'_>, take: impl FnOnce(&Checked<'_>)) {
        if self.is_recording == Some(false) {
            return take(checked);
        }
        if !self.is_shared && !checked.forks_or_joins() {
            return take(&self.unshared(checked));
        }
        let is_recording = *self.is_recording.get_or_insert(checked.symbols().program.is_recorded());
        let may_share = is_recording && checked.lives_are_orderly();
        let mut room = std::mem::take(&mut self.room);
        let renumbered = checked.renumbered(&mut room, |index, event| self.event(index, event, may_share));
        match self.is_shared {
            true => take(&renumbered.with_threads(self.numbers_used)),
            false => take(&self.unshared(checked)),
        }
        self.room = room;
    }

    /// A block in which each thread has its own number.
    fn unshared<'a>(&mut self, checked: &'a Checked<'_>) -> Checked<'a> {
        self.numbers_used = self.numbers_used.max(checked.seen_threads());
        checked.with_threads(self.numbers_used)
    }

    fn event(&mut self, index: EventIndex, event: Event, may_share: bool) -> Event {
        let thread = self.number(event.thread());
        let event = event.with_thread(thread);
        let (event, largest) = match event.action() {
            Action::Fork(child) => {
                self.fork(index, thread, child, may_share);
                let number = self.number(child);
                (event.with_operand(number.0), thread.max(number))
            }
            Action::Join(child) => {
                let number = self.number(child);
                self.join(thread, number);
                (event.with_operand(number.0), thread.max(number))
            }
            _ => (event, thread),
        };
        self.numbers_used = self.numbers_used.max(largest.index() + 1);
        event
    }

    #[inline]
    fn number(&self, thread: ThreadId) -> ThreadId {
        self.numbers.get(thread).copied().flatten().unwrap_or(thread)
    }

    fn fork(&mut self, index: EventIndex, thread: ThreadId, child: ThreadId, may_share: bool) {
        self.started += 1;
        if !may_share || self.started <= self.own_numbers {
            return;
        }
        let Some(number) = self.given_back.get_mut(thread).and_then(Vec::pop) else { return };
        *self.numbers.entry(child) = Some(number);
        self.is_shared = true;
        let successors = self.successors.entry(number).or_default();
        // An earlier pass may have noted it.
        if successors.last().is_none_or(|(start, _)| *start < index) {
            successors.push((index, child));
        }
    }

    fn join(&mut self, thread: ThreadId, ended: ThreadId) {
        let mut numbers = std::mem::take(self.given_back.entry(ended));
        numbers.push(ended);
        let own = self.given_back.entry(thread);
        match own.is_empty() {
            true => *own = numbers,
            false => own.append(&mut numbers),
        }
    }

    /// Which thread the event really is of.
    pub(crate) fn name(&self, at: &mut At) {
        let Some(successors) = self.successors.get(&at.thread) else { return };
        let later = successors.partition_point(|(start, _)| *start < at.index);
        if let Some((_, thread)) = later.checked_sub(1).map(|last| successors[last]) {
            at.thread = thread;
        }
    }

    /// Whether there is anything to name.
    pub(crate) fn is_empty(&self) -> bool {
        self.successors.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use overtake_trace::Trace;

    use crate::meaning::Notion;
    use crate::passes::Analysis;
    use crate::race::Race;
    use crate::registry::DETECTORS;
    use crate::settings::Options;
    use crate::testing::{Random, run_analysis};

    /// A recording in which threads start and join short threads, and use a few variables and locks.
    fn short_threads(random: &mut Random) -> Trace {
        let mut text = String::new();
        let mut alive: Vec<Vec<usize>> = vec![Vec::new()];
        let mut ended = vec![false];
        for line in 1..=random.below(160) + 20 {
            let running: Vec<_> = (0..ended.len()).filter(|&thread| !ended[thread]).collect();
            let thread = running[random.below(running.len() as u64) as usize];
            let action = match random.below(10) {
                0 | 1 => {
                    alive[thread].push(ended.len());
                    alive.push(Vec::new());
                    ended.push(false);
                    format!("fork(T{})", ended.len() - 1)
                }
                2 | 3 if !alive[thread].is_empty() => {
                    let child = alive[thread].remove(0);
                    // Whoever waits for a thread waits for those that it started.
                    ended[child] = true;
                    let orphans = std::mem::take(&mut alive[child]);
                    alive[thread].extend(orphans);
                    format!("join(T{child})")
                }
                4 | 5 => {
                    let lock = random.below(2);
                    text += &format!("T{thread}|acq(m{lock})|{line}\n");
                    text += &format!("T{thread}|w(x{})|{line}\n", random.below(3));
                    format!("rel(m{lock})")
                }
                6 => format!("post(s{})", random.below(2)),
                7 => format!("wait(s{})", random.below(2)),
                8 if random.below(3) == 0 => {
                    let operation = ["load", "store", "rmw"][random.below(3) as usize];
                    format!("{operation}.acq_rel(x{})", random.below(2))
                }
                8 => format!("r(x{})", random.below(4)),
                _ => format!("w(x{})", random.below(4)),
            };
            text += &format!("T{thread}|{action}|{line}\n");
        }
        let mut trace = Trace::parse_std(text.as_bytes()).expect("a good trace");
        trace.symbols.program.pid = 1;
        trace
    }

    fn merging() -> impl Iterator<Item = &'static crate::Entry> {
        // `osr` begins later than others.
        DETECTORS.iter().filter(|entry| entry.merges_threads || entry.notion == Notion::SyncReversal)
    }

    fn found(analysis: Analysis, trace: &Trace) -> (Analysis, Vec<u64>) {
        let mut analysis = analysis;
        run_analysis(&mut analysis, trace);
        let events = analysis.findings().racy_events().into_iter().map(|index| index.0).collect();
        (analysis, events)
    }

    #[test]
    fn sharing_numbers_changes_no_verdict() {
        let mut random = Random(7);
        let mut remarks = 0;
        for number in 0..1_000 {
            let trace = short_threads(&mut random);
            // `osr` takes its time.
            for entry in merging().filter(|entry| number < 100 || entry.notion != Notion::SyncReversal) {
                let start = || (entry.start)(&Options::default()).expect("good options");
                let (alone, own) = found(start(), &trace);
                let (sharing, shared) = found(start().sharing_numbers_after(0), &trace);
                assert_eq!(own, shared, "{} on trace {number}", entry.name);
                remarks += usize::from(check_remark(entry, &sharing));
                let variables = |analysis: &Analysis| analysis.findings().racy_variables();
                assert_eq!(variables(&alone), variables(&sharing), "{} on trace {number}", entry.name);
                for group in sharing.findings().groups() {
                    let pair = |race: &Race| (race.first.at, race.second.at, race.verdict);
                    let is_known = alone
                        .findings()
                        .groups()
                        .iter()
                        .any(|own| pair(&own.example) == pair(&group.example));
                    // Of the races of an event with threads that share a number, `osr` judges one.
                    let judges_one = entry.notion == Notion::SyncReversal;
                    assert!(is_known || judges_one, "{} on trace {number}: {group:?}", entry.name);
                    for at in [group.example.first.at, group.example.second.at] {
                        let event = trace.events[at.index.0 as usize];
                        assert_eq!(
                            event.thread(),
                            at.thread,
                            "{} names a thread of trace {number}",
                            entry.name
                        );
                    }
                }
            }
        }
        assert!(remarks > 0, "no possible race beside threads that share a number");
    }

    /// `osr` says that a possible race may be sure; others do not, and it does not where nothing is possible.
    fn check_remark(entry: &crate::Entry, sharing: &Analysis) -> bool {
        let is_said = sharing.remarks().iter().any(|remark| remark.contains("count as one"));
        let mut groups = sharing.findings().groups().iter();
        let is_possible = groups.any(|group| group.surest.verdict == crate::Verdict::Possible);
        assert!(!is_said || (is_possible && entry.notion == Notion::SyncReversal), "{}", entry.name);
        is_said
    }

    #[test]
    fn clocks_stay_short_in_a_sequence_of_threads() {
        let state = |threads: usize| {
            let lines = (1..=threads).map(|child| {
                format!("T0|fork(T{child})|1\nT{child}|w(x)|2\nT{child}|w(y{child})|3\nT0|join(T{child})|4\nT0|r(x)|5\n")
            });
            let mut trace = Trace::parse_std(lines.collect::<String>().as_bytes()).expect("a good trace");
            trace.symbols.program.pid = 1;
            for entry in merging() {
                let mut analysis = entry.analysis(&Options::default()).expect("good options");
                run_analysis(&mut analysis, &trace);
                // A quadratic table of 4,000 threads would take 64 MB.
                assert!(
                    analysis.state_bytes() < threads * 4_000,
                    "{}: {}",
                    entry.name,
                    analysis.state_bytes()
                );
            }
        };
        state(4_000);
    }
}
