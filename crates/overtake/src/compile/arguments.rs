//! Reads the command line of a compiler, and rewrites it for the real one.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use super::compiler::Family;
use super::kit::Kit;

/// How far a call of the compiler goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Nothing is compiled: versions, paths, help.
    Ask,
    /// Sources become text: `-E`, `-M`.
    Preprocess,
    /// Sources become objects, assembly, precompiled headers.
    Compile,
    /// An executable or a shared library is made, perhaps from sources.
    Link,
}

/// A command line of a compiler, response files expanded.
#[derive(Debug)]
pub(super) struct Understood {
    arguments: Vec<OsString>,
    pub(super) stage: Stage,
    /// Shared libraries find the runtime in the executable.
    is_shared: bool,
    /// Objects joined into one, or a program without libc: nothing is added.
    is_bare: bool,
    has_debug_information: bool,
    /// Options allow vector accesses under masks.
    has_masks: bool,
    /// The last option about `-fsanitize=thread` turns it off.
    opted_out: bool,
}

/// Options whose value is the next argument.
const WITH_VALUE: [&str; 33] = [
    "-o",
    "-x",
    "-I",
    "-D",
    "-U",
    "-L",
    "-l",
    "-T",
    "-u",
    "-z",
    "-e",
    "-B",
    "-A",
    "-G",
    "-MF",
    "-MT",
    "-MQ",
    "-include",
    "-imacros",
    "-isystem",
    "-iquote",
    "-idirafter",
    "-iprefix",
    "-isysroot",
    "-Xlinker",
    "-Xassembler",
    "-Xpreprocessor",
    "-Xclang",
    "-mllvm",
    "--param",
    "-target",
    "-arch",
    "-aux-info",
];

/// libc functions that gcc expands in place without instrumenting them. The runtime records them when they are called.
const EXPANDED_IN_PLACE: [&str; 16] = [
    "memcpy", "memmove", "memset", "memcmp", "memchr", "mempcpy", "strcpy", "strncpy", "stpcpy", "strcat",
    "strcmp", "strncmp", "strchr", "bcopy", "sprintf", "snprintf",
];

impl Understood {
    /// Reads a command line.
    pub(super) fn of(arguments: Vec<OsString>) -> Understood {
        let mut understood = Understood {
            arguments: Vec::new(),
            stage: Stage::Ask,
            is_shared: false,
            is_bare: false,
            has_debug_information: false,
            has_masks: false,
            opted_out: false,
        };
        let mut stage = Stage::Link;
        let (mut inputs, mut headers) = (0_usize, 0_usize);
        let mut values = false;
        for argument in &arguments {
            if std::mem::take(&mut values) {
                continue;
            }
            let text = argument.to_string_lossy();
            values = WITH_VALUE.contains(&&*text);
            match &*text {
                "-E" | "-M" | "-MM" => stage = Stage::Preprocess,
                "-c" | "-S" | "-fsyntax-only" if stage == Stage::Link => stage = Stage::Compile,
                "-shared" | "--shared" => understood.is_shared = true,
                "-r" | "-nostdlib" | "-nostartfiles" | "-nolibc" => understood.is_bare = true,
                text if text.starts_with("-g") && text != "-g0" => understood.has_debug_information = true,
                text if text.starts_with("-mavx") => understood.has_masks = true,
                text if text.starts_with("-march=") => understood.has_masks |= !has_no_masks(text),
                text if text.starts_with("-fsanitize=") && names_thread(text) => understood.opted_out = false,
                text if text.starts_with("-fno-sanitize=") && names_thread(text) => {
                    understood.opted_out = true
                }
                text if text.starts_with("-l") => inputs += 1,
                text if !text.starts_with('-') || text == "-" => {
                    inputs += 1;
                    headers += usize::from(is_header(argument));
                }
                _ => {}
            }
        }
        understood.stage = match inputs {
            0 => Stage::Ask,
            _ if headers == inputs && stage == Stage::Link => Stage::Compile,
            _ => stage,
        };
        understood.arguments = arguments;
        understood
    }

    /// Whether the runtime has to be linked in.
    pub(super) fn links_executable(&self) -> bool {
        self.stage == Stage::Link && !self.is_shared && !self.is_bare
    }

    /// The arguments for the real compiler.
    pub(super) fn rewritten(&self, family: Family, kit: Option<&Kit>) -> Vec<OsString> {
        let mut arguments = self.kept();
        if !self.opted_out {
            arguments.extend(self.instrumenting(family).map(OsString::from));
        }
        if !self.has_debug_information {
            arguments.push("-g".into());
        }
        arguments.extend(kit.map(Kit::arguments).unwrap_or_default());
        arguments
    }

