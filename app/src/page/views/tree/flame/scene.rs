//! The blocks from the worker, and navigation between them.

use crate::protocol::FlameBlock as Block;

impl Block {
    fn right_px(&self) -> f64 {
        self.left_px + self.wide_px
    }

    fn holds(&self, x: f64) -> bool {
        self.left_px <= x && x < self.right_px()
    }

    fn middle_px(&self) -> f64 {
        self.left_px + self.wide_px / 2.0
    }
}

/// A direction from a block to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    Caller,
    /// The callee with the most time.
    Called,
    Before,
    After,
}

/// Blocks row by row, each from left to right.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scene {
    pub(super) blocks: Vec<Block>,
}

impl Scene {
    /// Decodes the worker's answer.
    pub(super) fn new(bytes: &[u8]) -> Scene {
        let blocks = Block::read_all(bytes);
        Scene { blocks }
    }

    /// The index range of a row's blocks.
    fn row(&self, row: usize) -> std::ops::Range<usize> {
        let start = self.blocks.partition_point(|block| block.row < row);
        let end = self.blocks.partition_point(|block| block.row <= row);
        start..end
    }

    /// The number of rows before the first branching: frames of a script, a launcher, a server, each with a single
    /// child.
    pub(super) fn common_rows(&self) -> usize {
        let whole = self.blocks.first().map_or(0.0, |block| block.wide_px);
        let is_one = |row: &usize| match self.blocks.get(self.row(*row)) {
            Some([block]) => block.wide_px > 0.9 * whole,
            _ => false,
        };
        (0..).take_while(is_one).count()
    }

    pub(super) fn at(&self, row: usize, x: f64) -> Option<usize> {
        let mut row = self.row(row);
        row.find(|at| self.blocks.get(*at).is_some_and(|block| block.holds(x)))
    }

    /// The block of a call, whether it is drawn by itself or merged with others.
    pub(super) fn of_node(&self, node: u32) -> Option<usize> {
        self.blocks.iter().position(|block| block.node == node)
    }

    /// The block in a direction; `None` if there is none.
    pub(super) fn neighbor(&self, from: usize, direction: Direction) -> Option<usize> {
        let block = self.blocks.get(from)?;
        let is_same_row = |at: usize| self.blocks.get(at).filter(|other| other.row == block.row);
        match direction {
            Direction::Caller => self.at(block.row.checked_sub(1)?, block.middle_px()),
            Direction::Called => {
                let inside = self.row(block.row + 1).filter(|at| {
                    let middle = self.blocks.get(*at).map(Block::middle_px);
                    middle.is_some_and(|x| block.holds(x))
                });
                let wide = |at: &usize| self.blocks.get(*at).map_or(0.0, |block| block.wide_px);
                // Of equal ones, the first.
                inside
                    .rev()
                    .max_by(|one, other| wide(one).total_cmp(&wide(other)))
            }
            Direction::Before => from.checked_sub(1).filter(|at| is_same_row(*at).is_some()),
            Direction::After => Some(from + 1).filter(|at| is_same_row(*at).is_some()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(row: usize, left_px: f64, wide_px: f64, node: u32) -> Block {
        Block {
            left_px,
            wide_px,
            node,
            n_calls: 1,
            row,
            ..Block::default()
        }
    }

    /// ```text
    /// 1 1 1 1 1 1 1 1 2 2
    /// 3 3 4 4 4 4     5
    /// ```
    fn scene() -> Scene {
        Scene {
            blocks: vec![
                block(0, 0.0, 80.0, 1),
                block(0, 80.0, 20.0, 2),
                block(1, 0.0, 20.0, 3),
                block(1, 20.0, 40.0, 4),
                block(1, 80.0, 10.0, 5),
            ],
        }
    }

    #[test]
    fn arrows_lead_to_caller_called_and_siblings() {
        let scene = scene();
        let go = |from: u32, direction| {
            let to = scene.neighbor(scene.of_node(from)?, direction)?;
            Some(scene.blocks[to].node)
        };
        let cases = [
            (1, Direction::Called, Some(4)),
            (1, Direction::After, Some(2)),
            (1, Direction::Before, None),
            (1, Direction::Caller, None),
            (2, Direction::After, None),
            (2, Direction::Called, Some(5)),
            (3, Direction::After, Some(4)),
            (4, Direction::Caller, Some(1)),
            (4, Direction::Called, None),
            (5, Direction::Caller, Some(2)),
            (5, Direction::Before, Some(4)),
        ];
        for (from, direction, to) in cases {
            assert_eq!(go(from, direction), to, "{from} {direction:?}");
        }
    }

    #[test]
    fn the_common_rows_end_where_calls_are_side_by_side() {
        assert_eq!(scene().common_rows(), 0);
        assert_eq!(Scene::default().common_rows(), 0);
        let chain = [(0, 100.0), (1, 95.0), (2, 60.0)];
        let blocks = chain.map(|(row, wide_px)| block(row, 0.0, wide_px, row as u32));
        let chain = Scene {
            blocks: blocks.to_vec(),
        };
        assert_eq!(chain.common_rows(), 2);
    }

    #[test]
    fn a_block_is_found_where_it_is_drawn() {
        let scene = scene();
        let node = |row, x| scene.at(row, x).map(|at| scene.blocks[at].node);
        assert_eq!(node(0, 79.9), Some(1));
        assert_eq!(node(0, 80.0), Some(2));
        assert_eq!(node(1, 70.0), None);
        assert_eq!(node(2, 5.0), None);
    }

    #[test]
    fn blocks_travel_as_bytes() {
        let block = Block {
            left_px: 1.5,
            wide_px: 2.0,
            gpu_ns: 3000.0,
            cpu_ns: 4000.0,
            node: 7,
            name: 8,
            n_calls: 9,
            row: 10,
            hue: 11,
        };
        let bytes: Vec<u8> = block.bytes().chain([0]).collect();
        assert_eq!(Block::read_all(&bytes), [block]);
    }
}
