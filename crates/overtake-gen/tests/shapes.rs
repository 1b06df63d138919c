//! Every shape keeps its promises.

mod support;

use std::collections::BTreeSet;

use overtake_gen::{Parameters, SHAPES, Shape, Workload, find_shape};
use overtake_trace::{BLOCK_EVENTS, Block, Checker, Event, EventSource, MemoryOrder, Op, Trace, VarId};
use support::race_pairs;

/// Parameters small enough for brute force, but large enough that the shape uses all its mechanisms.
fn small(shape: &'static Shape, seed: u64, events: u64) -> Parameters {
    let defaults = shape.defaults;
    Parameters {
        events,
        threads: defaults.threads.min(24),
        variables: defaults.variables.min(400),
        distance: defaults.distance.min(60),
        raciness: defaults.raciness.max(0.01),
        epsilon: 0.05,
        seed,
        ..defaults
    }
}

fn generate(shape: &'static Shape, parameters: Parameters) -> Trace {
    let mut workload = Workload::new(shape, parameters).expect("the parameters are possible");
    Trace::read(&mut workload).expect("generators do not fail")
}

fn assert_well_formed(trace: &Trace, what: &str) {
    let mut checker = Checker::strict();
    let mut block = Block { events: trace.events.clone(), ..Block::default() };
    let mut symbols = trace.symbols.clone();
    if let Err(error) = checker.check(&mut block, &mut symbols) {
        panic!("{what}: {error}");
    }
}

/// The variables of all happens-before races.
fn racy_variables(trace: &Trace) -> BTreeSet<VarId> {
    race_pairs(trace).into_iter().map(|(_, second)| VarId(trace.events[second].operand())).collect()
}

fn count(events: &[Event], ops: &[Op]) -> usize {
    events.iter().filter(|event| ops.contains(&event.op())).count()
}

#[test]
fn every_shape_is_well_formed_for_every_seed() {
    for shape in SHAPES {
        for seed in 0..6 {
            let trace = generate(shape, small(shape, seed, 20_000));
            assert_well_formed(&trace, &format!("{} with seed {seed}", shape.name));
        }
    }
}

#[test]
fn the_defaults_of_every_shape_are_well_formed() {
    for shape in SHAPES {
        let trace = generate(shape, Parameters { events: 300_000, ..shape.defaults });
        assert_well_formed(&trace, shape.name);
        assert_eq!(trace.events.len(), 300_000, "{}", shape.name);
    }
}

#[test]
fn every_number_of_events_is_cut_cleanly() {
    for shape in SHAPES {
        let lengths =
            (0..200).chain([1_000, BLOCK_EVENTS as u64 - 1, BLOCK_EVENTS as u64, BLOCK_EVENTS as u64 + 1]);
        for events in lengths {
            let trace = generate(shape, small(shape, 3, events));
            assert_eq!(trace.events.len() as u64, events, "{}", shape.name);
            assert_well_formed(&trace, &format!("{} with {events} events", shape.name));
        }
    }
}

#[test]
fn odd_parameters_stay_well_formed() {
    for shape in SHAPES {
        for threads in [2, 3, 5, 17] {
            for locks in [2, 3, 7, 64] {
                for nesting in [1, 3, 8] {
                    let parameters = Parameters {
                        threads,
                        locks,
                        nesting,
                        variables: 300,
                        sharing: 0.9,
                        epsilon: 0.02,
                        ..small(shape, 5, 2_000)
                    };
                    let trace = generate(shape, parameters);
                    assert_well_formed(&trace, &format!("{} {parameters:?}", shape.name));
                }
            }
        }
    }
}

#[test]
fn the_seed_decides_the_events() {
    for shape in SHAPES {
        let first = generate(shape, small(shape, 1, 5_000));
        assert_eq!(first, generate(shape, small(shape, 1, 5_000)), "{}", shape.name);
        assert_ne!(first.events, generate(shape, small(shape, 2, 5_000)).events, "{}", shape.name);
    }
}

#[test]
fn long_traces_end_with_all_threads_joined_and_all_locks_free() {
    for shape in SHAPES {
        let parameters = small(shape, 4, 20_000);
        let trace = generate(shape, parameters);
        let forks = count(&trace.events, &[Op::Fork]);
        assert_eq!(forks as u64, parameters.threads - 1, "{}", shape.name);
        assert_eq!(count(&trace.events, &[Op::Join]), forks, "{}", shape.name);
        for (enter, leave) in [(Op::Acquire, Op::Release), (Op::AcquireShared, Op::ReleaseShared)] {
            assert_eq!(count(&trace.events, &[enter]), count(&trace.events, &[leave]), "{}", shape.name);
        }
    }
}

