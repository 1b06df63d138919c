//! `testdata/formats`: every sample is read and compared with the `.expected` next to it, which has the trace in STD and the
//! lines that were skipped, or the error. `BLESS=1` rewrites these files.

use std::path::{Path, PathBuf};

use crate::block::{Block, Trace};
use crate::error::Result;
use crate::open::open;

/// The samples of a format, by the ends of their names; all of them if it is empty.
pub(super) fn samples(extension: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/formats");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| match path.extension().and_then(|extension| extension.to_str()) {
        Some("expected") | None => false,
        Some(found) => extension.is_empty() || found == extension,
    });
    paths.sort();
    assert!(!paths.is_empty());
    paths
}

fn described(path: &Path) -> Result<Vec<u8>> {
    let mut source = open(path, None)?;
    let mut trace = Trace::default();
    let mut block = Block::default();
    while source.next_block(&mut block)? {
        trace.events.extend_from_slice(&block.events);
    }
    trace.symbols = source.symbols().clone();
    let mut text = trace.to_std()?;
    for (kind, count) in source.ignored() {
        text.extend_from_slice(format!("# passed over: {count} {kind}\n").as_bytes());
    }
    Ok(text)
}

#[test]
fn samples_are_read_as_expected() {
    let mut wrong = Vec::new();
    for path in samples("") {
        let found = described(&path).unwrap_or_else(|error| format!("error: {error}\n").into_bytes());
        let expected_path = path.with_added_extension("expected");
        if std::env::var_os("BLESS").is_some() {
            std::fs::write(&expected_path, &found).unwrap();
        }
        if std::fs::read(&expected_path).unwrap_or_default() != found {
            wrong.push(format!("{}:\n{}", path.display(), String::from_utf8_lossy(&found)));
        }
    }
    assert!(wrong.is_empty(), "not as expected:\n{}", wrong.join("\n"));
}
