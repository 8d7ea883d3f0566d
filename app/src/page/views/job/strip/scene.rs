//! The layout of a step: lanes from top to bottom, time from left to right.

use dormer_core::job::strip::{StepStrip, StripPart};

/// The kinds of a rank's time, as drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Work,
    Copies,
    Late,
    Idle,
    Waiting,
    Transfer,
}

impl Kind {
    pub(super) const ALL: [Kind; 6] = [
        Kind::Work,
        Kind::Copies,
        Kind::Late,
        Kind::Idle,
        Kind::Waiting,
        Kind::Transfer,
    ];

    /// Its color token.
    pub(super) fn token(self) -> &'static str {
        match self {
            Kind::Work => "computation",
            Kind::Copies => "copy",
            Kind::Late => "late",
            Kind::Idle => "idle",
            Kind::Waiting => "waiting",
            Kind::Transfer => "comm",
        }
    }

    pub(super) fn label(self) -> &'static str {
        match self {
            Kind::Work => "Computation",
            Kind::Copies => "Copies",
            Kind::Late => "Launched late",
            Kind::Idle => "Idle",
            Kind::Waiting => "Waiting for other ranks",
            Kind::Transfer => "Transfer",
        }
    }

    pub(super) fn ns(self, part: &StripPart) -> i64 {
        match self {
            Kind::Work => part.work_ns,
            Kind::Copies => part.copies_ns,
            Kind::Late => part.late_ns,
            Kind::Idle => part.idle_ns,
            Kind::Waiting => part.wait_ns,
            Kind::Transfer => part.transfer_ns(),
        }
    }
}

/// A part of a lane, a collective of a rank: their positions.
pub(super) type Cell = (usize, usize);

/// Positions, in CSS pixels, within a time range.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Stretch {
    /// Space for labels at the left.
    pub(super) gutter_px: f64,
    pub(super) width_px: f64,
    pub(super) row_px: f64,
    pub(super) n_rows: usize,
    pub(super) from_ns: f64,
    pub(super) to_ns: f64,
}

impl Stretch {
    /// For this many lanes; `span` is the time range, the whole step if `None`.
    pub(super) fn new(
        (width, gutter_px): (f64, f64),
        n_rows: usize,
        length_ns: i64,
        span: Option<(u64, u64)>,
    ) -> Stretch {
        let length_ns = length_ns.max(1) as f64;
        let (from_ns, to_ns) = span.map_or((0.0, length_ns), |(from, to)| (from as f64, to as f64));
        let from_ns = from_ns.min(length_ns - 1.0).max(0.0);
        Stretch {
            gutter_px,
            width_px: (width - gutter_px).max(1.0),
            row_px: (460.0 / n_rows.max(1) as f64).clamp(8.0, 28.0),
            n_rows,
            from_ns,
            to_ns: to_ns.min(length_ns).max(from_ns + 1.0),
        }
    }

    pub(super) fn height_px(&self) -> f64 {
        self.row_px * self.n_rows as f64
    }

    fn ns_per_px(&self) -> f64 {
        (self.to_ns - self.from_ns) / self.width_px
    }

    pub(super) fn px(&self, ns: i64) -> f64 {
        self.gutter_px + (ns as f64 - self.from_ns) / self.ns_per_px()
    }

    pub(super) fn ns_at(&self, px: f64) -> f64 {
        let ns = self.from_ns + (px - self.gutter_px) * self.ns_per_px();
        ns.clamp(self.from_ns, self.to_ns)
    }

    /// The collective at a point, or the one that the rank is working towards there.
    pub(super) fn at(&self, strip: &StepStrip, x: f64, y: f64) -> Option<Cell> {
        if x < self.gutter_px || y < 0.0 {
            return None;
        }
        let lane = (y / self.row_px) as usize;
        let parts = &strip.lanes.get(lane)?.parts;
        let slack = 1.5 * self.ns_per_px();
        let ns = self.ns_at(x);
        let is_in = |part: &&(usize, &StripPart)| {
            let (since, end) = (part.1.since_ns as f64, part.1.end_ns as f64);
            (since - slack..=end + slack).contains(&ns)
        };
        let within = parts.iter().enumerate().filter(|part| is_in(&part));
        // If there are several, the one that runs there; the shortest first.
        let (at, _) = within.min_by_key(|(_, part)| {
            let runs = (part.start_ns as f64..=part.end_ns as f64).contains(&ns);
            (!runs, part.end_ns - part.since_ns)
        })?;
        Some((lane, at))
    }

    /// The time range scaled by a factor around a time.
    pub(super) fn zoomed(&self, times: f64, around_ns: f64, length_ns: i64) -> Option<(u64, u64)> {
        const LEAST_NS: f64 = 2_000.0;
        let all = length_ns.max(1) as f64;
        let length = ((self.to_ns - self.from_ns) * times).clamp(LEAST_NS.min(all), all);
        let from = (around_ns - length / 2.0).clamp(0.0, all - length);
        (length < all).then_some((from as u64, (from + length) as u64))
    }

