//! The sections of the findings file about copies and communication: one for each issue.

use super::Input;
use crate::assess;
use crate::base::format;
use crate::base::value::Value;
use crate::findings::Outcome;
use crate::findings::multi_kernel::{Facts, causes, out_of_reach, patterns};
use crate::output::markup::{Document, field};
use crate::profile::gpu::copies::Direction;
use crate::report::cards::NOT_QUANTIFIABLE;

type Field = (&'static str, String);

fn fields(document: &mut Document, heading: &str, fields: &[Field]) {
    document.heading(3, heading);
    document.bullets(fields.iter().map(|(name, text)| field(name, text)));
}

pub(super) fn copies(document: &mut Document, source: &Input, _: &Outcome) {
    let input = source.report.analysis_input(source.profile);
    let Some(facts) = Facts::new(&input) else {
        return;
    };
    for (heading, direction) in [
        ("D2H (Device-to-Host) Transfers", Direction::DeviceToHost),
        ("H2D (Host-to-Device) Transfers", Direction::HostToDevice),
    ] {
        fields(document, heading, &in_direction(&input, &facts, direction));
    }
}

pub(super) fn communication(document: &mut Document, source: &Input, _: &Outcome) {
    let input = source.report.analysis_input(source.profile);
    if let Some(facts) = Facts::new(&input) {
        let (blocking, overlap) = (blocking(&facts), overlap(&facts));
        fields(document, "Communication Blocking Compute", &blocking);
        fields(document, "Compute/Communication Overlap", &overlap);
    }
}

pub(super) fn detected(document: &mut Document, source: &Input, _: &Outcome) {
    let input = source.report.analysis_input(source.profile);
    let Some(facts) = Facts::new(&input) else {
        return;
    };
    for (at, pattern) in patterns(&input, &facts).iter().enumerate() {
        let saves = |ns: i64| format!("Can save up to {}.", Value::Ns(ns).text());
        let impact = pattern.recoverable_ns.map(saves);
        let impact = impact.unwrap_or_else(|| NOT_QUANTIFIABLE.to_owned());
        let severity = pattern.severity.label();
        fields(
            document,
            &format!("{}. {} - {severity}", at + 1, pattern.name),
            &[
                ("Evidence", pattern.description.clone()),
                ("Impact", impact),
                ("Recommendation", pattern.recommendation.to_owned()),
            ],
        );
    }
    document.or_text("None: copies and communication are within their limits.");
}

/// Tables of the technical details, with their headings there.
const TECHNICAL: &[(&str, &str)] = &[
    ("top_communication", "Top Communication Operations"),
    ("memory_copy_breakdown", "Memory Copy Breakdown"),
    ("collectives", "Collectives by Type and Size"),
    ("copies", "Copies by Operator"),
];

pub(super) fn technical(document: &mut Document, _: &Input, outcome: &Outcome) {
    for (key, heading) in TECHNICAL {
        document.heading(3, heading);
        let mut rows = Document::default();
        table(&mut rows, outcome, key);
        rows.or_text("None recorded.");
        document.append(rows);
    }
}

pub(super) fn summary(document: &mut Document, _: &Input, outcome: &Outcome) {
    table(document, outcome, "summary");
}

fn table(document: &mut Document, outcome: &Outcome, key: &str) {
    let mut tables = outcome.tables.iter();
    if let Some(table) = tables.find(|table| table.key == key) {
        document.table(table);
    }
}

fn in_direction(input: &assess::Input, facts: &Facts, direction: Direction) -> Vec<Field> {
    let assessed = facts.assess(direction);
    let (count, time_ns, percent) = assessed.map_or((0, 0, 0.0), |assessed| {
        let copies = &assessed.copies;
        (copies.count, copies.time_ns, assessed.percent)
    });
    let causes = match assessed.map(|assessed| causes(input, facts, assessed)) {
        None => "There are none.".to_owned(),
        Some(causes) if causes.is_empty() => {
            "The trace does not show which operators ask for them.".to_owned()
        }
        Some(causes) => causes.join(" "),
    };
    let severity = facts.severity_of(direction).label();
    vec![
        ("Count", format::counted(count, "transfer")),
        ("Total Time", time_of_run(time_ns, percent)),
        ("Assessment", severity.to_owned()),
        ("Root Cause", causes),
    ]
}

fn time_of_run(ns: i64, percent: f64) -> String {
    let (time, percent) = (format::time_ns(ns), format::percent(percent));
    format!("{time} ({percent} of the run)")
}

fn blocking(facts: &Facts) -> Vec<Field> {
    let timeline = &facts.timeline;
    let blocking = facts.blocking();
    let exposed = time_of_run(timeline.exposed_comm_ns, blocking.percent);
    let impact = match timeline.exposed_comm_ns {
        0 => "Communication never keeps the GPU from computing.".to_owned(),
        ns => format!(
            "The GPU computes nothing for {} while messages travel.",
            format::time_ns(ns)
        ),
    };
    let total = format::time_ns(timeline.comm_ns);
    vec![
        ("Exposed Communication Time", exposed),
        ("Total Communication Time", total),
        ("Assessment", blocking.severity.label().to_owned()),
        ("Impact", impact),
    ]
}

fn overlap(facts: &Facts) -> Vec<Field> {
    let overlap = facts.overlap();
    let target = format::percent(facts.thresholds.overlap_target_percent);
    let ratio = match overlap.percent {
        Some(percent) => format!("{} (target above {target})", format::percent(percent)),
        None => "no communication".to_owned(),
    };
    let impact = match (overlap.percent, overlap.severity) {
        (None, _) => "There is nothing to overlap.".to_owned(),
        (_, None) => "There is too little communication to judge its overlap.".to_owned(),
        _ if !overlap.is_flagged => "The target is met.".to_owned(),
        _ => out_of_reach(facts).unwrap_or_else(|| {
            let saved = [facts.to_target_ns(), facts.hideable.exposed_comm_ns];
            let [at_target, all] = saved.map(format::time_ns);
            format!("At the target {at_target} are saved, with full overlap {all}.")
        }),
    };
    vec![
        ("Overlap Ratio", ratio),
        ("Assessment", overlap.label().to_owned()),
        ("Impact", impact),
    ]
}
