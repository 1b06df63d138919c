//! Questions about two events: the answers are those of the definitions, and chains lead from one event to the other.

use overtake_detect::ask::{Answer, Link, LinkReason, Obstacle, ask, partners};
use overtake_oracle::random::Shape;
use overtake_oracle::{
    History, Pair, for_each_random_trace, happens_before_races, optimistic_races, random_traces, same,
    sync_preserving_races, trace, weak_order_races,
};
use overtake_trace::{EventIndex, Trace};

fn answers(trace: &Trace, pairs: &[(EventIndex, EventIndex)]) -> Vec<Option<Answer>> {
    ask(&mut trace.source().with_block_events(7), pairs).expect("memory does not fail")
}

fn answer(text: &str, first: u64, second: u64) -> Answer {
    answers(&trace(text), &[(EventIndex(first), EventIndex(second))])
        .remove(0)
        .expect("both events are there")
}

#[test]
fn answers_agree_with_the_definitions() {
    let mut shapes = Shape::all_well_formed(20);
    shapes.push(Shape { fork_join: true, non_lifo: true, open_sections: true, ..Shape::nested_locks() });
    for_each_random_trace(&shapes, random_traces(2_000), |trace| {
        let history = History::new(trace);
        let conflicts: Vec<Pair> = history
            .conflicts()
            .map(|(first, second, var)| Pair {
                first: history.steps[first].index,
                second: history.steps[second].index,
                var,
            })
            .collect();
        let definitions = [happens_before_races, sync_preserving_races, optimistic_races, weak_order_races];
        let expected = definitions.map(|races| races(trace));
        let pairs: Vec<_> = conflicts.iter().map(|pair| (pair.first, pair.second)).collect();
        for (pair, answer) in conflicts.iter().zip(answers(trace, &pairs)) {
            let answer = answer.ok_or("no answer")?;
            let (happened, preserving) = (answer.happens_before.is_none(), answer.kept_apart.is_none());
            let said = [happened, preserving, answer.sync_reversal, !answer.weakly_ordered];
            let expected = expected.each_ref().map(|races| races.contains(pair));
            same(&format!("{pair:?}"), [expected], [said])?;
            check_chains(&answer)?;
            check_weak_chain(&answer)?;
            let obstacles = [&answer.reversal_obstacle, &answer.saturation_obstacle];
            same(
                "obstacles",
                [answer.sync_reversal, answer.saturation == Some(true)],
                obstacles.map(Option::is_none),
            )?;
            obstacles.into_iter().flatten().try_for_each(|obstacle| check_obstacle(&answer, obstacle))?;
        }
        Ok(())
    });
}

/// A chain begins in the thread of the first event and ends in that of the second.
fn check_chains(answer: &Answer) -> Result<(), String> {
    if let Some(links) = &answer.happens_before {
        let (Some(start), Some(end)) = (links.first(), links.last()) else { return Err("no links".into()) };
        let leads = start.from.thread == answer.first.thread && end.to.thread == answer.second.thread;
        let in_order = links.iter().all(|link| link.from.index < link.to.index);
        if !leads || !in_order {
            return Err(format!("{links:?} does not lead from {:?} to {:?}", answer.first, answer.second));
        }
    }
    match &answer.kept_apart {
        Some(links)
            if links.first().is_none_or(|link| link.from != answer.first && link.from != answer.second) =>
        {
            Err(format!("{links:?} does not begin at an access"))
        }
        _ => Ok(()),
    }
}

/// The weak order has a chain from one access to the other, with a link that no lock alone makes.
fn check_weak_chain(answer: &Answer) -> Result<(), String> {
    let Some(links) = &answer.weak_chain else {
        return if answer.weakly_ordered { Err("no weak chain".into()) } else { Ok(()) };
    };
    let is_weak = |link: &Link| !matches!(link.reason, LinkReason::Thread | LinkReason::Lock(_));
    let leads = links.first().is_some_and(|link| link.from == answer.first)
        && links.last().is_some_and(|link| link.to == answer.second);
    let is_chain = links.windows(2).all(|links| links[0].to == links[1].from);
    let in_order = links.iter().all(|link| link.from.index <= link.to.index);
    match leads && is_chain && in_order && links.iter().any(is_weak) {
        true => Ok(()),
        false => Err(format!("{links:?} is no weak chain from {:?} to {:?}", answer.first, answer.second)),
    }
}

/// A chain begins at an access, a circle comes round, and the ends of sections need an access.
fn check_obstacle(answer: &Answer, obstacle: &Obstacle) -> Result<(), String> {
    let begins_at_access = |links: &[Link]| {
        links.first().is_some_and(|link| link.from == answer.first || link.from == answer.second)
    };
    let follow = |links: &[Link]| links.windows(2).all(|links| links[0].to == links[1].from);
    let is_right = match obstacle {
        Obstacle::Needed(links) => begins_at_access(links) && follow(links),
        Obstacle::Circle(links) => {
            let comes_round =
                links.first().zip(links.last()).is_some_and(|(first, last)| first.from == last.to);
            comes_round && follow(links)
        }
        Obstacle::BothOpen { sections, .. } => {
            sections[0].acquire != sections[1].acquire
                && sections.iter().all(|section| section.end.is_empty() || begins_at_access(&section.end))
        }
        _ => true,
    };
    if is_right { Ok(()) } else { Err(format!("{obstacle:?} keeps nothing apart")) }
}

#[test]
fn a_lock_between_two_accesses_is_named() {
    let text = "T0 w x; T0 acq l; T0 rel l; T1 acq l; T1 rel l; T1 w x";
    let answer = answer(text, 0, 5);
    let links = answer.happens_before.as_ref().expect("they are ordered");
    let [link] = links[..] else { panic!("expected one link, found {links:?}") };
    assert_eq!((link.from.index.0, link.to.index.0), (2, 3));
    assert!(matches!(link.reason, LinkReason::Lock(_)));
    assert!(answer.kept_apart.is_none() && answer.is_predicted());
}

#[test]
fn what_a_read_saw_keeps_two_accesses_apart() {
    let answer = answer("T0 w x; T0 w flag; T1 r flag; T1 w x", 0, 3);
    let links = answer.kept_apart.as_ref().expect("they are kept apart");
    let reasons: Vec<_> = links.iter().map(|link| (link.from.index.0, link.to.index.0)).collect();
    assert_eq!(reasons, [(0, 1), (1, 2), (2, 3)]);
    assert!(matches!(links[1].reason, LinkReason::Reads(_)));
}

#[test]
fn partners_are_the_conflicting_accesses_of_other_threads() {
    let trace = trace("T0 w x; T1 r x; T0 r x; T2 w x; T1 w y; T1 r x");
    let indices = |event: u64| {
        let found = partners(&mut trace.source(), EventIndex(event)).expect("memory does not fail");
        found.conflicting.iter().map(|at| at.index.0).collect::<Vec<_>>()
    };
    assert_eq!((indices(1), indices(3)), (vec![0, 3], vec![0, 1, 2, 5]));
}
