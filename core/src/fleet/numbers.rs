//! Numbers in rows of tables: counts and shares.

pub(super) fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}
