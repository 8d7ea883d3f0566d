//! The operations on the roofline of the chosen GPU, as the page draws them.

use dormer_core::assess::Judged;
use dormer_core::base::format;
use dormer_core::base::interval::sum;
use dormer_core::base::sort::Arrange;
use dormer_core::hardware::roofline::peak_tflops;
use dormer_core::hardware::{Basis, GpuSpec};
use dormer_core::names::Family;
use dormer_core::perf::ComputeSpec;
use dormer_core::profile::operations::Operation;
use dormer_core::{Profile, Report};

use super::Traces;
use super::columns::{bound, note};
use super::shapes::shapes;
use crate::protocol::{
    Answer, Ceiling, Mark, MemoryRoof, Missing, RoofFamily, RooflineChart, RooflineQuery, Spot,
};

/// Names of operations that a sentence lists.
const LISTED: usize = 3;

/// Everything the Roofline view draws.
pub(super) fn roofline(profile: &Profile, report: &Report) -> RooflineChart {
    let missing = |missing| RooflineChart {
        missing: Some(missing),
        ..RooflineChart::default()
    };
    if !profile.has_gpu_events() {
        return missing(Missing::Activity);
    }
    if !profile.has_host_ops() {
        return missing(Missing::Operators);
    }
    let Some(gpu) = report.options.gpu.as_deref() else {
        return missing(Missing::Gpu);
    };
    let basis = report.options.basis;
    let rows: Vec<RooflineRow> = rows(profile, report);
    // As everywhere: of the time in which anything runs, communication too.
    let all_ns = report.overview.busy_ns.unwrap_or(0);
    let share = |ns: i64| 100.0 * ns as f64 / all_ns.max(1) as f64;

    let n_link_copies = rows.iter().filter(|row| row.judged.is_over_link).count();

    let mut specs: Vec<ComputeSpec> = Vec::new();
    let (mut marks, mut left_out) = (Vec::new(), Vec::new());
    let (mut drawn_ns, mut without_flops_ns) = (0_i64, 0_i64);
    for row in &rows {
        if row.judged.is_over_link {
            continue;
        }
        let Some(spot) = spot(row.judged) else {
            left_out.push(row);
            continue;
        };
        let ns = row.operation.kernel_ns;
        drawn_ns = sum([drawn_ns, ns]);
        if matches!(spot, Spot::Bandwidth { .. }) {
            without_flops_ns = sum([without_flops_ns, ns]);
        }
        if let (Some(spec), Spot::Roof { .. }) =
            (row.judged.work.and_then(|work| work.compute), spot)
            && !specs.contains(&spec)
        {
            specs.push(spec);
        }
        marks.push(mark(profile, report, row, spot, share(ns)));
    }
    if marks.is_empty() {
        return missing(Missing::Work);
    }
    let bandwidth = format::bandwidth_gbps(gpu.mem_bw_gbps);
    RooflineChart {
        missing: None,
        lead: format!(
            "{} ({} of GPU time) on the roofline of {}.",
            format::counted(marks.len() as u64, "operation"),
            format::percent(share(drawn_ns)),
            gpu.name
        ),
        memory: Some(MemoryRoof {
            label: format!("memory, {} {bandwidth}", gpu.mem_bw_basis.label()),
            short: bandwidth,
            tb_per_s: gpu.mem_bw_gbps / 1e3,
        }),
        ceilings: ceilings(&specs, gpu, basis),
        families: families(&rows, all_ns),
        without_flops: (without_flops_ns > 0).then(|| {
            format!(
                "{} of GPU time does no floating-point arithmetic: only its bandwidth is shown.",
                format::percent(share(without_flops_ns))
            )
        }),
        left_out: left_out_sentence(profile, &left_out, share),
        without_roof: without_roof(report, n_link_copies),
        marks,
    }
}

