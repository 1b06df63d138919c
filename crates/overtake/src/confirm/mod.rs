//! Makes races happen: runs the program again and holds threads at the two accesses until they meet.
//!
//! The runtime's back end `gates` holds a thread at one access of a race until another thread stands at the other one
//! (`overtake-runtime/src/gates/`). This module decides what is tried, in this order:
//!
//! 1. The program runs twice undisturbed, to learn how it ends, how long it takes, and whether its output is always the same.
//! 2. One run holds threads for all races at once, as far as their accesses are at different instructions. Where the witness of a race takes the sections of a
//!    lock in another order than the recorded run, the acquire that came first waits for the release of the other thread (a gate).
//! 3. Each race that was not met gets runs of its own. The first runs hold only a thread that was created at the same place and came through the same
//!    calls as in the recorded run. If no such thread comes, later runs hold any thread that reaches the instruction. If a held thread had a lock that the
//!    other thread needed on its way and the witness has no gate for it, the next run has one. If the accesses are in loops, each run learns in which
//!    iterations two threads access common bytes, and the next run holds the threads there. If time ran out, the next run waits longer.
//! 4. Each race that was met gets one more run for each order of the two accesses. How it ends is compared with the undisturbed runs.
//!
//! A deadlock is tried in the same way: each thread is held before the acquire by which it would wait for the next thread. The deadlock is confirmed when
//! each thread has the lock that the thread before it wants.
//!
//! A race that was met is a fact: both threads stood at conflicting accesses to the same bytes, and no lock was held by both. A race
//! that was not met may still be possible.

mod plan;
mod trial;
mod words;

use std::collections::HashSet;
use std::path::Path;
use std::time::{Duration, Instant};

use overtake_detect::Verdict;
use overtake_report::result::{Confirmed, Finding, NOT_CONFIRMED, Report};

use crate::recording::{Scratch, scratch_directory};
use crate::surroundings::{Client, Surroundings};
use crate::{Error, Listener};
use plan::{Meeting, Order, Plan, Request, Seen};
use trial::{Ending, STREAMS};
use words::{Atlas, counted, cycle_in_words, in_words, reason};

pub use trial::Trial;

/// How hard to try.
#[derive(Clone, Debug)]
pub struct ConfirmOptions {
    /// The most runs for each race; runs that try both orders are not counted.
    pub tries: u32,
    /// The longest time that a thread is held; by default it follows from how long the program takes.
    pub hold: Option<Duration>,
    /// No new run starts after this time.
    pub budget: Option<Duration>,
    /// What runs.
    pub trial: Trial,
    /// The command line that does the same, for reports; [`RACE`] in it stands for the race.
    pub repeat: String,
}

impl ConfirmOptions {
    /// The command line that does the same for one race.
    fn repeat_for(&self, finding: &Finding) -> String {
        self.repeat.replace(RACE, &finding.fingerprint)
    }
}

/// Stands for the fingerprint of a race in [`ConfirmOptions::repeat`].
pub const RACE: &str = "{race}";

/// What came of the attempt to see a race.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Attempt {
    /// The position of the finding in the report.
    pub finding: usize,
    /// Whether it was seen.
    pub is_confirmed: bool,
    /// What came of it, as a sentence.
    pub said: String,
}

/// The findings of a report that another run could confirm, the most severe first: races and deadlocks of a recorded program that did not happen
/// yet.
pub fn candidates(report: &Report) -> Vec<usize> {
    let is_open = |finding: &Finding| finding.verdict != Verdict::Observed && Request::of(finding).is_some();
    (0..report.findings.len()).filter(|&at| is_open(&report.findings[at])).collect()
}

/// The most races that share a run: it must not hold too many threads at once.
const MOST_TOGETHER: usize = 16;
/// The shortest and the longest time that threads are held, unless an option says otherwise.
const HOLD: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(10));
/// Runs for each order of a race that was met.
const ORDER_TRIES: u32 = 3;

