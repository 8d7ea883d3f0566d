//! The executive summary: one paragraph, the figures of both traces, and the main findings.

use crate::base::format;
use crate::base::group::grouped;
use crate::base::interval::sum;
use crate::base::sort::{Arrange, Arranged};
use crate::compare::comparison::Comparison;
use crate::compare::expected::Verdict;
use crate::compare::findings::SLOWER_MACHINE;
use crate::compare::gap::GapSubject;
use crate::compare::ops::{MatchedOp, label};
use crate::compare::pair::{Pair, Which};
use crate::compare::time_parts::{PartKind, Step};
use crate::compare::words;
use crate::output::documents::parts::Read;
use crate::output::markup::{DocTable, Document, Line, dash, line, text, time};
use crate::profile::gpu::timeline::GpuTimeline;

const N_NAMED: usize = 3;
const N_WASTE: usize = 2;

pub(super) fn write(comparison: &Comparison) -> Document {
    let mut document = Document::default();
    document.text(&paragraph(comparison));
    document.table(metrics(comparison));
    let findings = key_findings(comparison);
    if !findings.is_empty() {
        document.heading(3, "Key Findings");
        document.bullets(findings.iter().map(|finding| line(finding)));
    }
    document
}

fn paragraph(comparison: &Comparison) -> String {
    let about = comparison.sides.as_ref().map(|side| {
        let platform = side.platform.as_deref().unwrap_or("unknown hardware");
        format!("{} ({platform})", words::quoted(&side.name))
    });
    let Pair { reference, target } = about;
    let mut sentences = vec![
        format!("{reference} is the reference, {target} the target."),
        comparison.headline("The target", "the reference"),
    ];
    sentences.extend(on_cpu(comparison));
    if comparison.is_same() {
        return sentences.join(" ");
    }
    let tuning = comparison.parts.of_kind(PartKind::Tuning);
    if comparison.parts.is_notable(tuning) {
        let sides = Which::ALL.into_iter();
        let said = sides.filter(|which| *tuning.get(*which) > 0).map(|which| {
            let time = format::time_ns(*tuning.get(which));
            format!("{time} on the {}", which.label())
        });
        let said = format::joined(said, " and ");
        sentences.push(format!("Kernel tuning takes {said}."));
    }
    sentences.extend(comparison.work.as_ref().map(|work| work.sentence()));
    if comparison.is_same_gpu {
        let same =
            "Both ran on the same hardware, so the same call is expected to take the same time.";
        sentences.push(same.to_owned());
    }
    sentences.join(" ")
}

/// The times of operators, where only those can be compared.
fn on_cpu(comparison: &Comparison) -> Option<String> {
    let times = comparison.sides.as_ref().map(|side| side.cpu_ns);
    let change = times.change_percent().map(words::change);
    let change = change.map_or(String::new(), |change| format!(": {change} time"));
    let Pair { reference, target } = times.map(format::time_ns);
    (!comparison.has_gpu_times()).then(|| match comparison.is_same() {
        true => format!("No difference: both take {target} in operators on the CPU."),
        false => format!(
            "In operators on the CPU the target takes {target}, the reference {reference}{change}."
        ),
    })
}

/// The table rows that both traces have a time for.
const TIMES: [(&str, Read); 5] = [
    ("Total Time", GpuTimeline::total_ns),
    ("Total Compute Time", |whole| whole.computation_ns),
    ("Exposed Communication", |whole| whole.exposed_comm_ns),
    ("Exposed Memory Copies", |whole| whole.exposed_memcpy_ns),
    ("Idle Time", |whole| whole.idle_ns),
];

/// The rows that the table must have.
pub(super) const LABELS: [&str; 6] = [
    TIMES[0].0,
    TIMES[1].0,
    TIMES[2].0,
    TIMES[3].0,
    TIMES[4].0,
    "GPU Utilization",
];

