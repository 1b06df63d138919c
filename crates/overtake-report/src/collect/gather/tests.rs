use std::io::Write;

use overtake_detect::{Driver, Options, Outcome, Strictness, find};
use overtake_gen::{Parameters, Workload, find_shape};
use overtake_trace::{EventSink, OtrReader, OtrWriter, Trace};
use tempfile::NamedTempFile;

use super::*;

fn sealed(source: &mut dyn EventSource) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a temporary file");
    let mut writer = OtrWriter::new(file.as_file()).expect("written").with_block_events(1_000);
    let mut block = Block::default();
    while source.next_block(&mut block).expect("generated") {
        writer.write(&block.events, source.symbols()).expect("written");
    }
    writer.finish(source.symbols()).expect("written");
    drop(writer);
    file.as_file().flush().expect("written");
    file
}

/// Gathers near the races of a trace and in the whole of it; the parts that were read.
fn compare(source: &mut dyn EventSource) -> Vec<Range<u64>> {
    let file = sealed(source);
    let open = || OtrReader::open(file.path()).expect("just written");
    let entry = find("hb").expect("in the table");
    let mut driver = Driver::start(&[entry], &Options::default(), Strictness::Refuse).expect("options");
    assert_eq!(driver.pass(&mut open(), &mut |_| ()).expect("well formed"), Outcome::Done);
    let races: Vec<Race> =
        driver.jobs()[0].findings().groups().iter().map(|group| group.example).take(6).collect();
    assert!(!races.is_empty());
    let random = OtrFile::open(file.path()).expect("just written");
    let mut block = Block::default();
    random.read_events(40_000..40_001, &mut block).expect("within");
    let steps = [Step { index: block.first, event: block.events[0] }];
    let question = Question { races: &races, steps: &steps, threads: random.sizes().threads };
    let near = gather_near(&random, driver.landmarks(), question).expect("a good file");
    let whole = gather(&mut open(), question).expect("a good file");
    assert_eq!((&near.forks, &near.ordinals), (&whole.forks, &whole.ordinals));
    assert_eq!(near.facts, whole.facts);
    regions(driver.landmarks(), question)
}

#[test]
fn near_accesses_all_is_seen_that_the_whole_trace_shows() {
    for (name, seed) in [("lock-heavy", 1), ("lock-heavy", 2), ("mixed", 3), ("compute", 4)] {
        let Some(shape) = find_shape(name) else { panic!("no shape {name}") };
        let parameters = Parameters { events: 200_000, raciness: 0.001, seed, ..shape.defaults };
        let mut workload = Workload::new(shape, parameters).expect("parameters that fit");
        let regions = compare(&mut workload);
        let read: u64 = regions.iter().map(|region| region.end - region.start).sum();
        assert!(read < 150_000, "{name}: {regions:?}");
    }
}

#[test]
fn locks_taken_long_ago_are_found() {
    let mut text = String::from("T0|fork(T1)|1\nT0|racq(g)|2\nT0|acq(h)|3\n");
    for round in 0..20_000 {
        text += &format!("T0|w(x{round})|4\nT1|acq(m)|5\nT1|rel(m)|6\n");
        if round == 15_000 {
            text += "T0|rel(h)|7\nT0|acq(h)|8\n";
        }
    }
    text += "T0|w(x)|9\nT1|w(x)|10\n";
    let trace = Trace::parse_std(text.as_bytes()).expect("a good trace");
    let regions = compare(&mut trace.source());
    assert!(regions[0].start > 0, "{regions:?}");
}
