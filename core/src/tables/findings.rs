//! The rows of findings.

use super::Value;
use super::operations::Key;
use crate::profile::Profile;
use crate::report::{Report, has_row};

pub(super) fn rows(profile: &Profile, report: &Report) -> Vec<Vec<Value>> {
    let rows = report.analyses.findings.ranked.iter().map(|one| {
        let finding = &one.finding;
        let operations = finding.operations.iter();
        let operations = operations.filter_map(|at| profile.operations().get(*at));
        let operations = operations.filter(|operation| has_row(profile, operation));
        let mut keys: Vec<u64> = Vec::new();
        for operation in operations {
            let key = Key::new(profile, operation).hash;
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        let impact = finding.impact;
        vec![
            i32::try_from(one.number).ok().into(),
            one.analysis.key.into(),
            finding.pattern.into(),
            finding.priority.label().into(),
            finding.title.as_str().into(),
            finding.time_ns.into(),
            impact.map(|impact| impact.low_ns).into(),
            impact.map(|impact| impact.mid_ns).into(),
            impact.map(|impact| impact.high_ns).into(),
            impact.map(|impact| impact.estimate.key()).into(),
            keys.into(),
        ]
    });
    rows.collect()
}
