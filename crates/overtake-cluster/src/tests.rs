//! What needs a look behind the interface.

use std::net::TcpListener;

use overtake_detect::find;
use overtake_trace::{OtrWriter, Trace};

use super::*;

#[test]
fn a_process_that_is_gone_is_named() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("trace.otr");
    let trace = Trace::parse_std(b"T0|fork(T1)|1\nT0|w(x)|2\nT1|r(x)|3\n").expect("a good trace");
    let mut writer = OtrWriter::new(std::fs::File::create(&path).expect("a file")).expect("room");
    trace.write(&mut writer).expect("room");
    let task = Task {
        file: Arc::new(OtrFile::open(&path).expect("a sealed trace")),
        detectors: vec![find("hb").expect("a row")],
        options: Options::default(),
        strictness: Strictness::Repair,
        slices: 1,
        shelf: None,
    };
    let free = |_| TcpListener::bind("127.0.0.1:0").expect("a free port");
    let ports: Vec<_> =
        (0..3).map(free).map(|port| port.local_addr().expect("an address").to_string()).collect();
    let processes = |own| Processes { hosts: ports.clone(), own, threads: 1 };
    let others = [0, 1].map(|own| {
        let (task, processes) = (task.clone(), processes(own));
        thread::spawn(move || task.with_processes(&processes, &mut |_| ()).map(drop))
    });
    // The third one connects as it should and is gone before it has done anything.
    let lines = processes(2).connect(task.digest(1), &Loss::default());
    drop(lines.map_err(Obstacle::Failed).expect("all are there"));
    for process in others {
        let error = process.join().expect("no panic").expect_err("a process is gone");
        assert_eq!(
            error,
            Obstacle::Failed(format!("process 2 ({}) ended before the job was done", ports[2]))
        );
    }
}
