//! The operations on the roofline of the chosen GPU, as the page draws them.

use dormer_core::assess::Evaluation;
use dormer_core::base::format;
use dormer_core::base::interval::sum;
use dormer_core::base::sort::Arrange;
use dormer_core::names::Family;
use dormer_core::profile::operations::Operation;
use dormer_core::report::charts::{self, Spot};
use dormer_core::report::overview::FamilyTime;
use dormer_core::report::shapes::shapes;
use dormer_core::{Profile, Report};

use super::columns::bound;
use super::notes::note;
use crate::protocol::{Mark, Missing, RooflineChart};

/// Operation names listed in a sentence.
const LISTED: usize = 3;

pub(super) fn roofline(profile: &Profile, report: &Report) -> RooflineChart {
    let missing = |missing| RooflineChart {
        missing: Some(missing),
        ..RooflineChart::default()
    };
    if !profile.has_gpu_events() {
        return missing(Missing::Activity);
    }
    if !profile.has_cpu_ops() {
        return missing(Missing::Operators);
    }
    let Some(gpu) = report.options.gpu.as_deref() else {
        return missing(Missing::Gpu);
    };
    let Some(roofline) = charts::roofline(profile, report) else {
        return missing(Missing::Work);
    };
    // As everywhere, relative to the time in which anything runs, including communication.
    let all_ns = report.overview.busy_ns.unwrap_or(0);
    let share = |ns: i64| 100.0 * ns as f64 / all_ns.max(1) as f64;
    let drawn = roofline.marks;
    let time = |of: &dyn Fn(&charts::Mark) -> bool| {
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
        without_roofline: without_roofline(profile, report),
        marks: marks.collect(),
        memory: Some(roofline.memory),
        ceilings: roofline.ceilings,
    }
}

/// The operations that count, longest first.
fn counted<'a>(
    profile: &'a Profile,
    report: &'a Report,
) -> impl Iterator<Item = (&'a Operation, &'a Evaluation)> {
    profile.operations().iter().zip(&report.evaluations)
}

fn mark(profile: &Profile, report: &Report, drawn: &charts::Mark, percent: f64) -> Mark {
    let charts::Mark {
        operation,
        evaluation,
        ..
    } = drawn;
    let text = |label: &str, value: String| (label.to_owned(), value);
    let number = |label, value: Option<f64>, unit| {
        value
            .filter(|value| *value > 0.0)
            .map(|value| text(label, format!("{} {unit}", format::number(value))))
    };
    let time = format::time_ns(operation.kernel_ns);
    let time = format!("{time} · {}", format::percent(percent));
    let share = evaluation
        .achieved
        .map(|of| format::percent(of.percent_of_roofline));
    let intensity = evaluation.work.and_then(|work| work.flops_per_byte());
    let figures = [
        Some(text("GPU time", time)),
        Some(text("Calls", format::count(operation.n_calls()))),
        share.map(|share| text("% roofline", share)),
        evaluation
            .roofline
            .map(|roofline| text("Bound by", bound(roofline.bound).to_owned())),
        number("Compute", evaluation.tflops_per_s, "TFLOPS/s"),
        number("Memory", evaluation.tb_per_s, "TB/s"),
        number("Intensity", intensity, "FLOPS/Byte"),
    ];
    Mark {
        row: drawn.row as u32,
        name: format::middle_ellipsis(&format::kernel_name(&operation.name(profile)), 80),
        shapes: shapes(profile, operation),
        family: operation.family,
        spot: drawn.spot,
        percent,
        figures: figures.into_iter().flatten().collect(),
        note: note(evaluation, &report.options),
    }
}

/// The categories of the drawn operations, longest first.
fn families(drawn: &[charts::Mark], share: impl Fn(i64) -> f64) -> Vec<FamilyTime> {
    let mut times: Vec<FamilyTime> = Vec::new();
    for charts::Mark { operation, .. } in drawn {
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
    times.arrange_by_largest(|time| time.ns);
    times
}

/// A note on operations without a roofline, if there are any.
fn without_roofline(profile: &Profile, report: &Report) -> Option<String> {
    let copies = counted(profile, report).filter(|(_, evaluation)| evaluation.is_over_link);
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

/// A note on what is not drawn, and its share of the time.
fn left_out(profile: &Profile, report: &Report, share: impl Fn(i64) -> f64) -> Option<String> {
    let is_left_out =
        |evaluation: &Evaluation| !evaluation.is_over_link && charts::spot(evaluation).is_none();
    let mut ns = 0;
    let mut names: Vec<String> = Vec::new();
    for (operation, _) in counted(profile, report).filter(|(_, evaluation)| is_left_out(evaluation))
    {
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

#[cfg(test)]
mod tests {
    use dormer_core::ReportOptions;
    use dormer_core::testing::{Timetable, options_on};

    use super::*;

    /// A GEMM, a fill, and an op without a model: 40, 20 and 20 µs of 80.
    fn timetable() -> Timetable {
        let two = r#""Input Dims": [[1024, 1024], [1024, 1024]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let one = r#""Input Dims": [[1024, 1024], []], "Input type": ["float", "Scalar"]"#;
        Timetable::new()
            .call("aten::mm", two, "gemm", 100..140)
            .call("aten::fill_", one, "fill_kernel", 150..170)
            .work("my::op", "my_kernel", 180..200)
    }

    fn chart(timetable: &Timetable, options: &ReportOptions) -> RooflineChart {
        let profile = timetable.profile();
        roofline(&profile, &Report::new(&profile, options))
    }

    #[test]
    fn operations_stand_where_their_work_and_time_put_them() {
        let chart = chart(&timetable(), &options_on("MI300X"));
        let [product, fill] = &chart.marks[..] else {
            panic!("{:?}", chart.marks)
        };
        let Spot::Roofline {
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
        let without = chart.without_flops.unwrap();
        assert!(without.starts_with("25.0 %"), "{without}");
        let left_out = chart.left_out.unwrap();
        assert!(left_out.starts_with("25.0 %") && left_out.contains("my::op"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let (on_gpu, without) = (options_on("MI300X"), ReportOptions::default());
        let unknown = Timetable::new().work("my::op", "my_kernel", 100..140);
        let alone = Timetable::new().kernel(1, "gemm", 100..140);
        let host = Timetable::new().op("aten::mm", 0..10);
        for (timetable, options, missing) in [
            (timetable(), &without, Missing::Gpu),
            (unknown, &on_gpu, Missing::Work),
            (alone, &without, Missing::Operators),
            (host, &without, Missing::Activity),
        ] {
            assert_eq!(chart(&timetable, options).missing, Some(missing));
        }
    }
}
