//! Turns program counters and data addresses into names after the run, by the modules' own debug information.
//!
//! After a library is closed, another library or a file may be mapped at its addresses. The log has a memory map from before each such
//! change, with a stamp. Where maps differ, a record is read with the next map that was taken after it. A program counter there is *marked*
//! with the number of its map, so that two instructions that were at one address stay two. Data at such addresses is new data, too.

use std::ffi::OsStr;
use std::fs::File;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use addr2line::Loader;
use object::{Object, ObjectSegment, ObjectSymbol, ReadCache, SymbolKind};
use overtake_trace::{Frame, Module};
use rustc_hash::FxHashMap;

use crate::demangle::readable;

/// The modules of a process, by address.
pub(crate) struct Code {
    /// By address, without overlap.
    mappings: Vec<Mapping>,
    /// The maps with their stamps, oldest first; empty if they agree everywhere.
    maps: Vec<(u64, Vec<Mapping>)>,
    /// Where maps differ, by address.
    changing: Vec<Changing>,
    /// The map in use now, and the newest that was in use.
    current: usize,
    newest: usize,
    modules: Vec<LoadedModule>,
    by_path: FxHashMap<PathBuf, usize>,
}

/// Addresses of programs have at most this many bits. The bits above hold the number of a map, counted from 1.
const ADDRESS_BITS: u32 = 48;
const ADDRESSES: u64 = (1 << ADDRESS_BITS) - 1;
const MOST_MAPS: usize = (1 << 16) - 2;

/// Addresses at which maps differ.
#[derive(Clone, Copy, Debug)]
struct Changing {
    start: u64,
    end: u64,
    /// The newest map so far that has something here.
    map: usize,
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct Mapping {
    start: u64,
    end: u64,
    file_offset: u64,
    path: PathBuf,
}

struct LoadedModule {
    name: String,
    facts: Module,
    loader: Option<Loader>,
    /// File offset, size in the file, and virtual address of each segment.
    segments: Vec<(u64, u64, u64)>,
    /// Address, size and name of each data object, by address.
    objects: Vec<(u64, u64, String)>,
    /// It has or needs functions that instrumented code calls. What cannot be read is taken for instrumented.
    is_instrumented: bool,
}

/// A global variable and the offset of an address in it.
pub(crate) struct GlobalAt {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Code {
    /// Reads maps in the form of `/proc/self/maps`, oldest first. For each address, the newest map that has it counts.
    pub(crate) fn new(maps: &[Vec<u8>]) -> Code {
        let mut mappings: Vec<Mapping> = Vec::new();
        for map in maps.iter().rev() {
            for mapping in Mapping::parse_all(map) {
                let at = mappings.partition_point(|known| known.start < mapping.start);
                let before = at.checked_sub(1).map(|before| &mappings[before]);
                let is_free = before.is_none_or(|known| known.end <= mapping.start)
                    && mappings.get(at).is_none_or(|known| mapping.end <= known.start);
                if is_free {
                    mappings.insert(at, mapping);
                }
            }
        }
        let maps: Vec<_> = maps.iter().map(|map| (stamp_of(map), Mapping::parse_all(map))).collect();
        let changing = changes(&maps);
        let maps = if changing.is_empty() || maps.len() > MOST_MAPS { Vec::new() } else { maps };
        let (modules, by_path) = (Vec::new(), FxHashMap::default());
        Code { mappings, maps, changing, current: 0, newest: 0, modules, by_path }
    }

    /// From now on, questions are about this time. Returns the addresses at which something else is mapped than before.
    #[inline]
    pub(crate) fn set_time(&mut self, time: u64) -> Vec<Range<u64>> {
        let Some(last) = self.maps.len().checked_sub(1) else { return Vec::new() };
        let is_over = self.current < last && self.maps[self.current].0 < time;
        if !is_over && (self.current == 0 || self.maps[self.current - 1].0 < time) {
            return Vec::new();
        }
        self.current = self.maps.partition_point(|&(stamp, _)| stamp < time).min(last);
        if self.current > self.newest { self.go_on_to_current() } else { Vec::new() }
    }

    fn go_on_to_current(&mut self) -> Vec<Range<u64>> {
        let mut replaced = Vec::new();
        for map in self.newest + 1..=self.current {
            for range in &mut self.changing {
                let [before, now] = [range.map, map].map(|map| found(&self.maps[map].1, range.start));
                if let Some(now) = now {
                    if before.is_some_and(|before| !before.agrees_with(now)) {
                        replaced.push(range.start..range.end);
                    }
                    range.map = map;
                }
            }
        }
        self.newest = self.current;
        replaced
    }