/// Tries to see the chosen findings of a report happen, and notes what came of it in them.
pub fn confirm(
    report: &mut Report,
    chosen: &[usize],
    options: &ConfirmOptions,
    listener: &dyn Listener,
) -> Result<Vec<Attempt>, Error> {
    let parent = scratch_directory(listener);
    let scratch =
        Scratch::new_in("overtake-confirm-", &parent).map_err(|error| Error::in_file(&parent, error))?;
    for changed in changed_modules(report) {
        listener.say(&changed);
    }
    let session = Session::new(options, scratch.path())?;
    let atlas = Atlas::of(report);
    let mut requests: Vec<(usize, Request, Tally)> = Vec::new();
    for &at in chosen {
        requests.push((at, request_for(report, at)?, Tally::default()));
    }
    session.together(&mut requests)?;
    let mut attempts = Vec::new();
    for (at, request, mut tally) in requests {
        let finding = &report.findings[at];
        listener.say(&format!("{} {}: {}", finding.kind.word(), finding.id, finding.headline));
        session.alone(request, &mut tally)?;
        if tally.runs == 0 {
            listener.say("  not tried: the time ran out");
            continue;
        }
        let attempt = session.conclude(at, finding, &tally, &atlas)?;
        listener.say(&format!("  {}", attempt.0.said));
        let finding = &mut report.findings[at];
        finding.notes.retain(|note| !note.starts_with(NOT_CONFIRMED));
        match attempt.1 {
            Some(confirmed) => finding.confirmed = Some(confirmed),
            None => finding.notes.push(attempt.0.said.clone()),
        }
        attempts.push(attempt.0);
    }
    Ok(attempts)
}

/// What to ask a run for, to see a finding happen.
fn request_for(report: &Report, at: usize) -> Result<Request, Error> {
    report.findings.get(at).and_then(Request::of).ok_or_else(|| {
        Error::usage(format!(
            "finding {} is no race or deadlock of a recorded program, so it cannot be confirmed",
            at + 1
        ))
    })
}

/// A stopped program: both threads of a race stand at their accesses.
pub struct Stopped {
    child: std::process::Child,
    client: Option<Client>,
    surroundings: Surroundings,
    _scratch: Scratch,
}

impl Stopped {
    /// Its process number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// Ends the program and its client, and runs the command that comes after a run.
    pub fn end(mut self) -> Result<(), Error> {
        let _ = self.child.kill(); // it may have ended by itself
        let _ = self.child.wait();
        if let Some(client) = self.client {
            client.end();
        }
        self.surroundings.clean_up()
    }
}

/// Runs the program until both threads of a race stand at their accesses, and stops it there.
pub fn stop_at(
    report: &Report,
    finding: usize,
    options: &ConfirmOptions,
    listener: &dyn Listener,
) -> Result<Stopped, Error> {
    let parent = scratch_directory(listener);
    let scratch =
        Scratch::new_in("overtake-confirm-", &parent).map_err(|error| Error::in_file(&parent, error))?;
    let request = request_for(report, finding)?;
    let session = Session::new(options, scratch.path())?;
    let mut tally = Tally::default();
    session.alone(request, &mut tally)?;
    let request = tally
        .request
        .ok_or_else(|| Error::failed(format!("the threads did not meet in {}", counted(tally.runs))))?;
    for _ in 0..options.tries {
        let plan = Plan::write(
            scratch.path(),
            std::slice::from_ref(&request),
            session.hold().as_millis() as u64,
            true,
        )?;
        let surroundings = options.trial.surroundings.clone();
        surroundings.prepare()?;
        let mut child = options.trial.start("gates", Some(plan.path()), scratch.path())?;
        let client = surroundings.start_client(&mut child)?;
        if trial::stops(&mut child)? {
            return Ok(Stopped { child, client, surroundings, _scratch: scratch });
        }
        client.into_iter().for_each(Client::end);
        surroundings.clean_up()?;
    }
    Err(Error::failed("the threads met once, but not again"))
}

