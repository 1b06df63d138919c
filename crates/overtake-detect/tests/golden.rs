//! Traces whose races are known: the golden ones in `testdata/golden`, kept for what detectors get wrong, and the hardness
//! constructions, whose races are the answer to the problem they encode. Every detector of the table whose notion has an
//! answer must give it.
//!
//! `BLESS=1 cargo test -p overtake-detect --test golden` rewrites the answers of the golden traces from the definitions.

mod common;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use common::run;
use overtake_detect::{DETECTORS, Entry, Job, Notion, Options, Promise};
use overtake_gen::gadgets::{GADGETS, Races, Size};
use overtake_gen::{Golden, read_golden};
use overtake_oracle::{
    Deadlock, Pair, happens_before_races, lock_cover_races, lock_order_cycles, lock_set_variables,
    optimistic_races, predictable_races, schedulable_races, second_events, sync_preserving_deadlocks,
    sync_preserving_races, weak_order_races,
};
use overtake_trace::{EventIndex, Trace};

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/golden")
}

fn golden_traces() -> Vec<(Golden, Trace)> {
    let golden = read_golden(&directory()).expect("the golden traces can be read");
    assert!(golden.len() >= 20, "found only {} golden traces", golden.len());
    let parse = |golden: Golden| {
        let trace = Trace::parse_std(golden.std.as_bytes()).expect("a golden trace in STD");
        (golden, trace)
    };
    golden.into_iter().map(parse).collect()
}

/// The notion in files that a detector has to answer to; a window holds a small trace whole.
fn answer_of(entry: &Entry) -> &'static str {
    match entry.notion {
        Notion::HappensBefore => "hb",
        Notion::Schedulable => "shb",
        Notion::SyncPreserving => "syncp",
        Notion::SyncReversal => "osr",
        Notion::Predictable => "predictable",
        _ => entry.name,
    }
}

fn assert_second_events(entry: &Entry, job: &Job, expected: &BTreeSet<EventIndex>, what: &str) {
    let found: BTreeSet<_> = job.findings().racy_events().into_iter().collect();
    let what = format!("{} on {what}", entry.name);
    match entry.promise {
        Promise::ExactToFirstRace => assert_eq!(found.first(), expected.first(), "{what}"),
        Promise::Sampled => {}
        // Of more than two threads it may miss some.
        Promise::NoFalseReport if entry.notion == Notion::Predictable => {}
        // Which event of a region is named is left open.
        Promise::ExactVariables => return assert_eq!(found.is_empty(), expected.is_empty(), "{what}"),
        _ => assert_eq!(found, *expected, "{what}"),
    }
    assert!(found.is_subset(expected), "{what}: {found:?} are not all in {expected:?}");
}

#[test]
fn detectors_give_the_answers_of_the_golden_traces() {
    if std::env::var_os("BLESS").is_some() {
        golden_traces().iter().for_each(|(golden, trace)| bless(golden, trace));
    }
    for (golden, trace) in golden_traces() {
        for entry in DETECTORS {
            let mut options = Options::default();
            options.instances = 0;
            run(entry, &options, &trace, |job| {
                let notion = answer_of(entry);
                if let Some(expected) = golden.second_events.get(notion) {
                    let expected = expected.iter().copied().map(EventIndex).collect();
                    match entry.notion {
                        Notion::Deadlock => {
                            assert_eq!(acquires(job), expected, "{} on {}", entry.name, golden.name)
                        }
                        _ => assert_second_events(entry, job, &expected, &golden.name),
                    }
                }
                if let (Some(expected), "lock-set") = (&golden.lock_set, notion) {
                    let found = job.findings().racy_variables().into_iter();
                    let found: BTreeSet<_> = found.map(|var| trace.symbols.variables.display(var)).collect();
                    assert_eq!(found, *expected, "{} on {}", entry.name, golden.name);
                }
            });
        }
    }
}

