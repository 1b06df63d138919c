//! Members of global variables, from debug information: byte 8 of `counters` is `counters.hits`.
//!
//! Only the variables of findings are looked up, so that debug information is read only when there is something to report. Variables are
//! found by their address in the module's symbols. Where several members have the same byte (unions, bit fields), and at private members
//! of the C++ library, the path ends.

use std::collections::BTreeSet;
use std::path::Path;

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, Dwarf, Unit, UnitOffset};
use object::{Object, ObjectSymbol};
use rustc_hash::FxHashMap;

use crate::debug_info::{self, Slice};
use crate::demangle::readable;

type Entry<'a> = DebuggingInformationEntry<Slice<'a>>;

/// How deep types may nest. Deeper ones are a cycle in damaged debug information.
const DEEPEST: usize = 64;

/// A byte of a global variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GlobalByte {
    /// The variable, as traces name it.
    pub variable: String,
    /// Which byte of it.
    pub offset: u64,
}

/// Which member each byte belongs to, such as `.hits` or `[3].name`; empty if the byte is in no member, or not known. The
/// module must have this build id, unless it is empty.
pub fn members(module: &Path, build_id: &str, bytes: &[GlobalByte]) -> Vec<String> {
    let found = debug_info::read(module, build_id, |elf, dwarf| find(dwarf, &by_address(elf, bytes), bytes));
    found.unwrap_or_else(|| vec![String::new(); bytes.len()])
}

/// The positions in `bytes` of each variable, by its address. A variable is left out if several have its name. Each symbol's name is
/// made readable once, however many bytes are asked for: a library has thousands of symbols.
fn by_address(elf: &object::File<'_>, bytes: &[GlobalByte]) -> FxHashMap<u64, Vec<usize>> {
    let mut addresses: FxHashMap<&str, BTreeSet<u64>> =
        bytes.iter().map(|byte| (byte.variable.as_str(), BTreeSet::new())).collect();
    for symbol in elf.symbols().chain(elf.dynamic_symbols()).filter(|symbol| symbol.size() > 0) {
        let name = symbol.name().map(readable).ok();
        if let Some(known) = name.and_then(|name| addresses.get_mut(name.as_str())) {
            known.insert(symbol.address());
        }
    }
    let mut positions: FxHashMap<u64, Vec<usize>> = FxHashMap::default();
    for (at, byte) in bytes.iter().enumerate() {
        let known = &addresses[byte.variable.as_str()];
        if let (Some(&address), 1) = (known.first(), known.len()) {
            positions.entry(address).or_default().push(at);
        }
    }
    positions
}

fn find(
    dwarf: &Dwarf<Slice<'_>>,
    positions: &FxHashMap<u64, Vec<usize>>,
    bytes: &[GlobalByte],
) -> Result<Vec<String>, gimli::Error> {
    let mut paths = vec![String::new(); bytes.len()];
    if positions.is_empty() {
        return Ok(paths);
    }
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let types = Types { dwarf, unit: &unit };
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let asked = types.address(entry).and_then(|address| positions.get(&address));
            for &at in asked.into_iter().flatten() {
                if let Some(of) = types.type_of(entry) {
                    paths[at] = types.path(of, bytes[at].offset).unwrap_or_default();
                }
            }
        }
    }
    Ok(paths)
}

/// The types of a compilation unit.
struct Types<'a, 'data> {
    dwarf: &'a Dwarf<Slice<'data>>,
    unit: &'a Unit<Slice<'data>>,
}

