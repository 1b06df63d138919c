//! Runs small C and C++ programs with the runtime linked in and checks what their logs say.
#![allow(clippy::print_stdout, reason = "tests")]

mod support;

use std::collections::HashMap;

use overtake_rawlog::{Record, RecordKind as Kind, split_atomic_extra};
use support::{Program, compilers, each_compiler};

/// Checks that each acquire of a lock comes after its last release. Returns the number of hand-offs between threads. Whether somebody has to wait, and
/// requests the lock, is left to chance.
fn check_handoffs(records: &[(u32, Record)]) -> usize {
    let mut handoffs = 0;
    let mut last_holder = None;
    let granted: Vec<_> =
        records.iter().copied().filter(|(_, record)| record.kind != Kind::Request).collect();
    for pair in granted.chunks(2) {
        let [(holder, taken), (releaser, given_back)] = pair else { panic!("a lock is never given back") };
        assert_eq!((taken.kind, given_back.kind), (Kind::Acquire, Kind::Release));
        assert_eq!(holder, releaser);
        handoffs += usize::from(last_holder.replace(*holder).is_some_and(|last| last != *holder));
    }
    handoffs
}

#[test]
fn stamps_of_consecutive_holders_are_never_inverted() {
    let run = Program::new("gcc", "locks.c").run().succeeded();
    for lock in ["mutex", "spin"] {
        let mut records = run.log().about(run.printed(lock));
        records.retain(|(_, record)| !matches!(record.kind, Kind::Forget | Kind::Request));
        assert_eq!(records.len(), 2 * 2 * 150_000);
        assert!(check_handoffs(&records) > 0);
    }
    run.log().threads.values().for_each(support::Thread::check_stamps);
}

#[test]
fn mutexes_are_held_by_one_at_a_time_however_they_are_taken() {
    let run = Program::new("gcc", "holders.c").run().succeeded();
    for (mutex, least) in [("first", 3 * 30_000), ("second", 2 * 3 * 6_000), ("robust", 3 * 30_000 / 11)] {
        let mut records = run.log().about(run.printed(mutex));
        records.retain(|(_, record)| matches!(record.kind, Kind::Acquire | Kind::Release));
        assert!(records.len() >= 2 * least, "{mutex}: {}", records.len());
        assert!(check_handoffs(&records) > 0, "{mutex}");
    }
    run.log().threads.values().for_each(support::Thread::check_stamps);
}

#[test]
fn a_mutex_that_others_had_is_stamped_however_they_took_it() {
    each_compiler("turns.c", |run| {
        let mut records = run.log().about(run.printed("mutex"));
        records.retain(|(_, record)| record.kind == Kind::Acquire);
        let mut holders: Vec<u32> = records.iter().map(|(thread, _)| *thread).collect();
        holders.dedup();
        let turns: Vec<u32> = (0..300).map(|number| 1 + number % 2).collect();
        assert_eq!(holders, turns);
    });
}

#[test]
fn atomic_loads_never_come_before_the_stores_they_see() {
    let run = Program::new("gcc", "atomics.c").run().succeeded();
    let records = run.log().about(run.printed("turn"));
    let stores: Vec<u32> = records
        .iter()
        .filter(|(_, record)| record.kind == Kind::AtomicStore)
        .map(|(thread, _)| *thread)
        .collect();
    assert_eq!(stores.len(), 2 * 100_000);
    assert!(stores.windows(2).all(|pair| pair[0] != pair[1]), "turns are not taken in turn");
    // Between the other thread's store and its own, a thread must have seen the other's store.
    let mut loaded = Vec::new();
    for (thread, record) in &records {
        if record.kind == Kind::AtomicLoad {
            assert_eq!(split_atomic_extra(record.extra), (4, 2));
            loaded.push(*thread);
        } else if record.kind == Kind::AtomicStore {
            assert!(loaded.contains(thread), "a store before its thread saw that it is due");
            loaded.clear();
        }
    }
    let sum = run.printed("sum");
    let added = run.log().about(sum).iter().filter(|(_, record)| record.kind == Kind::AtomicRmw).count();
    assert_eq!(added, 2 * 100_000);
}

