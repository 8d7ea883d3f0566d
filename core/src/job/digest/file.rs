//! A digest as a file: gzipped JSON, `digests/rank00007.json.gz`.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

use super::{Digest, VERSION};

/// The start of a digest's JSON.
const START: &[u8] = b"{\"dormer_digest\":";

/// A digest is never larger than this; a larger file is something else.
const MOST_BYTES: u64 = 256 << 20;

impl Digest {
    /// The contents of the digest's file.
    pub fn to_file(&self) -> Vec<u8> {
        let mut file = GzEncoder::new(Vec::new(), Compression::default());
        // Writing to memory cannot fail, and neither can serializing these types.
        let written = serde_json::to_vec(self).map(|json| file.write_all(&json));
        debug_assert!(matches!(written, Ok(Ok(()))));
        file.finish().unwrap_or_default()
    }

    /// Whether a file that begins with these bytes is a digest.
    pub fn is_file(head: &[u8]) -> bool {
        if head.starts_with(START) {
            return true;
        }
        let mut start = vec![0; START.len()];
        let is_read =
            head.starts_with(&[0x1f, 0x8b]) && GzDecoder::new(head).read_exact(&mut start).is_ok();
        is_read && start == START
    }

    /// Parses the bytes of a file. `None` if they are not a digest, an error if they are a digest that cannot be read.
    pub fn from_file(bytes: &[u8]) -> Option<Result<Digest, String>> {
        let mut json = Vec::new();
        match bytes.starts_with(&[0x1f, 0x8b]) {
            false if bytes.starts_with(START) => json.extend_from_slice(bytes),
            false => return None,
            true => {
                let mut start = vec![0; START.len()];
                GzDecoder::new(bytes).read_exact(&mut start).ok()?;
                if start != START {
                    return None;
                }
                let mut text = GzDecoder::new(bytes).take(MOST_BYTES);
                if let Err(error) = text.read_to_end(&mut json) {
                    return Some(Err(format!("the digest cannot be read: {error}")));
                }
            }
        }
        let read = serde_json::from_slice::<Digest>(&json);
        Some(match read {
            Ok(digest) if digest.dormer_digest == VERSION => Ok(digest),
            Ok(digest) => Err(format!(
                "the digest is of version {}, and this program reads version {VERSION}; make it anew",
                digest.dormer_digest
            )),
            Err(error) => Err(format!("the digest cannot be read: {error}")),
        })
    }
}
