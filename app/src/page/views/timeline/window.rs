//! The visible time range.

/// The smallest window: the finest resolution of traces is a nanosecond.
const LEAST_NS: f64 = 50.0;

/// A time range of the trace, in nanoseconds since its first event.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct Window {
    /// At the left edge.
    pub(super) from_ns: f64,
    /// At the right edge.
    pub(super) to_ns: f64,
}

impl Window {
    /// From one time to another, clamped to a trace of this length.
    pub(super) fn new(from_ns: f64, to_ns: f64, length_ns: f64) -> Window {
        let length_ns = length_ns.max(LEAST_NS);
        let wide = (to_ns - from_ns).clamp(LEAST_NS, length_ns);
        let from_ns = from_ns.clamp(0.0, length_ns - wide);
        Window {
            from_ns,
            to_ns: from_ns + wide,
        }
    }

    pub(super) fn around(from_ns: f64, to_ns: f64, length_ns: f64) -> Window {
        let room = ((to_ns - from_ns) * 1.5).max(LEAST_NS);
        Window::new(from_ns - room, to_ns + room, length_ns)
    }

    pub(super) fn length_ns(self) -> f64 {
        self.to_ns - self.from_ns
    }

    pub(super) fn ns_per_px(self, width_px: f64) -> f64 {
        self.length_ns() / width_px.max(1.0)
    }

    pub(super) fn ns(self, px: f64, width_px: f64) -> f64 {
        self.from_ns + px * self.ns_per_px(width_px)
    }

    pub(super) fn px(self, ns: f64, width_px: f64) -> f64 {
        (ns - self.from_ns) / self.ns_per_px(width_px)
    }

    /// Zooms in (below 1) or out (above 1) around a fixed time.
    pub(super) fn zoom(self, at_ns: f64, factor: f64, length_ns: f64) -> Window {
        let wide = (self.length_ns() * factor).clamp(LEAST_NS, length_ns.max(LEAST_NS));
        let factor = wide / self.length_ns();
        let from_ns = at_ns - (at_ns - self.from_ns) * factor;
        Window::new(from_ns, from_ns + wide, length_ns)
    }

    /// Moves forward in time.
    pub(super) fn pan(self, by_ns: f64, length_ns: f64) -> Window {
        Window::new(self.from_ns + by_ns, self.to_ns + by_ns, length_ns)
    }

    /// Whether another window is entirely inside.
    pub(super) fn holds(self, other: Window) -> bool {
        self.from_ns <= other.from_ns && other.to_ns <= self.to_ns
    }
}

/// Round times for a ruler, at least `apart_px` from each other.
pub(super) fn ticks(window: Window, width_px: f64, apart_px: f64) -> Vec<f64> {
    let least = window.ns_per_px(width_px) * apart_px;
    let decade = 10_f64.powf(least.max(1.0).log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0]
        .into_iter()
        .map(|factor| factor * decade)
        .find(|step| *step >= least)
        .unwrap_or(10.0 * decade);
    let first = (window.from_ns / step).ceil() as i64;
    let last = (window.to_ns / step).floor() as i64;
    (first..=last).map(|number| number as f64 * step).collect()
}

/// A tick's time in the unit that fits the distance between ticks: `1.25 ms`.
pub(super) fn tick_label(ns: f64, step_ns: f64) -> String {
    let (unit, name) = match step_ns {
        step if step >= 1e9 => (1e9, "s"),
        step if step >= 1e6 => (1e6, "ms"),
        step if step >= 1e3 => (1e3, "µs"),
        _ => (1.0, "ns"),
    };
    format!(
        "{} {name}",
        dormer_core::base::format::count((ns / unit).round() as u64)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LENGTH: f64 = 1e6;

    fn window(from_ns: f64, to_ns: f64) -> Window {
        Window::new(from_ns, to_ns, LENGTH)
    }

    #[test]
    fn the_time_under_the_pointer_stays_there_while_zooming() {
        let zoomed = window(0.0, 1e6).zoom(250_000.0, 0.5, LENGTH);
        let there = zoomed.px(250_000.0, 800.0);
        assert_eq!((zoomed, there), (window(125_000.0, 625_000.0), 200.0));
    }

    #[test]
    fn it_never_leaves_the_trace() {
        assert_eq!(
            window(400_000.0, 500_000.0).pan(1e9, LENGTH),
            window(900_000.0, 1e6)
        );
        assert_eq!(window(0.0, 10.0).zoom(5.0, 1e9, LENGTH), window(0.0, 1e6));
        assert_eq!(
            window(0.0, 1e6).zoom(0.0, 1e-9, LENGTH),
            window(0.0, LEAST_NS)
        );
        assert_eq!(Window::new(0.0, 0.0, 0.0), window(0.0, LEAST_NS));
    }

    #[test]
    fn ticks_stand_at_round_times() {
        let found = ticks(window(120_000.0, 1e6), 880.0, 100.0);
        assert_eq!(
            found,
            [
                200_000.0, 300_000.0, 400_000.0, 500_000.0, 600_000.0, 700_000.0, 800_000.0,
                900_000.0, 1e6
            ]
        );
        let labels = [
            (1_500.0, 500.0, "1\u{202f}500 ns"),
            (12e6, 2e6, "12 ms"),
            (7_000.0, 1e3, "7 µs"),
        ];
        for (ns, step, label) in labels {
            assert_eq!(tick_label(ns, step), label);
        }
    }
}
