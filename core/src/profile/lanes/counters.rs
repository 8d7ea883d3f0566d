//! Numbers over time, such as the number of queued kernels.

use std::collections::BTreeMap;

use super::View;
use crate::base::interval::{Coverage, Interval, union};
use crate::base::sort::Arrange;
use crate::profile::Profile;
use crate::profile::memory::{DeviceMemory, Point};
use crate::profile::window::{is_drawn, recorded_span};

/// A number that stays constant until the next sample.
#[derive(Debug, Clone, PartialEq)]
pub struct Counter {
    /// What is counted, for display.
    pub name: String,
    /// Additional information; may be empty.
    pub note: String,
    /// The unit of its values, in the plural: "kernels", "bytes".
    pub unit: &'static str,
    /// Trace time in nanoseconds and the value from then on; ascending. The value is zero before the first sample.
    samples: Vec<(i64, f64)>,
}

impl Counter {
    /// A counter from samples in time order; of several samples at the same time, the last one counts.
    pub fn new(
        name: String,
        note: String,
        unit: &'static str,
        samples: Vec<(i64, f64)>,
    ) -> Counter {
        let mut kept: Vec<(i64, f64)> = Vec::with_capacity(samples.len());
        for sample in samples {
            match kept.last_mut() {
                Some(last) if last.0 == sample.0 => *last = sample,
                _ => kept.push(sample),
            }
        }
        Counter {
            name,
            note,
            unit,
            samples: kept,
        }
    }

    /// Its samples.
    pub fn samples(&self) -> &[(i64, f64)] {
        &self.samples
    }

    /// Its maximum; zero if no value is positive.
    pub fn most(&self) -> f64 {
        self.samples
            .iter()
            .fold(0.0, |most, (_, value)| most.max(*value))
    }

    /// Its value at a time.
    pub fn at(&self, ns: i64) -> f64 {
        let next = self.samples.partition_point(|(at, _)| *at <= ns);
        let here = next.checked_sub(1).and_then(|at| self.samples.get(at));
        here.map_or(0.0, |(_, value)| *value)
    }

    /// The maximum within each pixel of a view.
    pub fn draw(&self, view: &View) -> Vec<f64> {
        let n_pixels = view.width_px.max(0.0).ceil() as usize;
        let time = |px: usize| {
            let ns = (px as f64 * view.ns_per_px) as i64;
            view.from_ns.saturating_add(ns)
        };
        let mut next = self.samples.partition_point(|(at, _)| *at <= view.from_ns);
        let mut value = self.at(view.from_ns);
        let mut pixels = Vec::with_capacity(n_pixels);
        for px in 0..n_pixels {
            while let Some((at, sample)) = self.samples.get(next)
                && *at <= time(px)
            {
                value = *sample;
                next += 1;
            }
            let mut most = value;
            while let Some((at, sample)) = self.samples.get(next)
                && *at < time(px + 1)
            {
                value = *sample;
                most = most.max(value);
                next += 1;
            }
            pixels.push(most);
        }
        pixels
    }
}

/// The counters of a trace, in display order. To add one, add it here: the timeline draws all of them.
pub fn counters(profile: &Profile) -> Vec<Counter> {
    let all = [launch_queues(profile), memory(profile)];
    all.into_iter().flatten().collect()
}

/// By GPU: number of kernels, copies and fills that were launched and have not started. Work without a recorded launch
/// does not count.
fn launch_queues(profile: &Profile) -> Vec<Counter> {
    let trace = &profile.trace;
    let mut by_device: BTreeMap<&str, Vec<(i64, i64)>> = BTreeMap::new();
    for (_, work) in profile.gpu.iter() {
        let Some(call) = work.launched_by else {
            continue;
        };
        let device = trace.tracks.get(trace.events.track(work.event));
        let device = device.map_or("", |track| trace.strings.get(track.pid));
        let start_ns = work.span.start_ns;
        let launched_ns = trace.events.end_ns(call).min(start_ns);
        let changes = by_device.entry(device).or_default();
        changes.extend([(launched_ns, 1), (start_ns, -1)]);
    }
    let n_devices = by_device.len();
    let counter = |(device, mut changes): (&str, Vec<(i64, i64)>)| {
        changes.arrange();
        let mut depth = 0_i64;
        let samples = changes.into_iter().map(|(at, change)| {
            depth = depth.saturating_add(change);
            // Work that starts at its launch may be subtracted before it is added.
            (at, depth.max(0) as f64)
        });
        let gpu = if n_devices > 1 {
            format!("GPU {device}, ")
        } else {
            String::new()
        };
        Counter::new(
            "Launch queue".to_owned(),
            format!("{gpu}launched and not started"),
            "kernels",
            samples.collect(),
        )
    };
    by_device.into_iter().map(counter).collect()
}

