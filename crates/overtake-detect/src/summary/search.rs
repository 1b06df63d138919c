//! Judging candidates in windows of the trace.
//!
//! A window begins some events before the first access of a candidate and ends when all candidates in it are judged. What runs
//! before the window is not remembered. That is enough, because each further event that is chosen can only make a race impossible: more
//! sections stay open, and more edges make more cycles. So if there is an order with *everything* before the window chosen, the
//! pair is a race. If there is none with *only what is known to be needed* chosen before the window, the pair is no race. If neither
//! decides, the candidate is judged again with more before it; at last with the whole trace, which is exact.
//!
//! A candidate is judged when the ends of all sections are known that may be ended for it.

use overtake_trace::{Checked, EventIndex, Symbols};
use rustc_hash::{FxHashMap, FxHashSet};

use super::analysis::{Collector, Method};
use super::doubt::{self, doubt};
use super::finder::{Candidate, LocationPair};
use super::{Chosen, Judgement, Position, Summary};
use crate::findings::Findings;
use crate::m2::{SATURATION_EVENTS, Saturation};
use crate::osr::Checker;
use crate::passes::{After, Pass};
use crate::race::{Race, Verdict};
use crate::run::{LiveBlocks, visit};
use crate::syncp::Census;

/// How many events before the first access a window begins, reading by reading. The last one has to be the whole trace.
const LOOK_BACK: [u64; 3] = if cfg!(test) { [0, 10, u64::MAX] } else { [1 << 14, 1 << 20, u64::MAX] };

/// How many readings judging takes, at most.
pub(crate) const READINGS: u32 = LOOK_BACK.len() as u32;

/// How many events after its second access a candidate may wait for the ends of sections.
const PATIENCE: u64 = if cfg!(test) { 20 } else { 1 << 20 };

/// A reported race whose second access comes later than this is not looked at with the whole trace in memory.
const SUPPORT_EVENTS: u64 = 1 << 21;

/// What was looked at.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Counts {
    pub(crate) judged: u64,
    pub(crate) not_judged: u64,
    pub(crate) found: u64,
    /// Of those judged, how many would have taken too many events.
    pub(crate) too_large: u64,
    /// How many were judged without the whole trace, and how many needed more of it than was tried first.
    in_windows: u64,
    again: u64,
}

/// What is known of candidates, whatever the reading.
///
/// Which candidates a block completes, and so the order in which they are judged, depends on the size of blocks. What is reported does not: a race makes only
/// candidates behind it needless, and all races are reported at the end, in the order of the trace.
#[derive(Default, Debug)]
pub(crate) struct Known {
    /// Pairs of locations with a race that `syncp` found.
    groups: FxHashSet<LocationPair>,
    races: Vec<Candidate>,
    /// The first race that answers a question, and the first one of a pair of locations.
    answers: FxHashMap<u64, Place>,
    firsts: FxHashMap<LocationPair, Place>,
    pub(crate) counts: Counts,
}

/// The order of candidates in the trace.
type Place = (EventIndex, EventIndex, u64);

fn place(candidate: &Candidate) -> Place {
    (candidate.second.at.index, candidate.first.at.index, candidate.question)
}

/// A reading of the trace in which candidates are judged.
pub(crate) struct Search {
    method: Method,
    /// It ends with the first race.
    first: bool,
    census: Census,
    /// Which of the readings this is.
    reading: usize,
    /// In the order of their first accesses; the first `entered` are in the window or before it.
    candidates: Vec<Candidate>,
    entered: usize,
    /// Those in the window, with the number of events at which to look next.
    active: Vec<(u64, Candidate)>,
    undecided: Vec<Candidate>,
    window_start: u64,
    collector: Collector,
    known: Known,
    most_bytes: usize,
    /// Figures of what was done before.
    figures: Vec<(&'static str, u64)>,
}

impl Search {
    /// A search through these candidates.
    pub(crate) fn new(method: Method, census: Census, candidates: Vec<Candidate>, not_judged: u64) -> Search {
        // What needs the whole trace is judged at its end.
        let needs_all = !census.is_filtered() || matches!(method, Method::Saturation(_));
        let reading = if needs_all { LOOK_BACK.len() - 1 } else { 0 };
        let known = Known { counts: Counts { not_judged, ..Counts::default() }, ..Known::default() };
        Search::at(reading, method, census, candidates, known)
    }

