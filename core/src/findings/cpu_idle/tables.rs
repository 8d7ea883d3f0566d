//! The tables: causes of gaps, their lengths, the longest, operators, waits, kernels.

use crate::assess::idle::gaps::Gap;
use crate::assess::idle::host::Cause;
use crate::assess::idle::{BINS, Idle};
use crate::base::format;
use crate::base::value::{Table, Value};
use crate::findings::origin::is_framework;
use crate::findings::{Input, Origin};
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, StringId};

/// Rows of a table of operators or waits.
const MAX_ROWS: usize = 15;

pub(super) fn tables(input: &Input, idle: &Idle) -> Vec<Table> {
    let mut tables = vec![by_class(idle), histogram(idle)];
    if !idle.top.is_empty() {
        tables.push(top(input, idle, idle.top.iter()));
    }
    if !idle.operators.is_empty() {
        tables.push(operators(input, idle));
    }
    if !idle.waits.is_empty() {
        tables.push(waits(input, idle));
    }
    tables.push(kernels(idle));
    tables
}

/// Share of the idle time.
fn of_idle(idle: &Idle, ns: i64) -> Value {
    match idle.timeline.idle_ns {
        0 => Value::NO_PERCENT,
        all_ns => Value::Percent(ns as f64 * 100.0 / all_ns as f64),
    }
}

