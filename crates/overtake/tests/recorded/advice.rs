//! What reports say about objects of libraries that threads share.

use std::path::Path;

use crate::support::programs::{compilers, overtake, said, succeed};

/// Headline and advice of each finding.
fn findings_of(program: &Path, result: &Path) -> Vec<(String, String)> {
    let report = format!("result={}", result.display());
    let output =
        overtake().args(["run", "-q", "--report", &report, "--"]).arg(program).output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    let result = std::fs::read(result).expect("it was written");
    let result: serde_json::Value = serde_json::from_slice(&result).expect("JSON");
    let text =
        |finding: &serde_json::Value, field: &str| finding[field].as_str().unwrap_or_default().to_owned();
    let findings = result["findings"].as_array().expect("a list");
    findings.iter().map(|finding| (text(finding, "headline"), text(finding, "remedy"))).collect()
}

#[test]
fn advice_is_about_the_object_that_is_shared_and_about_code_of_the_program() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/shared_objects.cpp");
    for (_, compiler) in compilers() {
        for option in ["-O0", "-O2"] {
            let program = directory.path().join("objects");
            let mut compile = overtake();
            compile.env("OVERTAKE_CXX", &compiler).args(["c++", "-g", "-pthread", option, "-o"]);
            succeed(compile.arg(&program).arg(&source));
            let findings = findings_of(&program, &directory.path().join("races.json"));
            for (headline, advice) in &findings {
                let case = format!("{compiler} {option}: {headline}\n{advice}");
                // Strings and streams are in a library: at most it is known who called what called them.
                let is_inside =
                    ["`std::string`", "stream", "descriptor"].iter().any(|object| advice.contains(object));
                assert!(is_inside || headline.contains("use_"), "{case}");
                assert!(!advice.contains("atomic,") && !advice.contains("acquire-release"), "{case}");
            }
            for (function, object) in [
                ("use_pointer", "`std::shared_ptr`"),
                ("use_vector", "a `std::vector`"),
                ("use_map", "`std::map`"),
                ("use_table", "`std::unordered_map` or its like"),
                ("", "`std::string`"),
                ("", "stream"),
                ("main opens or closes it", "closes or replaces the file descriptor"),
            ] {
                let has = |(headline, advice): &(String, String)| {
                    headline.contains(function) && advice.contains(object)
                };
                assert!(findings.iter().any(has), "{compiler} {option}: {object}\n{findings:#?}");
            }
        }
    }
}
