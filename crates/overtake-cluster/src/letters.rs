//! What workers tell each other between two readings of a trace.
//!
//! Every worker writes letters, and goes on when it has all that were written to it. So all workers know the same at the same time.

use std::cell::RefCell;
use std::rc::Rc;

use overtake_detect::EventSet;
use overtake_trace::{EventIndex, OtrFile};
use serde::{Deserialize, Serialize};
use timely::dataflow::ProbeHandle;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Input;
use timely::worker::Worker;

use crate::parcel::{read, write};

/// Operators at the end of a dataflow hand nothing on.
pub(crate) type Nothing = timely::container::CapacityContainerBuilder<Vec<()>>;

/// Bytes of marks in a letter, about.
const LONG: usize = 1 << 20;

/// What a worker tells another.
#[derive(Clone, Default, Serialize, Deserialize)]
pub(crate) struct Letter {
    to: u32,
    pub(crate) from: u32,
    pub(crate) words: Vec<u64>,
    pub(crate) text: String,
    #[serde(with = "serde_bytes")]
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Audience {
    Everyone,
    First,
}

/// Every worker writes the same to everyone, or to the first worker. Returns the letters that arrived, by sender.
pub(crate) fn gather(worker: &mut Worker, words: Vec<u64>, text: &str, audience: Audience) -> Vec<Letter> {
    let readers = if audience == Audience::Everyone { worker.peers() as u32 } else { 1 };
    let letter = |to| Letter { to, words: words.clone(), text: text.to_owned(), ..Letter::default() };
    exchange(worker, (0..readers).map(letter).collect())
}

/// Delivers letters. Returns those that arrived, by sender, and those of one sender in their order.
fn exchange(worker: &mut Worker, letters: Vec<Letter>) -> Vec<Letter> {
    let from = worker.index() as u32;
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
    for letter in letters {
        input.send(Letter { from, ..letter });
    }
    input.close();
    while !probe.done() {
        worker.step_or_park(None);
    }
    let mut letters = arrived.take();
    letters.sort_by_key(|letter: &Letter| letter.from);
    letters
}

/// Sends every event that a worker has marked to the worker that reads its block. Returns those in blocks of this worker, and how many bytes
/// were written; none if a letter cannot be read.
pub(crate) fn exchange_marks(
    worker: &mut Worker,
    file: &OtrFile,
    marked: &[EventSet],
) -> Option<(EventSet, u64)> {
    let peers = worker.peers();
    let mut open: Vec<Letter> = (0..peers as u32).map(|to| Letter { to, ..Letter::default() }).collect();
    let mut before = vec![0; peers];
    let mut done = Vec::new();
    for set in marked {
        before.fill(0);
        let (mut block, mut end) = (0, 0);
        for event in set.iter() {
            if event.0 >= end {
                block = file.blocks_of(&(event.0..event.0 + 1)).start;
                end = file.block_range(block).end;
            }
            let to = block % peers;
            if open[to].bytes.is_empty() {
                before[to] = 0;
            }
            write(&mut open[to].bytes, event.0 - before[to]);
            before[to] = event.0;
            if open[to].bytes.len() >= LONG {
                let next = Letter { to: to as u32, ..Letter::default() };
                done.push(std::mem::replace(&mut open[to], next));
            }
        }
        let next = open.iter().map(|letter| Letter { to: letter.to, ..Letter::default() }).collect();
        done.extend(std::mem::replace(&mut open, next));
    }
    done.retain(|letter| !letter.bytes.is_empty());
    let bytes = done.iter().map(|letter| letter.bytes.len() as u64).sum();
    let mut own = EventSet::default();
    for letter in exchange(worker, done) {
        let (mut rest, mut event) = (letter.bytes.as_slice(), 0_u64);
        while !rest.is_empty() {
            event = event.checked_add(read(&mut rest)?).filter(|event| *event < file.parameters().events)?;
            own.insert(EventIndex(event));
        }
    }
    Some((own, bytes))
}