fn by_class(idle: &Idle) -> Table {
    let mut table = Table::new(
        "idle_by_cause",
        "Idle time by cause",
        &[
            ("cause", "Cause"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
            ("percent_of_total", "Of the run"),
            ("longest", "Longest"),
        ],
    );
    table.rows = idle
        .by_time()
        .into_iter()
        .map(|(class, gaps)| {
            vec![
                Value::Text(class.label().to_owned()),
                Value::Count(gaps.count),
                Value::Ns(gaps.ns),
                of_idle(idle, gaps.ns),
                Value::Percent(idle.percent(gaps.ns)),
                Value::Ns(gaps.longest_ns),
            ]
        })
        .collect();
    table
}

fn histogram(idle: &Idle) -> Table {
    let mut table = Table::new(
        "gap_histogram",
        "Gaps by length",
        &[
            ("length", "Length"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
        ],
    );
    table.rows = BINS
        .iter()
        .zip(&idle.histogram)
        .map(|((_, label), tally)| {
            vec![
                Value::Text((*label).to_owned()),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
                of_idle(idle, tally.ns),
            ]
        })
        .collect();
    table
}

pub(super) fn top<'a>(
    input: &Input,
    idle: &Idle,
    gaps: impl Iterator<Item = &'a (Gap, Cause)>,
) -> Table {
    let trace = &input.profile.trace;
    let name = |event: EventId| {
        let name = trace.strings.get(trace.events.name(event));
        format::middle_ellipsis(&format::kernel_name(name), 60)
    };
    let quoted =
        |event: Option<EventId>| event.map_or(Value::Empty, |event| Value::Quoted(name(event)));
    let mut table = Table::new(
        "top_gaps",
        "Longest gaps",
        &[
            ("start", "After"),
            ("length", "Length"),
            ("cause", "Cause"),
            ("before", "Before"),
            ("before_stream", "Stream"),
            ("after", "Then"),
            ("after_stream", "Stream"),
            ("launch_call", "Launched by"),
            ("launch_after", "Launch began after"),
            ("waited_in", "Host waited in"),
            ("operator", "In operator"),
            ("python", "In"),
        ],
    );
    let gaps: Vec<&(Gap, Cause)> = gaps.collect();
    table.events = gaps
        .iter()
        .map(|(gap, _)| {
            let after = input.profile.gpu.get(gap.after?)?;
            Some(trace.events.uid(after.event))
        })
        .collect();
    table.rows = gaps
        .into_iter()
        .map(|(gap, cause)| {
            let work = |id: Option<GpuId>| id.and_then(|id| input.profile.gpu.get(id));
            let (before, after) = (work(gap.before), work(gap.after));
            let stream = |stream: Option<i64>| {
                stream.map_or(Value::Empty, |stream| Value::Text(stream.to_string()))
            };
            let cause_label = match cause.special {
                Some(special) => format!("{}: {}", cause.class.label(), special.label()),
                None => cause.class.label().to_owned(),
            };
            let operator = after
                .and_then(|after| after.parent_op)
                .and_then(|op| input.profile.tree.event(op));
            vec![
                Value::Ns(idle.start_ns(gap)),
                Value::Ns(gap.span.length()),
                Value::Text(cause_label),
                quoted(before.map(|work| work.event)),
                stream(before.and_then(|work| work.stream)),
                quoted(after.map(|work| work.event)),
                stream(after.and_then(|work| work.stream)),
                quoted(cause.launch),
                cause.launch_after_ns.map_or(Value::NO_NS, Value::Ns),
                quoted(cause.blocking),
                quoted(operator),
                python(input, cause),
            ]
        })
        .collect();
    table
}

/// The user's Python function in which the host waited, or launched what ends a gap.
pub(super) fn python(input: &Input, cause: &Cause) -> Value {
    let profile = input.profile;
    let Some(call) = cause.blocking.or(cause.launch) else {
        return Value::Empty;
    };
    if !profile.has_python_frames() {
        return Value::Empty;
    }
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let Some(node) = tree.node_of(call) else {
        return Value::Empty;
    };
    let frame = tree.ancestors(node).find_map(|above| {
        let event = tree.event(above)?;
        let name = trace.strings.get(trace.events.name(event));
        let is_frame = trace.events.category(event) == Category::PythonFunction;
        (is_frame && !is_framework(name)).then_some(name)
    });
    frame.map_or(Value::Empty, |frame| {
        Value::Quoted(format::middle_ellipsis(Origin::short(frame), 80))
    })
}

pub(super) fn name_of(input: &Input, name: Option<StringId>) -> Value {
    name.map_or(Value::Empty, |name| {
        let name = input.profile.trace.strings.get(name);
        Value::Quoted(format::middle_ellipsis(name, 80))
    })
}

fn operators(input: &Input, idle: &Idle) -> Table {
    let mut table = Table::new(
        "idle_by_operator",
        "Gaps by the operator whose work came late",
        &[
            ("operator", "Operator"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
            ("percent_of_idle", "Of idle time"),
        ],
    );
    table.rows = idle
        .operators
        .iter()
        .take(MAX_ROWS)
        .map(|(operator, tally)| {
            vec![
                name_of(input, *operator),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
                of_idle(idle, tally.ns),
            ]
        })
        .collect();
    table
}

fn waits(input: &Input, idle: &Idle) -> Table {
    let mut table = Table::new(
        "synchronisation_points",
        "Where the host waited before gaps",
        &[
            ("call", "Call"),
            ("operator", "Operator"),
            ("gaps", "Gaps"),
            ("idle_time", "Idle time"),
        ],
    );
    table.rows = idle
        .waits
        .iter()
        .take(MAX_ROWS)
        .map(|((call, operator), tally)| {
            vec![
                name_of(input, Some(*call)),
                name_of(input, *operator),
                Value::Count(tally.count),
                Value::Ns(tally.ns),
            ]
        })
        .collect();
    table
}

fn kernels(idle: &Idle) -> Table {
    let mut table = Table::new(
        "kernel_count_by_category",
        "Kernels by kind of work",
        &[
            ("category", "Kind of work"),
            ("kernels", "Kernels"),
            ("kernel_time", "Time"),
            ("avg_kernel_time", "Mean"),
        ],
    );
    table.rows = idle
        .kernels
        .families
        .iter()
        .map(|&(family, count, ns)| {
            let mean_ns = ns / i64::try_from(count.max(1)).unwrap_or(i64::MAX);
            vec![
                Value::Text(family.label().to_owned()),
                Value::Count(count),
                Value::Ns(ns),
                Value::Ns(mean_ns),
            ]
        })
        .collect();
    table
}