#[test]
fn atomic_operations_compute_what_they_should() {
    each_compiler("operations.c", |run| {
        run.log().threads[&0].check_stamps();
    });
}

#[test]
fn repeated_accesses_are_left_out_unless_asked_for() {
    for compiler in compilers() {
        let program = Program::new(compiler, "coalescing.c");
        let run = program.run().succeeded();
        let thread = &run.log().threads[&0];
        assert_eq!(thread.count(Kind::Read, run.printed("read_often")), 3);
        assert_eq!(thread.count(Kind::Write, run.printed("written_often")), 3);
        assert_eq!(thread.count(Kind::WriteAgain, run.printed("written_often")), 3);
        assert_eq!(thread.count(Kind::Write, run.printed("written_once")), 3);
        assert_eq!(thread.count(Kind::WriteAgain, run.printed("written_once")), 0);
        assert!(thread.header.coalesced >= 3 * 99 * 2, "{}", thread.header.coalesced);
        assert_eq!(run.log().process["exact"], "0");

        let run = program.run_with(&[], &[("OVERTAKE_EXACT", "1")]).succeeded();
        let thread = &run.log().threads[&0];
        assert_eq!(thread.count(Kind::Read, run.printed("read_often")), 300);
        assert_eq!(thread.count(Kind::Write, run.printed("written_often")), 300);
        assert_eq!((thread.header.closing_writes, thread.header.coalesced), (0, 0));
        assert_eq!(run.log().process["exact"], "1");
    }
}

#[test]
fn accesses_that_cross_a_line_are_known_only_if_both_parts_are() {
    each_compiler("across.c", |run| {
        let thread = &run.log().threads[&0];
        let read = run.printed("read");
        let reads: Vec<_> = thread.accesses(false);
        assert!(reads.contains(&(read, 8)) && reads.contains(&(read, 16)));
        assert!(!reads.contains(&(read + 8, 8)), "the second part was known");
        let written = run.printed("written");
        let count = |size| thread.accesses(true).iter().filter(|access| **access == (written, size)).count();
        assert_eq!((count(8), count(16)), (1, 1));
        let closed = |address| thread.count(Kind::WriteAgain, address);
        assert_eq!(closed(written) + closed(written + 8), 2, "written again on both lines");
    });
}

#[test]
fn closing_writes_come_before_the_release() {
    let run = Program::new("gcc", "coalescing.c").run().succeeded();
    let again = run.printed("written_often");
    let records = &run.log().threads[&0].records;
    let mut closed = true;
    for record in records {
        match record.kind {
            Kind::Write if record.value == again => closed = false,
            Kind::WriteAgain if record.value == again => closed = true,
            Kind::Release => assert!(closed),
            _ => {}
        }
    }
}

#[test]
fn signal_handlers_and_what_they_interrupt_lose_nothing() {
    let program = Program::new("gcc", "signals.c");
    let run = program.run_with(&[], &[("OVERTAKE_EXACT", "1")]).succeeded();
    let thread = &run.log().threads[&0];
    let handled = run.printed("handler");
    assert!(handled > 10, "only {handled} signals");
    assert_eq!(thread.count(Kind::Write, run.printed("by_program")) as u64, run.printed("program"));
    assert_eq!(thread.count(Kind::Write, run.printed("by_handler")) as u64, handled);
    assert_eq!(thread.count(Kind::AtomicRmw, run.printed("both")) as u64, run.printed("program") + handled);
    thread.check_stamps();
    let depths = thread.depths_at(run.printed("by_handler"));
    let (in_main, in_handler) = depths.split_last().expect("the program prints it");
    assert_eq!(*in_main, 1);
    assert!(in_handler.iter().all(|depth| *depth >= 6), "main, handler and four calls: {in_handler:?}");
}

