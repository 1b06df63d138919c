//! Findings: what was found, by which threads, on what.

use std::borrow::Cow;

use overtake_detect::Verdict;
use serde::{Deserialize, Serialize};

use super::Status;
use super::frame::{Frame, innermost_own};
use super::schedule::Schedule;
use super::stored::VerdictForm;
use crate::number::{counted, grouped};
use crate::rules::{Rule, find_rule};

/// Races between one pair of code locations, a deadlock, or a misuse.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Finding {
    /// Its number in this report, from 1.
    pub id: u32,
    /// What stays the same from run to run: 16 hexadecimal digits, from the two stacks and the kind of memory, whichever access
    /// came first. Addresses, thread numbers, event numbers and line numbers have no part in it.
    pub fingerprint: String,
    /// What sort of finding it is.
    pub kind: Kind,
    /// Which rule it violates; see [`RULES`](crate::rules::RULES).
    pub rule: String,
    /// How sure it is; the surest of its races.
    #[serde(with = "VerdictForm")]
    pub verdict: Verdict,
    /// One line in plain words, without the verdict: `counters.hits: Server::poll reads while Stats::reset writes`.
    pub headline: String,
    /// The memory that the accesses touch; none of a finding that is not about memory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Memory>,
    /// What the threads do. A race has two accesses. In a trace the earlier one comes first. In a recorded program timing
    /// decides which is earlier, so the code does instead (functions, files, lines); [`Access::event`] says which came earlier.
    /// A deadlock has the acquire at which each thread waits, each waiting for the next one, the last one for the first. A
    /// misuse has the call that is wrong, and what it is wrong after.
    pub accesses: Vec<Access>,
    /// The locks and threads that it is about, by name; empty for a race.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<String>,
    /// What else people must know, a sentence each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// What came out when the program ran again under control; none if that was not tried or did not succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confirmed: Option<Confirmed>,
    /// How many races there are between these locations; how often another finding was made.
    pub count: u64,
    /// How many of them were observed.
    pub observed: u64,
    /// The detectors that report it.
    pub detectors: Vec<String>,
    /// The runs that have it, as positions in [`Report::runs`](super::Report::runs); the example is from the first.
    pub runs: Vec<u32>,
    /// Which synchronisation there is between the two threads and why it does not order the accesses. A paragraph.
    pub why: String,
    /// What would order them. A sentence or two.
    pub remedy: String,
    /// The part of the run around the two accesses, and how another schedule brings them together. None where it was not built.
    pub schedule: Option<Schedule>,
    /// Whether it is new, known or suppressed.
    #[serde(default)]
    pub status: Status,
}

/// How the note about a finding begins that was tried to be seen in vain.
pub const NOT_CONFIRMED: &str = "not confirmed";

/// What sort of finding it is.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Debug)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Two conflicting accesses that can happen at the same time.
    #[default]
    Race,
    /// Threads that can come to wait for each other forever.
    Deadlock,
    /// A lock, a thread or a signal that is not used as it must be.
    Misuse,
}

impl Kind {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Race => "race",
            Kind::Deadlock => "deadlock",
            Kind::Misuse => "misuse",
        }
    }
}

/// What came out when the program ran again and the threads were held at the accesses.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Confirmed {
    /// In how many runs the threads met.
    pub met: u32,
    /// How many runs there were.
    pub runs: u32,
    /// Which access went first in the run that `outcome` is about: a position in [`Finding::accesses`] each.
    pub order: Vec<u32>,
    /// Where the threads stood and what the memory held.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// Where each thread stood, in the order of [`Finding::accesses`]; empty if that is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stands: Vec<Stand>,
    /// What the program did then: `exit code 1 instead of 0`.
    pub outcome: String,
    /// How the program ended in an order of the accesses that made it end otherwise: `SIGSEGV`. Empty if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub ends: String,
    /// The command line that does it again.
    pub repeat: String,
}

/// Where a thread stood when it was held at its access.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Stand {
    /// The name of the thread in that run, which may be another one than in the recorded run.
    pub thread: String,
    /// What it was about to do: `read`, `write`, `atomic load`, `atomic write`, `acquire`.
    pub operation: String,
    /// The first byte of the access, in hexadecimal.
    pub address: String,
    /// How many bytes.
    pub bytes: u64,
    /// The call stack, innermost first.
    pub stack: Vec<Frame>,
}

