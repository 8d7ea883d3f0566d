//! What the findings file says of each trouble: fields with their values, in words.

use super::assess::{CopyAssessment, Facts, Overlap};
use super::copies::Direction;
use super::findings::causes;
use super::patterns::{out_of_reach, patterns, to_target_ns};
use crate::base::format;
use crate::findings::pattern::Pattern;
use crate::findings::{Input, Severity};

/// A name and what stands behind it.
pub(crate) type Field = (&'static str, String);

/// What the findings file says beside tables and recommendations.
#[derive(Debug)]
pub(crate) struct Sections {
    /// Copies from the GPU to the host.
    pub(crate) device_to_host: Vec<Field>,
    /// Copies from the host to the GPU.
    pub(crate) host_to_device: Vec<Field>,
    /// Communication while nothing computes.
    pub(crate) blocking: Vec<Field>,
    /// Communication beside computation.
    pub(crate) overlap: Vec<Field>,
    /// Every pattern that is flagged.
    pub(crate) patterns: Vec<Pattern>,
}

/// Judges copies and communication once more, for the file; `None` without GPU work.
pub(crate) fn sections(input: &Input) -> Option<Sections> {
    let facts = Facts::new(input)?;
    Some(Sections {
        device_to_host: copies(input, &facts, Direction::DeviceToHost),
        host_to_device: copies(input, &facts, Direction::HostToDevice),
        blocking: blocking(&facts),
        overlap: overlap(&facts),
        patterns: patterns(&facts),
    })
}

fn copies(input: &Input, facts: &Facts, direction: Direction) -> Vec<Field> {
    let assessed = facts.assess(direction);
    let (count, time_ns, percent) = assessed.as_ref().map_or((0, 0, 0.0), |assessed| {
        (
            assessed.copies.count,
            assessed.copies.time_ns,
            assessed.percent,
        )
    });
    let severity = assessed
        .as_ref()
        .map_or(Severity::Acceptable, CopyAssessment::severity);
    let causes = match &assessed {
        None => "There are none.".to_owned(),
        Some(assessed) => {
            let causes = causes(input, facts, assessed);
            match causes.is_empty() {
                true => "The trace does not tell who asks for them.".to_owned(),
                false => causes.join(" "),
            }
        }
    };
    vec![
        ("Count", format::counted(count, "transfer")),
        (
            "Total Time",
            format!(
                "{} ({} of the run)",
                format::time_ns(time_ns),
                format::percent(percent)
            ),
        ),
        ("Assessment", severity.label().to_owned()),
        ("Root Cause", causes),
    ]
}

fn blocking(facts: &Facts) -> Vec<Field> {
    let timeline = &facts.timeline;
    let blocking = facts.blocking();
    let impact = match timeline.exposed_comm_ns {
        0 => "Communication never keeps the GPU from computing.".to_owned(),
        ns => format!(
            "The GPU computes nothing for {} while messages travel.",
            format::time_ns(ns)
        ),
    };
    vec![
        (
            "Exposed Communication Time",
            format!(
                "{} ({} of the run)",
                format::time_ns(timeline.exposed_comm_ns),
                format::percent(blocking.percent)
            ),
        ),
        (
            "Total Communication Time",
            format::time_ns(timeline.comm_ns),
        ),
        ("Assessment", blocking.severity.label().to_owned()),
        ("Impact", impact),
    ]
}

fn overlap(facts: &Facts) -> Vec<Field> {
    let overlap = facts.overlap();
    let target = format::percent(facts.thresholds.overlap_target_percent);
    let ratio = match overlap.percent() {
        Some(percent) => format!("{} (target above {target})", format::percent(percent)),
        None => "no communication".to_owned(),
    };
    let impact = match overlap {
        Overlap::None => "There is nothing to overlap.".to_owned(),
        Overlap::Insufficient { .. } => {
            "There is too little communication to judge its overlap.".to_owned()
        }
        Overlap::Known {
            is_flagged: false, ..
        } => "The target is met.".to_owned(),
        Overlap::Known { .. } => out_of_reach(facts).unwrap_or_else(|| {
            format!(
                "At the target {} would be won, with full overlap {}.",
                format::time_ns(to_target_ns(facts)),
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
