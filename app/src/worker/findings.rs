//! What to do, as cards with links to the evidence.

use dormer_core::findings::{Finding, RankedFinding};
use dormer_core::output::markup::slug;
use dormer_core::report::cards::{Light, Savings, asides, detail_heading, without_time};
use dormer_core::report::details::is_in_tree;
use dormer_core::report::gap_chart::GapChart;
use dormer_core::report::has_row;
use dormer_core::report::shapes::shapes;
use dormer_core::trace::EventId;
use dormer_core::{Profile, Report, base::format};

use crate::protocol::{Card, Evidence, Findings};

/// Operations or events named on a card; the report has all.
const NAMED: usize = 4;
/// Longer names are shortened on a card.
const NAME_CHARS: usize = 64;

pub(super) fn findings(profile: &Profile, report: &Report) -> Findings {
    let ranked = report.analyses.findings.ranked.iter();
    Findings {
        cards: ranked.map(|one| card(profile, report, one)).collect(),
        asides: asides(profile, report),
    }
}

fn card(profile: &Profile, report: &Report, ranked: &RankedFinding) -> Card {
    let finding = &ranked.finding;
    let impact = finding.impact.as_ref();
    // Events next to operations are their calls: one instance of a pattern.
    let events = match finding.operations.is_empty() {
        true => finding.events.as_slice(),
        false => &[],
    };
    let all = finding.operations.len() + events.len();
    let operations = finding.operations.iter();
    let operations = operations.filter_map(|at| operation(profile, *at));
    let events = events.iter().map(|id| event(profile, finding, *id));
    let evidence: Vec<Evidence> = operations.chain(events).take(NAMED).collect();
    Card {
        key: format!(
            "{}/{}/{}",
            ranked.analysis.key, finding.pattern, finding.title
        ),
        number: ranked.number,
        title: finding.title.clone(),
        severity: finding.priority.label().to_owned(),
        gap: gap(profile, report, finding),
        light: Light::of(finding.priority).key.to_owned(),
        confidence: finding
            .confidence
            .map_or(String::new(), |confidence| confidence.label().to_owned()),
        analysis: ranked.analysis.title.to_owned(),
        // The text does not repeat what the chart shows.
        issue: match finding
            .tables
            .iter()
            .any(|table| table.key == "gap_waterfall")
        {
            true => finding.issue.clone(),
            false => finding.issue_with_causes(),
        },
        model: finding.model.clone(),
        kernel: finding.kernel.clone(),
        savings: impact.map(|impact| Savings::new(report, impact)),
        basis: impact.map_or_else(
            || without_time(finding),
            |impact| impact.estimate.label().to_owned(),
        ),
        memory: finding
            .memory_bytes
            .filter(|_| impact.is_none())
            .map(format::bytes),
        n_more: all - evidence.len(),
        evidence,
        within: within(report, ranked.number),
        details: slug(&detail_heading(ranked)),
        is_system: super::system::shows(ranked.analysis),
        is_memory: ranked.analysis.key == "memory",
    }
}

/// The chart for the longest of the finding's operations, if it is about kernels.
fn gap(profile: &Profile, report: &Report, finding: &Finding) -> Option<GapChart> {
    let is_shown = finding
        .tables
        .iter()
        .any(|table| table.key == "gap_waterfall");
    let longest = finding.operations.first().filter(|_| is_shown)?;
    GapChart::of(profile, report, *longest)
}

/// The findings contained in a finding, which is given by its number.
fn within(report: &Report, number: usize) -> Vec<String> {
    let within = report.analyses.findings.within.iter();
    let within = within.filter(|one| one.number == number);
    within
        .map(|one| format!("{} ({})", one.title, one.analysis.title))
        .collect()
}

