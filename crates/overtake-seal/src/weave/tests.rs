use super::*;
use overtake_rawlog::{ONE_MORE, brief_access, brief_head, brief_run, head, run};
use proptest::prelude::*;

/// The bytes of a log that consists of these words.
fn log(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    words.into_iter().flat_map(u64::to_le_bytes).collect()
}

fn single(is_write: bool, size: usize, place: u8, address: u64) -> Vec<u64> {
    vec![brief_head(brief_access(is_write, size), place, address)]
}

fn repeated(is_write: bool, size: usize, place: u8, address: u64, stride: i32, count: u64) -> Vec<u64> {
    vec![brief_head(brief_run(is_write, size), place, address), run(stride) + (count - 1) * ONE_MORE]
}

/// The records that are left: place, address, and number of accesses and lanes.
fn left(bytes: &[u8]) -> Vec<(u8, u64, u64, usize)> {
    let all = (0..bytes.len()).step_by(8).filter_map(|at| Brief::at(bytes, at));
    all.map(|brief| (brief.place, brief.address, brief.count, brief.lanes)).collect()
}

fn woven(words: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut bytes = log(words);
    weave(&mut bytes);
    bytes
}

/// What happens to each byte: the places of reads between two writes, sorted, and of writes.
fn seen_by_bytes(bytes: &[u8]) -> std::collections::BTreeMap<u64, Vec<(bool, Vec<u8>)>> {
    let mut seen: std::collections::BTreeMap<u64, Vec<(bool, Vec<u8>)>> = Default::default();
    let mut at = 0;
    while at < bytes.len() {
        let Some(brief) = Brief::at(bytes, at) else {
            at += 8;
            continue;
        };
        let lanes: Vec<u8> = lanes(bytes, at).collect();
        at += brief.words() * 8;
        for number in 0..brief.count {
            let start = brief.address.wrapping_add_signed(brief.stride * number as i64);
            let place = if brief.lanes > 1 { lanes[number as usize % brief.lanes] } else { brief.place };
            for byte in start..start + brief.size {
                let seen = seen.entry(byte).or_default();
                match seen.last_mut() {
                    Some((false, reads)) if !brief.is_write => {
                        reads.push(place);
                        reads.sort_unstable();
                    }
                    _ => seen.push((brief.is_write, vec![place])),
                }
            }
        }
    }
    seen
}

#[test]
fn the_lanes_of_an_unrolled_loop_are_one_run() {
    let firsts = (0..8).map(|lane| single(false, 1, 10 + lane, 0x1000 + u64::from(lane)));
    let runs = (0..8).map(|lane| repeated(false, 1, 10 + lane, 0x1008 + u64::from(lane), 8, 31));
    let bytes = woven(firsts.chain(runs).flatten());
    assert_eq!(left(&bytes), [(10, 0x1000, 256, 8)]);
    let at = (0..bytes.len()).step_by(8).find(|at| Brief::at(&bytes, *at).is_some());
    assert!(lanes(&bytes, at.expect("one is left")).eq(10..18));
}

#[test]
fn a_new_instruction_has_two_records_before_its_run() {
    let rows = (0..2).flat_map(|row| {
        (0..4).map(move |lane| single(true, 8, lane, 0x1000 + 32 * row + 8 * u64::from(lane)))
    });
    let runs = (0..4).map(|lane| repeated(true, 8, lane, 0x1040 + 8 * u64::from(lane), 32, 5));
    assert_eq!(left(&woven(rows.chain(runs).flatten())), [(0, 0x1000, 28, 4)]);
}

#[test]
fn a_run_that_was_cut_goes_on() {
    let parts = [
        single(true, 8, 3, 0x1000),
        repeated(true, 8, 3, 0x1008, 8, 7),
        single(false, 8, 4, 0x9000),
        single(true, 8, 3, 0x1040),
        repeated(true, 8, 3, 0x1048, 8, 7),
    ];
    assert_eq!(left(&woven(parts.concat())), [(4, 0x9000, 1, 1), (3, 0x1000, 16, 1)]);
}

#[test]
fn woven_runs_go_on_upwards_and_downwards() {
    for (stride, step) in [(32, 64), (-32, -64_i64)] {
        let parts = (0..3).flat_map(|part| {
            let at = 0x5000_u64.wrapping_add_signed(step * part);
            (0..2).flat_map(move |lane| repeated(false, 16, lane, at + 16 * u64::from(lane), stride, 2))
        });
        let low = if stride > 0 { 0x5000 } else { 0x5000 - 160 };
        assert_eq!(left(&woven(parts)), [(0, low, 12, 2)], "{stride}");
    }
}

