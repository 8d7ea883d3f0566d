//! The tables: causes of gaps, their lengths, the longest, operators, waits, kernels.

use crate::assess::idle::explain::ExplainedGap;
use crate::assess::idle::tally::Tally;
use crate::assess::idle::{BINS, Idle};
use crate::base::format;
use crate::base::interval::percent_of;
use crate::base::value::{Table, Value};
use crate::findings::{Input, Origin};
use crate::names::frames::is_framework;
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, StringId};

/// Rows of a table of operators or waits.
const MAX_ROWS: usize = 15;

pub(super) fn tables(input: &Input, idle: &Idle) -> Vec<Table> {
    let mut tables = vec![by_cause(idle), histogram(idle)];
    let others = [
        longest_gaps(input, idle, idle.longest.iter()),
        operators(input, idle),
        waits(input, idle),
    ];
    tables.extend(others.into_iter().filter(|table| !table.rows.is_empty()));
    tables.push(kernels(idle));
    tables
}

/// A table of gaps: what they have in common, their number, their time, its share.
fn tallied<'a>(
    idle: &Idle,
    (key, title): (&'static str, &str),
    common: &[(&'static str, &'static str)],
    rows: impl Iterator<Item = (Vec<Value>, &'a Tally)>,
) -> Table {
    let gaps = [
        ("gaps", "Gaps"),
        ("idle_time", "Idle time"),
        ("percent_of_idle", "% of idle"),
    ];
    let mut table = Table::new(key, title, &[common, &gaps].concat());
    let rows = rows.map(|(mut row, tally)| {
        let share = percent_of(tally.ns, idle.timeline.idle_ns);
        row.extend([
            Value::Count(tally.count),
            Value::Ns(tally.ns),
            Value::percent(share),
        ]);
        row
    });
    table.rows = rows.collect();
    table
}

fn by_cause(idle: &Idle) -> Table {
    let causes = idle.by_time();
    let rows = causes.iter().map(|(cause, gaps)| {
        let label = Value::Text(cause.label().to_owned());
        let share = Value::Percent(idle.percent(gaps.all.ns));
        (vec![label, share, Value::Ns(gaps.longest_ns)], &gaps.all)
    });
    let columns = [
        ("cause", "Cause"),
        ("percent_of_total", "% of run"),
        ("longest", "Longest"),
    ];
    let title = ("idle_by_cause", "Idle time by cause");
    tallied(idle, title, &columns, rows)
}

fn histogram(idle: &Idle) -> Table {
    let bins = BINS.iter().zip(&idle.histogram);
    let rows = bins.map(|((_, label), tally)| (vec![Value::Text((*label).to_owned())], tally));
    let title = ("gap_histogram", "Gaps by length");
    tallied(idle, title, &[("length", "Length")], rows)
}

pub(super) fn longest_gaps<'a>(
    input: &Input,
    idle: &Idle,
    gaps: impl Iterator<Item = &'a ExplainedGap>,
) -> Table {
    let profile = input.profile;
    let trace = &profile.trace;
    let work = |id: Option<GpuId>| id.and_then(|id| profile.gpu.get(id));
    let quoted = |event: Option<EventId>| {
        event.map_or(Value::Empty, |event| {
            let name = format::kernel_name(trace.strings.get(trace.events.name(event)));
            Value::Quoted(format::middle_ellipsis(&name, 60))
        })
    };
    let stream =
        |stream: Option<i64>| stream.map_or(Value::Empty, |stream| Value::Text(stream.to_string()));
    let columns = [
        ("start", "Starts at"),
        ("length", "Length"),
        ("cause", "Cause"),
        ("before", "Before"),
        ("before_stream", "Stream"),
        ("after", "After"),
        ("after_stream", "Stream"),
        ("launch_call", "Launched by"),
        ("launch_after", "Launched at"),
        ("waited_in", "CPU waited in"),
        ("operator", "In operator"),
        ("python", "In"),
    ];
    let (rows, events) = gaps
        .map(|gap| {
            let (before, after) = (work(gap.gap.before), work(gap.gap.after));
            let cause = gap.cause.label();
            let cause = match gap.activity {
                Some(activity) => format!("{cause}: {}", activity.label()),
                None => cause.to_owned(),
            };
            let operator = after
                .and_then(|after| after.parent_op)
                .and_then(|op| profile.tree.event(op));
            let row = vec![
                Value::Ns(idle.start_ns(gap)),
                Value::Ns(gap.gap.span.length()),
                Value::Text(cause),
                quoted(before.map(|work| work.event)),
                stream(before.and_then(|work| work.stream)),
                quoted(after.map(|work| work.event)),
                stream(after.and_then(|work| work.stream)),
                quoted(gap.launch),
                gap.launch_after_ns.map_or(Value::NO_NS, Value::Ns),
                quoted(gap.waited_in),
                quoted(operator),
                python_frame(input, gap).map_or(Value::Empty, Value::Quoted),
            ];
            (row, after.map(|after| trace.events.uid(after.event)))
        })
        .unzip();
    Table {
        rows,
        events,
        ..Table::new("top_gaps", "Longest gaps", &columns)
    }
}