#[test]
fn expected_races_are_exactly_the_races() {
    for shape in SHAPES {
        for seed in 0..3 {
            for events in [300, 2_500] {
                for raciness in [0.0, 0.01] {
                    let parameters = Parameters { raciness, ..small(shape, seed, events) };
                    let mut workload = Workload::new(shape, parameters).expect("possible parameters");
                    let trace = Trace::read(&mut workload).expect("generators do not fail");
                    if let Some(expectation) = workload.expectation() {
                        let found: BTreeSet<_> = racy_variables(&trace);
                        let what =
                            format!("{} seed {seed}, {events} events, raciness {raciness}", shape.name);
                        assert_eq!(expectation.racy_variables, found, "{what}");
                        assert_eq!(expectation.distance_to_race_free > 0, !found.is_empty(), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn forgotten_locks_make_races() {
    for name in ["lock-heavy", "lock-dominated", "compute", "many-threads", "mixed"] {
        let shape = find_shape(name).expect("in the table");
        let parameters = Parameters { raciness: 0.05, distance: 5, ..small(shape, 2, 2_500) };
        let trace = generate(shape, parameters);
        assert!(!racy_variables(&trace).is_empty(), "{name}");
    }
}

#[test]
fn far_races_are_exactly_as_far_as_asked() {
    let shape = find_shape("far-races").expect("in the table");
    for distance in [1, 10, 333] {
        let parameters = Parameters { distance, ..small(shape, 1, 3_000) };
        let trace = generate(shape, parameters);
        let pairs = race_pairs(&trace);
        assert!(!pairs.is_empty());
        assert!(pairs.iter().all(|(first, second)| (second - first) as u64 == distance), "{pairs:?}");
    }
}

#[test]
fn epsilon_far_traces_need_as_many_changes_as_promised() {
    let shape = find_shape("epsilon-far").expect("in the table");
    for (threads, epsilon) in [(2, 0.01), (4, 0.05), (16, 0.02), (17, 0.076), (16, 0.001)] {
        let parameters = Parameters { threads, epsilon, events: 100_000, ..shape.defaults };
        let mut workload = Workload::new(shape, parameters).expect("possible parameters");
        Trace::read(&mut workload).expect("generators do not fail");
        let needed = workload.expectation().expect("known").distance_to_race_free;
        assert!(needed as f64 >= epsilon * 100_000.0, "{threads} threads, epsilon {epsilon}: only {needed}");
    }
}

#[test]
fn state_does_not_grow_with_the_number_of_events() {
    for shape in SHAPES {
        let state_after = |events| {
            let mut workload = Workload::new(shape, small(shape, 1, events)).expect("possible parameters");
            let names = workload.symbols().sizes();
            let mut block = Block::default();
            while workload.next_block(&mut block).expect("generators do not fail") {}
            assert_eq!(workload.symbols().sizes(), names, "{}: names are there from the start", shape.name);
            workload.state_bytes()
        };
        assert_eq!(state_after(50_000), state_after(1_000_000), "{}", shape.name);
    }
}

#[test]
fn the_benchmark_trace_has_the_shape_it_is_named_for() {
    let shape = find_shape("lock-heavy").expect("in the table");
    let trace = generate(shape, Parameters { events: 1_000_000, ..shape.defaults });
    let share = |ops: &[Op]| count(&trace.events, ops) as f64 / 1e6;
    let lock_operations = share(&[Op::Acquire, Op::Release]);
    assert!((0.47..0.53).contains(&lock_operations), "{lock_operations}");
    assert!((0.2..0.4).contains(&share(&[Op::Read])), "{}", share(&[Op::Read]));
    let sizes = trace.symbols.sizes();
    assert_eq!((sizes.threads, sizes.locks, sizes.variables), (16, 32, 20_000));
    assert!((900..=1000).contains(&sizes.locations), "{}", sizes.locations);
    let used: BTreeSet<u32> = trace.events.iter().map(|event| event.location().0).collect();
    assert!(used.len() > 900, "{}", used.len());
}

#[test]
fn sharing_is_the_fraction_of_accesses_to_shared_variables() {
    let shape = find_shape("lock-heavy").expect("in the table");
    for sharing in [0.2, 0.5, 0.8] {
        let trace = generate(shape, Parameters { events: 400_000, sharing, ..shape.defaults });
        let mut users = vec![BTreeSet::new(); trace.symbols.variables.len()];
        let accesses: Vec<&Event> =
            trace.events.iter().filter(|event| matches!(event.op(), Op::Read | Op::Write)).collect();
        for access in &accesses {
            users[access.operand() as usize].insert(access.thread());
        }
        let shared = accesses.iter().filter(|access| users[access.operand() as usize].len() > 1).count();
        let found = shared as f64 / accesses.len() as f64;
        assert!((found - sharing).abs() < 0.05, "asked for {sharing}, found {found}");
    }
}

#[test]
fn compute_synchronises_little() {
    let shape = find_shape("compute").expect("in the table");
    let trace = generate(shape, Parameters { events: 500_000, ..shape.defaults });
    let lock_operations = count(&trace.events, &[Op::Acquire, Op::Release]) as f64 / 5e5;
    assert!((0.01..0.03).contains(&lock_operations), "{lock_operations}");
}

#[test]
fn many_threads_all_run() {
    let shape = find_shape("many-threads").expect("in the table");
    let trace = generate(shape, Parameters { events: 1_000_000, ..shape.defaults });
    let ran: BTreeSet<_> = trace.events.iter().map(Event::thread).collect();
    assert_eq!(ran.len(), 10_000);
}

#[test]
fn interleaved_gives_each_event_to_another_thread() {
    let shape = find_shape("interleaved").expect("in the table");
    let trace = generate(shape, Parameters { events: 100_000, ..shape.defaults });
    let stays = trace.events.windows(2).filter(|pair| pair[0].thread() == pair[1].thread()).count();
    // Threads are drawn, and who waits for a lock lets its holder run.
    assert!(stays < trace.events.len() / 5, "{stays}");
}

#[test]
fn mixed_has_every_operation_and_every_memory_order() {
    let shape = find_shape("mixed").expect("in the table");
    let trace = generate(shape, Parameters { events: 200_000, ..shape.defaults });
    for op in Op::ALL.into_iter().filter(|op| ![Op::Skip, Op::Misuse, Op::Gap].contains(op)) {
        assert!(count(&trace.events, &[op]) > 0, "no {}", op.describe());
    }
    for order in MemoryOrder::ALL {
        assert!(
            trace.events.iter().any(|event| event.op() == Op::Rmw && event.order() == order),
            "{order:?}"
        );
    }
}

#[test]
fn the_same_line_of_code_does_the_same_operation() {
    for name in ["lock-heavy", "compute", "mixed", "producer-consumer"] {
        let shape = find_shape(name).expect("in the table");
        let trace = generate(shape, Parameters { events: 100_000, raciness: 0.0, ..shape.defaults });
        let mut ops = vec![None; trace.symbols.locations.len()];
        for event in &trace.events {
            let seen = ops[event.location().0 as usize].get_or_insert(event.op());
            assert_eq!(*seen, event.op(), "{name}: {}", trace.symbols.location_name(event.location()));
        }
    }
}

#[test]
fn impossible_parameters_are_refused() {
    let refused = |name: &str, change: fn(&mut Parameters), message: &str| {
        let shape = find_shape(name).expect("in the table");
        let mut parameters = shape.defaults;
        change(&mut parameters);
        let error = Workload::new(shape, parameters).expect_err("impossible parameters").to_string();
        assert_eq!(error, message);
    };
    refused("lock-heavy", |p| p.threads = 0, "threads: expected at least 1, found 0");
    refused("lock-heavy", |p| p.locks = 0, "locks: expected at least 1, found 0");
    refused(
        "lock-heavy",
        |p| p.variables = 1 << 32,
        "variables: expected at most 268435456, found 4294967296",
    );
    refused("lock-heavy", |p| p.variables = 1, "variables: expected at least 2, found 1");
    refused("lock-heavy", |p| p.nesting = 9, "nesting: expected at most 8, found 9");
    refused("lock-heavy", |p| p.sharing = 1.5, "sharing: expected a number from 0 to 1, found 1.5");
    refused("lock-heavy", |p| p.raciness = f64::NAN, "raciness: expected a number from 0 to 1, found NaN");
    refused("far-races", |p| p.threads = 1, "threads: expected at least 2, found 1");
    refused("far-races", |p| p.distance = 0, "distance: expected at least 1, found 0");
    refused(
        "epsilon-far",
        |p| p.epsilon = 0.5,
        "epsilon: expected more than 0 and at most 0.0792, found 0.5",
    );
    refused("producer-consumer", |p| p.threads = 1, "threads: expected at least 2, found 1");
    refused("fork-join", |p| p.variables = 100, "variables: expected at least 126, found 100");
}