#[test]
fn the_call_stack_heals_after_longjmp() {
    each_compiler("jumps.c", |run| {
        let thread = &run.log().threads[&0];
        let depth = |name| thread.depths_at(run.printed(name))[0];
        assert_eq!(depth("inside"), depth("before") + 51);
        assert_eq!(depth("after"), depth("before") + 1);
        assert_eq!(depth("outside") + 1, depth("before"));
    });
}

#[test]
fn a_program_that_wants_to_know_is_told_before_it_forks() {
    each_compiler("forking.c", |run| drop(run.succeeded()));
}

#[test]
fn children_have_logs_of_their_own() {
    let run = Program::new("gcc", "forks.c").run().succeeded();
    let [parent, children @ ..] = &run.logs[..] else { panic!("no log") };
    assert_eq!(children.len(), 5);
    assert_eq!(parent.threads[&0].count(Kind::Write, run.printed("in_parent")), 1);
    assert_eq!(parent.threads[&0].count(Kind::Write, run.printed("in_child")), 0);
    for child in children {
        assert_eq!(child.process["parent"], parent.process["pid"]);
        let thread = &child.threads[&0];
        assert_eq!(thread.records[1].kind, Kind::Push, "the call stack goes on");
        let start = thread.records.iter().find(|record| record.kind == Kind::ThreadStart).expect("a start");
        assert_eq!(start.extra, 1);
        assert_eq!(thread.count(Kind::Write, run.printed("in_child")), 1);
        assert_eq!(child.threads[&1].count(Kind::Write, run.printed("in_thread")), 1);
        assert_eq!(child.threads[&1].header.parent, 0);
    }
    assert_eq!(children[2].process["ended"], "exec");
    assert_eq!(children[3].process["ended"], "_exit");
}

#[test]
fn what_was_recorded_survives_the_process() {
    let program = Program::new("gcc", "crashes.c");
    let ends: [(&str, Option<i32>, Option<&str>); 8] = [
        ("kill", Some(libc::SIGKILL), None),
        ("abort", Some(libc::SIGABRT), Some("abort")),
        ("fault", Some(libc::SIGSEGV), None),
        ("overflow", Some(libc::SIGSEGV), None),
        ("_exit", None, Some("_exit")),
        ("quick_exit", None, Some("_exit")),
        ("exit", None, Some("exit")),
        ("return", None, Some("exit")),
    ];
    for (way, signal, ended) in ends {
        let run = program.run_with(&[way], &[]);
        let run = match signal {
            Some(signal) => run.died_of(signal),
            None => {
                assert_eq!(run.output.status.code(), Some(if way == "return" { 1 } else { 9 }));
                run
            }
        };
        let last = run.printed("last");
        let accesses = run.log().threads[&0].accesses(true);
        let written =
            accesses.iter().filter(|access| (last..last + 4000).contains(&access.0) && access.1 == 4);
        assert_eq!(written.count(), 1000, "{way}");
        assert_eq!(run.log().process.get("ended").map(String::as_str), ended, "{way}");
        assert_eq!(run.log().threads[&1].header.ended, 0);
        assert!(run.log().files.contains_key("maps.0"));
    }
}

#[test]
fn thousands_of_threads_and_held_locks_are_recorded() {
    let run = Program::new("gcc", "many.c").run().succeeded();
    let log = run.log();
    assert_eq!(log.threads.len(), 5001);
    for (number, thread) in &log.threads {
        thread.check_stamps();
        assert_eq!(thread.header.lost_bytes, 0);
        assert_eq!(thread.header.ended, u32::from(*number > 0));
        assert!(*number == 0 || thread.header.stack_high - thread.header.stack_low <= 64 << 10);
    }
    let barrier = log.kinds_about(run.printed("barrier"));
    assert_eq!(barrier.iter().filter(|kind| **kind == Kind::BarrierLeave).count(), 5001);
    let first_leave = barrier.iter().position(|kind| *kind == Kind::BarrierLeave);
    assert_eq!(first_leave, Some(5002), "the init, and every arrival before any leaves");
    let locks = log.threads[&0].records.iter().filter(|record| record.kind == Kind::Acquire).count();
    assert_eq!(locks, 1000);
    assert_eq!(log.process["lost"], "0");
}

