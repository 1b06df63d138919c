//! The dataflow: who reads what, and where it goes.
//!
//! Worker `i` of `n` reads and decodes blocks `i`, `i + n`, `i + 2n`, ... of the trace, splits each into the parts of all workers, and
//! sends them. An operator of each worker takes its parts and hands them to the worker's [`Station`].
//!
//! **Time** of the dataflow is the round in which a block is read. A worker reads on while no other is more than [`AHEAD`] rounds behind:
//! that bounds what is on its way, and so the memory, whatever the workers' speeds.
//!
//! **Agreement.** At the end of a pass every worker tells every other whether something stands in the way, what its detectors have to say to
//! those of others, and whether one wants another pass (`letters.rs`). All of them then do the same. Events that a detector has marked go to
//! those who read them: in the next pass they go to all workers.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use overtake_detect::{EventSet, Findings, Outcome};
use overtake_trace::{Block, Landmarks, OtrFile, Part, Repair, Repairs};
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Input;
use timely::dataflow::{InputHandleVec, ProbeHandle};
use timely::worker::Worker;

use crate::letters::{Audience, Letter, Nothing, exchange_marks, gather};
use crate::owners::Owners;
use crate::parcel::{Content, Parcel, SpareParts, pack};
use crate::station::Station;
use crate::{Answer, Task, WorkerFacts};

/// Rounds that a worker may be ahead of the slowest one.
const AHEAD: u64 = 4;

/// Does a worker's share of a task. The first worker brings home the answer; the others have none.
pub(crate) fn work(
    worker: &mut Worker,
    task: &Task,
    per_process: usize,
    spare: &Arc<SpareParts>,
) -> Result<Option<Answer>, String> {
    let start = processor_time();
    let mut share = match Share::new(worker, task, per_process, spare) {
        Ok(share) => share,
        // Others must hear of it, or they would wait.
        Err(reason) => return agree(worker, Some(&reason), &[]).map(|_| None),
    };
    agree(worker, None, &[])?;
    loop {
        share.pass(worker);
        if !share.end_pass(worker)? {
            break;
        }
        share.station.borrow_mut().begin_again();
    }
    Ok(share.results(worker, processor_time().saturating_sub(start)))
}

/// Brings all workers together. Returns what each of them says; fails everywhere with the reason of the first one that has one.
fn agree(worker: &mut Worker, obstacle: Option<&str>, words: &[u64]) -> Result<Vec<Letter>, String> {
    let words = std::iter::once(u64::from(obstacle.is_some())).chain(words.iter().copied()).collect();
    let letters = gather(worker, words, obstacle.unwrap_or_default(), Audience::Everyone);
    match letters.iter().find(|letter| letter.words.first() != Some(&0)) {
        Some(letter) => Err(letter.text.clone()),
        None => Ok(letters),
    }
}

/// Nanoseconds that the processor worked for this thread, as far as the system says it.
fn processor_time() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|nanoseconds| nanoseconds.parse().ok()).unwrap_or(0)
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
    /// Room for a block that is read.
    block: Block,
    spare: Arc<SpareParts>,
    bytes_sent: u64,
    events_sent: u64,
    /// The events of the own blocks that go to all workers, from the second pass on.
    marked: Option<EventSet>,
}

impl Share {
    fn new(
        worker: &Worker,
        task: &Task,
        per_process: usize,
        spare: &Arc<SpareParts>,
    ) -> Result<Share, String> {
        let (index, peers) = (worker.index(), worker.peers());
        let symbols = task.file.symbols().map_err(|error| error.to_string())?.clone();
        let workers = u16::try_from(peers)
            .map_err(|_| format!("expected at most {} workers, found {peers}", u16::MAX))?;
        let owners = Owners::new(&symbols, workers, index as u16);
        let own = (peers > 1).then(|| owners.own(index as u16));
        let station =
            Station::new(task, own, symbols, index == 0, spare).map_err(|error| error.to_string())?;
        let (file, station) = (Arc::clone(&task.file), Rc::new(RefCell::new(station)));
        let (block, spare) = (Block::default(), Arc::clone(spare));
        let (bytes_sent, events_sent, marked) = (0, 0, None);
        Ok(Share {
            file,
            owners,
            station,
            index,
            peers,
            per_process,
            block,
            spare,
            bytes_sent,
            events_sent,
            marked,
        })
    }

