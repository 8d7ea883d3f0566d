//! What marks are read against: lines and numbers at the powers of ten, and the roofline, which is the
//! slope of the memory and the ceilings of the units, with their names.

use super::drawing::{BAND, BOTTOM, Drawing, LEFT, LINE, RIGHT, TOP, Text, WIDE};
use crate::page::components::log_scale::LogScale;
use crate::protocol::RooflineChart;

/// Between the numbers of an axis.
const APART: f64 = 44.0;

impl Drawing {
    /// Lines and numbers at the powers of ten.
    pub(super) fn axes(&mut self, across: &LogScale, up: &LogScale) {
        let (floor, right) = (self.floor, self.width - RIGHT);
        for (x, text) in across.ticks(APART) {
            self.lines.push([x, TOP, x, floor]);
            self.text(x, floor + LINE, "tick middle", text);
        }
        for (y, text) in up.ticks(APART / 2.0) {
            self.lines.push([LEFT, y, right, y]);
            self.text(LEFT - 8.0, y + 4.0, "tick end", text);
        }
        self.text(right, floor + 2.0 * LINE + 2.0, "axis end", "FLOPS/Byte");
        self.text(4.0, LINE - 3.0, "axis", "TFLOPS/s");
    }

    /// The panel of those that have a bandwidth alone.
    pub(super) fn band(&mut self, band: &LogScale, tb_per_s: f64, label: &str) {
        let (top, floor) = (self.height - BAND + 14.0, self.height - BOTTOM);
        for (x, text) in band.ticks(APART) {
            self.lines.push([x, top, x, floor]);
            self.text(x, floor + LINE, "tick middle", text);
        }
        let right = self.width - RIGHT;
        self.text(
            right,
            floor + 2.0 * LINE + 2.0,
            "axis end",
            "TB/s, no FLOPs",
        );
        let x = band.px(tb_per_s);
        self.roof
            .push(format!("M{x:.1} {top:.1}L{x:.1} {floor:.1}"));
        self.text(x - 6.0, top + 10.0, "name end", label);
    }

    /// The slope of the memory up to the farthest ridge, and the ceilings from their ridges on.
    pub(super) fn roof(&mut self, chart: &RooflineChart, across: &LogScale, up: &LogScale) {
        let Some(memory) = &chart.memory else {
            return;
        };
        let (first, last) = across.ends();
        let (lowest, _) = up.ends();
        // The slope enters the picture at its left edge or at its floor.
        let start = first.max(lowest / memory.tb_per_s());
        let ridge = chart.ceilings.iter().map(|ceiling| ceiling.ridge);
        let ridge = ridge.fold(f64::NEG_INFINITY, f64::max);
        let end = if ridge.is_finite() {
            ridge.min(last)
        } else {
            last
        };
        let at = |intensity: f64| (across.px(intensity), up.px(intensity * memory.tb_per_s()));
        let ((x1, y1), (x2, y2)) = (at(start), at(end));
        self.roof.push(format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}"));
        let angle = (y2 - y1).atan2(x2 - x1).to_degrees();
        // Where the slope has room for its name: at its lower end.
        let (x, y) = (x1 + (x2 - x1) * 0.06, y1 + (y2 - y1) * 0.06);
        self.texts.push(Text {
            x,
            y: y - 7.0,
            class: "name",
            transform: format!("rotate({angle:.1} {x:.1} {y:.1})"),
            text: match self.width < WIDE {
                true => memory.short(),
                false => memory.label(),
            },
        });
        let right = self.width - RIGHT;
        let mut lowest_name = f64::NEG_INFINITY;
        for ceiling in &chart.ceilings {
            let (x, y) = (across.px(ceiling.ridge), up.px(ceiling.tflops));
            self.roof.push(format!("M{x:.1} {y:.1}L{right:.1} {y:.1}"));
            // Names of ceilings that lie close together stand below each other.
            let name_y = (y - 6.0).max(lowest_name + LINE);
            lowest_name = name_y;
            let name = match self.width < WIDE {
                true => ceiling.short(),
                false => ceiling.label(),
            };
            self.text(right, name_y, "name end", name);
        }
    }
}
