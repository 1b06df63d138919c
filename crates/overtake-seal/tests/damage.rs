//! Logs that are cut anywhere, and logs of random words: sealing never panics, and always makes a well-formed trace.

mod support;

use overtake_rawlog::{PieceHeader, PieceKind, RecordKind as K, VERSION, atomic_extra};
use overtake_seal::seal;
use overtake_trace::{Event, EventSink, Result, Symbols};
use proptest::prelude::*;
use support::{LogMaker, seal_strictly};

/// A log with all kinds of records, in which threads alternate.
fn busy(choices: &[(usize, u8)]) -> LogMaker {
    let mut log = LogMaker::new(3).with_stack(1, 0x7000, 0x8000).with_stack(2, 0x7000, 0x8000);
    let mut holds = [false; 3];
    let mut holder = None;
    for (step, &(thread, choice)) in choices.iter().enumerate() {
        let address = 0x100 + u64::from(choice) * 3;
        match choice % 12 {
            0 if holder.is_none() => {
                log.sync(thread, K::Acquire, 0x9000);
                (holder, holds[thread]) = (Some(thread), true);
            }
            1 if holds[thread] => {
                log.sync(thread, K::Release, 0x9000);
                (holder, holds[thread]) = (None, false);
            }
            2 => drop(log.sync_with(thread, K::Alloc, 0, 0x5000 + u64::from(choice & 0xf0), 64)),
            3 => drop(log.sync(thread, K::Free, 0x5000 + u64::from(choice & 0xf0))),
            4 => drop(log.sync(thread, K::SemaphorePost, 0x9100)),
            5 => drop(log.sync(thread, K::SemaphoreWait, 0x9100)),
            6 => drop(log.sync_with(thread, K::AtomicRmw, atomic_extra(2, 4), 0x9200, 0)),
            7 => drop(log.sync(thread, K::BarrierArrive, 0x9300)),
            8 => drop(log.sync(thread, K::AcquireShared, 0x9400 + step as u64)),
            9 => drop(log.write(thread, 0x5000 + u64::from(choice), 8)),
            10 => drop(log.write(thread, address, 1 + choice % 8)),
            _ => drop(log.read(thread, address, 1 + choice % 8)),
        }
    }
    log
}

fn choices() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..3_usize, any::<u8>()), 0..200)
}

/// Where the first chunk is in a log file: behind the slots.
fn first_chunk(file: &[u8]) -> usize {
    let is_chunk = |at: &usize| {
        PieceHeader::read(&file[*at..]).is_some_and(|piece| piece.kind() == Some(PieceKind::Chunk))
    };
    (0..file.len()).step_by(8).find(is_chunk).unwrap_or(file.len())
}

struct Nowhere;

impl EventSink for Nowhere {
    fn write(&mut self, _: &[Event], _: &Symbols) -> Result<()> {
        Ok(())
    }
    fn finish(&mut self, _: &Symbols) -> Result<()> {
        Ok(())
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn files_cut_anywhere_make_well_formed_traces(choices in choices(), cut in any::<u32>()) {
        let log = busy(&choices);
        let directory = tempfile::tempdir().expect("writable");
        log.save(directory.path());
        let whole = seal_strictly(directory.path());
        prop_assert!(whole.sealed.log.damage.is_empty());
        let file = log.file();
        let length = cut as usize % file.len();
        std::fs::write(directory.path().join("threads"), &file[..length]).expect("writable");
        let cut = seal_strictly(directory.path());
        prop_assert!(cut.events.len() <= whole.events.len() + 3);
    }

    #[test]
    fn a_changed_byte_of_a_chunk_is_named(choices in choices(), place in any::<u32>(), bit in 0..8_u32) {
        let log = busy(&choices);
        let directory = tempfile::tempdir().expect("writable");
        let mut file = log.file();
        let chunks = first_chunk(&file);
        let place = chunks + place as usize % (file.len() - chunks);
        file[place] ^= 1 << bit;
        log.save(directory.path());
        std::fs::write(directory.path().join("threads"), &file).expect("writable");
        let sealed = seal_strictly(directory.path()).sealed;
        prop_assert!(!sealed.log.damage.is_empty(), "byte {place} of {}", file.len());
    }

    #[test]
    fn noise_is_no_reason_to_panic(words in prop::collection::vec((any::<u8>(), any::<u64>()), 0..100), pieces in 1..4_usize) {
        let mut log = LogMaker::new(pieces);
        for (at, (kind, word)) in words.iter().enumerate() {
            // Lengths of ranges stay small, because large ones would take hours.
            let word = if kind % 50 < 45 { (u64::from(kind % 50) << 56) | (word & 0xff_0000_0000_ffff) } else { word & 0xfff };
            log.raw(at % pieces, &[word]);
        }
        let directory = tempfile::tempdir().expect("writable");
        log.save(directory.path());
        let _ = seal(directory.path(), &mut Nowhere);
    }
}

#[test]
fn a_log_file_that_lost_its_end_is_named() {
    let log = busy(&[(0, 10), (1, 10)]);
    let directory = tempfile::tempdir().expect("writable");
    log.save(directory.path());
    let mut file = log.file();
    file[8..16].copy_from_slice(&(1_u64 << 24).to_le_bytes());
    std::fs::write(directory.path().join("threads"), &file).expect("writable");
    let damage = seal_strictly(directory.path()).sealed.log.damage;
    assert!(damage.iter().any(|line| line.ends_with("expected 16777216 bytes")), "{damage:?}");
}

#[test]
fn logs_of_the_versions_before_are_read() {
    let directory = tempfile::tempdir().expect("writable");
    busy(&[(0, 10), (1, 10)]).save(directory.path());
    let process = directory.path().join("process");
    let now = seal_strictly(directory.path()).sealed.events;
    let text = std::fs::read_to_string(&process).expect("readable");
    for before in ["version 6\n", "version 7\n"] {
        let text = text.replace(&format!("version {VERSION}\n"), before);
        assert!(text.contains(before), "{text}");
        std::fs::write(&process, text).expect("writable");
        assert_eq!(seal_strictly(directory.path()).sealed.events, now);
    }
}

#[test]
fn directories_that_are_no_logs_are_refused() {
    let directory = tempfile::tempdir().expect("writable");
    assert!(seal(directory.path(), &mut Nowhere).is_err());
    std::fs::write(directory.path().join("process"), "version 99\n").expect("writable");
    let error = seal(directory.path(), &mut Nowhere).expect_err("another version").to_string();
    assert!(error.contains("expected a log of version 6 to 8, found version `99`"), "{error}");
}
