//! Random traces with awkward names.

use crate::block::Trace;
use crate::event::{Action, Event, MemoryOrder, Op, OperandKind};
use crate::fuzzing::Random;
use crate::id::{LocationId, VarId};
use crate::symbols::Variable;
use crate::text::spelling::split_length;

/// What a format can hold.
pub(super) struct Shape {
    /// Bytes that no name has.
    pub(super) forbidden: &'static [u8],
    /// Whether threads are called `T0`, `T1`, ...
    pub(super) numbered_threads: bool,
    /// Whether events have locations.
    pub(super) locations: bool,
}

/// A trace of `events` events whose tables are numbered in order of first use.
pub(super) fn random_trace(random: &mut Random, events: usize, shape: &Shape) -> Trace {
    let mut trace = Trace::default();
    for _ in 0..events {
        let thread_name = thread(random, shape);
        let thread = trace.symbols.threads.intern(&thread_name).unwrap();
        let action = action(random, &mut trace, shape);
        let location = match random.below(4) {
            0 => LocationId::UNKNOWN,
            _ if !shape.locations => LocationId::UNKNOWN,
            _ => trace.symbols.locations.intern(&name(random, shape)).unwrap(),
        };
        trace.events.push(Event::new(thread, action, location));
    }
    trace
}

fn thread(random: &mut Random, shape: &Shape) -> Vec<u8> {
    if shape.numbered_threads || random.below(2) == 0 {
        return format!("T{}", random.below(20)).into_bytes();
    }
    loop {
        let name = name(random, shape);
        if name[0] != b'#' {
            return name;
        }
    }
}

/// A few plain names, and some with every byte that means something in a format.
fn name(random: &mut Random, shape: &Shape) -> Vec<u8> {
    const BYTES: &[u8] = b"ab1[]()#@,.\"| \t\r\0\xc3\xa4\xff_:/@#[7]\xef";
    if random.below(2) == 0 {
        return format!("V{}", random.below(30)).into_bytes();
    }
    loop {
        let length = 1 + random.below(24);
        let name: Vec<u8> = (0..length).map(|_| BYTES[random.below(BYTES.len())]).collect();
        let name = name.trim_ascii();
        if !name.is_empty() && !name.iter().any(|byte| shape.forbidden.contains(byte)) {
            return name.to_vec();
        }
    }
}

fn action(random: &mut Random, trace: &mut Trace, shape: &Shape) -> Action {
    let op = Op::ALL[random.below(Op::ALL.len())];
    let order = MemoryOrder::ALL[random.below(MemoryOrder::ALL.len())];
    let text = name(random, shape);
    if op.operand_kind() == OperandKind::Variable && !matches!(op, Op::Alloc | Op::Free) {
        return access(op, variable(&text, trace), order);
    }
    let symbols = &mut trace.symbols;
    match op {
        Op::Fence => Action::Fence(order),
        Op::Acquire => Action::Acquire(symbols.locks.intern(&text).unwrap()),
        Op::Release => Action::Release(symbols.locks.intern(&text).unwrap()),
        Op::AcquireShared => Action::AcquireShared(symbols.locks.intern(&text).unwrap()),
        Op::ReleaseShared => Action::ReleaseShared(symbols.locks.intern(&text).unwrap()),
        Op::Request => Action::Request(symbols.locks.intern(&text).unwrap()),
        Op::Fork => Action::Fork(symbols.threads.intern(&thread(random, shape)).unwrap()),
        Op::Join => Action::Join(symbols.threads.intern(&thread(random, shape)).unwrap()),
        Op::Post => Action::Post(symbols.objects.intern(&text).unwrap()),
        Op::Wait => Action::Wait(symbols.objects.intern(&text).unwrap()),
        Op::Begin | Op::End => marker(random, op, trace, shape),
        Op::Branch => Action::Branch(symbols.markers.intern(&text).unwrap()),
        Op::Alloc | Op::Free => block(random, op, &text, trace),
        Op::Skip => Action::Skip,
        Op::Misuse => Action::Misuse(symbols.markers.intern(&text).unwrap()),
        _ => Action::Gap,
    }
}

fn access(op: Op, var: VarId, order: MemoryOrder) -> Action {
    match op {
        Op::Read => Action::Read(var),
        Op::Write => Action::Write(var),
        Op::Load => Action::Load(var, order),
        Op::Store => Action::Store(var, order),
        _ => Action::Rmw(var, order),
    }
}

/// The variable called `text`: the first element of a block, if an earlier event names the block so.
fn variable(text: &[u8], trace: &mut Trace) -> VarId {
    let variables = &mut trace.symbols.variables;
    let block = trace.events.iter().find_map(|event| match event.action() {
        Action::Alloc(block) | Action::Free(block) => match variables.get(block) {
            Variable::Block(array) => (variables.array_name(array) == text).then_some(array),
            _ => None,
        },
        _ => None,
    });
    match block {
        Some(array) if split_length(text).1.is_none() => variables.intern_element(array, 0).unwrap(),
        _ => variables.intern(text).unwrap(),
    }
}

fn marker(random: &mut Random, op: Op, trace: &mut Trace, shape: &Shape) -> Action {
    let mut text = op.describe().as_bytes().to_vec();
    if random.below(2) == 0 {
        text.extend_from_slice(b"Method");
    }
    if random.below(2) == 0 {
        text.push(b'(');
        text.extend_from_slice(&name(random, shape));
        text.push(b')');
    }
    let marker = trace.symbols.markers.intern(&text).unwrap();
    if op == Op::Begin { Action::Begin(marker) } else { Action::End(marker) }
}

fn block(random: &mut Random, op: Op, text: &[u8], trace: &mut Trace) -> Action {
    let variables = &mut trace.symbols.variables;
    let needs_length = split_length(text).1.is_some();
    let array = variables.intern_array(text).unwrap();
    if needs_length || op == Op::Alloc && random.below(2) == 0 {
        variables.set_length(array, 1 + random.below(1000) as u64);
    }
    let block = variables.intern_block(array).unwrap();
    if op == Op::Alloc { Action::Alloc(block) } else { Action::Free(block) }
}
