//! Data in a page: JSON, compressed, in letters that mean nothing to a browser.
//!
//! A parcel is `<script type="text/plain" id="NAME">`, zlib-compressed JSON in base64. JSON in the open would be four times
//! the size, parsed whole before the first line shows, and one forgotten escape away from being markup.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde::Serialize;

/// The effort of compression. More of it takes twice the time to save a tenth.
const EFFORT: Compression = Compression::new(4);

/// Writes `value` as the parcel `name`, which must consist of letters, digits and dashes.
pub(super) fn write(out: &mut dyn Write, name: &str, value: &(impl Serialize + ?Sized)) -> io::Result<()> {
    debug_assert!(name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'));
    write!(out, "<script type=\"text/plain\" id=\"{name}\">")?;
    let mut letters = EncoderWriter::new(&mut *out, &STANDARD);
    let mut compressed = ZlibEncoder::new(&mut letters, EFFORT);
    compressed.write_all(&serde_json::to_vec(value)?)?;
    compressed.finish()?;
    letters.finish()?;
    drop(letters);
    writeln!(out, "</script>")
}
