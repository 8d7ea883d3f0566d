//! What is known of one operation of both traces: its figures and its kernels.

use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::pair::Which;
use crate::compare::words;
use crate::output::document::DocTable;

/// What is known of an operation of both traces.
pub(super) fn figures(comparison: &Comparison, op: &MatchedOp) -> DocTable {
    let mut table = DocTable::new(&["Metric", ">Reference", ">Target", ">Δ", "Expected?"]);
    let judgement = &op.judgement;
    let is_expected = match judgement.verdict.is_expected() {
        _ if op.is_same() => "No difference",
        Some(true) => "Yes",
        Some(false) => "No",
        None => "–",
    };
    let times = op.times();
    let calls = op.calls();
    // What is expected is expected of a call: of the sum only where both make as many.
    let of_all = match calls.reference == calls.target {
        true => is_expected,
        false => "",
    };
    table.row(&[
        "Time",
        &format::time_ns(times.reference),
        &format::time_ns(times.target),
        &words::signed_percent(times.change_percent()),
        of_all,
    ]);
    let change_of_calls = (calls.target as f64 / calls.reference.max(1) as f64 - 1.0) * 100.0;
    let change_of_calls = match calls.reference == calls.target {
        true => String::new(),
        false => words::signed_percent(Some(change_of_calls)),
    };
    table.row(&[
        "Calls",
        &format::count(calls.reference),
        &format::count(calls.target),
        &change_of_calls,
        "",
    ]);
    let timed = op.sides.as_ref().map(|side| side.timed.calls);
    if timed.reference != calls.reference || timed.target != calls.target {
        table.row(&[
            "Calls of known time",
            &format::count(timed.reference),
            &format::count(timed.target),
            "",
            "",
        ]);
    }
    let per_call = op.sides.as_ref().map(|side| side.ns_per_call() / 1e3);
    let change = judgement.actual.map(|ratio| (ratio - 1.0) * 100.0);
    table.row(&[
        "Time of a call",
        &format::time_us(per_call.reference),
        &format::time_us(per_call.target),
        &words::signed_percent(change),
        &judgement.expected.map_or("–".to_owned(), |expected| {
            let expected = words::signed_percent(Some((expected - 1.0) * 100.0));
            match op.is_same() {
                true => is_expected.to_owned(),
                false => format!("{is_expected}: {expected}"),
            }
        }),
    ]);
    let share = op.sides.as_ref().map(|side| {
        side.percent_of_compute
            .map_or("–".to_owned(), format::percent)
    });
    table.row(&["% of compute", &share.reference, &share.target, "", ""]);
    let roofs = judgement.roofs;
    if roofs.reference.is_some() || roofs.target.is_some() {
        let roof = roofs.map(|roof| {
            roof.map_or("–".to_owned(), |roof| {
                format!(
                    "{} ({})",
                    format::time_us(roof.us_per_call),
                    words::bound(roof.bound)
                )
            })
        });
        table.row(&["Roof of a call", &roof.reference, &roof.target, "", ""]);
        let of_roof = roofs.zip(per_call).map(|(roof, us)| {
            let percent = roof
                .filter(|_| us > 0.0)
                .map(|roof| roof.us_per_call / us * 100.0);
            let percent = percent.map(|percent| {
                let anomaly = percent > comparison.thresholds.anomaly_percent;
                let mark = if anomaly { " [ANOMALY]" } else { "" };
                format!("{}{mark}", format::percent(percent))
            });
            percent.unwrap_or("–".to_owned())
        });
        table.row(&["Of the roof", &of_roof.reference, &of_roof.target, "", ""]);
    }
    table
}

/// The kernels of both sides of an operation.
pub(super) fn kernels(op: &MatchedOp) -> DocTable {
    let mut table = DocTable::new(&["Side", "Kernel", ">Count", ">Time"]);
    for which in [Which::Reference, Which::Target] {
        for kernel in &op.sides.get(which).kernels {
            table.row(&[
                which.label(),
                &words::kernel(&kernel.name),
                &format::count(kernel.count),
                &format::time_ns(kernel.ns),
            ]);
        }
    }
    table
}
