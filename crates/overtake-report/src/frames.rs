//! Which frames of a stack people want to see.
//!
//! A stack leads through code that is not the project's own: the inside of `std::` containers, libc, the starting of threads.
//! Reports show the frames of the project, and the library function that each of them calls, because it says what is being done.
//! Frames deeper in a library or outside of the project are folded; a renderer says how many they are.

use crate::result::Frame;

/// The frames to show, each with how many are folded before it (deeper in the stack). Frames after the outermost one of the
/// project are folded, too, and counted nowhere. A stack without a frame of the project is shown as it is.
pub fn shown(stack: &[Frame]) -> impl Iterator<Item = (&Frame, usize)> {
    let own = stack.iter().rposition(Frame::is_own);
    let end = own.map_or(stack.len(), |at| at + 1);
    let is_shown = move |at: usize| {
        own.is_none() || stack[at].is_own() || stack.get(at + 1).is_some_and(|caller| caller.is_own())
    };
    let mut folded = 0;
    (0..end).filter_map(move |at| {
        if is_shown(at) {
            return Some((&stack[at], std::mem::take(&mut folded)));
        }
        folded += 1;
        None
    })
}

/// Whether a function belongs to a language's library or to the system, by its name.
pub(crate) fn is_plumbing(function: &str) -> bool {
    const SPACES: [&str; 8] =
        ["std::", "__gnu_cxx::", "__cxxabiv1::", "core::", "alloc::", "boost::detail::", "__libc_", "__GI_"];
    const NAMES: [&str; 7] = [
        "_start",
        "start_thread",
        "clone",
        "clone3",
        "operator new",
        "operator delete",
        "execute_native_thread_routine",
    ];
    let name = bare(function);
    SPACES.iter().any(|space| name.starts_with(space)) || NAMES.contains(&name)
}

/// The name without its return type and parameters, as far as that matters for its beginning.
fn bare(function: &str) -> &str {
    let mut depth = 0_i32;
    let mut start = 0;
    let mut end = function.len();
    for (at, letter) in function.char_indices() {
        match letter {
            '(' if depth == 0 && at > start => {
                end = at;
                break;
            }
            '<' | '(' | '{' | '[' => depth += 1,
            '>' | ')' | '}' | ']' => depth -= 1,
            ' ' if depth == 0 && !function[..at].ends_with("operator") => start = at + 1,
            _ => {}
        }
    }
    let name = function[start..end].trim();
    // `<Vec<T> as Drop>::drop` of a library's type.
    name.strip_prefix('<').unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(function: &str, file: &str) -> Frame {
        Frame { function: function.into(), file: file.into(), line: 1, ..Frame::default() }
    }

    fn names(stack: &[Frame]) -> Vec<(&str, usize)> {
        shown(stack).map(|(frame, folded)| (frame.function.as_str(), folded)).collect()
    }

    #[test]
    fn library_code_is_folded_but_for_what_the_project_calls() {
        let stack = [
            frame("memmove", ""),
            frame("std::__copy_move<int>", "/usr/include/c++/12/bits/stl_algobase.h"),
            frame("std::vector<int>::push_back", "/usr/include/c++/12/bits/stl_vector.h"),
            frame("Queue::push", "src/queue.cpp"),
            frame("std::__invoke_impl<void>", "/usr/include/c++/12/bits/invoke.h"),
            frame("std::function<void ()>::operator()", "/usr/include/c++/12/bits/std_function.h"),
            frame("worker", "src/main.cpp"),
            frame("std::thread::_Invoker<void>", "/usr/include/c++/12/bits/std_thread.h"),
        ];
        let expected = [
            ("std::vector<int>::push_back", 2),
            ("Queue::push", 0),
            ("std::function<void ()>::operator()", 1),
            ("worker", 0),
        ];
        assert_eq!(names(&stack), expected);
    }

    #[test]
    fn a_stack_of_libraries_alone_is_shown() {
        let stack = [frame("memmove", ""), frame("std::thread::run", "")];
        assert_eq!(names(&stack).len(), 2);
        assert_eq!(names(&[]).len(), 0);
    }

    #[test]
    fn plumbing_is_known_by_its_name() {
        for name in [
            "std::vector<int>::push_back(int)",
            "void std::__invoke_impl<void, void (*)(int)>(std::__invoke_other)",
            "start_thread",
            "<alloc::vec::Vec<T> as core::ops::Drop>::drop",
            "operator new(unsigned long)",
        ] {
            assert!(is_plumbing(name), "{name}");
        }
        for name in [
            "main",
            "Server::poll(std::string const&)",
            "std_like::run",
            "clone_all",
            "Matrix<std::complex<double> >::at(int)",
            "std::string Server::name() const",
        ] {
            assert!(!is_plumbing(name), "{name}");
        }
    }
}