    /// The address with the number of its map, if something else is mapped there at another time.
    #[inline]
    pub(crate) fn marked(&self, address: u64) -> u64 {
        if self.changing.is_empty() || !self.is_changing(address) {
            return address;
        }
        address | (self.current as u64 + 1) << ADDRESS_BITS
    }

    fn is_changing(&self, address: u64) -> bool {
        let after = self.changing.partition_point(|range| range.start <= address);
        after.checked_sub(1).is_some_and(|before| address < self.changing[before].end)
    }

    /// The mapping at an address, and the address without its mark. The map is the one that the address is marked with, else the one
    /// before that, else the newest.
    fn mapping_at(&self, marked: u64) -> Option<(&Mapping, u64)> {
        let (map, address) = ((marked >> ADDRESS_BITS) as usize, marked & ADDRESSES);
        if map == 0 || map > self.maps.len() {
            return found(&self.mappings, marked).map(|mapping| (mapping, marked));
        }
        let then = self.maps[..map].iter().rev().take(2).find_map(|(_, map)| found(map, address));
        then.or_else(|| found(&self.mappings, address)).map(|mapping| (mapping, address))
    }

    /// The frames at a program counter, innermost first; at least one.
    pub(crate) fn frames(&mut self, pc: u64) -> Vec<Frame> {
        let Some((module, address)) = self.locate(pc) else {
            let is_marked = (pc >> ADDRESS_BITS) as usize <= self.maps.len();
            return vec![Frame { offset: if is_marked { pc & ADDRESSES } else { pc }, ..Frame::default() }];
        };
        let bare = Frame { module: module.name.clone(), offset: address, ..Frame::default() };
        let mut frames = Vec::new();
        if let Some(loader) = &module.loader
            && let Ok(mut found) = loader.find_frames(address)
        {
            while let Ok(Some(frame)) = found.next() {
                let place = frame.location.as_ref();
                frames.push(Frame {
                    function: frame
                        .function
                        .and_then(|name| Some(readable(&name.raw_name().ok()?)))
                        .unwrap_or_default(),
                    file: place.and_then(|place| place.file).unwrap_or_default().to_owned(),
                    line: place.and_then(|place| place.line).unwrap_or(0),
                    column: place.and_then(|place| place.column).unwrap_or(0),
                    ..bare.clone()
                });
            }
        }
        if frames.iter().all(|frame| frame.function.is_empty() && frame.file.is_empty()) {
            frames = vec![bare];
        }
        // Debug information with lines only does not name the function that the code was compiled as. The symbol table does.
        if let Some(outermost) = frames.last_mut().filter(|frame| frame.function.is_empty()) {
            let symbol = module.loader.as_ref().and_then(|loader| loader.find_symbol(address));
            outermost.function = symbol.map(readable).unwrap_or_default();
        }
        frames
    }

    /// The global variable at a data address.
    pub(crate) fn global(&mut self, address: u64) -> Option<GlobalAt> {
        let (module, address) = self.locate(self.marked(address))?;
        let after = module.objects.partition_point(|&(start, _, _)| start <= address);
        let (start, bytes, name) = module.objects.get(after.checked_sub(1)?)?;
        (address < start.saturating_add(*bytes)).then(|| GlobalAt {
            name: name.clone(),
            offset: address - start,
            bytes: *bytes,
        })
    }

    /// The path and the name of the module that contains a data address, and the offset in the module.
    pub(crate) fn module_at(&mut self, address: u64) -> Option<(&str, &str, u64)> {
        let (module, address) = self.locate(self.marked(address))?;
        (!module.name.is_empty()).then_some((&*module.facts.path, &*module.name, address))
    }

    /// The name of the module that the code at a program counter lies in, and whether it was instrumented.
    pub(crate) fn module_of(&mut self, pc: u64) -> Option<(&str, bool)> {
        let (module, _) = self.locate(pc)?;
        Some((&module.name, module.is_instrumented))
    }

    /// What is known of the modules that were looked up.
    pub(crate) fn modules(&self) -> Vec<Module> {
        self.modules.iter().map(|module| module.facts.clone()).collect()
    }

