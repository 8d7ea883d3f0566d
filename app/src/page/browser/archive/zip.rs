//! A zip archive. A compressed member becomes a gzip file: the same compressed bytes with another header and trailer.

use js_sys::{Array, Uint8Array};
use web_sys::File;

use super::{base_name, slice};

/// Sizes of the end-of-archive record and of the longest comment after it.
const END_BYTES: usize = 22;
const MOST_COMMENT: f64 = 65_535.0;
/// Size of a member's header, without its name.
const HEADER_BYTES: f64 = 30.0;

/// A member, as listed in the directory at the end of the archive.
#[derive(Debug, PartialEq, Eq)]
struct Member {
    name: String,
    is_deflated: bool,
    crc: u32,
    packed: u32,
    text: u32,
    header_at: u32,
}

pub(super) async fn members(file: &File) -> Option<Vec<(String, File)>> {
    let size = file.size();
    let tail = (size - MOST_COMMENT - END_BYTES as f64).max(0.0);
    let (at, bytes) = directory_place(&slice(file, tail, size).await?)?;
    let directory = slice(file, f64::from(at), f64::from(at) + f64::from(bytes)).await?;
    let mut files = Vec::new();
    for member in directory_of(&directory)? {
        let header_at = f64::from(member.header_at);
        let header = slice(file, header_at, header_at + HEADER_BYTES).await?;
        let names = f64::from(u16_at(&header, 26)?) + f64::from(u16_at(&header, 28)?);
        let start = header_at + HEADER_BYTES + names;
        let end = start + f64::from(member.packed);
        let part = file.slice_with_f64_and_f64(start, end).ok()?;
        let base = base_name(&member.name);
        let (name, parts) = match member.is_deflated {
            false => (base.to_owned(), Array::of1(&part)),
            true => {
                // A gzip header without optional fields; the method is deflate.
                let head = Uint8Array::from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255].as_slice());
                let tail = [member.crc.to_le_bytes(), member.text.to_le_bytes()].concat();
                let tail = Uint8Array::from(tail.as_slice());
                (format!("{base}.gz"), Array::of3(&head, &part, &tail))
            }
        };
        let file = File::new_with_blob_sequence(&parts, &name).ok()?;
        files.push((member.name, file));
    }
    Some(files)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// Offset and size of the directory, found in the last bytes of an archive.
fn directory_place(tail: &[u8]) -> Option<(u32, u32)> {
    let at = tail
        .windows(END_BYTES)
        .rposition(|end| end.starts_with(b"PK\x05\x06"))?;
    Some((u32_at(tail, at + 16)?, u32_at(tail, at + 12)?))
}

/// The members of a directory; `None` if one has an unsupported format.
fn directory_of(bytes: &[u8]) -> Option<Vec<Member>> {
    let mut members = Vec::new();
    let mut rest = bytes;
    while rest.starts_with(b"PK\x01\x02") {
        let lengths = [28, 30, 32].map(|at| u16_at(rest, at).map(usize::from));
        let [name, extra, comment] = lengths;
        let (name, others) = (name?, extra? + comment?);
        let member = Member {
            name: String::from_utf8_lossy(rest.get(46..46 + name)?).into_owned(),
            is_deflated: match u16_at(rest, 10)? {
                0 => false,
                8 => true,
                _ => return None,
            },
            crc: u32_at(rest, 16)?,
            packed: u32_at(rest, 20)?,
            text: u32_at(rest, 24)?,
            header_at: u32_at(rest, 42)?,
        };
        // Larger members have their sizes elsewhere (zip64).
        if [member.packed, member.header_at].contains(&u32::MAX) {
            return None;
        }
        if !member.name.ends_with('/') {
            members.push(member);
        }
        rest = rest.get(46 + name + others..)?;
    }
    Some(members)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory entry.
    fn entry(name: &str, method: u8, packed: u32, header_at: u32) -> Vec<u8> {
        let mut entry = b"PK\x01\x02".to_vec();
        entry.resize(46, 0);
        entry[10] = method;
        entry[20..24].copy_from_slice(&packed.to_le_bytes());
        entry[24..28].copy_from_slice(&100_u32.to_le_bytes());
        entry[28] = name.len() as u8;
        entry[30] = 2;
        entry[42..46].copy_from_slice(&header_at.to_le_bytes());
        [entry, name.as_bytes().to_vec(), vec![7; 2]].concat()
    }

    #[test]
    fn the_directory_lists_members() {
        let whole = [
            entry("a/", 0, 0, 0),
            entry("a/r0.json", 8, 40, 35),
            entry("r1.gz", 0, 100, 99),
        ];
        let members = directory_of(&whole.concat()).unwrap();
        let found: Vec<(&str, bool, u32, u32)> = members
            .iter()
            .map(|of| (&*of.name, of.is_deflated, of.packed, of.header_at))
            .collect();
        assert_eq!(
            found,
            [("a/r0.json", true, 40, 35), ("r1.gz", false, 100, 99)]
        );
        let other_method = entry("r.json", 93, 40, 0);
        let larger_than_its_field = entry("r.json", 8, u32::MAX, 0);
        let cut = whole[1].get(..50).unwrap_or_default();
        for broken in [&*other_method, &*larger_than_its_field, cut] {
            assert_eq!(directory_of(broken), None);
        }
    }

    #[test]
    fn the_directory_is_found_before_a_comment() {
        let mut end = b"....PK\x05\x06".to_vec();
        end.resize(4 + END_BYTES, 0);
        end[4 + 12] = 9;
        end[4 + 16] = 5;
        end.extend(b"a comment");
        assert_eq!(directory_place(&end), Some((5, 9)));
        assert_eq!(directory_place(b"PK\x05\x06"), None);
    }
}
