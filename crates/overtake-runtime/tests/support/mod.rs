//! Builds the static library and small programs with it, runs them, and reads their logs.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::collections::{BTreeMap, HashMap};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use overtake_rawlog::{
    FileHeader, LARGE_TAIL_BYTES, PAGE_BYTES, PIECE_HEADER_BYTES, PieceHeader, PieceKind, Record, RecordKind,
    Records, SMALL_TAIL_BYTES, THREAD_AT, THREAD_HEADER_BYTES, ThreadHeader, push_depth, split_run,
};

/// Runs a program with each compiler and checks its run.
pub(crate) fn each_compiler(source: &str, check: impl Fn(Run)) {
    for compiler in compilers() {
        check(Program::new(compiler, source).run().succeeded());
    }
}

/// The C compilers to test with: those that `OVERTAKE_TEST_COMPILERS` names, else gcc and the newest installed clang.
pub(crate) fn compilers() -> &'static [&'static str] {
    static COMPILERS: OnceLock<Vec<&'static str>> = OnceLock::new();
    COMPILERS.get_or_init(|| {
        let named = std::env::var("OVERTAKE_TEST_COMPILERS").unwrap_or_default();
        if !named.trim().is_empty() {
            return named.leak().split_whitespace().collect();
        }
        let clang = ["clang", "clang-19", "clang-18", "clang-17", "clang-16", "clang-15", "clang-14"];
        let found = |name: &&str| Command::new(name).arg("--version").output().is_ok();
        ["gcc"].into_iter().chain(clang.into_iter().find(found)).collect()
    })
}

/// The static library, built on first use.
pub(crate) fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("runtime");
        let built = Command::new(env!("CARGO"))
            .args(["rustc", "--package", "overtake-runtime", "--crate-type", "staticlib"])
            .args(["--profile", "runtime", "--features", "staticlib", "--quiet", "--target-dir"])
            .arg(&target)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .status()
            .expect("cargo starts");
        assert!(built.success(), "the static library does not build");
        target.join("runtime/libovertake_runtime.a")
    })
}

fn scratch(name: &str) -> PathBuf {
    scratch_in(Path::new(env!("CARGO_TARGET_TMPDIR")), name)
}

fn scratch_in(parent: &Path, name: &str) -> PathBuf {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let path = parent.join(format!("overtake-{name}.{}.{number}", std::process::id()));
    std::fs::create_dir_all(&path).expect("a scratch directory can be made");
    path
}

/// A directory in which thousands of small files are made and removed quickly: in memory, if there is enough of it.
fn quick_directory() -> PathBuf {
    let memory = Path::new("/dev/shm");
    let free = Command::new("df").args(["--output=avail", "--block-size=1M"]).arg(memory).output();
    let free = free.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let megabytes = free.lines().nth(1).and_then(|line| line.trim().parse::<u64>().ok());
    if megabytes.is_some_and(|megabytes| megabytes > 500) {
        memory.to_owned()
    } else {
        Path::new(env!("CARGO_TARGET_TMPDIR")).to_owned()
    }
}

/// A program in `tests/programs`, compiled; removed when dropped.
pub(crate) struct Program {
    directory: PathBuf,
}

impl Program {
    /// Compiles `tests/programs/<source>` with instrumentation and links it with the library.
    pub(crate) fn new(compiler: &str, source: &str) -> Program {
        let program = Program { directory: scratch("program") };
        let object = program.directory.join("object.o");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        let is_cpp = source.extension().is_some_and(|extension| extension == "cpp");
        let compiler = match is_cpp {
            true => compiler.replace("gcc", "g++").replace("clang", "clang++"),
            false => compiler.to_owned(),
        };
        checked(
            Command::new(&compiler).args(["-g", "-O1", "-fsanitize=thread", "-fno-builtin", "-c"]).args([
                source.as_os_str(),
                "-o".as_ref(),
                object.as_os_str(),
            ]),
        );
        let mut link = Command::new(&compiler);
        link.arg(&object).arg(library()).args(["-lpthread", "-ldl", "-lm", "-o"]).arg(program.path());
        checked(&mut link);
        program
    }

    /// Compiles `tests/programs/<source>` without us.
    pub(crate) fn plain(compiler: &str, source: &str) -> Program {
        let program = Program { directory: scratch("program") };
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(source);
        checked(Command::new(compiler).args(["-O1", "-pthread", "-o"]).arg(program.path()).arg(source));
        program
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.directory.join("program")
    }

    pub(crate) fn run(&self) -> Run {
        self.run_with(&[], &[])
    }

    /// Runs with arguments and environment variables.
    pub(crate) fn run_with(&self, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
        let mut command = Command::new(self.path());
        command.args(arguments).envs(environment.iter().copied());
        self.run_command(command)
    }

