//! The construction whose race swaps two critical sections, against the definition.

use overtake_detect::Findings;
use overtake_gen::gadgets::{
    Access, Gadget, Notion, PosetEvent, Races, ReadsFromPoset, Size, find_gadget,
    reads_from_poset_as_printed, reads_from_poset_predictable,
};
use overtake_oracle::is_predictable;
use overtake_oracle::reordering::check_race;
use overtake_trace::{Action, EventIndex, VarId};

use crate::find;

/// The variable that decides, and whether it races.
fn expected(gadget: &Gadget) -> (VarId, Option<(EventIndex, EventIndex)>) {
    let predictable = gadget.expected.iter().find(|expected| expected.notion == Notion::Predictable);
    match predictable.map(|expected| &expected.races) {
        Some(Races::PairsOf(var, pairs)) => (*var, pairs.iter().next().copied()),
        _ => panic!("pairs of a variable"),
    }
}

/// Whether the two accesses to a variable are enabled together after some correct reordering.
fn races_by_definition(gadget: &Gadget, var: VarId) -> bool {
    let actions = [Action::Write(var), Action::Read(var)];
    let events = gadget.trace.events.iter();
    let accesses = events.enumerate().filter(|(_, event)| actions.contains(&event.action()));
    let accesses: Vec<_> = accesses.map(|(at, _)| EventIndex(at as u64)).collect();
    let [write, read] = accesses[..] else { panic!("two accesses") };
    is_predictable(&gadget.trace, write, read)
}

fn section(variable: usize) -> [Access; 2] {
    [true, false].map(|writes| Access { variable, writes })
}

/// All posets of two threads with a section of one variable each, and orders that go on from one to the next.
fn small_posets() -> impl Iterator<Item = ReadsFromPoset> {
    let events = |thread: usize| [(thread, 0), (thread, 1)];
    let orders: Vec<(PosetEvent, PosetEvent)> = [(0, 1), (1, 0)]
        .into_iter()
        .flat_map(|(one, other)| events(one).into_iter().flat_map(move |a| events(other).map(|b| (a, b))))
        .collect();
    (0..1_u32 << orders.len()).filter_map(move |chosen| {
        let chosen: Vec<_> = orders.iter().enumerate().filter(|(at, _)| chosen >> at & 1 == 1).collect();
        let orders: Vec<_> = chosen.into_iter().map(|(_, order)| *order).collect();
        let goes_on = |one: &(PosetEvent, PosetEvent), other: &(PosetEvent, PosetEvent)| {
            one == other
                || one.0.0 != other.0.0
                || (one.0 < other.0) == (one.1 < other.1) && one.0 != other.0 && one.1 != other.1
        };
        let is_regular = orders.iter().all(|one| orders.iter().all(|other| goes_on(one, other)));
        // An order in both directions between the same events is no partial order.
        let is_partial =
            orders.iter().all(|(a, b)| orders.iter().all(|(c, d)| a.0 == c.0 || b.1 > c.1 || d.1 > a.1));
        let threads = vec![section(0).to_vec(), section(0).to_vec()];
        (is_regular && is_partial).then_some(ReadsFromPoset { threads, orders })
    })
}

#[test]
fn a_race_says_whether_a_small_poset_is_realizable() {
    let mut answers = [0, 0];
    for poset in small_posets() {
        let (gadget, _) = reads_from_poset_predictable(&poset);
        let (var, pair) = expected(&gadget);
        assert_eq!(races_by_definition(&gadget, var), pair.is_some(), "{poset:?}");
        answers[usize::from(pair.is_some())] += 1;
    }
    assert!(answers.iter().all(|&count| count > 3), "{answers:?}");
}

#[test]
fn a_realizable_poset_has_a_checked_witness() {
    let kind = find_gadget("gadget-g7").expect("in the table");
    let mut checked = 0;
    for (vectors, dimension) in [(1, 2), (3, 2), (4, 3), (6, 3), (3, 4)] {
        for seed in 0..20 {
            let poset = ReadsFromPoset::of_size(&Size { vectors, dimension, seed });
            let (gadget, schedule) = reads_from_poset_predictable(&poset);
            assert_eq!(gadget, kind.build(&Size { vectors, dimension, seed }).expect("a possible size"));
            let (var, pair) = expected(&gadget);
            assert_eq!(schedule.is_some(), pair.is_some());
            if let Some((schedule, (first, second))) = schedule.zip(pair) {
                check_race(&gadget.trace, &schedule, first, second).expect("a correct reordering");
                checked += 1;
            }
            let reports = |found: &Findings| found.racy_variables().contains(&var);
            for detector in ["m2", "osr"] {
                assert!(pair.is_some() || !find(detector, &gadget.trace, reports), "{detector}, {poset:?}");
            }
        }
    }
    assert!(checked > 20, "{checked}");
}

#[test]
fn the_published_poset_gadget_misses_a_realizable_poset() {
    let alone = |variable| Access { variable, writes: true };
    let threads = vec![[section(0).as_slice(), &[alone(1)]].concat(), section(2).to_vec()];
    let orders = vec![((0, 0), (1, 0)), ((1, 0), (0, 1)), ((1, 1), (0, 2))];
    let poset = ReadsFromPoset { threads, orders };
    let order = [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2)];
    assert_eq!(poset.linearization().as_deref(), Some(order.as_slice()));
    let (gadget, _) = reads_from_poset_predictable(&poset);
    let (var, pair) = expected(&gadget);
    assert!(pair.is_some() && races_by_definition(&gadget, var));
    assert!(!races_by_definition(&reads_from_poset_as_printed(&poset), var));
}
