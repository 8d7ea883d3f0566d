//! The sections of the findings file about copies and communication: one for each issue.

use crate::assess::Input;
use crate::base::format;
use crate::findings::multi_kernel::{Facts, causes, out_of_reach};
use crate::profile::copies::Direction;

/// A name and its text.
pub(super) type Field = (&'static str, String);

pub(super) fn copies(input: &Input, facts: &Facts, direction: Direction) -> Vec<Field> {
    let assessed = facts.assess(direction);
    let (count, time_ns, percent) = assessed.map_or((0, 0, 0.0), |assessed| {
        let copies = &assessed.copies;
        (copies.count, copies.time_ns, assessed.percent)
    });
    let causes = match assessed.map(|assessed| causes(input, facts, assessed)) {
        None => "There are none.".to_owned(),
        Some(causes) if causes.is_empty() => {
            "The trace does not tell who asks for them.".to_owned()
        }
        Some(causes) => causes.join(" "),
    };
    vec![
        ("Count", format::counted(count, "transfer")),
        ("Total Time", time_of_run(time_ns, percent)),
        (
            "Assessment",
            facts.severity_of(direction).label().to_owned(),
        ),
        ("Root Cause", causes),
    ]
}

fn time_of_run(ns: i64, percent: f64) -> String {
    let (time, percent) = (format::time_ns(ns), format::percent(percent));
    format!("{time} ({percent} of the run)")
}

pub(super) fn blocking(facts: &Facts) -> Vec<Field> {
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
    vec![
        ("Exposed Communication Time", exposed),
        (
            "Total Communication Time",
            format::time_ns(timeline.comm_ns),
        ),
        ("Assessment", blocking.severity.label().to_owned()),
        ("Impact", impact),
    ]
}

pub(super) fn overlap(facts: &Facts) -> Vec<Field> {
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
            format!(
                "At the target {} are saved, with full overlap {}.",
                format::time_ns(facts.to_target_ns()),
                format::time_ns(facts.hideable.exposed_comm_ns)
            )
        }),
    };
    vec![
        ("Overlap Ratio", ratio),
        ("Assessment", overlap.label().to_owned()),
        ("Impact", impact),
    ]
}