/// Which races `m2` finds among more than two threads no definition says. Where a golden trace does, it has to find these.
#[test]
fn m2_finds_the_races_that_golden_traces_ask_of_it() {
    let m2 = overtake_detect::find("m2").expect("in the table");
    let mut asked = 0;
    for (golden, trace) in golden_traces() {
        if let Some(expected) = golden.second_events.get("m2") {
            let found = run(m2, &Options::default(), &trace, |job| job.findings().racy_events());
            assert_eq!(
                found.iter().map(|event| event.0).collect::<BTreeSet<_>>(),
                *expected,
                "{}",
                golden.name
            );
            asked += 1;
        }
    }
    assert!(asked >= 2, "{asked}");
}

/// The acquires of all deadlocks.
fn acquires(job: &Job) -> BTreeSet<EventIndex> {
    let deadlocks = job.findings().deadlocks().iter();
    deadlocks.flat_map(|group| &group.example.steps).map(|step| step.at.index).collect()
}

#[test]
fn detectors_give_the_answers_of_the_hardness_constructions() {
    for kind in GADGETS {
        for seed in 0..8 {
            let gadget = kind.build(&Size { vectors: 6, dimension: 5, seed }).expect("a possible size");
            let what = format!("{}, seed {seed}", kind.name);
            for expected in &gadget.expected {
                let answering = |entry: &&Entry| answer_of(entry) == expected.notion.name();
                for entry in DETECTORS.iter().filter(answering) {
                    run(entry, &Options::default(), &gadget.trace, |job| match &expected.races {
                        Races::Pairs(_) => assert_second_events(entry, job, &expected.second_events(), &what),
                        Races::PairsOf(var, pairs) => {
                            let found = job.findings().racy_variables().contains(var);
                            assert_eq!(found, !pairs.is_empty(), "{} on {what}", entry.name);
                        }
                        Races::Variables(variables) => {
                            let found: BTreeSet<_> = job.findings().racy_variables().into_iter().collect();
                            assert_eq!(found, *variables, "{} on {what}", entry.name);
                        }
                    });
                }
            }
        }
    }
}

/// Rewrites the answers that definitions are cheap for; the others stay.
fn bless(golden: &Golden, trace: &Trace) {
    let events = |pairs: BTreeSet<Pair>| {
        second_events(&pairs).iter().map(|event| event.to_string()).collect::<Vec<_>>()
    };
    let cycles = |cycles: BTreeSet<Deadlock>| {
        let acquires: BTreeSet<_> = cycles.into_iter().flatten().collect();
        acquires.iter().map(|event| event.to_string()).collect::<Vec<_>>()
    };
    let answer = |notion: &str| match notion {
        "hb" => Some(events(happens_before_races(trace))),
        "shb" => Some(events(schedulable_races(trace))),
        "syncp" => Some(events(sync_preserving_races(trace))),
        "osr" => Some(events(&optimistic_races(trace) | &sync_preserving_races(trace))),
        "wcp" => Some(events(weak_order_races(trace))),
        "predictable" if trace.events.len() <= 18 => Some(events(predictable_races(trace))),
        "deadlock" => Some(cycles(sync_preserving_deadlocks(trace))),
        "lock-order" => Some(cycles(lock_order_cycles(trace))),
        "lock-cover" => Some(events(lock_cover_races(trace))),
        "lock-set" => {
            let variables = lock_set_variables(trace).into_iter();
            let names: BTreeSet<_> = variables.map(|var| trace.symbols.variables.display(var)).collect();
            Some(names.into_iter().collect())
        }
        _ => None,
    };
    let path = directory().join(&golden.name).with_extension("expected");
    let mut before = fs::read_to_string(&path).expect("the answers can be read");
    for notion in ["osr", "wcp", "deadlock", "lock-order"] {
        if !before.lines().any(|line| line.starts_with(&format!("{notion}:"))) {
            before.push_str(&format!("{notion}:\n"));
        }
    }
    let line = |line: &str| {
        let notion = line.split(':').next().unwrap_or_default();
        match answer(notion) {
            Some(values) => format!("{notion}: {}", values.join(" ")).trim_end().to_owned() + "\n",
            None => line.to_owned() + "\n",
        }
    };
    fs::write(&path, before.lines().map(line).collect::<String>()).expect("the answers can be written");
}