#[test]
fn a_size_limit_keeps_the_newest_part() {
    let program = Program::new("gcc", "volume.c");
    let run = program.run_with(&["1000000"], &[("OVERTAKE_MAX_BYTES", "4000000")]).succeeded();
    let thread = &run.log().threads[&0];
    // A million accesses take one word each, except those whose lines fit into the table and which become runs.
    let (dropped, kept) = (run.log().header.expect("a header").dropped_bytes, run.log().file_bytes);
    assert!(dropped + kept >= 7_000_000);
    assert!(kept <= 4_000_000 + (1 << 20), "{kept} bytes");
    let first = run.printed("first");
    assert_eq!(thread.count(Kind::Write, first + 999_999 * 64), 1, "the newest is there");
    assert_eq!(thread.count(Kind::Write, first + 64 * 1000), 0, "the oldest is not");
    assert_eq!(run.log().process["max_bytes"], "4000000");
}

#[test]
fn a_full_disk_loses_records_and_counts_them() {
    let program = Program::new("gcc", "volume.c");
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "ulimit -f 2000; exec \"$0\" 1000000"]).arg(program.path());
    let run = program.run_command(command).succeeded();
    assert_eq!(run.printed("done"), 1_000_000, "the program is not disturbed");
    let thread = &run.log().threads[&0];
    assert!(thread.header.lost_bytes + 2000 * 1024 >= 7_000_000, "{}", thread.header.lost_bytes);
    assert!(thread.count(Kind::Write, run.printed("first")) >= 1);
    assert!(String::from_utf8_lossy(&run.output.stderr).contains("file too large, see `ulimit -f`"));
}

#[test]
fn program_counters_are_right_although_signal_handlers_name_places_too() {
    each_compiler("places.c", |run| {
        assert!(run.printed("signals") > 10, "only {} signals", run.printed("signals"));
        let mut pcs = HashMap::new();
        let arrays = [run.printed("program"), run.printed("handler")];
        for record in &run.log().threads[&0].records {
            let is_element = arrays.iter().any(|array| (*array..*array + 2 * 384).contains(&record.value));
            if is_element && matches!(record.kind, Kind::Read | Kind::Write) {
                let pc = *pcs.entry((record.kind, record.value)).or_insert(record.words[0]);
                assert_eq!(pc, record.words[0], "another instruction accesses {:#x}", record.value);
            }
        }
        let instructions: std::collections::HashSet<_> = pcs.values().collect();
        assert!(pcs.len() >= 2 * 384); // some compilers leave out reads before writes
        assert_eq!(instructions.len(), pcs.len());
    });
}

#[test]
fn without_a_log_directory_the_program_runs_unrecorded() {
    let program = Program::new("gcc", "volume.c");
    let mut command = std::process::Command::new(program.path());
    command.arg("1000").env("OVERTAKE_LOG", "/nonexistent/directory");
    let output = command.output().expect("the program starts");
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        said.matches("no log can be made in /nonexistent/directory (no such file or directory)").count(),
        1,
        "{said}"
    );
}

#[test]
fn little_memory_and_fixed_addresses_are_enough() {
    let program = Program::new("gcc", "locks.c");
    for how in ["ulimit -v 300000; exec \"$0\"", "exec setarch -R \"$0\""] {
        let mut command = std::process::Command::new("sh");
        command.args(["-c", how]).arg(program.path());
        let run = program.run_command(command).succeeded();
        assert_eq!(
            run.log().threads.values().map(|thread| thread.header.lost_bytes).sum::<u64>(),
            0,
            "{how}"
        );
        assert_eq!(run.log().threads.len(), 3);
    }
}

