//! Connections between the processes of a job.
//!
//! Each process listens at its own address of the list and calls all that come before it. Who calls says which process it is and what it
//! works on, and both sides compare: processes with another trace, other detectors or other settings would wait for each other, or worse.
//! The engine then reads and writes through a [`Line`], which notices when the other process is gone.
//!
//! Nothing is encrypted, and a greeting is no proof of identity: `docs/scale.md` says how to use tunnels.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use timely::communication::allocator::zero_copy::stream::Stream;

/// How long a process waits for the others to start.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long a caller may take to say who it is.
const GREETING: Duration = Duration::from_secs(5);
/// Between two attempts.
const PAUSE: Duration = Duration::from_millis(10);

const MAGIC: u64 = u64::from_le_bytes(*b"overtak1");

/// The processes of a job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Processes {
    /// Where each of them listens, as `host:port`; the first one brings home the answer.
    pub hosts: Vec<String>,
    /// The number of this one.
    pub own: usize,
    /// Workers in each of them.
    pub threads: usize,
}

impl Processes {
    /// The addresses of a host file: one in each line. Empty lines and what follows `#` do not count.
    pub fn read_hosts(text: &str) -> Vec<String> {
        let lines = text.lines().map(|line| line.split('#').next().unwrap_or_default().trim());
        lines.filter(|line| !line.is_empty()).map(str::to_owned).collect()
    }

    /// How a process is called in messages.
    pub fn name(&self, process: usize) -> String {
        format!("process {process} ({})", self.hosts[process])
    }

    /// Connects with all others that work on a task with this digest. The own place stays empty.
    pub(crate) fn connect(&self, digest: u64, loss: &Loss) -> Result<Vec<Option<Line>>, String> {
        let address = self
            .hosts
            .get(self.own)
            .ok_or_else(|| format!("expected a process below {}, found {}", self.hosts.len(), self.own))?;
        let listener = TcpListener::bind(address)
            .map_err(|error| format!("{} cannot listen: {error}", self.name(self.own)))?;
        let deadline = Instant::now() + PATIENCE;
        let mut streams: Vec<Option<TcpStream>> = self.hosts.iter().map(|_| None).collect();
        for (process, stream) in streams.iter_mut().enumerate().take(self.own) {
            *stream = Some(self.call(process, digest, deadline)?);
        }
        self.answer_calls(&listener, digest, deadline, &mut streams)?;
        let lines = streams.into_iter().enumerate();
        Ok(lines.map(|(process, stream)| Some(Line::new(stream?, self.name(process), loss))).collect())
    }

    /// Calls a process until it answers.
    fn call(&self, process: usize, digest: u64, deadline: Instant) -> Result<TcpStream, String> {
        let mut stream = loop {
            match TcpStream::connect(&self.hosts[process]) {
                Ok(stream) => break stream,
                Err(error) if Instant::now() > deadline => {
                    return Err(format!("{} does not answer: {error}", self.name(process)));
                }
                Err(_) => thread::sleep(PAUSE),
            }
        };
        let greeting = [MAGIC, self.own as u64, self.hosts.len() as u64, digest];
        let answered = write_words(&mut stream, &greeting).and_then(|()| read_words::<1>(&mut stream));
        match answered {
            Ok([theirs]) if theirs == digest => Ok(stream),
            Ok(_) => Err(self.differs(process)),
            Err(error) => Err(format!("{} does not answer as expected: {error}", self.name(process))),
        }
    }

