//! A module's debug information, opened only if the module is the one that was recorded.

use std::fs;
use std::path::Path;

use addr2line::gimli::{self, Dwarf, EndianSlice, LittleEndian};
use object::{Object, ObjectSection};

pub(crate) type Slice<'a> = EndianSlice<'a, LittleEndian>;

/// Size of the largest module that is read, in bytes. Larger ones would take too long for a few names.
const LARGEST: u64 = 1 << 30;

/// The build id of a module in hexadecimal; empty if it has none. `None` if there is no such module, or it cannot be read.
pub fn build_id(module: &Path) -> Option<String> {
    let data = fs::read(module).ok()?;
    object::File::parse(&*data).ok().map(|elf| build_id_of(&elf))
}

fn build_id_of(elf: &object::File<'_>) -> String {
    let id = elf.build_id().ok().flatten().unwrap_or_default();
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Calls a function with the debug information of a module, which must have this build id. `None` if there is no such module, or it
/// cannot be read.
pub(crate) fn read<T>(
    module: &Path,
    build_id: &str,
    work: impl FnOnce(&object::File<'_>, &Dwarf<Slice<'_>>) -> Result<T, gimli::Error>,
) -> Option<T> {
    if fs::metadata(module).map_or(u64::MAX, |file| file.len()) > LARGEST {
        return None;
    }
    let data = fs::read(module).ok()?;
    let elf = object::File::parse(&*data).ok()?;
    if build_id_of(&elf) != build_id {
        return None;
    }
    let sections = gimli::DwarfSections::load(|id| -> Result<_, gimli::Error> {
        let section = elf.section_by_name(id.name());
        Ok(section.and_then(|section| section.uncompressed_data().ok()).unwrap_or_default())
    });
    let sections = sections.ok()?;
    let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
    work(&elf, &dwarf).ok()
}
