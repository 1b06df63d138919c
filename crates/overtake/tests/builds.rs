//! Build systems with our compilers, as `docs/check-your-project.md` has them: a library and a program that races through it.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::PathBuf;
use std::process::Command;

use support::programs::{command, overtake, said, succeed};
use tempfile::TempDir;

const LIBRARY: &str = "int counter;\nvoid count(void) { counter++; }\n";

const PROGRAM: &str = "#include <thread>\nextern \"C\" void count(void);\n\
    int main() { std::thread other(count); count(); other.join(); return 0; }\n";

/// A project: the sources, and what its build system reads.
fn project(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().expect("writable");
    let sources = [("library.c", LIBRARY), ("program.cpp", PROGRAM)];
    for (name, text) in sources.iter().chain(files) {
        std::fs::write(directory.path().join(name), text).expect("writable");
    }
    directory
}

/// A command of the build in the project's directory. A machine without its program fails the test: `scripts/test` says what to
/// install, or installs it.
#[track_caller]
fn step(mut command: Command, arguments: &[&str], project: &TempDir) {
    command.args(arguments).current_dir(project.path());
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}; is it installed?"));
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{command:?}\n{printed}\n{}", said(&output));
}

/// `overtake build --` in front of a command.
#[track_caller]
fn build(arguments: &[&str], project: &TempDir) {
    let mut build = overtake();
    build.args(["build", "--"]);
    step(build, arguments, project);
}

/// The race in the library is found in a run of the program, also when it is started directly.
#[track_caller]
fn expect_race(program: PathBuf) {
    let runs = [overtake().args(["run", "--"]).arg(&program).output(), command(&program).output()];
    for output in runs {
        let output = output.expect("it starts");
        let report = said(&output);
        assert_eq!(output.status.code(), Some(66), "{report}");
        assert!(report.contains("race on counter") && report.contains("library.c:2:"), "{report}");
    }
}

#[test]
fn make_uses_our_compilers_whatever_the_makefile_sets() {
    let rules = "CC = gcc\nCXX = g++\nprogram: program.o library.o\n\t$(CXX) -pthread $^ -o $@\n";
    let project = project(&[("Makefile", rules)]);
    build(&["make"], &project);
    expect_race(project.path().join("program"));
}

#[test]
fn make_uses_our_cpp_compiler_where_the_makefile_calls_one_cc() {
    let rules = "CC = g++\nprogram: program.cpp library.o\n\t$(CC) -pthread $^ -o $@\nlibrary.o: library.c\n\t$(CC) -x c -c $<\n";
    let project = project(&[("Makefile", rules)]);
    build(&["make"], &project);
    expect_race(project.path().join("program"));
}

#[test]
fn make_takes_them_as_variables_of_two_words() {
    let rules = "program: program.o library.o\n\t$(CXX) -pthread $^ -o $@\n";
    let project = project(&[("Makefile", rules)]);
    let overtake = env!("CARGO_BIN_EXE_overtake");
    let variables = [format!("CC={overtake} cc"), format!("CXX={overtake} c++")];
    step(command("make"), &[&variables[0], &variables[1]], &project);
    expect_race(project.path().join("program"));
}

#[test]
fn cmake_keeps_our_compilers() {
    let rules = "cmake_minimum_required(VERSION 3.13)\nproject(racy C CXX)\nfind_package(Threads REQUIRED)\n\
        include(CheckFunctionExists)\ncheck_function_exists(pthread_setname_np HAS_NAMES)\n\
        if(NOT HAS_NAMES)\n  message(FATAL_ERROR \"a function of libc is not found\")\nendif()\n\
        add_library(count SHARED library.c)\ntarget_link_options(count PRIVATE -Wl,--no-undefined)\n\
        add_executable(program program.cpp)\ntarget_link_libraries(program count Threads::Threads)\n";
    let project = project(&[("CMakeLists.txt", rules)]);
    build(&["cmake", "-B", "build-race", "-DCMAKE_BUILD_TYPE=RelWithDebInfo"], &project);
    step(command("cmake"), &["--build", "build-race"], &project);
    expect_race(project.path().join("build-race/program"));
}

#[test]
fn meson_keeps_our_compilers() {
    let rules = "project('racy', 'c', 'cpp', default_options: ['cpp_std=c++17', 'warning_level=2', 'werror=true'])\n\
        assert(meson.get_compiler('c').has_function('pthread_setname_np'))\n\
        count = shared_library('count', 'library.c')\n\
        executable('program', 'program.cpp', link_with: count, dependencies: dependency('threads'))\n";
    let project = project(&[("meson.build", rules)]);
    build(&["meson", "setup", "build-race"], &project);
    step(command("ninja"), &["-C", "build-race"], &project);
    expect_race(project.path().join("build-race/program"));
}

