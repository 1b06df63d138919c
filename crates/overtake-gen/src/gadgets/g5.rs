//! G5: inequality of two bit strings as sync-preserving races.
//!
//! Bit `i` of either string is one access to the same variable, a write (also under lock `c`) for one, a read for zero. Of two
//! copies of k locks, position `i` of the first string holds the i-th subset `S_i` of the first copy and the complement of `S_i` of
//! the second; position `i` of the second string holds the other locks. So positions `i` and `j` of the two strings hold no lock
//! in common exactly if `S_i` is within `S_j` and the other way round, that is if `i = j`, and then they conflict without a
//! common lock exactly if the bits differ.
//!
//! **Differs from the paper**, where the second string is one thread. There a pair at a position other than the first is never
//! a sync-preserving race: an earlier section of the second thread, on a lock that the first thread holds at its access, is in the
//! ideal already, which pulls in the release of that lock and with it the access. [`equality_as_printed`] is that version.
//! Here every position of the second string has its own thread, and all of them share one more lock `d`, which keeps them from
//! racing with each other. Then the races of every notion between sync-preserving and lock-cover are exactly the positions
//! at which the strings differ.

use overtake_trace::EventIndex;

use crate::rng::Rng;

use super::writer::Writer;
use super::{Expected, Gadget, Notion, Size};

pub(super) fn random(size: &Size, rng: &mut Rng) -> Gadget {
    let (first, second) = random_strings(size, rng);
    equality_sync_preserving(&first, &second)
}

pub(super) fn random_printed(size: &Size, rng: &mut Rng) -> Gadget {
    let (first, second) = random_strings(size, rng);
    equality_as_printed(&first, &second)
}

/// Two strings that differ in about one of four positions.
fn random_strings(size: &Size, rng: &mut Rng) -> (Vec<bool>, Vec<bool>) {
    let first: Vec<bool> = (0..size.vectors).map(|_| rng.chance(0.5)).collect();
    let second = first.iter().map(|&bit| bit ^ rng.chance(0.25)).collect();
    (first, second)
}

/// The gadget for two strings of the same length, one thread for each position of the second.
pub fn equality_sync_preserving(first: &[bool], second: &[bool]) -> Gadget {
    let (mut writer, earlier) = write_first(first);
    let later = write_second(&mut writer, second, |position| format!("v{position}"), &["d".into()]);
    let differing = differing_pairs(first, second, &earlier, &later);
    let notions = [Notion::SyncPreserving, Notion::Predictable, Notion::LockCover];
    let expected = notions.map(|notion| Expected::pairs(notion, differing.iter().copied())).into();
    Gadget { trace: writer.finish(), expected }
}

/// The gadget as published, for two strings of the same length: two threads. Of the differing positions, only the first
/// position of the strings can be a sync-preserving race.
pub fn equality_as_printed(first: &[bool], second: &[bool]) -> Gadget {
    let (mut writer, earlier) = write_first(first);
    let later = write_second(&mut writer, second, |_| "v".into(), &[]);
    let differing = differing_pairs(first, second, &earlier, &later);
    let at_first_position = differing.iter().copied().filter(|&(early, _)| Some(&early) == earlier.first());
    let expected = vec![
        Expected::pairs(Notion::SyncPreserving, at_first_position.collect::<Vec<_>>()),
        Expected::pairs(Notion::LockCover, differing),
    ];
    Gadget { trace: writer.finish(), expected }
}

fn differing_pairs(
    first: &[bool],
    second: &[bool],
    earlier: &[EventIndex],
    later: &[EventIndex],
) -> Vec<(EventIndex, EventIndex)> {
    (0..first.len()).filter(|&at| first[at] != second[at]).map(|at| (earlier[at], later[at])).collect()
}

/// The first string's thread, and its accesses.
fn write_first(bits: &[bool]) -> (Writer, Vec<EventIndex>) {
    let mut writer = Writer::default();
    let subsets = Subsets::new(bits.len());
    let accesses = bits
        .iter()
        .enumerate()
        .map(|(position, &bit)| {
            let locks = subsets.locks(position, true);
            access(&mut writer, "u", locks, bit)
        })
        .collect();
    (writer, accesses)
}

/// The second string's accesses, by the thread that `thread` names.
fn write_second(
    writer: &mut Writer,
    bits: &[bool],
    thread: impl Fn(usize) -> String,
    common: &[String],
) -> Vec<EventIndex> {
    let subsets = Subsets::new(bits.len());
    bits.iter()
        .enumerate()
        .map(|(position, &bit)| {
            let locks = [common, &subsets.locks(position, false)].concat();
            access(writer, &thread(position), locks, bit)
        })
        .collect()
}

fn access(writer: &mut Writer, thread: &str, mut locks: Vec<String>, bit: bool) -> EventIndex {
    if bit {
        locks.push("c".into());
    }
    writer.guarded(
        thread,
        &locks,
        |writer| {
            if bit { writer.write(thread, "x") } else { writer.read(thread, "x") }
        },
    )
}

/// As many subsets as positions, of the smallest set that has enough, ordered by size.
struct Subsets {
    width: u32,
    sorted: Vec<u64>,
}

impl Subsets {
    fn new(count: usize) -> Subsets {
        let width = count.next_power_of_two().trailing_zeros();
        let mut sorted: Vec<u64> = (0..1 << width).collect();
        sorted.sort_by_key(|subset| subset.count_ones());
        Subsets { width, sorted }
    }

    /// The locks of a position: the subset of `a` and the complement of `b`, or the other way round.
    fn locks(&self, position: usize, subset_of_a: bool) -> Vec<String> {
        let subset = self.sorted[position];
        let contains = |lock: u32| subset & (1 << lock) != 0;
        let of_a =
            (0..self.width).filter(|&lock| contains(lock) == subset_of_a).map(|lock| format!("a{lock}"));
        let of_b =
            (0..self.width).filter(|&lock| contains(lock) != subset_of_a).map(|lock| format!("b{lock}"));
        of_a.chain(of_b).collect()
    }
}
