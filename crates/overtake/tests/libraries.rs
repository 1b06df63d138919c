//! Libraries that are opened and closed while a program runs.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::{Path, PathBuf};

use support::programs::{command, compilers, overtake, said, succeed};

const MAIN: &str = "#include <dlfcn.h>
int main(int count, char **names) {
    for (int i = 1; i < count; i++) {
        void *library = dlopen(names[i], RTLD_NOW);
        if (!library) return 1;
        ((void (*)(void))dlsym(library, \"work\"))();
        dlclose(library);
    }
    return 0;
}
";

/// A library that races on `NAME_data`; all of them are laid out alike.
fn library(name: &str) -> String {
    let text = "#include <pthread.h>
        int NAME_data;
        static void *NAME_writes(void *unused) { NAME_data = 1; return unused; }
        void work(void) { pthread_t t; pthread_create(&t, 0, NAME_writes, 0); NAME_data = 2; pthread_join(t, 0); }
        ";
    text.replace("NAME", name)
}

fn compiled(directory: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    compiled_by("cc", directory, name, text, options)
}

fn compiled_by(compiler: &str, directory: &Path, name: &str, text: &str, options: &[&str]) -> PathBuf {
    let source = directory.join(name).with_extension("c");
    std::fs::write(&source, text).expect("writable");
    let compiled = directory.join(name);
    let mut ours = overtake();
    ours.env("OVERTAKE_CC", compiler).args(["cc", "-g", "-O1"]).args(options);
    succeed(ours.arg("-o").arg(&compiled).arg(&source));
    compiled
}

/// Each library is closed before the next is opened, and the first is opened again at the end.
#[test]
fn races_are_those_of_the_library_that_was_there_at_the_time() {
    for (compiler, _) in compilers() {
        let directory = tempfile::tempdir().expect("writable");
        let compiled = |name: &str, text: &str, options: &[&str]| {
            compiled_by(&compiler, directory.path(), name, text, options)
        };
        let program = compiled("program", MAIN, &["-ldl"]);
        let [first, other] =
            ["first", "other"].map(|name| compiled(name, &library(name), &["-shared", "-fPIC"]));
        for is_run in [true, false] {
            let mut started = if is_run { overtake() } else { command(&program) };
            if is_run {
                started.args(["run", "--"]).arg(&program);
            }
            let output = started.args([&first, &other, &first]).output().expect("it starts");
            let report = format!("{compiler}, run: {is_run}\n{}", said(&output));
            assert_eq!(output.status.code(), Some(66), "{report}");
            for name in ["first", "other"] {
                assert!(report.contains(&format!("observed race on {name}_data")), "{report}");
                assert!(report.contains(&format!("{name}_writes")), "{report}");
            }
            assert!(!report.contains("data of "), "a name that is no variable's: {report}");
        }
    }
}

/// A library that was compiled without us: it copies memory, and hands pointers over in a queue under a lock of its own.
const QUIET_LIBRARY: &str = "#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *box;
char copied[64];
void copy(const char *from, unsigned long bytes) { memcpy(copied, from, bytes); }
static void *volatile own;
void make_own(void) { own = malloc(64); }
void end_own(void) { while (!own) usleep(1000); free(own); }
void send_letter(void *letter) { pthread_mutex_lock(&lock); box = letter; pthread_mutex_unlock(&lock); }
void *receive_letter(void) {
    for (;;) {
        pthread_mutex_lock(&lock);
        void *letter = box;
        pthread_mutex_unlock(&lock);
        if (letter) return letter;
        usleep(1000);
    }
}
";

const USER: &str = "#include <pthread.h>
#include <stdlib.h>
void copy(const char *, unsigned long), send_letter(void *);
void *receive_letter(void);
static const char text[64];
static void *work(void *copies) {
    if (copies) { copy(text, sizeof text); return 0; }
    ((int *)receive_letter())[1]++;
    return 0;
}
int main(int count, char **arguments) {
    (void)arguments;
    pthread_t thread;
    void *copies = count > 1 ? &thread : 0;
    pthread_create(&thread, 0, work, copies);
    if (copies) copy(text, sizeof text);
    else { int *letter = malloc(64); letter[1] = 1; send_letter(letter); }
    return pthread_join(thread, 0);
}
";

/// The library hands a block over by means that nobody sees; the program does not use it.
const BYSTANDER: &str = "#include <pthread.h>
void make_own(void), end_own(void);
int calls;
static void *work(void *unused) { end_own(); return unused; }
int main(void) {
    pthread_t thread;
    calls++;
    pthread_create(&thread, 0, work, 0);
    make_own();
    return pthread_join(thread, 0);
}
";

fn with_quiet_library(directory: &Path, user: &str) -> PathBuf {
    let library = directory.join("libquiet.so");
    let source = directory.join("quiet.c");
    std::fs::write(&source, QUIET_LIBRARY).expect("writable");
    succeed(command("cc").args(["-O1", "-shared", "-fPIC", "-pthread", "-o"]).arg(&library).arg(&source));
    let search = format!("-Wl,-rpath,{}", directory.display());
    let library = library.to_string_lossy().into_owned();
    compiled(directory, "user", user, &["-pthread", "-Wl,--no-as-needed", &library, &search])
}

#[test]
fn what_a_library_without_instrumentation_copies_counts_as_its_policy_says() {
    let directory = tempfile::tempdir().expect("writable");
    let program = with_quiet_library(directory.path(), USER);
    let only_sync = "ignore_noninstrumented_modules=1";
    for (options, modules, code) in [
        ("", "", 66),
        (only_sync, "", 0),
        ("", "libquiet.so=sync", 0),
        ("", "*=ignore", 0),
        (only_sync, "libquiet=record", 66),
        ("", "libother.so=ignore", 66),
    ] {
        let mut run = overtake();
        run.env("TSAN_OPTIONS", options).env("OVERTAKE_MODULES", modules).args(["run", "--"]).arg(&program);
        let output = run.arg("copies").output().expect("it starts");
        assert_eq!(output.status.code(), Some(code), "{options} {modules}\n{}", said(&output));
    }
}

/// A function that calls a library with a stack pointer of its own choice.
const MOVING: &str = "#include <alloca.h>
#include <pthread.h>
#include <string.h>
void copy(const char *, unsigned long);
static void *work(void *length) {
    char *text = alloca((unsigned long)length);
    memset(text, 0, 8);
    copy(text, 8);
    return 0;
}
int main(int count, char **arguments) {
    (void)arguments;
    pthread_t thread;
    pthread_create(&thread, 0, work, (void *)(count * 1000L));
    work((void *)(count * 1000L));
    return pthread_join(thread, 0);
}
";

#[test]
fn the_function_that_calls_straight_into_a_library_is_the_headline() {
    for (user, headline, line) in
        [(USER, "main writes while work writes", "user.c:7"), (MOVING, "work writes while work writes", "")]
    {
        let directory = tempfile::tempdir().expect("writable");
        let program = with_quiet_library(directory.path(), user);
        let output = overtake().args(["run", "--"]).arg(program).arg("copies").output().expect("it starts");
        let report = said(&output);
        assert!(report.contains(&format!("race on copied: {headline}")), "{report}");
        assert!(report.contains(line), "{report}");
        assert_eq!(output.status.code(), Some(66), "{report}");
    }
}

#[test]
fn a_pointer_that_a_library_hands_over_under_its_lock_is_handed_over_in_every_order() {
    let directory = tempfile::tempdir().expect("writable");
    let program = with_quiet_library(directory.path(), USER);
    for _ in 0..3 {
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
    // Nobody knows what the lock orders if nothing of the library counts.
    let ignored =
        overtake().env("OVERTAKE_MODULES", "libquiet=ignore").args(["run", "--"]).arg(&program).output();
    assert_eq!(ignored.expect("it starts").status.code(), Some(66));
}

#[test]
fn what_a_library_allocates_and_frees_by_itself_is_no_race() {
    let directory = tempfile::tempdir().expect("writable");
    let program = with_quiet_library(directory.path(), BYSTANDER);
    for _ in 0..3 {
        let output = overtake().args(["run", "--"]).arg(&program).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}

#[test]
fn a_policy_that_is_none_is_refused() {
    let directory = tempfile::tempdir().expect("writable");
    let program = with_quiet_library(directory.path(), USER);
    let output = overtake().env("OVERTAKE_MODULES", "libquiet").args(["run", "--"]).arg(&program).output();
    let output = output.expect("it starts");
    assert!(said(&output).contains("OVERTAKE_MODULES: expected NAME=record"), "{}", said(&output));
    assert_eq!(output.status.code(), Some(1));
}

/// A library whose thread-local storage the loader allocates in the threads that use it, and frees in those that join them.
const THREAD_LOCAL: &str = "static __thread int counters[5000];
int work(int times) { for (int i = 0; i < times; i++) counters[i]++; return counters[0]; }
";

const USES_THREAD_LOCAL: &str = "#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
static int (*work)(int);
static void *run(void *unused) { work(5000); return unused; }
int main(int count, char **names) {
    pthread_t threads[4];
    void *library = count > 1 ? dlopen(names[1], RTLD_NOW) : 0;
    if (!library) return 1;
    work = (int (*)(int))dlsym(library, \"work\");
    for (int round = 0; round < 5; round++) {
        for (int i = 0; i < 4; i++) pthread_create(&threads[i], 0, run, 0);
        for (int i = 0; i < 4; i++) pthread_join(threads[i], 0);
        char *block = malloc(20000);
        for (int i = 0; i < 20000; i += 8) block[i] = 1;
        free(block);
    }
    return 0;
}
";

/// A detached thread uses the storage and ends, and the next thread gets its stack: libc frees the old storage in `pthread_create`.
const GIVES_STACK_ON: &str = "#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
static int (*work)(int);
static volatile int ended;
__attribute__((no_sanitize(\"thread\"))) static void wait_for_end(void) {
    while (!ended) sched_yield();
    while (syscall(SYS_tgkill, getpid(), ended, 0) == 0) sched_yield();
}
__attribute__((no_sanitize(\"thread\"))) static void end(void) { ended = syscall(SYS_gettid); }
static void *first(void *unused) { pthread_detach(pthread_self()); work(5000); end(); return unused; }
static void *second(void *unused) { work(5000); return unused; }
int main(int count, char **names) {
    pthread_t thread;
    void *library = count > 1 ? dlopen(names[1], RTLD_NOW) : 0;
    if (!library) return 1;
    work = (int (*)(int))dlsym(library, \"work\");
    pthread_create(&thread, 0, first, 0);
    wait_for_end();
    pthread_create(&thread, 0, second, 0);
    return pthread_join(thread, 0);
}
";

#[test]
fn thread_local_storage_of_a_library_that_was_opened_late_is_nobody_elses() {
    let directory = tempfile::tempdir().expect("writable");
    let library = compiled(directory.path(), "local.so", THREAD_LOCAL, &["-shared", "-fPIC"]);
    for source in [USES_THREAD_LOCAL, GIVES_STACK_ON] {
        let program = compiled(directory.path(), "program", source, &["-pthread", "-ldl"]);
        let output = overtake().args(["run", "--"]).arg(program).arg(&library).output().expect("it starts");
        assert_eq!(output.status.code(), Some(0), "{}", said(&output));
    }
}
