//! Partitions and ranges exhaustively, and whole analyses with limits so low that small traces reach everything.

use std::collections::{BTreeMap, BTreeSet};

use overtake_oracle::random::Shape;
use overtake_oracle::{Pair, for_each_random_trace, happens_before_races, same, variables};
use overtake_trace::{EventIndex, LocationId, ThreadId, Trace, VarId, Variable};

use super::SlimState;
use super::footprint::Taken;
use super::limits::ArrayLimits;
use super::pages::Order;
use super::partition::Partition;
use super::pending::{Collected, MOST_STREAMS, Most, Pending};
use super::range::StridedRange;
use crate::access::At;
use crate::findings::RaceGroup;
use crate::passes::Analysis;
use crate::race::Race;
use crate::testing::run_analysis_with;

/// The longest array that partitions are checked on.
const LONGEST: u64 = 24;

fn ranges(length: u64) -> impl Iterator<Item = StridedRange> {
    (0..length).flat_map(move |first| {
        let longer = (1..length).flat_map(move |step| {
            let lasts = (1..).map(move |steps| first + steps * step).take_while(move |&last| last < length);
            lasts.map(move |last| StridedRange { first, last, step })
        });
        std::iter::once(StridedRange::single(first)).chain(longer)
    })
}

fn partitions(length: u64) -> Vec<Partition> {
    // One block or one remainder is called coarse.
    let divisors = |end| (2..end).filter(move |&size| length.is_multiple_of(size));
    let mut all = vec![Partition::Coarse, Partition::Fine];
    all.extend(divisors(length).map(Partition::Block));
    all.extend(divisors(length + 1).map(Partition::Stride));
    all.extend((1..length).flat_map(|at| [Partition::Split(at), Partition::Prefix(at)]));
    all
}

/// Those that only further refinement leads to.
fn further_partitions(length: u64) -> Vec<Partition> {
    let mut all: Vec<_> = (2..length).map(Partition::Stride).collect();
    let blocks = (2..=length).filter(|&block| length.is_multiple_of(block));
    all.extend(blocks.flat_map(|block| (2..=block).map(move |stride| Partition::Grid { block, stride })));
    all
}

fn set(range: StridedRange) -> BTreeSet<u64> {
    range.iter().collect()
}

/// The parts as sets, by `part`, checked against `part_of`.
fn parts(partition: Partition, length: u64) -> Vec<BTreeSet<u64>> {
    let parts: Vec<_> = (0..partition.parts(length)).map(|part| set(partition.part(length, part))).collect();
    for index in 0..length {
        let containing: Vec<_> = (0..parts.len()).filter(|&part| parts[part].contains(&index)).collect();
        assert_eq!(containing, [partition.part_of(index) as usize], "{partition:?} of {length}, {index}");
    }
    assert!(
        parts.iter().all(|part| part.last().is_some_and(|&last| last < length)),
        "{partition:?} of {length}"
    );
    parts
}

fn is_precise(parts: &[BTreeSet<u64>], footprint: &BTreeSet<u64>) -> bool {
    parts.iter().all(|part| part.is_subset(footprint) || part.is_disjoint(footprint))
}

type Refine = fn(Partition, u64, StridedRange) -> Partition;

/// All partitions, each with the ways to refine it, and whether that is the paper's way.
fn refinements(length: u64) -> impl Iterator<Item = (Partition, Refine, bool)> {
    let paper = partitions(length).into_iter();
    let paper = paper.map(|partition| (partition, Partition::refine as Refine, true));
    let further = partitions(length).into_iter().chain(further_partitions(length));
    paper.chain(further.map(|partition| (partition, Partition::refine_further as Refine, false)))
}

#[test]
fn refinement_gives_a_finer_partition_that_is_precise_for_the_footprint() {
    let mut checked = 0_u64;
    for length in 1..=LONGEST {
        for (partition, refine, is_paper) in refinements(length) {
            let before = parts(partition, length);
            for footprint in ranges(length) {
                let (refined, what) = (refine(partition, length, footprint), set(footprint));
                if refined == partition {
                    assert!(is_precise(&before, &what), "{partition:?} of {length} for {footprint:?}");
                    continue;
                }
                let after = parts(refined, length);
                let context = format!("{partition:?} of {length} for {footprint:?}: {refined:?}");
                assert!(is_precise(&after, &what), "{context}");
                let finer = |part: &BTreeSet<u64>| before.iter().any(|whole| part.is_subset(whole));
                assert!(after.iter().all(finer), "{context}");
                // As many remainders as elements are another name of the finest partition.
                let same_parts = after.len() == before.len();
                assert!(
                    !is_paper || !is_precise(&before, &what) || same_parts,
                    "{context}, but it was precise"
                );
                checked += 1;
            }
        }
    }
    assert!(checked > 200_000, "only {checked} refinements");
}