impl Stand {
    /// The operation of a thread that was about to take a lock.
    pub const ACQUIRE: &'static str = "acquire";
}

/// What one thread does: an access to memory, an acquire, a call.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Access {
    /// In words: `read`, `write`, `atomic load`, `free`, `lock`, ...
    pub operation: String,
    /// On what, where that is not the memory of the finding: the lock that is waited for, ...
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub object: String,
    /// Whether it changes the memory.
    pub writes: bool,
    /// How many bytes it touches; 0 if unknown.
    pub bytes: u32,
    /// Index of the event in the trace.
    pub event: u64,
    /// The thread.
    pub thread: Thread,
    /// The call stack, innermost first. A trace that has locations only gives one frame without a function.
    /// Empty if nothing is known.
    pub stack: Vec<Frame>,
    /// The locks its thread holds, in the order in which they were taken.
    pub held: Vec<HeldLock>,
}

/// A thread.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Thread {
    /// Its name in the trace, or the name it gave itself.
    pub name: String,
    /// Whether it is the first one of its process.
    pub main: bool,
    /// The name of the thread that created it; empty if unknown.
    pub creator: String,
    /// Where it was created, innermost first; empty if unknown.
    pub created_at: Vec<Frame>,
}

impl Default for Finding {
    fn default() -> Finding {
        Finding {
            id: 0,
            fingerprint: String::new(),
            kind: Kind::Race,
            rule: "data-race".into(),
            verdict: Verdict::Observed,
            headline: String::new(),
            memory: None,
            accesses: Vec::new(),
            objects: Vec::new(),
            notes: Vec::new(),
            confirmed: None,
            count: 1,
            observed: 0,
            detectors: Vec::new(),
            runs: Vec::new(),
            why: String::new(),
            remedy: String::new(),
            schedule: None,
            status: Status::New,
        }
    }
}

impl Finding {
    /// Its rule.
    pub fn rule(&self) -> &'static Rule {
        find_rule(&self.rule, self.kind)
    }

    /// How sure it is, in a word: `confirmed` if it was seen to happen, else its verdict.
    pub fn standing(&self) -> &'static str {
        if self.confirmed.is_some() { Self::CONFIRMED } else { self.verdict.word() }
    }

    /// The word for what was seen to happen.
    const CONFIRMED: &'static str = "confirmed";

    /// Whether it was accepted before anybody saw it happen, and was seen now.
    pub fn is_confirmed_since(&self) -> bool {
        let was_confirmed = |verdict: &str| verdict.is_empty() || verdict == Self::CONFIRMED;
        self.confirmed.is_some()
            && matches!(&self.status, Status::Known { verdict, .. } if !was_confirmed(verdict))
    }

    /// What came of running the program again, as sentences: that it was seen, how often, with what outcome and how to see it again, or why it
    /// was not.
    pub fn confirmation(&self) -> Option<String> {
        let Some(Confirmed { met, runs, outcome, repeat, .. }) = &self.confirmed else {
            return self.notes.iter().find(|note| note.starts_with(NOT_CONFIRMED)).cloned();
        };
        let runs = counted((*runs).into(), "run", "runs");
        let outcome = if outcome.is_empty() { String::new() } else { format!("; {outcome}") };
        let again = if repeat.is_empty() { String::new() } else { format!("; again: `{repeat}`") };
        Some(format!("{} in {} of {runs}{outcome}{again}", Self::CONFIRMED, grouped((*met).into())))
    }

    /// How sure it is and what it is: `observed race`.
    pub fn title(&self) -> String {
        let confirmed = match &self.confirmed {
            Some(Confirmed { ends, .. }) if !ends.is_empty() => format!("confirmed (ends with {ends}), "),
            Some(_) => "confirmed, ".to_owned(),
            None => String::new(),
        };
        let what = if self.kind == Kind::Misuse { self.rule().title } else { self.kind.word() };
        format!("{confirmed}{} {what}", self.verdict.word())
    }

    /// The whole of it on one line: `observed race on counter: f reads while g writes`.
    pub fn sentence(&self) -> String {
        format!("{}{}{}", self.title(), self.joint(), self.headline)
    }

    /// What stands between title and headline.
    pub(crate) fn joint(&self) -> &'static str {
        if self.kind == Kind::Race { " on " } else { ": " }
    }

    /// The two accesses of a race; `None` for other findings.
    pub fn pair(&self) -> Option<[&Access; 2]> {
        match &self.accesses[..] {
            [first, second] if self.kind == Kind::Race => Some([first, second]),
            _ => None,
        }
    }

    /// The name of the memory, else of what it is about.
    pub fn subject(&self) -> String {
        match &self.memory {
            Some(memory) => memory.name.clone(),
            None => self.objects.join(", "),
        }
    }

    /// Where the memory was allocated; empty if there is none or it is not known.
    pub(crate) fn allocated_at(&self) -> &[Frame] {
        self.memory.as_ref().map_or(&[], |memory| &memory.allocated_at)
    }

    /// Where the memory was freed before; empty if it was not or that is not known.
    pub(crate) fn freed_at(&self) -> &[Frame] {
        self.memory.as_ref().map_or(&[], |memory| &memory.freed_at)
    }

    /// Whether another run of the program may exchange the two threads: both run the same function, and neither is the main one.
    pub fn has_threads_alike(&self) -> bool {
        let Some([first, second]) = self.pair() else { return false };
        let entry = |access: &Access| {
            let outermost = access.stack.iter().rfind(|frame| frame.is_own())?;
            Some(outermost.function.clone()).filter(|function| !function.is_empty())
        };
        entry(first).is_some() && entry(first) == entry(second) && !first.thread.main && !second.thread.main
    }

    /// The finding as every run of the program shows it: of two threads that are alike, that with the lower number makes the
    /// first access. It stays as it is where a witness or an explanation names the threads.
    pub fn settled(&self) -> Cow<'_, Finding> {
        let Some(pair) = self.pair() else { return Cow::Borrowed(self) };
        let number = |access: &Access| (access.thread.name.len(), access.thread.name.clone());
        let names = pair.map(|access| access.thread.name.as_str());
        let is_named = |text: &str| names.iter().any(|name| text.contains(name));
        let has_witness = self.schedule.as_ref().is_some_and(|schedule| !schedule.witness.is_empty());
        let keeps = has_witness || is_named(&self.why) || is_named(&self.remedy);
        if keeps || !self.has_threads_alike() || number(pair[0]) <= number(pair[1]) {
            return Cow::Borrowed(self);
        }
        let mut settled = self.clone();
        if let [first, second] = &mut settled.accesses[..] {
            std::mem::swap(&mut first.thread, &mut second.thread);
        }
        Cow::Owned(settled)
    }
}

