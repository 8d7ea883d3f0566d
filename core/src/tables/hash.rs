//! Hashes of names: stable across machines and versions, unlike those of hash tables.

/// FNV-1a, 64 bits, of some texts, each followed by a byte that does not occur in text.
pub(crate) fn fnv(texts: &[&str]) -> u64 {
    const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
    const PRIME: u64 = 0x0100_0000_01b3;
    let bytes = texts
        .iter()
        .flat_map(|text| text.bytes().chain(std::iter::once(0xff)));
    bytes.fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    })
}

/// The same as 16 hexadecimal digits.
pub(crate) fn fnv_hex(texts: &[&str]) -> String {
    format!("{:016x}", fnv(texts))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Existing stores depend on it, so it must never change.
    #[test]
    fn hashes_are_the_same_for_good() {
        assert_eq!(fnv(&[]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv_hex(&["aten::mm"]), "135be96a9c8d2ad6");
        assert_ne!(fnv(&["ab", "c"]), fnv(&["a", "bc"]));
    }
}
