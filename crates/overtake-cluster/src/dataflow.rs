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
use overtake_trace::{Block, Landmarks, OtrFile, Part, Repairs};
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Input;
use timely::dataflow::{InputHandleVec, ProbeHandle};
use timely::worker::Worker;

use crate::letters::{Audience, Letter, Nothing, exchange_marks, gather};
use crate::owners::{Owners, Slice};
use crate::parcel::{Content, Parcel, SpareParts, pack};
use crate::slices::{Told, from_lists, lists};
use crate::station::Station;
use crate::stretches::{self, Board};
use crate::{Answer, Task, WorkerFacts};

/// Rounds that a worker may be ahead of the slowest one.
const AHEAD: u64 = 4;

/// A slice of a job that is judged, now or by an earlier job.
struct Judged {
    /// What its workers said, by worker.
    told: Vec<Told>,
    is_new: bool,
}

/// Does a worker's share of a task. The first worker brings home the answer; the others have none.
pub(crate) fn work(
    worker: &mut Worker,
    task: &Task,
    per_process: usize,
    (spare, board): (&Arc<SpareParts>, &Board),
) -> Result<Option<Answer>, String> {
    if let Some(answer) = stretches::judge(worker, task, per_process, board) {
        return Ok(answer);
    }
    let of = task.slices.max(1);
    let mut kept = take_from_shelf(worker, task);
    let words: Vec<u64> = kept.iter().map(|kept| u64::from(kept.is_some())).collect();
    // The first worker says which slices are missing.
    let letters = agree(worker, None, &words)?;
    let is_kept = |slice: u16| letters[0].words.get(1 + usize::from(slice)) == Some(&1);
    let mut judged = Vec::new();
    for number in 0..of {
        if is_kept(number) {
            let told = kept.get_mut(usize::from(number)).and_then(Option::take).unwrap_or_default();
            judged.push(Judged { told, is_new: false });
            continue;
        }
        let share = judge_slice(worker, task, per_process, spare, Slice { number, of })?;
        let Some(told) = share.results(worker)? else { continue };
        if number + 1 == of {
            judged.push(Judged { told, is_new: true });
            return Ok(Some(answer(&judged, &mut share.station.borrow_mut())));
        }
        if let Some(shelf) = &task.shelf {
            shelf.put(number, &Told::all_to_words(&told));
        }
        judged.push(Judged { told, is_new: true });
    }
    Ok(None)
}

/// What the first worker finds on the shelf, for each slice but the last.
fn take_from_shelf(worker: &Worker, task: &Task) -> Vec<Option<Vec<Told>>> {
    let shelf = task.shelf.as_ref().filter(|_| worker.index() == 0);
    let taken = |slice| Told::all_from_words(&shelf?.take(slice)?, task.detectors.len());
    (1..task.slices).map(|next| taken(next - 1)).collect()
}

/// Judges the variables of a slice, together with the others.
fn judge_slice(
    worker: &mut Worker,
    task: &Task,
    per_process: usize,
    spare: &Arc<SpareParts>,
    slice: Slice,
) -> Result<Share, String> {
    let mut share = match Share::new(worker, task, per_process, spare, slice) {
        Ok(share) => share,
        // Others must hear of it, or they would wait.
        Err(reason) => {
            agree(worker, Some(&reason), &[])?;
            return Err(reason);
        }
    };
    agree(worker, None, &[])?;
    loop {
        share.pass(worker);
        if !share.end_pass(worker)? {
            return Ok(share);
        }
        share.station.borrow_mut().begin_again();
    }
}

/// Brings all workers together. Returns what each of them says; fails everywhere with the reason of the first one that has one.
pub(crate) fn agree(
    worker: &mut Worker,
    obstacle: Option<&str>,
    words: &[u64],
) -> Result<Vec<Letter>, String> {
    let words = std::iter::once(u64::from(obstacle.is_some())).chain(words.iter().copied()).collect();
    let letters = gather(worker, words, obstacle.unwrap_or_default(), Audience::Everyone);
    match letters.iter().find(|letter| letter.words.first() != Some(&0)) {
        Some(letter) => Err(letter.text.clone()),
        None => Ok(letters),
    }
}