    fn at(
        reading: usize,
        method: Method,
        census: Census,
        mut candidates: Vec<Candidate>,
        known: Known,
    ) -> Search {
        candidates.sort_by_key(|candidate| candidate.first.at.index);
        Search {
            method,
            first: false,
            collector: Collector::of_windows(census.clone()),
            census,
            reading,
            candidates,
            entered: 0,
            active: Vec::new(),
            undecided: Vec::new(),
            window_start: 0,
            known,
            most_bytes: 0,
            figures: Vec::new(),
        }
    }

    /// The same with figures of what was done before, for people.
    pub(crate) fn with_figures(self, figures: Vec<(&'static str, u64)>) -> Search {
        Search { figures, ..self }
    }

    /// The same, which ends with the first race.
    pub(crate) fn for_the_first_race(self) -> Search {
        Search { first: true, ..self }
    }

    /// Whether no candidate is left for the rest of the reading.
    fn is_over(&self) -> bool {
        let is_idle = !self.collector.builder.is_recording() && self.active.is_empty();
        is_idle && self.entered == self.candidates.len()
    }

    fn looks_at_all(&self) -> bool {
        self.reading + 1 == LOOK_BACK.len()
    }

    /// Opens a window if a candidate before `end` needs one, and takes up candidates whose first access comes before it.
    fn enter(&mut self, start: u64, end: u64) {
        let Some(next) = self.candidates.get(self.entered) else { return };
        let begins = next.first.at.index.0.saturating_sub(LOOK_BACK[self.reading]);
        if begins < end && !self.collector.builder.is_recording() {
            self.collector.builder.open_window();
            self.window_start = start;
        }
        while let Some(&next) = self.candidates.get(self.entered).filter(|next| next.first.at.index.0 < end) {
            self.active.push((next.second.at.index.0 + 1, next));
            self.entered += 1;
        }
    }

    /// Judges what can be judged after the first `end` events.
    fn judge(&mut self, end: u64, is_over: bool) {
        if self.looks_at_all() && !is_over {
            return;
        }
        self.active.sort_by_key(|(_, candidate)| candidate.second.at.index);
        let mut waiting = Vec::new();
        for (due, candidate) in std::mem::take(&mut self.active) {
            if due > end && !is_over {
                waiting.push((due, candidate));
                continue;
            }
            let is_late = end - candidate.second.at.index.0 > PATIENCE;
            match self.ask(&candidate, is_over) {
                Some(Judgement::Unknown) => self.undecided.push(candidate),
                Some(judgement) => {
                    self.known.counts.in_windows += u64::from(!self.looks_at_all());
                    self.known.take(&candidate, judgement);
                }
                None if is_late => self.undecided.push(candidate),
                None => waiting.push((end + (end - candidate.second.at.index.0), candidate)),
            }
        }
        self.active = waiting;
    }

    /// The judgement on a candidate; none if it has to wait.
    fn ask(&self, candidate: &Candidate, is_over: bool) -> Option<Judgement> {
        if self.known.needs_no_look(candidate) {
            return Some(Judgement::NoRace);
        }
        let summary = self.collector.builder.summary();
        let position = |index| summary.access_of(index, candidate.var);
        let accesses = position(candidate.first.at.index).zip(position(candidate.second.at.index));
        let Some((first, second)) = accesses else {
            // What does not matter is ordered by what reads saw.
            let is_settled = self.looks_at_all() || !self.census.matters(candidate.var);
            return Some(if is_settled { Judgement::NoRace } else { Judgement::Unknown });
        };
        self.ask_about(summary, first, second, is_over)
    }

    fn ask_about(
        &self,
        summary: &Summary,
        first: Position,
        second: Position,
        is_over: bool,
    ) -> Option<Judgement> {
        match self.method {
            Method::Reversal => Checker::new(summary).judge_in_window(first, second, is_over),
            Method::Saturation(limit) => Some(Saturation::new(summary, limit).judge(first, second)),
            Method::Support => self.support(summary, first, second, is_over),
        }
    }

    /// Tries everything; what takes the whole trace only if it is there.
    fn support(
        &self,
        summary: &Summary,
        first: Position,
        second: Position,
        is_over: bool,
    ) -> Option<Judgement> {
        let next = [first, second].map(|access| summary.start(access));
        if Chosen::sync_preserving(summary, &next).is_some() {
            return Some(Judgement::Race);
        }
        let judgement = Checker::new(summary).judge_in_window(first, second, is_over)?;
        Some(match judgement {
            Judgement::Race => Judgement::Race,
            _ if !self.looks_at_all() => Judgement::Unknown,
            _ => Saturation::new(summary, SATURATION_EVENTS).judge(first, second),
        })
    }

    /// There is a race, and one is enough.
    fn drop_others(&mut self) {
        let left = self.candidates.len() - self.entered + self.active.len() + self.undecided.len();
        self.known.counts.not_judged += left as u64;
        self.undecided.clear();
    }

    /// Drops the window when nothing in it is under way and it is long, or the next candidate is far.
    fn leave(&mut self, end: u64) {
        let is_long = end - self.window_start > 4 * LOOK_BACK[0];
        let next = self.candidates.get(self.entered).map(|next| next.first.at.index.0);
        let is_far = next.is_none_or(|next| next.saturating_sub(LOOK_BACK[self.reading]) > end);
        if !self.looks_at_all() && self.active.is_empty() && (is_long || is_far) {
            self.collector.builder.close_window();
        }
    }
}

impl Known {
    /// Takes note of a race that `syncp` found.
    fn note(&mut self, race: &Race) {
        self.groups.insert(LocationPair::of(race));
    }

