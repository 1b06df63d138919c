//! Members of global variables, from debug information: byte 8 of `counters` is `counters.hits`.
//!
//! Only the variables of findings are looked up, so that debug information is read only when there is something to report. Variables are
//! found by their address in the module's symbols. Where several members have the same byte (unions, bit fields), and at private members
//! of the C++ library, the path ends.

use std::path::Path;

use addr2line::gimli::{self, AttributeValue, DebuggingInformationEntry, Dwarf, Unit, UnitOffset};
use object::{Object, ObjectSymbol};

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
    let found = debug_info::read(module, build_id, |elf, dwarf| {
        let addresses: Vec<Option<u64>> = bytes.iter().map(|byte| address_of(elf, &byte.variable)).collect();
        find(dwarf, &addresses, bytes)
    });
    found.unwrap_or_else(|| vec![String::new(); bytes.len()])
}

/// The address of a variable. None if several have this name.
fn address_of(elf: &object::File<'_>, variable: &str) -> Option<u64> {
    let mut addresses = elf
        .symbols()
        .chain(elf.dynamic_symbols())
        .filter(|symbol| symbol.size() > 0 && symbol.name().is_ok_and(|name| readable(name) == variable))
        .map(|symbol| symbol.address());
    let first = addresses.next()?;
    addresses.all(|address| address == first).then_some(first)
}

fn find(
    dwarf: &Dwarf<Slice<'_>>,
    addresses: &[Option<u64>],
    bytes: &[GlobalByte],
) -> Result<Vec<String>, gimli::Error> {
    let mut paths = vec![String::new(); bytes.len()];
    let mut units = dwarf.units();
    while let Some(header) = units.next()? {
        let unit = dwarf.unit(header)?;
        let types = Types { dwarf, unit: &unit };
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            if entry.tag() != gimli::DW_TAG_variable {
                continue;
            }
            let Some(address) = types.address(entry) else { continue };
            for (at, byte) in bytes.iter().enumerate() {
                if addresses[at] == Some(address)
                    && let Some(of) = types.type_of(entry)
                {
                    paths[at] = types.path(of, byte.offset).unwrap_or_default();
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
