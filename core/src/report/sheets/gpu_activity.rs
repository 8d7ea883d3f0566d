//! Sheets `gpu_activity` and `unattributed_kernels`: all GPU activity split into attributed and unattributed, and the
//! unattributed part by reason. They reconcile the totals of all views with those of the sheets that have TraceLens's
//! names.

use super::SheetInput;
use crate::base::interval::{busy, sum};
use crate::base::tally::Tally;
use crate::names::family_of_kernel;
use crate::profile::gpu::kernels::GpuWork;
use crate::profile::gpu::timeline::GpuClass;
use crate::profile::gpu::unattributed::Unattributed;
use crate::report::columns::{self, Col, columns, float, int, ms, percent, text, us};
use crate::report::sheet::Cell;

pub(super) const NAME: &str = "gpu_activity";
pub(super) const KERNELS: &str = "unattributed_kernels";

/// A part of all GPU activity.
pub(super) struct Population {
    label: &'static str,
    count: usize,
    ns: i64,
    busy_ns: i64,
    all_ns: i64,
}

pub(super) fn columns() -> Vec<Col<Population>> {
    columns![Population:
        "population", Text, |of| text(of.label), "All GPU activity, that of known launching calls (which sheets with TraceLens's names count by default), or that without.";
        "events", Count, |of| int(of.count), "Kernels, copies and fills.";
        "time ms", Ms, |of| ms(of.ns), "Sum of their durations: all = attributed + unattributed.";
        "percent", Percent, |of| percent(of.ns, Some(of.all_ns)), "Share of all.";
        "busy ms", Ms, |of| ms(of.busy_ns), "Time in which any of them runs; activity that overlaps counts once, so that these do not add up.";
    ]
}

/// Empty if everything is attributed.
pub(super) fn rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    type Counts<'a> = &'a dyn Fn(&GpuWork) -> bool;
    let profile = input.profile;
    if Unattributed::of(profile).all.count == 0 {
        return Vec::new();
    }
    let is_unattributed = |work: &GpuWork| work.is_unattributed(profile);
    let all_ns = sum(profile.gpu.all().map(|work| work.span.length()));
    let populations: [(&'static str, Counts); 7] = [
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
        Some(Population {
            label,
            count: spans.len(),
            ns: sum(spans.iter().map(|span| span.length())),
            busy_ns: busy(spans),
            all_ns,
        })
    });
    columns::rows(&columns(), rows)
}

/// Unattributed kernels, copies or fills of one name, for one reason.
pub(super) struct Unknown<'a> {
    name: &'a str,
    reason: &'static str,
    runs: Tally,
    all_ns: i64,
}

pub(super) fn kernel_columns<'a>() -> Vec<Col<Unknown<'a>>> {
    columns![Unknown<'_>:
        "name", Text, |of| text(of.name), "The kernel, copy or fill.";
        "category", Text, |of| text(family_of_kernel(of.name).label()), "The category, by its name.";
        "reason", Text, |of| text(of.reason), "Why no call is known to have launched it.";
        "count", Count, |of| int(of.runs.count), "How often it ran.";
        "sum us", Us, |of| us(of.runs.ns), "Sum of its durations.";
        "mean us", Us, |of| float(Some(of.runs.ns as f64 / of.runs.count as f64 / 1e3)), "Mean duration.";
        "percent", Percent, |of| percent(of.runs.ns, Some(of.all_ns)), "Share of all unattributed GPU activity.";
    ]
}

pub(super) fn kernel_rows(input: &SheetInput) -> Vec<Vec<Cell>> {
    let profile = input.profile;
    let unattributed = Unattributed::of(profile);
    let names = unattributed.by_name(profile).into_iter();
    let rows = names.map(|one| Unknown {
        name: profile.trace.strings.get(one.name),
        reason: one.reason.label(),
        runs: one.all,
        all_ns: unattributed.all.ns,
    });
    columns::rows(&kernel_columns(), rows)
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
