//! Sheets `gpu_activity` and `unattributed_kernels`: all GPU activity split into attributed and unattributed, and the
//! unattributed part by reason. They reconcile the totals of all views with those of the sheets that have TraceLens's
//! names.

use super::SheetInput;
use crate::base::interval::{busy, sum};
use crate::names::family_of_kernel;
use crate::profile::kernels::GpuWork;
use crate::profile::timeline::GpuClass;
use crate::profile::unattributed::Unattributed;
use crate::report::columns::{ms, percent, us};
use crate::report::sheet::{Cell, Column, Unit, column};

pub(super) const NAME: &str = "gpu_activity";
pub(super) const KERNELS: &str = "unattributed_kernels";

#[rustfmt::skip]
pub(super) const COLUMNS: [Column; 5] = [
    column("population", Unit::Text, "All GPU activity, that of known launching calls (which sheets with TraceLens's names count by default), or that without."),
    column("events", Unit::Count, "Kernels, copies and fills."),
    column("time ms", Unit::Ms, "Sum of their durations: all = attributed + unattributed."),
    column("percent", Unit::Percent, "Share of all."),
    column("busy ms", Unit::Ms, "Time in which any of them runs; activity that overlaps counts once, so that these do not add up."),
];

#[rustfmt::skip]
pub(super) const KERNEL_COLUMNS: [Column; 7] = [
    column("name", Unit::Text, "The kernel, copy or fill."),
    column("category", Unit::Text, "The category that its name tells."),
    column("reason", Unit::Text, "Why no call is known to have launched it."),
    column("count", Unit::Count, "How often it ran."),
    column("sum us", Unit::Us, "Sum of its durations."),
    column("mean us", Unit::Us, "Mean duration."),
    column("percent", Unit::Percent, "Share of all unattributed GPU activity."),
];

/// Empty if everything is attributed.
pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    type Counts<'a> = &'a dyn Fn(&GpuWork) -> bool;
    let profile = input.profile;
    if Unattributed::of(profile).all.count == 0 {
        return Vec::new();
    }
    let is_unattributed = |work: &GpuWork| work.is_unattributed(profile);
    let all_ns = sum(profile.gpu.all().map(|work| work.span.length()));
    let populations: [(&str, Counts); 7] = [
        ("all", &|_| true),
        ("attributed", &|work| !is_unattributed(work)),
        ("unattributed", &is_unattributed),
        ("unattributed, computation", &|work| {
            is_unattributed(work) && work.class == GpuClass::Computation
        }),
        ("unattributed, communication", &|work| {
            is_unattributed(work) && work.class == GpuClass::Communication
        }),
        ("unattributed, copies and fills", &|work| {
            is_unattributed(work) && work.class == GpuClass::Memcpy
        }),
        ("counted by sheets with TraceLens's names", &|work| {
            let events = input.options.sheet_events;
            events.counts(profile, work.launched_by.is_some())
        }),
    ];
    let rows = populations.into_iter().filter_map(|(label, counts)| {
        let work = profile.gpu.all().filter(|work| counts(work));
        let spans: Vec<_> = work.map(|work| work.span).collect();
        if spans.is_empty() {
            return None;
        }
        let ns = sum(spans.iter().map(|span| span.length()));
        Some(vec![
            Cell::Text(label.to_owned()),
            Cell::Int(spans.len() as i64),
            ms(ns),
            percent(ns, Some(all_ns)),
            ms(busy(spans)),
        ])
    });
    rows.collect()
}

pub(super) fn kernel_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let unattributed = Unattributed::of(profile);
    let rows = unattributed.by_name(profile).into_iter().map(|one| {
        let name = profile.trace.strings.get(one.name);
        vec![
            Cell::Text(name.to_owned()),
            Cell::Text(family_of_kernel(name).label().to_owned()),
            Cell::Text(one.reason.label().to_owned()),
            Cell::Int(one.all.count as i64),
            us(one.all.ns),
            Cell::Float(one.all.ns as f64 / one.all.count as f64 / 1e3),
            percent(one.all.ns, Some(unattributed.all.ns)),
        ]
    });
    rows.collect()
}

#[cfg(test)]
mod tests {
    use crate::output::export::csv::csv;
    use crate::report::{Report, ReportOptions, SheetEvents};
    use crate::testing::Timetable;

    /// 60 µs of a GEMM, and 40 µs of a kernel without its call, 20 of them concurrent with the GEMM.
    #[test]
    fn all_is_attributed_and_unattributed() {
        let profile = Timetable::new()
            .work("aten::mm", "gemm", 100..160)
            .stream(9)
            .kernel(90, "lost", 140..180)
            .profile();
        let rows = |events| {
            let options = ReportOptions {
                sheet_events: events,
                ..ReportOptions::default()
            };
            let report = Report::new(&profile, &options);
            let sheet = report.sheet(&profile, "gpu_activity").unwrap();
            let text = String::from_utf8(csv(sheet)).unwrap();
            let rows = text.lines().skip(1).map(str::to_owned);
            rows.collect::<Vec<String>>()
        };
        let expected = [
            "all,2,0.1,100.0,0.08",
            "attributed,1,0.06,60.0,0.06",
            "unattributed,1,0.04,40.0,0.04",
            "\"unattributed, computation\",1,0.04,40.0,0.04",
        ];
        let attributed = rows(SheetEvents::Attributed);
        assert_eq!(attributed[..4], expected);
        assert!(
            attributed[4].ends_with(",1,0.06,60.0,0.06"),
            "{attributed:?}"
        );
        assert!(rows(SheetEvents::All)[4].ends_with(",2,0.1,100.0,0.08"));
    }
}
