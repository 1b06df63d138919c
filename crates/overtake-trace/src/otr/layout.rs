//! The fixed-size parts of a sealed file: file header, chunk header, trailer. All numbers are little-endian.

use crate::error::{Error, ErrorKind, Position, Result};

/// First bytes of every sealed file. The high bit, the line ends and the control byte reveal transfers that alter text.
pub(super) const MAGIC: [u8; 8] = *b"\x89OTR\r\n\x1a\n";
/// First bytes of every chunk, which salvage searches for.
pub(super) const SYNC: [u8; 8] = *b"\xf5\x0eOTR\xc3\xb7\x1e";
/// First bytes of the trailer.
pub(super) const SEAL: [u8; 8] = *b"\xf5\x0eOTR\xc3\xb7\x5e";
/// The common start of the markers of chunks and trailer.
pub(super) const MARKER_PREFIX: &[u8] = SYNC.split_at(7).0;

/// The version this crate writes.
pub(super) const VERSION: u32 = 2;
/// The oldest version this crate reads. Version 2 added operations.
const OLDEST_VERSION: u32 = 1;

pub(super) const FILE_HEADER_BYTES: usize = 16;
pub(super) const CHUNK_HEADER_BYTES: usize = 36;
pub(super) const TRAILER_BYTES: usize = 40;

/// Largest payload of a chunk. A larger length in a file is damage, and nothing is allocated for it.
pub(super) const MAX_PAYLOAD_BYTES: usize = 32 << 20;
/// Most events in one block.
pub(super) const MAX_BLOCK_EVENTS: usize = 1 << 20;
/// Most names in one symbol chunk.
pub(super) const MAX_CHUNK_NAMES: usize = 1 << 16;

/// What a chunk holds. Readers skip unknown kinds whose first letter is lower case and refuse other unknown kinds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Kind(pub(super) [u8; 4]);

impl Kind {
    pub(super) const EVENTS: Kind = Kind(*b"EVNT");
    pub(super) const SYMBOLS: Kind = Kind(*b"SYMB");
    pub(super) const PARAMETERS: Kind = Kind(*b"PARM");
    pub(super) const BLOCK_INDEX: Kind = Kind(*b"BIDX");
    pub(super) const SYMBOL_INDEX: Kind = Kind(*b"SIDX");

    /// An error unless chunks of this unknown kind may be skipped.
    pub(super) fn check_optional(self) -> Result<()> {
        if self.0[0].is_ascii_lowercase() {
            return Ok(());
        }
        let name = self.0.escape_ascii();
        Err(Error::new(
            ErrorKind::Unsupported,
            Position::Nowhere,
            format!("chunk kind `{name}` is not known to this version of the reader"),
        ))
    }
}

/// The header before every payload.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ChunkHeader {
    pub(super) kind: Kind,
    /// Bytes of payload.
    pub(super) length: u32,
    /// Events: index of the first. Other kinds: see their layout.
    pub(super) first: u64,
    /// Events: how many. Other kinds: number of entries.
    pub(super) count: u32,
    pub(super) payload_crc: u32,
}

impl ChunkHeader {
    /// The header of a chunk with this payload.
    pub(super) fn new(kind: Kind, first: u64, count: usize, payload: &[u8]) -> ChunkHeader {
        debug_assert!(payload.len() <= MAX_PAYLOAD_BYTES && count <= u32::MAX as usize);
        ChunkHeader {
            kind,
            length: payload.len() as u32,
            first,
            count: count as u32,
            payload_crc: crc32fast::hash(payload),
        }
    }

