//! Checks that links lead somewhere. Addresses on the network are not visited.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::chapter::{Chapter, resolve};

/// Files outside `docs/` whose links are checked, whether or not a chapter includes them.
const BESIDE: &[&str] = &["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "CHANGELOG.md"];

/// Documents that no chapter shows.
pub(crate) fn pages_in_no_chapter(root: &Path, chapters: &[Chapter]) -> io::Result<Vec<String>> {
    let shown: BTreeSet<_> =
        chapters.iter().flat_map(|chapter| &chapter.parts).map(|part| part.file.as_path()).collect();
    let mut missing = Vec::new();
    for entry in fs::read_dir(root.join("docs"))? {
        let file = Path::new("docs").join(entry?.file_name());
        let is_page = file.extension().is_some_and(|extension| extension == "md");
        if is_page && !shown.contains(file.as_path()) && file != Path::new("docs/SUMMARY.md") {
            missing.push(format!("{}: is not in docs/SUMMARY.md", file.display()));
        }
    }
    missing.sort();
    Ok(missing)
}

/// Links of all chapters, and of the pages beside them, that lead nowhere.
pub(crate) fn broken(root: &Path, chapters: &[Chapter]) -> Vec<String> {
    let mut problems = BTreeSet::new();
    let beside: Vec<_> =
        BESIDE.iter().filter_map(|file| Chapter::read(root, &format!("../{file}")).ok()).collect();
    let mut anchors = BTreeMap::new();
    for chapter in beside.iter().chain(chapters) {
        let own: BTreeSet<_> = chapter.headings().into_iter().map(|heading| heading.anchor).collect();
        for part in &chapter.parts {
            anchors.entry(part.file.clone()).or_insert_with(|| own.clone());
        }
    }
    for chapter in beside.iter().chain(chapters) {
        for (file, target) in chapter.links() {
            if let Some(problem) = problem(root, file, &target, &anchors) {
                problems.insert(format!("{}: {problem}", file.display()));
            }
        }
    }
    problems.into_iter().collect()
}

/// What is wrong with a link of `file` to `target`.
fn problem(
    root: &Path,
    file: &Path,
    target: &str,
    anchors: &BTreeMap<PathBuf, BTreeSet<String>>,
) -> Option<String> {
    if is_address(target) {
        return None;
    }
    let (path, anchor) = target.split_once('#').map_or((target, None), |(path, anchor)| (path, Some(anchor)));
    let found = if path.is_empty() { file.to_owned() } else { resolve(file, path) };
    if found.starts_with("..") {
        return Some(format!("the link to `{target}` leads out of the repository"));
    }
    if !root.join(&found).exists() {
        return Some(format!("the link to `{target}` leads to no file"));
    }
    let anchor = anchor?;
    let known = anchors.get(&found)?;
    (!known.contains(anchor)).then(|| format!("the link to `{target}` leads to no heading"))
}

/// Whether a link leads to the network.
pub(crate) fn is_address(target: &str) -> bool {
    ["https://", "http://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// Files of the repository that a chapter links to.
pub(crate) fn local_targets(chapter: &Chapter) -> Vec<PathBuf> {
    let links = chapter.links();
    let local = links.iter().filter(|(_, target)| !is_address(target) && !target.starts_with('#'));
    local.map(|(file, target)| resolve(file, target.split('#').next().unwrap_or_default())).collect()
}
