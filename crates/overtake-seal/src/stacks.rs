//! Call stacks as a tree, and locations as its nodes.
//!
//! A location is a program counter together with the calls that led to it. A call that is already on the stack is recursion:
//! the stack is cut back to the first occurrence, so that the depth of a recursion does not multiply the number of stacks.

use overtake_rawlog::push_depth;
use overtake_trace::{Frame, LocationId, Result, Site, Symbols};
use rustc_hash::FxHashMap;

use crate::code::Code;

/// Where debug information has the sources of the recorder, which calls signal handlers of the program. The build script of `overtake` says so.
const RECORDER: &str = "/overtake-runtime/";

/// A node of the tree of calls; node 0 is the empty stack.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Node(u32);

impl Node {
    pub(crate) const ROOT: Node = Node(0);

    /// Its number.
    pub(crate) fn number(self) -> u64 {
        u64::from(self.0)
    }
}

/// The tree of calls of all threads.
pub(crate) struct Stacks {
    calls: FxHashMap<(Node, u64), Node>,
    /// The call that made each node and its parent.
    nodes: Vec<(u64, Node)>,
    locations: FxHashMap<(Node, u64), LocationId>,
    frames: FxHashMap<Frame, u32>,
    frames_at: FxHashMap<u64, Vec<u32>>,
    names: FxHashMap<String, u32>,
}

/// The call stack of one thread.
#[derive(Debug, Default)]
pub(crate) struct ThreadStack {
    /// Outermost calls that are not known.
    unknown: u64,
    nodes: Vec<Node>,
}

impl ThreadStack {
    #[inline]
    pub(crate) fn node(&self) -> Node {
        self.nodes.last().copied().unwrap_or(Node::ROOT)
    }

    /// A call at the depth that `extra` gives, see [`push_depth`].
    pub(crate) fn push(&mut self, call: u64, extra: u8, stacks: &mut Stacks) {
        let frames = self.unknown as usize + self.nodes.len();
        self.cut(push_depth(extra, frames) as u64);
        let node = stacks.call(self.node(), call);
        self.nodes.push(node);
    }

    /// Only the outermost `depth` calls are left.
    pub(crate) fn cut(&mut self, depth: u64) {
        self.unknown = self.unknown.min(depth);
        self.nodes.truncate((depth - self.unknown) as usize);
    }

    /// Only the outermost `kept` calls stay; the others follow. Calls whose records were dropped are not known.
    pub(crate) fn restart(&mut self, kept: u64) {
        self.cut(kept);
        if (self.nodes.len() as u64) < kept - self.unknown {
            self.unknown = kept;
            self.nodes.clear();
        }
    }
}

impl Stacks {
    pub(crate) fn new() -> Stacks {
        Stacks {
            calls: FxHashMap::default(),
            nodes: vec![(0, Node::ROOT)],
            locations: FxHashMap::default(),
            frames: FxHashMap::default(),
            frames_at: FxHashMap::default(),
            names: FxHashMap::default(),
        }
    }

    fn call(&mut self, from: Node, call: u64) -> Node {
        if let Some(&node) = self.calls.get(&(from, call)) {
            return node;
        }
        let node = self.recursion(from, call).unwrap_or_else(|| {
            self.nodes.push((call, from));
            Node(self.nodes.len() as u32 - 1)
        });
        self.calls.insert((from, call), node);
        node
    }

    /// The node of the same call further down the stack.
    fn recursion(&self, from: Node, call: u64) -> Option<Node> {
        let mut node = from;
        while node != Node::ROOT {
            let (made_by, parent) = self.nodes[node.0 as usize];
            if made_by == call {
                return Some(node);
            }
            node = parent;
        }
        None
    }

    /// The location of a program counter below the calls of `node`. The instruction accesses `bytes` bytes each time.
    #[inline]
    pub(crate) fn location(
        &mut self,
        node: Node,
        pc: u64,
        bytes: u32,
        code: &mut Code,
        symbols: &mut Symbols,
    ) -> Result<LocationId> {
        match self.locations.get(&(node, pc)) {
            Some(&location) => Ok(location),
            None => self.new_location(node, pc, bytes, code, symbols),
        }
    }

    #[cold]
    fn new_location(
        &mut self,
        node: Node,
        pc: u64,
        bytes: u32,
        code: &mut Code,
        symbols: &mut Symbols,
    ) -> Result<LocationId> {
        let caller = self.caller(node, code, symbols)?;
        let frames = self.frames_of(pc, code, symbols);
        let name = self.fresh_name(&symbols.program.frames[frames[0] as usize]);
        let location = symbols.locations.intern(name.as_bytes())?;
        *symbols.program.sites.entry(location) = Site { frames, caller, bytes };
        self.locations.insert((node, pc), location);
        Ok(location)
    }

    /// Where the program, not the recorder, made the last call that leads to `node`.
    fn caller(
        &mut self,
        mut node: Node,
        code: &mut Code,
        symbols: &mut Symbols,
    ) -> Result<Option<LocationId>> {
        while node != Node::ROOT {
            let (call, parent) = self.nodes[node.0 as usize];
            let frames = self.frames_of(call, code, symbols);
            let outermost = frames.last().map(|&frame| &symbols.program.frames[frame as usize]);
            if !outermost.is_some_and(|frame| frame.file.starts_with(RECORDER)) {
                return self.location(parent, call, 0, code, symbols).map(Some);
            }
            node = parent;
        }
        Ok(None)
    }

    fn frames_of(&mut self, pc: u64, code: &mut Code, symbols: &mut Symbols) -> Vec<u32> {
        let Stacks { frames, frames_at, .. } = self;
        let numbered = frames_at.entry(pc).or_insert_with(|| {
            // The program counter is where the call returns to; the call itself is before it.
            let found = code.frames(pc.saturating_sub(1));
            found
                .into_iter()
                .map(|frame| {
                    *frames.entry(frame).or_insert_with_key(|frame| {
                        symbols.program.frames.push(frame.clone());
                        symbols.program.frames.len() as u32 - 1
                    })
                })
                .collect()
        });
        numbered.clone()
    }

    /// `file.c:42:7`; the second stack that ends there is `file.c:42:7#2`.
    fn fresh_name(&mut self, frame: &Frame) -> String {
        let file = frame.file.rsplit('/').next().unwrap_or_default();
        let place = match (file, frame.line, frame.column) {
            ("", _, _) if frame.function.is_empty() => format!("{}+{:#x}", frame.module, frame.offset),
            ("", _, _) => frame.function.clone(),
            (file, line, 0) => format!("{file}:{line}"),
            (file, line, column) => format!("{file}:{line}:{column}"),
        };
        let place = place.replace(['|', '\n', '\r'], "_");
        let count = self.names.entry(place.clone()).or_default();
        *count += 1;
        if *count == 1 { place } else { format!("{place}#{count}") }
    }
}
