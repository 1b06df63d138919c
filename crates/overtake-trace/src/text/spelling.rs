//! How operations are spelled in text: one table for the readers, the writers and the error messages.

use crate::event::{MemoryOrder, Op};
use crate::symbols::canonical_number;

use super::lines::{shown, trimmed};

/// The meaning of the word before the parenthesis.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verb {
    /// One event with an operand of the operation's own table.
    Plain(Op),
    /// `tryacq(l)` and `tryracq(l)`: an acquire that is a try, which does not wait.
    Try(Op),
    /// `begin...` and `end...`: the whole text is the marker.
    Marker(Op),
    /// `load.acquire` and the like.
    Atomic(Op, MemoryOrder),
    /// `sync(x)`: a critical section on x's own lock that reads and writes x.
    Sync,
    /// `wait(l)`: on a monitor if the thread holds it, else on an object.
    Wait,
    /// `notify(l)` and `notifyAll(l)`.
    Notify,
    /// `sempost(s)`.
    SemaphorePost,
    /// `semwait(s)`.
    SemaphoreWait,
}

/// All words except `begin...`, `end...` and the atomics. Where two words mean the same, writers use the first.
const WORDS: [(&str, Verb); 24] = [
    ("r", Verb::Plain(Op::Read)),
    ("w", Verb::Plain(Op::Write)),
    ("acq", Verb::Plain(Op::Acquire)),
    ("rel", Verb::Plain(Op::Release)),
    ("racq", Verb::Plain(Op::AcquireShared)),
    ("rrel", Verb::Plain(Op::ReleaseShared)),
    ("req", Verb::Plain(Op::Request)),
    ("fork", Verb::Plain(Op::Fork)),
    ("start", Verb::Plain(Op::Fork)),
    ("join", Verb::Plain(Op::Join)),
    ("branch", Verb::Plain(Op::Branch)),
    ("post", Verb::Plain(Op::Post)),
    ("await", Verb::Plain(Op::Wait)),
    ("alloc", Verb::Plain(Op::Alloc)),
    ("free", Verb::Plain(Op::Free)),
    ("skip", Verb::Plain(Op::Skip)),
    ("misuse", Verb::Plain(Op::Misuse)),
    ("gap", Verb::Plain(Op::Gap)),
    ("wait", Verb::Wait),
    ("notify", Verb::Notify),
    ("notifyAll", Verb::Notify),
    ("sync", Verb::Sync),
    ("sempost", Verb::SemaphorePost),
    ("semwait", Verb::SemaphoreWait),
];

const ATOMICS: [(&str, Op); 4] =
    [("load", Op::Load), ("store", Op::Store), ("rmw", Op::Rmw), ("fence", Op::Fence)];

/// The word that writers use for `op`, which is not `begin` or `end`.
pub(super) fn word_of(op: Op) -> &'static str {
    WORDS
        .iter()
        .find_map(|&(word, verb)| (verb == Verb::Plain(op)).then_some(word))
        .or_else(|| ATOMICS.iter().find_map(|&(word, atomic)| (atomic == op).then_some(word)))
        .expect("every operation but begin and end has a word")
}

/// The meaning of `word`; the error message says what was expected.
pub(super) fn verb_of(word: &[u8]) -> Result<Verb, String> {
    let found = match word {
        b"r" => Some(Verb::Plain(Op::Read)),
        b"w" => Some(Verb::Plain(Op::Write)),
        b"acq" => Some(Verb::Plain(Op::Acquire)),
        b"rel" => Some(Verb::Plain(Op::Release)),
        _ => None,
    };
    match found {
        Some(verb) => Ok(verb),
        None => rare_verb_of(word),
    }
}

fn rare_verb_of(word: &[u8]) -> Result<Verb, String> {
    if let Some(&(_, verb)) = WORDS.iter().find(|(known, _)| known.as_bytes() == word) {
        return Ok(verb);
    }
    match word {
        b"tryacq" => return Ok(Verb::Try(Op::Acquire)),
        b"tryracq" => return Ok(Verb::Try(Op::AcquireShared)),
        _ => {}
    }
    if word.starts_with(b"begin") {
        return Ok(Verb::Marker(Op::Begin));
    }
    if word.starts_with(b"end") {
        return Ok(Verb::Marker(Op::End));
    }
    let dot = memchr::memchr(b'.', word).unwrap_or(word.len());
    let Some(&(atomic, op)) = ATOMICS.iter().find(|(known, _)| known.as_bytes() == &word[..dot]) else {
        return Err(unknown_word(word));
    };
    let order = word.get(dot + 1..).unwrap_or_default();
    match MemoryOrder::ALL.into_iter().find(|known| known.name().as_bytes() == order) {
        Some(order) => Ok(Verb::Atomic(op, order)),
        None => {
            let orders: Vec<_> = MemoryOrder::ALL.iter().map(|order| order.name()).collect();
            let orders = orders.join(", ");
            Err(format!("expected a memory order after `{atomic}.` ({orders}), found {}", shown(order)))
        }
    }
}

fn unknown_word(word: &[u8]) -> String {
    let words: Vec<_> = WORDS.iter().map(|&(word, _)| word).collect();
    format!(
        "expected an operation ({}, begin.., end.., load.ORDER, store.ORDER, rmw.ORDER, fence.ORDER), found {}",
        words.join(", "),
        shown(word)
    )
}

/// The parts of `word(operand)`. The operand reaches from the first `(` to the last `)`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) word: &'a [u8],
    pub(super) operand: Option<&'a [u8]>,
    /// Where the operand starts in the text, for messages.
    pub(super) operand_at: usize,
}

/// Splits `text`, which has no blanks at either end. The error is an offset in `text` and a message.
pub(super) fn split_call(text: &[u8]) -> Result<Call<'_>, (usize, String)> {
    let Some(open) = memchr::memchr(b'(', text) else {
        return Ok(Call { word: text, operand: None, operand_at: text.len() });
    };
    let Some(close) = memchr::memrchr(b')', text).filter(|&close| close > open) else {
        return Err((text.len(), "expected `)` after the operand, found the end of the field".into()));
    };
    if close + 1 < text.len() {
        let rest = &text[close + 1..];
        return Err((close + 1, format!("expected the end of the field after `)`, found {}", shown(rest))));
    }
    let (operand, cut) = trimmed(&text[open + 1..close]);
    let word = text[..open].trim_ascii_end();
    Ok(Call { word, operand: Some(operand), operand_at: open + 1 + cut })
}

/// The name of a block and its number of elements, as `alloc` writes them: `A3[4096]` or `A3`.
pub(super) fn split_length(operand: &[u8]) -> (&[u8], Option<u64>) {
    let split = || {
        let inner = operand.strip_suffix(b"]")?;
        let open = memchr::memrchr(b'[', inner).filter(|&open| open > 0)?;
        Some((&inner[..open], Some(canonical_number(&inner[open + 1..])?)))
    };
    split().unwrap_or((operand, None))
}