    fn instrumenting(&self, family: Family) -> impl Iterator<Item = String> {
        let links = self.stage == Stage::Link;
        // Where the compiler also links, only its inner part may get the option, or libtsan is linked as well.
        let sanitize: &[&str] = match (family, links) {
            (Family::Gcc, true) => &["-Wp,-fsanitize=thread"],
            (Family::Clang, true) => &["-Xclang", "-fsanitize=thread"],
            (_, false) => &["-fsanitize=thread"],
        };
        let special: &[&str] = match family {
            Family::Gcc => &["-Wno-tsan"],
            // Without these, wider vectors and the read of `x++` are not instrumented.
            Family::Clang => &["-mprefer-vector-width=128", "-mllvm", "-tsan-instrument-read-before-write"],
        };
        // Clang passes these on only if its driver knows that it sanitizes.
        let refined = if links && family == Family::Clang { self.refinements() } else { Vec::new() };
        // Otherwise loops become vector accesses under masks, and gathers, which are not instrumented.
        let scalar: &[&str] = match family {
            Family::Clang if self.has_masks => &["-fno-vectorize", "-fno-slp-vectorize"],
            _ => &[],
        };
        let builtins = (family == Family::Gcc).then_some(EXPANDED_IN_PLACE).into_iter().flatten();
        // Checked variants of memcpy and the like are expanded in place as well; whole-program objects are instrumented late.
        let last = ["-U_FORTIFY_SOURCE", "-fno-lto"];
        // Where only objects are linked, clang would warn of unused arguments.
        let (open, close) = match family {
            Family::Gcc => (None, None),
            Family::Clang => (Some("--start-no-unused-arguments"), Some("--end-no-unused-arguments")),
        };
        open.into_iter()
            .chain(sanitize.iter().copied())
            .chain(special.iter().copied())
            .chain(scalar.iter().copied())
            .map(String::from)
            .chain(refined)
            .chain(builtins.map(|name| format!("-fno-builtin-{name}")))
            .chain(last.map(String::from))
            .chain(close.map(String::from))
    }

    /// The options about what to instrument, as clang's inner part takes them. Where clang only compiles, it passes them on itself.
    fn refinements(&self) -> Vec<String> {
        const PARTS: [(&str, &[&str]); 3] = [
            ("memory-access", &["-tsan-instrument-memory-accesses", "-tsan-instrument-memintrinsics"]),
            ("func-entry-exit", &["-tsan-instrument-func-entry-exit"]),
            ("atomics", &["-tsan-instrument-atomics"]),
        ];
        let (mut lists, mut parts) = (Vec::new(), Vec::new());
        for argument in &self.arguments {
            let text = argument.to_string_lossy();
            let list = ["-fsanitize-ignorelist=", "-fsanitize-blacklist="]
                .iter()
                .find_map(|option| text.strip_prefix(option));
            if let Some(file) = list {
                lists.extend(["-Xclang".into(), format!("-fsanitize-ignorelist={file}")]);
            } else if ["-fno-sanitize-ignorelist", "-fno-sanitize-blacklist"].contains(&&*text) {
                lists.clear();
            }
            for (value, option) in [(0, "-fno-sanitize-thread-"), (1, "-fsanitize-thread-")] {
                let named = text.strip_prefix(option);
                let known =
                    PARTS.iter().filter(|(part, _)| Some(*part) == named).flat_map(|(_, inner)| *inner);
                parts.extend(known.flat_map(|inner| ["-mllvm".into(), format!("{inner}={value}")]));
            }
        }
        lists.into_iter().chain(parts).collect()
    }

    /// The given arguments, without those that would link another runtime, link none, or drop names.
    fn kept(&self) -> Vec<OsString> {
        let mut kept: Vec<OsString> = Vec::new();
        let mut arguments = self.arguments.iter();
        while let Some(argument) = arguments.next() {
            let text = argument.to_string_lossy();
            match &*text {
                "-ltsan" | "-static-libtsan" | "-shared-libsan" | "-static-libsan" => {}
                "-static" | "-static-pie" | "-s" if self.stage == Stage::Link => {}
                "-z" if self.is_shared && arguments.as_slice().first().is_some_and(|next| next == "defs") => {
                    arguments.next();
                }
                text if text.starts_with("-fsanitize=") || text.starts_with("-fno-sanitize=") => {
                    kept.extend(without_thread(text).map(OsString::from));
                }
                text if text.starts_with("-Wl,") => self.keep_linker_words(text, &mut kept),
                text if WITH_VALUE.contains(&text) => {
                    kept.push(argument.clone());
                    kept.extend(arguments.next().cloned());
                }
                _ => kept.push(argument.clone()),
            }
        }
        kept
    }

