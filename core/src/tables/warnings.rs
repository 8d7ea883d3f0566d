//! The rows of warnings.

use super::Value;
use crate::base::format::snake_case;
use crate::import::warning::Severity;
use crate::profile::Profile;

pub(super) fn rows(profile: &Profile) -> Vec<Vec<Value>> {
    let rows = profile.warnings.iter().map(|warning| {
        vec![
            snake_case(&format!("{:?}", warning.kind)).into(),
            severity(warning.kind.severity()).into(),
            Value::U64(warning.count),
            warning.sentence().into_owned().into(),
        ]
    });
    rows.collect()
}

fn severity(of: Severity) -> &'static str {
    match of {
        Severity::Info => "info",
        Severity::Repaired => "repaired",
        Severity::DataLoss => "data_loss",
    }
}
