//! The core crate's overview as the page shows it: numbers as text, and the charts beside them.

use dormer_core::base::format;
use dormer_core::base::sort::Arrange;
use dormer_core::hardware::Basis;
use dormer_core::names::Family;
use dormer_core::report::overview::{Hardware, Overview as Found, WorkTime};
use dormer_core::report::sheets::ops_summary::OperatorRows;
use dormer_core::{Profile, Report};

use super::findings::findings;
use crate::protocol::{CaptureFacts, GpuFacts, Overview, TopOperation, WindowFacts};

/// Below this share of GPU time, nothing is mentioned.
const LEAST_PERCENT: f64 = 0.5;

/// Rows in the table of the operations with the most time.
const N_TOP: usize = 10;

pub(super) fn overview(
    profile: &Profile,
    report: &Report,
    window: Option<WindowFacts>,
) -> Overview {
    Overview {
        findings: Some(findings(profile, report)),
        ..without_findings(profile, &report.overview, window)
    }
}

/// Everything except the findings.
pub(super) fn without_findings(
    profile: &Profile,
    overview: &Found,
    window: Option<WindowFacts>,
) -> Overview {
    Overview {
        window,
        headline: overview.headline.clone(),
        serving: overview.serving.clone(),
        no_gpu: overview.no_gpu,
        split: overview.split.clone(),
        findings: None,
        facts: overview.facts.clone(),
        families: overview.families.clone(),
        guessed: overview
            .by_kernel_name_percent
            .filter(|percent| *percent >= LEAST_PERCENT)
            .map(format::percent),
        unfused: overview
            .unfused_attention
            .as_ref()
            .map(|unfused| unfused.sentence()),
        top: top(profile, overview),
        top_is_kernels: !profile.has_cpu_ops() && !overview.kernels.is_empty(),
        top_measure: overview.measure.label().to_owned(),
        quality: overview.quality.clone(),
        limits: overview.limits.clone(),
        captures: CaptureFacts::default(),
        gpu: gpu_facts(&overview.hardware),
    }
}

/// The operations with the most time. Collectives belong to no operation, a call that launches a kernel does not say
/// what the kernel does, and the launch of a GPU graph runs everything.
fn top(profile: &Profile, overview: &Found) -> Vec<TopOperation> {
    let has_operators = profile.has_cpu_ops();
    let one = |time: &WorkTime, row, is_kernel| TopOperation {
        time: time.clone(),
        is_kernel,
        row,
    };
    let operations = overview.operations.iter();
    let operations = operations.filter(|one| has_operators && !one.is_replayed);
    let operations = operations.map(|time| one(time, row_of(profile, time), false));
    let kernels = overview.kernels.iter();
    let kernels = kernels.filter(|kernel| {
        let has_no_operation =
            matches!(kernel.family, Family::Communication | Family::Unattributed);
        !has_operators || has_no_operation || kernel.is_replayed
    });
    let kernels = kernels.map(|time| one(time, None, true));
    let mut top: Vec<TopOperation> = operations.chain(kernels).collect();
    top.arrange_by_largest(|one| one.time.ns);
    top.truncate(N_TOP);
    top
}

/// The operator's row in the sheet of operators; if there are several, one per module, the longest.
fn row_of(profile: &Profile, time: &WorkTime) -> Option<u32> {
    let rows = OperatorRows::of(profile);
    let row = rows.0.iter().position(|row| {
        profile.trace.strings.get(row.name) == time.name && row.is_recompute == time.is_recompute
    });
    row?.try_into().ok()
}

fn gpu_facts(hardware: &Hardware) -> GpuFacts {
    GpuFacts {
        name: hardware.gpu.as_ref().map(|gpu| gpu.name.to_string()),
        figures: hardware
            .figures
            .iter()
            .map(|figure| {
                let label = match figure.basis {
                    Some(basis) => format!("{}, {}", figure.label, basis.label()),
                    None => figure.label.clone(),
                };
                (label, figure.value.clone())
            })
            .collect(),
        basis: match &hardware.caveat {
            Some(caveat) => format!("{} {caveat}", hardware.basis),
            None => hardware.basis.clone(),
        },
        mixed: [Basis::Peak, Basis::Achievable].iter().all(|basis| {
            let mut figures = hardware.figures.iter();
            figures.any(|figure| figure.basis == Some(*basis))
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dormer_core::ReportOptions;
    use dormer_core::report::sheet::Cell;
    use dormer_core::testing::Timetable;

    #[test]
    fn the_longest_operations_lead_to_their_rows() {
        let profile = Timetable::new()
            .work("aten::add", "add", 20..30)
            .work("aten::mm", "gemm", 30..60)
            .work("record_param_comms", "ncclDevKernel_AllReduce(int)", 60..65)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let top = overview(&profile, &report, None).top;
        assert_eq!(top.len(), 3);
        // The sheet is sorted by time, longest first; a collective is found among the kernels.
        for (one, name, row) in [
            (&top[0], "aten::mm", Some(0)),
            (&top[1], "aten::add", Some(1)),
            (&top[2], "ncclDevKernel_AllReduce(int)", None),
        ] {
            assert_eq!((&*one.time.name, one.row), (name, row));
            assert_eq!(one.is_kernel, row.is_none());
        }
        let sheet = report.sheet(&profile, "ops_summary").unwrap();
        assert_eq!(sheet.rows[1][0], Cell::Text("aten::add".to_owned()));
    }

    #[test]
    fn a_replayed_graph_is_its_kernels() {
        let profile = Timetable::new()
            .op("CompiledFunction", 0..20)
            .runtime("cudaGraphLaunch", 7, 5..15)
            .kernel(7, "gemm", 100..140)
            .kernel(7, "softmax", 140..160)
            .op("aten::add", 30..40)
            .launched("add", 31..32, 200..210)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let top = overview(&profile, &report, None).top;
        let names = top.iter().map(|one| (&*one.time.name, one.is_kernel));
        assert_eq!(
            names.collect::<Vec<_>>(),
            [("gemm", true), ("softmax", true), ("aten::add", false)]
        );
    }
}