/// By device: memory in use and reserved, as reported by the allocators. Memory in use before the first report is
/// counted from the start.
fn memory(profile: &Profile) -> Vec<Counter> {
    let memory = profile.memory();
    let start_ns = recorded_span(&profile.trace).map_or(i64::MIN, |span| span.start_ns);
    let of_device = |device: &DeviceMemory| {
        let counter = |name: &str, of: fn(&Point) -> u64| {
            let first = device.curve.first().map_or(start_ns, |first| first.ts_ns);
            let before = device.at(first.saturating_sub(1));
            let before = (start_ns.min(first), of(&before) as f64);
            let later = device.curve.iter();
            let later = later.map(|point| (point.ts_ns, of(point) as f64));
            Counter::new(
                name.to_owned(),
                device.label.clone(),
                "bytes",
                std::iter::once(before).chain(later).collect(),
            )
        };
        let in_use = counter("Memory in use", |point| point.allocated);
        let reserved = || counter("Memory reserved", |point| point.reserved);
        let reserved = (device.most_reserved > 0).then(reserved);
        std::iter::once(in_use).chain(reserved)
    };
    memory.main().flat_map(of_device).collect()
}

/// The busy share of the GPU, 0 to 1, in each of `parts` equal parts of a span; of the CPU in a trace without GPU
/// activity.
pub fn utilization(profile: &Profile, span: Interval, parts: usize) -> Vec<f64> {
    let trace = &profile.trace;
    let gpu: Vec<Interval> = profile.gpu.all().map(|work| work.span).collect();
    let spans = match gpu.is_empty() {
        false => gpu,
        true => {
            let drawn = trace.events.of_category(is_drawn);
            drawn.map(|event| trace.events.span(event)).collect()
        }
    };
    let busy = Coverage::new(union(spans));
    let length = span.length().max(1) as f64;
    let edge = |part: usize| {
        let ns = length * part as f64 / parts.max(1) as f64;
        span.start_ns.saturating_add(ns as i64)
    };
    let share = |part: usize| {
        let part = Interval::new(edge(part), edge(part + 1));
        busy.within(part) as f64 / part.length().max(1) as f64
    };
    (0..parts).map(share).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Timetable;

    fn trace() -> Profile {
        Timetable::new()
            .op("aten::mm", 0..30)
            .launched("one", 1..2, 10..20)
            .launched("two", 3..4, 20..60)
            .launched("three", 5..6, 60..80)
            .profile()
    }

    #[test]
    fn memory_is_counted_from_what_was_there_before() {
        let profile = Timetable::new()
            .memory(5_000_000, 8_000_000)
            .op("aten::mul", 0..100)
            .block(1, 2_000_000, 40)
            .block(1, -2_000_000, 60)
            .profile();
        let counters = counters(&profile);
        let [in_use, reserved] = &counters[..] else {
            panic!("{counters:?}");
        };
        let samples = [(0, 5e6), (40_000, 7e6), (60_000, 5e6)];
        assert_eq!((in_use.samples(), in_use.unit), (&samples[..], "bytes"));
        assert_eq!(
            (&*reserved.name, &*reserved.note),
            ("Memory reserved", "GPU 0")
        );
    }

    #[test]
    fn the_launch_queue_is_what_was_launched_and_has_not_started() {
        let [queue] = counters(&trace()).try_into().unwrap();
        assert_eq!((&*queue.name, queue.unit), ("Launch queue", "kernels"));
        let start_ns = queue.samples()[0].0 - 2_000;
        let us = queue
            .samples()
            .iter()
            .map(|(at, value)| ((at - start_ns) / 1000, *value as i64));
        let expected = [(2, 1), (4, 2), (6, 3), (10, 2), (20, 1), (60, 0)];
        assert_eq!(us.collect::<Vec<_>>(), expected);
        assert_eq!(queue.most() as i64, 3);
        // Eight pixels of 10 µs: the maximum of each.
        let view = View {
            from_ns: start_ns,
            ns_per_px: 10_000.0,
            width_px: 8.0,
        };
        let pixels: Vec<i64> = queue
            .draw(&view)
            .into_iter()
            .map(|value| value as i64)
            .collect();
        assert_eq!(pixels, [3, 2, 1, 1, 1, 1, 0, 0]);
    }

    #[test]
    fn utilization_is_the_busy_share_of_each_part() {
        let profile = trace();
        let start_ns = profile
            .trace
            .events
            .ids()
            .map(|id| profile.trace.events.ts_ns(id))
            .min();
        let start_ns = start_ns.unwrap();
        let span = Interval::new(start_ns, start_ns + 100_000);
        let percent = utilization(&profile, span, 4).into_iter();
        let percent: Vec<i64> = percent
            .map(|share| (share * 100.0).round() as i64)
            .collect();
        assert_eq!(percent, [60, 100, 100, 20]);
    }
}
