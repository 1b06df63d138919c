//! Which source files may be shown: those that a module's debug information names and that are where the module was built.
//!
//! A trace names files, and so does `#line "/etc/passwd"`; neither makes a file a source. A module was built in the directories in which
//! its units were compiled, in those of the compiled files, and in the repositories that contain these. Links are
//! resolved before paths are compared.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use addr2line::gimli::{self, Dwarf, Unit};

use crate::debug_info::{self, Slice};

/// Directories that mark the root of a repository.
const REPOSITORIES: [&str; 3] = [".git", ".hg", ".svn"];

/// Those of `files` that are sources of a module, which must have this build id.
pub fn sources_of(module: &Path, build_id: &str, files: &BTreeSet<PathBuf>) -> BTreeSet<PathBuf> {
    let read = debug_info::read(module, build_id, |_, dwarf| Ok(Named::read(dwarf, files)?.below_roots()));
    read.unwrap_or_default()
}

/// A path without `.` and `..`, without a look at the file system.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// What debug information names.
#[derive(Default)]
struct Named {
    /// The wanted files that it names.
    files: BTreeSet<PathBuf>,
    /// Where units were compiled, and where the compiled files are.
    directories: BTreeSet<PathBuf>,
}

impl Named {
    fn read(dwarf: &Dwarf<Slice<'_>>, wanted: &BTreeSet<PathBuf>) -> Result<Named, gimli::Error> {
        let mut named = Named::default();
        let mut units = dwarf.units();
        while let Some(header) = units.next()? {
            let unit = dwarf.unit(header)?;
            let directory = unit.comp_dir.map(path).unwrap_or_default();
            let compiled = unit.name.map(path).unwrap_or_default();
            let of_compiled = directory.join(compiled).parent().map(without_dots);
            named.files.extend(files_of(dwarf, &unit, &directory).filter(|file| wanted.contains(file)));
            named.directories.extend(of_compiled.into_iter().chain([without_dots(&directory)]));
        }
        Ok(named)
    }

    fn below_roots(self) -> BTreeSet<PathBuf> {
        if self.files.is_empty() {
            return self.files;
        }
        let absolute = self.directories.iter().filter(|directory| directory.is_absolute());
        let roots = absolute.flat_map(|directory| [Some(&**directory), repository(directory)]).flatten();
        // The root of the file system does not count as a place to build in.
        let roots =
            roots.filter_map(|root| fs::canonicalize(root).ok()).filter(|root| root.parent().is_some());
        let roots: BTreeSet<PathBuf> = roots.collect();
        let is_below = |file: &PathBuf| {
            let file = fs::canonicalize(file);
            file.is_ok_and(|file| roots.iter().any(|root| file.starts_with(root)))
        };
        self.files.into_iter().filter(is_below).collect()
    }
}

/// The root of the repository that contains a directory.
fn repository(directory: &Path) -> Option<&Path> {
    let mut above = directory.ancestors();
    above.find(|directory| REPOSITORIES.iter().any(|name| directory.join(name).exists()))
}

/// The files of a unit.
fn files_of<'a>(
    dwarf: &'a Dwarf<Slice<'a>>,
    unit: &'a Unit<Slice<'a>>,
    directory: &'a Path,
) -> impl Iterator<Item = PathBuf> + 'a {
    let header = unit.line_program.as_ref().map(|program| program.header());
    header.into_iter().flat_map(move |header| {
        header.file_names().iter().map(move |file| {
            let text = |value| dwarf.attr_string(unit, value).map(path).ok();
            let below = file.directory(header).and_then(text).unwrap_or_default();
            without_dots(&directory.join(below).join(text(file.path_name()).unwrap_or_default()))
        })
    })
}

fn path(text: Slice<'_>) -> PathBuf {
    PathBuf::from(OsStr::from_bytes(text.slice()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dots_are_resolved_without_the_file_system() {
        assert_eq!(without_dots(Path::new("/a/./b/../c/x.h")), Path::new("/a/c/x.h"));
        assert_eq!(without_dots(Path::new("/../../etc")), Path::new("/etc"));
    }

    #[test]
    fn a_module_that_is_gone_has_no_sources() {
        let files = BTreeSet::from([PathBuf::from("/etc/passwd")]);
        assert!(sources_of(Path::new("/nothing/here"), "", &files).is_empty());
    }
}
