//! The reports of every trace satisfy their own rules, on the GPU of the trace and on another.

use dormer_core::hardware;
use dormer_core::output::export::Input;

use crate::support::opened::{broken_rules, profile, report_on};
use crate::support::shared;

#[test]
fn every_report_holds_its_rules() {
    let mut broken = Vec::new();
    for (name, trace) in shared::with_sample() {
        let profile = profile(&trace);
        let detected = hardware::detect(&profile.trace.devices);
        let other = hardware::find("MI300X");
        for gpu in [detected, other] {
            let on = gpu.map_or("no GPU", |gpu| gpu.name.as_ref());
            let rules = broken_rules(&Input::new(&profile, &report_on(&profile, gpu)));
            broken.extend(
                rules
                    .into_iter()
                    .map(|rule| format!("{name} on {on}: {rule}")),
            );
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}
