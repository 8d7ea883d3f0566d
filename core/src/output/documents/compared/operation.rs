//! The known facts about one operation in both traces: its figures and its kernels.

use crate::base::format;
use crate::compare::expected::RooflineTime;
use crate::compare::ops::{MatchedOp, label};
use crate::compare::pair::{Pair, Which};
use crate::compare::words;
use crate::output::markup::{DocTable, Line, count, dash, line, text, time};

pub(super) fn heading(op: &MatchedOp) -> String {
    label(&words::quoted(&op.name), &op.shapes)
}

pub(super) fn figures(op: &MatchedOp) -> DocTable {
    let judgment = &op.judgment;
    let is_expected = match judgment.verdict.is_expected() {
        _ if op.is_same() => "No difference",
        Some(true) => "Yes",
        Some(false) => "No",
        None => "–",
    };
    let (times, calls) = (op.times(), op.calls());
    let has_same_calls = calls.reference == calls.target;
    let sides = op.sides.as_ref();
    let mut rows: Vec<(&str, Pair<Line>, Line, Line)> = Vec::new();
    let none = Line::new;
    let mut row = |label, values, change, expected| rows.push((label, values, change, expected));
    row(
        "Time",
        times.map(time),
        text(words::signed_percent(times.change_percent())),
        // The prediction is per call, so it holds for the total only if both sides have the same number of calls.
        text(if has_same_calls { is_expected } else { "" }),
    );
    let more_calls = (calls.target as f64 / calls.reference.max(1) as f64 - 1.0) * 100.0;
    let more_calls = match has_same_calls {
        true => none(),
        false => text(words::signed_percent(Some(more_calls))),
    };
    row("Calls", calls.map(count), more_calls, none());
    let timed = sides.map(|side| side.timed.count);
    if timed != calls {
        row("Calls of known time", timed.map(count), none(), none());
    }
    let us = sides.map(|side| side.ns_per_call() / 1e3);
    let percent = |ratio: f64| words::signed_percent(Some((ratio - 1.0) * 100.0));
    row(
        "Time of a call",
        us.map(|us| text(format::time_us(us))),
        dash(judgment.actual, percent),
        dash(judgment.expected, |expected| match op.is_same() {
            true => is_expected.to_owned(),
            false => format!("{is_expected}: {}", percent(expected)),
        }),
    );
    let share = sides.map(|side| dash(side.percent_of_compute, format::percent));
    row("% of compute", share, none(), none());
    for (label, values) in roofline_figures(op) {
        row(label, values, none(), none());
    }
    DocTable::of(rows)
        .text("Metric", |(head, ..)| *head)
        .line(">Reference", |(_, values, ..)| values.reference.clone())
        .line(">Target", |(_, values, ..)| values.target.clone())
        .line(">Δ", |(.., change, _)| change.clone())
        .line("Expected?", |(.., expected)| expected.clone())
        .into()
}

/// The rows about the roofline, where it is known.
fn roofline_figures(op: &MatchedOp) -> Vec<(&'static str, Pair<Line>)> {
    let judgment = &op.judgment;
    let rooflines = judgment.rooflines;
    let mut rows = Vec::new();
    if rooflines.reference.is_some() || rooflines.target.is_some() {
        let time = |roofline: RooflineTime| {
            let time = format::time_us(roofline.us_per_call);
            format!("{time} ({})", words::bound(roofline.bound))
        };
        rows.push((
            "Roofline of a call",
            rooflines.map(|roofline| dash(roofline, time)),
        ));
        let percent = Pair::of(|which| {
            dash(op.roofline_percent(which), |percent| {
                let is_anomaly = *judgment.is_implausible.get(which);
                let mark = if is_anomaly { " [ANOMALY]" } else { "" };
                format!("{}{mark}", format::percent(percent))
            })
        });
        rows.push(("% roofline", percent));
    }
    // By the basis of the target's own report.
    let floor = judgment.floor.filter(|of| rooflines.target != Some(*of));
    rows.extend(floor.map(|floor| {
        let basis = floor.basis.label();
        let least = format!("{} ({basis})", format::time_us(floor.us_per_call));
        let values = Pair::only(Which::Target, text(least));
        ("Minimum time of a call", values)
    }));
    rows
}

pub(super) fn kernels(op: &MatchedOp) -> DocTable {
    let kernels = Which::ALL.into_iter().flat_map(|which| {
        let kernels = op.sides.get(which).kernels.iter();
        kernels.map(move |kernel| (which, kernel))
    });
    DocTable::of(kernels)
        .text("Side", |(which, _)| which.label())
        .line("Kernel", |(_, kernel)| line(&words::kernel(&kernel.name)))
        .count(">Count", |(_, kernel)| kernel.count)
        .time(">Time", |(_, kernel)| kernel.ns)
        .into()
}