fn metrics(comparison: &Comparison) -> DocTable {
    let sides = comparison.sides.as_ref();
    let timelines = sides.map(|side| side.timeline);
    let percent = |change| text(words::signed_percent(change));
    let mut rows: Vec<(&str, Pair<Line>, Line)> = Vec::new();
    for (label, read) in TIMES {
        let times = timelines.as_ref().map(|whole| whole.as_ref().map(read));
        let change = times.both().and_then(Pair::change_percent);
        let times = times.map(|ns| dash(ns, format::time_ns));
        rows.push((label, times, percent(change)));
    }
    let utilization = timelines.map(|whole| {
        let whole = whole.filter(|whole| whole.total_ns() > 0)?;
        Some(whole.computation_ns as f64 / whole.total_ns() as f64 * 100.0)
    });
    let points = utilization.both().map(|both| both.target - both.reference);
    let points = dash(points, |points| {
        words::signed_percent(Some(points)).replace(" %", " points")
    });
    let utilization = utilization.map(|percent| dash(percent, format::percent));
    rows.push((LABELS[5], utilization, points));
    if let Some((_, step)) = comparison.per_step() {
        let times = step.map(|ns| text(format::time_ns(ns)));
        rows.push(("Time of a Step", times, percent(step.change_percent())));
    }
    if timelines.both().is_none() {
        let cpu = sides.map(|side| side.cpu_ns);
        let change = percent(cpu.change_percent());
        rows.push(("Operators on the CPU", cpu.map(time), change));
    }
    DocTable::of(rows)
        .text("Metric", |(label, ..)| *label)
        .line(">Reference", |(_, values, _)| values.reference.clone())
        .line(">Target", |(_, values, _)| values.target.clone())
        .line(">Δ", |(.., change)| change.clone())
        .into()
}

fn key_findings(comparison: &Comparison) -> Vec<String> {
    let mut findings = Vec::new();
    if comparison.is_same() {
        findings.extend(waste(comparison));
        return findings;
    }
    findings.extend(steps(comparison));
    findings.extend(largest(comparison));
    findings.extend(by_category(comparison));
    findings.extend(faster(comparison));
    let judged = [explained(comparison), verdicts(comparison)];
    let judged = format::joined(judged.into_iter().flatten(), " ");
    findings.extend((!judged.is_empty()).then_some(judged));
    let first = comparison.gaps.ranked.first();
    findings.extend(first.map(|gap| format!("First to look at: {}.", gap.title)));
    findings.extend(waste(comparison));
    findings
}

/// What both traces waste in the same way, by title.
fn waste(comparison: &Comparison) -> Option<String> {
    let named = comparison.waste.iter().take(N_WASTE);
    let named = named.map(|one| format!("{}, {}", one.title, comparison.savings_of(one)));
    let named = format::joined(named, "; ");
    (!named.is_empty()).then(|| {
        format!("Inefficiencies in both traces, with their saving on the target: {named}.")
    })
}

/// The rows of the step table with the most weight.
fn steps(comparison: &Comparison) -> Option<String> {
    let rows = comparison
        .steps
        .iter()
        .arranged_by_largest(|row| row.weight());
    let named = rows.into_iter().take(N_NAMED).map(|row| {
        let ratio = row
            .ratio()
            .map(|ratio| format!(", {}", words::times(ratio)));
        format!(
            "{}: {} against {}{}",
            row.label(),
            row.time(Which::Target),
            row.time(Which::Reference),
            ratio.unwrap_or_default()
        )
    });
    let named = format::joined(named, "; ");
    (!named.is_empty()).then(|| format!("Steps of the target against the reference: {named}."))
}

fn largest(comparison: &Comparison) -> Option<String> {
    if !comparison.has_gpu_times() {
        return None;
    }
    let steps = comparison.parts.waterfall(N_NAMED);
    let named: Vec<String> = steps
        .iter()
        .filter(|step| step.kind.is_some() && comparison.parts.is_notable(step.times))
        .take(N_NAMED)
        .map(|step| {
            let difference = format::signed_time_ns(step.times.difference());
            format!("{} ({difference})", part_name(comparison, step))
        })
        .collect();
    (!named.is_empty()).then(|| format!("The largest differences: {}.", named.join(", ")))
}

/// The categories that differ most; none if the traces hold different amounts of work, which all of them follow.
fn by_category(comparison: &Comparison) -> Option<String> {
    if !comparison.has_gpu_times() || !comparison.amount.is_same() || comparison.work.is_some() {
        return None;
    }
    // What the other trace computes in operations of another category would count as a difference of both.
    let is_notable_group =
        |op: &MatchedOp| op.is_group() && comparison.parts.is_notable(op.times());
    if comparison.operations.matched.iter().any(is_notable_group) {
        return None;
    }
    let rows = comparison.categories.iter();
    let rows = rows.filter(|row| comparison.parts.is_notable(row.times()));
    let rows = rows.arranged_by_largest(|row| row.times().difference().unsigned_abs());
    let named = rows.iter().take(N_NAMED).map(|row| {
        let difference = format::signed_time_ns(row.times().difference());
        let change = row.times().change_percent();
        let change = change.map(|change| format!(", {}", words::signed_percent(Some(change))));
        format!(
            "{} ({difference}{})",
            row.key.label(),
            change.unwrap_or_default()
        )
    });
    let named: Vec<String> = named.collect();
    (named.len() > 1).then(|| format!("By category: {}.", named.join(", ")))
}

