//! Every renderer on recorded programs: golden files, and what a stored result renders to.

mod support;

use std::io::Read;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use support::{Files, expect_golden};

const FORMATS: [&str; 7] = ["text", "tsan", "sarif", "json", "perfetto", "result", "html"];

/// Runs the program in the repository's root, where the recorded sources are.
fn overtake(arguments: &[&str]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = support::command(arguments).current_dir(root).output().expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(66), "{arguments:?}: {said}");
}

fn reports(files: &Files, name: &str) -> Vec<String> {
    let target = |format| format!("{format}={}", files.path(&format!("{name}.{format}")));
    FORMATS.iter().flat_map(|format| ["--report".to_owned(), target(format)]).collect()
}

/// The data of a page, as JSON that people can read.
fn parcels(page: &str) -> String {
    let mut text = String::new();
    for part in page.split("<script type=\"text/plain\" id=\"").skip(1) {
        let (name, rest) = part.split_once("\">").expect("a name");
        let letters = rest.split_once("</script>").expect("an end").0;
        let bytes = STANDARD.decode(letters).expect("base64");
        let mut data = Vec::new();
        flate2::read::ZlibDecoder::new(&*bytes).read_to_end(&mut data).expect("zlib");
        let value: Value = serde_json::from_slice(&data).expect("JSON");
        text += &format!("{name}:\n{}\n", serde_json::to_string_pretty(&value).expect("JSON"));
    }
    text
}

fn traces() -> Vec<PathBuf> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/recorded");
    let entries =
        std::fs::read_dir(directory).expect("readable").map(|entry| entry.expect("readable").path());
    let mut traces: Vec<_> =
        entries.filter(|path| path.extension().is_some_and(|end| end == "otr")).collect();
    traces.sort();
    assert_eq!(traces.len(), 2);
    traces
}

#[test]
fn recorded_programs_render_as_they_did() {
    let files = Files::new();
    let read = |name: &str, format: &str| {
        std::fs::read_to_string(files.path(&format!("{name}.{format}"))).expect("a report")
    };
    for trace in traces() {
        let stem = trace.file_stem().and_then(|stem| stem.to_str()).expect("a name").to_owned();
        let trace = format!("testdata/recorded/{stem}.otr");
        // The programs are not there, so `--source-root` says where the sources are.
        let fixed = ["analyze", "--source-root", ".", "-d", "hb,syncp", &trace];
        let mut arguments: Vec<String> = fixed.map(str::to_owned).into();
        arguments.extend(reports(&files, "direct"));
        overtake(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for format in ["text", "tsan", "sarif", "json", "perfetto"] {
            expect_golden(&format!("recorded/{stem}.{format}"), &read("direct", format));
        }
        expect_golden(&format!("recorded/{stem}.html-data"), &parcels(&read("direct", "html")));
        // A stored result has all that renderers need.
        let mut arguments = vec!["report".to_owned(), files.path("direct.result")];
        arguments.extend(reports(&files, "again"));
        overtake(&arguments.iter().map(String::as_str).collect::<Vec<_>>());
        for format in FORMATS {
            assert_eq!(read("again", format), read("direct", format), "{stem}, {format}");
        }
    }
}