#[test]
fn configure_scripts_keep_our_compilers() {
    let script = "AC_INIT([racy], [1])\nAC_PROG_CC\nAC_PROG_CXX\nAC_CHECK_HEADERS([pthread.h])\nAC_LANG([C])\n\
        AC_CHECK_FUNC([pthread_setname_np], [], [AC_MSG_ERROR([a function of libc is not found])])\n\
        AC_CHECK_FUNC([no_such_function], [AC_MSG_ERROR([a function that nobody has is found])])\n\
        AC_CHECK_SIZEOF([long])\nAS_IF([test $ac_cv_sizeof_long != 8], [AC_MSG_ERROR([programs do not run])])\n\
        AC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    let rules = "CC = @CC@\nCXX = @CXX@\nCFLAGS = @CFLAGS@\nprogram: program.o library.o\n\t$(CXX) -pthread $^ -o $@\n";
    let project = project(&[("configure.ac", script), ("Makefile.in", rules)]);
    step(command("autoconf"), &[], &project);
    build(&["./configure"], &project);
    step(command("make"), &[], &project);
    expect_race(project.path().join("program"));
}

/// A directory that was configured without us and is built with us keeps its compiler: the message must say so.
#[test]
fn directories_configured_with_another_compiler_are_named() {
    let cmake =
        "cmake_minimum_required(VERSION 3.13)\nproject(plain C)\nadd_library(count STATIC library.c)\n";
    let meson = "project('plain', 'c')\nstatic_library('count', 'library.c')\n";
    let autoconf = "AC_INIT([plain], [1])\nAC_PROG_CC\nAC_CONFIG_FILES([Makefile])\nAC_OUTPUT\n";
    let rules = "CC = @CC@\nlibrary.o: library.c\n\t$(CC) -c $<\n";
    let project = project(&[
        ("CMakeLists.txt", cmake),
        ("meson.build", meson),
        ("configure.ac", autoconf),
        ("Makefile.in", rules),
    ]);
    step(command("cmake"), &["-B", "by-cmake"], &project);
    step(command("meson"), &["setup", "by-meson"], &project);
    step(command("autoconf"), &[], &project);
    step(command("./configure"), &[], &project);
    let build = |arguments: &[&str]| {
        let mut build = overtake();
        build.args(["build", "--"]).args(arguments).current_dir(project.path()).output().expect("it starts")
    };
    for arguments in
        [&["cmake", "--build", "by-cmake"][..], &["cmake", "-B", "by-cmake"], &["ninja", "-Cby-meson"]]
    {
        let output = build(arguments);
        assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", said(&output));
        assert!(said(&output).contains(": configured with "), "{arguments:?}: {}", said(&output));
    }
    // Our compiler is used nevertheless, but existing objects are not compiled again.
    let output = build(&["make"]);
    assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    assert!(said(&output).contains("make clean"), "{}", said(&output));
}

/// The compiler that `CC` named before is the real one, also for a later call outside of `overtake build`. Our compiler must not call itself.
#[test]
fn the_compiler_of_the_environment_is_used() {
    let directory = tempfile::tempdir().expect("writable");
    let real = directory.path().join("my-compiler");
    std::fs::write(&real, "#!/bin/sh\necho mine \"$@\"\n").expect("writable");
    let mut permissions = std::fs::metadata(&real).expect("there").permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o700);
    std::fs::set_permissions(&real, permissions).expect("changeable");
    let build = |script: &str| {
        let mut build = overtake();
        build.args(["build", "--", "sh", "-c", script]).env_remove("OVERTAKE_CC");
        build
    };
    let printed = |command: &mut Command| String::from_utf8_lossy(&succeed(command).stdout).into_owned();
    let told = printed(build("$CC --version; echo $CC").env("CC", format!("{} first", real.display())));
    let (version, link) = told.split_once('\n').expect("two lines");
    assert_eq!(version, "mine first --version");
    assert_eq!(printed(command(link.trim()).arg("--version")), "mine first --version\n");
    let usual = printed(command("cc").arg("--version"));
    assert_eq!(printed(build("$CC --version").env("CC", link.trim())), usual, "ours is not behind ours");
    assert_eq!(printed(build("$CC --version").env("CC", "overtake cc")), usual);
}
