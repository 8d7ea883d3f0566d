//! The pictures of the printed report, as SVG without scripts: where the time went, a strip of the timeline, the
//! roofline, and what each finding saves.
//!
//! The numbers of each picture are also in a table of the report.

use super::Input;
use crate::base::format;
use crate::base::log_scale::LogScale;
use crate::findings::Impact;
use crate::output::documents::Picture;
use crate::output::markup::svg::{IDLE, Rect, Svg, WIDTH, color};
use crate::profile::gpu::timeline::GpuClass;
use crate::report::charts::{self, Spot};

pub(super) fn all(source: &Input) -> Vec<Picture> {
    let pictures = [
        breakdown(source),
        strip(source),
        roofline(source),
        savings(source),
    ];
    pictures.into_iter().flatten().collect()
}

fn breakdown(source: &Input) -> Option<Picture> {
    let total_ns = source.report.overview.total_ns.filter(|ns| *ns > 0)?;
    let parts = charts::breakdown(source.report);
    let n_rows = parts.len().div_ceil(3);
    let mut svg = Svg::new(44.0 + 22.0 * n_rows as f64, "Where the time went");
    let mut x = 0.0;
    for (row, part) in parts.iter().enumerate() {
        let (label, fill) = match part.family {
            Some(family) => (family.label(), color(family)),
            None => ("Idle", IDLE),
        };
        let time = format::time_ns(part.ns);
        let width = part.of_bar * WIDTH;
        let bar = Rect {
            x,
            y: 0.0,
            width,
            height: 28.0,
        };
        svg.rect(bar, fill, &format!("{label}: {time}"));
        x += width;
        let left = (row % 3) as f64 * WIDTH / 3.0;
        let top = 48.0 + (row / 3) as f64 * 22.0;
        let percent = format::percent(part.ns as f64 / total_ns as f64 * 100.0);
        let text = format!("{label} {time} ({percent})");
        svg.legend((left, top), fill, label, &text);
    }
    Some(svg.done("Where the time of the run went, by category."))
}

/// The run from left to right: how much of each slice of time is computation, communication and copies.
fn strip(source: &Input) -> Option<Picture> {
    const N_SLICES: usize = 480;
    const ROW: f64 = 22.0;
    let total_ns = source.report.timelines.whole.as_ref()?.total_ns();
    let rows = charts::strip(source.profile, source.report, N_SLICES);
    if rows.is_empty() {
        return None;
    }
    let left = 120.0;
    let height = ROW * rows.len() as f64 + 26.0;
    let mut svg = Svg::new(height, "The run from left to right");
    let width = (WIDTH - left) / N_SLICES as f64;
    for (row, (class, shares)) in rows.iter().enumerate() {
        let (label, fill) = match class {
            GpuClass::Computation => ("Computation", "#4a7fc6"),
            GpuClass::Communication => ("Communication", "#7274b6"),
            _ => ("Copies", "#a89880"),
        };
        let top = row as f64 * ROW;
        svg.text(0.0, top + 13.0, "start", label);
        for (slice, share) in shares.iter().enumerate().filter(|(_, share)| **share > 0.0) {
            let height = share * (ROW - 6.0);
            let bar = Rect {
                x: left + slice as f64 * width,
                y: top + ROW - 6.0 - height,
                // A little wider than its slice, so that no seams show.
                width: width + 0.4,
                height,
            };
            svg.rect(bar, fill, label);
        }
    }
    svg.text(left, height - 6.0, "start", "0 ms");
    svg.text(WIDTH, height - 6.0, "end", &format::time_ns(total_ns));
    Some(svg.done("The run from left to right; the height is the share of each slice of time in which such GPU activity runs."))
}

