//! What the compilers instrument, with the flags that ours add. `scripts/compilers` tests with all that are installed.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use support::programs::{command, compilers, overtake, said, succeed};

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/compilers").join(name)
}

/// The functions that each function of a listing calls.
fn calls(assembly: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut calls = BTreeMap::new();
    let mut function = None;
    for line in assembly.lines() {
        if let Some(name) = line.strip_suffix(':').or_else(|| line.split_once(": ").map(|(name, _)| name))
            && ["r_", "w_", "rw_"].iter().any(|what| name.starts_with(what))
        {
            function = Some(name);
            calls.insert(name, Vec::new());
        }
        let mut words = line.split_whitespace();
        let target = match words.next() {
            Some("call" | "callq" | "jmp") => words.next().unwrap_or_default(),
            Some(".size") => {
                function = None;
                continue;
            }
            _ => continue,
        };
        if let Some(calls) = function.and_then(|function| calls.get_mut(function)) {
            calls.push(target.trim_end_matches("@PLT"));
        }
    }
    calls
}

fn reads(function: &str) -> bool {
    let name = function.trim_start_matches("__tsan_");
    ["memcpy", "memmove", "memcmp", "bcmp", "strlen", "strcmp", "strcpy"].contains(&name)
        || name.contains("read")
}

fn writes(function: &str) -> bool {
    let name = function.trim_start_matches("__tsan_");
    ["memcpy", "memmove", "memset", "strcpy"].contains(&name) || name.contains("write")
}

/// What no flag makes a compiler instrument. If a compiler does so one day, this list and the one in the documentation get shorter.
fn is_left_out(compiler: &str, function: &str) -> bool {
    match function {
        "r_passed_structure" => true,
        "rw_vector32" | "rw_vector64" | "rw_long_double" => compiler.contains("clang"),
        "w_named_builtin" => compiler.contains("gcc"),
        _ => false,
    }
}

#[test]
fn accesses_are_seen_but_for_those_that_are_known_not_to_be() {
    let options: [&[&str]; 5] =
        [&["-O0"], &["-O1"], &["-O2"], &["-O3", "-mavx2"], &["-O3", "-march=skylake-avx512"]];
    for (compiler, _) in compilers() {
        for options in options {
            let mut list = overtake();
            list.args(["cc", "-S", "-Wno-psabi", "-o", "-"]).args(options).arg(source("accesses.c"));
            let output = succeed(list.env("OVERTAKE_CC", &compiler));
            let assembly = String::from_utf8_lossy(&output.stdout);
            let calls = calls(&assembly);
            assert!(calls.len() > 20, "{compiler} {options:?}: {calls:?}");
            for (function, calls) in calls {
                let what = function.split('_').next().unwrap_or_default();
                let is_seen = (!what.contains('r') || calls.iter().any(|call| reads(call)))
                    && (!what.contains('w') || calls.iter().any(|call| writes(call)));
                let expected = !is_left_out(&compiler, function);
                // Without optimisation, many of these are calls.
                assert!(
                    is_seen == expected || options == ["-O0"],
                    "{compiler} {options:?} {function}: {calls:?}"
                );
            }
        }
    }
}

#[test]
fn whatever_compilers_call_is_defined() {
    let ours = Path::new(env!("CARGO_MANIFEST_DIR")).join("../overtake-runtime/src/abi/symbols.txt");
    let ours = std::fs::read_to_string(ours).expect("readable");
    let ours: BTreeSet<&str> = ours.lines().collect();
    let directory = tempfile::tempdir().expect("writable");
    let (object, program) = (directory.path().join("calls.o"), directory.path().join("calls"));
    for (_, compiler) in compilers() {
        let special: &[&[&str]] = match compiler.contains("clang") {
            true => &[
                &[],
                &["-mllvm", "-tsan-distinguish-volatile", "-mllvm", "-tsan-compound-read-before-write"],
                &["-mcx16"],
            ],
            false => &[&[], &["--param=tsan-distinguish-volatile=1"]],
        };
        for (special, optimised) in special.iter().flat_map(|special| [(special, "-O0"), (special, "-O2")]) {
            let mut compile = overtake();
            compile.args(["c++", "-std=c++17", optimised, "-c", "-o"]).arg(&object).args(*special);
            succeed(compile.arg(source("calls.cpp")).env("OVERTAKE_CXX", &compiler));
            let names = succeed(command("nm").arg("--undefined-only").arg(&object));
            let names = String::from_utf8_lossy(&names.stdout).into_owned();
            let wanted: BTreeSet<&str> =
                names.split_whitespace().filter(|name| name.starts_with("__tsan")).collect();
            assert!(wanted.len() > 50, "{compiler} {special:?}: {wanted:?}");
            let missing: Vec<_> = wanted.difference(&ours).collect();
            assert!(missing.is_empty(), "{compiler} {special:?}: {missing:?}");
            let has_volatile = wanted.contains("__tsan_volatile_write4");
            assert_eq!(has_volatile, special.iter().any(|flag| flag.contains("distinguish-volatile")));
            let mut link = overtake();
            link.args(["c++", "-pthread", "-o"]).arg(&program).arg(&object);
            let output = succeed(link.env("OVERTAKE_CXX", &compiler));
            assert_eq!(said(&output), "", "{compiler}");
            let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
            let said = said(&output);
            assert!(said.starts_with("overtake: no race: ") && said.lines().count() == 1, "{said}");
            assert_eq!(output.status.code(), Some(0), "{compiler} {special:?}");
            let libraries = succeed(command("ldd").arg(&program));
            assert!(!String::from_utf8_lossy(&libraries.stdout).contains("tsan"));
        }
    }
}

#[test]
fn several_sources_are_compiled_together() {
    let directory = tempfile::tempdir().expect("writable");
    let file = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("writable");
        path
    };
    let library = file("library.c", "int counter;\nvoid count(void) { counter++; }\n");
    let program = file(
        "program.cpp",
        "#include <cstdio>\n#include <thread>\nextern \"C\" void count(void);\nint main(int, char **arguments) {\n\
         std::thread other(count); count(); other.join(); puts(arguments[1]); }\n",
    );
    let output = overtake().arg("run").arg(&library).arg(&program).arg("word").output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("race on counter"), "{}", said(&output));
    assert_eq!(output.stdout, b"word\n");
}

#[test]
fn the_doctor_tries_every_compiler() {
    let output = succeed(overtake().arg("doctor"));
    let text = String::from_utf8_lossy(&output.stdout);
    let gcc = text.lines().find(|line| line.trim_start().starts_with("gcc ")).expect("a line for gcc");
    assert!(gcc.ends_with("compiles, records, finds a race, predicts another and confirms it"), "{text}");
    let output = overtake().arg("doctor").env("PATH", "/nowhere").output().expect("it starts");
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("install a compiler"));
}