    /// Runs any command with the log in a directory of its own.
    pub(crate) fn run_command(&self, mut command: Command) -> Run {
        let log = scratch_in(&quick_directory(), "log");
        let output = command.env("OVERTAKE_LOG", &log).output().expect("the program starts");
        let run = Run { output, logs: read_logs(&log) };
        std::fs::remove_dir_all(&log).expect("the log can be removed");
        run
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

fn checked(command: &mut Command) {
    let output = command.output().expect("the compiler starts");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// The output and the logs of a run.
pub(crate) struct Run {
    pub(crate) output: Output,
    /// Logs by process, parents before children.
    pub(crate) logs: Vec<Log>,
}

impl Run {
    pub(crate) fn succeeded(self) -> Run {
        assert!(self.output.status.success(), "{:?}", self.output);
        self
    }

    pub(crate) fn died_of(self, signal: i32) -> Run {
        assert_eq!(self.output.status.signal(), Some(signal), "{:?}", self.output);
        self
    }

    /// The log of the only process.
    pub(crate) fn log(&self) -> &Log {
        assert_eq!(self.logs.len(), 1, "{:?}", self.output);
        &self.logs[0]
    }

    /// A number that the program printed as `name value`.
    pub(crate) fn printed(&self, name: &str) -> u64 {
        let text = String::from_utf8_lossy(&self.output.stdout);
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        let digits = line.unwrap_or_else(|| panic!("`{name}` not in {text}"));
        match digits.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).expect("a number"),
            None => digits.parse().expect("a number"),
        }
    }
}

/// The log of one process.
pub(crate) struct Log {
    pub(crate) process: HashMap<String, String>,
    pub(crate) files: BTreeMap<String, Vec<u8>>,
    pub(crate) threads: BTreeMap<u32, Thread>,
    /// The header of the log file.
    pub(crate) header: Option<FileHeader>,
    /// The bytes that the log file takes on the disk.
    pub(crate) file_bytes: u64,
}

/// The log of one thread.
pub(crate) struct Thread {
    pub(crate) header: ThreadHeader,
    pub(crate) records: Vec<Record>,
}

fn read_logs(root: &Path) -> Vec<Log> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(root)
        .expect("the log root is there")
        .map(|entry| entry.expect("readable").path())
        .collect();
    // The name is overtake.<random>.<pid>.<stamp>: sorts by stamp.
    paths.sort_by_key(|path| {
        let stamp =
            path.extension().and_then(|stamp| stamp.to_str()).and_then(|stamp| stamp.parse::<u64>().ok());
        stamp.expect("a stamp")
    });
    paths.iter().map(|path| read_log(path)).collect()
}

pub(crate) fn read_log(path: &Path) -> Log {
    let mut log = Log {
        process: HashMap::new(),
        files: BTreeMap::new(),
        threads: BTreeMap::new(),
        header: None,
        file_bytes: 0,
    };
    for entry in std::fs::read_dir(path).expect("the log is there") {
        let entry = entry.expect("readable");
        let name = entry.file_name().into_string().expect("our own name");
        let bytes = std::fs::read(entry.path()).expect("readable");
        if name == "threads" {
            log.file_bytes =
                std::os::unix::fs::MetadataExt::blocks(&entry.metadata().expect("readable")) * 512;
            log.read_pieces(&bytes);
        } else {
            log.files.entry(name).or_default().splice(0..0, bytes);
        }
    }
    for line in String::from_utf8_lossy(&log.files["process"]).lines() {
        let (key, value) = line.split_once(' ').expect("a key and a value");
        log.process.insert(key.to_owned(), value.to_owned());
    }
    log
}

/// The chunks of a thread by number, and its header.
type Parts = BTreeMap<u32, (BTreeMap<u64, Vec<u8>>, Option<ThreadHeader>)>;

impl Log {
    fn read_pieces(&mut self, file: &[u8]) {
        self.header = FileHeader::read(file);
        let (mut parts, mut slots) = (Parts::new(), Vec::new());
        let mut at = PAGE_BYTES;
        while at < file.len() {
            let Some(piece) = PieceHeader::read(&file[at..]) else {
                at += 8;
                continue;
            };
            let bytes = &file[at + PIECE_HEADER_BYTES..][..piece.bytes as usize];
            match piece.kind().expect("a kind") {
                PieceKind::Slot => {
                    slots.extend(ThreadHeader::read(&file[at + THREAD_AT..]).map(|header| (at, header)))
                }
                PieceKind::Chunk | PieceKind::Last => {
                    assert_eq!(piece.sum(bytes), piece.checksum);
                    let (chunks, header) = parts.entry(piece.thread).or_default();
                    let is_last = piece.kind() == Some(PieceKind::Last);
                    let end = bytes.len() - if is_last { THREAD_HEADER_BYTES } else { 0 };
                    *header = header.or(ThreadHeader::read(&bytes[end..]));
                    chunks.insert(piece.number, bytes[..end].to_vec());
                }
                PieceKind::Process => self.files.entry("process".to_owned()).or_default().extend(bytes),
                PieceKind::Map => {
                    self.files.entry(format!("maps.{}", piece.number)).or_default().extend(bytes)
                }
                PieceKind::Large | PieceKind::Tail => {}
            }
            at += piece.size() as usize;
        }
        for (slot, header) in slots {
            read_tails(file, slot, header, &mut parts);
        }
        for (number, (chunks, header)) in parts {
            let records = chunks.values().flat_map(|chunk| Records::new(chunk)).collect();
            let header = header.expect("a header");
            assert_eq!(header.number, number);
            self.threads.insert(number, Thread { header, records });
        }
    }
}

