//! Shows source lines only from files of the program, because a trace may name any file.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use overtake_report::result::Report;
use overtake_seal::{sources_of, without_dots};
use overtake_trace::Module;

/// Removes the excerpts of files from which no module of the program was built and that do not lie below `source_root`. Names in the
/// report are relative to `directory`.
pub(crate) fn keep_sources_only(
    report: &mut Report,
    modules: &[Module],
    directory: &Path,
    source_root: Option<&Path>,
) {
    let path = |name: &String| without_dots(&directory.join(name));
    let root = source_root.and_then(|root| fs::canonicalize(root).ok());
    let is_below_root = |file: &PathBuf| {
        let file = fs::canonicalize(file).ok();
        root.as_ref().is_some_and(|root| file.is_some_and(|file| file.starts_with(root)))
    };
    let mut unknown: BTreeSet<PathBuf> = report.sources.keys().map(path).collect();
    unknown.retain(|file| !is_below_root(file));
    for module in modules {
        if unknown.is_empty() {
            break;
        }
        let known = sources_of(Path::new(&module.path), &module.build_id, &unknown);
        unknown.retain(|file| !known.contains(file));
    }
    report.sources.retain(|name, _| !unknown.contains(&path(name)));
}
