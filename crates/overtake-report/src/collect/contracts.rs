//! Objects of libraries that two threads share, and the rules that their users must follow.
//!
//! A race inside `std::vector` is a race of the threads that share the vector. The stack shows which operation was called and where:
//! the library function that the program itself called. Advice is about that call, never about lines of the library.

use crate::result::Frame;

/// The rule that users of an object must follow.
#[derive(Debug)]
pub(super) struct Contract {
    /// How the names of its functions begin, and what the object is called.
    objects: &'static [(&'static str, &'static str)],
    /// The contract, in a sentence or two.
    pub(super) rule: &'static str,
}

const CONTRACTS: &[Contract] = &[
    Contract {
        objects: &[
            ("std::shared_ptr", "`std::shared_ptr`"),
            ("std::__shared_ptr", "`std::shared_ptr`"),
            ("std::__shared_count", "`std::shared_ptr`"),
            ("std::_Sp_counted", "`std::shared_ptr`"),
            ("std::weak_ptr", "`std::weak_ptr`"),
            ("std::__weak_ptr", "`std::weak_ptr`"),
            ("std::__weak_count", "`std::weak_ptr`"),
        ],
        rule: "Several `shared_ptr` objects that own the same thing may be used by different threads, but one `shared_ptr` object may \
               not be changed by one thread while another one uses it, and the thing itself is not protected at all. Give each \
               thread its own copy of the pointer, or use `std::atomic<std::shared_ptr>`, or hold one lock around every use.",
    },
    Contract {
        objects: &[("std::basic_string", "`std::string`"), ("std::char_traits", "`std::string`")],
        rule: "Several threads may read a string at once, but while one thread changes it no other may use it. Hold one lock around \
               every use, or give each thread a copy.",
    },
    Contract {
        objects: &[
            ("std::vector", "`std::vector`"),
            ("std::_Vector_base", "`std::vector`"),
            ("std::_Bit_", "`std::vector<bool>`"),
            ("__gnu_cxx::__normal_iterator", "`std::vector` or `std::string`"),
            ("std::deque", "`std::deque`"),
            ("std::_Deque_", "`std::deque`"),
            ("std::queue", "`std::queue`"),
            ("std::stack", "`std::stack`"),
        ],
        rule: "Several threads may read it at once, but while one thread changes its size (`push_back`, `erase`, `clear`, an \
               assignment) no other may use it, not even another element, because elements move. Hold one lock around every use, \
               or let one thread own it.",
    },
    Contract {
        objects: &[
            ("std::map", "`std::map`"),
            ("std::multimap", "`std::multimap`"),
            ("std::set", "`std::set`"),
            ("std::multiset", "`std::multiset`"),
            ("std::_Rb_tree", "`std::map` or `std::set`"),
            ("std::unordered_", "`std::unordered_map` or its like"),
            ("std::_Hashtable", "`std::unordered_map` or its like"),
            ("std::__detail::_Map_base", "`std::unordered_map` or its like"),
            ("std::list", "`std::list`"),
            ("std::_List_", "`std::list`"),
            ("std::__detail::_List_", "`std::list`"),
        ],
        rule: "Several threads may look up at once, but while one thread inserts or erases (`operator[]` inserts, too) no other may \
               use the container. Hold one lock around every use, or let one thread own it.",
    },
    Contract {
        objects: &[
            ("std::basic_ostream", "output stream"),
            ("std::ostream", "output stream"),
            ("std::operator<<", "output stream"),
            ("std::endl", "output stream"),
            ("std::basic_istream", "input stream"),
            ("std::istream", "input stream"),
            ("std::operator>>", "input stream"),
            ("std::getline", "input stream"),
            ("std::basic_streambuf", "stream"),
            ("std::basic_filebuf", "file stream"),
            ("std::basic_fstream", "file stream"),
            ("std::basic_ofstream", "file stream"),
            ("std::basic_ifstream", "file stream"),
            ("std::basic_stringbuf", "string stream"),
            ("std::basic_stringstream", "string stream"),
            ("std::basic_ostringstream", "string stream"),
            ("std::basic_ios", "stream"),
        ],
        rule: "Only the standard streams (`std::cout` and its like) may be used by several threads at once. Hold one lock around \
               every use of another stream, or give each thread its own.",
    },
    Contract {
        objects: &[
            ("fprintf", "`FILE`"),
            ("vfprintf", "`FILE`"),
            ("fwrite", "`FILE`"),
            ("fread", "`FILE`"),
            ("fputs", "`FILE`"),
            ("fputc", "`FILE`"),
            ("fgets", "`FILE`"),
            ("fgetc", "`FILE`"),
            ("fflush", "`FILE`"),
            ("fseek", "`FILE`"),
            ("fclose", "`FILE`"),
            ("fopen", "`FILE`"),
            ("_IO_", "`FILE`"),
        ],
        rule: "Calls on one `FILE` exclude each other, but none may come after `fclose`. Close it only when every thread is done \
               with it.",
    },
];

/// A call of the program into a library.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call<'a> {
    pub(super) contract: &'static Contract,
    /// What the object is called.
    pub(super) object: &'static str,
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
        let name = plain_name(called);
        let (contract, object) = CONTRACTS.iter().find_map(|contract| {
            let known = contract.objects.iter().find(|(start, _)| name.starts_with(start));
            known.map(|(_, object)| (contract, *object))
        })?;
        Some(Call { contract, object, called, caller: stack.get(own) })
    })
}

/// The function without arguments and without the versions of namespaces: `std::vector::push_back`.
fn plain_name(frame: &Frame) -> String {
    let name = crate::function_name::short(&frame.function);
    ["__cxx11::", "__1::", "__ndk1::", "__debug::"]
        .iter()
        .fold(name, |name, version| name.replacen(version, "", 1))
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
        assert_eq!(call.object, "`std::vector`");
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
            ("std::__1::vector<std::__1::basic_string<char> >::push_back(int)", "`std::vector`"),
            ("std::vector<std::map<int, int> >::operator[](unsigned long)", "`std::vector`"),
            ("std::_Rb_tree<int, int>::_M_insert_(int)", "`std::map` or `std::set`"),
            ("std::map<int, std::string>::operator[](int&&)", "`std::map`"),
            (
                "std::unordered_map<int, std::vector<int> >::find(int const&)",
                "`std::unordered_map` or its like",
            ),
            ("std::basic_ostream<char>::operator<<(int)", "output stream"),
            (
                "std::basic_ostream<char>& std::operator<< <std::char_traits<char> >(std::basic_ostream<char>&, char const*)",
                "output stream",
            ),
            ("fclose", "`FILE`"),
        ] {
            let frames = stack(&[(function, ""), ("main", "a.cpp")]);
            assert_eq!(call_of(&frames).map(|call| call.object), Some(object), "{function}");
        }
    }

    #[test]
    fn what_is_only_an_argument_decides_nothing() {
        let frames = stack(&[("std::unique_ptr<std::vector<int> >::get()", ""), ("main", "a.cpp")]);
        assert!(call_of(&frames).is_none());
    }
}
