//! Certificates against the definition.

use overtake_oracle::random::Shape;
use overtake_oracle::{for_each_random_trace, lock_set_variables, trace};
use overtake_trace::{EventIndex, Id, IdVec, LockId, Trace, VarId};

use super::{Certificate, Claim, Flaw, certify, check};

const TRACES: u64 = 20_000;

fn shapes() -> Vec<Shape> {
    let mut shapes = Shape::all_well_formed(20);
    shapes.push(Shape::ill_formed().with_events(20));
    shapes.push(Shape { locks: 5, variables: 1, ..Shape::shared_locks() }.with_events(40));
    shapes
}

fn flaw(trace: &Trace, certificate: &Certificate) -> Option<Flaw> {
    check(&mut trace.source().with_block_events(7), certificate).expect("a trace in memory")
}

#[test]
fn a_certificate_says_whether_some_variable_races_and_holds() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let racy = lock_set_variables(trace);
        let certificate = certify(&mut trace.source()).expect("a trace in memory");
        let is_right = match &certificate {
            Certificate::Race(var) => racy.contains(var),
            Certificate::NoRace(_) => racy.is_empty(),
        };
        match flaw(trace, &certificate) {
            None if is_right => Ok(()),
            flaw => Err(format!("{certificate:?} for {racy:?}: {flaw:?}")),
        }
    });
}

#[test]
fn no_wrong_certificate_holds() {
    for_each_random_trace(&shapes(), TRACES, |trace| {
        let racy = lock_set_variables(trace);
        let variables = (0..trace.symbols.variables.len()).map(VarId::from_index);
        for var in variables {
            let holds = flaw(trace, &Certificate::Race(var)).is_none();
            if holds != racy.contains(&var) {
                return Err(format!("race on {var:?}: {holds}, {racy:?}"));
            }
            let locks = (0..trace.symbols.locks.len()).map(LockId::from_index).map(Claim::Lock);
            for claim in locks.chain([Claim::NoConflict]).filter(|_| racy.contains(&var)) {
                let mut claims = IdVec::new();
                *claims.entry(var) = claim;
                let flaw = flaw(trace, &Certificate::NoRace(claims));
                if flaw.is_none() {
                    return Err(format!("{var:?} does not race because of {claim:?}"));
                }
            }
        }
        Ok(())
    });
}

#[test]
fn flaws_say_where_they_are() {
    let trace = trace("T0 acq l; T0 w x; T0 rel l; T1 acq l; T1 w x; T1 rel l; T1 w y; T1 w x");
    let (x, y, lock) = (VarId(0), VarId(1), LockId(0));
    let mut claims = IdVec::new();
    *claims.entry(x) = Claim::Lock(lock);
    assert_eq!(flaw(&trace, &Certificate::NoRace(claims)), Some(Flaw::NotHeld(EventIndex(7), x, lock)));
    assert_eq!(flaw(&trace, &Certificate::NoRace(IdVec::new())), Some(Flaw::Conflict(EventIndex(4), x)));
    assert_eq!(flaw(&trace, &Certificate::Race(y)), Some(Flaw::NoPair(y)));
    assert_eq!(flaw(&trace, &Certificate::Race(x)), None);
}
