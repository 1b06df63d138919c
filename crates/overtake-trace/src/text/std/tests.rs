use super::*;
use crate::block::{Block, EventSource, Trace};
use crate::error::{ErrorKind, Position};
use crate::fuzzing::{self, Random};
use crate::id::{EventIndex, LocationId};
use crate::text::lines::LONGEST_LINE;

/// Reads `text` and writes it again.
fn read(text: &str) -> String {
    let trace = Trace::parse_std(text.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    String::from_utf8(trace.to_std().unwrap()).unwrap()
}

/// Line, column and message of the error that `text` gives.
fn refused(text: &str) -> (u64, u64, String) {
    let error = Trace::parse_std(text.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    let Position::Line { line, column } = error.position() else { panic!("no line: {error}") };
    (line, column, error.message().to_string())
}

#[test]
fn a_line_is_thread_operation_and_location() {
    let trace = Trace::parse_std(b"T0|r(V123.4[0])|345\nT1|w(x)\n").unwrap();
    assert_eq!(trace.events.len(), 2);
    assert_eq!(trace.symbols.threads.iter().collect::<Vec<_>>(), [b"T0", b"T1"]);
    assert_eq!(trace.symbols.variables.display(crate::VarId(0)), "V123.4[0]");
    assert_eq!(trace.symbols.location_name(trace.events[0].location()), "345");
    assert_eq!(trace.events[1].location(), LocationId::UNKNOWN);
}

#[test]
fn the_operand_reaches_from_the_first_to_the_last_parenthesis() {
    let trace = Trace::parse_std(b"T0|w(f(a)[1](b))|1").unwrap();
    assert_eq!(trace.symbols.variables.display(crate::VarId(0)), "f(a)[1](b)");
}

#[test]
fn stack_frames_are_counted_and_comments_are_not() {
    let text = b"# header\nT0|w(x)|1\n    #0 main a.c:3\n  frame\n\n   \n    # note\nT0|r(x)|2\n";
    let mut reader = StdReader::new(&text[..]);
    assert_eq!(Trace::read(&mut reader).unwrap().events.len(), 2);
    assert_eq!(reader.ignored(), [("stack frame".to_string(), 2)]);
}

#[test]
fn events_know_their_lines() {
    let text = b"# header\nT0|w(x)|1\n\nT0|sync(y)|2\nT0|r(x)|3\n";
    let mut reader = StdReader::new(&text[..]);
    let mut block = Block::default();
    reader.next_block(&mut block).unwrap();
    let lines: Vec<_> = (0..6)
        .map(|index| match reader.position_of(EventIndex(index)) {
            Position::Line { line, .. } => line,
            position => panic!("{position:?}"),
        })
        .collect();
    assert_eq!(lines, [2, 4, 4, 4, 4, 5]);
    assert_eq!(reader.position_of(EventIndex(6)), Position::Event(EventIndex(6)));
}

#[test]
fn a_monitor_is_released_by_wait_and_acquired_before_the_next_event() {
    let text = "T0|acq(m)|1\nT0|acq(m)|2\nT0|wait(m)|3\nT1|acq(m)|4\nT1|rel(m)|5\nT0|r(x)|6\n";
    let expected = "T0|acq(m)|1\nT0|acq(m)|2\nT0|rel(m)|3\nT0|rel(m)|3\nT1|acq(m)|4\nT1|rel(m)|5\n\
                    T0|acq(m)|3\nT0|acq(m)|3\nT0|r(x)|6\n";
    assert_eq!(read(text), expected);
}

#[test]
fn a_thread_that_never_comes_back_never_acquires() {
    assert_eq!(read("T0|acq(m)|1\nT0|wait(m)|2\nT1|r(x)|3\n"), "T0|acq(m)|1\nT0|rel(m)|2\nT1|r(x)|3\n");
}

#[test]
fn a_waiter_waits_for_the_latest_notify_since_its_wait() {
    let text = "T1|notify(m)|0\nT0|acq(m)|1\nT0|wait(m)|2\nT1|notify(m)|3\nT1|notifyAll(m)|4\nT0|rel(m)|5\n";
    let expected = "T1|post(notify(m)#1)|0\nT0|acq(m)|1\nT0|rel(m)|2\nT1|post(notify(m)#2)|3\n\
                    T1|post(notify(m)#3)|4\nT0|wait(notify(m)#3)|2\nT0|acq(m)|2\nT0|rel(m)|5\n";
    assert_eq!(read(text), expected);
    let unnotified = "T1|notify(m)|0\nT0|acq(m)|1\nT0|wait(m)|2\nT0|rel(m)|5\n";
    assert!(!read(unnotified).contains("wait"), "an old notify wakes nobody");
}

#[test]
fn wait_for_what_is_not_held_is_for_an_object() {
    assert_eq!(read("T0|acq(m)\nT0|rel(m)\nT0|wait(m)\n"), "T0|acq(m)\nT0|rel(m)\nT0|await(m)\n");
    assert_eq!(read("T0|acq(m)\nT1|wait(m)\n"), "T0|acq(m)\nT1|await(m)\n");
    assert_eq!(read("T1|wait(o)\n"), "T1|wait(o)\n");
}

#[test]
fn a_wait_cannot_multiply_acquires_without_end() {
    let text = "T0|acq(m)\n".repeat(1001) + "T0|wait(m)\n";
    let error = Trace::parse_std(text.as_bytes()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    assert_eq!(error.position(), Position::Line { line: 1002, column: 4 });
}

#[test]
fn each_semaphore_wait_takes_the_next_post() {
    let text = "T0|semwait(s)\nT1|sempost(s)\nT1|sempost(s)\nT0|semwait(s)\nT0|semwait(s)\nT0|semwait(s)\n";
    let expected = "T0|wait(s)\nT1|post(s#1)\nT1|post(s#2)\nT0|wait(s#1)\nT0|wait(s#2)\nT0|wait(s)\n";
    assert_eq!(read(text), expected);
}

#[test]
fn markers_are_kept_word_for_word() {
    let text = "T0|begin\nT0|begin()|1\nT0|beginTx(a b)|2\nT0|ended|3\nT0|end(x)\n";
    assert_eq!(read(text), text);
}

#[test]
fn blocks_have_lengths() {
    let trace = Trace::parse_std(b"T0|alloc(A[8])\nT0|w(A[1])\nT0|alloc(B)\nT0|free(A)\n").unwrap();
    let variables = &trace.symbols.variables;
    assert_eq!(variables.array_count(), 2);
    let facts: Vec<_> = (0..2).map(|array| variables.array_facts(crate::ArrayId(array)).length).collect();
    assert_eq!(facts, [Some(8), None]);
    assert_eq!(trace.events[0].operand(), trace.events[3].operand());
}

#[test]
fn a_blocks_name_is_its_first_element() {
    assert_eq!(
        read("T0|alloc(p)|1\nT0|w(p)|2\nT1|r(p[1])|3\nT1|load.acquire(p)|4\nT0|free(p)|5\nT1|w(p)|6\n"),
        "T0|alloc(p)|1\nT0|w(p[0])|2\nT1|r(p[1])|3\nT1|load.acquire(p[0])|4\nT0|free(p)|5\nT1|w(p[0])|6\n"
    );
    // Before, it is a variable of its own; the line must be long enough for the fast path.
    let before = "T0|w(p)|a long location\nT0|w(p)|a long location\n";
    let after = "T0|w(p[0])|a long location\nT0|w(p[0])|a long location\n";
    assert_eq!(read(&format!("{before}T0|free(p)|1\n{before}")), format!("{before}T0|free(p)|1\n{after}"));
    // A block called `p[3]` does not take the name of an element.
    assert_eq!(read("T0|alloc(p[3][9])|1\nT0|w(p[3])|2\n"), "T0|alloc(p[3][9])|1\nT0|w(p[3])|2\n");
}

#[test]
fn errors_say_where_what_was_expected_and_what_was_found() {
    for (text, line, column, expected, found) in [
        ("T0|w(x)|1\nhello\n", 2, 6, "`|` after the thread", "`hello`"),
        ("|w(x)|1", 1, 1, "a thread", "nothing"),
        ("T0|w|1", 1, 5, "`(`", "nothing"),
        ("T0|w()|1", 1, 6, "an operand", "nothing"),
        ("T0|w(x|1", 1, 7, "`)`", "end of the field"),
        ("T0|w(x)y|1", 1, 8, "end of the field", "`y`"),
        ("T0|w(x)|1|2", 1, 10, "three fields", "`|2`"),
        ("  T0 |  frob(x)|1", 1, 9, "an operation", "`frob`"),
        ("T0||1", 1, 4, "an operation", "nothing"),
        ("T0|load.sequential(x)|1", 1, 4, "a memory order", "`sequential`"),
        ("T0|load(x)|1", 1, 4, "a memory order", "nothing"),
        ("T0|fence.release(x)|1", 1, 18, "no operand", "`x`"),
        ("T0|skip(x)", 1, 9, "no operand", "`x`"),
    ] {
        let (at_line, at_column, message) = refused(text);
        assert_eq!((at_line, at_column), (line, column), "{text}: {message}");
        let (before, after) = message.split_once("found").expect("says what was found");
        assert!(before.contains(expected) && after.contains(found), "{text}: {message}");
    }
}

#[test]
fn nothing_is_read_after_an_error() {
    let mut reader = StdReader::new(&b"T0|w(x)|1\nbad\nT0|w(x)|2\n"[..]);
    let mut block = Block::default();
    assert!(reader.next_block(&mut block).is_err());
    assert!(block.events.is_empty());
    assert!(!reader.next_block(&mut block).unwrap());
}

#[test]
fn an_endless_line_is_refused_early() {
    let mut reader = StdReader::new(std::io::repeat(b'x'));
    let error = reader.next_block(&mut Block::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Syntax);
    assert_eq!(error.position(), Position::Line { line: 1, column: LONGEST_LINE as u64 });
}

#[test]
fn an_endless_input_is_read_in_bounded_memory() {
    struct Endless;
    impl std::io::Read for Endless {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            let lines = b"T0|w(x)|1\n".iter().cycle();
            buffer.iter_mut().zip(lines).for_each(|(byte, &line)| *byte = line);
            Ok(buffer.len() / 10 * 10)
        }
    }
    let mut reader = StdReader::new(Endless);
    let mut block = Block::default();
    for _ in 0..20 {
        assert!(reader.next_block(&mut block).unwrap());
        assert_eq!(block.events.len(), crate::BLOCK_EVENTS);
    }
}

/// The general parser alone, which the fast path must agree with.
#[derive(Default)]
struct General(StdLines);

impl LineFormat for General {
    fn take_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize> {
        let length = line_length(text);
        self.0.any_line(&text[..length], number, out)?;
        Ok(length + 1)
    }
    fn symbols(&self) -> &Symbols {
        self.0.symbols()
    }
    fn symbols_mut(&mut self) -> &mut Symbols {
        self.0.symbols_mut()
    }
    fn ignored(&self) -> Vec<(String, u64)> {
        self.0.ignored()
    }
}

#[test]
fn the_fast_path_reads_what_the_general_parser_reads() {
    fn check(input: &[u8]) {
        let general = Trace::read(&mut TextReader::<_, General>::new(input));
        match (Trace::parse_std(input), general) {
            (Ok(fast), Ok(general)) => assert_eq!(fast, general),
            (Err(fast), Err(general)) => assert_eq!(fast.to_string(), general.to_string()),
            (fast, general) => panic!("{fast:?} against {general:?} for {}", input.escape_ascii()),
        }
    }
    let samples: Vec<Vec<u8>> = [
        "T0|r(x)|1\nT0|w(x)|1\nT0|acq(l)|2\nT0|rel(l)|3\nT1|r(V12345678[9])|/a/long/path/file.c:12\n",
        "T0|r(x)\nT0|w(x)|\nT0|acq(a(b)c)|2\nT0|rel(seven77)|1234567\nT1|r(eight888)|12345678\n",
        "T0|acq(m)|1\nT0|wait(m)|2\nT1|notify(m)|3\nT0|w(fifteen_bytes_x)|fifteen_bytes_x\nT0|rel(m)\n",
        "thread-of-15-by|w(x)|1\nthread-of-16-byt|w(x)|1\nT0|w(sixteen_bytes_xy)|sixteen_bytes_xy\n",
    ]
    .map(|text| text.as_bytes().to_vec())
    .to_vec();
    fuzzing::mutate(&samples, 5000, 21, check);
    let mut random = Random(22);
    for _ in 0..2000 {
        const PIECES: [&str; 16] =
            ["T0", "T1", "|", "|", "r(", "w(", "acq(", "rel(", "x", "l", ")", ")", "1", "\n", " ", "\r\n"];
        let text: String = (0..random.below(30)).map(|_| PIECES[random.below(PIECES.len())]).collect();
        check(text.as_bytes());
    }
}