    pub(super) fn to_bytes(self) -> [u8; CHUNK_HEADER_BYTES] {
        let mut bytes = [0; CHUNK_HEADER_BYTES];
        bytes[0..8].copy_from_slice(&SYNC);
        bytes[8..12].copy_from_slice(&self.kind.0);
        bytes[12..16].copy_from_slice(&self.length.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.first.to_le_bytes());
        bytes[24..28].copy_from_slice(&self.count.to_le_bytes());
        bytes[28..32].copy_from_slice(&self.payload_crc.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    /// The header in these bytes, or what is wrong with it. A length is trusted only if the checksum matches.
    pub(super) fn parse(bytes: &[u8; CHUNK_HEADER_BYTES]) -> Result<ChunkHeader> {
        check_marker(bytes, &SYNC, "chunk")?;
        check_seal(bytes, "chunk header")?;
        let header = ChunkHeader {
            kind: Kind([bytes[8], bytes[9], bytes[10], bytes[11]]),
            length: u32_at(bytes, 12),
            first: u64_at(bytes, 16),
            count: u32_at(bytes, 24),
            payload_crc: u32_at(bytes, 28),
        };
        if header.length as usize > MAX_PAYLOAD_BYTES {
            return Err(corrupt(format!(
                "expected a payload of at most {MAX_PAYLOAD_BYTES} bytes, found a length of {}",
                header.length
            )));
        }
        Ok(header)
    }

    pub(super) fn check_payload(&self, payload: &[u8]) -> Result<()> {
        let found = crc32fast::hash(payload);
        if payload.len() == self.length as usize && found == self.payload_crc {
            return Ok(());
        }
        let what = match self.kind {
            Kind::EVENTS => "block",
            Kind::SYMBOLS => "symbol chunk",
            _ => "footer section",
        };
        Err(corrupt(format!(
            "checksum of {what} does not match: expected {:08x}, found {found:08x}",
            self.payload_crc
        )))
    }

    /// Bytes of header and payload together.
    pub(super) fn chunk_bytes(&self) -> usize {
        CHUNK_HEADER_BYTES + self.length as usize
    }
}

/// The first bytes of a file.
pub(super) fn file_header() -> [u8; FILE_HEADER_BYTES] {
    let mut bytes = [0; FILE_HEADER_BYTES];
    bytes[0..8].copy_from_slice(&MAGIC);
    bytes[8..12].copy_from_slice(&VERSION.to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Refuses what is not a sealed file of a version this crate reads.
pub(super) fn check_file_header(bytes: &[u8]) -> Result<()> {
    let start = Position::Offset(0);
    let prefix = bytes.len().min(MAGIC.len());
    if bytes[..prefix] != MAGIC[..prefix] {
        let message =
            format!("expected a sealed trace, found a file that starts with {}", hex(&bytes[..prefix]));
        return Err(Error::new(ErrorKind::Syntax, start, message));
    }
    let Some(bytes) = bytes.first_chunk::<FILE_HEADER_BYTES>() else {
        let message = format!("expected a file header of {FILE_HEADER_BYTES} bytes, found {}", bytes.len());
        return Err(corrupt(message).at(start));
    };
    check_seal(bytes, "file header").map_err(|error| error.at(start))?;
    let version = u32_at(bytes, 8);
    if !(OLDEST_VERSION..=VERSION).contains(&version) {
        let known = format!("versions {OLDEST_VERSION} to {VERSION}");
        let message = format!("sealed trace of version {version}: this reader knows {known}");
        return Err(Error::new(ErrorKind::Unsupported, start, message));
    }
    Ok(())
}

/// The last bytes of a file that was completed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Trailer {
    /// Offset of the first footer section.
    pub(super) footer: u64,
    /// Length of the whole file.
    pub(super) file_bytes: u64,
    /// Number of events in the file.
    pub(super) events: u64,
}

impl Trailer {
    pub(super) fn to_bytes(self) -> [u8; TRAILER_BYTES] {
        let mut bytes = [0; TRAILER_BYTES];
        bytes[0..8].copy_from_slice(&SEAL);
        bytes[8..16].copy_from_slice(&self.footer.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.file_bytes.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.events.to_le_bytes());
        bytes[32..36].copy_from_slice(&VERSION.to_le_bytes());
        seal(&mut bytes);
        bytes
    }

    pub(super) fn parse(bytes: &[u8; TRAILER_BYTES]) -> Result<Trailer> {
        check_marker(bytes, &SEAL, "trailer")?;
        check_seal(bytes, "trailer")?;
        Ok(Trailer { footer: u64_at(bytes, 8), file_bytes: u64_at(bytes, 16), events: u64_at(bytes, 24) })
    }
}

/// An [`ErrorKind::Corrupt`] error, to which the caller adds the place.
#[cold]
pub(super) fn corrupt(message: impl Into<String>) -> Error {
    Error::new(ErrorKind::Corrupt, Position::Nowhere, message)
}

fn check_marker(bytes: &[u8], marker: &[u8; 8], what: &str) -> Result<()> {
    if bytes.starts_with(marker) {
        return Ok(());
    }
    Err(corrupt(format!("expected the marker of a {what}, found {}", hex(&bytes[..8]))))
}

/// Fills the last four bytes with the checksum of the others.
fn seal(bytes: &mut [u8]) {
    let (covered, crc) = bytes.split_at_mut(bytes.len() - 4);
    crc.copy_from_slice(&crc32fast::hash(covered).to_le_bytes());
}

fn check_seal(bytes: &[u8], what: &str) -> Result<()> {
    let (covered, crc) = bytes.split_at(bytes.len() - 4);
    let (expected, found) = (u32_at(crc, 0), crc32fast::hash(covered));
    if expected == found {
        return Ok(());
    }
    Err(corrupt(format!("checksum of {what} does not match: expected {expected:08x}, found {found:08x}")))
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".into();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().join(" ")
}

/// # Panics
/// If the bytes do not reach that far; for slices of checked length only.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

/// # Panics
/// If the bytes do not reach that far; for slices of checked length only.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from(u32_at(bytes, at)) | u64::from(u32_at(bytes, at + 4)) << 32
}
