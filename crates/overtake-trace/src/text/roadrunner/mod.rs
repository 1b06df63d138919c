//! The log of RoadRunner's print tool: what a Java program did, for people to read.
//!
//! Lines of events begin with `@` and blanks, one for each level of calls. Every ordering that the log shows is kept:
//!
//! - `VRd`, `VWr` are loads and stores of order `volatile`.
//! - `Wait` is printed when the call begins, which releases the monitor, and when it returns, which acquires it.
//! - `Notify` is printed twice, too; the first print posts the object that returning waiters wait for, as `notify` in STD.
//! - `Start` is printed twice; the child may run from the first print on, so the first print is the fork.
//! - `Join` is printed twice; the child has ended at the second print, so the second print is the join. In a log that prints it
//!   once, the join comes just before the thread's next event.
//! - `Barrier(..,Enter)` posts and `Barrier(..,Exit)` waits for the round that the thread entered. A round ends with
//!   its first exit. If more threads than the barrier has parties arrive at once, some are counted in the
//!   round before their own; that adds order and can hide a race.
//! - `ClassInited` posts the class, `ClassAccessed` waits for it.
//!
//! Lines of other kinds carry no event and are counted.

mod barrier;
mod line;
#[cfg(test)]
mod tests;

use rustc_hash::FxHashMap;

use crate::error::Result;
use crate::event::{Action, Event, MemoryOrder};
use crate::id::{LocationId, ThreadId};
use crate::symbols::Symbols;
use crate::text::build::Builder;
use crate::text::lines::line_length;
use crate::text::place::Place;
use crate::text::reader::{LineFormat, TextReader};

use barrier::Barriers;
use line::{Access, Ignored, Parsed, Sync};

/// Reads the log of RoadRunner's print tool.
pub type RoadRunnerReader<R> = TextReader<R, RoadRunnerLines>;

/// What lines of the log mean.
#[derive(Default, Debug)]
pub struct RoadRunnerLines {
    builder: Builder,
    barriers: Barriers,
    /// Calls whose second print is still to come, by the printed number of the thread.
    open: FxHashMap<Vec<u8>, Open>,
    ignored: [u64; Ignored::ALL.len()],
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Open {
    Start(Vec<u8>),
    Join(Vec<u8>),
    Notify(Vec<u8>),
}

impl LineFormat for RoadRunnerLines {
    fn take_line(&mut self, text: &[u8], number: u64, out: &mut Vec<Event>) -> Result<usize> {
        let length = line_length(text);
        match line::parse(&text[..length], number)? {
            Parsed::Blank => {}
            Parsed::Ignored(kind) => self.ignored[kind as usize] += 1,
            Parsed::Access { thread, access, variable, location } => {
                self.access(thread, access, variable, location, out)?;
            }
            Parsed::Sync { thread, sync, operand } => {
                self.sync(thread, sync, operand, Place { line: number, column: 1 }, out)?;
            }
        }
        Ok(length + 1)
    }

    fn symbols(&self) -> &Symbols {
        &self.builder.symbols
    }

    fn symbols_mut(&mut self) -> &mut Symbols {
        &mut self.builder.symbols
    }

    fn ignored(&self) -> Vec<(String, u64)> {
        let counted = Ignored::ALL.iter().zip(self.ignored).filter(|&(_, count)| count > 0);
        counted.map(|(kind, count)| (kind.describe().to_string(), count)).collect()
    }
}

impl RoadRunnerLines {
    fn access(
        &mut self,
        thread: &[u8],
        access: Access,
        variable: &[u8],
        location: &[u8],
        out: &mut Vec<Event>,
    ) -> Result<()> {
        let thread = self.settle(thread, out)?;
        let var = self.builder.symbols.variables.intern(variable)?;
        let action = match access {
            Access::Read => Action::Read(var),
            Access::Write => Action::Write(var),
            Access::VolatileRead => Action::Load(var, MemoryOrder::Volatile),
            Access::VolatileWrite => Action::Store(var, MemoryOrder::Volatile),
        };
        let location = self.builder.location(location)?;
        self.builder.push(thread, action, location, out);
        Ok(())
    }

