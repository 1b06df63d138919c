//! What is in the file, without a browser.

use std::io::Read;

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::read::ZlibDecoder;
use serde_json::Value;

use crate::{page, sample};

fn text(report: &overtake_report::result::Report) -> String {
    String::from_utf8(page(report)).unwrap()
}

/// The value in a parcel of the page.
fn parcel(page: &str, name: &str) -> Value {
    let (_, rest) = page.split_once(&format!("<script type=\"text/plain\" id=\"{name}\">")).unwrap();
    let (letters, _) = rest.split_once("</script>").unwrap();
    let bytes = BASE64_STANDARD.decode(letters).unwrap();
    let mut json = String::new();
    ZlibDecoder::new(&bytes[..]).read_to_string(&mut json).unwrap();
    serde_json::from_str(&json).unwrap()
}

#[test]
fn parcels_hold_every_finding() {
    let report = sample::many(100);
    let page = text(&report);
    let contents = parcel(&page, "contents");
    let size = contents["findings_per_parcel"].as_u64().unwrap() as usize;
    assert_eq!(contents["findings"].as_array().unwrap().len(), 100);
    for (at, finding) in report.findings.iter().enumerate() {
        let summary = &contents["findings"][at];
        assert_eq!(summary["fingerprint"], finding.fingerprint);
        assert_eq!(summary["verdict"], finding.verdict.word());
        let details = &parcel(&page, &format!("details-{}", at / size))[at % size];
        assert_eq!(details["why"], finding.why);
        assert_eq!(details["schedule"], serde_json::to_value(&finding.schedule).unwrap());
        let stack = contents["stacks"][summary["stacks"][1].as_u64().unwrap() as usize].as_array().unwrap();
        let frames: Vec<Value> =
            stack.iter().map(|frame| contents["frames"][frame.as_u64().unwrap() as usize].clone()).collect();
        assert_eq!(Value::from(frames), serde_json::to_value(&finding.accesses[1].stack).unwrap());
    }
    assert_eq!(parcel(&page, "sources"), serde_json::to_value(&report.sources).unwrap());
}

#[test]
fn same_findings_same_bytes() {
    assert_eq!(page(&sample::showcase()), page(&sample::showcase()));
}

#[test]
fn no_name_is_markup_and_no_address_is_named() {
    let page = text(&sample::showcase());
    assert!(!page.contains("onerror") && !page.contains("hacked"));
    // No script ends early.
    assert_eq!(page.matches("<script").count(), page.matches("</script").count());
    let addresses: Vec<&str> =
        page.match_indices("//").filter_map(|(at, _)| page[..at].rsplit(['"', '\'', ' ']).next()).collect();
    let schemes: Vec<&str> = addresses.into_iter().filter(|before| before.ends_with(':')).collect();
    assert_eq!(schemes, ["http:"], "the namespace of SVG alone");
}

#[test]
fn ten_thousand_races_stay_small() {
    let bytes = page(&sample::many(10_000)).len();
    assert!(bytes < 10_000_000, "{bytes} bytes");
}

#[test]
fn a_schedule_that_contradicts_itself_is_left_out() {
    let mut report = sample::many(8);
    let schedule = report.findings[0].schedule.as_mut().unwrap();
    schedule.witness.push(99);
    let page = text(&report);
    let details = parcel(&page, "details-0");
    assert!(details[0]["schedule"].is_null());
    assert!(!details[1]["schedule"].is_null());
}