    /// Waits for the calls of all processes that come later in the list.
    fn answer_calls(
        &self,
        listener: &TcpListener,
        digest: u64,
        deadline: Instant,
        streams: &mut [Option<TcpStream>],
    ) -> Result<(), String> {
        let failed = |error: io::Error| format!("{} cannot listen: {error}", self.name(self.own));
        listener.set_nonblocking(true).map_err(failed)?;
        while let Some(missing) = (self.own + 1..streams.len()).find(|&process| streams[process].is_none()) {
            match listener.accept() {
                Ok((stream, _)) => {
                    if let Some((process, stream)) = self.greeted(stream, digest)? {
                        streams[process] = Some(stream);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    if Instant::now() > deadline {
                        return Err(format!("{} did not call", self.name(missing)));
                    }
                    thread::sleep(PAUSE);
                }
                Err(error) => return Err(failed(error)),
            }
        }
        Ok(())
    }

    /// Listens to a caller. None: it is no process of ours.
    fn greeted(&self, mut stream: TcpStream, digest: u64) -> Result<Option<(usize, TcpStream)>, String> {
        let ready = stream.set_nonblocking(false).and_then(|()| stream.set_read_timeout(Some(GREETING)));
        let Ok([MAGIC, process, processes, theirs]) = ready.and_then(|()| read_words::<4>(&mut stream))
        else {
            return Ok(None);
        };
        let process = process as usize;
        if processes as usize != self.hosts.len() || !(self.own + 1..self.hosts.len()).contains(&process) {
            return Ok(None);
        }
        // Also one that is refused hears why: it compares as well.
        let answered = write_words(&mut stream, &[digest]).and_then(|()| stream.set_read_timeout(None));
        if theirs != digest {
            return Err(self.differs(process));
        }
        Ok(answered.is_ok().then_some((process, stream)))
    }

    fn differs(&self, process: usize) -> String {
        format!(
            "{} and {} differ in what they work on: trace, detectors, settings and workers must be the same",
            self.name(self.own),
            self.name(process)
        )
    }
}

fn write_words(stream: &mut TcpStream, words: &[u64]) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    stream.write_all(&bytes)
}

fn read_words<const N: usize>(stream: &mut TcpStream) -> io::Result<[u64; N]> {
    let mut words = [0; N];
    for word in &mut words {
        let mut bytes = [0; 8];
        stream.read_exact(&mut bytes)?;
        *word = u64::from_le_bytes(bytes);
    }
    Ok(words)
}

/// The process that was lost first, if one was.
#[derive(Clone, Default, Debug)]
pub(crate) struct Loss(Arc<Mutex<Option<String>>>);

impl Loss {
    fn note(&self, process: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| process.to_owned());
    }

    /// The name of the process.
    pub(crate) fn lost(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The engine says goodbye with a header of zeros.
const GOODBYE: usize = 48;

/// A connection with another process.
///
/// If that ends without a goodbye, the loss is noted and the thread that uses the line stops for good: whoever waits for the job looks
/// at the loss and ends the process.
pub(crate) struct Line {
    stream: TcpStream,
    process: String,
    loss: Loss,
    /// The zeros that were read last, up to those of a goodbye.
    zeros: usize,
}

impl Line {
    fn new(stream: TcpStream, process: String, loss: &Loss) -> Line {
        Line { stream, process, loss: loss.clone(), zeros: 0 }
    }

    fn stop(&self) -> ! {
        self.loss.note(&self.process);
        loop {
            thread::park();
        }
    }
}

impl Read for Line {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self.stream.read(bytes) {
            Ok(0) if !bytes.is_empty() && self.zeros < GOODBYE => self.stop(),
            Ok(length) => {
                let end = bytes[..length].iter().rev().take_while(|byte| **byte == 0).count();
                self.zeros = if end == length { GOODBYE.min(self.zeros + end) } else { end.min(GOODBYE) };
                Ok(length)
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Err(error),
            Err(_) => self.stop(),
        }
    }
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.stream.write(bytes) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => self.stop(),
            written => written,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.stream.flush()
    }
}

impl Stream for Line {
    fn try_clone(&self) -> io::Result<Line> {
        let stream = self.stream.try_clone()?;
        Ok(Line { stream, process: self.process.clone(), loss: self.loss.clone(), zeros: 0 })
    }

    fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        self.stream.set_nonblocking(nonblocking)
    }

    fn shutdown(&self, how: Shutdown) -> io::Result<()> {
        self.stream.shutdown(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_file_has_an_address_in_each_line() {
        let text = "one:4000\n\n# the big one\n  two:4001  # rack 7\n";
        assert_eq!(Processes::read_hosts(text), ["one:4000", "two:4001"]);
    }

    #[test]
    fn a_process_without_an_address_is_refused() {
        let processes = Processes { hosts: vec!["127.0.0.1:0".into()], own: 3, threads: 1 };
        let error = processes.connect(0, &Loss::default()).err();
        assert_eq!(error.as_deref(), Some("expected a process below 1, found 3"));
    }
}
