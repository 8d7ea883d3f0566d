//! The worker's drawing as the page keeps it: enough for moving and zooming until the next drawing arrives.

use crate::protocol::{BLOCK_BYTES, Drawn, GapMark, MARK_HUE, TraceSide};
use dormer_core::base::sort::Arrange;

use super::window::Window;

/// A block, in trace time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Block {
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
    pub(super) uid: u32,
    pub(super) row: usize,
    pub(super) hue: u8,
    /// The share of it that is filled, 0 to 1.
    pub(super) filled: f64,
}

/// An idle gap.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Gap {
    pub(super) side: TraceSide,
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
    /// Its description.
    pub(super) text: String,
}

/// A drawing.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Scene {
    pub(super) window: Window,
    /// Nanoseconds per pixel at the time of drawing.
    pub(super) ns_per_px: f64,
    pub(super) rows: Vec<usize>,
    /// For each counter, by number, its maximum in each pixel.
    pub(super) counters: Vec<(u32, Vec<f32>)>,
    /// Blocks that match the search.
    pub(super) hits: Vec<Block>,
    /// Its blocks, sorted by hue and fill, because changing a canvas's fill style is slow.
    pub(super) blocks: Vec<Block>,
    /// Names of blocks, at any position.
    pub(super) labels: Vec<(Block, String)>,
    /// Positions of search results that are too short to be visible.
    pub(super) marks: Vec<Block>,
    /// Idle times.
    pub(super) gaps: Vec<Gap>,
}

/// The number of discrete fill levels.
const FILLS: f64 = 4.0;

impl Scene {
    /// Decodes the worker's answer.
    pub(super) fn new(
        window: Window,
        ns_per_px: f64,
        rows: Vec<usize>,
        drawn: Drawn,
        bytes: &[u8],
    ) -> Scene {
        let ns = |px: f32| window.from_ns + f64::from(px) * ns_per_px;
        let blocks: Vec<Block> = bytes
            .chunks_exact(BLOCK_BYTES)
            .filter_map(|bytes| block(bytes, ns))
            .collect();
        let labels = drawn.labels.into_iter();
        let labels = labels
            .filter_map(|(position, label)| Some((*blocks.get(position as usize)?, label)))
            .collect();
        let hits = drawn.hits.iter();
        let hits = hits.filter_map(|position| blocks.get(*position as usize).copied());
        let hits = hits.collect();
        let (marks, mut blocks): (Vec<Block>, Vec<Block>) =
            blocks.into_iter().partition(|block| block.hue == MARK_HUE);
        blocks.arrange_by_key(|block| (block.hue, (block.filled * FILLS) as u8));
        let gap = |gap: GapMark| Gap {
            side: gap.side,
            from_ns: ns(gap.left_px),
            to_ns: ns(gap.right_px),
            text: gap.text,
        };
        Scene {
            window,
            ns_per_px,
            rows,
            counters: drawn.counters,
            hits,
            blocks,
            labels,
            marks,
            gaps: drawn.gaps.into_iter().map(gap).collect(),
        }
    }

    /// Whether it is good enough for a window: it covers the window's time and rows, at about the same zoom.
    pub(super) fn serves(
        &self,
        window: Window,
        ns_per_px: f64,
        rows: &[usize],
        counters: &[u32],
    ) -> bool {
        let is_same_zoom = (self.ns_per_px / ns_per_px - 1.0).abs() < 1e-6;
        let has_rows = rows.iter().all(|row| self.rows.contains(row));
        let has = |number: &u32| self.counters.iter().any(|(known, _)| known == number);
        is_same_zoom && has_rows && counters.iter().all(has) && self.window.holds(window)
    }
}

fn block(bytes: &[u8], ns: impl Fn(f32) -> f64) -> Option<Block> {
    let word = |at: usize| -> Option<[u8; 4]> { bytes.get(at..at + 4)?.try_into().ok() };
    let row = u16::from_le_bytes(bytes.get(12..14)?.try_into().ok()?);
    Some(Block {
        from_ns: ns(f32::from_le_bytes(word(0)?)),
        to_ns: ns(f32::from_le_bytes(word(4)?)),
        uid: u32::from_le_bytes(word(8)?),
        row: usize::from(row),
        hue: *bytes.get(14)?,
        filled: f64::from(*bytes.get(15)?) / 255.0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(left_px: f32, right_px: f32, uid: u32, row: u16, hue: u8, fill: u8) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(left_px.to_le_bytes());
        bytes.extend(right_px.to_le_bytes());
        bytes.extend(uid.to_le_bytes());
        bytes.extend(row.to_le_bytes());
        bytes.extend([hue, fill]);
        bytes
    }

    #[test]
    fn a_drawing_is_read_and_sorted_by_color_with_its_labels() {
        let window = Window {
            from_ns: 1_000.0,
            to_ns: 3_000.0,
        };
        let all = [
            bytes(0.0, 10.0, 7, 2, 5, 255),
            bytes(20.0, 21.0, 9, 0, 1, 51),
            bytes(4.0, 5.0, 8, 1, MARK_HUE, 255),
        ]
        .concat();
        let drawn = Drawn {
            labels: vec![(0, "gemm".to_owned()), (9, "nobody".to_owned())],
            gaps: vec![GapMark {
                side: TraceSide::Reference,
                left_px: 10.0,
                right_px: 20.0,
                text: "1.00 µs Launching".to_owned(),
            }],
            hits: vec![0],
            counters: Vec::new(),
        };
        let scene = Scene::new(window, 100.0, vec![0, 1, 2], drawn, &all);
        assert_eq!(scene.hits[0].uid, 7);
        let order: Vec<(u32, f64, f64)> = scene
            .blocks
            .iter()
            .map(|block| (block.uid, block.from_ns, block.filled))
            .collect();
        assert_eq!(order, [(9, 3_000.0, 0.2), (7, 1_000.0, 1.0)]);
        let marks = scene.marks.iter();
        let marks: Vec<(u32, usize)> = marks.map(|mark| (mark.uid, mark.row)).collect();
        assert_eq!(marks, [(8, 1)]);
        assert_eq!(scene.labels.len(), 1);
        assert_eq!(
            (scene.labels[0].0.uid, scene.labels[0].0.to_ns),
            (7, 2_000.0)
        );
        let gap = Gap {
            side: TraceSide::Reference,
            from_ns: 2_000.0,
            to_ns: 3_000.0,
            text: "1.00 µs Launching".to_owned(),
        };
        assert_eq!(scene.gaps, [gap]);
    }

    #[test]
    fn a_drawing_serves_what_lies_inside_it_at_its_zoom() {
        let window = |from_ns, to_ns| Window { from_ns, to_ns };
        let rows: Vec<usize> = (2..9).collect();
        let scene = Scene::new(window(0.0, 300.0), 1.0, rows, Drawn::default(), &[]);
        assert!(scene.serves(window(100.0, 200.0), 1.0, &[3, 8], &[]));
        assert!(!scene.serves(window(250.0, 350.0), 1.0, &[3, 8], &[]));
        assert!(!scene.serves(window(100.0, 200.0), 0.5, &[3, 8], &[]));
        assert!(!scene.serves(window(100.0, 200.0), 1.0, &[1], &[]));
        assert!(!scene.serves(window(100.0, 200.0), 1.0, &[3], &[0]));
    }
}
