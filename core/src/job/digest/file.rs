//! A digest as a file: gzipped JSON, `digests/rank00007.json.gz`.

use flate2::Compression;

use super::{Digest, VERSION};
use crate::base::gzip_json;

/// The start of a digest's JSON.
const START: &[u8] = b"{\"dormer_digest\":";

/// A digest is never larger than this; a larger file is something else.
const MOST_BYTES: u64 = 256 << 20;

impl Digest {
    /// The contents of the digest's file.
    pub fn to_file(&self) -> Vec<u8> {
        gzip_json::write(self, Compression::default())
    }

    /// The number of bytes that identify a digest, which may be compressed.
    pub const HEAD_BYTES: usize = 4096;

    /// Whether a file that begins with these bytes is a digest.
    pub fn is_file(head: &[u8]) -> bool {
        gzip_json::starts_with(head, START)
    }

    /// Parses the bytes of a file. `None` if they are not a digest, an error if they are a digest that cannot be read.
    pub fn from_file(bytes: &[u8]) -> Option<Result<Digest, String>> {
        if !Digest::is_file(bytes) {
            return None;
        }
        let json = match gzip_json::read(bytes, MOST_BYTES) {
            Ok(json) => json,
            Err(error) => return Some(Err(format!("the digest cannot be read: {error}"))),
        };
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