/// What makes the target faster, by reason.
fn faster(comparison: &Comparison) -> Option<String> {
    let matched = comparison.operations.matched.iter();
    let known = matched.filter_map(|op| Some((op.why_faster()?, op)));
    let known = known.filter(|(_, op)| comparison.parts.is_notable(op.times()));
    let mut reasons: Vec<(&str, Vec<&MatchedOp>)> = grouped(known, Vec::push);
    let saved_ns = |ops: &[&MatchedOp]| {
        sum(ops.iter().map(|op| {
            op.times()
                .target
                .saturating_sub(op.scaled_ns().round() as i64)
        }))
    };
    reasons.arrange_by_largest(|(_, ops)| saved_ns(ops).unsigned_abs());
    let said = reasons.iter().take(N_NAMED).map(|(reason, ops)| {
        let names = words::names(ops.iter().map(|op| op.name.as_str()));
        let difference = format::signed_time_ns(saved_ns(ops));
        format!("{reason} ({names}: {difference})")
    });
    let said = format::joined(said, "; ");
    (!said.is_empty()).then(|| format!("Parts of the target are faster because of {said}."))
}

/// A part with the name of its operation quoted.
pub(super) fn part_name(comparison: &Comparison, step: &Step) -> String {
    let named = |name: &str, shapes: &str| label(&words::quoted(name), shapes);
    match step.kind {
        Some(PartKind::Matched(at)) => {
            let op = comparison.operations.matched.get(at);
            op.map_or(String::new(), |op| named(&op.name, &op.shapes))
        }
        Some(PartKind::Unmatched(which, at)) => {
            let op = comparison.operations.unmatched.get(which).get(at);
            op.map_or(String::new(), |op| {
                format!("{}, {} only", named(&op.name, &op.shapes), which.label())
            })
        }
        _ => step.label.clone(),
    }
}

fn explained(comparison: &Comparison) -> Option<String> {
    let explained = &comparison.explained;
    if explained.n_operations == 0 || comparison.is_same_gpu {
        return None;
    }
    let for_as_many = match explained.by_calls_ns() {
        0 => "",
        _ => " for as many calls as the target makes",
    };
    let and_work = match explained.by_work_ns() {
        0 => "",
        _ => ", with the target's own sizes,",
    };
    Some(format!(
        "{} {} on the reference{for_as_many}; the hardware{and_work} predicts {} on the target, and {} was measured.",
        match explained.n_operations {
            1 => "1 operation with a prediction takes".to_owned(),
            n => format!(
                "{} operations with a prediction take",
                format::count(n as u64)
            ),
        },
        format::time_ns(explained.scaled_ns),
        format::time_ns(explained.expected_ns),
        format::time_ns(explained.times.target),
    ))
}

fn verdicts(comparison: &Comparison) -> Option<String> {
    let counts = comparison.operations.verdicts();
    let mut verdicts = counts.iter().map(|count| count.verdict);
    let is_judged = verdicts.any(|verdict| !matches!(verdict, Verdict::NotJudged(_)));
    let named = counts.iter().map(|count| {
        let n = format::count(count.n_operations as u64);
        format!("{n} {}", count.verdict.label_on(comparison.is_same_gpu))
    });
    let named = format::joined(named, ", ");
    let all = format::counted(comparison.operations.matched.len() as u64, "operation");
    // One factor is within what a single operation may differ by.
    let alike = comparison
        .gaps
        .ranked
        .iter()
        .find_map(|gap| match &gap.subject {
            GapSubject::Operations(rows) if gap.pattern == SLOWER_MACHINE => {
                Some(rows.len() as u64)
            }
            _ => None,
        });
    let alike = alike.map_or(String::new(), |n| {
        format!("; {} are slower by one common factor", format::count(n))
    });
    is_judged.then(|| format!("Of {all} of both traces: {named}{alike}."))
}
