//! The Overview of core as the page shows it: numbers as text, and what is drawn beside them.

use dormer_core::base::format;
use dormer_core::base::sort::Arrange;
use dormer_core::hardware::Basis;
use dormer_core::names::Family;
use dormer_core::report::overview as core;
use dormer_core::report::sheet::Cell;
use dormer_core::{Profile, Report};

use crate::protocol::{
    FamilyTime, GpuFacts, NoGpu, Overview, Quality, QualityLine, SplitPart, TopOperation,
    WindowFacts,
};

/// Less than this share of the GPU time is not worth a word.
const LEAST_PERCENT: f64 = 0.5;

/// Rows of the table of what took the most time.
const N_TOP: usize = 10;

/// All but the findings, which [`super::findings`] adds.
pub(super) fn overview(profile: &Profile, report: &Report) -> Overview {
    let overview = &report.overview;
    Overview {
        window: overview.window.as_ref().map(|window| WindowFacts {
            name: window.name(),
            length: window.length(),
        }),
        headline: overview.headline.clone(),
        no_gpu: overview.no_gpu.map(|none| NoGpu {
            why: none.why().to_owned(),
            hint: none.hint().to_owned(),
        }),
        split: overview.split.iter().map(split_part).collect(),
        facts: overview
            .facts
            .iter()
            .map(|fact| (fact.label.to_owned(), fact.value.clone()))
            .collect(),
        families: overview.families.iter().map(family_time).collect(),
        guessed: overview
            .by_kernel_name_percent
            .filter(|percent| *percent >= LEAST_PERCENT)
            .map(format::percent),
        unfused: overview
            .unfused_attention
            .as_ref()
            .map(|unfused| unfused.sentence()),
        top: top(profile, report),
        top_is_kernels: !profile.has_host_ops() && !overview.kernels.is_empty(),
        top_measure: overview.measure.label().to_owned(),
        quality: quality(&overview.quality),
        gpu: gpu_facts(&overview.hardware),
        ..Overview::default()
    }
}

pub(super) fn split_part(part: &core::SplitPart) -> SplitPart {
    SplitPart {
        token: part.kind.token().to_owned(),
        label: part.kind.label().to_owned(),
        time: format::time_ns(part.ns),
        share: format::percent(part.percent),
        percent: part.percent,
    }
}

fn family_time(time: &core::FamilyTime) -> FamilyTime {
    FamilyTime {
        token: time.family.token().to_owned(),
        label: time.family.label().to_owned(),
        time: format::time_ns(time.ns),
        share: format::percent(time.percent),
        percent: time.percent,
    }
}

/// What took the most time. Collectives belong to no operation; a call that launches a kernel says
/// nothing of what it is.
fn top(profile: &Profile, report: &Report) -> Vec<TopOperation> {
    let has_operators = profile.has_host_ops();
    let overview = &report.overview;
    let operations = overview.operations.iter().filter(|_| has_operators);
    let operations = operations.map(|operation| (operation.ns, top_operation(operation)));
    let kernels = overview.kernels.iter();
    let kernels = kernels.filter(|kernel| !has_operators || kernel.family == Family::Communication);
    let kernels = kernels.map(|kernel| (kernel.ns, top_kernel(kernel)));
    let mut top: Vec<(i64, TopOperation)> = operations.chain(kernels).collect();
    top.arrange_by_key(|(ns, _)| std::cmp::Reverse(*ns));
    top.truncate(N_TOP);
    let mut top: Vec<TopOperation> = top.into_iter().map(|(_, one)| one).collect();
    for one in top.iter_mut().filter(|one| one.kernel.is_empty()) {
        one.row = row_of(profile, report, one);
    }
    top
}

/// The row of an operator in the sheet of operators.
fn row_of(profile: &Profile, report: &Report, one: &TopOperation) -> Option<u32> {
    let sheet = report.sheet(profile, "ops_summary")?;
    let name = sheet.column("name")?;
    let recompute = sheet.column("is_recompute");
    let is_it = |row: &Vec<Cell>| {
        let flag = recompute.and_then(|at| row.get(at));
        row.get(name) == Some(&Cell::Text(one.name.clone()))
            && flag.is_none_or(|flag| *flag == Cell::Flag(one.is_recompute))
    };
    let row = sheet.rows.iter().position(is_it)?;
    row.try_into().ok()
}

fn top_kernel(kernel: &core::KernelTime) -> TopOperation {
    TopOperation {
        name: format::kernel_name(&kernel.name),
        kernel: kernel.name.clone(),
        row: None,
        token: kernel.family.token().to_owned(),
        category: kernel.family.label().to_owned(),
        is_recompute: false,
        count: format::count(kernel.count),
        time: format::time_ns(kernel.ns),
        share: format::percent(kernel.percent),
        percent: kernel.percent,
    }
}

fn top_operation(operation: &core::OperationTime) -> TopOperation {
    TopOperation {
        name: operation.name.clone(),
        kernel: String::new(),
        row: None,
        token: operation.family.token().to_owned(),
        category: operation.family.label().to_owned(),
        is_recompute: operation.is_recompute,
        count: format::count(operation.n_calls),
        time: format::time_ns(operation.ns),
        share: format::percent(operation.percent),
        percent: operation.percent,
    }
}

fn quality(quality: &core::Quality) -> Quality {
    Quality {
        level: quality.level.token().to_owned(),
        sentence: quality.sentence.clone(),
        lines: quality
            .lines
            .iter()
            .map(|line| QualityLine {
                level: line.level.token().to_owned(),
                sentence: line.sentence.to_string(),
                detail: line.detail(),
            })
            .collect(),
    }
}

fn gpu_facts(hardware: &core::Hardware) -> GpuFacts {
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
    use dormer_core::testing::Timetable;

    #[test]
    fn the_longest_operations_lead_to_their_rows() {
        let profile = Timetable::new()
            .op("aten::add", 0..10)
            .launch(1, 1..2)
            .op("aten::mm", 10..20)
            .launch(2, 11..12)
            .op("record_param_comms", 20..30)
            .launch(3, 21..22)
            .kernel(1, "add", 20..30)
            .kernel(2, "gemm", 30..60)
            .kernel(3, "ncclDevKernel_AllReduce(int)", 60..65)
            .profile();
        let report = Report::new(&profile, &ReportOptions::default());
        let top = overview(&profile, &report).top;
        let ways: Vec<(&str, Option<u32>, &str)> = top
            .iter()
            .map(|one| (one.name.as_str(), one.row, one.kernel.as_str()))
            .collect();
        // The sheet has the longest first; a collective is found among the kernels.
        assert_eq!(
            ways,
            [
                ("aten::mm", Some(0), ""),
                ("aten::add", Some(1), ""),
                (
                    "ncclDevKernel_AllReduce",
                    None,
                    "ncclDevKernel_AllReduce(int)"
                ),
            ]
        );
    }
}
