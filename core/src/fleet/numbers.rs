//! Numbers in rows of tables: counts and shares.

pub(super) fn count(items: usize) -> u32 {
    u32::try_from(items).unwrap_or(u32::MAX)
}

/// A part of a whole in percent; 0 if the whole is zero.
pub(super) fn share_percent(part: i64, whole: i64) -> f64 {
    match whole > 0 {
        true => part as f64 / whole as f64 * 100.0,
        false => 0.0,
    }
}
