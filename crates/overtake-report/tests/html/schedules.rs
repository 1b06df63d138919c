//! Reports on schedules: with any number of threads and steps, of races and of deadlocks, and with long lines.

use std::collections::BTreeMap;

use overtake_detect::Verdict;
use overtake_report::result::{
    Access, Arrow, ArrowKind, Confirmed, Excerpt, Finding, Frame, HeldLock, Kind, Report, Schedule, Section,
    Stand,
};

use crate::sample::{PREDICTED, access, clean, finding, frame, step, thread};

/// A predicted race in a schedule with so many threads and steps: `T1` overtakes a section of `T0`, the others do other things.
pub(crate) fn crowd(threads: u32, steps: u32) -> Report {
    let mut schedule = Schedule {
        threads: (0..threads).map(|thread| format!("T{thread}")).collect(),
        ..Schedule::default()
    };
    let others = threads - 2;
    let noise = steps.saturating_sub(7) / 2;
    let add_noise = |schedule: &mut Schedule| {
        for number in 0..noise / 2 {
            let thread = 2 + number % others.max(1);
            let from = schedule.steps.len() as u32;
            for operation in ["acquire", "release"] {
                schedule.steps.push(step(thread, operation, &format!("n{thread}"), "work other.c:9"));
            }
            let (lock, to) = (format!("n{thread}"), Some(from + 1));
            schedule.sections.push(Section { lock, shared: false, thread, from: Some(from), to });
        }
    };
    schedule.steps.push(step(0, "fork", "T1", "main a.c:2"));
    add_noise(&mut schedule);
    let first = schedule.steps.len() as u32;
    schedule.steps.push(step(0, "write", "x", "producer a.c:4"));
    schedule.steps.push(step(0, "acquire", "m", "producer a.c:5"));
    schedule.steps.push(step(0, "release", "m", "producer a.c:6"));
    add_noise(&mut schedule);
    let second = schedule.steps.len() as u32 + 2;
    schedule.steps.push(step(1, "acquire", "m", "consumer b.c:3"));
    schedule.steps.push(step(1, "release", "m", "consumer b.c:4"));
    schedule.steps.push(step(1, "read", "x", "consumer b.c:5"));
    schedule.steps[first as usize].role = Some(0);
    schedule.steps[second as usize].role = Some(1);
    let is_overtaken = |at: &u32| [first, first + 1, first + 2, second].contains(at);
    schedule.witness = (0..=second).filter(|at| !is_overtaken(at)).chain([first, second]).collect();
    let section = |thread, from| Section {
        lock: "m".into(),
        shared: false,
        thread,
        from: Some(from),
        to: Some(from + 1),
    };
    schedule.sections.extend([section(0, first + 1), section(1, second - 2)]);
    schedule.arrows = vec![
        Arrow { from: 0, to: second - 2, kind: ArrowKind::Fork },
        Arrow { from: first + 2, to: second - 2, kind: ArrowKind::LockOrder },
    ];
    let stack = |line| vec![Frame { file: format!("a.c:{line}"), ..Frame::default() }];
    let mut report = clean();
    report.findings = vec![Finding {
        id: 1,
        schedule: Some(schedule),
        ..finding(
            PREDICTED,
            Verdict::Predicted,
            "x: producer writes while consumer reads",
            access("write", 4, thread("T0", vec![]), stack(4)),
            access("read", 9, thread("T1", vec![]), stack(5)),
        )
    }];
    report
}

/// A race on lines that are longer than any screen, one of them longer than what a report keeps of it.
pub(crate) fn long_lines() -> Report {
    let mut report = crowd(3, 8);
    let (before, after) = ("call(a, b, c); ".repeat(14), " + f(d, e);".repeat(14));
    let line = format!("    {before}shared->value{after}");
    let column = line.find("value").unwrap() as u32 + 1;
    let lines = BTreeMap::from([(4, line.clone()), (5, "    short();".into()), (6, line)]);
    let excerpt = Excerpt { lines, cut: BTreeMap::from([(6, 5_000)]) };
    report.sources.insert("src/long.cpp".into(), excerpt);
    report.findings[0].accesses[0].stack = vec![frame("producer", "src/long.cpp", 4, column)];
    report.findings[0].accesses[1].stack = vec![frame("consumer", "src/long.cpp", 6, column + 5_000)];
    report
}

