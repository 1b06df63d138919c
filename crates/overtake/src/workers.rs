//! Detectors whose work is shared by several cores or machines.
//!
//! Only a complete sealed trace can be read by several at a time, and only detectors whose row says so can be shared
//! ([`Distribution`](overtake_detect::Distribution)). Everything else runs as it always does, and the listener hears why. The answer is the same either way.

use std::sync::Arc;
use std::time::{Duration, Instant};

use overtake_cluster::{Answer, Obstacle, Shelf, Task};
use overtake_detect::{Driver, Entry, Options, Strictness};
use overtake_trace::OtrFile;

pub use overtake_cluster::{Processes, WorkerFacts};

use crate::examine::{Shared, drive};
use crate::slices::Slices;
use crate::{Error, Examined, Input, Listener};

/// Who shares the work.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Crew {
    /// So many threads of this process.
    Threads(usize),
    /// Several processes, of which this is one.
    Processes(Processes),
}

impl Crew {
    /// Whether this process has the answer in the end.
    pub fn is_first(&self) -> bool {
        match self {
            Crew::Threads(_) => true,
            Crew::Processes(processes) => processes.own == 0,
        }
    }
}

/// How the work on a trace was shared.
#[derive(Clone, Default, PartialEq, Eq, Debug)]
pub struct Sharing {
    /// What each worker did; nobody if nothing was shared.
    pub workers: Vec<WorkerFacts>,
    /// Events of the trace.
    pub events: u64,
    /// Each worker judged a stretch of the trace; else some of the variables.
    pub in_stretches: bool,
}

impl Sharing {
    /// Time, memory and bytes sent, for people.
    pub fn describe(&self) -> String {
        let state = |worker: &WorkerFacts| worker.peak_state_bytes.iter().sum::<u64>().to_string();
        let states: Vec<_> = self.workers.iter().map(state).collect();
        let second =
            |worker: &WorkerFacts| format!("{:.3}", Duration::from_nanos(worker.processor).as_secs_f64());
        let seconds: Vec<_> = self.workers.iter().map(second).collect();
        let bytes: u64 = self.workers.iter().map(|worker| worker.bytes_sent).sum();
        format!(
            "{} workers, {}; seconds of processor time: {}; bytes of state at their peaks: {}; bytes sent to other processes per event: \
             {:.2}",
            self.workers.len(),
            if self.in_stretches { "a stretch of the trace each" } else { "some of the variables each" },
            seconds.join(", "),
            states.join(", "),
            bytes as f64 / self.events.max(1) as f64
        )
    }
}

