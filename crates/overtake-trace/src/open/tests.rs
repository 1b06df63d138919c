use std::io::{Cursor, Write};

use super::*;
use crate::block::{Block, Trace};

const TEXT: &[u8] = b"T0|w(x)|1\nT1|r(x)|2\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    ::zstd::encode_all(bytes, 3).unwrap()
}

fn xz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = liblzma::write::XzEncoder::new(Vec::new(), 6);
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn read(bytes: Vec<u8>) -> Result<Trace> {
    let mut opened = Opened::read(Cursor::new(bytes), None, None, None)?;
    Trace::read(opened.source.as_mut())
}

fn format_of(text: &str, named: Option<Format>) -> Result<Format> {
    Opened::read(Cursor::new(text.as_bytes().to_vec()), None, named, None).map(|opened| opened.format)
}

#[test]
fn compression_is_recognised_by_content() {
    let expected = Trace::parse_std(TEXT).unwrap();
    for compress in [gzip, zstd, xz] {
        assert_eq!(read(compress(TEXT)).unwrap(), expected);
        assert_eq!(read(compress(&zstd(&gzip(TEXT)))).unwrap(), expected, "one inside the other");
    }
}

#[test]
fn members_and_frames_follow_each_other() {
    let twice = Trace::parse_std(&[TEXT, TEXT].concat()).unwrap();
    for compress in [gzip, zstd, xz] {
        // The border lies inside a line.
        let whole = [TEXT, TEXT].concat();
        let parts = [compress(&whole[..7]), compress(&whole[7..])].concat();
        assert_eq!(read(parts).unwrap(), twice);
    }
}

#[test]
fn compression_without_end_is_refused() {
    let mut bytes = TEXT.to_vec();
    for _ in 0..8 {
        bytes = gzip(&bytes);
    }
    assert_eq!(read(bytes).unwrap_err().kind(), ErrorKind::Unsupported);
}

#[test]
fn cut_off_compressed_input_is_an_error_with_a_position() {
    let text: Vec<u8> =
        (0..5000).flat_map(|line| format!("T0|w(x{line})|{}\n", line * 7919).into_bytes()).collect();
    for compress in [gzip, zstd, xz] {
        let bytes = compress(&text);
        for length in [3 * bytes.len() / 4, bytes.len() - 1, 20] {
            let error = read(bytes[..length].to_vec()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corrupt, "{error}");
            assert_ne!(error.position(), Position::Nowhere);
        }
    }
}

#[test]
fn the_format_is_recognised_by_content() {
    assert_eq!(format_of("# note\n\n  frame\nT0|r(x)|1\n", None).unwrap(), Format::Std);
    assert_eq!(format_of("main|begin\n", Some(Format::Csv)).unwrap(), Format::Std);
    assert_eq!(format_of("a,b\n,r(x)\n", None).unwrap(), Format::Csv);
    assert_eq!(format_of("\"w(a|b)\"\n", Some(Format::Csv)).unwrap(), Format::Csv);
    assert_eq!(format_of("[banner]\nhello\n@  Rd(0,@1.f)\n", None).unwrap(), Format::RoadRunner);
    assert_eq!(format_of("[banner]\n", None).unwrap(), Format::RoadRunner);
    assert_eq!(format_of("T0|frobnicate(x)|1\n", None).unwrap(), Format::Std);
}

#[test]
fn the_name_decides_where_the_content_does_not() {
    assert_eq!(format_of("", None).unwrap(), Format::Std);
    assert_eq!(format_of("", Some(Format::Csv)).unwrap(), Format::Csv);
    assert_eq!(format_of("hello\nworld\n", Some(Format::RoadRunner)).unwrap(), Format::RoadRunner);
    for (name, format) in [
        ("a.std", Some(Format::Std)),
        ("a.STD.gz", Some(Format::Std)),
        ("dir.csv/a.csv.zst", Some(Format::Csv)),
        ("a.otr", Some(Format::Otr)),
        ("a.rr.xz", Some(Format::RoadRunner)),
        ("a.gz", None),
        ("std", None),
    ] {
        assert_eq!(Format::from_extension(Path::new(name)), format, "{name}");
    }
}

#[test]
fn what_is_no_trace_is_refused() {
    let error = format_of("%PDF-1.4 hello\n", None).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    assert!(error.message().contains("std, csv, roadrunner, rapidbin, otr"), "{error}");
    assert!(error.message().contains("found `%PDF-1.4 hello`"), "{error}");
}

#[test]
fn progress_counts_bytes_of_the_file() {
    let text: Vec<u8> =
        (0..100_000).flat_map(|line| format!("T0|w(x)|{}\n", line % 100).into_bytes()).collect();
    let bytes = gzip(&text);
    let path = std::env::temp_dir().join(format!("overtake-progress-{}.std.gz", std::process::id()));
    std::fs::write(&path, &bytes).unwrap();
    let mut source = open(&path, None).unwrap();
    let mut block = Block::default();
    source.next_block(&mut block).unwrap();
    let early = source.progress();
    while source.next_block(&mut block).unwrap() {}
    let late = source.progress();
    std::fs::remove_file(&path).unwrap();
    assert_eq!(late.bytes_total, Some(bytes.len() as u64));
    assert_eq!(late.bytes_read, bytes.len() as u64);
    assert!(early.bytes_read <= late.bytes_read && early.bytes_read > 0);
}

#[test]
fn a_missing_file_is_an_error() {
    assert_eq!(open("/nonexistent/trace.std", None).err().unwrap().kind(), ErrorKind::Io);
}

#[test]
fn names_of_formats_are_found_again() {
    for format in Format::ALL {
        assert_eq!(Format::from_name(format.name()), Some(format));
    }
    assert_eq!(Format::from_name("pdf"), None);
}