    /// A pass is over: the detectors of all workers tell each other what they must, and end it. Returns whether there is another one.
    fn end_pass(&mut self, worker: &mut Worker) -> Result<bool, String> {
        let mut station = self.station.borrow_mut();
        let news = station.news(self.blocks());
        let words: Vec<Vec<u64>> = news.iter().map(|news| news.words.clone()).collect();
        let letters = agree(worker, station.obstacle(), &lists(&words))?;
        let said: Option<Vec<_>> = letters.iter().map(|letter| from_lists(&letter.words[1..])).collect();
        let said = said.ok_or("what a worker said of its pass is not what was sent")?;
        let outcome = station.end_of_trace(&said)?;
        let letters = agree(worker, None, &[u64::from(outcome == Outcome::AnotherPass)])?;
        if letters.iter().all(|letter| letter.words.get(1) == Some(&0)) {
            return Ok(false);
        }
        let marked: Vec<_> = news.into_iter().map(|news| news.marked).collect();
        let (marked, bytes) = exchange_marks(worker, &self.file, &marked).ok_or("marks cannot be read")?;
        self.marked = Some(marked);
        if self.per_process < self.peers {
            self.bytes_sent += bytes;
        }
        Ok(true)
    }

    fn blocks(&self) -> u32 {
        self.file.block_count() as u32
    }

    /// Reads the trace once, together with the others.
    fn pass(&mut self, worker: &mut Worker) {
        if self.peers == 1 {
            return self.pass_alone();
        }
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

    /// Reads the trace once, as the only worker: nothing has to be sent.
    fn pass_alone(&mut self) {
        let mut station = self.station.borrow_mut();
        for number in 0..self.file.block_count() {
            match self.file.read_block(number, &mut self.block) {
                Ok(()) => station.take_whole(&mut self.block),
                Err(error) => return station.stop(error.to_string()),
            }
        }
    }

    /// Reads a block and sends everyone what is theirs.
    fn send(&mut self, number: u32, input: &mut InputHandleVec<u64, Parcel>) {
        if let Err(error) = self.file.read_block(number as usize, &mut self.block) {
            // Whoever gets nothing knows that something did not arrive.
            return self.station.borrow_mut().stop(error.to_string());
        }
        let mut parts: Vec<Part> = (0..self.peers).map(|_| self.spare.take()).collect();
        self.owners.split(&self.block, self.marked.as_ref(), &mut parts);
        for (to, part) in parts.into_iter().enumerate() {
            let content = if to / self.per_process == self.index / self.per_process {
                Content::Part(part)
            } else {
                self.events_sent += part.places.len() as u64;
                let bytes = pack(&part);
                self.spare.put(part);
                self.bytes_sent += bytes.len() as u64;
                Content::Packed(bytes)
            };
            input.send(Parcel { to: to as u32, block: number, content });
        }
    }

    /// The first worker puts together what all of them found.
    fn results(&self, worker: &mut Worker, processor: u64) -> Option<Answer> {
        let mut station = self.station.borrow_mut();
        let letters = gather(worker, self.report(&station, processor), "", Audience::First);
        (self.index == 0).then(|| answer(&letters, &mut station)).flatten()
    }

    /// What this worker has to say at the end, in words.
    fn report(&self, station: &Station, processor: u64) -> Vec<u64> {
        let mut words = vec![self.bytes_sent, self.events_sent, processor];
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

/// Lists of words one after the other, each with its length first.
fn lists(lists: &[Vec<u64>]) -> Vec<u64> {
    lists.iter().flat_map(|list| std::iter::once(list.len() as u64).chain(list.iter().copied())).collect()
}

/// The lists in some words; none if they are not lists.
fn from_lists(mut words: &[u64]) -> Option<Vec<Vec<u64>>> {
    let mut lists = Vec::new();
    while let Some((&length, rest)) = words.split_first() {
        let (list, rest) = rest.split_at_checked(length.try_into().ok()?)?;
        lists.push(list.to_vec());
        words = rest;
    }
    Some(lists)
}

/// A parcel arrives. One that cannot be read leaves a hole, which is noticed at the end.
fn receive(station: &mut Station, Parcel { block, content, .. }: Parcel) {
    match content.part() {
        Some(part) => station.take(block, part),
        None => station.stop(format!("what arrived of block {block} is not what was sent")),
    }
}

/// Puts together what the workers found; none if a letter cannot be read.
fn answer(letters: &[Letter], first: &mut Station) -> Option<Answer> {
    let mut repairs = Repairs::default();
    let mut workers = Vec::new();
    let mut logs: Vec<Vec<Findings>> = first.jobs().iter().map(|_| Vec::new()).collect();
    for letter in letters {
        let mut words = letter.words.iter().copied();
        let (bytes_sent, events_sent, processor) = (words.next()?, words.next()?, words.next()?);
        let mut facts = WorkerFacts { bytes_sent, events_sent, processor, ..WorkerFacts::default() };
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
    // What another worker has mended is not in the landmarks of the first one.
    let landmarks = if repairs.total() == 0 { first.take_landmarks() } else { Landmarks::default() };
    Some(Answer { findings, workers, repairs, misuses: first.misuses(), landmarks })
}