impl Access {
    /// The innermost frame of the program itself, else the innermost one: what a headline and an annotation point at.
    pub fn site(&self) -> Option<&Frame> {
        innermost_own(&self.stack)
    }
}

/// A lock that is held at an access.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct HeldLock {
    /// Its name.
    pub name: String,
    /// Whether others may hold it at the same time.
    pub shared: bool,
    /// Index of the acquire.
    pub event: u64,
    /// Where it was taken, innermost first; empty if unknown.
    pub taken_at: Vec<Frame>,
}

/// What memory a race is on.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct Memory {
    /// As a headline names it: `counters.hits`, `counters+8`, `a heap block of 64 bytes`, `A3[0..4096 step 2]`.
    pub name: String,
    /// `variable` (of a trace), `heap`, `global`, `stack`, `mapped` or `unknown`.
    pub kind: String,
    /// How the name ends if debug information names the member or element of a global: `.hits`, `[3].name`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub member: String,
    /// Size of the whole block or global; 0 if unknown.
    pub bytes: u64,
    /// Which byte or element of it; 0 for the first.
    pub offset: u64,
    /// Who allocated it, or whose stack it is; empty if unknown.
    pub owner: String,
    /// Where it was allocated, innermost first; empty if unknown.
    pub allocated_at: Vec<Frame>,
    /// Who freed it, if it is used or freed again afterwards; empty if nobody did.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub freed_by: String,
    /// Where it was freed, innermost first; empty if it was not or that is unknown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub freed_at: Vec<Frame>,
}

impl Memory {
    /// The name of the whole of which it is a part: `counters` for `counters.hits` and `counters+8`.
    pub fn whole(&self) -> &str {
        let part = match (self.kind.as_str(), self.member.as_str()) {
            ("variable", _) => self.name.split_once('['),
            ("global" | "mapped", "") => self.name.rsplit_once('+'),
            ("global", member) => self.name.strip_suffix(member).map(|whole| (whole, member)),
            _ => None,
        };
        part.map_or(&*self.name, |(whole, _)| whole)
    }
}
