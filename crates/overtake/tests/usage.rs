//! What can be typed: help, definitions derived from it, wrong usage.

mod support;

use support::{Files, overtake};

const COMMANDS: [&str; 7] = ["analyze", "ask", "compare", "stat", "validate", "convert", "gen"];

#[test]
fn every_data_command_has_help_with_examples_and_json() {
    for command in COMMANDS {
        let help = overtake(&[command, "--help"]).expect_code(0).text();
        assert!(help.contains("Examples:"), "{command}: {help}");
        assert!(help.contains("--json"), "{command}: {help}");
    }
}

#[test]
fn help_lists_every_command_in_groups() {
    let help = overtake(&["--help"]).expect_code(0).text();
    let listed: Vec<_> =
        help.lines().filter_map(|line| line.strip_prefix("  ")?.split_whitespace().next()).collect();
    let script = overtake(&["completions", "bash"]).expect_code(0).text();
    let mut words = script.lines().filter_map(|line| line.trim().strip_prefix("opts=\""));
    let known = words.find(|words| words.contains(" completions ")).expect("the commands");
    let known: Vec<_> =
        known.trim_end_matches('"').split(' ').filter(|word| !word.starts_with('-')).collect();
    assert!(known.len() > 20, "{known:?}");
    for command in known {
        assert!(listed.contains(&command), "{command} in {help}");
    }
    let at = |word: &str| help.find(word).unwrap_or_else(|| panic!("{word} in {help}"));
    assert!(
        at("Check a program:") < at("Work with findings:")
            && at("Work with findings:") < at("Work with traces:")
    );
    assert!(help.lines().all(|line| line.trim_end().len() <= 120), "{help}");
    for group in
        help.split("\n\n").filter(|group| group.lines().nth(1).is_some_and(|line| line.starts_with("  ")))
    {
        assert!(group.lines().count() <= 11, "a group has at most ten lines and its name: {group}");
    }
}

#[test]
fn short_help_leaves_out_what_few_people_need() {
    let [short, long] = ["-h", "--help"].map(|help| overtake(&["run", help]).expect_code(0).text());
    assert!(short.contains("Arguments:\n  <PROGRAM>..."), "{short}");
    assert!(!short.contains("--epsilon") && long.contains("--epsilon"), "{short}");
    assert!(short.contains("--report") && short.lines().count() < 60, "{short}");
}

#[test]
fn mistakes_are_answered_with_what_to_type() {
    let files = Files::new();
    let trace = &files.write("racy.std", support::RACY);
    let rust = &files.write("main.rs", "fn main() {}");
    let result = &files.path("races.json");
    overtake(&["analyze", trace, "--report", &format!("result={result}")]).expect_code(66);
    let log = files.directory().join("overtake.1.1");
    std::fs::create_dir(&log).expect("writable");
    std::fs::write(log.join("process"), "").expect("writable");
    let cases: [(&[&str], i32, &str); 12] = [
        (&["stat", &files.path("")], 1, "found a directory; name a file in it, such as "),
        (&["analyze", log.to_str().expect("UTF-8")], 1, "overtake finish "),
        (&["analyze", result], 1, "found a stored result: overtake report "),
        (&["report", trace], 1, "expected a stored result"),
        (&["run", rust], 1, "found a Rust source"),
        (&["run", "--html", "x.html", "true"], 2, "write --report html=FILE"),
        (&["analyze", "--html", "x.html", trace], 2, "write --report html=FILE"),
        (&["run", trace], 1, "overtake analyze"),
        (&["run", result], 1, "overtake confirm"),
        (&["run", "no-such-program"], 1, "build it with overtake cc, or name its sources"),
        (&["run", files.directory().to_str().expect("UTF-8")], 1, "found a directory; name a program in it"),
        (&["report", files.directory().to_str().expect("UTF-8")], 1, "name the results in it, such as "),
    ];
    for (arguments, code, answer) in cases {
        let run = overtake(arguments).expect_code(code);
        assert!(run.stderr.contains(answer), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn help_lists_every_detector() {
    let help = overtake(&["analyze", "--help"]).expect_code(0).text();
    let words: Vec<_> = help.split_whitespace().collect();
    let help = words.join(" ");
    for entry in overtake_detect::DETECTORS {
        assert!(help.contains(&format!("{} {}", entry.name, entry.summary)), "{help}");
    }
}

#[test]
fn completions_know_commands_and_options() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = overtake(&["completions", shell]).expect_code(0).text();
        assert!(script.contains("analyze") && script.contains("salvage"), "{shell}");
    }
}

#[test]
fn manual_pages_cover_every_command() {
    let files = Files::new();
    let page = overtake(&["man"]).expect_code(0).text();
    assert!(page.contains(".TH overtake 1"), "{page}");
    overtake(&["man", "--out", &files.path("pages")]).expect_code(0);
    for command in COMMANDS {
        let page = files.directory().join("pages").join(format!("overtake-{command}.1"));
        assert!(page.exists(), "{}", page.display());
    }
}

#[test]
fn wrong_usage_is_exit_code_2() {
    overtake(&[]).expect_code(2);
    overtake(&["analyse"]).expect_code(2);
    overtake(&["stat"]).expect_code(2);
    overtake(&["stat", "--frobnicate", "x.std"]).expect_code(2);
    overtake(&["analyze", "x.std", "--window", "many"]).expect_code(2);
}

#[test]
fn an_unknown_detector_is_answered_with_the_known_ones() {
    let run = overtake(&["analyze", "x.std", "--detector", "fastrack"]).expect_code(2);
    for entry in overtake_detect::DETECTORS {
        assert!(run.stderr.contains(entry.name), "{}", run.stderr);
    }
    assert!(run.stderr.contains("similar"), "{}", run.stderr);
}

#[test]
fn a_window_of_nothing_is_refused() {
    let run = overtake(&["analyze", "x.std", "--window", "0"]).expect_code(2);
    assert!(run.stderr.contains("expected at least 1, found 0"), "{}", run.stderr);
}

#[test]
fn the_version_is_printed() {
    let version = overtake(&["--version"]).expect_code(0).text();
    assert_eq!(version.trim(), concat!("overtake ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_pages_count_the_detectors_that_there_are() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let words = format!("{} detectors", overtake_detect::DETECTORS.len());
    for page in ["README.md", "docs/traces.md"] {
        let text = std::fs::read_to_string(root.join(page)).expect("a page");
        assert!(text.contains(&words), "no {words} in {page}");
    }
}
