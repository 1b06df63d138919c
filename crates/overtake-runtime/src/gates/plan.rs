//! The plan: a mapped file (`overtake_rawlog::gates`), and the addresses at which its sites are in this process.

use core::ffi::{c_int, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};

use overtake_rawlog::gates;

use crate::environment;
use crate::libc_hooks::loader;
use crate::process;
use crate::sys::{self, Fd};
use crate::text::Text;

static WORDS: AtomicPtr<AtomicU64> = AtomicPtr::new(core::ptr::null_mut());
static RACES: AtomicUsize = AtomicUsize::new(0);

/// Places of a race: its sides, then its gates.
const PLACES: usize = gates::MOST_SIDES + gates::MOST_GATES;

/// Return addresses of the places of each race; 0 where the module is not loaded.
static ADDRESSES: [[AtomicU64; PLACES]; gates::MOST_RACES] =
    [const { [const { AtomicU64::new(0) }; PLACES] }; gates::MOST_RACES];

/// The same addresses in a hash table: open addressing, at most half full, never emptied (an old address costs one look-up).
const SLOTS: usize = 4096;
static SLOT: [AtomicU64; SLOTS] = [const { AtomicU64::new(0) }; SLOTS];

/// Where threads were created, by their number modulo the size: the number plus one, module and offset.
const CREATIONS: usize = 1024;
static CREATED: [[AtomicU64; 3]; CREATIONS] = [const { [const { AtomicU64::new(0) }; 3] }; CREATIONS];

/// A loaded module: the hash of its name, the offset of its addresses, and its end.
struct LoadedModule {
    hash: AtomicU64,
    bias: AtomicU64,
    start: AtomicU64,
    end: AtomicU64,
}

const MOST_MODULES: usize = 256;
static MODULES: [LoadedModule; MOST_MODULES] = [const {
    LoadedModule {
        hash: AtomicU64::new(0),
        bias: AtomicU64::new(0),
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
    }
}; MOST_MODULES];

/// Maps the file that `OVERTAKE_GATES` names. Prints a message if that fails.
pub(super) fn open() {
    let Some(path) = environment::setting(b"OVERTAKE_GATES") else { return };
    let mut text = Text::new();
    text.push(path);
    let opened = text.terminated().and_then(|path| Fd::open(path, libc::O_RDWR).ok());
    let Some(file) = opened else {
        return process::say(&[b"the plan `", path, b"` cannot be opened, no thread is held"]);
    };
    let mapped = sys::map_file(file, 0, gates::words(gates::MOST_RACES) * size_of::<u64>());
    file.close();
    let Ok(words) = mapped else {
        return process::say(&[b"the plan `", path, b"` cannot be mapped, no thread is held"]);
    };
    let words: *mut AtomicU64 = words.cast();
    // SAFETY: a fresh mapping of at least this size; the file is as large, see `overtake confirm`.
    let (magic, races) =
        unsafe { ((*words).load(Ordering::Relaxed), (*words.add(gates::RACES)).load(Ordering::Relaxed)) };
    if magic != gates::MAGIC {
        return process::say(&[b"`", path, b"` is not a plan, no thread is held"]);
    }
    WORDS.store(words, Ordering::Release);
    RACES.store((races as usize).min(gates::MOST_RACES), Ordering::Release);
    resolve();
}

/// How many races there are.
pub(super) fn races() -> usize {
    RACES.load(Ordering::Acquire)
}

/// A word of the header. There must be a plan.
pub(super) fn header(word: usize) -> &'static AtomicU64 {
    // SAFETY: mapped by `open` and never unmapped; callers pass words of the header.
    unsafe { &*WORDS.load(Ordering::Acquire).add(word) }
}

/// A word of a race. There must be a plan.
pub(super) fn word(race: usize, word: usize) -> &'static AtomicU64 {
    header(gates::words(race) + word)
}

/// Whether this program counter may be a site or a gate of the plan. Nearly always it is not, so that most accesses cost only this.
#[inline(always)]
pub(super) fn may_be_site(pc: u64) -> bool {
    first_in_slot(pc) != 0
}

/// Zero if nothing is to be done at this program counter.
#[inline(always)]
pub(super) fn first_in_slot(pc: u64) -> u64 {
    SLOT[first_slot(pc)].load(Ordering::Relaxed)
}

/// Whether this program counter is a site or a gate of the plan.
pub(super) fn is_site(pc: u64) -> bool {
    slots_of(pc).map(|slot| slot.load(Ordering::Relaxed)).find(|&found| found == pc || found == 0) == Some(pc)
}

#[inline(always)]
fn first_slot(pc: u64) -> usize {
    (pc.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2())) as usize
}

fn slots_of(pc: u64) -> impl Iterator<Item = &'static AtomicU64> {
    (0..SLOTS).map(move |step| &SLOT[(first_slot(pc) + step) % SLOTS])
}

/// A thread with this number is about to be created.
pub(super) fn note_creation(number: u64, pc: u64) {
    let [of, module, offset] = &CREATED[number as usize % CREATIONS];
    let site = site_of(pc).unwrap_or_default();
    module.store(site.0, Ordering::Relaxed);
    offset.store(site.1, Ordering::Relaxed);
    of.store(number + 1, Ordering::Release);
}

