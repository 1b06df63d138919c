//! Where the public tool RAPID answers otherwise than the definitions, and why. Each difference was seen on a small trace.

use overtake_detect::Entry;
use overtake_trace::{Repair, Repairs};

/// A difference.
struct Difference {
    /// The detectors whose counterparts differ.
    detectors: &'static [&'static str],
    /// The repair that makes the difference. `None`: traces need not be broken for it.
    repair: Option<Repair>,
    /// What RAPID does.
    text: &'static str,
}

const DIFFERENCES: [Difference; 9] = [
    Difference {
        detectors: &["syncp", "short-syncp"],
        repair: Some(Repair::ReentrantAcquire),
        text: "SyncPreserving stops with an exception at a lock that its holder acquires again; here inner acquires are dropped",
    },
    Difference {
        detectors: &["wcp", "syncp", "lock-set"],
        repair: Some(Repair::UnheldRelease),
        text: "WCP, SyncPreserving and LockSet stop with an exception at a release of a lock that nobody holds; here it is dropped",
    },
    Difference {
        detectors: &["hb", "shb", "fasttrack"],
        repair: Some(Repair::UnheldRelease),
        text: "HB and SHB let a release of a lock that nobody holds order later acquires, so they report fewer races",
    },
    Difference {
        detectors: &["syncp", "wcp"],
        repair: Some(Repair::MissingRelease),
        text: "SyncPreserving and WCP see two critical sections of one lock at the same time; here the missing release is inserted",
    },
    Difference {
        detectors: &["shb", "syncp"],
        repair: Some(Repair::LateFork),
        text: "SHB and SyncPreserving overwrite the clock of a thread that ran before its fork; here the fork orders its next event",
    },
    Difference {
        detectors: &["fasttrack"],
        repair: None,
        text: "HBEpoch forgets a read that races, so later writes that race with it are missing",
    },
    Difference {
        detectors: &["syncp"],
        repair: None,
        text: "SyncPreserving can report a pair that is no race, if a variable is used late: it skips releases that the pair needs",
    },
    Difference {
        detectors: &["wcp"],
        repair: None,
        text: "WCP misses orders of critical sections that stay open or overlap, and takes a thread's own sections for foreign ones",
    },
    Difference {
        detectors: &["osr"],
        repair: None,
        text: "OSR misses cycles through a third thread, so it can report a pair that is no race, and it knows no release after the pair",
    },
];

/// How RAPID's counterparts of these detectors may differ on a trace with these repairs, a line for each way. Differences that
/// need no broken trace are left out unless `all` are asked for.
pub fn differences(entries: &[&Entry], repairs: &Repairs, all: bool) -> Vec<String> {
    let is_asked = |detectors: &[&str]| entries.iter().any(|entry| detectors.contains(&entry.name));
    let known = DIFFERENCES.iter().filter(|difference| is_asked(difference.detectors));
    let applies = |repair: Option<Repair>| repair.map_or(all, |repair| repairs.of(repair) > 0);
    known
        .filter(|difference| applies(difference.repair))
        .map(|difference| format!("RAPID differs: {}", difference.text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use overtake_detect::Registry;

    #[test]
    fn a_difference_is_named_if_its_detector_ran_and_its_repair_was_made() {
        let row = |name: &str| Registry::default().find(name).expect("a row");
        let mut repairs = Repairs::default();
        assert!(differences(&[row("hb"), row("syncp")], &repairs, false).is_empty());
        repairs.add(Repair::ReentrantAcquire, 2);
        let found = differences(&[row("hb"), row("syncp")], &repairs, false);
        assert!(found.len() == 1 && found[0].contains("acquires again"), "{found:?}");
        assert!(differences(&[row("hb")], &repairs, false).is_empty());
        assert_eq!(differences(&[row("osr")], &repairs, true).len(), 1);
    }

    #[test]
    fn every_difference_is_about_detectors_that_there_are() {
        for name in DIFFERENCES.iter().flat_map(|difference| difference.detectors) {
            assert!(Registry::default().find(name).is_some(), "{name}");
        }
    }
}
