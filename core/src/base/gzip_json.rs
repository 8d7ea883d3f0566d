//! Files of JSON that starts with a key of their own, gzipped or not.

use std::borrow::Cow;
use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde::Serialize;

/// How gzip begins.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// A value as gzipped JSON.
pub(crate) fn write(value: &impl Serialize, level: Compression) -> Vec<u8> {
    let mut file = GzEncoder::new(Vec::new(), level);
    // Writing to memory cannot fail, and neither can serializing the values of these files.
    let written = serde_json::to_vec(value).map(|json| file.write_all(&json));
    debug_assert!(matches!(written, Ok(Ok(()))));
    file.finish().unwrap_or_default()
}

/// Whether the JSON of a file that begins with `head` starts like this.
pub(crate) fn starts_with(head: &[u8], start: &[u8]) -> bool {
    if !head.starts_with(GZIP) {
        return head.starts_with(start);
    }
    let mut text = vec![0; start.len()];
    GzDecoder::new(head).read_exact(&mut text).is_ok() && text == start
}

/// The JSON of a file; what is longer than `most_bytes` is cut off.
pub(crate) fn read(file: &[u8], most_bytes: u64) -> io::Result<Cow<'_, [u8]>> {
    if !file.starts_with(GZIP) {
        return Ok(Cow::Borrowed(file));
    }
    let mut json = Vec::new();
    GzDecoder::new(file)
        .take(most_bytes)
        .read_to_end(&mut json)?;
    Ok(Cow::Owned(json))
}
