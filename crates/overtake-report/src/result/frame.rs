//! Call stacks.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// A function on a call stack.
#[derive(Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, Debug)]
pub struct Frame {
    /// Demangled name; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub function: String,
    /// Source file, relative to the working directory where it lies below it; empty if unknown. Of a trace, the location as
    /// the trace has it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub file: String,
    /// Line, from 1; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub column: u32,
    /// Module (executable or shared library), without its directory; empty if unknown.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub module: String,
    /// Offset of the instruction in the module.
    #[serde(default, skip_serializing_if = "is_zero_wide")]
    pub offset: u64,
}

impl Frame {
    /// Whether it is code of the program itself, as far as one can see: of a known file, outside the system's directories, and
    /// no function of a language's library.
    pub fn is_own(&self) -> bool {
        let system =
            ["/usr/include/", "/usr/lib/", "/usr/src/", "/build/", "/rustc/", "../sysdeps/", "./nptl/"];
        !self.file.is_empty()
            && !self.file.contains("/include/c++/")
            && !system.iter().any(|directory| self.file.starts_with(directory))
            && !crate::frames::is_plumbing(&self.function)
    }

    /// `file:line`, where in which module if the file is not known, or the location of a trace.
    pub fn place(&self) -> String {
        match (self.file.as_str(), self.line) {
            ("", _) if self.module.is_empty() => String::new(),
            ("", _) => format!("{}+{:#x}", self.module, self.offset),
            (file, 0) => file.to_owned(),
            (file, line) => format!("{file}:{line}"),
        }
    }

    /// The function with its parameters and template arguments; without a name, by its place as in [`function_name`](Self::function_name).
    pub fn full_name(&self) -> Cow<'_, str> {
        match self.is_lambda() {
            true => self.function_name().into(),
            false => self.function.as_str().into(),
        }
    }

    /// The function without its parameters and template arguments, as headlines name it: `Server::poll`. A function without a
    /// name is known by its place: `lambda at queue.cpp:12`.
    pub fn function_name(&self) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        match self.is_lambda() {
            true => format!("lambda at {file}:{}", self.line),
            false => crate::function_name::short(&self.function),
        }
    }

    /// Whether it is a function without a name whose place is known.
    pub(crate) fn is_lambda(&self) -> bool {
        crate::function_name::is_lambda(&self.function) && !self.file.is_empty() && self.line > 0
    }
}

/// The innermost frame of the program itself, else the innermost one.
pub fn innermost_own(stack: &[Frame]) -> Option<&Frame> {
    stack.iter().find(|frame| frame.is_own()).or(stack.first())
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

pub(super) fn is_zero_wide(number: &u64) -> bool {
    *number == 0
}