#[test]
fn a_loop_that_changes_what_it_reads_is_two_runs() {
    let lanes = (0..2).flat_map(|lane| {
        let start = 0x1000 + 8 * u64::from(lane);
        [repeated(false, 8, 2 * lane, start, 16, 50), repeated(true, 8, 2 * lane + 1, start, 16, 50)].concat()
    });
    assert_eq!(left(&woven(lanes)), [(0, 0x1000, 100, 2), (1, 0x1000, 100, 2)]);
}

#[test]
fn synchronisation_keeps_records_apart() {
    let parts = [
        repeated(true, 8, 3, 0x1000, 8, 8),
        vec![head(RecordKind::Release, 0, 0x77), 0x1000, 50],
        repeated(true, 8, 3, 0x1040, 8, 8),
    ];
    assert_eq!(left(&woven(parts.concat())).len(), 2);
    let renamed = [
        repeated(true, 8, 3, 0x1000, 8, 8),
        vec![head(RecordKind::Place, 3, 0x2222)],
        repeated(true, 8, 3, 0x1040, 8, 8),
    ];
    assert_eq!(left(&woven(renamed.concat())).len(), 2);
}

#[test]
fn an_access_in_between_keeps_records_apart() {
    let parts = |is_write| {
        [
            repeated(true, 8, 3, 0x1000, 8, 8),
            single(is_write, 8, 4, 0x1008),
            single(is_write, 8, 4, 0x1040),
            repeated(true, 8, 3, 0x1040, 8, 8),
        ]
        .concat()
    };
    assert_eq!(left(&woven(parts(false))).len(), 4);
    assert_eq!(left(&woven(parts(true))).len(), 4);
}

#[test]
fn lines_that_were_written_again_are_one_record() {
    let again = |address: u64, pc: u64| [head(RecordKind::WriteAgain, 64, address), pc];
    let parts = [again(0x1000, 7), again(0x1040, 7), again(0x1080, 7), again(0x2000, 7), again(0x2040, 8)];
    let bytes = woven(parts.concat());
    let records = overtake_rawlog::Records::new(&bytes);
    let told: Vec<_> = records.map(|record| (record.kind, record.value, record.words[1])).collect();
    assert_eq!(
        told,
        [
            (RecordKind::WriteAgainRange, 0x1000, 192),
            (RecordKind::WriteAgain, 0x2000, 0),
            (RecordKind::WriteAgain, 0x2040, 0)
        ]
    );
}

/// The records of a loop that was unrolled, and whether each comes in its turn or a moment later.
fn unrolled() -> impl Strategy<Value = Vec<Vec<u64>>> {
    let form = (0..5_usize, prop::sample::select(vec![1_usize, 2, 4, 8]), 1..4_u64, prop::bool::ANY);
    (form, 0..40_u64, 0..6_u8, prop::collection::vec(prop::bool::ANY, 1..3)).prop_map(
        |((size, lanes, count, is_down), start, place, kinds)| {
            let (size, start) = (1 << size, 0x1000 + 8 * start);
            let stride = (size * lanes) as i32 * if is_down { -1 } else { 1 };
            let mut records = Vec::new();
            for row in 0..2 {
                for lane in 0..lanes as u64 {
                    for (kind, is_write) in kinds.iter().enumerate() {
                        let place = place + 2 * lane as u8 + kind as u8;
                        let at = start + 400 + lane * size as u64;
                        match row {
                            0 => records.push(single(*is_write, size, place, at)),
                            _ => {
                                let at = at.wrapping_add_signed(i64::from(stride));
                                records.push(repeated(*is_write, size, place, at, stride, count));
                            }
                        }
                    }
                }
            }
            records
        },
    )
}

proptest! {
    #[test]
    fn every_byte_sees_the_same(loops in prop::collection::vec(unrolled(), 1..6), noise in prop::collection::vec((0..60_usize, 0..600_u64, prop::bool::ANY), 0..4)) {
        let mut records = loops.concat();
        for (at, address, is_write) in noise {
            records.insert(at.min(records.len()), single(is_write, 1, 40, 0x1000 + address));
        }
        let before = log(records.concat());
        let after = woven(records.concat());
        prop_assert_eq!(seen_by_bytes(&before), seen_by_bytes(&after));
    }
}
