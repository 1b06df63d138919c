//! How reports name what races: lines, globals, members, and programs of which little is known.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::support::programs::{command, compiled, compilers, overtake, said, succeed};

#[test]
fn lines_of_the_program_are_named_not_of_the_cpp_library() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/library_threads.cpp");
    let text = std::fs::read_to_string(&source).expect("readable");
    let line = |comment: &str| {
        let at = text.lines().position(|line| line.ends_with(comment)).expect("a line with this comment");
        format!("library_threads.cpp:{}:", at + 1)
    };
    for options in [&["-O0"][..], &["-O2"], &["-O2", "-static-libstdc++"]] {
        let program = directory.path().join("threads");
        succeed(overtake().args(["c++", "-pthread", "-o"]).arg(&program).args(options).arg(&source));
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        let report = said(&output);
        assert_eq!(output.status.code(), Some(66), "{report}");
        assert!(report.ends_with("2 observed races in threads\n"), "{report}");
        if !options.contains(&"-static-libstdc++") {
            assert!(!report.contains("libstdc++"), "{options:?}\n{report}");
            let started = report.lines().filter(|line| line.contains("was started by T0 at"));
            let comments = ["// started here", "// async here"];
            for (started, comment) in started.zip(comments) {
                assert!(started.contains(&line(comment)), "{options:?} {comment}\n{report}");
            }
            assert!(report.contains(&line("// waits here")), "{options:?}\n{report}");
        }
    }
}

#[test]
fn what_is_not_known_of_a_program_is_left_out() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("racy.c");
    std::fs::write(
        &source,
        "#include <pthread.h>\nint shared;\nvoid *racer(void *unused) { shared = 1; return unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); shared = 2;\n\
         return pthread_join(thread, 0); }\n",
    )
    .expect("writable");
    let program = compiled(&source, &directory);
    let report = || {
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        said(&output)
    };
    assert!(report().contains("> 3 | void *racer(void *unused) { shared = 1; return unused; }"));
    std::fs::remove_file(&source).expect("removable");
    let without_source = report();
    assert!(without_source.contains("racy.c:3:") && !without_source.contains(" | "), "{without_source}");
    succeed(command("strip").arg("--strip-debug").arg(&program));
    let without_lines = report();
    assert!(
        without_lines.contains("#0 racer (racy)") && !without_lines.contains("racy.c"),
        "{without_lines}"
    );
    succeed(command("strip").arg("--strip-all").arg(&program));
    let stripped = report();
    assert!(stripped.contains("#0 (racy+0x") && !stripped.contains("racer"), "{stripped}");
}

#[test]
fn the_recorder_that_calls_a_handler_is_not_in_its_call_stack() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("signalled.c");
    let code = "#include <pthread.h>\n#include <signal.h>\nint shared;\nvoid handler(int signal) { shared = signal; }\n\
         void *run(void *unused) { signal(SIGUSR1, handler); raise(SIGUSR1); return unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, run, 0); shared = 2;\n\
         return pthread_join(thread, 0); }\n";
    std::fs::write(&source, code).expect("writable");
    let program = compiled(&source, &directory);
    let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
    let report = said(&output);
    assert!(report.contains("#0 handler ") && report.contains("signalled.c:4:"), "{report}");
    assert!(!report.contains("signals.rs") && !report.contains("on_signal"), "{report}");
}

#[test]
fn functions_are_named_where_debug_information_has_lines_only() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("racy.c");
    let code = "#include <pthread.h>\nint shared;\nvoid *racer(void *unused) { shared = 1; return unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); shared = 2;\n\
         return pthread_join(thread, 0); }\n";
    std::fs::write(&source, code).expect("writable");
    let rules = directory.path().join("rules");
    std::fs::write(&rules, "race:^racer$\n").expect("writable");
    for (compiler, _) in compilers() {
        for option in ["-g1", "-gline-tables-only"] {
            if option == "-gline-tables-only" && !compiler.contains("clang") {
                continue;
            }
            let program = directory.path().join("racy");
            let mut build = overtake();
            build.args(["cc", option, "-O1", "-pthread", "-o"]).arg(&program).arg(&source);
            succeed(build.env("OVERTAKE_CC", &compiler));
            let run = |arguments: &[&str]| {
                let output = overtake().arg("run").args(arguments).arg("--").arg(&program).output();
                said(&output.expect("it starts"))
            };
            let report = run(&[]);
            assert!(
                report.contains("#0 racer ") && report.contains("racy.c:3"),
                "{compiler} {option}\n{report}"
            );
            let judged = run(&["--suppressions", &rules.to_string_lossy()]);
            assert!(judged.contains("1 race suppressed by 1 rule"), "{compiler} {option}\n{judged}");
        }
    }
}