    fn needs_no_look(&self, candidate: &Candidate) -> bool {
        let is_behind = |race: Option<&Place>| race.is_some_and(|race| *race <= place(candidate));
        let group = candidate.group();
        is_behind(self.answers.get(&candidate.question))
            || (candidate.is_known && (self.groups.contains(&group) || is_behind(self.firsts.get(&group))))
    }

    fn take(&mut self, candidate: &Candidate, judgement: Judgement) {
        if self.needs_no_look(candidate) {
            return;
        }
        self.counts.judged += 1;
        self.counts.too_large += u64::from(judgement == Judgement::TooLarge);
        if judgement == Judgement::Race {
            self.races.push(*candidate);
            let place = place(candidate);
            let answer = self.answers.entry(candidate.question).or_insert(place);
            *answer = place.min(*answer);
            let first = self.firsts.entry(candidate.group()).or_insert(place);
            *first = place.min(*first);
        }
    }

    /// All candidates are judged. Reports the races that no earlier one makes needless.
    fn report(&mut self, method: Method, findings: &mut Findings) {
        let mut races = std::mem::take(&mut self.races);
        races.sort_unstable_by_key(place);
        self.answers.clear();
        self.firsts.clear();
        for candidate in races {
            if self.needs_no_look(&candidate) {
                continue;
            }
            let Candidate { var, first, second, question, .. } = candidate;
            self.counts.found += 1;
            self.answers.insert(question, place(&candidate));
            self.firsts.entry(candidate.group()).or_insert(place(&candidate));
            let race = Race { var, verdict: Verdict::Predicted, first, second };
            match method {
                Method::Support => findings.raise(&race),
                Method::Reversal | Method::Saturation(_) => findings.report(race),
            }
        }
    }
}

impl Pass for Search {
    fn feed(&mut self, checked: &Checked<'_>, blocks: &mut LiveBlocks, findings: &mut Findings) {
        if self.known.groups.is_empty() {
            findings.groups().iter().for_each(|group| self.known.note(&group.example));
        }
        if self.is_over() {
            return;
        }
        if self.census.no_block_matters {
            blocks.leave_out();
        }
        let start = checked.first().0;
        let end = start + checked.len() as u64;
        self.collector.reserve_for(checked);
        self.enter(start, end);
        visit(&mut self.collector, blocks, checked);
        self.judge(end, false);
        self.most_bytes = self.most_bytes.max(self.collector.builder.state_bytes());
        self.leave(end);
        if self.first {
            self.known.report(self.method, findings);
        }
    }

