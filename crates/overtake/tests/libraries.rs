//! Libraries that are opened and closed while a program runs.
#![cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]

mod support;

use std::path::{Path, PathBuf};

use support::programs::{overtake, said, succeed};

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
    let source = directory.join(name).with_extension("c");
    std::fs::write(&source, text).expect("writable");
    let compiled = directory.join(name);
    succeed(overtake().args(["cc", "-g", "-O1"]).args(options).arg("-o").arg(&compiled).arg(&source));
    compiled
}

#[test]
fn races_are_those_of_the_library_that_was_there_at_the_time() {
    let directory = tempfile::tempdir().expect("writable");
    let program = compiled(directory.path(), "program", MAIN, &["-ldl"]);
    let libraries = ["first", "other"]
        .map(|name| compiled(directory.path(), name, &library(name), &["-shared", "-fPIC"]));
    let output = overtake().args(["run", "--"]).arg(program).args(libraries).output().expect("it starts");
    let report = said(&output);
    assert_eq!(output.status.code(), Some(66), "{report}");
    for name in ["first", "other"] {
        assert!(report.contains(&format!("observed race on {name}_data")), "{report}");
        assert!(report.contains(&format!("{name}_writes")), "{report}");
    }
}
