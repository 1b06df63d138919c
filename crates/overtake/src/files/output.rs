//! Files that appear complete or not at all.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tempfile::{NamedTempFile, TempPath};

use crate::Error;

/// A file being written. It gets its name when it is complete; until then, and after a failure, what was there before
/// stays. Standard output, devices and pipes are written to directly.
pub struct OutputFile {
    name: PathBuf,
    /// The temporary name and the final one.
    unnamed: Option<(TempPath, PathBuf)>,
    written: Rc<Written>,
}

/// What became of the bytes.
#[derive(Default)]
struct Written {
    bytes: Cell<u64>,
    pipe_closed: Cell<bool>,
}

impl OutputFile {
    /// Starts a file called `path`, or writes to standard output if that is `-`.
    pub fn create(path: &Path) -> Result<(OutputFile, Box<dyn Write>), Error> {
        let (inner, unnamed) = target(path).map_err(|error| Error::in_file(path, error))?;
        let written = Rc::new(Written::default());
        let writer = Counted { inner, written: Rc::clone(&written) };
        Ok((OutputFile { name: path.to_owned(), unnamed, written }, Box::new(writer)))
    }

    /// Fails now if a file called `path` could not be written later. Creates its directory.
    pub fn check(path: &Path) -> Result<(), Error> {
        let is_special = || fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir());
        if super::is_standard(path) || is_special() {
            return Ok(());
        }
        target(path).map(drop).map_err(|error| Error::in_file(path, error))
    }

    /// Whether the reader of the output has closed the pipe.
    pub fn pipe_is_closed(&self) -> bool {
        self.written.pipe_closed.get()
    }

    /// Bytes written so far.
    pub fn bytes(&self) -> u64 {
        self.written.bytes.get()
    }

    /// Gives the file its name and returns its size. The writer must have been flushed.
    pub fn complete(self) -> Result<u64, Error> {
        if let Some((temporary, to)) = self.unnamed {
            temporary.persist(to).map_err(|error| Error::in_file(&self.name, error.error))?;
        }
        Ok(self.written.bytes.get())
    }
}

/// Where the bytes of a file called `path` go, and how it gets its name.
type Target = (Box<dyn Write>, Option<(TempPath, PathBuf)>);

fn target(path: &Path) -> io::Result<Target> {
    if super::is_standard(path) {
        return Ok((Box::new(io::stdout()), None));
    }
    match fs::metadata(path) {
        Ok(found) if found.is_dir() => Err(io::ErrorKind::IsADirectory.into()),
        Ok(found) if !found.is_file() => Ok((Box::new(File::options().write(true).open(path)?), None)),
        // A link stays a link: what it points to is replaced.
        Ok(_) => temporary(fs::canonicalize(path)?),
        Err(_) => temporary(path.to_owned()),
    }
}

fn temporary(to: PathBuf) -> io::Result<Target> {
    let directory = match to.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    fs::create_dir_all(directory)?;
    let (file, temporary) = ordinary_temporary_file(directory)?.into_parts();
    Ok((Box::new(file), Some((temporary, to))))
}

/// A temporary file with the permissions of an ordinary file: by default it would be private.
fn ordinary_temporary_file(directory: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    builder.prefix(".overtake-").suffix(".part");
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    builder.tempfile_in(directory)
}

/// Counts bytes and notices a closed pipe.
struct Counted {
    inner: Box<dyn Write>,
    written: Rc<Written>,
}

impl Counted {
    fn noticed<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let Err(error) = &result
            && error.kind() == io::ErrorKind::BrokenPipe
        {
            self.written.pipe_closed.set(true);
        }
        result
    }
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        let count = self.noticed(result)?;
        self.written.bytes.set(self.written.bytes.get() + count as u64);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.noticed(result)
    }
}