/// The user's Python function in which the CPU waited, or launched what ends a gap.
pub(super) fn python_frame(input: &Input, gap: &ExplainedGap) -> Option<String> {
    let profile = input.profile;
    let call = gap.waited_in.or(gap.launch)?;
    if !profile.has_python_frames() {
        return None;
    }
    let (trace, tree) = (&profile.trace, profile.full_tree());
    let frame = tree.ancestors(tree.node_of(call)?).find_map(|caller| {
        let event = tree.event(caller)?;
        let name = trace.strings.get(trace.events.name(event));
        let is_frame = trace.events.category(event) == Category::PythonFunction;
        (is_frame && !is_framework(name)).then_some(name)
    })?;
    Some(format::middle_ellipsis(Origin::short(frame), 80))
}

/// A name in a sentence or a cell.
pub(super) fn name_of(input: &Input, name: StringId) -> String {
    format::middle_ellipsis(input.profile.trace.strings.get(name), 80)
}

fn cell(input: &Input, name: Option<StringId>) -> Value {
    name.map_or(Value::Empty, |name| Value::Quoted(name_of(input, name)))
}

fn operators(input: &Input, idle: &Idle) -> Table {
    let rows = idle.operators.rows.iter().take(MAX_ROWS);
    let rows = rows.map(|(operator, tally)| (vec![cell(input, *operator)], tally));
    let title = (
        "idle_by_operator",
        "Gaps by the operator whose launch came late",
    );
    tallied(idle, title, &[("operator", "Operator")], rows)
}

fn waits(input: &Input, idle: &Idle) -> Table {
    let rows = idle.waits.rows.iter().take(MAX_ROWS);
    let rows = rows.map(|((call, operator), tally)| {
        let names = vec![cell(input, Some(*call)), cell(input, *operator)];
        (names, tally)
    });
    let title = ("synchronisation_points", "Where the CPU waited before gaps");
    let columns = [("call", "Call"), ("operator", "Operator")];
    tallied(idle, title, &columns, rows)
}

fn kernels(idle: &Idle) -> Table {
    let columns = [
        ("category", "Category"),
        ("kernels", "Kernels"),
        ("kernel_time", "Time"),
        ("avg_kernel_time", "Mean"),
    ];
    let mut table = Table::new("kernel_count_by_category", "Kernels by category", &columns);
    let rows = idle.kernels.families.iter().map(|(family, tally)| {
        vec![
            Value::Text(family.label().to_owned()),
            Value::Count(tally.count),
            Value::Ns(tally.ns),
            tally.mean_ns().map_or(Value::NO_NS, Value::Ns),
        ]
    });
    table.rows = rows.collect();
    table
}
