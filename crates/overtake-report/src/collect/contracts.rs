//! Objects of libraries that two threads share, and what their users have to keep to.
//!
//! A race inside `std::vector` is a race of whoever shares the vector. Which operation was called and where is known from the
//! stack: the library function that the program itself called. Advice is about that call, never about lines of the library.

use crate::result::Frame;

/// What the users of an object have to keep to.
#[derive(Debug)]
pub(super) struct Contract {
    /// Parts of functions' names by which it is known.
    parts: &'static [&'static str],
    /// What it is called.
    pub(super) object: &'static str,
    /// The contract, in a sentence or two.
    pub(super) rule: &'static str,
}

const CONTRACTS: &[Contract] = &[
    Contract {
        parts: &["shared_ptr", "_Sp_counted", "__shared_count", "__weak_count", "weak_ptr"],
        object: "`std::shared_ptr`",
        rule: "Several `shared_ptr` objects that own the same thing may be used by different threads, but one `shared_ptr` object may \
               not be changed by one thread while another one uses it, and the thing itself is not protected at all. Give each \
               thread its own copy of the pointer, or use `std::atomic<std::shared_ptr>`, or hold one lock around every use.",
    },
    Contract {
        parts: &["basic_string", "char_traits"],
        object: "`std::string`",
        rule: "Several threads may read a string at once, but while one thread changes it no other may use it. Hold one lock around \
               every use, or give each thread a copy.",
    },
    Contract {
        parts: &["std::vector<", "vector_base", "__normal_iterator", "std::deque<", "_Deque_"],
        object: "`std::vector` or `std::deque`",
        rule: "Several threads may read it at once, but while one thread changes its size (`push_back`, `erase`, `clear`, an \
               assignment) no other may use it, not even another element, because elements move. Hold one lock around every use, \
               or let one thread own it.",
    },
    Contract {
        parts: &[
            "_Rb_tree",
            "std::map<",
            "std::set<",
            "std::multimap<",
            "_Hashtable",
            "unordered_map",
            "unordered_set",
            "_List_",
        ],
        object: "`std::map` or another container",
        rule: "Several threads may look up at once, but while one thread inserts or erases (`operator[]` inserts, too) no other may \
               use the container. Hold one lock around every use, or let one thread own it.",
    },
    Contract {
        parts: &[
            "basic_ostream",
            "basic_istream",
            "basic_streambuf",
            "basic_filebuf",
            "basic_stringbuf",
            "basic_ios",
            "basic_fstream",
        ],
        object: "stream",
        rule: "Only the standard streams (`std::cout` and its like) may be used by several threads at once. Hold one lock around \
               every use of another stream, or give each thread its own.",
    },
    Contract {
        parts: &[
            "fprintf", "fwrite", "fread", "fputs", "fputc", "fgets", "fflush", "fclose", "fopen", "_IO_",
        ],
        object: "`FILE`",
        rule: "Calls on one `FILE` exclude each other, but none may come after `fclose`. Close it only when every thread is done \
               with it.",
    },
];

/// A call of the program into a library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) contract: &'static Contract,
    /// The library's function.
    pub(super) called: &'a Frame,
    /// Who called it; none if nothing of the program is on the stack.
    pub(super) caller: Option<&'a Frame>,
}

/// The call of a shared object in which an access takes place; none if the access is in the program itself.
pub(super) fn call_of(stack: &[Frame]) -> Option<Call<'_>> {
    let own = stack.iter().position(Frame::is_own).unwrap_or(stack.len());
    // What the program calls says more than what that calls in turn.
    stack[..own].iter().rev().find_map(|called| {
        let is_part = |part: &&str| called.function.contains(part);
        let contract = CONTRACTS.iter().find(|contract| contract.parts.iter().any(is_part))?;
        Some(Call { contract, called, caller: stack.get(own) })
    })
}

impl Call<'_> {
    /// `push_back at queue.cpp:12`.
    pub(super) fn describe(&self) -> String {
        let name = self.called.function_name();
        let name = name.rsplit("::").next().unwrap_or(&name);
        match self.caller.map(Frame::place).filter(|place| !place.is_empty()) {
            Some(place) => format!("`{name}` at {place}"),
            None => format!("`{name}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stack(functions: &[(&str, &str)]) -> Vec<Frame> {
        let frame = |&(function, file): &(&str, &str)| Frame {
            function: function.into(),
            file: file.into(),
            line: 12,
            ..Frame::default()
        };
        functions.iter().map(frame).collect()
    }

    #[test]
    fn an_object_is_known_by_what_the_program_calls() {
        let frames = stack(&[
            ("memmove", ""),
            ("std::__copy_move<false, false>(int*)", "/usr/include/c++/12/bits/stl_algobase.h"),
            (
                "std::vector<int, std::allocator<int> >::push_back(int&&)",
                "/usr/include/c++/12/bits/stl_vector.h",
            ),
            ("Queue::push(int)", "queue.cpp"),
        ]);
        let call = call_of(&frames).expect("a vector");
        assert_eq!(call.contract.object, "`std::vector` or `std::deque`");
        assert_eq!(call.describe(), "`push_back` at queue.cpp:12");
    }

    #[test]
    fn code_of_the_program_has_no_contract() {
        assert!(call_of(&stack(&[("use(std::vector<int>&)", "a.cpp")])).is_none());
        assert!(call_of(&[]).is_none());
    }

    #[test]
    fn each_object_has_its_own_contract() {
        for (function, object) in [
            ("std::_Sp_counted_base<(__gnu_cxx::_Lock_policy)2>::_M_release()", "`std::shared_ptr`"),
            ("std::__cxx11::basic_string<char>::append(char const*)", "`std::string`"),
            ("std::_Rb_tree<int, int>::_M_insert_(int)", "`std::map` or another container"),
            ("std::basic_ostream<char>::operator<<(int)", "stream"),
            ("fclose", "`FILE`"),
        ] {
            let frames = stack(&[(function, ""), ("main", "a.cpp")]);
            assert_eq!(call_of(&frames).map(|call| call.contract.object), Some(object), "{function}");
        }
    }
}