/// Runs detectors, with a crew for those that can be shared, and in slices if there are several. None if another process of the crew has the
/// answer.
pub fn examine(
    input: &mut Input,
    entries: &[&'static Entry],
    options: &Options,
    strictness: Strictness,
    (crew, slices): (&Crew, &Slices),
    listener: &dyn Listener,
) -> Result<Option<(Examined, Sharing)>, Error> {
    let start = Instant::now();
    // What another detector does on the way is done with it.
    let is_included = |name: &str| {
        let mut included =
            entries.iter().filter(|entry| !entry.can_be_shared()).filter_map(|entry| entry.includes);
        included.any(|included| included.name == name)
    };
    let can_be_shared = |entry: &Entry| match slices.count {
        1 => entry.can_be_shared(),
        _ => entry.can_be_sliced(),
    };
    let (shareable, alone): (Vec<_>, Vec<_>) =
        entries.iter().partition(|entry| can_be_shared(entry) && !is_included(entry.name));
    let file = match what_keeps_from_sharing(input, (&shareable, &alone), options, slices, listener) {
        Ok(file) => file,
        Err(reason) => {
            listener.say(&format!("one worker does all the work: {reason}"));
            return sequential(input, entries, options, strictness, crew, listener);
        }
    };
    let file = Arc::new(file);
    let task = Task {
        file: Arc::clone(&file),
        detectors: shareable.clone(),
        options: options.clone(),
        strictness,
        slices: slices.count,
        shelf: slices.kept.clone().map(|kept| kept as Arc<dyn Shelf>),
    };
    let answer = share(task, crew, listener);
    slices.kept.iter().for_each(|kept| kept.tell(listener));
    let answer = match answer {
        Ok(Some(answer)) => answer,
        Ok(None) => return Ok(None),
        Err(Obstacle::Failed(reason)) => return Err(input.failure(reason)),
        Err(Obstacle::Alone(reason)) => {
            listener.say(&format!("one worker does all the work: {reason}"));
            return sequential(input, entries, options, strictness, crew, listener);
        }
    };
    let mut driver = Driver::start(&alone, options, strictness)?;
    let (opened, facts) = match alone.is_empty() {
        false => drive(&mut driver, input, strictness, listener)?,
        true => {
            let symbols = file.symbols().map_err(|error| input.failure(error))?;
            let opened = input.open()?;
            let mut facts = opened.facts_with(symbols, file.parameters().events, &answer.repairs);
            facts.misuses = answer.misuses.found().to_vec();
            driver.set_landmarks(answer.landmarks.clone());
            (opened, facts)
        }
    };
    let sharing =
        Sharing { workers: answer.workers.clone(), events: facts.events, in_stretches: answer.in_stretches };
    let examined = Examined {
        driver,
        shared: shared(answer, &shareable, facts.events),
        order: entries.iter().map(|entry| entry.name).collect(),
        opened,
        file: alone.is_empty().then_some(file),
        facts,
        time: start.elapsed(),
    };
    Ok(Some((examined, sharing)))
}

/// The trace, if a crew can share it; else why not. What has to run alone is said.
fn what_keeps_from_sharing(
    input: &Input,
    (shareable, alone): (&[&'static Entry], &[&'static Entry]),
    options: &Options,
    slices: &Slices,
    listener: &dyn Listener,
) -> Result<OtrFile, String> {
    let names: Vec<_> = alone.iter().map(|entry| entry.name).collect();
    let names = names.join(", ");
    let reason = match slices.count {
        1 => format!("workers cannot share {names}"),
        _ => format!("{names} cannot judge variables in slices"),
    };
    if shareable.is_empty() {
        return Err(reason);
    }
    if options.first {
        return Err("it ends at the first finding".into());
    }
    let file = input.at_any_place();
    let file =
        file.ok_or("expected a complete sealed trace, which `overtake convert` writes, found another one")?;
    if !alone.is_empty() {
        listener.say(&format!("{reason}: one worker does it"));
    }
    Ok(file)
}

fn share(task: Task, crew: &Crew, listener: &dyn Listener) -> Result<Option<Answer>, Obstacle> {
    let mut bar = listener.reading();
    match crew {
        Crew::Threads(workers) => task.with_threads(*workers, &mut *bar).map(Some),
        Crew::Processes(processes) => task.with_processes(processes, &mut *bar),
    }
}

/// Runs all detectors one after the other, in the process that answers.
fn sequential(
    input: &mut Input,
    entries: &[&'static Entry],
    options: &Options,
    strictness: Strictness,
    crew: &Crew,
    listener: &dyn Listener,
) -> Result<Option<(Examined, Sharing)>, Error> {
    if !crew.is_first() {
        return Ok(None);
    }
    let examined = Examined::of(input, entries, options, strictness, listener)?;
    Ok(Some((examined, Sharing::default())))
}

fn shared(answer: Answer, entries: &[&'static Entry], events: u64) -> Vec<Shared> {
    let Answer { findings, workers, .. } = answer;
    let shared = entries.iter().zip(findings).enumerate().map(|(at, (entry, races))| {
        let times = workers.iter().filter_map(|worker| worker.nanoseconds.get(at));
        let states = workers.iter().filter_map(|worker| worker.peak_state_bytes.get(at));
        Shared {
            entry,
            races,
            time: Duration::from_nanos(times.copied().max().unwrap_or(0)),
            events_read: events,
            peak_state_bytes: states.sum::<u64>() as usize,
        }
    });
    shared.collect()
}
