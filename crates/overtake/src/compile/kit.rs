//! The files that a recorded executable is linked with, unpacked where the linker finds them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Stdio;

use super::compiler::Compiler;
use crate::Error;

/// The runtime, as the build script made it. Empty where programs cannot be recorded.
static RUNTIME: &[u8] = include_bytes!(env!("OVERTAKE_RUNTIME"));

/// What shared libraries and plug-ins of the program call in the executable.
const EXPORTS: &str = "{ __tsan_*; Annotate*; WTFAnnotate*; RunningOnValgrind; ValgrindSlowdown; };\n";

/// Files for the linker.
pub(super) struct Kit {
    runtime: PathBuf,
    exports: PathBuf,
    built_by: PathBuf,
}

impl Kit {
    /// Unpacks the files, once per version of this program.
    pub(super) fn unpack(compiler: &Compiler) -> Result<Kit, Error> {
        if RUNTIME.is_empty() {
            return Err(Error::failed("programs can be recorded on x86-64 Linux with glibc only"));
        }
        let directory = directory().map_err(|error| {
            Error::failed(format!("cannot write the runtime to the cache directory: {error}"))
        })?;
        let made = |name: String, make: &dyn Fn(&Path) -> io::Result<()>| {
            let path = directory.join(name);
            match path.is_file() {
                true => Ok(path),
                false => make(&path).map_err(|error| Error::in_file(&path, error)).map(|()| path),
            }
        };
        let hash = env!("OVERTAKE_RUNTIME_HASH");
        let myself = env::current_exe().unwrap_or_default();
        Ok(Kit {
            runtime: made(format!("runtime-{hash}.a"), &|path| put(path, RUNTIME))?,
            exports: made(format!("exports-{:016x}", hash_of(EXPORTS)), &|path| {
                put(path, EXPORTS.as_bytes())
            })?,
            built_by: made(format!("built-by-{:016x}.o", hash_of(&myself)), &|path| {
                compile_built_by(compiler, myself.as_os_str(), path)
            })?,
        })
    }

    /// Arguments for the linker, behind all others.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut exports = OsString::from("-Wl,--dynamic-list=");
        exports.push(&self.exports);
        vec![
            // A language that `-x` set for the sources must not apply to these files.
            "-x".into(),
            "none".into(),
            self.built_by.clone().into(),
            "-Wl,--undefined=__tsan_init".into(),
            self.runtime.clone().into(),
            exports,
            "-lpthread".into(),
            "-ldl".into(),
        ]
    }
}

/// A link to this very program in the cache, and beside it the real compiler, if one was asked for.
pub(super) fn link_to_myself(name: &str, real: Option<&OsStr>) -> Result<PathBuf, Error> {
    let failed = |error: io::Error| {
        Error::failed(format!("cannot write the compilers to the cache directory: {error}"))
    };
    let myself = env::current_exe().map_err(failed)?;
    let directory = directory().map_err(failed)?.join(format!("bin-{:016x}", hash_of((&myself, real))));
    fs::create_dir_all(&directory).map_err(failed)?;
    let link = directory.join(name);
    if let Some(real) = real {
        put(&beside(&link), real.as_bytes()).map_err(failed)?;
    }
    match symlink(&myself, &link) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(failed(error)),
        _ => Ok(link),
    }
}

/// The real compiler that was asked for when this link was made.
pub(super) fn behind(link: &Path) -> Option<String> {
    let named = link.is_absolute().then(|| fs::read_to_string(beside(link)).ok())??;
    (!named.trim().is_empty()).then_some(named)
}

fn beside(link: &Path) -> PathBuf {
    link.with_extension("real")
}

pub(crate) fn hash_of(what: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}

/// The user's cache, else a directory of the user's own among the temporary files.
pub(crate) fn directory() -> io::Result<PathBuf> {
    let cache = env::var_os("XDG_CACHE_HOME").filter(|path| Path::new(path).is_absolute()).map(PathBuf::from);
    let cache = cache.or_else(|| Some(Path::new(&env::var_os("HOME")?).join(".cache")));
    if let Some(directory) = cache.map(|cache| cache.join("overtake"))
        && fs::create_dir_all(&directory).is_ok()
        && !fs::metadata(&directory)?.permissions().readonly()
    {
        return Ok(directory);
    }
    let user = rustix::process::getuid().as_raw();
    let directory = env::temp_dir().join(format!("overtake-{user}"));
    match fs::DirBuilder::new().mode(0o700).create(&directory) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    // Files that another user can write would be linked into programs of this user.
    let found = fs::symlink_metadata(&directory)?;
    if !found.is_dir() || found.uid() != user || found.mode() & 0o022 != 0 {
        let message =
            format!("{}: expected a directory that only this user can write to", directory.display());
        return Err(io::Error::other(message));
    }
    Ok(directory)
}

/// Writes a file that appears complete or not at all: builds run many compilers at once.
fn put(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
    file.write_all(bytes)?;
    file.persist(path).map(|_| ()).map_err(|error| error.error)
}

/// An object that names the `overtake` to which the runtime hands its log.
fn compile_built_by(compiler: &Compiler, myself: &OsStr, path: &Path) -> io::Result<()> {
    let mut source = b"const char overtake_built_by[] = \"".to_vec();
    for byte in myself.as_bytes() {
        source.extend_from_slice(format!("\\{byte:03o}").as_bytes());
    }
    source.extend_from_slice(b"\";\n");
    let object = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?.into_temp_path();
    let mut running = compiler
        .command()
        .args(["-fPIC", "-x", "c", "-c", "-", "-o"])
        .arg(&object)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()?;
    if let Some(mut input) = running.stdin.take() {
        input.write_all(&source)?;
    }
    if !running.wait()?.success() {
        return Err(io::Error::other(format!("`{compiler}` cannot compile one line of C")));
    }
    object.persist(path).map_err(|error| error.error)
}