/// Names the modules that changed since they were recorded: the instructions of a race may have moved.
fn changed_modules(report: &Report) -> Vec<String> {
    let modules = report.runs.iter().flat_map(|run| &run.modules);
    let changed = modules.filter(|module| {
        let now = overtake_seal::build_id(Path::new(&module.path));
        now.is_some_and(|now| now != module.build_id)
    });
    let mut said: Vec<String> = changed
        .map(|module| format!("{} has changed since it was recorded; record it again", module.path))
        .collect();
    said.sort();
    said.dedup();
    said
}

/// What the runs for one race gave so far.
#[derive(Clone, Default)]
struct Tally {
    runs: u32,
    met: u32,
    last: Seen,
    meeting: Option<Meeting>,
    /// The request that led to the meeting.
    request: Option<Request>,
    arrivals: Vec<u64>,
    stalls: u64,
    timeouts: u64,
    other_meetings: u64,
    /// Some run held threads only when they came for a certain time.
    has_named_occurrences: bool,
}

impl Tally {
    fn add(&mut self, request: &Request, seen: &Seen) {
        self.runs += 1;
        self.last = seen.clone();
        self.has_named_occurrences |= request.names_occurrences();
        self.stalls += seen.stalls;
        self.timeouts += seen.timeouts;
        self.other_meetings += seen.other_meetings;
        self.arrivals.resize(seen.arrivals.len(), 0);
        for (sum, arrivals) in self.arrivals.iter_mut().zip(&seen.arrivals) {
            *sum += arrivals;
        }
        if let Some(meeting) = &seen.meeting {
            self.met += 1;
            self.meeting.get_or_insert_with(|| meeting.clone());
            self.request.get_or_insert_with(|| request.clone());
        }
    }
}

/// The program, and how it behaves when nobody holds its threads.
struct Session<'a> {
    options: &'a ConfirmOptions,
    directory: &'a Path,
    plain: Ending,
    again: Ending,
    /// Whether two undisturbed runs wrote the same, by stream. What differs anyway is not compared.
    is_steady: [bool; 2],
    /// No run starts after this time.
    end: Option<Instant>,
}

