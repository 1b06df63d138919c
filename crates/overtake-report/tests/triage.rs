//! Suppressions and baselines on results made by hand.

mod support;

use overtake_detect::Verdict;
use overtake_report::result::{Finding, Report, Status};
use overtake_report::triage::{self, Baseline, Merged, Suppressions};
use support::{finding, frame, predicted, report, sample};

fn rules(text: &str) -> Suppressions {
    Suppressions::parse("my.supp", text.as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn judged(mut report: Report, text: &str) -> Report {
    triage::apply(&mut report, Some(&rules(text)), None);
    report
}

/// The numbers of the findings that one rule suppresses.
fn suppressed(rule: &str) -> Vec<u32> {
    let report = judged(sample(), rule);
    let suppressed = report.findings.iter().filter(|finding| finding.status != Status::New);
    suppressed.map(|finding| finding.id).collect()
}

/// Gives the memory of a race another name.
fn rename(finding: &mut Finding, name: &str) {
    finding.memory.as_mut().expect("a race has memory").name = name.into();
}

#[test]
fn known_rules_match_functions_files_modules_and_globals() {
    assert_eq!(suppressed("race:Server::poll"), [1]);
    assert_eq!(suppressed("race:src/cache.cc"), [2]);
    assert_eq!(suppressed("race:^server$"), [1, 2]);
    assert_eq!(suppressed("race:^main$"), [1, 2], "also where a thread is created");
    assert_eq!(suppressed("race:counters.hits"), [1]);
    assert_eq!(suppressed("race:a heap block"), [0; 0], "only globals have names of their own");
    assert_eq!(suppressed("race:Main.java"), [3]);
    assert_eq!(suppressed("race:*"), [1, 2, 3]);
    assert_eq!(suppressed("race:server::poll"), [0; 0], "case matters");
}

#[test]
fn top_rules_match_innermost_frames_only() {
    assert_eq!(suppressed("race_top:Stats::reset"), [1]);
    assert_eq!(suppressed("race_top:^main$"), [0; 0]);
}

#[test]
fn library_rules_match_the_module_of_the_access() {
    assert_eq!(suppressed("called_from_lib:server"), [1, 2]);
    assert_eq!(suppressed("called_from_lib:src/cache.cc"), [0; 0]);
    assert_eq!(suppressed("called_from_lib:/server"), [1, 2]);
    assert_eq!(suppressed("called_from_lib:/usr/bin/server$"), [1, 2]);
    assert_eq!(suppressed("called_from_lib:/erver"), [0; 0], "a part of a path begins where the name begins");
}

#[test]
fn two_sided_rules_need_both_accesses_in_either_order() {
    assert_eq!(suppressed("race_pair:Stats::reset <> Server::poll"), [1]);
    assert_eq!(suppressed("race_pair:Server::poll <> Stats::reset"), [1]);
    assert_eq!(suppressed("race_pair:Server::poll <> Server::poll"), [0; 0]);
    assert_eq!(suppressed("race_pair:Server::poll <> *"), [1]);
    assert_eq!(suppressed("race_pair:Stats::reset <- ^main$ <> Server::poll <- ^run$"), [1]);
    assert_eq!(suppressed("race_pair:^main$ <- Stats::reset <> Server::poll"), [0; 0]);
    assert_eq!(suppressed("race_pair:^345$ <> Main.java:346"), [3]);
}

#[test]
fn variable_rules_match_any_memory() {
    assert_eq!(suppressed("race_var:^V7$"), [3]);
    assert_eq!(suppressed("race_var:a heap block of * bytes"), [2]);
    assert_eq!(suppressed("race_var:Server::poll"), [0; 0]);
}

#[test]
fn globals_and_arrays_are_known_by_their_whole_name_too() {
    let mut offset = finding(1, Verdict::Observed);
    rename(&mut offset, "counters+8");
    let mut element = support::suspected();
    rename(&mut element, "A3[17]");
    let report = judged(report(vec![offset, element]), "race:^counters$\nrace_var:^A3$\n");
    assert_eq!(report.new_findings().count(), 0);
}

#[test]
fn what_is_not_judged_again_stays_judged() {
    let mut report = judged(sample(), "race:Stats");
    let baseline = baseline_of(&sample());
    triage::apply(&mut report, None, Some(("x", &baseline)));
    assert!(matches!(report.findings[0].status, Status::Suppressed { .. }));
    assert_eq!(statuses(&report), [false, true, true]);
    triage::apply(&mut report, Some(&rules("race:nobody")), None);
    assert_eq!(statuses(&report), [false, true, true]);
    assert_eq!(report.findings[0].status, Status::New);
}

#[test]
fn sequences_follow_calls_outwards() {
    let mut deep = finding(1, Verdict::Observed);
    deep.accesses[0].stack = ["a", "b", "x", "b", "c", "d"].map(|name| frame(name, "f.c", 1, 1)).to_vec();
    let matched = |rule: &str| judged(report(vec![deep.clone()]), rule).findings[0].status != Status::New;
    assert!(matched("race_stack:^b$ <- ^c$ <- ^d$"));
    assert!(matched("race_stack:^a$ <- ... <- ^d$"));
    assert!(matched("race_stack:^b$ <- ... <- ^b$ <- ^c$"));
    assert!(matched("race_stack:... <- ^b$ <- ^c$ <- ..."));
    assert!(!matched("race_stack:^a$ <- ^c$"));
    assert!(!matched("race_stack:^c$ <- ... <- ^b$"));
    assert!(!matched("race_stack:^d$ <- *"));
}

#[test]
fn files_have_comments_blanks_and_rules_that_are_not_about_races() {
    let text = "\u{feff}# known\r\n\r\n  race:Stats \r\nmutex:foo\r\nthread:bar\nsignal:x\ndeadlock:y\n# end";
    let report = judged(sample(), text);
    assert_eq!(report.findings[0].status, Status::Suppressed { by: "race:Stats (my.supp:3)".into() });
    assert_eq!(report.triage.unused_suppressions, [""; 0]);
}

#[test]
fn unused_rules_are_listed_and_the_first_match_is_named() {
    let report = judged(sample(), "race:nowhere\nrace_top:Stats::reset\nrace:Stats\nrace_var:V8\n");
    assert_eq!(report.triage.unused_suppressions, ["race:nowhere (my.supp:1)", "race_var:V8 (my.supp:4)"]);
    let by = "race_top:Stats::reset (my.supp:2)".to_owned();
    assert_eq!(report.findings[0].status, Status::Suppressed { by });
    assert_eq!(report.new_findings().count(), 2);
    let summary = triage::summary(&report, true);
    assert_eq!(
        summary,
        "1 race suppressed by 1 rule\n  1 by race_top:Stats::reset (my.supp:2)\n\
         unused suppression: race:nowhere (my.supp:1)\nunused suppression: race_var:V8 (my.supp:4)\n"
    );
}

#[test]
fn errors_say_where_and_what_was_expected() {
    let error = |text: &str| Suppressions::parse("my.supp", text.as_bytes()).unwrap_err().to_string();
    assert_eq!(error("race:x\n  nonsense"), "my.supp:2:3: expected `type:pattern`, found `nonsense`");
    assert!(error("\nräce:x").starts_with("my.supp:2:1: expected race, race_top, "));
    assert_eq!(error("race:"), "my.supp:1:6: expected a pattern, found nothing; `*` matches everything");
    assert_eq!(error("race_pair:ä"), "my.supp:1:11: expected two patterns with ` <> ` between them");
    assert_eq!(error("race_pair:ä <> b <> c"), "my.supp:1:17: expected two patterns, found a third one");
    assert_eq!(error("race_pair:a <>  <> b"), "my.supp:1:16: expected two patterns, found a third one");
    assert_eq!(
        error("race_stack:a <-  <- b"),
        "my.supp:1:17: expected a pattern, found nothing; `*` matches everything"
    );
    assert_eq!(error("race_stack:..."), "my.supp:1:12: expected a pattern beside `...`");
    assert!(error(&"x".repeat(3_000)).len() < 120);
}

#[test]
fn bytes_that_are_no_text_do_no_harm() {
    assert!(Suppressions::parse("x", b"race:caf\xe9\n").is_ok());
    assert!(Suppressions::parse("x", b"\xff\xfe").is_err());
}

/// Rules put together at random from what rules are made of: all are read or refused, none does harm.
#[test]
fn whatever_is_written_is_a_rule_or_an_error() {
    let parts = [
        "race",
        "race_top",
        "race_pair",
        "race_stack",
        "race_var",
        ":",
        ":",
        " <> ",
        " <- ",
        "...",
        "*",
        "^",
        "$",
        "#",
        " ",
        "main",
        "Server::poll",
        "é",
        "\u{fffd}",
        "\t",
    ];
    let mut state = 7_u64;
    let mut next = |below: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut accepted = 0;
    for _ in 0..20_000 {
        let line: String = (0..1 + next(8)).map(|_| parts[next(parts.len())]).collect();
        match Suppressions::parse("x", line.as_bytes()) {
            Ok(rules) => {
                triage::apply(&mut sample(), Some(&rules), None);
                accepted += 1;
            }
            Err(error) => assert!(error.to_string().starts_with("x:1:"), "{line}: {error}"),
        }
    }
    assert!(accepted > 1_000, "{accepted}");
}

fn baseline_of(report: &Report) -> Baseline {
    let mut baseline = Baseline::default();
    baseline.merge(report, "old code", "2026-11-15", false);
    baseline
}

fn statuses(report: &Report) -> Vec<bool> {
    report.findings.iter().map(|finding| matches!(finding.status, Status::Known { .. })).collect()
}

#[test]
fn a_baseline_separates_known_new_and_fixed() {
    let baseline = baseline_of(&report(vec![finding(1, Verdict::Observed), predicted()]));
    let mut now = report(vec![finding(1, Verdict::Observed), finding(9, Verdict::Observed)]);
    triage::apply(&mut now, None, Some(("races.toml", &baseline)));
    let verdict = "observed".into();
    let known = Status::Known { reason: "old code".into(), since: "2026-11-15".into(), verdict };
    assert_eq!(now.findings[0].status, known);
    assert_eq!(now.new_findings().map(|finding| finding.id).collect::<Vec<_>>(), [9]);
    assert_eq!(now.triage.fixed.len(), 1);
    assert_eq!(now.triage.fixed[0].fingerprint, predicted().fingerprint);
    assert_eq!(
        triage::summary(&now, false),
        "1 race known to races.toml, 1 new, 1 not found again\n  not found again: a heap block of 64 bytes: \
         Cache::get reads while Cache::drop writes [00000000abc00002]\n"
    );
}

fn twins(headlines: &[&str]) -> Report {
    let twin = |headline: &&str| Finding { headline: (*headline).into(), ..finding(1, Verdict::Observed) };
    report(headlines.iter().map(twin).collect())
}

#[test]
fn races_that_share_a_fingerprint_are_counted() {
    let baseline = baseline_of(&twins(&["a", "b"]));
    assert_eq!(baseline.races().len(), 2);
    let mut now = twins(&["c", "b", "d"]);
    triage::apply(&mut now, None, Some(("x", &baseline)));
    assert_eq!(statuses(&now), [true, true, false], "`b` is `b`, and one of the others is `a`");
    let mut now = twins(&["b"]);
    triage::apply(&mut now, None, Some(("x", &baseline)));
    assert_eq!(now.triage.fixed.iter().map(|fixed| fixed.headline.as_str()).collect::<Vec<_>>(), ["a"]);
}

#[test]
fn what_is_suppressed_uses_no_place_in_the_baseline_and_is_not_fixed() {
    let baseline = baseline_of(&twins(&["a"]));
    let mut now = twins(&["a", "a"]);
    rename(&mut now.findings[0], "other");
    triage::apply(&mut now, Some(&rules("race_var:other")), Some(("x", &baseline)));
    assert!(matches!(now.findings[0].status, Status::Suppressed { .. }));
    assert_eq!(statuses(&now), [false, true]);
    now.findings.truncate(1);
    triage::apply(&mut now, Some(&rules("race_var:other")), Some(("x", &baseline)));
    assert_eq!(now.triage.fixed, []);
}

#[test]
fn merging_keeps_reasons_and_dates_and_order() {
    let mut baseline = baseline_of(&report(vec![predicted(), finding(1, Verdict::Observed)]));
    let now = report(vec![finding(0, Verdict::Observed), predicted()]);
    let merged = baseline.merge(&now, "", "2027-01-01", false);
    assert_eq!(merged, Merged { added: 1, kept: 1, not_found: 1 });
    let races: Vec<_> = baseline
        .races()
        .iter()
        .map(|race| (&race.fingerprint[8..], &race.since[..4], &race.reason[..]))
        .collect();
    assert_eq!(
        races,
        [("abc00000", "2027", ""), ("abc00001", "2026", "old code"), ("abc00002", "2026", "old code")]
    );
    let merged = baseline.merge(&now, "", "2027-01-01", true);
    assert_eq!(merged, Merged { added: 0, kept: 2, not_found: 1 });
    assert_eq!(baseline.races().len(), 2);
}

#[test]
fn a_baseline_knows_what_was_confirmed() {
    let accepted = report(vec![predicted()]);
    let mut baseline = baseline_of(&accepted);
    assert_eq!(baseline.races()[0].verdict, "predicted");
    let mut now = accepted.clone();
    now.findings[0].confirmed = Some(Default::default());
    triage::apply(&mut now, None, Some(("races.toml", &baseline)));
    assert!(now.findings[0].is_confirmed_since());
    let said = triage::summary(&now, false);
    assert!(said.contains("  confirmed since it was accepted: a heap block of 64 bytes: "), "{said}");
    baseline.merge(&now, "", "2027-01-01", false);
    assert_eq!((baseline.races().len(), baseline.races()[0].verdict.as_str()), (1, "confirmed"));
    baseline.merge(&accepted, "", "2027-01-01", false);
    assert_eq!(baseline.races()[0].verdict, "confirmed", "one run that did not see it proves nothing");
    triage::apply(&mut now, None, Some(("races.toml", &baseline)));
    assert!(!now.findings[0].is_confirmed_since());
}

#[test]
fn baselines_without_verdicts_are_read() {
    let old = "version = 1\n[[race]]\nfingerprint = \"00000000abc00002\"\n";
    let baseline = Baseline::parse(old).unwrap();
    let mut now = report(vec![predicted()]);
    now.findings[0].confirmed = Some(Default::default());
    triage::apply(&mut now, None, Some(("races.toml", &baseline)));
    assert_eq!(statuses(&now), [true]);
    assert!(!now.findings[0].is_confirmed_since(), "nobody knows what it was");
}

#[test]
fn suppressed_races_are_not_added() {
    let report = judged(sample(), "race:*");
    assert_eq!(baseline_of(&report).races(), []);
}

#[test]
fn a_baseline_is_read_as_it_was_written() {
    let mut odd = finding(1, Verdict::Observed);
    odd.headline = "\"quotes\" \\ \u{7f}\u{1b} ünïcode\nlines".into();
    let baseline = baseline_of(&report(vec![odd, predicted()]));
    let text = baseline.to_text();
    assert_eq!(Baseline::parse(&text).unwrap(), baseline);
    support::assert_golden("baseline.toml", text.as_bytes());
    assert_eq!(Baseline::parse(&Baseline::default().to_text()).unwrap(), Baseline::default());
}

#[test]
fn a_damaged_baseline_says_where() {
    let error = |text: &str| Baseline::parse(text).unwrap_err().to_string();
    assert_eq!(error("version = 3"), "expected version 1 or 2 of the baseline, found 3");
    assert!(error("version = 1\n[[race]]\nreason = \"x\"\n").contains("fingerprint"));
    assert!(
        error("version = 1\n\n[[race]\n").starts_with("line 3, column "),
        "{}",
        error("version = 1\n\n[[race]\n")
    );
    assert!(error("").contains("version"));
}
