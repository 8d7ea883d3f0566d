//! Files of a format: the bytes that identify it, followed by those of the input.

use super::message::message;

/// A file in the format with this number.
pub fn any(which: u8, rest: &[u8]) -> Vec<u8> {
    match which % 4 {
        0 => rest.to_vec(),
        1 => pftrace(rest),
        2 => xplane(rest),
        _ => rocprof(rest),
    }
}

/// Records after a valid packet of Perfetto's format or a valid plane of XLA's.
pub fn records(which: u8, rest: &[u8]) -> Vec<u8> {
    let first: &[u8] = match which % 2 {
        0 => b"1{8=1 10=1 60{}}",
        _ => b"1{2\"/host:CPU\"}",
    };
    [message(first), rest.to_vec()].concat()
}

/// Perfetto's packets.
pub fn pftrace(rest: &[u8]) -> Vec<u8> {
    records(0, &message(rest))
}

/// XLA's planes.
pub fn xplane(rest: &[u8]) -> Vec<u8> {
    records(1, &message(rest))
}

/// What rocprofv3 writes, from its first key on.
pub fn rocprof(rest: &[u8]) -> Vec<u8> {
    [b"{\"rocprofiler-sdk-tool\": [", rest].concat()
}

/// A tar archive, whose first header has its mark and its right sum.
pub fn tar(rest: &[u8]) -> Vec<u8> {
    let mut bytes = rest.to_vec();
    if let Some(header) = bytes.first_chunk_mut::<512>() {
        header[257..263].copy_from_slice(b"ustar\0");
        header[148..156].fill(b' ');
        let sum: u64 = header.iter().map(|byte| u64::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    }
    bytes
}