    /// `-Wl,a,b`: a shared library has to leave the runtime's functions undefined.
    fn keep_linker_words(&self, text: &str, kept: &mut Vec<OsString>) {
        let mut words: Vec<&str> = text.split(',').skip(1).collect();
        words.retain(|word| !matches!(*word, "-s" | "--strip-all"));
        if self.is_shared {
            words.retain(|word| !matches!(*word, "--no-undefined" | "-no-undefined" | "-zdefs"));
            if let Some(at) = words.windows(2).position(|pair| pair == ["-z", "defs"]) {
                words.drain(at..at + 2);
            }
            // libtool writes the two words apart.
            if words == ["defs"] && kept.last().is_some_and(|last| last == "-Wl,-z") {
                kept.pop();
                return;
            }
        }
        if !words.is_empty() {
            kept.push(format!("-Wl,{}", words.join(",")).into());
        }
    }
}

/// Whether a processor has no vector accesses under masks.
fn has_no_masks(option: &str) -> bool {
    let processor = option.trim_start_matches("-march=");
    ["x86-64", "x86-64-v2", "k8", "core2", "nehalem", "westmere"].contains(&processor)
}

fn names_thread(option: &str) -> bool {
    option.split_once('=').is_some_and(|(_, names)| names.split(',').any(|name| name == "thread"))
}

/// `-fsanitize=thread,undefined` without `thread`; nothing if nothing is left.
fn without_thread(option: &str) -> Option<String> {
    let (name, values) = option.split_once('=')?;
    let values: Vec<_> = values.split(',').filter(|value| *value != "thread").collect();
    (!values.is_empty()).then(|| format!("{name}={}", values.join(",")))
}

fn is_header(input: &OsStr) -> bool {
    let extension = Path::new(input).extension().and_then(OsStr::to_str).unwrap_or_default();
    matches!(extension, "h" | "hh" | "hpp" | "hxx" | "H" | "h++")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn understood(line: &str) -> Understood {
        Understood::of(line.split_whitespace().map(OsString::from).collect())
    }

    #[test]
    fn stages_are_told_apart() {
        for (line, stage) in [
            ("--version", Stage::Ask),
            ("-v", Stage::Ask),
            ("-dumpmachine", Stage::Ask),
            ("-print-search-dirs -o out", Stage::Ask),
            ("-E a.c", Stage::Preprocess),
            ("-MM a.c", Stage::Preprocess),
            ("-c -E a.c", Stage::Preprocess),
            ("-c a.c", Stage::Compile),
            ("-MMD -MF a.d -c a.c", Stage::Compile),
            ("-S a.c -o -", Stage::Compile),
            ("-x c -c -", Stage::Compile),
            ("all.h", Stage::Compile),
            ("a.c", Stage::Link),
            ("a.o b.o -o program -lm", Stage::Link),
            ("-include all.h a.c", Stage::Link),
        ] {
            assert_eq!(understood(line).stage, stage, "{line}");
        }
    }

    #[test]
    fn only_executables_get_the_runtime() {
        assert!(understood("a.o -o program").links_executable());
        assert!(!understood("-shared a.o -o a.so").links_executable());
        assert!(!understood("-r a.o b.o -o c.o").links_executable());
        assert!(!understood("-nostdlib a.o").links_executable());
        assert!(!understood("-c a.c").links_executable());
    }

    #[test]
    fn nothing_names_another_runtime() {
        let kept = |line| {
            let kept: Vec<_> = understood(line).kept();
            kept.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(kept("-fsanitize=thread,undefined a.c -ltsan"), "-fsanitize=undefined a.c");
        assert_eq!(kept("-fsanitize=thread a.o -static -s"), "a.o");
        assert_eq!(kept("-static -c a.c"), "-static -c a.c");
        assert_eq!(kept("-shared -Wl,-z,defs,-O1 -Wl,-z -Wl,defs -z defs a.o"), "-shared -Wl,-O1 a.o");
        assert_eq!(kept("-Wl,-z,defs a.o"), "-Wl,-z,defs a.o");
        assert_eq!(kept("-o -static a.o"), "-o -static a.o");
    }

    #[test]
    fn clang_makes_no_masked_accesses() {
        let is_scalar = |line| {
            let words = understood(line).rewritten(Family::Clang, None);
            words.contains(&"-fno-vectorize".into())
        };
        assert!(!is_scalar("-O3 -c a.c") && !is_scalar("-O3 -march=x86-64-v2 -c a.c"));
        assert!(is_scalar("-O3 -mavx2 -c a.c") && is_scalar("-O3 -march=native -c a.c"));
    }

    #[test]
    fn linking_does_not_tell_the_driver() {
        let words = |line| understood(line).rewritten(Family::Gcc, None);
        assert!(words("a.c -o a").contains(&"-Wp,-fsanitize=thread".into()));
        assert!(!words("a.c -o a").contains(&"-fsanitize=thread".into()));
        assert!(words("-c a.c").contains(&"-fsanitize=thread".into()));
        assert!(!words("-c a.c -fno-sanitize=thread").contains(&"-fsanitize=thread".into()));
        assert!(words("-c a.c").contains(&"-g".into()));
        assert!(!words("-c a.c -ggdb3").contains(&"-g".into()));
    }
}
