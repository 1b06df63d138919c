//! The functions that the static library defines and calls.

mod support;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn output_of(tool: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(tool).args(arguments).arg(support::library()).output().expect("binutils are installed");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// `src/abi/symbols.txt` lists the exported symbols. `BLESS=1` rewrites it.
#[test]
fn exported_symbols_are_the_listed_ones() {
    // Only our own members of the archive: it also contains the arithmetic helpers of every Rust library.
    let exported: BTreeSet<String> =
        output_of("nm", &["--print-file-name", "--defined-only", "--extern-only"])
            .lines()
            .filter(|line| line.contains(":overtake_runtime"))
            .filter_map(|line| line.rsplit(' ').next())
            .filter(|name| !is_private(name))
            .map(str::to_owned)
            .collect();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/abi/symbols.txt");
    let text: String = exported.iter().map(|name| format!("{name}\n")).collect();
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&path, &text).expect("writable");
    }
    let listed = std::fs::read_to_string(&path).expect("the list is there");
    assert_eq!(text, listed, "the static library exports other symbols than {} lists", path.display());
}

/// Mangled and hidden symbols, but not those of the C++ library.
fn is_private(name: &str) -> bool {
    !name.starts_with("_ZNSt")
        && ["_R", "_ZN", "overtake_", "__rust", "rust_eh"].iter().any(|prefix| name.starts_with(prefix))
}

/// In C++, an odd address of a member function stands for a virtual one.
#[test]
fn functions_are_aligned() {
    let program = support::Program::new("gcc", "locks.c");
    let output = Command::new("nm").arg(program.path()).output().expect("binutils are installed");
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let ours: BTreeSet<&str> = include_str!("../src/abi/symbols.txt").lines().collect();
    let functions = symbols.lines().filter_map(|line| line.split_once(" W "));
    let functions: Vec<_> = functions.filter(|(_, name)| ours.contains(name)).collect();
    assert!(functions.len() > 100, "{symbols}");
    let odd: Vec<_> = functions.iter().filter(|(address, _)| !address.ends_with('0')).collect();
    assert!(odd.is_empty(), "{odd:?}");
}

/// A call of a function that we interpose would record what the runtime itself does, or never end.
#[test]
fn the_runtime_calls_nothing_that_it_interposes() {
    let interposed: BTreeSet<&str> =
        include_str!("../src/abi/symbols.txt").lines().filter(|name| !name.starts_with("__tsan")).collect();
    let mut function = String::new();
    for line in output_of("objdump", &["-dr", "--no-show-raw-insn"]).lines() {
        if let Some(name) = line.strip_suffix(">:") {
            function = name.rsplit('<').next().unwrap_or_default().to_owned();
        } else if line.contains("R_X86_64_") {
            let target = line.rsplit(['\t', ' ']).next().unwrap_or_default();
            let target = target.split(['-', '+', '@']).next().unwrap_or_default();
            let ours = function.contains("overtake_runtime");
            // `cfree` is `free`, on purpose.
            if ours && interposed.contains(target) && !function.contains("cfree") {
                panic!("{function} calls {target}");
            }
        }
    }
}

#[test]
fn no_panic_and_no_formatting_is_linked() {
    let program = support::Program::new("gcc", "locks.c");
    let output = Command::new("nm").arg(program.path()).output().expect("binutils are installed");
    let symbols = String::from_utf8_lossy(&output.stdout).into_owned();
    let heavy: Vec<&str> = symbols
        .lines()
        .filter(|line| line.contains("core") && (line.contains("fmt") || line.contains("panick")))
        .collect();
    assert!(heavy.is_empty(), "{heavy:?}");
}