#[test]
fn each_primitive_is_recorded() {
    each_compiler("synchronise.c", |run| {
        let log = run.log();
        let of = |name: &str, thread: u32| -> Vec<(Kind, u8)> {
            let about = log.about(run.printed(name)).into_iter();
            about
                .filter(|(number, _)| *number == thread)
                .map(|(_, record)| (record.kind, record.extra))
                .collect()
        };
        assert_eq!(
            of("recursive", 0)[1..5].iter().map(|(_, extra)| *extra).collect::<Vec<_>>(),
            [0, 1, 0, 0]
        );
        assert_eq!(of("recursive", 0).last(), Some(&(Kind::Destroy, 0)));
        assert_eq!(of("robust", 1), [(Kind::Acquire, 0)]);
        assert_eq!(of("robust", 0)[1..], [(Kind::Acquire, 2), (Kind::Release, 0)]);
        assert_eq!(
            of("rwlock", 0),
            [(Kind::Acquire, 0), (Kind::ReleaseAny, 0), (Kind::AcquireShared, 1), (Kind::ReleaseAny, 0)]
        );
        assert_eq!(of("rwlock", 1), [(Kind::AcquireShared, 0), (Kind::ReleaseAny, 0)]);
        assert_eq!(of("once", 0), [(Kind::Post, 0), (Kind::Wait, 0)]);
        assert_eq!(of("once", 1), [(Kind::Wait, 0)]);
        let waits = [(Kind::CondWait, 0), (Kind::CondWake, 1)];
        assert_eq!(of("condition", 0), [&[(Kind::CondSignal, 0)][..], &waits, &waits].concat());
        assert_eq!(log.kinds_about(run.printed("barrier"))[1..3], [Kind::BarrierArrive; 2]);
        assert_eq!(
            of("semaphore", 0).iter().map(|(kind, _)| *kind).collect::<Vec<_>>(),
            [Kind::SemaphoreInit, Kind::SemaphorePost, Kind::SemaphorePost, Kind::SemaphoreWait]
        );
        assert_eq!(of("semaphore", 1), [(Kind::SemaphoreWait, 0)]);
        let destroyed = log.threads[&1].count(Kind::Write, run.printed("in_destructor"));
        assert_eq!(destroyed, 1, "destructors of thread-specific values are recorded");
        assert_eq!(log.threads[&1].header.ended, 1);
        let name = log.threads[&1].records.iter().find(|record| record.kind == Kind::ThreadName);
        assert_eq!(name.map(|record| record.words[0].to_le_bytes()), Some(*b"worker\0\0"));
        let order: Vec<(u32, Kind)> = log
            .in_order()
            .into_iter()
            .filter(|(_, record)| {
                matches!(record.kind, Kind::Fork | Kind::ThreadStart | Kind::ThreadEnd | Kind::Join)
            })
            .map(|(thread, record)| (thread, record.kind))
            .collect();
        assert_eq!(
            order,
            [
                (0, Kind::ThreadStart),
                (0, Kind::Fork),
                (1, Kind::ThreadStart),
                (1, Kind::ThreadEnd),
                (0, Kind::Join)
            ]
        );
        // The mutex has one holder at a time, also across waits and time-outs.
        let mutex = log.about(run.printed("mutex"));
        check_handoffs(&mutex);
    });
}

#[test]
fn c11_threads_are_recorded() {
    each_compiler("c11.c", |run| {
        let log = run.log();
        let mut mutex = log.about(run.printed("mutex"));
        mutex.retain(|(_, record)| matches!(record.kind, Kind::Acquire | Kind::Release));
        check_handoffs(&mutex);
        assert!(log.kinds_about(run.printed("condition")).contains(&Kind::CondSignal));
        assert_eq!(log.kinds_about(run.printed("once"))[0], Kind::Post);
        assert_eq!(log.threads[&0].count(Kind::Join, 1), 1);
    });
}

