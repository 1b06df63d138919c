//! Every detector of the table on two generated traces in memory: one full of locks, one full of accesses.
//!
//! Times are per event and include checking, which is measured alone as `checker`.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use overtake_detect::{DETECTORS, Options, Outcome};
use overtake_trace::{
    Action, BLOCK_EVENTS, Block, Checker, Event, EventIndex, LocationId, LockId, Symbols, ThreadId, VarId,
};

/// What a generated trace is like.
struct Shape {
    name: &'static str,
    threads: u32,
    locks: u32,
    variables: u32,
    /// Of 1000 steps of a thread without a lock, how many acquire one; the others access a variable of its own.
    acquire: u32,
    /// Accesses in a critical section.
    section: u32,
    /// Of 100,000 accesses in sections, how many touch a variable of another lock.
    stray: u32,
}

const SHAPES: [Shape; 2] = [
    Shape { name: "locks", threads: 16, locks: 32, variables: 20_000, acquire: 600, section: 3, stray: 50 },
    Shape {
        name: "accesses",
        threads: 16,
        locks: 32,
        variables: 1_000_000,
        acquire: 10,
        section: 20,
        stray: 50,
    },
];
const EVENTS: usize = 4_000_000;

/// SplitMix64.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u32) -> u32 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((mixed >> 32) * u64::from(bound)) >> 32) as u32
    }
}

/// A thread's critical section: the lock and how many accesses are left.
type Section = Option<(u32, u32)>;

fn generate(shape: &Shape) -> (Symbols, Vec<Block>) {
    let mut symbols = Symbols::default();
    let few = "few names";
    for number in 0..shape.threads {
        symbols.threads.intern(format!("T{number}").as_bytes()).expect(few);
    }
    for number in 0..shape.locks {
        symbols.locks.intern(format!("L{number}").as_bytes()).expect(few);
    }
    for number in 0..shape.variables {
        symbols.variables.intern(format!("V{number}").as_bytes()).expect(few);
    }
    for number in 0..1000 {
        symbols.locations.intern(number.to_string().as_bytes()).expect(few);
    }
    let mut random = Random(1);
    let mut sections: Vec<Section> = vec![None; shape.threads as usize];
    let mut held = vec![false; shape.locks as usize];
    let mut thread = 0;
    let events: Vec<Event> = (0..EVENTS)
        .map(|_| {
            if random.below(4) == 0 {
                thread = random.below(shape.threads);
            }
            let action = step(shape, &mut random, thread, &mut sections[thread as usize], &mut held);
            Event::new(ThreadId(thread), action, LocationId(random.below(1000)))
        })
        .collect();
    let blocks = events.chunks(BLOCK_EVENTS).enumerate();
    let blocks = blocks.map(|(number, events)| Block {
        first: EventIndex((number * BLOCK_EVENTS) as u64),
        events: events.to_vec(),
    });
    (symbols, blocks.collect())
}

/// The first half of the variables belongs to locks, the second to threads, both in turns.
fn step(shape: &Shape, random: &mut Random, thread: u32, section: &mut Section, held: &mut [bool]) -> Action {
    let half = shape.variables / 2;
    match section {
        Some((lock, 0)) => {
            let released = LockId(*lock);
            held[*lock as usize] = false;
            *section = None;
            Action::Release(released)
        }
        Some((lock, left)) => {
            *left -= 1;
            let lock = if random.below(100_000) < shape.stray { random.below(shape.locks) } else { *lock };
            access(random, random_of(half, shape.locks, lock))
        }
        None => {
            let lock = random.below(shape.locks);
            if random.below(1000) < shape.acquire && !held[lock as usize] {
                held[lock as usize] = true;
                *section = Some((lock, shape.section));
                return Action::Acquire(LockId(lock));
            }
            access(random, move |random| half + random_of(half, shape.threads, thread)(random))
        }
    }
}

/// One of `count` numbers that leave `owner` when divided by `owners`.
fn random_of(count: u32, owners: u32, owner: u32) -> impl Fn(&mut Random) -> u32 {
    move |random| random.below(count / owners) * owners + owner
}

fn access(random: &mut Random, var: impl Fn(&mut Random) -> u32) -> Action {
    let var = VarId(var(random));
    if random.below(3) == 0 { Action::Write(var) } else { Action::Read(var) }
}

fn detectors(criterion: &mut Criterion) {
    for shape in &SHAPES {
        let (mut symbols, mut blocks) = generate(shape);
        let mut group = criterion.benchmark_group(shape.name);
        group.throughput(Throughput::Elements(EVENTS as u64)).sample_size(10);
        group.bench_function("checker", |bencher| {
            bencher.iter(|| {
                let mut checker = Checker::repairing();
                for block in &mut blocks {
                    black_box(checker.check(block, &mut symbols).expect("a checked trace"));
                }
            });
        });
        for entry in DETECTORS {
            let id = BenchmarkId::from_parameter(entry.name);
            group.bench_function(id, |bencher| {
                bencher.iter(|| {
                    let mut analysis = (entry.start)(&Options::default()).expect("default options");
                    loop {
                        let mut checker = Checker::repairing();
                        for block in &mut blocks {
                            analysis.feed(&checker.check(block, &mut symbols).expect("a checked trace"));
                        }
                        if analysis.end_of_trace() == Outcome::Done {
                            break analysis.races().races();
                        }
                    }
                });
            });
        }
    }
}

criterion_group!(benches, detectors);
criterion_main!(benches);