/// Every operation in the roofline chart of the GPU, with logarithmic axes.
fn roofline(source: &Input) -> Option<Picture> {
    const HEIGHT: f64 = 420.0;
    let gpu = source.report.options.gpu.as_deref()?;
    let total_ns = source.report.overview.total_ns.filter(|ns| *ns > 0)?;
    let chart = charts::roofline(source.profile, source.report)?;
    let marks = chart.marks.iter().filter_map(|mark| match mark.spot {
        Spot::Roofline {
            intensity,
            tflops_per_s,
        } => Some((mark, intensity, tflops_per_s)),
        Spot::Bandwidth { .. } => None,
    });
    let marks: Vec<_> = marks.collect();
    let highest = chart.ceilings.first().filter(|_| !marks.is_empty())?;
    let (top, ridge) = (highest.tflops, highest.ridge);
    let (left, bottom) = (70.0, HEIGHT - 40.0);
    let intensities = marks.iter().map(|mark| mark.1).chain([ridge]);
    let x = LogScale::around(intensities, left, WIDTH - 10.0);
    let y = LogScale::around(marks.iter().map(|mark| mark.2).chain([top]), bottom, 20.0);
    let mut svg = Svg::new(HEIGHT, "Operations on the roofline");
    for value in x.powers() {
        svg.line((x.px(value), 20.0), (x.px(value), bottom), "1 3");
        svg.text(x.px(value), bottom + 18.0, "middle", &format::number(value));
    }
    for value in y.powers() {
        svg.line((left, y.px(value)), (WIDTH - 10.0, y.px(value)), "1 3");
        svg.text(left - 8.0, y.px(value) + 4.0, "end", &format::number(value));
    }
    svg.text(WIDTH - 10.0, HEIGHT - 4.0, "end", "FLOP/byte");
    svg.text(0.0, 12.0, "start", "TFLOPS");
    // The memory slope up to the highest ceiling.
    let start = x.ends().0.max(y.ends().0 / chart.memory.tb_per_s());
    let slope = |x: f64| y.px(x * chart.memory.tb_per_s());
    svg.line((x.px(start), slope(start)), (x.px(ridge), y.px(top)), "");
    let label = format!("memory, {}", format::bandwidth_gbps(gpu.mem_bw_gbps));
    // Halfway up, where marks are rare, as they are below the roofline.
    let middle = (start * ridge).sqrt();
    svg.text(x.px(middle) - 10.0, slope(middle) - 6.0, "end", &label);
    for ceiling in &chart.ceilings {
        let height = y.px(ceiling.tflops);
        let start = x.px(ceiling.ridge.max(x.ends().0));
        svg.line((start, height), (WIDTH - 10.0, height), "");
        let tflops = format::tflops(ceiling.tflops);
        let label = format!("{} {tflops} ({})", ceiling.name, ceiling.basis.label());
        svg.text(WIDTH - 14.0, height - 5.0, "end", &label);
    }
    for (mark, intensity, tflops) in &marks {
        let operation = mark.operation;
        let share = operation.kernel_ns as f64 / total_ns as f64;
        let radius = (share * 900.0).sqrt().clamp(2.5, 26.0);
        let title = charts::mark_title(source.profile, mark);
        let at = (x.px(*intensity), y.px(*tflops));
        svg.circle(at, radius, color(operation.family), &title);
    }
    Some(svg.done("Every operation with arithmetic on the roofline of the GPU: area is time, color is the category."))
}

fn savings(source: &Input) -> Option<Picture> {
    const ROW: f64 = 26.0;
    let findings = source.report.analyses.findings.ranked.iter();
    let rows: Vec<(String, Impact)> = findings
        .filter_map(|ranked| {
            let title = format!("P{} {}", ranked.number, ranked.finding.title);
            Some((title, ranked.finding.impact?))
        })
        .collect();
    let most_ns = rows.iter().map(|(_, impact)| impact.high_ns).max();
    let most_ns = most_ns.filter(|ns| *ns > 0)?;
    let left = 360.0;
    let scale = (WIDTH - left - 110.0) / most_ns as f64;
    let mut svg = Svg::new(ROW * rows.len() as f64 + 4.0, "What each finding saves");
    for (row, (title, impact)) in rows.iter().enumerate() {
        let top = row as f64 * ROW;
        let short = format::middle_ellipsis(title, 52);
        svg.text(0.0, top + 17.0, "start", &short);
        let (low, high) = (impact.low_ns as f64 * scale, impact.high_ns as f64 * scale);
        let parts = [(0.0, low, "#4a7fc6"), (low, high, "#4a7fc688")];
        for (from, to, fill) in parts {
            let bar = Rect {
                x: left + from,
                y: top + 4.0,
                width: to - from,
                height: 16.0,
            };
            svg.rect(bar, fill, title);
        }
        let text = format::time_range_ns(impact.low_ns, impact.high_ns);
        svg.text(left + high + 8.0, top + 17.0, "start", &text);
    }
    Some(
        svg.done(
            "What each finding saves: dark is the low end of the estimate, light the high end.",
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    #[test]
    fn every_picture_is_drawn_without_markup_from_the_trace() {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .args(r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launched("gemm", 1..2, 100..200)
            .work("aten::<b>", "k", 300..400)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let pictures = all(&Input::new(&profile, &report));
        assert_eq!(pictures.len(), 4);
        for (svg, _) in pictures {
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
            let has = |text: &str| svg.contains(text);
            assert!(!has("<b>") && !has("NaN") && !has("inf"), "{svg}");
        }
    }

    #[test]
    fn without_gpu_activity_there_is_nothing_to_draw() {
        let profile = Timetable::new().op("aten::mm", 0..10).profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        assert!(all(&Input::new(&profile, &report)).is_empty());
    }
}