/// Reads the records that a thread had not written into chunks when the process ended.
fn read_tails(file: &[u8], slot: usize, header: ThreadHeader, parts: &mut Parts) {
    let (chunks, known) = parts.entry(header.number).or_default();
    known.get_or_insert(header);
    let mut tails = vec![(slot, SMALL_TAIL_BYTES)];
    if header.large != 0 {
        tails.push((header.large as usize, LARGE_TAIL_BYTES));
    }
    for (pair, bytes) in tails {
        for tail in [0, 1].map(|number| &file[pair + PAGE_BYTES + number * bytes..][..bytes]) {
            if let Some(piece) = PieceHeader::read(tail).filter(|piece| piece.thread == header.number) {
                chunks.entry(piece.number).or_insert_with(|| tail[PIECE_HEADER_BYTES..].to_vec());
            }
        }
    }
}

impl Log {
    /// All records with stamps, with their threads, in the order of stamps.
    pub(crate) fn in_order(&self) -> Vec<(u32, Record)> {
        let mut all: Vec<(u32, Record)> = Vec::new();
        for (number, thread) in &self.threads {
            all.extend(
                thread
                    .records
                    .iter()
                    .filter(|record| record.stamp().is_some())
                    .map(|record| (*number, *record)),
            );
        }
        all.sort_by_key(|(_, record)| record.stamp());
        all
    }

    /// The records about one object, in order of stamps.
    pub(crate) fn about(&self, object: u64) -> Vec<(u32, Record)> {
        self.in_order().into_iter().filter(|(_, record)| record.value == object).collect()
    }

    pub(crate) fn kinds_about(&self, object: u64) -> Vec<RecordKind> {
        self.about(object).into_iter().map(|(_, record)| record.kind).collect()
    }
}

impl Thread {
    /// Records of this kind at this address.
    pub(crate) fn count(&self, kind: RecordKind, value: u64) -> usize {
        match kind {
            RecordKind::Read | RecordKind::Write => {
                let accesses = self.accesses(kind == RecordKind::Write);
                accesses.iter().filter(|(address, _)| *address == value).count()
            }
            _ => self.records.iter().filter(|record| record.kind == kind && record.value == value).count(),
        }
    }

    /// The accesses of this kind, those of runs one by one: address and size.
    pub(crate) fn accesses(&self, write: bool) -> Vec<(u64, u64)> {
        let (single, run) = match write {
            true => (RecordKind::Write, RecordKind::WriteRun),
            false => (RecordKind::Read, RecordKind::ReadRun),
        };
        let mut accesses = Vec::new();
        for record in &self.records {
            let (stride, count) = match record.kind {
                kind if kind == single => (0, 1),
                kind if kind == run => split_run(record.words[1]),
                _ => continue,
            };
            let address = |number| record.value.wrapping_add_signed(stride * number as i64);
            accesses.extend((0..count).map(|number| (address(number), u64::from(record.extra))));
        }
        accesses
    }

    /// Depth of the call stack at each record about `value`.
    pub(crate) fn depths_at(&self, value: u64) -> Vec<usize> {
        let mut depth = 0;
        let mut depths = Vec::new();
        for record in &self.records {
            match record.kind {
                RecordKind::Chunk | RecordKind::Cut => depth = record.value as usize,
                RecordKind::Push => depth = push_depth(record.extra, depth) + 1,
                _ if record.value == value => depths.push(depth),
                _ => {}
            }
        }
        depths
    }

    /// Checks that the stamps of the thread never decrease.
    pub(crate) fn check_stamps(&self) {
        let stamps: Vec<u64> = self.records.iter().filter_map(Record::stamp).collect();
        assert!(stamps.is_sorted(), "stamps of thread {} decrease", self.header.number);
    }
}

/// The file that is mapped at an address, according to lines of `/proc/self/maps`.
pub(crate) fn module_at(maps: &str, address: u64) -> &str {
    let number = |text: &str| u64::from_str_radix(text, 16).unwrap_or(0);
    let line = maps.lines().find(|line| {
        let (low, rest) = line.split_once('-').unwrap_or_default();
        let high = rest.split(' ').next().unwrap_or_default();
        (number(low)..number(high)).contains(&address)
    });
    line.and_then(|line| line.rsplit(' ').next()).unwrap_or_default()
}