impl<'a> Session<'a> {
    fn new(options: &'a ConfirmOptions, directory: &'a Path) -> Result<Session<'a>, Error> {
        /// An undisturbed run that takes longer is killed.
        const PATIENCE: Duration = Duration::from_secs(600);
        let end = options.budget.and_then(|budget| Instant::now().checked_add(budget));
        let plain = options.trial.run("silent", None, directory, PATIENCE)?;
        let again = options.trial.run("silent", None, directory, PATIENCE)?;
        let is_steady = [0, 1].map(|stream| plain.written[stream] == again.written[stream]);
        Ok(Session { options, directory, plain, again, is_steady, end })
    }

    /// How the undisturbed runs ended, in words.
    fn usual_end(&self) -> String {
        let (plain, again) = (self.plain.in_words(), self.again.in_words());
        if plain == again { plain } else { format!("{plain} or {again}") }
    }

    fn is_over(&self) -> bool {
        self.end.is_some_and(|end| Instant::now() >= end)
    }

    fn hold(&self) -> Duration {
        let usual = (self.plain.time * 3).clamp(HOLD.0, HOLD.1);
        self.options.hold.unwrap_or(usual)
    }

    /// One run under a plan.
    fn run(&self, requests: &[Request], hold: Duration) -> Result<(Vec<Seen>, Ending), Error> {
        let plan = Plan::write(self.directory, requests, hold.as_millis() as u64, false)?;
        let most = self.plain.time * 10 + hold * 20 * requests.len() as u32 + Duration::from_secs(10);
        let ending = self.options.trial.run("gates", Some(plan.path()), self.directory, most)?;
        Ok((plan.outcome()?, ending))
    }

    /// All races in as few runs as possible: those whose accesses are at different instructions share one.
    fn together(&self, requests: &mut [(usize, Request, Tally)]) -> Result<(), Error> {
        let mut rest: Vec<usize> = (0..requests.len()).collect();
        while rest.len() > 1 && !self.is_over() {
            let mut sites = HashSet::new();
            let (mut apart, mut others) = (Vec::new(), Vec::new());
            for at in rest {
                let wanted = || requests[at].1.sites();
                let is_free = apart.len() < MOST_TOGETHER && !wanted().any(|site| sites.contains(&site));
                if is_free {
                    sites.extend(wanted());
                    apart.push(at);
                } else {
                    others.push(at);
                }
            }
            let wanted: Vec<Request> = apart.iter().map(|&at| requests[at].1.clone()).collect();
            let (seen, _) = self.run(&wanted, self.hold())?;
            for (&at, seen) in apart.iter().zip(&seen) {
                let (_, request, tally) = &mut requests[at];
                tally.add(request, seen);
            }
            rest = others;
        }
        Ok(())
    }

    /// Runs for one race, until it is met or was tried often enough.
    fn alone(&self, mut request: Request, tally: &mut Tally) -> Result<(), Error> {
        let mut hold = self.hold();
        if tally.runs > 0 {
            request = next_request(request, tally);
        }
        while tally.met == 0 && tally.runs < self.options.tries && !self.is_over() {
            let (seen, _) = self.run(std::slice::from_ref(&request), hold)?;
            let Some(seen) = seen.first() else { break };
            tally.add(&request, seen);
            request = next_request(request, tally);
            if seen.timeouts > 0 && self.options.hold.is_none() {
                hold = (hold * 2).min(HOLD.1);
            }
        }
        Ok(())
    }

    /// What the runs say about a race and, if it was met, how each order of its accesses ends.
    fn conclude(
        &self,
        at: usize,
        finding: &Finding,
        tally: &Tally,
        atlas: &Atlas,
    ) -> Result<(Attempt, Option<Confirmed>), Error> {
        let (Some(meeting), Some(request)) = (&tally.meeting, &tally.request) else {
            let again = self.options.repeat_for(finding);
            let (runs, reason) = (counted(tally.runs), reason(finding, tally));
            let said = format!("{NOT_CONFIRMED} in {runs}: {reason}; again: {again}");
            return Ok((Attempt { finding: at, is_confirmed: false, said }, None));
        };
        let Effect { outcome, ends } = self.effect_of(finding, request)?;
        let confirmed = Confirmed {
            met: tally.met,
            runs: tally.runs,
            order: order_of(meeting, request.is_deadlock),
            outcome,
            ends,
            seen: match request.is_deadlock {
                true => cycle_in_words(meeting),
                false => in_words(meeting) + &atlas.waits(meeting, &request.gates),
            },
            stands: atlas.stands(meeting),
            repeat: self.options.repeat_for(finding),
        };
        let rest =
            if confirmed.outcome.is_empty() { String::new() } else { format!("; {}", confirmed.outcome) };
        let said = format!("confirmed in {} of {}: {}{rest}", tally.met, counted(tally.runs), confirmed.seen);
        Ok((Attempt { finding: at, is_confirmed: true, said }, Some(confirmed)))
    }

    /// What either order of the accesses does to the program.
    fn effect_of(&self, finding: &Finding, request: &Request) -> Result<Effect, Error> {
        let mut runs = Vec::new();
        let orders = [(Order::First, 0), (Order::Second, 1)];
        // A deadlock has no order: neither thread would go on.
        for (order, first) in orders.into_iter().filter(|_| !request.is_deadlock) {
            if let Some(difference) = self.difference(Request { order, ..request.clone() })? {
                runs.push((first, difference));
            }
        }
        let place = |at: usize| {
            let access = finding.accesses.get(at);
            access.map_or_else(String::new, |access| {
                let place = access.site().map(overtake_report::result::Frame::place).unwrap_or_default();
                format!("the {} at {place}", access.operation)
            })
        };
        let usual = self.usual_end();
        let changed = runs.iter().filter_map(|(first, difference)| {
            let what = match difference {
                Difference::None => return None,
                Difference::Ends(how) => format!("it ends with {how} instead of {usual}"),
                Difference::Writes(streams) => format!("it writes something else to {streams}"),
            };
            Some(format!("with {} first, {what}", place(*first)))
        });
        let changed: Vec<String> = changed.collect();
        let outcome = match (changed.is_empty(), runs.len()) {
            (false, _) => changed.join("; "),
            (true, 2) => format!("either order ends with {usual}, as without holding"),
            (true, _) => String::new(),
        };
        let outcome = [outcome, self.not_compared(runs.len())].into_iter().filter(|text| !text.is_empty());
        let outcome = outcome.collect::<Vec<_>>().join("; ");
        let end = |(_, difference): &(usize, Difference)| match difference {
            Difference::Ends(how) => Some(how.clone()),
            Difference::None | Difference::Writes(_) => None,
        };
        // The order that did not happen in the recorded run says more.
        let ends = runs.iter().rev().find_map(end).unwrap_or_default();
        Ok(Effect { outcome, ends })
    }

    /// How a run with this order differs from the undisturbed runs; `None` if the threads did not meet.
    fn difference(&self, request: Request) -> Result<Option<Difference>, Error> {
        for _ in 0..ORDER_TRIES {
            let (seen, ending) = self.run(std::slice::from_ref(&request), self.hold())?;
            if seen.first().is_some_and(|seen| seen.meeting.is_some()) {
                let differs = |stream: usize| {
                    self.is_steady[stream] && ending.written[stream] != self.plain.written[stream]
                };
                let streams = named_streams(differs);
                return Ok(Some(match streams.is_empty() {
                    _ if ![self.plain.status, self.again.status].contains(&ending.status) => {
                        Difference::Ends(ending.in_words())
                    }
                    false => Difference::Writes(streams),
                    true => Difference::None,
                }));
            }
        }
        Ok(None)
    }

    /// What was not compared in so many runs, as a sentence; empty if everything was.
    fn not_compared(&self, runs: usize) -> String {
        let streams = named_streams(|stream| !self.is_steady[stream]);
        match (streams.as_str(), runs) {
            ("", _) | (_, 0) => String::new(),
            _ => format!("what it writes to {streams} differs from run to run and is not compared"),
        }
    }
}

