//! The dataflow: who reads what, and where it goes.
//!
//! Worker `i` of `n` reads and decodes blocks `i`, `i + n`, `i + 2n`, ... of the trace, splits each into the parts of all workers, and
//! sends them. An operator of each worker takes its parts and hands them to the worker's [`Station`].
//!
//! **Time** of the dataflow is the round in which a block is read. A worker reads on while no other is more than [`AHEAD`] rounds behind:
//! that bounds what is on its way, and so the memory, whatever the workers' speeds.
//!
//! **Agreement.** At the end of a pass every worker tells every other whether something stands in the way and whether a detector
//! wants another pass ([`gather`]). All of them then do the same.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use overtake_detect::{Findings, Outcome};
use overtake_trace::{Block, OtrFile, Repair, Repairs};
use serde::{Deserialize, Serialize};
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Input;
use timely::dataflow::{InputHandleVec, ProbeHandle};
use timely::worker::Worker;

use crate::owners::Owners;
use crate::parcel::{Content, Parcel, pack};
use crate::station::Station;
use crate::{Answer, Task, WorkerFacts};

/// Operators at the end of a dataflow hand nothing on.
type Nothing = timely::container::CapacityContainerBuilder<Vec<()>>;

/// Rounds that a worker may be ahead of the slowest one.
const AHEAD: u64 = 4;

/// What a worker tells another.
#[derive(Clone, Serialize, Deserialize)]
struct Letter {
    to: u32,
    from: u32,
    words: Vec<u64>,
    text: String,
}

/// Does a worker's share of a task. The first worker brings home the answer; the others have none.
pub(crate) fn work(worker: &mut Worker, task: &Task, per_process: usize) -> Result<Option<Answer>, String> {
    let mut share = match Share::new(worker, task, per_process) {
        Ok(share) => share,
        // Others must hear of it, or they would wait.
        Err(reason) => return agree(worker, Some(&reason), false).map(|_| None),
    };
    let ready = agree(worker, None, false);
    ready?;
    loop {
        share.pass(worker);
        let outcome = share.station.borrow_mut().end_of_trace(share.blocks());
        let station = share.station.borrow();
        if !agree(worker, station.obstacle(), outcome == Outcome::AnotherPass)? {
            break;
        }
        drop(station);
        share.station.borrow_mut().begin_again();
    }
    Ok(share.results(worker))
}

