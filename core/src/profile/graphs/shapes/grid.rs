//! Sizes of expert GEMMs, whose weights may be padded, from launch grids.

use crate::names::tile::Tile;
use crate::profile::launch::launch_size;
use crate::trace::{EventId, Trace};

/// N of an expert GEMM: the blocks of its grid, divided by the row blocks, times the tile width. `None` without a grid
/// or a tile, if they do not divide evenly, or if the result is not a plausible padding of the expected size.
pub(super) fn expert_columns(
    trace: &Trace,
    kernel: EventId,
    [tokens, chosen, experts]: [u64; 3],
    least: u64,
) -> Option<u64> {
    /// Padding never exceeds this.
    const MOST_PERCENT: u64 = 125;
    let (grid, _) = launch_size(trace, kernel)?;
    let blocks = grid
        .into_iter()
        .try_fold(1_u64, |all, size| all.checked_mul(size))?;
    let (block_m, block_n) = Tile::of(trace.name(kernel))?.output;
    let row_blocks = row_blocks(tokens.checked_mul(chosen)?, experts, block_m)?;
    let columns = (blocks / row_blocks).checked_mul(block_n)?;
    let is_padding = (least..=least.saturating_mul(MOST_PERCENT) / 100).contains(&columns);
    (blocks.is_multiple_of(row_blocks) && is_padding).then_some(columns)
}

/// Row blocks of all experts; each expert has its own.
fn row_blocks(rows: u64, experts: u64, block_m: u64) -> Option<u64> {
    let blocks = match rows > experts {
        true => experts + (rows - experts).checked_div(block_m)?,
        false => rows,
    };
    (blocks > 0).then_some(blocks)
}

#[cfg(test)]
mod tests {
    #[test]
    fn blocks_along_the_rows() {
        // 32 + (32·4 − 32) / 16; 1748 / 38 · 128 = 5888 columns.
        assert_eq!(super::row_blocks(128, 32, 16), Some(38));
        assert_eq!(super::row_blocks(8, 32, 16), Some(8));
        assert_eq!(super::row_blocks(0, 32, 16), None);
    }
}