    fn end(mut self: Box<Self>, symbols: &Symbols, findings: &mut Findings) -> After {
        if self.first && !findings.is_empty() {
            self.drop_others();
        } else {
            self.judge(u64::MAX, true);
        }
        let Search { method, first, census, reading, mut undecided, mut known, figures, .. } = *self;
        known.counts.again += undecided.len() as u64;
        if method == Method::Support && reading + 2 == LOOK_BACK.len() {
            let before = undecided.len();
            undecided.retain(|candidate| candidate.second.at.index.0 < SUPPORT_EVENTS);
            known.counts.not_judged += (before - undecided.len()) as u64;
        }
        match undecided.is_empty() {
            true => {
                known.report(method, findings);
                let searched = Searched { method, counts: known.counts, figures };
                doubt(symbols, findings, census, Box::new(searched))
            }
            false => {
                let search = Search::at(reading + 1, method, census, undecided, known);
                After::Pass(Box::new(Search { first, figures, ..search }))
            }
        }
    }

    fn state_bytes(&self) -> usize {
        self.most_bytes + self.candidates.capacity() * size_of::<Candidate>()
    }

    fn readings(&self) -> u32 {
        READINGS - self.reading as u32 + doubt::READINGS
    }
}

/// What remains of the search when all candidates are judged: its figures.
pub(crate) struct Searched {
    method: Method,
    counts: Counts,
    /// Figures of what was done before.
    figures: Vec<(&'static str, u64)>,
}

impl Searched {
    /// The result of a search that judged no pair and left out `not_judged` pairs.
    pub(crate) fn nothing(method: Method, not_judged: u64) -> Searched {
        let counts = Counts { not_judged, ..Counts::default() };
        Searched { method, counts, figures: Vec::new() }
    }
}

impl Pass for Searched {
    fn feed(&mut self, _: &Checked<'_>, _: &mut LiveBlocks, _: &mut Findings) {}

    fn end(self: Box<Self>, _: &Symbols, _: &mut Findings) -> After {
        After::Done(self)
    }

    fn state_bytes(&self) -> usize {
        0
    }

    fn figures(&self) -> Vec<(&'static str, u64)> {
        if self.method == Method::Support {
            let supported = ("suspected races with a schedule", self.counts.found);
            return self.figures.iter().copied().chain([supported]).collect();
        }
        vec![
            ("pairs that syncp left open, judged", self.counts.judged),
            ("pairs not judged", self.counts.not_judged + self.counts.too_large),
            ("races that syncp misses", self.counts.found),
            ("pairs judged in windows", self.counts.in_windows),
            ("pairs judged again with more of the trace", self.counts.again),
        ]
    }

    fn remarks(&self, _: &Findings) -> Vec<String> {
        let Counts { not_judged, too_large, .. } = self.counts;
        let mut remarks = Vec::new();
        if self.method == Method::Support {
            if not_judged > 0 {
                remarks.push(format!(
                    "{not_judged} suspected races come so late in the trace that no schedule was looked for"
                ));
            }
            return remarks;
        }
        if not_judged > 0 {
            remarks.push(format!(
                "{not_judged} further pairs of accesses, between locations of which others were judged, were not judged; \
                 --instances 0 judges all"
            ));
        }
        if too_large > 0 {
            remarks.push(format!(
                "{too_large} pairs of accesses were not judged because a schedule for them takes more events than --schedule-limit"
            ));
        }
        remarks
    }
}
