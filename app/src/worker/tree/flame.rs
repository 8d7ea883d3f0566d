//! The call tree as blocks, with callers on top: a call is as wide as its time.
//!
//! Only what is visible is returned. Adjacent calls narrower than a pixel become one block, so no time is omitted; what
//! is below them is not visited.

use std::collections::HashMap;

use dormer_core::trace::Category;
use dormer_core::{Profile, base::format};

use super::TreeView;
use super::shape::{Calls, Item};
use super::unfolded::Branches;
use crate::protocol::{Flame, FlameBlock, FlameQuery};
use crate::worker::timeline::hue;

/// Calls narrower than this are merged with adjacent ones.
const LEAST_PX: f64 = 1.0;
/// The deepest row drawn; a deeper call can be made the root.
const MAX_ROWS: usize = 512;
/// Longer names are cut in the middle: no block is wider than the window.
const NAME_CHARS: usize = 160;

impl TreeView {
    /// The description of the drawing, and its blocks as bytes.
    pub fn flame(&mut self, profile: &Profile, query: &FlameQuery) -> (Flame, Vec<u8>) {
        let mut flame = Flame {
            tokens: hue::tokens(),
            ..Flame::default()
        };
        let Some(calls) = self.calls(profile) else {
            flame.missing = Some(self.missing().to_owned());
            return (flame, Vec::new());
        };
        // The common stack is above the drawing, unless it is requested.
        let first = match query.by_cpu {
            true => None,
            false => self.first_row(&calls),
        };
        let drawing = Drawing {
            view: self,
            calls,
            by_cpu: query.by_cpu,
        };
        let is_top = |item: &Item| drawing.calls.knows(*item) && drawing.ns(*item) > 0;
        let root = query.root.or(first).filter(is_top);
        let mut blocks = drawing.blocks(root, query.width_px.clamp(1.0, 20_000.0));
        let total = |item: Option<Item>| match item {
            Some(item) => drawing.ns(item),
            None => drawing.sum(&drawing.calls.below(None)),
        };
        flame.root = root;
        flame.all_ns = total(None) as f64;
        flame.shown_ns = total(root) as f64;
        flame.path = drawing.path(root);
        flame.rows = blocks.last().map_or(0, |block| block.row + 1);
        if blocks.is_empty() {
            let what = if query.by_cpu { "CPU" } else { "GPU" };
            flame.missing = Some(format!("None of these calls has {what} time."));
        }
        let mut names: HashMap<String, usize> = HashMap::new();
        for block in &mut blocks {
            let next = names.len();
            let name = names.entry(drawing.name(block.node));
            block.name = *name.or_insert_with_key(|name| {
                flame.names.push(name.clone());
                next
            });
            block.hue = usize::from(drawing.hue(block.node));
        }
        let bytes = blocks.iter().flat_map(FlameBlock::bytes).collect();
        (flame, bytes)
    }
}

struct Drawing<'a> {
    view: &'a TreeView,
    calls: Calls<'a>,
    by_cpu: bool,
}

impl Drawing<'_> {
    fn ns(&self, item: Item) -> i64 {
        let (gpu_ns, cpu_ns) = self.calls.times(item);
        if self.by_cpu { cpu_ns } else { gpu_ns }
    }

    fn sum(&self, items: &[Item]) -> i64 {
        let times = items.iter().map(|item| self.ns(*item));
        times.fold(0, i64::saturating_add)
    }

    /// Row by row, each from left to right.
    fn blocks(&self, root: Option<Item>, width_px: f64) -> Vec<FlameBlock> {
        let top = match root {
            Some(item) => vec![item],
            None => self.calls.below(None),
        };
        let all_ns = self.sum(&top);
        if all_ns <= 0 {
            return Vec::new();
        }
        let px_per_ns = width_px / all_ns as f64;
        let mut blocks = self.row(top, 0, 0.0, width_px, px_per_ns);
        let mut next = 0;
        while let Some(block) = blocks.get(next).copied() {
            next += 1;
            let is_narrow = block.n_calls > 1 || block.wide_px < LEAST_PX;
            if is_narrow || block.row + 1 >= MAX_ROWS {
                continue;
            }
            let below = self.calls.below(Some(block.node));
            let right = block.left_px + block.wide_px;
            blocks.extend(self.row(below, block.row + 1, block.left_px, right, px_per_ns));
        }
        blocks
    }

    /// Siblings from left to right.
    fn row(
        &self,
        items: Vec<Item>,
        row: usize,
        left: f64,
        right: f64,
        scale: f64,
    ) -> Vec<FlameBlock> {
        let mut blocks: Vec<FlameBlock> = Vec::new();
        let mut left_px = left;
        // The most time of a call in the last block, while it grows.
        let mut most_ns = None;
        for item in items {
            let (gpu_ns, cpu_ns) = self.calls.times(item);
            let ns = if self.by_cpu { cpu_ns } else { gpu_ns };
            // Calls of a broken trace may take longer than the calls that contain them.
            let wide_px = (ns as f64 * scale).min(right - left_px);
            if ns <= 0 || wide_px <= 0.0 {
                continue;
            }
            let is_narrow = wide_px < LEAST_PX;
            if let (true, Some(most), Some(last)) = (is_narrow, most_ns, blocks.last_mut()) {
                last.wide_px += wide_px;
                last.gpu_ns += gpu_ns as f64;
                last.cpu_ns += cpu_ns as f64;
                last.n_calls += 1;
                if ns > most {
                    last.node = item;
                    most_ns = Some(ns);
                }
            } else {
                most_ns = is_narrow.then_some(ns);
                blocks.push(FlameBlock {
                    left_px,
                    wide_px,
                    gpu_ns: gpu_ns as f64,
                    cpu_ns: cpu_ns as f64,
                    node: item,
                    n_calls: 1,
                    row,
                    ..FlameBlock::default()
                });
            }
            left_px += wide_px;
        }
        blocks
    }

    /// The path from the top to a call, inclusive.
    fn path(&self, root: Option<Item>) -> Vec<(u32, String)> {
        let above = std::iter::successors(root, |item| self.calls.parent(*item));
        let mut path: Vec<(u32, String)> = above.map(|item| (item, self.name(item))).collect();
        path.reverse();
        path
    }

    fn name(&self, item: Item) -> String {
        format::middle_ellipsis(&self.calls.counted_name(item), NAME_CHARS)
    }

    /// The color: the category if the call launches GPU activity itself, otherwise the kind of call.
    fn hue(&self, item: Item) -> u8 {
        let events = &self.calls.profile.trace.events;
        let category = self.calls.event(item).map(|event| events.category(event));
        match (self.view.family(&self.calls, item), category) {
            (Some(family), Some(category))
                if category.is_gpu()
                    || matches!(
                        category,
                        Category::CpuOp | Category::Runtime | Category::Driver
                    ) =>
            {
                hue::of_family(family)
            }
            (_, Some(Category::PythonFunction)) => hue::of_code(self.calls.code(item)),
            (_, category) => hue::of_cpu(category),
        }
    }
}