fn operation(profile: &Profile, at: usize) -> Option<Evidence> {
    let operation = profile.operations().get(at)?;
    let name = format::kernel_name(operation.short_name(profile));
    let first = operation.first()?;
    Some(Evidence {
        name: format::middle_ellipsis(&name, NAME_CHARS),
        shapes: shapes(profile, operation),
        time: format!(
            "{} in {}",
            format::time_ns(operation.kernel_ns),
            format::counted(operation.n_calls(), "call")
        ),
        token: operation.family.token().to_owned(),
        row: has_row(profile, operation).then_some(at as u32),
        uid: Some(profile.trace.events.uid(first.event)),
        in_tree: is_in_tree(profile, first.event),
        is_after_gap: false,
        has_runs: true,
    })
}

fn event(profile: &Profile, finding: &Finding, id: EventId) -> Evidence {
    let trace = &profile.trace;
    let name = format::kernel_name(trace.strings.get(trace.events.name(id)));
    let duration = trace.events.dur_ns(id).map(format::time_ns);
    let gap = gap_before(finding, trace.events.uid(id));
    let is_after_gap = gap.is_some();
    let time = match gap {
        Some(gap) => Some(format!("after {gap} idle")),
        None => duration,
    };
    let in_tree = is_in_tree(profile, id);
    Evidence {
        name: format::middle_ellipsis(&name, NAME_CHARS),
        time: time.unwrap_or_default(),
        uid: Some(trace.events.uid(id)),
        in_tree,
        is_after_gap,
        has_runs: in_tree || trace.events.category(id).is_gpu(),
        ..Evidence::default()
    }
}

/// How long the GPU is idle before an event, if the finding is about idle time.
fn gap_before(finding: &Finding, uid: u32) -> Option<String> {
    let table = finding
        .tables
        .iter()
        .find(|table| table.key == "top_gaps")?;
    let row = table.events.iter().position(|event| *event == Some(uid))?;
    let mut columns = table.columns.iter();
    let length = columns.position(|column| column.key == "length")?;
    Some(table.rows.get(row)?.get(length)?.text())
}

#[cfg(test)]
mod tests {
    use dormer_core::import::import;
    use dormer_core::report::details::launching_call;
    use dormer_core::testing::options_on;

    use super::*;

    /// The data loader's annotation in the sample: the first of all findings.
    #[test]
    fn what_has_no_calls_leads_to_its_place_in_time() {
        let profile = Profile::new(import(dormer_core::sample::TRACE.as_bytes()).unwrap());
        let report = Report::new(&profile, &options_on("H100"));
        let first = &findings(&profile, &report).cards[0];
        let evidence = &first.evidence[0];
        assert!(evidence.name.contains("DataLoader"), "{}", evidence.name);
        assert_eq!((evidence.has_runs, evidence.in_tree), (false, false));
        assert!(evidence.uid.is_some());
    }

    #[test]
    fn the_longest_gemm_leads_to_its_row_and_its_call() {
        // Event 0 is the GEMM, event 2 the kernel it launches with call 1, which is long, so that it is far from any
        // roofline.
        let trace = r#"{"traceEvents": [
            {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 0, "dur": 50, "args": {"External id": 1, "Input Dims": [[512, 512], [512, 512]], "Input type": ["float", "float"]}},
            {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": 10, "dur": 10, "args": {"correlation": 7}},
            {"ph": "X", "cat": "kernel", "name": "sgemm", "pid": 0, "tid": 7, "ts": 30, "dur": 90000, "args": {"correlation": 7, "stream": 7}}
        ]}"#;
        let profile = Profile::new(import(trace.as_bytes()).unwrap());
        let report = Report::new(&profile, &options_on("H100"));
        let findings = findings(&profile, &report);
        let first = &findings.cards[0];
        assert_eq!(first.number, 1);
        let evidence = &first.evidence[0];
        assert_eq!(evidence.name, "aten::mm");
        assert_eq!((evidence.row, evidence.uid), (Some(0), Some(0)));
        assert!(evidence.in_tree);
        let ids: Vec<EventId> = profile.trace.events.ids().collect();
        assert_eq!(launching_call(&profile, ids[2]), Some(ids[1]));
        assert_eq!(launching_call(&profile, ids[1]), None);
    }
}