#[test]
fn instructions_without_a_line_are_places_of_their_own() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("lineless.c");
    let code = "#include <pthread.h>\nint shared[2];\nvoid *racer(void *unused)\n{\n#line 0\nshared[0] = 1;\n#line 0\nshared[1] = 1;\n\
         #line 9\nreturn unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); int seen = shared[0] + shared[1];\n\
         pthread_join(thread, 0); return seen > 2; }\n";
    std::fs::write(&source, code).expect("writable");
    let clang = compilers().into_iter().find(|(compiler, _)| compiler.contains("clang"));
    let Some((compiler, _)) = clang else { return };
    let program = directory.path().join("lineless");
    let mut build = overtake();
    build.args(["cc", "-g", "-O0", "-w", "-pthread", "-o"]).arg(&program).arg(&source);
    succeed(build.env("OVERTAKE_CC", &compiler));
    let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
    assert!(said(&output).ends_with("2 observed races in lineless\n"), "{}", said(&output));
}

#[test]
fn members_of_globals_are_named() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("members.cpp");
    let code = "#include <atomic>\n#include <pthread.h>\n\
        struct Base { long id; };\n\
        struct Counter : Base { struct { int hits; int misses; }; const char *name; };\n\
        namespace stats { struct Table { int size; Counter rows[4][3]; union { int a; float b; } either; } table; }\n\
        typedef volatile struct { char flag; short values[8]; } Flags;\n\
        static Flags flags;\n\
        int plain;\n\
        static void touch(int value) {\n\
        static struct { int calls[2]; } local;\n\
        plain = value;\n\
        stats::table.rows[2][1].misses = value;\n\
        stats::table.either.a = value;\n\
        flags.values[5] = value;\n\
        local.calls[1] = value; }\n\
        void *racer(void *unused) { touch(1); return unused; }\n\
        int main() { pthread_t thread; pthread_create(&thread, nullptr, racer, nullptr);\n\
        touch(2); return pthread_join(thread, nullptr); }\n";
    std::fs::write(&source, code).expect("writable");
    for (_, compiler) in &compilers() {
        for dwarf in ["-gdwarf-4", "-gdwarf-5"] {
            let program = directory.path().join("members");
            let mut build = overtake();
            build.args(["c++", dwarf, "-Wno-unused", "-pthread", "-o"]).arg(&program).arg(&source);
            succeed(build.env("OVERTAKE_CXX", compiler));
            let run = |arguments: &[&str]| {
                let mut run = overtake();
                let output = run.arg("run").args(arguments).arg("--").arg(&program).output();
                said(&output.expect("it starts"))
            };
            let report = run(&["-q"]);
            let named = ["plain", "stats::table.rows[2][1].misses", "stats::table.either", "flags.values[5]"];
            for name in named.into_iter().chain(["local.calls[1]"]) {
                let is_told = report.lines().any(|line| match name {
                    // Compilers add different suffixes to the symbol of a variable in a function.
                    "local.calls[1]" => line.contains("local") && line.contains(".calls[1]: "),
                    name => line.contains(&format!("race on {name}: ")),
                });
                assert!(is_told, "{compiler} {dwarf} {name}\n{report}");
            }
            let report = run(&[]);
            assert!(report.contains(" of the global stats::table, "), "{report}");
            // Rules name the whole or the member.
            let rules = directory.path().join("rules");
            std::fs::write(&rules, "race:^stats::table$\nrace:^flags.values[5]$\n").expect("writable");
            let judged = run(&["--suppressions", &rules.to_string_lossy()]);
            assert!(judged.contains("3 races suppressed by 2 rules"), "{judged}");
        }
    }
}