/// The level parts of the roofline, the highest first. Kinds of arithmetic that have one rate are one
/// part: "vector BF16, FP32".
fn ceilings(specs: &[ComputeSpec], gpu: &GpuSpec, basis: Basis) -> Vec<Ceiling> {
    // What it is called so far, its rate, and what that is worth.
    let mut parts: Vec<(String, f64, Basis)> = Vec::new();
    let mut last_unit = None;
    let mut specs = specs.to_vec();
    specs.arrange_by_key(|spec| spec.label());
    for spec in &specs {
        let Some((tflops, basis)) = peak_tflops(*spec, gpu, basis) else {
            continue;
        };
        let name = format!("{} {}", spec.unit.label(), spec.precision.label());
        let same = parts
            .iter_mut()
            .find(|(_, known, of)| known.total_cmp(&tflops).is_eq() && *of == basis);
        match same {
            Some((names, ..)) if last_unit == Some(spec.unit) => {
                names.push_str(&format!(", {}", spec.precision.label()));
            }
            Some((names, ..)) => names.push_str(&format!(", {name}")),
            None => parts.push((name, tflops, basis)),
        }
        last_unit = Some(spec.unit);
    }
    parts.arrange_by(|(_, one, _), (_, other, _)| other.total_cmp(one));
    let ceiling = |(names, tflops, basis): (String, f64, Basis)| {
        let short = format::tflops(tflops);
        Ceiling {
            label: format!("{names}, {} {short}", basis.label()),
            short,
            tflops,
            ridge: tflops * 1e3 / gpu.mem_bw_gbps,
        }
    };
    parts.into_iter().map(ceiling).collect()
}

/// An operation with its row in the sheet of operations.
struct RooflineRow<'a> {
    row: usize,
    operation: &'a Operation,
    judged: &'a Judged,
}

/// The operations that count, the longest first. Those without a known call stand in no row.
fn rows<'a>(profile: &'a Profile, report: &'a Report) -> Vec<RooflineRow<'a>> {
    let rows = profile.operations().iter().zip(&report.judged).enumerate();
    rows.filter(|(_, (operation, _))| operation.counts(report.options.gpu_events))
        .map(|(row, (operation, judged))| RooflineRow {
            row,
            operation,
            judged,
        })
        .collect()
}

/// Where an operation is drawn; `None` where its work or its time is not known.
fn spot(judged: &Judged) -> Option<Spot> {
    let work = judged.work?;
    let intensity = work.flops_per_byte()?;
    let tb_per_s = judged.tb_per_s.filter(|rate| *rate > 0.0)?;
    match judged.tflops_per_s.filter(|rate| *rate > 0.0) {
        Some(tflops_per_s) if intensity > 0.0 => Some(Spot::Roof {
            intensity,
            tflops_per_s,
        }),
        _ => Some(Spot::Bandwidth { tb_per_s }),
    }
}

fn mark(profile: &Profile, report: &Report, row: &RooflineRow, spot: Spot, percent: f64) -> Mark {
    let RooflineRow {
        operation, judged, ..
    } = row;
    let text = |label: &str, value: String| (label.to_owned(), value);
    let number = |label, value: Option<f64>, unit| {
        value
            .filter(|value| *value > 0.0)
            .map(|value| text(label, format!("{} {unit}", format::number(value))))
    };
    let mut figures = vec![text(
        "GPU time",
        format!(
            "{} · {}",
            format::time_ns(operation.kernel_ns),
            format::percent(percent)
        ),
    )];
    figures.push(text("Calls", format::count(operation.n_calls())));
    figures.extend(
        judged
            .achieved
            .map(|achieved| text("% roofline", format::percent(achieved.roof_percent))),
    );
    figures.extend(
        judged
            .roof
            .map(|roof| text("Bound by", bound(roof.bound).to_owned())),
    );
    figures.extend(number("Compute", judged.tflops_per_s, "TFLOPS/s"));
    figures.extend(number("Memory", judged.tb_per_s, "TB/s"));
    let intensity = judged.work.and_then(|work| work.flops_per_byte());
    figures.extend(number("Intensity", intensity, "FLOPS/Byte"));
    Mark {
        row: row.row as u32,
        name: format::middle_ellipsis(&format::kernel_name(&operation.name(profile)), 80),
        shapes: shapes(profile, operation),
        token: operation.family.token().to_owned(),
        family: operation.family.label().to_owned(),
        spot,
        percent,
        figures,
        note: note(judged, &report.options),
    }
}

