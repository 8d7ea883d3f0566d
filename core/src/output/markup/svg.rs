//! Pictures as SVG without scripts. Colors are the page's, one for each category, in a shade that is readable on a
//! light and on a dark background.

use super::html::escape;
use crate::names::Family;

/// Width of every picture, in its own units.
pub(crate) const WIDTH: f64 = 960.0;

pub(crate) fn color(family: Family) -> &'static str {
    match family {
        Family::Gemm => "#4a7fc6",
        Family::Attention => "#d06a53",
        Family::Convolution => "#35aa9b",
        Family::Normalization => "#9880c6",
        Family::Elementwise => "#dba848",
        Family::Reduction => "#88aa44",
        Family::Moe => "#c0669c",
        Family::Triton => "#5c9cb6",
        Family::MemoryCopy => "#a89880",
        Family::Communication => "#7274b6",
        Family::Other => "#98938a",
        Family::Unattributed => "#7d7f86",
    }
}

pub(crate) const IDLE: &str = "#8884";
const RULE: &str = "#8888";

/// A rectangle, from its upper left corner.
pub(crate) struct Rect {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

/// An SVG of a given height, with a text alternative.
pub(crate) struct Svg {
    text: String,
}

impl Svg {
    pub(crate) fn new(height: f64, label: &str) -> Svg {
        Svg {
            text: format!(
                "<svg viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{}\" \
                 font-family=\"system-ui, sans-serif\" font-size=\"13\" fill=\"currentColor\">",
                escape(label)
            ),
        }
    }

    /// A bar; `title` is its tooltip.
    pub(crate) fn rect(&mut self, rect: Rect, fill: &str, title: &str) {
        let Rect {
            x,
            y,
            width,
            height,
        } = rect;
        self.text.push_str(&format!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height:.1}\" fill=\"{fill}\"><title>{}</title></rect>",
            escape(title)
        ));
    }

    /// A line of a scale; `dashes` as in SVG, empty for a solid line.
    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), dashes: &str) {
        self.text.push_str(&format!(
            "<line x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\" stroke=\"{RULE}\" stroke-dasharray=\"{dashes}\"/>",
            from.0, from.1, to.0, to.1
        ));
    }

    /// Text at a position: `anchor` is start, middle or end.
    pub(crate) fn text(&mut self, x: f64, y: f64, anchor: &str, text: &str) {
        self.text.push_str(&format!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\">{}</text>",
            escape(text)
        ));
    }

    /// A small colored square with its label.
    pub(crate) fn legend(&mut self, (x, y): (f64, f64), fill: &str, title: &str, text: &str) {
        let square = Rect {
            x,
            y: y - 10.0,
            width: 11.0,
            height: 11.0,
        };
        self.rect(square, fill, title);
        self.text(x + 18.0, y, "start", text);
    }

    /// A mark; `title` is its tooltip.
    pub(crate) fn circle(&mut self, at: (f64, f64), radius: f64, fill: &str, title: &str) {
        self.text.push_str(&format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"{fill}\" fill-opacity=\"0.75\"><title>{}</title></circle>",
            at.0,
            at.1,
            escape(title)
        ));
    }

    pub(crate) fn ring(&mut self, at: (f64, f64), radius: f64, stroke: &str) {
        self.text.push_str(&format!(
            "<circle cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius:.1}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"2\"/>",
            at.0, at.1
        ));
    }

    pub(crate) fn done(self, caption: &'static str) -> (String, &'static str) {
        (self.text + "</svg>", caption)
    }
}
