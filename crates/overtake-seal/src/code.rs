//! Program counters and data addresses turned into names, offline, from the modules' own debug information.

use std::ffi::OsStr;
use std::fs::File;
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
    modules: Vec<LoadedModule>,
    by_path: FxHashMap<PathBuf, usize>,
}

#[derive(Clone, Debug)]
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
}

/// A global variable and the offset of an address in it.
pub(crate) struct GlobalAt {
    pub(crate) name: String,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl Code {
    /// From texts in the form of `/proc/self/maps`, oldest first; the newest that knows an address counts.
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
        Code { mappings, modules: Vec::new(), by_path: FxHashMap::default() }
    }

    /// The frames at a program counter, innermost first; at least one.
    pub(crate) fn frames(&mut self, pc: u64) -> Vec<Frame> {
        let Some((module, address)) = self.locate(pc) else {
            return vec![Frame { offset: pc, ..Frame::default() }];
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
            let symbol = module.loader.as_ref().and_then(|loader| loader.find_symbol(address));
            let function = symbol.map(readable).unwrap_or_default();
            return vec![Frame { function, ..bare }];
        }
        frames
    }

    /// The global variable at a data address.
    pub(crate) fn global(&mut self, address: u64) -> Option<GlobalAt> {
        let (module, address) = self.locate(address)?;
        let after = module.objects.partition_point(|&(start, _, _)| start <= address);
        let (start, bytes, name) = module.objects.get(after.checked_sub(1)?)?;
        (address < start.saturating_add(*bytes)).then(|| GlobalAt {
            name: name.clone(),
            offset: address - start,
            bytes: *bytes,
        })
    }

    /// The path and the name of the module that a data address lies in, and where in it.
    pub(crate) fn module_at(&mut self, address: u64) -> Option<(&str, &str, u64)> {
        let (module, address) = self.locate(address)?;
        (!module.name.is_empty()).then_some((&*module.facts.path, &*module.name, address))
    }

    /// What is known of the modules that were asked about.
    pub(crate) fn modules(&self) -> Vec<Module> {
        self.modules.iter().map(|module| module.facts.clone()).collect()
    }

    /// The module at a run-time address, and the address as the module's file has it.
    fn locate(&mut self, address: u64) -> Option<(&LoadedModule, u64)> {
        let after = self.mappings.partition_point(|mapping| mapping.start <= address);
        let mapping = self.mappings.get(after.checked_sub(1)?)?;
        if !mapping.contains(address) {
            return None;
        }
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
            // A file that is gone, or is none: where in it is all there is to say.
            None if module.segments.is_empty() => in_file,
            // Zero-initialised data lies behind its segment's bytes in the file, on a page of its own in memory.
            None => module.virtual_address_behind(in_file)?,
        };
        Some((module, address))
    }
}

impl Mapping {
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

/// A path as `/proc/self/maps` has it: a line's end in it is written in digits.
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
