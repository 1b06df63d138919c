//! From events to words and names, for the writers of STD and CSV.
//!
//! A writer refuses what its reader would read back as something else, so that `read(write(t)) = t` holds for every
//! trace that can be written at all (tables numbered in order of first use; array lengths are written with `alloc`).

use rustc_hash::FxHashSet;

use crate::event::{Action, Event, Op};
use crate::id::{Id, IdVec, LocationId, LockId, MarkerId, SyncId, ThreadId, VarId};
use crate::symbols::{Symbols, Variable, split_element, split_generation};

use super::lines::shown;
use super::spelling::{Verb, split_call, split_length, verb_of, word_of};

/// Writes `op(operand)` and checks each name once.
#[derive(Debug)]
pub(super) struct CallWriter {
    /// Bytes that the format cannot have in a name.
    forbidden: &'static [u8],
    threads: Seen<ThreadId>,
    locks: Seen<LockId>,
    variables: Seen<VarId>,
    objects: Seen<SyncId>,
    begins: Seen<MarkerId>,
    ends: Seen<MarkerId>,
    branches: Seen<MarkerId>,
    misuses: Seen<MarkerId>,
    locations: Seen<LocationId>,
    acquired: Seen<LockId>,
    acquired_names: FxHashSet<Vec<u8>>,
    block_names: FxHashSet<Vec<u8>>,
}

/// Ids whose check has passed.
#[derive(Debug)]
struct Seen<I>(IdVec<I, bool>);

impl<I: Id> Seen<I> {
    fn none() -> Self {
        Seen(IdVec::new())
    }

    /// Calls `check` unless it has passed for `id` before.
    fn first(&mut self, id: I, check: impl FnOnce() -> Result<(), Refusal>) -> Result<(), Refusal> {
        let passed = self.0.entry(id);
        if !*passed {
            check()?;
            *passed = true;
        }
        Ok(())
    }
}

/// Why something cannot be written.
pub(super) type Refusal = String;

impl CallWriter {
    pub(super) fn new(forbidden: &'static [u8]) -> CallWriter {
        CallWriter {
            forbidden,
            threads: Seen::none(),
            locks: Seen::none(),
            variables: Seen::none(),
            objects: Seen::none(),
            begins: Seen::none(),
            ends: Seen::none(),
            branches: Seen::none(),
            misuses: Seen::none(),
            locations: Seen::none(),
            acquired: Seen::none(),
            acquired_names: FxHashSet::default(),
            block_names: FxHashSet::default(),
        }
    }

    /// Appends the operation of `event` with its operand.
    pub(super) fn call(
        &mut self,
        event: &Event,
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        match event.action() {
            Action::Begin(marker) | Action::End(marker) => {
                let text = symbols.markers.name(marker);
                let seen = if event.op() == Op::Begin { &mut self.begins } else { &mut self.ends };
                seen.first(marker, || check_begin_or_end(self.forbidden, event.op(), text))?;
                out.extend_from_slice(text);
                return Ok(());
            }
            Action::Wait(object) => out.extend_from_slice(self.wait_word(object, symbols).as_bytes()),
            _ => {
                if event.is_try() {
                    out.extend_from_slice(b"try");
                }
                out.extend_from_slice(word_of(event.op()).as_bytes());
            }
        }
        if event.op().has_memory_order() {
            out.push(b'.');
            out.extend_from_slice(event.order().name().as_bytes());
        }
        out.push(b'(');
        self.operand(event, symbols, out)?;
        out.push(b')');
        Ok(())
    }

    fn operand(&mut self, event: &Event, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), Refusal> {
        match event.action() {
            Action::Read(var)
            | Action::Write(var)
            | Action::Load(var, _)
            | Action::Store(var, _)
            | Action::Rmw(var, _) => self.variable(var, symbols, out),
            Action::Acquire(lock)
            | Action::Release(lock)
            | Action::AcquireShared(lock)
            | Action::ReleaseShared(lock)
            | Action::Request(lock) => self.lock(lock, event.op(), symbols, out),
            Action::Fork(child) | Action::Join(child) => self.thread(child, symbols, out),
            Action::Post(object) | Action::Wait(object) => self.object(object, symbols, out),
            Action::Alloc(block) | Action::Free(block) => self.block(event.op(), block, symbols, out),
            Action::Branch(marker) => {
                let text = symbols.markers.name(marker);
                self.branches.first(marker, || match text {
                    [] => Ok(()),
                    _ => check_name(self.forbidden, "branch", text),
                })?;
                out.extend_from_slice(text);
                Ok(())
            }
            Action::Misuse(marker) => {
                let text = symbols.markers.name(marker);
                self.misuses.first(marker, || check_name(self.forbidden, "misuse", text))?;
                out.extend_from_slice(text);
                Ok(())
            }
            Action::Begin(_) | Action::End(_) | Action::Fence(_) | Action::Skip | Action::Gap => Ok(()),
        }
    }