#[test]
fn the_parts_of_a_footprint_are_those_inside_it() {
    for length in 1..=LONGEST {
        for (partition, refine, _) in refinements(length) {
            for footprint in ranges(length) {
                let refined = refine(partition, length, footprint);
                let what = set(footprint);
                let inside = (0..refined.parts(length))
                    .filter(|&part| refined.part(length, part).iter().all(|index| what.contains(&index)));
                let found = refined.parts_in(footprint).iter();
                assert!(inside.eq(found), "{refined:?} of {length} for {footprint:?}");
            }
        }
    }
}

#[test]
fn a_coarser_partition_is_refined_by_the_one_it_comes_from() {
    for length in 1..=LONGEST {
        for partition in partitions(length).into_iter().chain(further_partitions(length)) {
            for coarser in partition.coarser() {
                let wholes = parts(coarser, length);
                let finer = |part: &BTreeSet<u64>| wholes.iter().any(|whole| part.is_subset(whole));
                assert!(parts(partition, length).iter().all(finer), "{partition:?} of {length}: {coarser:?}");
            }
        }
    }
}

#[test]
fn ranges_take_exactly_what_keeps_them_strided() {
    const LENGTH: u64 = 14;
    let all: Vec<_> = ranges(LENGTH).map(|range| (range, set(range))).collect();
    for (range, indices) in &all {
        for index in 0..LENGTH {
            let mut wanted = indices.clone();
            wanted.insert(index);
            let expected = all.iter().find(|(_, indices)| *indices == wanted).map(|(range, _)| *range);
            let found = range.extended(index);
            assert_eq!(found.map(set), expected.map(set), "{range:?} with {index}");
        }
        for (start, end) in (0..LENGTH).flat_map(|start| (start..LENGTH).map(move |end| (start, end))) {
            let expected: BTreeSet<_> = indices
                .iter()
                .filter(|index| (start..end).contains(index))
                .map(|index| index - start)
                .collect();
            let found = range.within(start, end).map(set).unwrap_or_default();
            assert_eq!(found, expected, "{range:?} from {start} to {end}");
        }
    }
}

/// How many arrays a thread may have accesses to that are not judged.
const MOST: usize = 100;

/// Accesses of one thread to array 7, whose variables 100 to 107 are known to be elements 0 to 7 in order; of further ones that is known up to `known`.
#[derive(Default)]
struct Accesses {
    pending: Pending,
    count: u64,
    known: u32,
}

impl Accesses {
    fn at(index: u64) -> At {
        At { index: EventIndex(index), thread: ThreadId(0), location: LocationId::UNKNOWN }
    }

    /// Reads an element. Returns the footprint that has to be judged.
    fn read(&mut self, index: u64, streams: usize) -> Option<Taken> {
        self.count += 1;
        let var = VarId(100 + index as u32);
        if self.pending.follow(var, false, None) {
            return None;
        }
        let order = |_| Order { end: self.known.max(108), ..Order::UNKNOWN };
        let most = Most { arrays: MOST, streams };
        match self.pending.collect(7, (index, var), Self::at(self.count - 1), false, order, most) {
            Collected::Instead(before) => Some(before),
            Collected::Taken => None,
            Collected::Full => panic!("there is room"),
        }
    }
}

