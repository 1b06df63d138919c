//! What `overtake cc` makes of sources, and what it leaves to the real compiler.

use std::path::Path;

use crate::support::programs::{command, compilers, overtake, said, succeed};

#[test]
fn nothing_of_libtsan_is_linked() {
    let directory = tempfile::tempdir().expect("writable");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/race/lock_between.c");
    let object = directory.path().join("object.o");
    let response = directory.path().join("arguments");
    succeed(overtake().args(["cc", "-c", "-fsanitize=thread", "-o"]).arg(&object).arg(&source));
    std::fs::write(&response, format!("-fsanitize=thread '{}' -pthread\n", object.display()))
        .expect("writable");
    let apart = directory.path().join("apart");
    succeed(overtake().args(["cc", "-o"]).arg(&apart).arg(format!("@{}", response.display())));
    let whole = directory.path().join("whole");
    succeed(overtake().args(["cc", "-fsanitize=thread", "-pthread", "-o"]).arg(&whole).arg(&source));
    for program in [apart, whole] {
        let bytes = std::fs::read(&program).expect("readable");
        assert!(!bytes.windows(7).any(|bytes| bytes == b"libtsan"), "{}", program.display());
        assert_eq!(command(&program).output().expect("it starts").status.code(), Some(66));
    }
}

#[test]
fn shared_libraries_record_into_the_log_of_the_program() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("library.c"), "int counter; void bump(void) { counter++; }\n").expect("writable");
    std::fs::write(
        path("main.c"),
        "#include <dlfcn.h>\n#include <pthread.h>\nvoid (*bump)(void);\n\
         void *run(void *unused) { bump(); return unused; }\n\
         int main(void) { pthread_t thread; bump = dlsym(dlopen(LIBRARY, RTLD_NOW), \"bump\");\n\
         pthread_create(&thread, 0, run, 0); bump(); pthread_join(thread, 0); return 0; }\n",
    )
    .expect("writable");
    let library = path("library.so");
    succeed(
        overtake().args(["cc", "-shared", "-fPIC", "-Wl,-z,defs", "-o"]).arg(&library).arg(path("library.c")),
    );
    let define = format!("-DLIBRARY=\"{}\"", library.display());
    succeed(overtake().args(["cc", &define, "-pthread", "-o"]).arg(path("main")).arg(path("main.c")));
    let output = overtake().args(["run", "--"]).arg(path("main")).output().expect("it starts");
    assert_eq!(output.status.code(), Some(66), "{}", said(&output));
    assert!(said(&output).contains("bump ") && said(&output).contains("library.c:1"), "{}", said(&output));
}

#[test]
fn questions_go_to_the_real_compiler() {
    for question in [&["--version"][..], &["-dumpmachine"], &["-print-prog-name=ld"]] {
        let ours = overtake().arg("cc").args(question).env("OVERTAKE_CC", "gcc").output().expect("it starts");
        let theirs = command("gcc").args(question).output().expect("it starts");
        assert_eq!((ours.stdout, ours.stderr, ours.status), (theirs.stdout, theirs.stderr, theirs.status));
    }
}

