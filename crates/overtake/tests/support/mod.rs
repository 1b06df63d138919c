//! Runs the program and looks at what it said.
#![allow(dead_code, reason = "each test file uses some of this")]

pub(crate) mod programs;
pub(crate) mod schema;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

/// What a run of the program left behind.
pub(crate) struct Run {
    pub(crate) code: i32,
    pub(crate) stdout: Vec<u8>,
    pub(crate) stderr: String,
}

impl Run {
    #[track_caller]
    pub(crate) fn expect_code(self, code: i32) -> Run {
        assert_eq!(self.code, code, "stdout:\n{}\nstderr:\n{}", self.text(), self.stderr);
        self
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.stdout).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.stdout).unwrap_or_else(|error| panic!("{error} in:\n{}", self.text()))
    }
}

/// Runs the program with nothing on standard input.
pub(crate) fn overtake(arguments: &[&str]) -> Run {
    overtake_with_input(arguments, b"")
}

/// Runs the program with `input` on standard input.
pub(crate) fn overtake_with_input(arguments: &[&str], input: &[u8]) -> Run {
    let mut child = command(arguments).spawn().expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_vec();
    // A program may stop reading early and close the pipe.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    Run {
        code: output.status.code().expect("the program is not killed"),
        stdout: output.stdout,
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The program with all its ends piped.
pub(crate) fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_overtake"));
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env_remove("CLICOLOR_FORCE");
    command
}

/// A directory with files of a test, gone when the test is over.
pub(crate) struct Files {
    directory: tempfile::TempDir,
}

impl Files {
    pub(crate) fn new() -> Files {
        Files { directory: tempfile::tempdir().expect("a temporary directory") }
    }

    /// Writes a file and returns its path.
    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> String {
        std::fs::write(self.directory.path().join(name), contents).expect("a file is written");
        self.path(name)
    }

    /// The path of a file in the directory.
    pub(crate) fn path(&self, name: &str) -> String {
        self.directory.path().join(name).to_str().expect("a path in UTF-8").to_owned()
    }

    /// Names of the files that are there, sorted.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.directory.path()).expect("a directory");
        let mut names: Vec<_> = entries
            .map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }
}

/// Compares with the golden file `name`; `BLESS=1` rewrites it.
#[track_caller]
pub(crate) fn expect_golden(name: &str, found: &str) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, found).expect("the golden file is written");
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert_eq!(found, expected, "{name} differs; BLESS=1 cargo test rewrites it");
}

/// Sets every field called `seconds` to zero: the one thing that differs from run to run.
pub(crate) fn without_times(document: &mut Value) {
    without(document, &["seconds"]);
}

/// Sets every field of these names to zero.
pub(crate) fn without(document: &mut Value, names: &[&str]) {
    match document {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, field)| match names.contains(&name.as_str()) {
                true => *field = Value::from(0),
                false => without(field, names),
            })
        }
        Value::Array(entries) => entries.iter_mut().for_each(|entry| without(entry, names)),
        _ => {}
    }
}

/// A trace with a race on `counter` and a harmless variable under a lock.
pub(crate) const RACY: &str = "\
# A write without the lock that the other thread's read holds.
T0|fork(T1)|main.c:3
T0|acq(m)|main.c:4
T0|w(total)|main.c:5
T0|rel(m)|main.c:6
T0|w(counter)|main.c:8
T1|r(counter)|worker.c:9
T1|acq(m)|worker.c:10
T1|r(total)|worker.c:11
T1|rel(m)|worker.c:12
T0|join(T1)|main.c:9
T0|r(counter)|main.c:10
";

/// The same trace with the race removed.
pub(crate) fn race_free() -> String {
    RACY.lines().filter(|line| !line.contains("T0|w(counter)")).map(|line| format!("{line}\n")).collect()
}