impl<'data> Types<'_, 'data> {
    /// The address of a variable, if it is fixed.
    fn address(&self, variable: &Entry<'data>) -> Option<u64> {
        let location = variable.attr_value(gimli::DW_AT_location)?.exprloc_value()?;
        let mut operations = location.operations(self.unit.encoding());
        let address = match operations.next().ok()?? {
            gimli::Operation::Address { address } => address,
            gimli::Operation::AddressIndex { index } => self.dwarf.address(self.unit, index).ok()?,
            _ => return None,
        };
        operations.next().ok()?.is_none().then_some(address)
    }

    /// The type of a variable or member. If the definition has none, that of the declaration.
    fn type_of(&self, entry: &Entry<'data>) -> Option<UnitOffset> {
        match entry.attr_value(gimli::DW_AT_type) {
            Some(AttributeValue::UnitRef(offset)) => Some(offset),
            Some(_) => None,
            None => match entry.attr_value(gimli::DW_AT_specification)? {
                AttributeValue::UnitRef(offset) => {
                    match self.unit.entry(offset).ok()?.attr_value(gimli::DW_AT_type)? {
                        AttributeValue::UnitRef(offset) => Some(offset),
                        _ => None,
                    }
                }
                _ => None,
            },
        }
    }

    fn number(&self, entry: &Entry<'data>, name: gimli::DwAt) -> Option<u64> {
        entry.attr_value(name)?.udata_value()
    }

    /// The type behind typedefs and qualifiers.
    fn plain(&self, mut of: UnitOffset) -> Option<Entry<'data>> {
        for _ in 0..DEEPEST {
            let entry = self.unit.entry(of).ok()?;
            match entry.tag() {
                gimli::DW_TAG_typedef
                | gimli::DW_TAG_const_type
                | gimli::DW_TAG_volatile_type
                | gimli::DW_TAG_atomic_type => of = self.type_of(&entry)?,
                _ => return Some(entry),
            }
        }
        None
    }

    fn size(&self, of: UnitOffset, depth: usize) -> Option<u64> {
        let entry = self.plain(of)?;
        if let Some(bytes) = self.number(&entry, gimli::DW_AT_byte_size) {
            return Some(bytes);
        }
        match entry.tag() {
            gimli::DW_TAG_pointer_type | gimli::DW_TAG_reference_type => {
                Some(u64::from(self.unit.encoding().address_size))
            }
            gimli::DW_TAG_array_type if depth < DEEPEST => {
                let element = self.size(self.type_of(&entry)?, depth + 1)?;
                self.lengths(&entry)?.iter().try_fold(element, |bytes, length| bytes.checked_mul(*length))
            }
            _ => None,
        }
    }

    /// How many elements an array has in each dimension.
    fn lengths(&self, array: &Entry<'data>) -> Option<Vec<u64>> {
        let mut lengths = Vec::new();
        self.children(array.offset(), |child| {
            if child.tag() == gimli::DW_TAG_subrange_type {
                let last = self.number(child, gimli::DW_AT_upper_bound).map(|last| last.saturating_add(1));
                lengths.push(self.number(child, gimli::DW_AT_count).or(last)?);
            }
            Some(())
        })?;
        Some(lengths)
    }

    fn children(&self, of: UnitOffset, mut each: impl FnMut(&Entry<'data>) -> Option<()>) -> Option<()> {
        let mut tree = self.unit.entries_tree(Some(of)).ok()?;
        let mut children = tree.root().ok()?.children();
        while let Some(child) = children.next().ok()? {
            each(child.entry())?;
        }
        Some(())
    }

    /// The path to a byte of a type.
    fn path(&self, mut of: UnitOffset, mut offset: u64) -> Option<String> {
        let mut path = String::new();
        for _ in 0..DEEPEST {
            let entry = self.plain(of)?;
            let step = match entry.tag() {
                gimli::DW_TAG_structure_type | gimli::DW_TAG_class_type => self.member(&entry, offset),
                gimli::DW_TAG_array_type => self.element(&entry, offset),
                _ => None,
            };
            let Some((name, rest, next)) = step else { break };
            path += &name;
            (of, offset) = (next, rest);
        }
        Some(path)
    }

    /// The only member at a byte: its part of the path, the offset of the byte in the member, and the member's type.
    fn member(&self, of: &Entry<'data>, offset: u64) -> Option<(String, u64, UnitOffset)> {
        let mut found = Vec::new();
        self.children(of.offset(), |child| {
            let is_base = child.tag() == gimli::DW_TAG_inheritance;
            if !is_base && child.tag() != gimli::DW_TAG_member {
                return Some(());
            }
            let bits = self.number(child, gimli::DW_AT_data_bit_offset).map(|bits| bits / 8);
            let start = self.number(child, gimli::DW_AT_data_member_location).or(bits);
            let Some(of) = self.type_of(child) else { return Some(()) };
            // A static member has no offset.
            let Some(start) = start else { return Some(()) };
            let size = self.size(of, 0).unwrap_or(0);
            if (start..start.saturating_add(size)).contains(&offset) {
                let name = child.attr_value(gimli::DW_AT_name);
                let name = name.and_then(|name| self.dwarf.attr_string(self.unit, name).ok());
                let name = name.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
                found.push((name, offset - start, of));
            }
            Some(())
        })?;
        let [(name, rest, of)] = &mut found[..] else { return None };
        if name.starts_with("_M_") || name.starts_with("__") {
            return None;
        }
        // Base classes and members without a name do not appear in an expression.
        let name = if name.is_empty() { String::new() } else { format!(".{name}") };
        Some((name, *rest, *of))
    }

    fn element(&self, array: &Entry<'data>, offset: u64) -> Option<(String, u64, UnitOffset)> {
        let of = self.type_of(array)?;
        let bytes = self.size(of, 0).filter(|bytes| *bytes > 0)?;
        let mut index = offset / bytes;
        let mut indices = Vec::new();
        for length in self.lengths(array)?.iter().skip(1).rev().filter(|length| **length > 0) {
            indices.push(index % length);
            index /= length;
        }
        indices.push(index);
        let path = indices.iter().rev().map(|index| format!("[{index}]")).collect();
        Some((path, offset % bytes, of))
    }
}
