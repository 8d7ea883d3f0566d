//! The reports of every trace hold their own rules, on the GPU of the trace and on another.

use dormer_core::hardware;
use dormer_core::import::import;
use dormer_core::output::documents::{Documents, check::Verdict};
use dormer_core::output::export::Input;
use dormer_core::profile::Profile;
use dormer_core::report::{Report, ReportOptions};

use crate::support::shared;

#[test]
fn every_report_holds_its_rules() {
    let mut broken = Vec::new();
    for (name, trace) in shared::with_sample() {
        let profile = Profile::new(import(&trace).unwrap());
        let detected = hardware::detect(&profile.trace.devices);
        let other = hardware::find("MI300X");
        for gpu in [detected, other] {
            let options = ReportOptions {
                gpu: gpu.map(Into::into),
                ..ReportOptions::default()
            };
            let on = gpu.map_or("no GPU", |gpu| gpu.name.as_ref());
            for check in Input::new(&profile, &Report::new(&profile, &options)).checks() {
                if let Verdict::Fail(defects) = check.verdict {
                    broken.push(format!("{name} on {on}: {}: {defects}", check.id));
                }
            }
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
