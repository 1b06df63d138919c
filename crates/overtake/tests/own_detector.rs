//! A row is enough: this file has a detector and its row, and no other file names them. The program with that row shows the detector in
//! help, in `compare`, in reports and in the table of `bench speed`.
//!
//! The file is such a program itself (it has no test harness): with [`AS_PROGRAM`] in its environment it does what `overtake` does.

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};

use overtake::detect::{
    Access, At, Detector, Entry, Findings, LockMode, Notion, Promise, Race, Registry, Touch, Unasked,
    Verdict, one_pass,
};
use overtake::trace::{IdVec, LockId, MemoryOrder, Sizes, SyncId, ThreadId, VarId};

/// Reports every second access of another thread, whatever orders the two.
#[derive(Default)]
struct Shared {
    last: IdVec<VarId, Option<Access>>,
}

impl Detector for Shared {
    fn reserve(&mut self, sizes: &Sizes) {
        self.last.grow_to(sizes.variables);
    }

    fn access(&mut self, at: At, touch: Touch<'_>, found: &mut Findings) {
        let second = Access { at, kind: touch.kind };
        if let Some(first) = self.last[touch.var].replace(second)
            && first.at.thread != at.thread
            && first.kind.conflicts(second.kind)
        {
            found.report(Race { var: touch.var, first, second, verdict: Verdict::Suspected });
        }
    }

    fn fence(&mut self, _: At, _: MemoryOrder, _: &mut Findings) {}
    fn acquire(&mut self, _: At, _: LockId, _: LockMode, _: &mut Findings) {}
    fn release(&mut self, _: At, _: LockId, _: LockMode, _: &mut Findings) {}
    fn fork(&mut self, _: At, _: ThreadId, _: &mut Findings) {}
    fn join(&mut self, _: At, _: ThreadId, _: &mut Findings) {}
    fn post(&mut self, _: At, _: SyncId, _: &mut Findings) {}
    fn wait(&mut self, _: At, _: SyncId, _: &mut Findings) {}

    fn state_bytes(&self) -> usize {
        self.last.table_bytes()
    }
}

const ROW: Entry = Entry {
    name: "shared-by-hand",
    summary: "variables that go from hand to hand",
    notion: Notion::Discipline,
    promise: Promise::Suspicion,
    verdict: Verdict::Suspected,
    options: &["window"],
    unasked: Unasked::Always,
    speed_goal: Some(123.0),
    start: one_pass::<Shared>,
    ..Entry::BASIC
};

const AS_PROGRAM: &str = "OVERTAKE_TEST_AS_PROGRAM";

fn main() -> ExitCode {
    if std::env::var_os(AS_PROGRAM).is_some() {
        return overtake::command_line::run(Registry::with(&[ROW]));
    }
    help_names_it();
    compare_has_its_row();
    it_runs_unasked_and_is_in_every_report();
    the_table_of_speed_has_its_rows();
    ExitCode::SUCCESS
}

/// What the program prints: standard output and standard error.
fn program(arguments: &[&str], input: &str) -> (String, String) {
    let mut command = Command::new(std::env::current_exe().expect("this program"));
    command.args(arguments).env(AS_PROGRAM, "1").env_remove("CLICOLOR_FORCE");
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    // A program that does not read closes the pipe.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    let [out, err] = [output.stdout, output.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
    (out, err)
}

/// A lock orders the two writes of `x`.
const TRACE: &str = "T0|fork(T1)|m.c:1\nT0|acq(L)|m.c:2\nT0|w(x)|m.c:3\nT0|rel(L)|m.c:4\n\
                     T1|acq(L)|m.c:5\nT1|w(x)|m.c:6\nT1|rel(L)|m.c:7\n";

fn help_names_it() {
    let (help, _) = program(&["analyze", "--help"], "");
    let help = help.split_whitespace().collect::<Vec<_>>().join(" ");
    for expected in [ROW.name, ROW.summary, "short-hb, short-syncp, short-osr, windowed, shared-by-hand"] {
        assert!(help.contains(expected), "{expected} in\n{help}");
    }
    assert!(help.contains("by default hb, syncp, osr, deadlock and shared-by-hand"), "{help}");
    let (_, error) = program(&["analyze", "-", "-d", "shared-by"], "");
    assert!(error.contains(ROW.name), "{error}");
    let (completions, _) = program(&["completions", "bash"], "");
    assert!(completions.contains(ROW.name), "{completions}");
}

fn compare_has_its_row() {
    let (table, _) = program(&["compare", "-"], TRACE);
    let row = table.lines().find(|line| line.starts_with(ROW.name)).unwrap_or_default();
    assert!(row.contains(ROW.promise.describe()), "{table}");
}

fn it_runs_unasked_and_is_in_every_report() {
    let (report, _) = program(&["analyze", "-"], TRACE);
    assert!(report.contains("suspected race on x"), "{report}");
    for format in ["result", "sarif", "json"] {
        let (report, _) = program(&["analyze", "-", "--report", &format!("{format}=-")], TRACE);
        assert!(report.contains(ROW.name), "{format}: {report}");
    }
    let (report, _) = program(&["analyze", "-", "-d", ROW.name, "--json"], TRACE);
    assert!(report.contains(ROW.name) && !report.contains("\"hb\""), "{report}");
}

fn the_table_of_speed_has_its_rows() {
    let directory = tempfile::tempdir().expect("writable");
    let place = directory.path().to_string_lossy().into_owned();
    let (table, error) = program(
        &["bench", "speed", "--events", "3000", "--big-events", "0", "--runs", "1", "--dir", &place],
        "",
    );
    for shape in ["lock-heavy", "compute"] {
        assert!(table.contains(&format!("{shape}: {}", ROW.name)), "{table}\n{error}");
    }
    assert!(table.contains("123"), "the goal of the row: {table}");
}