    /// A range of the same length, moved to contain a time.
    pub(super) fn showing(&self, ns: i64, length_ns: i64) -> Option<(u64, u64)> {
        let is_seen = (self.from_ns..=self.to_ns).contains(&(ns as f64));
        match is_seen {
            true => None,
            false => self.zoomed(1.0, ns as f64, length_ns),
        }
    }

    /// Round times on the axis: position and time.
    pub(super) fn ticks(&self) -> Vec<(f64, i64)> {
        const APART_PX: f64 = 84.0;
        let least = APART_PX * self.ns_per_px();
        let power = 10_f64.powf(least.max(1.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|times| times * power);
        let step = step.into_iter().find(|step| *step >= least);
        let step = step.unwrap_or(10.0 * power).max(1.0);
        let first = (self.from_ns / step).ceil() as i64;
        let last = (self.to_ns / step).floor() as i64;
        let times = (first..=last.min(first + 100)).map(|at| (at as f64 * step) as i64);
        times.map(|ns| (self.px(ns), ns)).collect()
    }
}

/// The lanes of each collective, with its part in each.
pub(super) fn members(strip: &StepStrip) -> Vec<Vec<Cell>> {
    let mut members: Vec<Vec<Cell>> = vec![Vec::new(); strip.collectives.len()];
    for (lane, of) in strip.lanes.iter().enumerate() {
        for (at, part) in of.parts.iter().enumerate() {
            if let Some(members) = members.get_mut(part.collective as usize) {
                members.push((lane, at));
            }
        }
    }
    members
}

pub(super) fn part(strip: &StepStrip, (lane, at): Cell) -> Option<&StripPart> {
    strip.lanes.get(lane)?.parts.get(at)
}

/// The part of another lane whose start is nearest to this one's.
pub(super) fn nearest_in_lane(strip: &StepStrip, here: Cell, lane: usize) -> Option<Cell> {
    let start_ns = part(strip, here).map_or(0, |part| part.start_ns);
    let parts = strip.lanes.get(lane)?.parts.iter().enumerate();
    let nearest = parts.min_by_key(|(_, part)| part.start_ns.abs_diff(start_ns));
    nearest.map(|(at, _)| (lane, at))
}

#[cfg(test)]
mod tests {
    use dormer_core::job::strip::StripLane;

    use super::*;

    /// Two ranks: each works until 40 or 70 µs, then both are in a collective until 100 µs.
    fn strip() -> StepStrip {
        let lane = |rank, start_us: i64| StripLane {
            rank,
            parts: vec![StripPart {
                start_ns: start_us * 1000,
                end_ns: 100_000,
                work_ns: start_us * 1000,
                wait_ns: (70 - start_us) * 1000,
                ..StripPart::default()
            }],
        };
        StepStrip {
            length_ns: 100_000,
            lanes: vec![lane(0, 40), lane(1, 70)],
            collectives: vec![Default::default()],
            ..StepStrip::default()
        }
    }

    #[test]
    fn a_point_is_of_a_collective_or_of_what_comes_before_it() {
        let strip = strip();
        let stretch = Stretch::new((220.0, 20.0), 2, strip.length_ns, None);
        assert_eq!(stretch.px(50_000).to_string(), "120");
        assert_eq!(stretch.at(&strip, 120.0, 1.0), Some((0, 0)));
        assert_eq!(stretch.at(&strip, 30.0, stretch.row_px + 1.0), Some((1, 0)));
        assert_eq!(stretch.at(&strip, 10.0, 1.0), None);
        assert_eq!(stretch.at(&strip, 120.0, 3.0 * stretch.row_px), None);
        assert_eq!(members(&strip), [vec![(0, 0), (1, 0)]]);
        assert_eq!(nearest_in_lane(&strip, (0, 0), 1), Some((1, 0)));
        assert_eq!(nearest_in_lane(&strip, (0, 0), 2), None);
        let split = Kind::ALL.map(|kind| kind.ns(&strip.lanes[0].parts[0]) / 1000);
        assert_eq!(split, [40, 0, 0, 0, 30, 30]);
    }

    #[test]
    fn a_part_of_the_time_is_as_wide_as_all_of_it() {
        let half = Stretch::new((220.0, 20.0), 2, 100_000, Some((50_000, 100_000)));
        assert_eq!(
            [half.px(50_000), half.px(100_000)].map(|px| px as i64),
            [20, 220]
        );
        assert_eq!(half.zoomed(0.5, 75_000.0, 100_000), Some((62_500, 87_500)));
        assert_eq!(half.zoomed(4.0, 75_000.0, 100_000), None, "all of it");
        assert_eq!(half.showing(60_000, 100_000), None);
        assert_eq!(half.showing(10_000, 100_000), Some((0, 50_000)));
        let ticks: Vec<i64> = half.ticks().into_iter().map(|(_, ns)| ns).collect();
        assert_eq!(ticks, [50_000, 100_000]);
    }
}
