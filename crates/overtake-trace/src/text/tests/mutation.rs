//! Mutated samples: the checks of the fuzz targets on a fixed number of inputs.

use std::io::Write;

use super::golden::samples;
use crate::fuzzing;

const MUTATIONS: usize = 3000;

fn contents(extension: &str) -> Vec<Vec<u8>> {
    samples(extension).iter().map(|path| std::fs::read(path).unwrap()).collect()
}

#[test]
fn mutated_std_is_read_or_refused() {
    fuzzing::mutate(&contents("std"), MUTATIONS, 1, fuzzing::std);
}

#[test]
fn mutated_csv_is_read_or_refused() {
    fuzzing::mutate(&contents("csv"), MUTATIONS, 2, fuzzing::csv);
}

#[test]
fn mutated_roadrunner_logs_are_read_or_refused() {
    fuzzing::mutate(&contents("rr"), MUTATIONS, 3, fuzzing::roadrunner);
}

#[test]
fn mutated_compressed_files_are_read_or_refused() {
    let mut compressed = Vec::new();
    for sample in contents("std") {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(&sample).unwrap();
        compressed.push(gzip.finish().unwrap());
        compressed.push(zstd::encode_all(&sample[..], 1).unwrap());
        let mut xz = liblzma::write::XzEncoder::new(Vec::new(), 1);
        xz.write_all(&sample).unwrap();
        compressed.push(xz.finish().unwrap());
    }
    fuzzing::mutate(&compressed, MUTATIONS / 10, 4, fuzzing::open);
}

#[test]
fn mutated_files_of_any_format_are_read_or_refused() {
    fuzzing::mutate(&contents(""), MUTATIONS / 3, 5, fuzzing::open);
}
