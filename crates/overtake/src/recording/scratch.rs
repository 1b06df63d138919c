//! Where logs and other temporary files go.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::Listener;

/// The temporary directory, or another one if nothing can be written there: people want their program checked, not their
/// `TMPDIR`. All temporary files go to the directory that was found first.
pub fn scratch_directory(listener: &dyn Listener) -> PathBuf {
    let wanted = env::temp_dir();
    let others = ["/tmp", "/var/tmp", "/dev/shm"].map(PathBuf::from).into_iter();
    let others =
        others.chain(env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from)).chain(env::current_dir().ok());
    if is_usable(&wanted) {
        return wanted;
    }
    let Some(other) = others.into_iter().find(|other| is_usable(other)) else { return wanted };
    listener.say(&format!("{}: cannot be written to, {} is used instead", wanted.display(), other.display()));
    // If another directory was set before, it stays.
    let _ = tempfile::env::override_temp_dir(&other);
    other
}

/// Whether directories can be made in a directory.
fn is_usable(directory: &Path) -> bool {
    // `access` is not enough: it allows root everything, and a file system may be full.
    directory.is_dir()
        && access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
        && tempfile::Builder::new().prefix("overtake-").tempdir_in(directory).is_ok()
}