#[test]
fn footprints_hold_what_was_accessed_and_the_buffer_has_an_end() {
    let mut accesses = Accesses::default();
    for index in [3, 4, 5, 6, 7, 8, 2, 6, 9, 4] {
        assert!(accesses.read(index, 1).is_none(), "{index}");
    }
    let taken = accesses.read(11, 1).expect("the range would have a hole");
    let range = StridedRange { first: 2, last: 9, step: 1 };
    assert_eq!((taken.range, taken.at.index), (range, EventIndex(0)));
    let elements: BTreeMap<_, _> = taken.elements(3, 10).collect();
    assert!(elements.into_iter().eq((3..10).map(|index| (index, VarId(100 + index as u32)))));
    assert!(accesses.read(10, 1).is_none());
    let Accesses { mut pending, .. } = accesses;
    let (array, writes, taken) = pending.pop().expect("accesses");
    assert_eq!((array, writes, taken.range), (7, false, StridedRange { first: 10, last: 11, step: 1 }));
    assert!(pending.pop().is_none() && pending.is_empty());
    let most = Most { arrays: MOST, streams: 1 };
    let mut write = |shadow: u32| {
        pending.collect(shadow, (0, VarId(shadow)), Accesses::at(0), true, |_| Order::UNKNOWN, most)
    };
    for shadow in (0..MOST as u32).chain(0..MOST as u32) {
        assert!(matches!(write(shadow), Collected::Taken), "{shadow}");
    }
    assert!(matches!(write(u32::MAX), Collected::Full));
    let arrays: Vec<_> = std::iter::from_fn(|| pending.pop()).map(|(array, ..)| array).collect();
    assert!(arrays.into_iter().eq((0..MOST as u32).rev()));
}

#[test]
fn a_thread_may_walk_along_an_array_in_several_places() {
    // A merge of two runs, which reads the lower one of both first elements again and again.
    let mut accesses = Accesses::default();
    for index in [0, 40, 0, 1, 40, 1, 2, 40, 41, 2, 41, 42, 2, 3, 4, 5, 6, 7, 8, 42, 43] {
        assert!(accesses.read(index, MOST_STREAMS).is_none(), "{index}");
    }
    // Further places; the one that was left first makes room.
    let mut judged = Vec::new();
    for index in [80, 81, 44, 120, 121, 9, 160, 161, 45] {
        judged.extend(accesses.read(index, MOST_STREAMS).map(|taken| (taken.range.first, taken.range.last)));
    }
    assert_eq!(judged, [(80, 81)]);
    let mut ranges = BTreeSet::new();
    while let Some((_, _, taken)) = accesses.pending.pop() {
        let elements: Vec<_> = taken.elements(0, u64::MAX).collect();
        assert!(elements.iter().all(|&(index, var)| var.0 == 100 + index as u32));
        assert_eq!(elements.len() as u64, taken.range.len());
        ranges.insert((taken.range.first, taken.range.last, taken.range.step));
    }
    assert_eq!(ranges, BTreeSet::from([(0, 9, 1), (40, 45, 1), (120, 121, 1), (160, 161, 1)]));
}

/// The ranges that reads of these elements in one region end in, each with the number of its first read, none of which is judged before.
fn ranges_of(elements: impl IntoIterator<Item = u64>) -> BTreeSet<(u64, u64, u64, u64)> {
    let mut accesses = Accesses { known: 2000, ..Accesses::default() };
    for index in elements {
        assert!(accesses.read(index, MOST_STREAMS).is_none(), "{index}");
    }
    let ranges = std::iter::from_fn(|| accesses.pending.pop()).map(|(_, _, taken)| {
        assert_eq!(taken.elements(0, u64::MAX).count() as u64, taken.range.len());
        (taken.range.first, taken.range.last, taken.range.step, taken.at.index.0)
    });
    ranges.collect()
}

#[test]
fn three_elements_decide_about_steps_unless_two_are_near() {
    // A stencil reads three rows of 100 elements. The first elements of two rows are no column.
    let stencil = (1..20).flat_map(|column| [99 + column, 101 + column, column, 200 + column]);
    let rows = BTreeSet::from([(1, 19, 1, 2), (100, 120, 1, 0), (201, 219, 1, 3)]);
    assert_eq!(ranges_of(stencil), rows);
    // Columns are walked along in either direction, and from the middle; what is kept is the first read.
    assert_eq!(ranges_of([0, 100, 200, 300]), BTreeSet::from([(0, 300, 100, 0)]));
    assert_eq!(ranges_of([300, 200, 100, 0]), BTreeSet::from([(0, 300, 100, 0)]));
    assert_eq!(ranges_of([200, 300, 100, 0]), BTreeSet::from([(0, 300, 100, 0)]));
    // The place of the one that was joined is free again, also for element 0.
    let three = BTreeSet::from([(0, 0, 1, 4), (150, 350, 100, 0), (1000, 1000, 1, 3)]);
    assert_eq!(ranges_of([150, 250, 350, 1000, 0, 0]), three);
    // What would have been the next step of one that was joined begins anew.
    assert_eq!(ranges_of([0, 100, 200, 101]), BTreeSet::from([(0, 200, 100, 0), (101, 101, 1, 3)]));
}

