//! The operations on the roofline of the chosen GPU, as the page draws them.

use dormer_core::assess::Judged;
use dormer_core::base::format;
use dormer_core::base::interval::sum;
use dormer_core::base::sort::Arrange;
use dormer_core::names::Family;
use dormer_core::profile::operations::Operation;
use dormer_core::report::charts::{self, Spot};
use dormer_core::report::overview::FamilyTime;
use dormer_core::report::shapes::shapes;
use dormer_core::{Profile, Report};

use super::Traces;
use super::columns::bound;
use super::notes::note;
use crate::protocol::{Answer, Mark, Missing, RooflineChart, RooflineQuery};

/// Names of operations that a sentence lists.
const LISTED: usize = 3;

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
    let Some(roof) = charts::roofline(profile, report) else {
        return missing(Missing::Work);
    };
    // As everywhere: of the time in which anything runs, communication too.
    let all_ns = report.overview.busy_ns.unwrap_or(0);
    let share = |ns: i64| 100.0 * ns as f64 / all_ns.max(1) as f64;
    let drawn = roof.marks.iter().filter_map(|mark| {
        Some(Drawn {
            row: mark.operation,
            operation: profile.operations().get(mark.operation)?,
            judged: report.judged.get(mark.operation)?,
            spot: mark.spot,
        })
    });
    let drawn: Vec<Drawn> = drawn.collect();
    let time = |of: &dyn Fn(&Drawn) -> bool| {
        let those = drawn.iter().filter(|one| of(one));
        share(sum(those.map(|one| one.operation.kernel_ns)))
    };
    let without_flops = time(&|one| matches!(one.spot, Spot::Bandwidth { .. }));
    let marks = drawn.iter();
    let marks = marks.map(|one| mark(profile, report, one, share(one.operation.kernel_ns)));
    RooflineChart {
        missing: None,
        lead: format!(
            "{} ({} of GPU time) on the roofline of {}.",
            format::counted(drawn.len() as u64, "operation"),
            format::percent(time(&|_| true)),
            gpu.name
        ),
        families: families(&drawn, share),
        without_flops: (without_flops > 0.0).then(|| {
            format!(
                "{} of GPU time does no floating-point arithmetic: only its bandwidth is shown.",
                format::percent(without_flops)
            )
        }),
        left_out: left_out(profile, report, share),
        without_roof: without_roof(profile, report),
        marks: marks.collect(),
        memory: Some(roof.memory),
        ceilings: roof.ceilings,
    }
}

/// An operation that is drawn, with its row in the sheet of operations.
struct Drawn<'a> {
    row: usize,
    operation: &'a Operation,
    judged: &'a Judged,
    spot: Spot,
}

/// The operations that count, the longest first.
fn counted<'a>(
    profile: &'a Profile,
    report: &'a Report,
) -> impl Iterator<Item = (&'a Operation, &'a Judged)> {
    let all = profile.operations().iter().zip(&report.judged);
    all.filter(|(operation, _)| operation.counts(report.options.gpu_events))
}

fn mark(profile: &Profile, report: &Report, drawn: &Drawn, percent: f64) -> Mark {
    let Drawn {
        operation, judged, ..
    } = drawn;
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
        row: drawn.row as u32,
        name: format::middle_ellipsis(&format::kernel_name(&operation.name(profile)), 80),
        shapes: shapes(profile, operation),
        family: operation.family,
        spot: drawn.spot,
        percent,
        figures,
        note: note(judged, &report.options),
    }
}

/// The categories of what is drawn, the longest first.
fn families(drawn: &[Drawn], share: impl Fn(i64) -> f64) -> Vec<FamilyTime> {
    let mut times: Vec<FamilyTime> = Vec::new();
    for Drawn { operation, .. } in drawn {
        let (family, ns) = (operation.family, operation.kernel_ns);
        match times.iter_mut().find(|time| time.family == family) {
            Some(time) => time.ns = time.ns.saturating_add(ns),
            None => times.push(FamilyTime {
                family,
                ns,
                percent: 0.0,
            }),
        }
    }
    for time in &mut times {
        time.percent = share(time.ns);
    }
    times.arrange_by_key(|time| std::cmp::Reverse(time.ns));
    times
}

/// What has no roofline, where there is some of it.
fn without_roof(profile: &Profile, report: &Report) -> Option<String> {
    let copies = counted(profile, report).filter(|(_, judged)| judged.is_over_link);
    let n_link_copies = copies.count();
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
fn left_out(profile: &Profile, report: &Report, share: impl Fn(i64) -> f64) -> Option<String> {
    let is_left_out = |judged: &Judged| !judged.is_over_link && charts::spot(judged).is_none();
    let mut ns = 0;
    let mut names: Vec<String> = Vec::new();
    for (operation, _) in counted(profile, report).filter(|(_, judged)| is_left_out(judged)) {
        ns = sum([ns, operation.kernel_ns]);
        let name = format::kernel_name(operation.short_name(profile));
        let name = format::middle_ellipsis(&name, 60);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if ns <= 0 {
        return None;
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
    use dormer_core::hardware::{Basis, find};
    use dormer_core::testing::Timetable;

    use super::*;

    /// A GEMM, a fill, and an op without a model; 40, 20 and 20 µs of 80.
    fn profile() -> Profile {
        let two = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let one = r#""Input Dims": [[1024, 1024], []], "Input type": ["float", "Scalar"]"#;
        Timetable::new()
            .call("aten::mm", two, "gemm", 100..140)
            .call("aten::fill_", one, "fill_kernel", 150..170)
            .work("my::op", "my_kernel", 180..200)
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
            chart.ceilings[0].label(),
            "matrix BF16, achievable 708 TFLOPS"
        );
        assert!((chart.ceilings[0].ridge - 708.0 / 5.3).abs() < 1e-9);
        let without = chart.without_flops.unwrap();
        assert!(without.starts_with("25.0 %"), "{without}");
        let left_out = chart.left_out.unwrap();
        assert!(left_out.starts_with("25.0 %") && left_out.contains("my::op"));
    }

    #[test]
    fn what_is_missing_is_said() {
        assert_eq!(chart(None).missing, Some(Missing::Gpu));
        let unknown = Timetable::new()
            .work("my::op", "my_kernel", 100..140)
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