/// Brings all workers together. Returns whether one of them wants another pass; fails everywhere with the reason of the first one that
/// has one.
fn agree(worker: &mut Worker, obstacle: Option<&str>, wants_more: bool) -> Result<bool, String> {
    let words = vec![u64::from(obstacle.is_some()), u64::from(wants_more)];
    let letters = gather(worker, words, obstacle.unwrap_or_default(), Audience::Everyone);
    match letters.iter().find(|letter| letter.words.first() != Some(&0)) {
        Some(letter) => Err(letter.text.clone()),
        None => Ok(letters.iter().any(|letter| letter.words.get(1) == Some(&1))),
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Audience {
    Everyone,
    First,
}

/// Every worker writes to everyone, or to the first worker. Returns the letters that arrived, by sender.
fn gather(worker: &mut Worker, words: Vec<u64>, text: &str, audience: Audience) -> Vec<Letter> {
    let (from, peers) = (worker.index() as u32, worker.peers() as u32);
    let arrived = Rc::new(RefCell::new(Vec::new()));
    let mailbox = Rc::clone(&arrived);
    let probe = ProbeHandle::new();
    let mut input = worker.dataflow::<u64, _, _>(|scope| {
        let (input, letters) = scope.new_input::<Letter>();
        let route = Exchange::new(|letter: &Letter| letter.to.into());
        letters
            .unary::<Nothing, _, _, _>(route, "Gather", move |_, _| {
                move |input, _| {
                    input.for_each_time(|_, data| {
                        mailbox.borrow_mut().extend(data.flat_map(|letters| letters.drain(..)));
                    });
                }
            })
            .probe_with(&probe);
        input
    });
    let readers = if audience == Audience::Everyone { peers } else { 1 };
    for to in 0..readers {
        input.send(Letter { to, from, words: words.clone(), text: text.to_owned() });
    }
    input.close();
    while !probe.done() {
        worker.step_or_park(None);
    }
    let mut letters = arrived.take();
    letters.sort_by_key(|letter| letter.from);
    letters
}

/// What one worker reads and judges.
struct Share {
    file: Arc<OtrFile>,
    owners: Owners,
    station: Rc<RefCell<Station>>,
    index: usize,
    peers: usize,
    /// Workers in each process.
    per_process: usize,
    bytes_sent: u64,
    events_sent: u64,
}

impl Share {
    fn new(worker: &Worker, task: &Task, per_process: usize) -> Result<Share, String> {
        let (index, peers) = (worker.index(), worker.peers());
        let symbols = task.file.symbols().map_err(|error| error.to_string())?.clone();
        let workers = u16::try_from(peers)
            .map_err(|_| format!("expected at most {} workers, found {peers}", u16::MAX))?;
        let owners = Owners::new(&symbols, workers);
        let station = Station::new(&task.detectors, &task.options, task.strictness, symbols);
        let station = Rc::new(RefCell::new(station.map_err(|error| error.to_string())?));
        let file = Arc::clone(&task.file);
        Ok(Share { file, owners, station, index, peers, per_process, bytes_sent: 0, events_sent: 0 })
    }

    fn blocks(&self) -> u32 {
        self.file.block_count() as u32
    }

    /// Reads the trace once, together with the others.
    fn pass(&mut self, worker: &mut Worker) {
        let probe = ProbeHandle::new();
        let station = Rc::clone(&self.station);
        let mut input = worker.dataflow::<u64, _, _>(|scope| {
            let (input, parcels) = scope.new_input::<Parcel>();
            let route = Exchange::new(|parcel: &Parcel| parcel.to.into());
            parcels
                .unary::<Nothing, _, _, _>(route, "Judge", move |_, _| {
                    move |input, _| {
                        input.for_each_time(|_, data| {
                            for parcel in data.flat_map(|parcels| parcels.drain(..)) {
                                receive(&mut station.borrow_mut(), parcel);
                            }
                        });
                    }
                })
                .probe_with(&probe);
            input
        });
        let mut round = 0;
        for number in (self.index as u32..self.blocks()).step_by(self.peers) {
            while round >= AHEAD && probe.less_than(&(round - AHEAD)) {
                worker.step_or_park(None);
            }
            self.send(number, &mut input);
            round += 1;
            input.advance_to(round);
            worker.step();
        }
        input.close();
        while !probe.done() {
            worker.step_or_park(None);
        }
    }

    /// Reads a block and sends everyone what is theirs.
    fn send(&mut self, number: u32, input: &mut InputHandleVec<u64, Parcel>) {
        let mut block = Block::default();
        if let Err(error) = self.file.read_block(number as usize, &mut block) {
            // Whoever gets nothing knows that something did not arrive.
            return self.station.borrow_mut().stop(error.to_string());
        }
        for (to, part) in self.owners.split(block, self.index as u16).into_iter().enumerate() {
            let content = if to / self.per_process == self.index / self.per_process {
                Content::Part(part)
            } else {
                self.events_sent += part.places.len() as u64;
                let bytes = pack(&part);
                self.bytes_sent += bytes.len() as u64;
                Content::Packed(bytes)
            };
            input.send(Parcel { to: to as u32, block: number, content });
        }
    }

    /// The first worker puts together what all of them found.
    fn results(&self, worker: &mut Worker) -> Option<Answer> {
        let station = self.station.borrow();
        let letters = gather(worker, self.report(&station), "", Audience::First);
        (self.index == 0).then(|| answer(&letters, &station)).flatten()
    }

    /// What this worker has to say at the end, in words.
    fn report(&self, station: &Station) -> Vec<u64> {
        let mut words = vec![self.bytes_sent, self.events_sent];
        let repairs = station.repairs(self.index == 0);
        words.extend(Repair::ALL.iter().map(|&repair| repairs.of(repair)));
        for job in station.jobs() {
            let findings = job.analysis.findings().to_words();
            words.extend([job.time.as_nanos() as u64, job.peak_state_bytes as u64, findings.len() as u64]);
            words.extend(findings);
        }
        words
    }
}

/// A parcel arrives. One that cannot be read leaves a hole, which is noticed at the end.
fn receive(station: &mut Station, Parcel { block, content, .. }: Parcel) {
    match content.part() {
        Some(part) => station.take(block, part),
        None => station.stop(format!("what arrived of block {block} is not what was sent")),
    }
}

/// Puts together what the workers found; none if a letter cannot be read.
fn answer(letters: &[Letter], first: &Station) -> Option<Answer> {
    let mut repairs = Repairs::default();
    let mut workers = Vec::new();
    let mut logs: Vec<Vec<Findings>> = first.jobs().iter().map(|_| Vec::new()).collect();
    for letter in letters {
        let mut words = letter.words.iter().copied();
        let mut facts =
            WorkerFacts { bytes_sent: words.next()?, events_sent: words.next()?, ..WorkerFacts::default() };
        for repair in Repair::ALL {
            repairs.add(repair, words.next()?);
        }
        for log in &mut logs {
            facts.nanoseconds.push(words.next()?);
            facts.peak_state_bytes.push(words.next()?);
            let findings: Vec<u64> = (0..words.next()?).map_while(|_| words.next()).collect();
            log.push(Findings::from_words(&findings)?);
        }
        workers.push(facts);
    }
    let findings = logs.iter().map(|log| Findings::merged(log)).collect();
    Some(Answer { findings, workers, repairs, misuses: first.misuses().clone() })
}
