//! What is known of one operation of both traces: its figures and its kernels.

use super::SIDES;
use crate::base::format;
use crate::compare::comparison::Comparison;
use crate::compare::ops::MatchedOp;
use crate::compare::words;
use crate::output::document::{DocTable, dash};

/// What an operation is called in headings.
pub(super) fn heading(op: &MatchedOp) -> String {
    match op.shapes.is_empty() {
        true => words::quoted(&op.name),
        false => format!("{} {}", words::quoted(&op.name), op.shapes),
    }
}

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
    let (times, calls) = (op.times(), op.calls());
    let has_same_calls = calls.reference == calls.target;
    let texts = op.sides.as_ref();
    let mut row = |label: &str, cells: [String; 2], change: &str, expected: &str| {
        let [reference, target] = cells;
        table.row(&[label, &reference, &target, change, expected]);
    };
    row(
        "Time",
        [times.reference, times.target].map(format::time_ns),
        &words::signed_percent(times.change_percent()),
        // What is expected is expected of a call: of the sum only where both make as many.
        if has_same_calls { is_expected } else { "" },
    );
    let more_calls = (calls.target as f64 / calls.reference.max(1) as f64 - 1.0) * 100.0;
    let more_calls = (!has_same_calls).then(|| words::signed_percent(Some(more_calls)));
    row(
        "Calls",
        [calls.reference, calls.target].map(format::count),
        &more_calls.unwrap_or_default(),
        "",
    );
    let timed = texts.map(|side| side.timed.count);
    if timed.reference != calls.reference || timed.target != calls.target {
        let timed = [timed.reference, timed.target].map(format::count);
        row("Calls of known time", timed, "", "");
    }
    let us = texts.map(|side| side.ns_per_call() / 1e3);
    let percent = |ratio: f64| words::signed_percent(Some((ratio - 1.0) * 100.0));
    row(
        "Time of a call",
        [us.reference, us.target].map(format::time_us),
        &dash(judgement.actual, percent),
        &dash(judgement.expected, |expected| match op.is_same() {
            true => is_expected.to_owned(),
            false => format!("{is_expected}: {}", percent(expected)),
        }),
    );
    let share = texts.map(|side| dash(side.percent_of_compute, format::percent));
    row("% of compute", [share.reference, share.target], "", "");
    let roofs = judgement.roofs;
    if roofs.reference.is_some() || roofs.target.is_some() {
        let roof = |roof: crate::compare::expected::Roof| {
            let time = format::time_us(roof.us_per_call);
            format!("{time} ({})", words::bound(roof.bound))
        };
        let time = roofs.map(|of_side| dash(of_side, roof));
        row("Roofline of a call", [time.reference, time.target], "", "");
        let percent = roofs.zip(us).map(|(roof, us)| {
            dash(roof.filter(|_| us > 0.0), |roof| {
                let percent = roof.us_per_call / us * 100.0;
                let is_anomaly = percent > comparison.thresholds.anomaly_percent;
                let mark = if is_anomaly { " [ANOMALY]" } else { "" };
                format!("{}{mark}", format::percent(percent))
            })
        });
        row("% roofline", [percent.reference, percent.target], "", "");
    }
    table
}

/// The kernels of both sides of an operation.
pub(super) fn kernels(op: &MatchedOp) -> DocTable {
    let rows = SIDES.into_iter().flat_map(|which| {
        let kernels = op.sides.get(which).kernels.iter();
        kernels.map(move |kernel| {
            [
                which.label().to_owned(),
                words::kernel(&kernel.name),
                format::count(kernel.count),
                format::time_ns(kernel.ns),
            ]
        })
    });
    DocTable::of(["Side", "Kernel", ">Count", ">Time"], rows)
}
