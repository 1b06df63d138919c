//! Files of every version stay readable.

use std::path::PathBuf;

use super::*;

fn golden(name: &str) -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "../../testdata/otr", name].iter().collect()
}

/// Version 1 has the first 21 operations. There is no writer for it any more.
#[test]
fn a_file_of_version_1_is_read() {
    check("every_operation.v1.otr", &sample_of(21, 150, 64).0);
}

/// Version 2: a trace with every operation, 150 events in blocks of 64. `BLESS=1` writes the file only if it is missing, as it is
/// for a new version of the format.
#[test]
fn a_file_of_version_2_is_read() {
    let name = "every_operation.v2.otr";
    let (trace, bytes) = sample_of(22, 150, 64);
    if std::env::var_os("BLESS").is_some() && !golden(name).exists() {
        std::fs::write(golden(name), bytes).unwrap();
    }
    check(name, &trace);
}

fn check(name: &str, trace: &Trace) {
    let path = golden(name);
    let found = Trace::read(&mut OtrReader::open(&path).unwrap()).unwrap();
    assert_eq!(&found, trace);
    let sealed = OtrFile::open(&path).unwrap();
    assert_eq!(sealed.symbols().unwrap(), &trace.symbols);
    assert_eq!(sealed.block_count(), 3);
}
