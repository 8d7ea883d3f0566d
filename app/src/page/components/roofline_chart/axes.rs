//! Lines and numbers at the powers of ten, of the roofline's panel and of the one below it.

use super::drawing::{BAND, BOTTOM, Drawing, LEFT, LINE, RIGHT, TOP};
use crate::page::components::log_scale::LogScale;

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
}
