use crate::{Action, LocationId, LockId, MemoryOrder, SyncId, ThreadId, Trace, VarId};

/// The events of `text` in short, `thread action@location`.
fn actions(text: &str) -> Vec<Action> {
    Trace::parse_std(text.as_bytes()).unwrap().events.iter().map(|event| event.action()).collect()
}

#[test]
fn a_line_is_thread_operation_and_location() {
    let trace = Trace::parse_std(b"T0|r(V123.4[0])|345\n").unwrap();
    let [event] = trace.events[..] else { panic!("one event") };
    assert_eq!(event.thread(), ThreadId(0));
    assert_eq!(event.action(), Action::Read(VarId(0)));
    assert_eq!(trace.symbols.threads.name(ThreadId(0)), b"T0");
    assert_eq!(trace.symbols.variables.display(VarId(0)), "V123.4[0]");
    assert_eq!(trace.symbols.locations.name(event.location()), b"345");
    assert_eq!(actions("T0|acq(l)|1\nT0|rel(l)"), [Action::Acquire(LockId(0)), Action::Release(LockId(0))]);
    let _ = (LocationId::UNKNOWN, MemoryOrder::Relaxed, SyncId(0));
}
