//! Standard output carries results, standard error everything else.

use std::io::{self, BufWriter, IsTerminal, Write};

use indicatif::{ProgressBar, ProgressStyle};
use overtake::{Error, Listener, Watch, Working};
use overtake_report::text::{Detail, Layout};
use overtake_trace::Progress;

/// How much a command prints.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Console {
    /// No chatter on standard error.
    pub(crate) quiet: bool,
    /// Everything there is to report.
    pub(crate) verbose: bool,
}

/// Where results go.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stream {
    /// The command's own standard output.
    Output,
    /// Standard error: standard output is that of a program.
    Error,
}

impl Console {
    /// Prints results with styles, which are left out where nobody sees them.
    pub(crate) fn print(self, text: &str) -> Result<(), Error> {
        let mut out = anstream::stdout().lock();
        settled(out.write_all(text.as_bytes()).and_then(|()| out.flush()))
    }

    /// Writes results as they are.
    pub(crate) fn write(self, work: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Error> {
        let mut out = BufWriter::new(io::stdout().lock());
        settled(work(&mut out).and_then(|()| out.flush()))
    }

    /// Prints a report on a program, whose standard output is its own: on standard error, quiet or not.
    pub(crate) fn report(self, text: &str) {
        // If standard error is gone, nothing can be reported.
        let _ = anstream::stderr().lock().write_all(text.as_bytes());
    }

    /// The room that standard output has.
    pub(crate) fn layout(self, limit: usize) -> Layout {
        self.layout_of(Stream::Output, limit)
    }

    /// The room that a stream has.
    pub(crate) fn layout_of(self, stream: Stream, limit: usize) -> Layout {
        let size = match stream {
            Stream::Output => terminal_size::terminal_size_of(io::stdout()),
            Stream::Error => terminal_size::terminal_size_of(io::stderr()),
        };
        let detail = match (self.quiet, self.verbose) {
            (true, _) => Detail::Headlines,
            (false, true) => Detail::Everything,
            (false, false) => Detail::Explained,
        };
        Layout { width: size.map(|(width, _height)| width.0), limit: (limit > 0).then_some(limit), detail }
    }

    /// A progress bar, on a terminal only.
    pub(crate) fn progress(self) -> Bar {
        let bar = match self.quiet || !io::stderr().is_terminal() {
            true => ProgressBar::hidden(),
            false => ProgressBar::no_length(),
        };
        bar.set_style(ProgressStyle::default_spinner());
        Bar { bar: Shown(bar), known: false }
    }
}

impl Listener for Console {
    /// Prints something that is not a result, line by line.
    fn say(&self, text: &str) {
        if self.quiet {
            return;
        }
        let mut error = anstream::stderr().lock();
        for line in text.lines() {
            // If standard error is gone, nothing can be reported.
            let _ = writeln!(error, "overtake: {line}");
        }
    }

    fn working(&self, what: &str) -> Working {
        let Bar { bar, .. } = self.progress();
        bar.0.set_message(format!("{what} ..."));
        // No thread draws it: perhaps none can be started.
        bar.0.tick();
        Box::new(bar)
    }

    fn reading(&self) -> Watch<'_> {
        let mut bar = self.progress();
        Box::new(move |progress| bar.show(progress))
    }
}

/// A reader that closes the pipe is no error.
fn settled(written: io::Result<()>) -> Result<(), Error> {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            Err(Error::failed(format!("cannot write to standard output: {error}")))
        }
        _ => Ok(()),
    }
}

/// A message that disappears when the work is done.
struct Shown(ProgressBar);

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// A progress bar over the bytes of an input.
pub(crate) struct Bar {
    bar: Shown,
    known: bool,
}

impl Bar {
    /// Shows how far the reader has come.
    pub(crate) fn show(&mut self, progress: Progress) {
        if self.bar.0.is_hidden() {
            return;
        }
        if !self.known {
            self.known = true;
            self.bar.0.set_style(style(progress.bytes_total.is_some()));
        }
        if let Some(total) = progress.bytes_total {
            self.bar.0.set_length(total);
        }
        self.bar.0.set_position(progress.bytes_read);
    }
}

fn style(total_is_known: bool) -> ProgressStyle {
    let template = match total_is_known {
        true => "{wide_bar} {bytes}/{total_bytes} {bytes_per_sec} {eta}",
        false => "{spinner} {bytes} {bytes_per_sec}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
