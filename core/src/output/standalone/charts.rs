//! The pictures of the printed report, as SVG without script: where the time went, a strip of the
//! timeline, every operation under its roof, and what each finding is worth.
//!
//! Colours are those of the page, one for each kind of work, in a shade that reads on light and on
//! dark paper. Each picture has its numbers in a table of the report, too.

use super::Source;
use crate::base::format;
use crate::base::interval::{Interval, length, sum, union};
use crate::names::Family;
use crate::output::document::svg::{IDLE, Svg, WIDTH, colour};
use crate::output::document::{Block, Document};
use crate::profile::timeline::GpuClass;
use crate::report::overview::SplitKind;

/// Adds all pictures that the trace has something for.
pub(super) fn write(document: &mut Document, source: &Source) {
    let pictures = [
        breakdown(source),
        strip(source),
        roofline(source),
        impact(source),
    ];
    for (svg, caption) in pictures.into_iter().flatten() {
        let caption = caption.to_owned();
        document.blocks.push(Block::Picture { svg, caption });
    }
}

type Picture = Option<(String, &'static str)>;

/// The run as one bar: kinds of work by their share, then what is no computation.
fn breakdown(source: &Source) -> Picture {
    let overview = &source.report.overview;
    let total_ns = overview.total_ns.filter(|ns| *ns > 0)?;
    // Kinds may overlap; the bar gives each its part of the busy time.
    let all_ns = sum(overview.families.iter().map(|family| family.ns));
    let busy_ns = overview.busy_ns?;
    let mut parts: Vec<(String, i64, f64, &str)> = overview
        .families
        .iter()
        .map(|family| {
            let share = family.ns as f64 / all_ns.max(1) as f64 * busy_ns as f64 / total_ns as f64;
            (
                family.family.label().to_owned(),
                family.ns,
                share,
                colour(family.family),
            )
        })
        .collect();
    let idle = overview
        .split
        .iter()
        .find(|part| part.kind == SplitKind::Idle);
    if let Some(idle) = idle.filter(|idle| idle.ns > 0) {
        parts.push((
            "Idle".to_owned(),
            idle.ns,
            idle.ns as f64 / total_ns as f64,
            IDLE,
        ));
    }
    let n_rows = parts.len().div_ceil(3);
    let mut svg = Svg::new(44.0 + 22.0 * n_rows as f64, "Where the time went");
    let mut x = 0.0;
    for (row, (label, ns, share, fill)) in parts.iter().enumerate() {
        let title = format!("{label}: {}", format::time_ns(*ns));
        svg.rect(x, 0.0, share * WIDTH, 28.0, fill, &title);
        x += share * WIDTH;
        let (left, top) = (
            (row % 3) as f64 * WIDTH / 3.0,
            48.0 + (row / 3) as f64 * 22.0,
        );
        svg.rect(left, top - 10.0, 11.0, 11.0, fill, label);
        let percent = format::percent(*ns as f64 / total_ns as f64 * 100.0);
        svg.text(
            left + 18.0,
            top,
            "start",
            &format!("{label} {} ({percent})", format::time_ns(*ns)),
        );
    }
    Some((
        svg.done(),
        "Where the time of the run went, by kind of work.",
    ))
}

/// The run from left to right: how much of each slice of time computes, communicates, copies.
fn strip(source: &Source) -> Picture {
    const N_SLICES: usize = 480;
    const ROW: f64 = 22.0;
    let whole = source.report.timelines.whole.as_ref()?;
    let (start_ns, total_ns) = (whole.span.start_ns, whole.total_ns());
    if total_ns <= 0 {
        return None;
    }
    let events = source.report.timelines.events;
    let classes = [
        (GpuClass::Computation, "Computation", "#4a7fc6"),
        (GpuClass::Communication, "Communication", "#7274b6"),
        (GpuClass::Memcpy, "Copies", "#a89880"),
    ];
    let rows: Vec<(&str, &str, Vec<Interval>)> = classes
        .into_iter()
        .map(|(class, label, fill)| {
            let work = source.profile.gpu.of(events);
            let spans = work
                .filter(|work| work.class == class)
                .map(|work| work.span);
            (label, fill, union(spans.collect()))
        })
        .filter(|(.., spans)| length(spans) > 0)
        .collect();
    let left = 120.0;
    let height = ROW * rows.len() as f64 + 26.0;
    let mut svg = Svg::new(height, "The run from left to right");
    let width = (WIDTH - left) / N_SLICES as f64;
    for (row, (label, fill, spans)) in rows.iter().enumerate() {
        let top = row as f64 * ROW;
        svg.text(0.0, top + 13.0, "start", label);
        for (slice, share) in shares(spans, start_ns, total_ns, N_SLICES)
            .into_iter()
            .enumerate()
        {
            if share > 0.0 {
                let bar = share * (ROW - 6.0);
                let x = left + slice as f64 * width;
                // A little wider than its slice, so that no seams show.
                svg.rect(x, top + ROW - 6.0 - bar, width + 0.4, bar, fill, label);
            }
        }
    }
    svg.text(left, height - 6.0, "start", "0 ms");
    svg.text(WIDTH, height - 6.0, "end", &format::time_ns(total_ns));
    Some((
        svg.done(),
        "The run from left to right; the height is the share of each slice of time in which work of a kind runs.",
    ))
}

/// The share of each slice of a time that some disjoint spans cover.
fn shares(spans: &[Interval], start_ns: i64, total_ns: i64, n: usize) -> Vec<f64> {
    let mut shares = vec![0.0; n];
    let slice_ns = total_ns as f64 / n as f64;
    for span in spans {
        let from = (span.start_ns.saturating_sub(start_ns)) as f64 / slice_ns;
        let to = (span.end_ns.saturating_sub(start_ns)) as f64 / slice_ns;
        let (first, last) = (from.max(0.0) as usize, (to.max(0.0) as usize).min(n - 1));
        for (at, share) in shares.iter_mut().enumerate().take(last + 1).skip(first) {
            let covered = to.min((at + 1) as f64) - from.max(at as f64);
            *share = f64::min(*share + covered.max(0.0), 1.0);
        }
    }
    shares
}

/// Every operation under the roof of the GPU, on logarithmic axes.
fn roofline(source: &Source) -> Picture {
    const HEIGHT: f64 = 420.0;
    let gpu = source.report.options.gpu.as_deref()?;
    let total_ns = source.report.overview.total_ns.filter(|ns| *ns > 0)?;
    let marks: Vec<(f64, f64, f64, Family, String)> = source
        .report
        .operations(source.profile)
        .filter_map(|(operation, judged)| {
            let intensity = judged.work?.flops_per_byte().filter(|x| *x > 0.0)?;
            let tflops = judged.tflops_per_s.filter(|y| *y > 0.0)?;
            let share = operation.kernel_ns as f64 / total_ns as f64;
            let name = format::middle_ellipsis(operation.short_name(source.profile), 60);
            let title = format!("{name}: {}", format::time_ns(operation.kernel_ns));
            Some((intensity, tflops, share, operation.family, title))
        })
        .collect();
    let mut peaks: Vec<(String, f64)> = Vec::new();
    for (_, judged) in source.report.operations(source.profile) {
        let spec = judged
            .work
            .filter(|work| work.flops > 0.0)
            .and_then(|work| work.compute);
        let Some(spec) = spec else { continue };
        let rate = crate::hardware::roofline::peak_tflops(spec, gpu, source.report.options.basis);
        let Some((tflops, basis)) = rate else {
            continue;
        };
        let label = format!(
            "{} {} ({})",
            spec.label(),
            format::tflops(tflops),
            basis.label()
        );
        if peaks.iter().all(|(known, _)| *known != label) {
            peaks.push((label, tflops));
        }
    }
    let top = peaks.iter().map(|(_, tflops)| *tflops).fold(0.0, f64::max);
    if marks.is_empty() || top <= 0.0 {
        return None;
    }
    let bounds = |values: &mut dyn Iterator<Item = f64>| {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), value| {
            (low.min(value), high.max(value))
        });
        (low.log10().floor(), high.log10().ceil())
    };
    let bandwidth = gpu.mem_bw_gbps / 1e3;
    let ridge = top / bandwidth;
    let (x0, x1) = bounds(&mut marks.iter().map(|mark| mark.0).chain([ridge]));
    let (y0, y1) = bounds(&mut marks.iter().map(|mark| mark.1).chain([top]));
    let (left, bottom) = (70.0, HEIGHT - 40.0);
    let x = |value: f64| left + (value.log10() - x0) / (x1 - x0) * (WIDTH - left - 10.0);
    let y = |value: f64| bottom - (value.log10() - y0) / (y1 - y0) * (bottom - 20.0);
    let mut svg = Svg::new(HEIGHT, "Operations under the roof");
    for power in x0 as i32..=x1 as i32 {
        let value = 10_f64.powi(power);
        svg.line((x(value), 20.0), (x(value), bottom), "1 3");
        svg.text(x(value), bottom + 18.0, "middle", &format::number(value));
    }
    for power in y0 as i32..=y1 as i32 {
        let value = 10_f64.powi(power);
        svg.line((left, y(value)), (WIDTH - 10.0, y(value)), "1 3");
        svg.text(left - 8.0, y(value) + 4.0, "end", &format::number(value));
    }
    svg.text(WIDTH - 10.0, HEIGHT - 4.0, "end", "FLOPS/Byte");
    svg.text(0.0, 12.0, "start", "TFLOPS/s");
    // The memory's roof up to the highest of the arithmetic's.
    let start = 10_f64.powf(x0).max(10_f64.powf(y0) / bandwidth);
    svg.line((x(start), y(start * bandwidth)), (x(ridge), y(top)), "");
    let slope = format!("memory, {}", format::bandwidth_gbps(gpu.mem_bw_gbps));
    // Halfway up, where marks are rare: they lie below the roof.
    let middle = (start * ridge).sqrt();
    svg.text(x(middle) - 10.0, y(middle * bandwidth) - 6.0, "end", &slope);
    for (label, tflops) in &peaks {
        let from = (tflops / bandwidth).max(10_f64.powf(x0));
        svg.line((x(from), y(*tflops)), (WIDTH - 10.0, y(*tflops)), "");
        svg.text(WIDTH - 14.0, y(*tflops) - 5.0, "end", label);
    }
    for (intensity, tflops, share, family, title) in &marks {
        let radius = (share * 900.0).sqrt().clamp(2.5, 26.0);
        svg.circle((x(*intensity), y(*tflops)), radius, colour(*family), title);
    }
    Some((
        svg.done(),
        "Every operation with arithmetic under the roof of the GPU: area is time, colour is the kind of work.",
    ))
}

