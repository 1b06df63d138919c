//! A reading of the trace in which one worker follows the synchronisation for all.
//!
//! ```text
//! read, sort ─── what synchronises ──► follow ── moments ──► judge
//!      └──────────── accesses ────────────────────────────────┘
//! ```
//!
//! Every worker reads and sorts, whenever it has nothing else to do: who follows reads less. The first worker follows, and every worker judges the accesses of its
//! variables. **Time** is the number of the block. A block is read if the one that comes [`AHEAD`] times as many blocks before as there are workers has
//! been judged by all.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use overtake_detect::Accesses;
use timely::container::CapacityContainerBuilder;
use timely::dataflow::channels::pact::Exchange;
use timely::dataflow::operators::Probe;
use timely::dataflow::operators::generic::Operator;
use timely::dataflow::operators::vec::Input;
use timely::dataflow::{InputHandleVec, ProbeHandle};
use timely::worker::Worker;

use crate::dataflow::{AHEAD, Share};
use crate::letters::Nothing;
use crate::parcel::{Content, Dispatch, Parcel};

/// How long a worker without work waits before it looks around, if nobody wakes it.
const NAP: Duration = Duration::from_millis(1);

/// Where a reader puts what it has sorted.
struct Desk {
    followed: InputHandleVec<u64, Parcel>,
    accesses: InputHandleVec<u64, Parcel>,
}

impl Desk {
    fn advance_to(&mut self, block: u32) {
        self.followed.advance_to(block.into());
        self.accesses.advance_to(block.into());
    }
}

impl Share {
    /// Reads the trace once, together with the others.
    pub(crate) fn pass_by_moments(&mut self, worker: &mut Worker) {
        let probe = ProbeHandle::new();
        let mut desk = self.build(worker, &probe);
        let (blocks, most_ahead) = (self.blocks(), AHEAD as u32 * self.peers as u32);
        loop {
            worker.step();
            let next = self.taken();
            desk.advance_to(next);
            if next == blocks {
                break;
            }
            let is_free = !probe.less_than(&u64::from(next.saturating_sub(most_ahead)));
            if is_free && self.has_time(next) {
                if let Some(block) = self.take_block() {
                    self.send_sorted(block, &mut desk);
                }
            } else {
                worker.step_or_park(Some(NAP));
            }
        }
        drop(desk);
        while !probe.done() {
            worker.step_or_park(None);
        }
    }

    fn build(&self, worker: &mut Worker, probe: &ProbeHandle<u64>) -> Desk {
        let peers = self.peers as u32;
        let (follower, judge) = (Rc::clone(&self.station), Rc::clone(&self.station));
        worker.dataflow::<u64, _, _>(|scope| {
            let (followed, parts) = scope.new_input::<Parcel>();
            let (accesses, lists) = scope.new_input::<Parcel>();
            let to_worker = || Exchange::new(|parcel: &Parcel| parcel.to.into());
            let moments = parts.unary::<CapacityContainerBuilder<Vec<Dispatch>>, _, _, _>(
                to_worker(),
                "Follow",
                move |_, _| {
                    move |input, output| {
                        input.for_each_time(|time, data| {
                            let mut session = output.session(&time);
                            for Parcel { block, content, .. } in data.flat_map(|parcels| parcels.drain(..)) {
                                let Content::Part(part) = content else { continue };
                                for (block, moments) in follower.borrow_mut().follow(block, part) {
                                    for to in 0..peers {
                                        session.give(Dispatch { to, block, moments: Arc::clone(&moments) });
                                    }
                                }
                            }
                        });
                    }
                },
            );
            let to_judge = Exchange::new(|dispatch: &Dispatch| dispatch.to.into());
            lists
                .binary::<_, Nothing, _, _, _, _>(moments, to_worker(), to_judge, "Judge", move |_, _| {
                    move |lists, moments, _| {
                        let mut judge = judge.borrow_mut();
                        lists.for_each_time(|_, data| {
                            for Parcel { block, content, .. } in data.flat_map(|parcels| parcels.drain(..)) {
                                if let Content::Accesses(accesses) = content {
                                    judge.take_accesses(block, accesses);
                                }
                            }
                        });
                        moments.for_each_time(|_, data| {
                            for Dispatch { block, moments, .. } in data.flat_map(|all| all.drain(..)) {
                                judge.take_moments(block, moments);
                            }
                        });
                    }
                })
                .probe_with(probe);
            Desk { followed, accesses }
        })
    }

    /// Whether this worker should read: the follower leaves it to others as long as there is something to follow.
    fn has_time(&self, next: u32) -> bool {
        let others = self.peers as u32 - 1;
        self.index > 0 || next - self.station.borrow().followed() <= others
    }

    /// How many blocks of this reading were taken.
    fn taken(&self) -> u32 {
        let taken = self.commons.blocks_taken.load(Ordering::Relaxed) - self.taken_before;
        taken.min(self.blocks().into()) as u32
    }

    /// Takes the next block to read it, unless somebody was faster or there is none.
    fn take_block(&self) -> Option<u32> {
        let next = self.taken();
        let (old, all) = (self.taken_before + u64::from(next), &self.commons.blocks_taken);
        let take = || all.compare_exchange(old, old + 1, Ordering::Relaxed, Ordering::Relaxed);
        (next < self.blocks() && take().is_ok()).then_some(next)
    }

    /// Reads a block and sends everyone what is theirs.
    fn send_sorted(&mut self, number: u32, desk: &mut Desk) {
        let Share { sorter: Some(sorter), owners, block, commons, .. } = self else { return };
        let mut followed = commons.parts.take();
        let mut lists: Vec<Accesses> = (0..self.peers).map(|_| commons.accesses.take()).collect();
        let read = self.file.read_block(number as usize, block);
        if let Err(error) = read.and_then(|()| sorter.sort(owners, block, &mut followed, &mut lists)) {
            // Whoever gets nothing knows that something did not arrive.
            return self.station.borrow_mut().stop(error.to_string());
        }
        desk.followed.send(Parcel { to: 0, block: number, content: Content::Part(followed) });
        for (to, accesses) in (0..).zip(lists) {
            desk.accesses.send(Parcel { to, block: number, content: Content::Accesses(accesses) });
        }
    }
}
