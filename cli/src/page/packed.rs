//! The one-file page as embedded in the command: half as large as the file, whose parts browsers have to decompress.
//! `build.rs` packs it with the same functions.

use std::io::{self, Read, Write};
use std::ops::Range;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use lzma_rust2::{Lzma2Reader, LzmaOptions};

/// With a window of 8 MB: a larger one saves nothing, and decompression needs as much memory as the window.
const PRESET: u32 = 6;

/// The start of a data block in the file (`xtask/src/one_file.rs`).
const START: &str = "<script type=\"application/octet-stream\"";

/// The ranges of the data blocks.
fn parts(html: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(rest) = html.get(from..)
        && let Some(tag) = rest.find(START)
        && let Some(start) = rest.get(tag..).and_then(|rest| rest.find('>'))
        && let Some(end) = rest.get(tag..).and_then(|rest| rest.find("</script>"))
    {
        found.push(from + tag + start + 1..from + tag + end);
        from += tag + end;
    }
    found
}

/// The file without its data, then the decompressed data, each preceded by its length.
#[allow(dead_code, reason = "only `build.rs` packs")]
pub(crate) fn pack(html: &str) -> io::Result<Vec<u8>> {
    use lzma_rust2::{Lzma2Options, Lzma2Writer};

    let (mut frame, mut contents) = (String::new(), Vec::new());
    let mut from = 0;
    for part in parts(html) {
        frame += html.get(from..part.start).unwrap_or_default();
        let text = html.get(part.clone()).unwrap_or_default();
        let packed = STANDARD.decode(text).map_err(io::Error::other)?;
        let mut content = Vec::new();
        GzDecoder::new(packed.as_slice()).read_to_end(&mut content)?;
        contents.push(content);
        from = part.end;
    }
    frame += html.get(from..).unwrap_or_default();
    contents.insert(0, frame.into_bytes());
    let mut options = Lzma2Options::with_preset(PRESET);
    // Code in WebAssembly is not aligned, and resembles what precedes it: half a percent.
    (options.lzma_options.lc, options.lzma_options.pb) = (4, 0);
    let mut writer = Lzma2Writer::new(Vec::new(), options);
    for content in contents {
        writer.write_all(&(content.len() as u64).to_le_bytes())?;
        writer.write_all(&content)?;
    }
    writer.finish()
}

/// Restores the file, with its data compressed at this level.
#[allow(dead_code, reason = "`build.rs` only packs")]
pub(crate) fn unpack(packed: &[u8], compression: Compression) -> io::Result<String> {
    let mut reader = Lzma2Reader::new(packed, LzmaOptions::with_preset(PRESET).dict_size, None);
    let frame = String::from_utf8(next(&mut reader)?).map_err(io::Error::other)?;
    let mut html = String::new();
    let mut from = 0;
    for part in parts(&frame) {
        html += frame.get(from..part.start).unwrap_or_default();
        let mut encoder = GzEncoder::new(Vec::new(), compression);
        encoder.write_all(&next(&mut reader)?)?;
        STANDARD.encode_string(encoder.finish()?, &mut html);
        from = part.end;
    }
    html += frame.get(from..).unwrap_or_default();
    Ok(html)
}

/// The next packed part.
fn next(reader: &mut impl Read) -> io::Result<Vec<u8>> {
    let mut length = [0; 8];
    reader.read_exact(&mut length)?;
    let mut content = Vec::new();
    reader
        .take(u64::from_le_bytes(length))
        .read_to_end(&mut content)?;
    Ok(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(content: &[u8], compression: Compression) -> String {
        let mut encoder = GzEncoder::new(Vec::new(), compression);
        encoder.write_all(content).unwrap();
        let text = STANDARD.encode(encoder.finish().unwrap());
        format!(
            "<script type=\"application/octet-stream\" id=\"a\" data-codec=\"gzip\">{text}</script>\n"
        )
    }

    #[test]
    fn the_file_comes_out_as_it_was() {
        let module = b"\0asm".repeat(5000);
        let html = |compression| {
            let (one, other) = (part(&module, compression), part(b"f();", compression));
            format!(
                "<!DOCTYPE html>\n<p>\u{fc}</p>\n{one}{other}<script type=\"module\">\n</script>\n"
            )
        };
        let packed = pack(&html(Compression::best())).unwrap();
        assert!(packed.len() < 1000, "{}", packed.len());
        for compression in [Compression::best(), Compression::fast()] {
            assert_eq!(unpack(&packed, compression).unwrap(), html(compression));
        }
        assert!(unpack(&packed[..packed.len() / 2], Compression::fast()).is_err());
        assert!(pack("<script type=\"application/octet-stream\">?</script>").is_err());
        let plain = pack("no data").unwrap();
        assert_eq!(unpack(&plain, Compression::fast()).unwrap(), "no data");
    }
}
