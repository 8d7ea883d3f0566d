//! Sizes from launch grids: those of GEMMs over experts, whose weights may be padded.

use crate::names::tile::Tile;
use crate::profile::launch::launch_size;
use crate::trace::{EventId, Trace};

/// Columns of a GEMM over experts: the blocks of its grid over those along the rows, times the columns of a
/// tile. `None` without a grid or a tile, where they do not fit, and where that is no padding of what
/// they should be.
pub(super) fn expert_columns(
    trace: &Trace,
    kernel: EventId,
    [tokens, chosen, experts]: [u64; 3],
    least: u64,
) -> Option<u64> {
    /// No padding is more.
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

/// Blocks along the rows of all experts, each of which has some of its own.
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
        // 32 + (32·4 − 32) / 16, as 1748 / 38 · 128 = 5888 columns.
        assert_eq!(super::row_blocks(128, 32, 16), Some(38));
        assert_eq!(super::row_blocks(8, 32, 16), Some(8));
        assert_eq!(super::row_blocks(0, 32, 16), None);
    }
}