#[test]
fn memory_and_what_touches_it_is_recorded() {
    each_compiler("memory.c", |run| {
        let thread = &run.log().threads[&0];
        let find = |kind: Kind, name: &str| {
            let at = run.printed(name);
            thread.records.iter().find(|record| record.kind == kind && record.value == at).copied()
        };
        assert_eq!(find(Kind::Alloc, "block").expect("allocated").words[2], 1000);
        assert_eq!(find(Kind::WriteRange, "block").expect("set").words[1], 1000);
        assert!(find(Kind::Free, "block").is_some());
        assert_eq!(find(Kind::Alloc, "grown").expect("moved").words[2], 100_000);
        assert!(find(Kind::Free, "grown").is_some());
        assert_eq!(find(Kind::Alloc, "aligned").expect("allocated").words[2], 5000);
        assert_eq!(find(Kind::Map, "map").expect("mapped").words[2], 8192);
        assert_eq!(find(Kind::Unmap, "map").expect("moved").words[2], 8192);
        assert_eq!(find(Kind::ReadRange, "from").expect("copied").words[1], 3000);
        assert_eq!(find(Kind::WriteRange, "to").expect("copied").words[1], 3000);
        // Freed blocks are allocated again.
        let sizes = thread.records.iter().filter(|record| record.value == run.printed("copy"));
        assert!(sizes.clone().any(|record| record.kind == Kind::Alloc && record.words[2] == 10));
        let allocated = thread.records.iter().filter(|record| record.kind == Kind::Alloc).count();
        let freed = thread.records.iter().filter(|record| record.kind == Kind::Free).count();
        assert!(allocated >= freed && freed >= 7, "{allocated} allocated, {freed} freed");
    });
}

#[test]
fn programs_can_describe_their_own_synchronisation() {
    each_compiler("interface.c", |run| {
        let log = run.log();
        let kinds = |name: &str| log.kinds_about(run.printed(name));
        assert_eq!(
            kinds("own"),
            [Kind::Forget, Kind::Acquire, Kind::ReleaseAny, Kind::AcquireShared, Kind::ReleaseAny]
        );
        assert_eq!(kinds("inside"), [], "the insides of a lock are not recorded");
        assert_eq!(kinds("inner"), [Kind::AcquireShared, Kind::ReleaseAny]);
        assert_eq!(kinds("queue"), [Kind::Post, Kind::Wait]);
        assert_eq!(kinds("event"), [Kind::Post, Kind::Wait]);
        assert_eq!(kinds("benign"), [Kind::Benign]);
        let thread = &log.threads[&0];
        assert_eq!(thread.count(Kind::Write, run.printed("ignored")), 0);
        assert_eq!(thread.count(Kind::Write, run.printed("seen")), 1);
        assert_eq!(thread.count(Kind::Write, run.printed("in_fiber")), 0);
        assert_eq!(log.threads[&1].count(Kind::Write, run.printed("in_fiber")), 1);
        assert_eq!(log.threads[&1].header.ended, 1);
        assert_eq!(log.files["options"], b"exitcode=0");
        assert_eq!(log.files["suppressions"], b"race:known\n");
    });
}

#[test]
fn cpp_statics_exceptions_and_operators_are_recorded() {
    each_compiler("statics.cpp", |run| {
        let log = run.log();
        let thread = &log.threads[&0];
        for name in ["wide", "many"] {
            assert_eq!(thread.count(Kind::Alloc, run.printed(name)), 1);
            assert_eq!(thread.count(Kind::Free, run.printed(name)), 1);
            // The caller of the operator is recorded, not the place in the C++ library that calls `malloc`.
            let maps = String::from_utf8_lossy(&log.files["maps.0"]).into_owned();
            for record in thread.records.iter().filter(|record| record.value == run.printed(name)) {
                assert!(support::module_at(&maps, record.words[0]).ends_with("/program"), "{record:?}");
            }
        }
        let once = log.kinds_about(run.printed("once"));
        assert_eq!(once.iter().filter(|kind| **kind == Kind::Post).count(), 1, "{once:?}");
        assert_eq!(once[0], Kind::Post);
    });
}