/// A race that is possible, and was confirmed by another run.
pub(crate) fn confirmed() -> Report {
    let mut report = crowd(5, 28);
    report.findings[0].verdict = Verdict::Possible;
    report.findings[0].confirmed = Some(Confirmed {
        ends: String::new(),
        seen: "T1 and T2 stood at both accesses".into(),
        stands: vec![Stand {
            thread: "T2".into(),
            operation: "write".into(),
            address: "0x7f00".into(),
            bytes: 4,
            stack: vec![Frame {
                function: "poll".into(),
                file: "server.c".into(),
                line: 12,
                ..Frame::default()
            }],
        }],
        met: 9,
        runs: 10,
        order: vec![1, 0],
        outcome: "exit code 134 instead of 0".into(),
        repeat: "overtake confirm races.json 1 -- ./server".into(),
    });
    report
}

/// So many threads, each of which takes a lock and then that of the next thread.
pub(crate) fn deadlock(threads: u32) -> Report {
    let lock = |thread: u32| lock_of(thread, threads);
    let waiting = |at: u32| Access {
        object: lock(at + 1),
        held: vec![HeldLock {
            name: lock(at),
            shared: false,
            event: u64::from(4 * at),
            taken_at: vec![frame("Philosopher::eat", "src/table.cpp", 12, 5)],
        }],
        bytes: 0,
        ..access(
            "lock",
            u64::from(4 * at + 1),
            thread(&format!("T{}", at + 1), vec![]),
            vec![frame("Philosopher::eat", "src/table.cpp", 13, 5)],
        )
    };
    let mut report = clean();
    report.findings = vec![Finding {
        id: 1,
        fingerprint: PREDICTED.into(),
        kind: Kind::Deadlock,
        rule: "deadlock".into(),
        verdict: Verdict::Predicted,
        headline: format!("{threads} threads take {threads} locks in a circle: Philosopher::eat"),
        accesses: (0..threads).map(waiting).collect(),
        objects: (0..threads).map(lock).collect(),
        detectors: vec!["deadlock".into()],
        runs: vec![0],
        why: "Each thread holds a lock that the thread before it waits for. Nothing else keeps them apart."
            .into(),
        remedy: "Take the locks in the same order everywhere.".into(),
        schedule: Some(circle(threads)),
        ..Finding::default()
    }];
    report
}

/// The same as an analysis has it, which knows of a deadlock who holds and who waits, and no more.
pub(crate) fn deadlock_without_releases(threads: u32) -> Report {
    let mut report = deadlock(threads);
    let schedule = report.findings[0].schedule.as_mut().expect("it has one");
    // Of the four steps of each thread the first two stay.
    let place = |at: u32| at / 4 * 2 + at % 4;
    schedule.steps.retain(|step| step.operation == "acquire");
    schedule.sections.retain(|section| section.from.is_some_and(|from| from % 4 == 0));
    for section in &mut schedule.sections {
        (section.from, section.to) = (section.from.map(place), None);
    }
    for arrow in &mut schedule.arrows {
        (arrow.from, arrow.to) = (place(arrow.from), place(arrow.to));
    }
    schedule.witness.iter_mut().for_each(|at| *at = place(*at));
    report
}

/// The lock that a thread takes first.
fn lock_of(thread: u32, threads: u32) -> String {
    format!("fork_{}", thread % threads)
}

/// The schedule of a deadlock: in the run one thread came after the other, in the witness each has its first lock.
fn circle(threads: u32) -> Schedule {
    let lock = |thread: u32| lock_of(thread, threads);
    let place = |line: u32| format!("Philosopher::eat table.cpp:{line}");
    let mut schedule = Schedule {
        threads: (0..threads).map(|thread| format!("T{}", thread + 1)).collect(),
        ..Schedule::default()
    };
    for thread in 0..threads {
        let from = schedule.steps.len() as u32;
        for (operation, operand, line) in
            [("acquire", 0, 12), ("acquire", 1, 13), ("release", 1, 15), ("release", 0, 16)]
        {
            schedule.steps.push(step(thread, operation, &lock(thread + operand), &place(line)));
        }
        schedule.steps[from as usize + 1].role = Some(thread);
        let section = |operand, from, to| Section {
            lock: lock(thread + operand),
            shared: false,
            thread,
            from: Some(from),
            to: Some(to),
        };
        schedule.sections.extend([section(0, from, from + 3), section(1, from + 1, from + 2)]);
        let holder = (thread + 1) % threads * 4;
        schedule.arrows.push(Arrow { from: from + 1, to: holder, kind: ArrowKind::WaitsFor });
    }
    schedule.witness =
        (0..threads).map(|thread| 4 * thread).chain((0..threads).map(|thread| 4 * thread + 1)).collect();
    schedule
}