/// Nanoseconds that the processor worked for this thread, as far as the system says it.
pub(crate) fn processor_time() -> u64 {
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
    slice: Slice,
    /// What the processor had done for this worker before.
    start: u64,
}

impl Share {
    fn new(
        worker: &Worker,
        task: &Task,
        per_process: usize,
        spare: &Arc<SpareParts>,
        slice: Slice,
    ) -> Result<Share, String> {
        let start = processor_time();
        let (index, peers) = (worker.index(), worker.peers());
        let symbols = task.file.symbols().map_err(|error| error.to_string())?.clone();
        let workers = u16::try_from(peers)
            .map_err(|_| format!("expected at most {} workers, found {peers}", u16::MAX))?;
        let owners = Owners::new(&symbols, workers, index as u16, slice);
        let own = (peers > 1 || slice.of > 1).then(|| owners.own(index as u16));
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
            slice,
            start,
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
        if self.peers == 1 && self.slice.of == 1 {
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

    /// What all workers say at the end, by worker; only the first worker hears it.
    fn results(&self, worker: &mut Worker) -> Result<Option<Vec<Told>>, String> {
        let told = self.told();
        let detectors = told.findings.len();
        let letters = gather(worker, told.to_words(), "", Audience::First);
        if self.index > 0 {
            return Ok(None);
        }
        let all: Option<Vec<_>> =
            letters.iter().map(|letter| Told::from_words(&letter.words, detectors)).collect();
        all.map(Some).ok_or_else(|| "what a worker found is not what was sent".into())
    }

    /// What this worker has to say at the end.
    fn told(&self) -> Told {
        let station = self.station.borrow();
        let jobs = || station.jobs().iter();
        let facts = WorkerFacts {
            bytes_sent: self.bytes_sent,
            events_sent: self.events_sent,
            processor: processor_time().saturating_sub(self.start),
            nanoseconds: jobs().map(|job| job.time.as_nanos() as u64).collect(),
            peak_state_bytes: jobs().map(|job| job.peak_state_bytes as u64).collect(),
        };
        let findings = jobs().map(|job| job.analysis.findings().clone()).collect();
        Told { facts, repairs: station.repairs(self.index == 0 && self.slice.number == 0), findings }
    }
}

/// A parcel arrives. One that cannot be read leaves a hole, which is noticed at the end.
fn receive(station: &mut Station, Parcel { block, content, .. }: Parcel) {
    match content.part(station.spare()) {
        Some(part) => station.take(block, part),
        None => station.stop(format!("what arrived of block {block} is not what was sent")),
    }
}

/// Puts together what the workers found in all slices. Those that were judged now come with what their workers did.
fn answer(slices: &[Judged], first: &mut Station) -> Answer {
    let mut repairs = Repairs::default();
    let mut workers: Vec<WorkerFacts> = Vec::new();
    let mut logs: Vec<Vec<Findings>> = first.jobs().iter().map(|_| Vec::new()).collect();
    for Judged { told, is_new } in slices {
        for (number, told) in told.iter().enumerate() {
            told.repairs.made().for_each(|(repair, times)| repairs.add(repair, times));
            logs.iter_mut().zip(&told.findings).for_each(|(log, findings)| log.push(findings.clone()));
            match workers.get_mut(number) {
                _ if !is_new => {}
                Some(worker) => worker.add(&told.facts),
                None => workers.push(told.facts.clone()),
            }
        }
    }
    let findings = logs.iter().map(|log| Findings::merged(log)).collect();
    // What another worker has mended is not in the landmarks of the first one.
    let landmarks = if repairs.total() == 0 { first.take_landmarks() } else { Landmarks::default() };
    Answer { findings, workers, in_stretches: false, repairs, misuses: first.misuses(), landmarks }
}
