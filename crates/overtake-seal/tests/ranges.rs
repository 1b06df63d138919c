//! Bytes that are always accessed together are one variable. However memory is used, accesses share a
//! variable exactly if they share a byte.

mod support;

use std::collections::BTreeSet;

use overtake_rawlog::{ONE_MORE, RecordKind as K, head, run};
use overtake_trace::{Op, VarId};
use proptest::prelude::*;
use support::LogMaker;

const BASE: u64 = 0x5000;

/// An operation of a thread on the bytes from [`BASE`] on.
#[derive(Clone, Debug)]
enum Step {
    Access { start: u64, bytes: u8 },
    Range { start: u64, bytes: u64 },
    Run { start: u64, bytes: u8, stride: i32, count: u64 },
    Alloc { word: u64, words: u64 },
}

impl Step {
    fn record(&self, log: &mut LogMaker, pc: u64) {
        match *self {
            Step::Access { start, bytes } => log.raw(0, &[head(K::Write, bytes, BASE + start), pc]),
            Step::Range { start, bytes } => log.raw(0, &[head(K::WriteRange, 0, BASE + start), pc, bytes]),
            Step::Run { start, bytes, stride, count } => {
                log.raw(
                    0,
                    &[head(K::WriteRun, bytes, BASE + start), pc, run(stride) + (count - 1) * ONE_MORE],
                );
            }
            Step::Alloc { word, words } => {
                log.sync_with(0, K::Alloc, 0, BASE + word * 8, words * 8);
            }
        }
    }

    /// The bytes that it accesses; none if it is an allocation.
    fn bytes(&self) -> BTreeSet<u64> {
        match *self {
            Step::Access { start, bytes } => (start..start + u64::from(bytes)).collect(),
            Step::Range { start, bytes } => (start..start + bytes).collect(),
            Step::Run { start, bytes, stride, count } => {
                let firsts =
                    (0..count as i64).map(|number| start.wrapping_add_signed(i64::from(stride) * number));
                firsts.flat_map(|first| first..first + u64::from(bytes)).collect()
            }
            Step::Alloc { .. } => BTreeSet::new(),
        }
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let size = || prop::sample::select(vec![1_u8, 2, 4, 8, 16]);
    let step = prop_oneof![
        3 => (0..9_000_u64, size()).prop_map(|(start, bytes)| Step::Access { start, bytes }),
        1 => (0..100_u64, size()).prop_map(|(start, bytes)| Step::Access { start, bytes }),
        2 => (0..9_000_u64, 1..9_000_u64).prop_map(|(start, bytes)| Step::Range { start, bytes }),
        2 => (4_000..9_000_u64, size(), prop::bool::ANY, 1..200_u64).prop_map(|(start, bytes, up, count)| {
            let stride = i32::from(bytes) * if up { 1 } else { -1 };
            Step::Run { start, bytes, stride, count }
        }),
        1 => (4_000..9_000_u64, size(), -20..20_i32, 1..50_u64)
            .prop_map(|(start, bytes, stride, count)| Step::Run { start, bytes, stride, count }),
        1 => (0..1_000_u64, 1..500_u64).prop_map(|(word, words)| Step::Alloc { word, words }),
    ];
    prop::collection::vec(step, 1..25)
}

proptest! {
    #[test]
    fn accesses_share_a_variable_exactly_if_they_share_a_byte(steps in steps()) {
        let mut log = LogMaker::new(1);
        log.sync(0, K::ThreadStart, 0);
        for (number, step) in steps.iter().enumerate() {
            step.record(&mut log, 0x2000 + number as u64);
        }
        let trace = log.sealed();
        // Every record has a location of its own, which identifies its events.
        let mut of_records: Vec<(Op, BTreeSet<VarId>)> = Vec::new();
        let mut last = None;
        for event in &trace.events {
            if last != Some(event.location()) || event.op() == Op::Alloc {
                of_records.push((event.op(), BTreeSet::new()));
                last = Some(event.location());
            }
            let (_, variables) = of_records.last_mut().expect("one was just pushed");
            variables.insert(VarId(event.operand()));
        }
        prop_assert_eq!(of_records.len(), steps.len());
        // How often each byte was allocated anew.
        let mut generations = vec![0_u32; 40_000];
        let mut touched = Vec::new();
        for step in &steps {
            if let Step::Alloc { word, words } = *step {
                generations[(word * 8) as usize..((word + words) * 8) as usize].iter_mut().for_each(|made| *made += 1);
            }
            touched.push(step.bytes().iter().map(|&byte| (byte, generations[byte as usize])).collect::<BTreeSet<_>>());
        }
        for (one, (_, variables)) in touched.iter().zip(&of_records) {
            for (other, (_, others)) in touched.iter().zip(&of_records) {
                if !one.is_empty() && !other.is_empty() {
                    prop_assert_eq!(one.is_disjoint(other), variables.is_disjoint(others), "{:?}", steps);
                }
            }
        }
    }
}

#[test]
fn a_block_that_is_only_filled_and_read_as_a_whole_is_one_variable() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync_with(0, K::Alloc, 0, BASE, 256);
    log.raw(0, &[head(K::WriteRun, 1, BASE), 0x2000, run(1) + 255 * ONE_MORE]);
    log.raw(0, &[head(K::ReadRun, 4, BASE + 252), 0x2001, run(-4) + 63 * ONE_MORE]);
    log.raw(0, &[head(K::ReadRange, 0, BASE), 0x2002, 256]);
    let lines = log.sealed().lines();
    assert_eq!(lines, ["T0|alloc(heap#1[256])", "T0|w(heap#1[0])", "T0|r(heap#1[0])", "T0|r(heap#1[0])"]);
}

#[test]
fn a_byte_that_is_used_alone_cuts_what_is_used_as_a_whole() {
    let mut log = LogMaker::new(1);
    log.sync(0, K::ThreadStart, 0).sync_with(0, K::Alloc, 0, BASE, 64);
    log.raw(0, &[head(K::WriteRange, 0, BASE), 0x2000, 64]);
    log.read(0, BASE + 20, 1);
    let lines = log.sealed().lines();
    let writes = [0, 20, 21].map(|at| format!("T0|w(heap#1[{at}])"));
    assert_eq!(lines[1..4], writes);
    assert_eq!(lines[4..], ["T0|r(heap#1[20])"]);
}
