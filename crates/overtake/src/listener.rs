//! What is reported while long work goes on.

use overtake_trace::Progress;

/// Receives remarks for people and the progress of reading. The methods do nothing by default; `()` ignores everything.
pub trait Listener {
    /// Receives a remark for people, one or more lines. It is no result.
    fn say(&self, text: &str) {
        let _ = text;
    }

    /// Work of unknown length begins, such as sealing a log. It ends when the returned value is dropped.
    fn working(&self, what: &str) -> Working {
        let _ = what;
        Box::new(())
    }

    /// A trace is about to be read. The returned function is called now and then, and dropped at the end.
    fn reading(&self) -> Watch<'_> {
        Box::new(|_| ())
    }
}

/// Work that goes on until this is dropped.
pub type Working = Box<dyn std::any::Any>;

/// Called with how far reading has come.
pub type Watch<'a> = Box<dyn FnMut(Progress) + 'a>;

impl Listener for () {}
