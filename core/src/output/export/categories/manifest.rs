//! Every analysis with its files, in one file.

use serde_json::{Value as Json, json};

use super::FILES;
use super::metadata::{Time, host_ns, platform, time_of};
use crate::findings::Outcome;
use crate::output::json::findings::{ms, run};
use crate::output::json::shared::window;
use crate::profile::Profile;
use crate::report::Report;

pub(super) fn manifest(profile: &Profile, report: &Report) -> Json {
    let category = |outcome: &Outcome| {
        let path = |wanted: &str| {
            let file = FILES.iter().find(|file| file.title == wanted)?;
            (file.has)(outcome).then(|| (file.path)(outcome))
        };
        json!({
            "name": outcome.kind.key,
            "display_name": outcome.kind.title,
            "tier": outcome.kind.tier.key(),
            "status": outcome.status.key(),
            "ops_count": outcome.rows.len(),
            "gpu_kernel_time_ms": time_of(outcome, Time::Kernels),
            "idle_time_ms": time_of(outcome, Time::Idle),
            "exposed_time_ms": time_of(outcome, Time::Exposed),
            "cpu_duration_ms": ms(host_ns(profile, outcome)),
            "csv_file": path("Operations of an analysis"),
            "metadata_file": path("What an analysis was made with"),
            "tree_data_file": path("Places in the call tree"),
            "metrics_file": path("Figures of an analysis"),
            "findings_file": path("Findings of an analysis"),
        })
    };
    json!({
        "platform": platform(report),
        "comparison_scope": "standalone",
        "window": window(profile.window.as_ref()),
        "gpu_utilization": run(report),
        "time_metric_note": "Ranked by GPU kernel time, never by CPU time.",
        "categories": report.analyses.outcomes.iter().map(category).collect::<Vec<Json>>(),
    })
}