    fn sync(
        &mut self,
        thread: &[u8],
        sync: Sync,
        operand: &[u8],
        place: Place,
        out: &mut Vec<Event>,
    ) -> Result<()> {
        match sync {
            Sync::Start => return self.start(thread, operand, out),
            Sync::Join => return self.join(thread, operand, out),
            Sync::Notify => return self.notify(thread, operand, out),
            Sync::Wait => return self.wait(thread, operand, place, out),
            _ => {}
        }
        let thread = self.settle(thread, out)?;
        let symbols = &mut self.builder.symbols;
        let action = match sync {
            Sync::Acquire => Action::Acquire(symbols.locks.intern(operand)?),
            Sync::Release => Action::Release(symbols.locks.intern(operand)?),
            Sync::BarrierEnter => Action::Post(self.barriers.enter(thread, operand, symbols)?),
            Sync::BarrierExit => Action::Wait(self.barriers.exit(thread, operand, symbols)?),
            Sync::ClassInited => Action::Post(symbols.objects.intern_generation(&class_name(operand), 0)?),
            _ => Action::Wait(symbols.objects.intern_generation(&class_name(operand), 0)?),
        };
        self.push(thread, action, out);
        Ok(())
    }

    fn start(&mut self, thread: &[u8], child: &[u8], out: &mut Vec<Event>) -> Result<()> {
        if self.closes(thread, &Open::Start(child.to_vec())) {
            self.ignored[Ignored::PrintedTwice as usize] += 1;
            return Ok(());
        }
        let forking = self.settle(thread, out)?;
        let forked = self.builder.symbols.threads.intern(child)?;
        self.push(forking, Action::Fork(forked), out);
        self.open.insert(thread.to_vec(), Open::Start(child.to_vec()));
        Ok(())
    }

    fn join(&mut self, thread: &[u8], child: &[u8], out: &mut Vec<Event>) -> Result<()> {
        if self.open.get(thread) == Some(&Open::Join(child.to_vec())) {
            self.settle(thread, out)?;
            return Ok(());
        }
        if self.open.contains_key(thread) {
            self.settle(thread, out)?;
        }
        self.ignored[Ignored::PrintedTwice as usize] += 1;
        self.open.insert(thread.to_vec(), Open::Join(child.to_vec()));
        Ok(())
    }

    fn notify(&mut self, thread: &[u8], operand: &[u8], out: &mut Vec<Event>) -> Result<()> {
        let call = Open::Notify(operand.to_vec());
        if self.closes(thread, &call) {
            self.ignored[Ignored::PrintedTwice as usize] += 1;
            return Ok(());
        }
        let notifier = self.settle(thread, out)?;
        let monitor = match memchr::memrchr(b',', operand) {
            Some(comma) => &operand[..comma],
            None => operand,
        };
        let object = self.builder.notify(monitor)?;
        self.push(notifier, Action::Post(object), out);
        self.open.insert(thread.to_vec(), call);
        Ok(())
    }

    fn wait(&mut self, thread: &[u8], monitor: &[u8], place: Place, out: &mut Vec<Event>) -> Result<()> {
        let known = self.builder.symbols.threads.find(thread);
        let returns = known.is_some_and(|thread| self.builder.is_waiting(thread));
        let thread = self.settle(thread, out)?;
        if returns {
            return Ok(());
        }
        let lock = self.builder.symbols.locks.intern(monitor)?;
        self.builder.wait_on_monitor(thread, lock, LocationId::UNKNOWN, place, out)
    }

    /// Whether this line is the second print of `call`.
    fn closes(&mut self, thread: &[u8], call: &Open) -> bool {
        let closes = self.open.get(thread) == Some(call);
        if closes {
            self.open.remove(thread);
        }
        closes
    }

    /// The thread called `thread`, before its next event. Ends the calls from which it must have returned.
    fn settle(&mut self, thread: &[u8], out: &mut Vec<Event>) -> Result<ThreadId> {
        let call = self.open.remove(thread);
        let thread = self.builder.symbols.threads.intern(thread)?;
        if let Some(Open::Join(child)) = call {
            let child = self.builder.symbols.threads.intern(&child)?;
            self.push(thread, Action::Join(child), out);
        }
        self.builder.come_back(thread, out)?;
        Ok(thread)
    }

    fn push(&mut self, thread: ThreadId, action: Action, out: &mut Vec<Event>) {
        self.builder.push(thread, action, LocationId::UNKNOWN, out);
    }
}

fn class_name(class: &[u8]) -> Vec<u8> {
    [b"class(", class, b")"].concat()
}
