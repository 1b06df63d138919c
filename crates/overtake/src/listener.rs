//! Who is informed while long work goes on.

use overtake_trace::Progress;

/// Told about long work: remarks for people, and how far reading has come. The methods do nothing by default; `()` listens to
/// nothing.
pub trait Listener {
    /// A remark for people, one or more lines. It is no result.
    fn say(&self, text: &str) {
        let _ = text;
    }

    /// Work begins whose end nobody can foretell, such as sealing a log. It goes on until what is returned is dropped.
    fn working(&self, what: &str) -> Working {
        let _ = what;
        Box::new(())
    }

    /// A trace is about to be read. What is returned is called now and then, and dropped at the end.
    fn reading(&self) -> Watch<'_> {
        Box::new(|_| ())
    }
}

/// Work that goes on until this is dropped.
pub type Working = Box<dyn std::any::Any>;

/// Called with how far reading has come.
pub type Watch<'a> = Box<dyn FnMut(Progress) + 'a>;

impl Listener for () {}
