//! What can be typed: help, definitions derived from it, wrong usage.

mod support;

use support::{Files, overtake};

const COMMANDS: [&str; 6] = ["analyze", "compare", "stat", "validate", "convert", "gen"];

#[test]
fn every_data_command_has_help_with_examples_and_json() {
    for command in COMMANDS {
        let help = overtake(&[command, "--help"]).expect_code(0).text();
        assert!(help.contains("Examples:"), "{command}: {help}");
        assert!(help.contains("--json"), "{command}: {help}");
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
    assert!(run.stderr.contains("a window holds at least one event"), "{}", run.stderr);
}

#[test]
fn the_version_is_printed() {
    let version = overtake(&["--version"]).expect_code(0).text();
    assert_eq!(version.trim(), concat!("overtake ", env!("CARGO_PKG_VERSION")));
}