/// Where a thread was created, as a site; zeros if that is not known.
pub(super) fn created_at(number: u32) -> (u64, u64) {
    let [of, module, offset] = &CREATED[number as usize % CREATIONS];
    match of.load(Ordering::Acquire) {
        _ if number == 0 => (gates::MAIN_THREAD, 0),
        found if found == u64::from(number) + 1 => {
            (module.load(Ordering::Relaxed), offset.load(Ordering::Relaxed))
        }
        _ => (0, 0),
    }
}

/// Whether a side of a race is at this program counter.
pub(super) fn is_side(race: usize, side: usize, pc: u64) -> bool {
    address(race, side) == pc
}

/// Whether a gate of a race is at this program counter.
pub(super) fn is_gate(race: usize, gate: usize, pc: u64) -> bool {
    address(race, gates::MOST_SIDES + gate) == pc
}

/// The word of a race at which a gate begins.
pub(super) fn gate_word(gate: usize) -> usize {
    gates::GATES + gate * gates::GATE
}

fn address(race: usize, at: usize) -> u64 {
    ADDRESSES.get(race).and_then(|race| race.get(at)).map_or(0, |address| address.load(Ordering::Relaxed))
}

/// The module and the offset of a return address, as a site has them.
pub(super) fn site_of(pc: u64) -> Option<(u64, u64)> {
    let inside = |module: &&LoadedModule| {
        (module.start.load(Ordering::Relaxed)..module.end.load(Ordering::Relaxed)).contains(&pc)
    };
    let module = MODULES.iter().find(inside)?;
    Some((module.hash.load(Ordering::Relaxed), (pc - 1).wrapping_sub(module.bias.load(Ordering::Relaxed))))
}

/// Finds out where the sites are in the modules that are loaded now. Whether there are other modules than before.
pub(super) fn resolve() -> bool {
    static KNOWN: AtomicUsize = AtomicUsize::new(0);
    if races() == 0 {
        return true;
    }
    let mut number = 0_usize;
    // SAFETY: the callback has the required type, and the number outlives the call.
    unsafe { loader::for_each_module(note_module, (&raw mut number).cast()) };
    for (race, addresses) in ADDRESSES.iter().enumerate().take(races()) {
        for (number, place) in addresses.iter().enumerate() {
            let site = match number.checked_sub(gates::MOST_SIDES) {
                Some(gate) => gate_word(gate) + gates::GATE_SITE,
                None => gates::SITES + 2 * number,
            };
            let (module, offset) =
                (word(race, site).load(Ordering::Relaxed), word(race, site + 1).load(Ordering::Relaxed));
            let loaded =
                MODULES.iter().find(|loaded| module != 0 && loaded.hash.load(Ordering::Relaxed) == module);
            let Some(loaded) = loaded else { continue };
            let pc = loaded.bias.load(Ordering::Relaxed).wrapping_add(offset).wrapping_add(1);
            place.store(pc, Ordering::Relaxed);
            let free = |slot: &&AtomicU64| matches!(slot.load(Ordering::Relaxed), found if found == 0 || found == pc);
            if let Some(slot) = slots_of(pc).find(free) {
                slot.store(pc, Ordering::Relaxed);
            }
        }
    }
    KNOWN.swap(number, Ordering::Relaxed) != number
}

/// Notes a module. The loader calls this for each, the executable first.
unsafe extern "C" fn note_module(info: *mut libc::dl_phdr_info, _size: usize, number: *mut c_void) -> c_int {
    // SAFETY: what the loader and `resolve` pass.
    let (info, number) = unsafe { (&*info, &mut *number.cast::<usize>()) };
    let at = core::mem::replace(number, *number + 1);
    let Some(module) = MODULES.get(at) else { return 1 };
    let mut link = [const { core::mem::MaybeUninit::uninit() }; 4096];
    let name = match info.dlpi_name.is_null() {
        true => b"" as &[u8],
        // SAFETY: the loader's own text, zero-terminated.
        false => unsafe { process::bytes(info.dlpi_name) },
    };
    let path = if at == 0 { sys::read_link(b"/proc/self/exe\0", &mut link).unwrap_or(name) } else { name };
    let file_name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let (mut start, mut end) = (u64::MAX, 0);
    for header in 0..usize::from(info.dlpi_phnum) {
        // SAFETY: the loader says how many there are.
        let header = unsafe { &*info.dlpi_phdr.add(header) };
        if header.p_type == libc::PT_LOAD {
            start = start.min(info.dlpi_addr.wrapping_add(header.p_vaddr));
            end = end.max(info.dlpi_addr.wrapping_add(header.p_vaddr).wrapping_add(header.p_memsz));
        }
    }
    module.hash.store(gates::module_hash(file_name), Ordering::Relaxed);
    module.bias.store(info.dlpi_addr, Ordering::Relaxed);
    module.start.store(start, Ordering::Relaxed);
    module.end.store(end, Ordering::Relaxed);
    0
}
