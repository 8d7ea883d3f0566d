//! Every analysis with its files, in one file.

use serde_json::{Value as Json, json};

use super::FILES;
use super::metadata::{platform, times};
use crate::base::sort::Gather;
use crate::findings::Outcome;
use crate::output::json::findings::run;
use crate::output::json::shared::window;
use crate::output::json::{list, with_keys_of};
use crate::profile::Profile;
use crate::report::Report;

pub(super) fn manifest(profile: &Profile, report: &Report) -> Json {
    let category = |outcome: &Outcome| {
        let files = FILES.iter().map(|file| {
            let path = (file.has)(outcome).then(|| (file.path)(outcome));
            (file.key.to_owned(), json!(path))
        });
        let own = json!({
            "name": outcome.kind.key,
            "display_name": outcome.kind.title,
            "tier": outcome.kind.tier.key(),
            "status": outcome.status.key(),
            "ops_count": outcome.rows.len(),
        });
        let files = files.chain(times(profile, outcome)).gather();
        Json::Object(with_keys_of(files, own))
    };
    json!({
        "platform": platform(report),
        "comparison_scope": "standalone",
        "window": window(profile.window.as_ref()),
        "gpu_utilization": run(report),
        "time_metric_note": "Ranked by GPU kernel time, never by CPU time.",
        "categories": list(&report.analyses.outcomes, category),
    })
}
