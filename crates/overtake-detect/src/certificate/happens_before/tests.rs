//! Certificates against the definition.

use std::collections::BTreeSet;

use overtake_oracle::random::Shape;
use overtake_oracle::{for_each_random_trace, happens_before_races, trace};
use overtake_trace::{EventIndex, Trace};

use super::{Certificate, Flaw, Proof, certify, check};

const TRACES: u64 = 20_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(20);
    shapes.push(Shape::ill_formed().with_events(20));
    shapes.push(Shape::shared_locks().with_events(60));
    shapes
}

fn flaw(trace: &Trace, certificate: &Certificate) -> Option<Flaw> {
    check(&mut trace.source().with_block_events(7), certificate).expect("a trace in memory")
}

fn racy(trace: &Trace) -> BTreeSet<(EventIndex, EventIndex)> {
    happens_before_races(trace).into_iter().map(|pair| (pair.first, pair.second)).collect()
}

#[test]
fn a_certificate_says_whether_there_is_a_race_and_holds() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let racy = racy(trace);
        let certificate = certify(&mut trace.source()).expect("a trace in memory");
        let is_right = match certificate {
            Certificate::Race(first, second) => {
                racy.contains(&(first, second)) && racy.iter().all(|pair| pair.1 >= second)
            }
            Certificate::NoRace(_) => racy.is_empty(),
        };
        match flaw(trace, &certificate) {
            None if is_right => Ok(()),
            flaw => Err(format!("{certificate:?} for {racy:?}: {flaw:?}")),
        }
    });
}

#[test]
fn two_events_are_accepted_as_a_race_iff_they_are_one() {
    for_each_random_trace(&shapes(), TRACES / 4, |trace| {
        let racy = racy(trace);
        let events = 0..trace.events.len() as u64;
        for (first, second) in
            events.clone().flat_map(|first| events.clone().map(move |second| (first, second)))
        {
            let pair = (EventIndex(first), EventIndex(second));
            if flaw(trace, &Certificate::Race(pair.0, pair.1)).is_none() != racy.contains(&pair) {
                return Err(format!("{pair:?} of {racy:?}"));
            }
        }
        Ok(())
    });
}

/// With every node as a hub, and every two nodes as a path: what can be said for the absence of a race is not enough.
#[test]
fn no_proof_holds_if_there_is_a_race() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let is_racy = !racy(trace).is_empty();
        let nodes = (0..).take_while(|&node| {
            let alone = Proof { hubs: vec![node], paths: Vec::new() };
            !matches!(flaw(trace, &Certificate::NoRace(alone)), Some(Flaw::NoNode(_)))
        });
        let hubs: Vec<_> = nodes.collect();
        let steps = hubs.iter().flat_map(|&from| hubs.iter().map(move |&to| vec![from, to]));
        let is_step = |path: &Vec<_>| {
            let alone = Proof { hubs: Vec::new(), paths: vec![path.clone()] };
            !matches!(flaw(trace, &Certificate::NoRace(alone)), Some(Flaw::NoStep(..)))
        };
        let paths: Vec<_> = steps.filter(is_step).collect();
        let holds = flaw(trace, &Certificate::NoRace(Proof { hubs, paths })).is_none();
        if holds == is_racy {
            Err(format!("the whole graph proves the absence of races: {holds}"))
        } else {
            Ok(())
        }
    });
}

#[test]
fn flaws_say_where_they_are() {
    let trace = trace("T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 w x; T1 rel l; T2 w x");
    let [first, second, third] = [0, 4, 6].map(EventIndex);
    assert_eq!(flaw(&trace, &Certificate::Race(second, third)), None);
    assert_eq!(flaw(&trace, &Certificate::Race(first, second)), Some(Flaw::Ordered(first, second)));
    let release = EventIndex(2);
    assert_eq!(flaw(&trace, &Certificate::Race(release, third)), Some(Flaw::NoConflict(release, third)));
    let no_race = |hubs: &[u32], paths: &[&[u32]]| {
        let paths = paths.iter().map(|path| path.to_vec()).collect();
        flaw(&trace, &Certificate::NoRace(Proof { hubs: hubs.to_vec(), paths }))
    };
    assert_eq!(no_race(&[], &[]), Some(Flaw::Unproven(first, second)));
    assert_eq!(no_race(&[0], &[]), Some(Flaw::Unproven(second, third)));
    assert_eq!(no_race(&[], &[&[0, 1]]), Some(Flaw::Unproven(second, third)));
    assert_eq!(no_race(&[], &[&[1, 2]]), Some(Flaw::NoStep(1, 2)));
    assert_eq!(no_race(&[3], &[]), Some(Flaw::NoNode(3)));
}

/// Where many accesses wait for one, the proof is one node, not a path for each.
#[test]
fn what_many_paths_share_is_a_hub() {
    let mut text = String::from("T0 w x; T0 w y");
    for thread in 1..200 {
        text += &format!("; T0 fork T{thread}; T{thread} r x");
    }
    let trace = trace(&text);
    let Ok(Certificate::NoRace(proof)) = certify(&mut trace.source()) else {
        panic!("the threads only read")
    };
    assert!(!proof.hubs.is_empty() && proof.hubs.len() + proof.paths.len() < 20, "{proof:?}");
    assert_eq!(flaw(&trace, &Certificate::NoRace(proof)), None);
}