/// The detector with its log after a trace in blocks of a few events, and how much state it had at most.
fn examined(limits: ArrayLimits, trace: &Trace) -> (Analysis, usize) {
    let (mut analysis, mut most) = (Analysis::new(SlimState::new(limits)), 0);
    run_analysis_with(&mut analysis, trace, |analysis| most = most.max(analysis.state_bytes()));
    (analysis, most)
}

/// Arrays so short that small traces go through every representation.
fn limits() -> [ArrayLimits; 7] {
    let usual = [(2, None, 9), (2, Some(3), 9), (4, Some(6), 1), (5, None, 1)].map(|of| (of, false, false));
    let sets = [(2, None, 9)].map(|of| [(of, true, false), (of, false, true), (of, true, true)]);
    let all: Vec<_> = usual.into_iter().chain(sets.into_iter().flatten()).collect();
    std::array::from_fn(|at| {
        let ((small, labels_from, most_pending), sets, set_footprints) = all[at];
        let streams = if labels_from.is_some() { MOST_STREAMS } else { 1 };
        let most = Most { arrays: most_pending, streams };
        ArrayLimits { small, labels_from, sets, set_footprints, most, variables: 0, elements: 0 }
    })
}

/// 100,000 traces; another 40,000 with the limits of the command line are with the other detectors.
#[test]
fn racy_elements_are_those_of_the_definition_and_races_have_true_names() {
    let atomics = Shape { atomics: 1, mixed: true, fences: true, ..Shape::sweeps(10) };
    let shapes = [
        Shape::sweeps(8),
        Shape::sweeps(12),
        Shape { threads: 2, fork_join: false, arrays: 1, ..Shape::sweeps(16) },
        Shape { blocks: 1, ..Shape::sweeps(8) },
        atomics.clone(),
        Shape { ill_formed: true, ..atomics },
    ];
    for (at, limits) in limits().into_iter().enumerate() {
        for_each_random_trace(&shapes, 25_000, |trace| {
            let in_order_of_access = (trace.events.len() % 2 == 0).then(|| read_again(trace));
            let trace = in_order_of_access.as_ref().unwrap_or(trace);
            let expected = happens_before_races(trace);
            let (analysis, _) = examined(limits, trace);
            let races = analysis.findings();
            same(&format!("limits {at}"), variables(&expected), races.racy_variables())?;
            races.groups().iter().try_for_each(|group| has_true_names(group, &expected, trace))
        });
    }
}

/// The trace as text gives it: elements are variables in the order of their first accesses.
fn read_again(trace: &Trace) -> Trace {
    Trace::parse_std(&trace.to_std().expect("room for text")).expect("what was written")
}

/// The named pair is a race, and so is a pair of the same threads for each of the other elements.
fn has_true_names(group: &RaceGroup, expected: &BTreeSet<Pair>, trace: &Trace) -> Result<(), String> {
    let Race { var, first, second, .. } = group.example;
    let named = Pair { first: first.at.index, second: second.at.index, var };
    if !expected.contains(&named) {
        return Err(format!("{named:?} is no race"));
    }
    let Some(extent) = group.extent.filter(|extent| extent.elements() > 1) else { return Ok(()) };
    let thread = |index: EventIndex| trace.events[index.0 as usize].thread();
    let (one, other) = (thread(named.first), thread(named.second)); // as in the trace before it was mended
    let alike = |pair: &&Pair| {
        let threads = (thread(pair.first), thread(pair.second));
        threads == (one, other) || threads == (other, one)
    };
    let racy: Vec<Variable> =
        expected.iter().filter(alike).map(|pair| trace.symbols.variables.get(pair.var)).collect();
    let array = extent.array;
    let mut elements = (extent.first..extent.end).step_by(extent.step as usize);
    match elements.find(|&index| !racy.contains(&Variable::Element { array, index })) {
        Some(index) => Err(format!("element {index} does not race like {named:?}")),
        None => Ok(()),
    }
}

