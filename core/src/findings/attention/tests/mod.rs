//! Each rule from a trace with one such attention.

mod fused;
mod serving;
mod unfused;

use crate::base::value::Value;
use crate::findings::finding::{Estimate, Finding, Impact};
use crate::findings::outcome::{Outcome, Status};
use crate::findings::samples::Calls;
use crate::profile::Profile;
use crate::report::{Report, ReportOptions};
use crate::testing::{Timetable, options_on};

/// The outcome of one of the two analyses.
fn outcome_of(key: &str, profile: &Profile, options: &ReportOptions) -> Outcome {
    let report = Report::new(profile, options);
    report.analyses.outcome(key).unwrap().clone()
}

fn patterns(outcome: &Outcome) -> Vec<&'static str> {
    let findings = outcome.findings.iter();
    findings.map(|finding| finding.pattern).collect()
}

fn verdict(outcome: &Outcome) -> String {
    outcome.tables[0].rows[0][7].text()
}

/// `aten::_scaled_dot_product_flash_attention` over `dims`, `us` long, on an MI300X.
fn flash(dims: [u64; 4], us: f64) -> Outcome {
    let [b, h, n, d] = dims;
    fused(
        "aten::_scaled_dot_product_flash_attention",
        &format!("[[{b}, {h}, {n}, {d}], [{b}, {h}, {n}, {d}], [{b}, {h}, {n}, {d}], [], []]"),
        "c10::BFloat16",
        us,
    )
}

fn fused(op: &str, dims: &str, dtype: &str, us: f64) -> Outcome {
    let profile = Timetable::new()
        .op(op, 0..10)
        .args(&format!(
            r#""Input Dims": {dims}, "Input type": ["{dtype}", "{dtype}", "{dtype}", "", "", "", ""], "Concrete Inputs": ["", "", "", "0.0", "False", "", ""]"#
        ))
        .launch(1, 1..2)
        .kernel(1, "attn_fwd", 100.0..100.0 + us)
        .profile();
    outcome_of("sdpa_fwd", &profile, &options_on("MI300X"))
}