#[test]
fn cancelled_waits_hold_the_mutex() {
    each_compiler("cancel.c", |run| {
        check_handoffs(&run.log().about(run.printed("mutex")));
        assert_eq!(run.log().threads[&1].count(Kind::Write, run.printed("cleaned")), 1);
        assert!(run.log().threads.values().skip(1).all(|thread| thread.header.ended == 1));
    });
}

#[test]
fn named_semaphores_signals_and_exit_handlers_are_recorded() {
    each_compiler("more.c", |run| {
        let log = run.log();
        let kinds = |name: &str| log.kinds_about(run.printed(name));
        assert_eq!(
            kinds("semaphore"),
            [Kind::SemaphoreOpen, Kind::SemaphoreOpen, Kind::SemaphoreWait, Kind::SemaphorePost]
        );
        assert_eq!(log.about(run.printed("semaphore"))[0].1.words[2], 2);
        assert_eq!(kinds("event"), [Kind::FdForget, Kind::FdWait]);
        assert_eq!(kinds("copy"), [Kind::FdAlias, Kind::FdPost]);
        // The handler's write comes after a wait, and so does the exit handler's.
        for (thread, name) in [(1, "by_signal"), (0, "at_exit")] {
            let records = &log.threads[&thread].records;
            let write = records
                .iter()
                .position(|record| record.kind == Kind::Write && record.value == run.printed(name))
                .expect("it is written");
            let before = records[..write].iter().rev().find_map(|record| record.stamp().map(|_| record.kind));
            assert_eq!(before, Some(Kind::Wait), "{name}");
        }
    });
}

#[test]
fn a_signal_after_any_instruction_loses_and_doubles_nothing() {
    let arrays = [
        ("bytes", 1, 1),
        ("shorts", 2, 2),
        ("ints", 4, 4),
        ("longs", 8, 8),
        ("packed", 9, 8),
        ("wide", 16, 16),
    ];
    for compiler in compilers() {
        let program = Program::new(compiler, "steps.c");
        for exact in ["0", "1"] {
            let run = program.run_with(&[], &[("OVERTAKE_EXACT", exact)]).succeeded();
            let thread = &run.log().threads[&0];
            let count = |accesses: Vec<(u64, u64)>| {
                accesses.into_iter().fold(HashMap::new(), |mut counts, access| {
                    *counts.entry(access).or_insert(0_u64) += 1;
                    counts
                })
            };
            let (reads, writes) = (count(thread.accesses(false)), count(thread.accesses(true)));
            let updates = thread.records.iter().filter(|record| record.kind == Kind::AtomicRmw);
            let updates = count(updates.map(|record| (record.value, 8)).collect());
            for number in 0..run.printed("count") {
                for (array, distance, size) in arrays.into_iter().chain([("apart", run.printed("gap"), 8)]) {
                    let at = run.printed(array) + u64::from(array == "packed") + number * distance;
                    assert_eq!(writes.get(&(at, size)), Some(&1), "{compiler}, {exact}: {array}[{number}]");
                }
                let at = |array| (run.printed(array) + 8 * number, 8);
                assert_eq!(reads.get(&at("scattered")), Some(&1), "{compiler}, {exact}: {number}");
                assert_eq!(updates.get(&at("atomics")), Some(&1), "{compiler}, {exact}: {number}");
            }
            let handled = run.printed("handled");
            assert!(handled > 3 * run.printed("count"), "only {handled} signals");
            // In the handler, and once by `handler(0)`. Each starts a region of its own.
            assert_eq!(writes[&(run.printed("by_handler"), 8)], handled);
            thread.check_stamps();
        }
    }
}