fn names(limits: ArrayLimits, text: &str) -> Vec<String> {
    let trace = Trace::parse_std(text.as_bytes()).expect("a trace");
    let (analysis, _) = examined(limits, &trace);
    analysis.findings().racy_variables().into_iter().map(|var| trace.symbols.variables.display(var)).collect()
}

/// The accesses of `thread` to elements 0 to 5 of the array `A`.
fn sweep(thread: &str, op: &str) -> String {
    (0..6).map(|index| format!("{thread}|{op}(A[{index}])|1\n")).collect()
}

/// Nothing orders the allocation before the accesses of the other thread, either.
const ALL: [&str; 7] = ["A", "A[0]", "A[1]", "A[2]", "A[3]", "A[4]", "A[5]"];

#[test]
fn an_acquire_is_a_commit_point() {
    // T1 writes, then learns by the lock of T0's write: the delay must not reach beyond the acquire.
    let text = format!(
        "T0|alloc(A[6])|1\nT0|acq(l)|1\n{}T0|rel(l)|1\n{}T1|acq(l)|1\nT1|rel(l)|1\n",
        sweep("T0", "w"),
        sweep("T1", "w")
    );
    for limits in limits() {
        assert_eq!(names(limits, &text), ALL, "{limits:?}");
    }
}

#[test]
fn a_join_commits_what_the_child_has_pending() {
    let text =
        format!("T0|alloc(A[6])|1\nT0|fork(T1)|1\n{}T0|join(T1)|1\n{}", sweep("T1", "w"), sweep("T0", "r"));
    for limits in limits() {
        assert_eq!(names(limits, &text), [""; 0], "{limits:?}");
    }
}

#[test]
fn a_fork_commits_what_a_thread_forked_late_has_pending() {
    let text = format!("T0|alloc(A[6])|1\n{}{}T0|fork(T1)|1\n", sweep("T0", "w"), sweep("T1", "w"));
    for limits in limits() {
        assert_eq!(names(limits, &text), ALL, "{limits:?}");
    }
}

#[test]
fn lengths_and_indices_of_the_input_decide_no_allocation() {
    let text = "T0|alloc(A[1000000000000000])|1\nT0|w(A[0])|1\nT1|w(A[200000000000000])|1\nT1|w(A[499999999999999])|1\n\
                T0|w(A[499999999999999])|1\nT0|w(B[18446744073709551615])|1\nT1|r(B[18446744073709551615])|1\n\
                T0|r(A[700000000000000])|1\nT0|r(A[2])|1\nT0|r(A[4])|1\nT0|r(A[6])|1\nT0|r(B[281474976710655])|1\n";
    for limits in limits() {
        assert_eq!(names(limits, text), ["A", "A[499999999999999]", "B[18446744073709551615]"], "{limits:?}");
        let (_, bytes) = examined(limits, &Trace::parse_std(text.as_bytes()).expect("a trace"));
        assert!(bytes < 100_000, "{bytes} bytes");
    }
}

#[test]
fn races_name_lines_that_access_the_elements() {
    // One footprint of T0 comes from two lines, and only what the second one writes is read.
    let line = |thread, op, index, line| format!("{thread}|{op}(A[{index}])|{line}\n");
    let mut text = String::from("T0|alloc(A[6])|1\n");
    text.extend((0..6).map(|index| line("T0", "w", index, if index < 3 { 10 } else { 12 })));
    text.extend((3..6).map(|index| line("T1", "r", index, 20)));
    let trace = Trace::parse_std(text.as_bytes()).expect("a trace");
    for limits in limits() {
        let (analysis, _) = examined(limits, &trace);
        let groups = analysis.findings().groups();
        let places = groups.iter().map(|group| {
            let Race { first, second, .. } = group.example;
            let lines = [first, second].map(|access| trace.symbols.location_name(access.at.location));
            (first.at.index.0, second.at.index.0, lines.join(" and "), group.count)
        });
        let block = (0, 7, "1 and 20".to_string(), 1); // nothing orders the allocation before the reads, either
        assert_eq!(places.collect::<Vec<_>>(), [block, (4, 7, "12 and 20".to_string(), 3)], "{limits:?}");
    }
}
