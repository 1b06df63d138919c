//! Where logs and other temporary files go.

use std::env;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

use crate::Listener;

/// The temporary directory, or another place if nothing can be made there: what people want checked is the program, not their
/// `TMPDIR`. All temporary files go to what was found first.
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
    // Somebody may have chosen before; then it stays with that.
    let _ = tempfile::env::override_temp_dir(&other);
    other
}

/// Whether directories can be made in a directory.
fn is_usable(directory: &Path) -> bool {
    // Asking is not enough: root may write where nobody can, a file system may be full.
    directory.is_dir()
        && access(directory, Access::WRITE_OK | Access::EXEC_OK).is_ok()
        && tempfile::Builder::new().prefix("overtake-").tempdir_in(directory).is_ok()
}