/// The categories of what is drawn or left out, the longest first.
fn families(rows: &[RooflineRow], all_ns: i64) -> Vec<RoofFamily> {
    let mut times: Vec<(RoofFamily, i64)> = Vec::new();
    for RooflineRow {
        operation, judged, ..
    } in rows
    {
        if judged.is_over_link || spot(judged).is_none() {
            continue;
        }
        let token = operation.family.token();
        match times.iter_mut().find(|(known, _)| known.token == token) {
            Some((_, ns)) => *ns = ns.saturating_add(operation.kernel_ns),
            None => times.push((
                RoofFamily {
                    token: token.to_owned(),
                    label: operation.family.label().to_owned(),
                    share: String::new(),
                },
                operation.kernel_ns,
            )),
        }
    }
    times.arrange_by_key(|(_, ns)| std::cmp::Reverse(*ns));
    let with_share = |(family, ns): (RoofFamily, i64)| RoofFamily {
        share: format::percent(100.0 * ns as f64 / all_ns.max(1) as f64),
        ..family
    };
    times.into_iter().map(with_share).collect()
}

/// What has no roofline, where there is some of it.
fn without_roof(report: &Report, n_link_copies: usize) -> Option<String> {
    let families = report.overview.families.iter();
    let mut of_it = families.filter(|time| time.family == Family::Communication && time.ns > 0);
    let communication = of_it.next().map(|time| {
        format!(
            "Communication ({} of GPU time) is not shown: it has no roofline.",
            format::percent(time.percent)
        )
    });
    let copies = (n_link_copies > 0).then(|| {
        format!(
            "Copies between host and GPU ({}) are not shown: the GPU profile has no link bandwidth.",
            format::counted(n_link_copies as u64, "operation")
        )
    });
    let sentences: Vec<String> = communication.into_iter().chain(copies).collect();
    (!sentences.is_empty()).then(|| sentences.join(" "))
}