    /// The module at a run-time address, and the address as in the module's file.
    fn locate(&mut self, marked: u64) -> Option<(&LoadedModule, u64)> {
        let (mapping, address) = self.mapping_at(marked)?;
        let mapping = mapping.clone();
        let at = match self.by_path.get(&mapping.path) {
            Some(&at) => at,
            None => {
                self.modules.push(LoadedModule::open(&mapping.path));
                self.by_path.insert(mapping.path.clone(), self.modules.len() - 1);
                self.modules.len() - 1
            }
        };
        let module = &self.modules[at];
        let in_file = (address - mapping.start).wrapping_add(mapping.file_offset);
        let segment = module
            .segments
            .iter()
            .find(|&&(offset, size, _)| (offset..offset.saturating_add(size)).contains(&in_file));
        let address = match segment {
            Some(&(offset, _, virtual_address)) => (in_file - offset).wrapping_add(virtual_address),
            // The file is gone, or is not a module: only the offset in it is known.
            None if module.segments.is_empty() => in_file,
            // Zero-initialised data follows its segment's bytes in memory, but is not in the file.
            None => module.virtual_address_behind(in_file)?,
        };
        Some((module, address))
    }
}

/// The mapping that contains an address. Mappings are sorted by address.
fn found(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    let after = mappings.partition_point(|mapping| mapping.start <= address);
    mappings.get(after.checked_sub(1)?).filter(|mapping| mapping.contains(address))
}

/// When a map was taken, by its first line.
fn stamp_of(map: &[u8]) -> u64 {
    let line = map.split(|byte| *byte == b'\n').next().unwrap_or_default();
    let stamp = str::from_utf8(line).ok().and_then(|line| line.strip_prefix("stamp ")?.parse().ok());
    stamp.unwrap_or(0)
}

/// Where the maps differ, by address and without overlap.
fn changes(maps: &[(u64, Vec<Mapping>)]) -> Vec<Changing> {
    let mut all: Vec<&Mapping> = maps.iter().flat_map(|(_, map)| map).collect();
    all.sort_by_key(|mapping| (mapping.start, mapping.end));
    all.dedup();
    let mut changing: Vec<Changing> = Vec::new();
    let mut reaching: Vec<&Mapping> = Vec::new();
    for mapping in all {
        reaching.retain(|before| before.end > mapping.start);
        let differing = reaching.iter().filter(|before| !before.agrees_with(mapping));
        if let Some(end) = differing.map(|before| before.end.min(mapping.end)).max() {
            match changing.last_mut() {
                Some(last) if last.end > mapping.start => last.end = end.max(last.end),
                _ => changing.push(Changing { start: mapping.start, end, map: 0 }),
            }
        }
        reaching.push(mapping);
    }
    changing
}

impl Mapping {
    /// Whether the two put the same bytes of a file at the same addresses.
    fn agrees_with(&self, other: &Mapping) -> bool {
        let base = |mapping: &Mapping| mapping.start.wrapping_sub(mapping.file_offset);
        self.path == other.path && base(self) == base(other)
    }

    /// The lines of a map that map a file, or the zero-initialised memory behind one.
    fn parse_all(map: &[u8]) -> Vec<Mapping> {
        let mut mappings: Vec<Mapping> = Vec::new();
        for line in map.split(|byte| *byte == b'\n') {
            let Some(mut mapping) = Mapping::parse(line) else { continue };
            if mapping.path.as_os_str().is_empty() {
                let Some(before) = mappings.last().filter(|before| before.end == mapping.start) else {
                    continue;
                };
                mapping.file_offset = before.file_offset.wrapping_add(mapping.start - before.start);
                mapping.path.clone_from(&before.path);
            }
            mappings.push(mapping);
        }
        mappings
    }

    /// A line of `/proc/self/maps`; the path is empty if it maps no file.
    fn parse(line: &[u8]) -> Option<Mapping> {
        let (before, path) = line.split_at(line.iter().position(|byte| *byte == b'/').unwrap_or(line.len()));
        let mut fields = str::from_utf8(before).ok()?.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let _permissions = fields.next()?;
        let file_offset = u64::from_str_radix(fields.next()?, 16).ok()?;
        let _device = fields.next()?;
        let _inode = fields.next()?;
        if fields.next().is_some() {
            return None; // [heap], [stack]
        }
        let (start, end) = (u64::from_str_radix(start, 16).ok()?, u64::from_str_radix(end, 16).ok()?);
        let path = without_escapes(path.strip_suffix(b" (deleted)").unwrap_or(path));
        (start < end).then_some(Mapping { start, end, file_offset, path })
    }