/// What the orders of two accesses do to the program.
struct Effect {
    /// As a sentence.
    outcome: String,
    /// How it ends, if it ends otherwise in one of them.
    ends: String,
}

/// How a run differs from an undisturbed one.
enum Difference {
    None,
    Ends(String),
    /// Something else to these streams.
    Writes(String),
}

/// The names of some of the streams, joined; empty for none.
fn named_streams(is_meant: impl Fn(usize) -> bool) -> String {
    let named: Vec<&str> =
        (0..STREAMS.len()).filter(|&stream| is_meant(stream)).map(|stream| STREAMS[stream]).collect();
    named.join(" and ")
}

/// What the next run should do otherwise, after one in which the threads did not meet.
fn next_request(request: Request, tally: &Tally) -> Request {
    let seen = &tally.last;
    let request = request.with_gate(seen.blocking);
    match seen.learnt {
        Some(learnt) if !request.names_occurrences() && !tally.has_named_occurrences => {
            request.at_occurrences(learnt)
        }
        _ if seen.misses_a_side() || request.names_occurrences() || tally.runs.is_multiple_of(2) => {
            request.coarser()
        }
        _ => request,
    }
}

/// The accesses of a race in the order in which they were made; of a deadlock none was.
fn order_of(meeting: &Meeting, is_deadlock: bool) -> Vec<u32> {
    if is_deadlock { Vec::new() } else { vec![meeting.first, 1 - meeting.first.min(1)] }
}