/// What is not drawn, and how much of the time that is.
fn left_out_sentence(
    profile: &Profile,
    left_out: &[&RooflineRow],
    share: impl Fn(i64) -> f64,
) -> Option<String> {
    let ns = sum(left_out.iter().map(|row| row.operation.kernel_ns));
    if ns <= 0 {
        return None;
    }
    let mut names: Vec<String> = Vec::new();
    for row in left_out {
        let name = format::kernel_name(row.operation.short_name(profile));
        let name = format::middle_ellipsis(&name, 60);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let more = names.len().saturating_sub(LISTED);
    names.truncate(LISTED);
    let mut list = names.join(", ");
    if more > 0 {
        list.push_str(&format!(" and {} more", format::count(more as u64)));
    }
    Some(format!(
        "{} of GPU time is not shown, because there is no FLOP or byte model: {list}.",
        format::percent(share(ns))
    ))
}

impl Answer<RooflineQuery> for Traces {
    fn answer(&mut self, _: RooflineQuery, _: &mut Option<Vec<u8>>) -> RooflineChart {
        let target = self.target();
        roofline(target.analyzed(), &target.report)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use dormer_core::ReportOptions;
    use dormer_core::hardware::{Precision, find};
    use dormer_core::perf::Unit;
    use dormer_core::testing::Timetable;

    use super::*;

    /// A GEMM, a fill, and an op without a model; 40, 20 and 20 µs of 80.
    fn profile() -> Profile {
        let two = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let one = r#""Input Dims": [[1024, 1024], []], "Input type": ["float", "Scalar"]"#;
        Timetable::new()
            .op("aten::mm", 0..10)
            .args(two)
            .launch(1, 1..2)
            .op("aten::fill_", 20..30)
            .args(one)
            .launch(2, 21..22)
            .op("my::op", 40..50)
            .launch(3, 41..42)
            .kernel(1, "gemm", 100..140)
            .kernel(2, "fill_kernel", 150..170)
            .kernel(3, "my_kernel", 180..200)
            .profile()
    }

    fn chart(gpu: Option<&str>) -> RooflineChart {
        let profile = profile();
        let gpu = gpu.and_then(find).map(|gpu| Arc::new(gpu.clone()));
        let options = ReportOptions {
            gpu,
            basis: Basis::Achievable,
            ..ReportOptions::default()
        };
        let report = Report::new(&profile, &options);
        roofline(&profile, &report)
    }

    #[test]
    fn operations_stand_where_their_work_and_time_put_them() {
        let chart = chart(Some("MI300X"));
        let [product, fill] = &chart.marks[..] else {
            panic!("{:?}", chart.marks)
        };
        let Spot::Roof {
            intensity,
            tflops_per_s,
        } = product.spot
        else {
            panic!("{product:?}")
        };
        // 2·1024³ operations on 3·1024²·2 bytes in 40 µs.
        assert!((intensity - 2.0 * 1024.0 / 6.0).abs() < 1e-6, "{intensity}");
        assert!((tflops_per_s - 2.0 * 1024_f64.powi(3) / 40e-6 / 1e12).abs() < 1e-6);
        assert_eq!((product.row, product.percent), (0, 50.0));
        // Written once: 4·1024² bytes in 20 µs.
        let Spot::Bandwidth { tb_per_s } = fill.spot else {
            panic!("{fill:?}")
        };
        assert!((tb_per_s - 4.0 * 1024_f64.powi(2) / 20e-6 / 1e12).abs() < 1e-6);
        assert_eq!(chart.ceilings.len(), 1);
        assert_eq!(
            chart.ceilings[0].label,
            "matrix BF16, achievable 708 TFLOPS"
        );
        assert!((chart.ceilings[0].ridge - 708.0 / 5.3).abs() < 1e-9);
        let without = chart.without_flops.unwrap();
        assert!(without.starts_with("25.0 %"), "{without}");
        let left_out = chart.left_out.unwrap();
        assert!(left_out.starts_with("25.0 %") && left_out.contains("my::op"));
    }

    #[test]
    fn kinds_of_arithmetic_of_one_rate_are_one_ceiling() {
        let spec = |unit, precision| ComputeSpec { unit, precision };
        let specs = [
            spec(Unit::Vector, Precision::Fp32),
            spec(Unit::Matrix, Precision::Bf16),
            spec(Unit::Vector, Precision::Bf16),
        ];
        let gpu = find("MI300X").unwrap();
        let labels: Vec<String> = ceilings(&specs, gpu, Basis::Achievable)
            .into_iter()
            .map(|ceiling| ceiling.label)
            .collect();
        assert_eq!(
            labels,
            [
                "matrix BF16, achievable 708 TFLOPS",
                "vector BF16, FP32, peak 163 TFLOPS"
            ]
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(chart(None).missing, Some(Missing::Gpu));
        let unknown = Timetable::new()
            .op("my::op", 0..10)
            .launch(1, 1..2)
            .kernel(1, "my_kernel", 100..140)
            .profile();
        let options = ReportOptions {
            gpu: find("MI300X").map(|gpu| Arc::new(gpu.clone())),
            ..ReportOptions::default()
        };
        let report = Report::new(&unknown, &options);
        assert_eq!(roofline(&unknown, &report).missing, Some(Missing::Work));
        let alone = Timetable::new().kernel(1, "gemm", 100..140).profile();
        let report = Report::new(&alone, &ReportOptions::default());
        assert_eq!(roofline(&alone, &report).missing, Some(Missing::Operators));
        let host = Timetable::new().op("aten::mm", 0..10).profile();
        let report = Report::new(&host, &ReportOptions::default());
        assert_eq!(roofline(&host, &report).missing, Some(Missing::Activity));
    }
}