    fn contains(&self, address: u64) -> bool {
        (self.start..self.end).contains(&address)
    }
}

/// A path from `/proc/self/maps`, which writes a line end as `\012`.
fn without_escapes(mut path: &[u8]) -> PathBuf {
    const ESCAPED: &[u8] = b"\\012";
    let mut bytes = Vec::with_capacity(path.len());
    while let Some((&first, rest)) = path.split_first() {
        let escaped = path.strip_prefix(ESCAPED);
        bytes.push(if escaped.is_some() { b'\n' } else { first });
        path = escaped.unwrap_or(rest);
    }
    PathBuf::from(OsStr::from_bytes(&bytes))
}

impl LoadedModule {
    fn open(path: &Path) -> LoadedModule {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let mut module = LoadedModule {
            name,
            facts: Module { path: path.to_string_lossy().into_owned(), build_id: String::new() },
            loader: Loader::new(path).ok(),
            segments: Vec::new(),
            objects: Vec::new(),
            is_instrumented: true,
        };
        let Ok(file) = File::open(path) else { return module };
        let cache = ReadCache::new(file);
        let Ok(elf) = object::File::parse(&cache) else { return module };
        module.segments = elf
            .segments()
            .map(|segment| {
                let (offset, size) = segment.file_range();
                (offset, size, segment.address())
            })
            .collect();
        if let Ok(Some(id)) = elf.build_id() {
            module.facts.build_id = id.iter().map(|byte| format!("{byte:02x}")).collect();
        }
        let mut symbols = elf.symbols().chain(elf.dynamic_symbols());
        module.is_instrumented =
            symbols.any(|symbol| symbol.name().is_ok_and(|name| name.starts_with("__tsan_")));
        let symbols = elf.symbols().chain(elf.dynamic_symbols());
        module.objects = symbols
            .filter(|symbol| symbol.kind() == SymbolKind::Data && symbol.size() > 0)
            .filter_map(|symbol| {
                let name = symbol.name().ok()?;
                Some((symbol.address(), symbol.size(), readable(name)))
            })
            .collect();
        module.objects.sort();
        module.objects.dedup_by_key(|object| object.0);
        module
    }

    fn virtual_address_behind(&self, in_file: u64) -> Option<u64> {
        const LARGEST_GAP: u64 = 1 << 32;
        let (offset, _, virtual_address) = self
            .segments
            .iter()
            .filter(|&&(offset, _, _)| offset <= in_file)
            .max_by_key(|&&(offset, _, _)| offset)?;
        let distance = in_file - offset;
        (distance < LARGEST_GAP).then(|| virtual_address.wrapping_add(distance))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(stamp: u64, path: &str) -> Vec<u8> {
        let lines = [
            format!("stamp {stamp}"),
            "550000000000-550000001000 r-xp 00000000 00:00 0 /bin/program".to_owned(),
            format!("7f0000000000-7f0000001000 r-xp 00002000 00:00 0 {path}"),
        ];
        lines.join("\n").into_bytes()
    }

    #[test]
    fn what_was_mapped_at_the_time_counts() {
        const AT: u64 = 0x7f00_0000_0010;
        let mut code = Code::new(&[map(10, "/lib/first.so"), map(20, "/lib/second.so")]);
        let mut marked = Vec::new();
        for (time, name) in [(5, "first.so"), (10, "first.so"), (15, "second.so"), (25, "second.so")] {
            code.set_time(time);
            assert_eq!(
                code.module_at(AT).map(|(_, name, at)| (name.to_owned(), at)),
                Some((name.into(), 0x2010))
            );
            marked.push(code.marked(AT));
        }
        code.set_time(0);
        let names: Vec<String> = marked.iter().map(|&pc| code.frames(pc)[0].module.clone()).collect();
        assert_eq!(names, ["first.so", "first.so", "second.so", "second.so"]);
        assert_eq!((marked[0], marked[2]), (marked[1], marked[3]));
        assert_ne!(marked[1], marked[2]);
    }

    #[test]
    fn what_was_replaced_is_told_once() {
        let mut code =
            Code::new(&[map(10, "/lib/first.so"), b"stamp 20\n".to_vec(), map(30, "/lib/second.so")]);
        let mut replaced = [5, 15, 25, 8, 35].map(|time| code.set_time(time)).into_iter();
        assert_eq!(replaced.by_ref().take(2).flatten().count(), 0);
        let first = replaced.next().expect("something was replaced");
        assert_eq!((first.len(), first[0].clone()), (1, 0x7f00_0000_0000..0x7f00_0000_1000));
        assert_eq!(replaced.flatten().count(), 0);
    }

    #[test]
    fn addresses_are_marked_only_where_maps_differ() {
        const PROGRAM: u64 = 0x5500_0000_0010;
        let code = Code::new(&[map(10, "/lib/first.so"), map(20, "/lib/second.so")]);
        assert_eq!(code.marked(PROGRAM), PROGRAM);
        let code = Code::new(&[map(10, "/lib/first.so"), map(20, "/lib/first.so")]);
        assert_eq!(code.marked(0x7f00_0000_0010), 0x7f00_0000_0010);
    }

    /// What a library does while it is being closed comes after the last map that contains it.
    #[test]
    fn a_library_that_is_just_gone_is_still_named() {
        let empty = b"stamp 20\n".to_vec();
        let last = map(30, "/lib/second.so");
        let mut code = Code::new(&[map(10, "/lib/first.so"), empty, last]);
        code.set_time(15);
        assert_eq!(
            code.module_at(0x7f00_0000_0010).map(|(_, name, _)| name.to_owned()),
            Some("first.so".into())
        );
    }
}