    /// Appends the name of a thread.
    pub(super) fn thread(
        &mut self,
        thread: ThreadId,
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let name = symbols.threads.name(thread);
        self.threads.first(thread, || check_name(self.forbidden, "thread", name))?;
        out.extend_from_slice(name);
        Ok(())
    }

    /// Appends the name of a location that is known.
    pub(super) fn location(
        &mut self,
        location: LocationId,
        symbols: &Symbols,
        out: &mut Vec<u8>,
    ) -> Result<(), Refusal> {
        let name = symbols.locations.name(location);
        self.locations.first(location, || check_name(self.forbidden, "location", name))?;
        out.extend_from_slice(name);
        Ok(())
    }

    fn lock(&mut self, lock: LockId, op: Op, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let name = symbols.locks.name(lock);
        self.locks.first(lock, || check_name(self.forbidden, "lock", name))?;
        if op == Op::Acquire {
            self.acquired.first(lock, || {
                self.acquired_names.insert(name.to_vec());
                Ok(())
            })?;
        }
        out.extend_from_slice(name);
        Ok(())
    }

    /// `wait(o)` would be read as a monitor's wait if the thread held a lock called `o`; `await(o)` never is.
    fn wait_word(&self, object: SyncId, symbols: &Symbols) -> &'static str {
        if self.acquired_names.is_empty() {
            return "wait";
        }
        let mut name = Vec::new();
        symbols.objects.write_name(object, &mut name);
        if self.acquired_names.contains(&name) { word_of(Op::Wait) } else { "wait" }
    }

    fn object(&mut self, object: SyncId, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let start = out.len();
        symbols.objects.write_name(object, out);
        self.objects.first(object, || {
            let name = &out[start..];
            check_name(self.forbidden, "object", name)?;
            if split_generation(name) != symbols.objects.get(object) {
                let expected = "expected an object name that does not end in `#` and a number";
                return Err(format!("{expected}, found {}", shown(name)));
            }
            Ok(())
        })
    }

    fn variable(&mut self, var: VarId, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let start = out.len();
        symbols.variables.write_name(var, out);
        self.variables.first(var, || {
            let name = &out[start..];
            check_name(self.forbidden, "variable", name)?;
            let read_back = split_element(name);
            let same = match symbols.variables.get(var) {
                Variable::Named(_) => read_back.is_none(),
                Variable::Element { .. } => read_back.is_some(),
                Variable::Block(_) => false,
            };
            if same {
                return Ok(());
            }
            let expected = "expected a variable that is not a whole block, and indices only after arrays";
            Err(format!("{expected}, found {}", shown(name)))
        })?;
        let name = &out[start..];
        if self.block_names.contains(name) && split_element(name).is_none() {
            return Err(format!(
                "expected a variable whose name is not that of a block, found {}",
                shown(name)
            ));
        }
        Ok(())
    }

    fn block(&mut self, op: Op, block: VarId, symbols: &Symbols, out: &mut Vec<u8>) -> Result<(), Refusal> {
        let Variable::Block(array) = symbols.variables.get(block) else {
            let name = symbols.variables.display(block);
            return Err(format!("expected a block as operand of {}, found variable `{name}`", word_of(op)));
        };
        let start = out.len();
        let name = symbols.variables.array_name(array);
        let length = symbols.variables.array_facts(array).length;
        out.extend_from_slice(name);
        if !self.block_names.contains(name) {
            self.block_names.insert(name.to_vec());
        }
        // A block called `A[3]` needs its length, so that the `[3]` is not mistaken for a length.
        let written = length.filter(|_| op == Op::Alloc || split_length(name).1.is_some());
        if let Some(length) = written {
            out.extend_from_slice(format!("[{length}]").as_bytes());
        }
        let text = &out[start..];
        check_name(self.forbidden, "block", text)?;
        if split_length(text) != (name, written) {
            return Err(format!(
                "expected a block name that does not end in `[number]`, found {}",
                shown(name)
            ));
        }
        Ok(())
    }
}

fn check_begin_or_end(forbidden: &[u8], op: Op, text: &[u8]) -> Result<(), Refusal> {
    check_name(forbidden, "marker", text)?;
    let read_back = split_call(text).ok().and_then(|call| verb_of(call.word).ok());
    if read_back == Some(Verb::Marker(op)) {
        return Ok(());
    }
    let word = op.describe();
    Err(format!("expected a marker spelled `{word}` or `{word}...(text)`, found {}", shown(text)))
}

fn check_name(forbidden: &[u8], what: &str, name: &[u8]) -> Result<(), Refusal> {
    let has_forbidden = name.iter().any(|byte| forbidden.contains(byte));
    if !name.is_empty() && !has_forbidden && name.trim_ascii() == name {
        return Ok(());
    }
    let bytes: Vec<_> = forbidden.iter().map(|byte| format!("`{}`", byte.escape_ascii())).collect();
    Err(format!(
        "expected a {what} name without {}, not empty and without blanks at either end, found {}",
        bytes.join(" and "),
        shown(name)
    ))
}