/// Everything that builds and configure scripts ask of a compiler besides compiling a file into a program.
#[test]
fn the_compilers_do_what_compilers_do() {
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    std::fs::write(path("a.c"), "int x; int main(void) { x = 1; return 0; }\n").expect("writable");
    std::fs::write(path("start.s"), ".globl main\nmain: xor %eax, %eax\nret\n.section .note.GNU-stack\n")
        .expect("writable");
    for (compiler, _) in &compilers() {
        let cc = |arguments: &[&str]| {
            let mut cc = overtake();
            cc.arg("cc").args(arguments).current_dir(directory.path()).env("OVERTAKE_CC", compiler);
            cc.output().expect("it starts")
        };
        // As silent as the real compiler, also when it links: configure scripts take any output for a failure.
        let quietly = |arguments: &[&str]| {
            let output = cc(arguments);
            assert!(output.status.success(), "{compiler} {arguments:?}: {}", said(&output));
            assert_eq!(said(&output), "", "{compiler} {arguments:?}");
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        let symbols = |file: &str| {
            let output = succeed(command("nm").arg(path(file)));
            String::from_utf8_lossy(&output.stdout).into_owned()
        };
        assert!(quietly(&["-E", "a.c"]).contains("int main(void) { x = 1;"));
        assert!(quietly(&["-S", "a.c", "-o", "-"]).contains("__tsan_write4"));
        assert!(quietly(&["-MM", "a.c"]).starts_with("a.o: a.c"));
        assert_eq!(quietly(&["-fsyntax-only", "a.c"]), "");
        quietly(&["-c", "a.c"]);
        assert!(symbols("a.o").contains("U __tsan_write4"));
        quietly(&["-r", "-nostdlib", "a.o", "-o", "both.o"]);
        assert!(symbols("both.o").contains("U __tsan_write4"), "objects are joined, not linked");
        quietly(&["-shared", "-fPIC", "a.c", "-o", "a.so"]);
        assert!(!symbols("a.so").contains("T __tsan_write4"), "there is one recorder, in the program");
        std::fs::write(path("arguments"), "'a.o' -o \"from response\"\n").expect("writable");
        let ways: [(&[&str], &str); 5] = [
            (&["a.c"], "a.out"),
            (&["a.o", "-o", "from object"], "from object"),
            (&["@arguments"], "from response"),
            (&["start.s", "-o", "from assembly"], "from assembly"),
            (&["-O2", "-flto", "-fsanitize=thread", "a.c", "-o", "optimised"], "optimised"),
        ];
        for (arguments, program) in ways {
            quietly(arguments);
            let output = command(path(program)).output().expect("it starts");
            assert_eq!((output.status.code(), &*said(&output)), (Some(0), ""), "{compiler} {arguments:?}");
        }
        let refused = cc(&["missing.c"]);
        assert_eq!(refused.status.code(), Some(1));
        assert!(said(&refused).contains("missing.c"), "{}", said(&refused));
    }
}

/// What clang is told to leave alone is left alone, compiled apart or with the program.
#[test]
fn what_is_not_to_be_instrumented_stays_so_in_one_command() {
    let Some((clang, _)) = compilers().into_iter().find(|(compiler, _)| compiler.contains("clang")) else {
        return;
    };
    let directory = tempfile::tempdir().expect("writable");
    let path = |name: &str| directory.path().join(name);
    let code = "#include <pthread.h>\nint shared;\nvoid *racer(void *unused) { shared = 1; return unused; }\n\
         int main(void) { pthread_t thread; pthread_create(&thread, 0, racer, 0); shared = 2;\n\
         return pthread_join(thread, 0); }\n";
    std::fs::write(path("racy.c"), code).expect("writable");
    std::fs::write(path("list"), "fun:racer\n").expect("writable");
    let list = path("list").display().to_string();
    let lists = ["ignorelist", "blacklist"].map(|word| format!("-fsanitize-{word}={list}"));
    let others = ["-fno-sanitize-thread-memory-access".to_owned(), "-DNOTHING".to_owned()];
    for option in lists.iter().chain(&others) {
        let program = path("racy");
        let mut build = overtake();
        build.args(["cc", "-g", "-pthread", option, "-o"]).arg(&program).arg(path("racy.c"));
        let built = build.env("OVERTAKE_CC", &clang).output().expect("it starts");
        if !built.status.success() {
            assert!(option.contains("blacklist"), "{option}: {}", said(&built)); // newer compilers have lost it
            continue;
        }
        let output =
            overtake().args(["run", "--allow-empty", "--"]).arg(&program).output().expect("it starts");
        let code = if option == "-DNOTHING" { 66 } else { 0 };
        assert_eq!(output.status.code(), Some(code), "{option}: {}", said(&output));
    }
}