/// What each finding saves, as ranges.
fn impact(source: &Source) -> Picture {
    const ROW: f64 = 26.0;
    let findings = &source.report.analyses.findings.ranked;
    let rows: Vec<_> = findings
        .iter()
        .filter_map(|ranked| Some((ranked, ranked.finding.impact?)))
        .collect();
    let most_ns = rows
        .iter()
        .map(|(_, impact)| impact.high_ns)
        .max()
        .filter(|ns| *ns > 0)?;
    let left = 360.0;
    let scale = (WIDTH - left - 110.0) / most_ns as f64;
    let mut svg = Svg::new(ROW * rows.len() as f64 + 4.0, "What each finding is worth");
    for (row, (ranked, impact)) in rows.iter().enumerate() {
        let top = row as f64 * ROW;
        let title = format!("P{} {}", ranked.number, ranked.finding.title);
        svg.text(
            0.0,
            top + 17.0,
            "start",
            &format::middle_ellipsis(&title, 52),
        );
        let (low, high) = (impact.low_ns as f64 * scale, impact.high_ns as f64 * scale);
        svg.rect(left, top + 4.0, low, 16.0, "#4a7fc6", &title);
        svg.rect(left + low, top + 4.0, high - low, 16.0, "#4a7fc688", &title);
        let text = match impact.low_ns == impact.high_ns {
            true => format::time_ns(impact.high_ns),
            false => format!(
                "{}–{}",
                format::number(impact.low_ns as f64 / 1e6),
                format::time_ms(impact.high_ns as f64 / 1e6)
            ),
        };
        svg.text(left + high + 8.0, top + 17.0, "start", &text);
    }
    Some((
        svg.done(),
        "What each finding saves: the dark part is the cautious estimate, the light part the hope.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::Profile;
    use crate::report::Report;
    use crate::testing::{Timetable, options_on};

    fn made() -> (Profile, Report) {
        let profile = Timetable::new()
            .op("aten::mm", 0..10)
            .args(r#""Input Dims": [[512, 512], [512, 512]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#)
            .launch(1, 1..2)
            .op("aten::<b>", 10..20)
            .launch(2, 11..12)
            .kernel(1, "gemm", 100..200)
            .kernel(2, "k", 300..400)
            .profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        (profile, report)
    }

    #[test]
    fn a_slice_is_as_high_as_it_is_covered() {
        let spans = [Interval::new(0, 15), Interval::new(30, 40)];
        assert_eq!(shares(&spans, 0, 40, 4), [1.0, 0.5, 0.0, 1.0]);
    }

    #[test]
    fn every_picture_is_drawn_without_markup_from_the_trace() {
        let (profile, report) = made();
        let source = Source::new(&profile, &report);
        for (svg, _) in [breakdown(&source), strip(&source), roofline(&source)]
            .into_iter()
            .flatten()
        {
            assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>"));
            assert!(
                !svg.contains("<b>") && !svg.contains("NaN") && !svg.contains("inf"),
                "{svg}"
            );
        }
        assert!(roofline(&source).is_some());
        assert!(impact(&source).is_some());
    }

    #[test]
    fn without_gpu_activity_there_is_nothing_to_draw() {
        let profile = Timetable::new().op("aten::mm", 0..10).profile();
        let report = Report::new(&profile, &options_on("MI300X"));
        let mut document = Document::default();
        write(&mut document, &Source::new(&profile, &report));
        assert_eq!(document.blocks, []);
    }
}