/// Names in a file system are bytes, and names of C++ functions are as long as their types.
#[test]
fn strange_names_are_shown_as_well_as_can_be() {
    let directory = tempfile::tempdir().expect("writable");
    let home = directory.path().join(OsStr::from_bytes(b"caf\xe9 \n|<b>"));
    std::fs::create_dir(&home).expect("any name will do");
    let source = home.join(OsStr::from_bytes(b"names \xff.cpp"));
    let code = "#include <pthread.h>\nstruct Global { int first, second; } shared;\n\
        template <class T> struct WrapperWithARatherLongName {};\n\
        template <class T, int N> struct Deep { using type = WrapperWithARatherLongName<typename Deep<T, N - 1>::type>; };\n\
        template <class T> struct Deep<T, 0> { using type = T; };\n\
        template <class T> __attribute__((noinline)) void touch(T *, int value) { shared.second = value; }\n\
        using Long = Deep<int, 80>::type;\n\
        void *racer(void *unused) { touch((Long *)nullptr, 1); return unused; }\n\
        int main() { pthread_t thread; pthread_create(&thread, nullptr, racer, nullptr);\n\
        touch((Long *)nullptr, 2); return pthread_join(thread, nullptr); }\n";
    std::fs::write(&source, code).expect("writable");
    let program = home.join(OsStr::from_bytes(b"names \xff"));
    succeed(overtake().args(["c++", "-pthread", "-o"]).arg(&program).arg(&source));
    let file = |format: &str| home.join(OsStr::from_bytes(&[format.as_bytes(), b" \xff"].concat()));
    let formats = ["text", "tsan", "sarif", "json", "perfetto", "html", "result"];
    let report = || {
        let mut run = overtake();
        run.arg("run");
        for format in formats {
            let mut target = std::ffi::OsString::from(format!("{format}="));
            target.push(file(format));
            run.arg("--report").arg(target);
        }
        let output = run.arg("--").arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        for format in formats {
            let report = std::fs::read(file(format)).expect("a report");
            assert!(String::from_utf8(report).is_ok(), "{format}");
        }
        crate::support::schema::check_result(
            &serde_json::from_slice(&std::fs::read(file("result")).expect("a result")).expect("JSON"),
        );
        said(&output)
    };
    let told = report();
    assert!(told.contains("#0 touch") && told.contains("names \u{fffd}.cpp:6:"), "{told}");
    assert!(told.lines().all(|line| line.chars().count() < 400), "{told}");
    let stored = std::fs::read_to_string(file("result")).expect("a result");
    assert!(stored.contains(&"WrapperWithARatherLongName<".repeat(80)), "the whole name is kept");
    // Without symbols, reports name the module and the offset in it.
    succeed(command("strip").arg(&program));
    let stripped = report();
    assert!(stripped.contains("race on data of names \u{fffd}+"), "{stripped}");
    assert!(stripped.contains("#0 (names \u{fffd}+0x"), "{stripped}");
    assert!(!stripped.contains("unknown location"), "{stripped}");
}

#[test]
fn a_program_that_is_gone_is_named_nevertheless() {
    let directory = tempfile::tempdir().expect("writable");
    let source = directory.path().join("gone.c");
    let code = "#include <pthread.h>\n#include <unistd.h>\nint shared;\n\
        void *racer(void *unused) { shared = 1; return unused; }\n\
        int main(int count, char **arguments) { pthread_t thread; pthread_create(&thread, 0, racer, 0);\n\
        shared = 2; pthread_join(thread, 0); return count == 1 ? unlink(arguments[0]) : 1; }\n";
    std::fs::write(&source, code).expect("writable");
    let report = || {
        let program = compiled(&source, &directory);
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(66), "{}", said(&output));
        said(&output)
    };
    let first = report();
    assert!(first.contains("race on data of gone+") && first.contains("#0 (gone+0x"), "{first}");
    assert_eq!(report(), first, "addresses have no part in it");
}
