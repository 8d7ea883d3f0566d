//! Tables about idle time: causes of gaps, their lengths, the longest, operators, waits, kernels.

use crate::assess::idle::cause::IdleCause;
use crate::assess::idle::code::rows::CodeRow;
use crate::assess::idle::explain::ExplainedGap;
use crate::assess::idle::{BINS, Idle};
use crate::base::tally::Tally;
use crate::findings::prelude::*;
use crate::names::Family;
use crate::names::cpu_activity::CpuActivity;
use crate::profile::launch::GpuId;
use crate::trace::{Category, EventId, StringId};

/// Maximum number of rows of a table of operators, waits or functions.
const MAX_ROWS: usize = 15;

/// Maximum number of rows for the functions of one cause.
const ROWS_OF_CAUSE: usize = 6;

const CODE: &str = "CPU time while the GPU is idle";
const COLD: &str = "Cold starts: what a warm run without a profiler does not do";

pub(super) fn tables(input: &Input, idle: &Idle) -> Vec<Table> {
    let mut tables = vec![by_cause(idle), histogram(idle)];
    let rows = idle.code.rows.iter();
    let (cold, warm): (Vec<&CodeRow>, Vec<&CodeRow>) = rows.partition(|row| row.is_one_off);
    let others = [
        with_unknown(
            idle,
            0,
            code_table(input, idle, "idle_by_code", CODE, &warm),
        ),
        with_unknown(idle, 1, code_table(input, idle, "cold_starts", COLD, &cold)),
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
    // Lengths that do not occur are only shown between those that do.
    let is_used = |tally: &Tally| tally.count > 0;
    let first = idle.histogram.iter().position(is_used).unwrap_or(0);
    let end = idle
        .histogram
        .iter()
        .rposition(is_used)
        .map_or(0, |last| last + 1);
    let bins = BINS.iter().zip(&idle.histogram).take(end).skip(first);
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
    let activity = |id: Option<GpuId>| quoted(work(id).map(|work| work.event));
    let stream = |id: Option<GpuId>| {
        let stream = work(id).and_then(|work| work.stream);
        stream.map_or(Value::Empty, |stream| Value::Text(stream.to_string()))
    };
    let cause = |gap: &ExplainedGap| {
        let cause = gap.cause.label();
        Value::Text(match gap.activity {
            Some(activity) => format!("{cause}: {}", format::in_sentence(activity.label())),
            None => cause.to_owned(),
        })
    };
    let operator = |gap: &ExplainedGap| {
        let operator = work(gap.gap.after).and_then(|after| after.parent_op);
        quoted(operator.and_then(|op| profile.tree.event(op)))
    };
    let code = |gap: &ExplainedGap| {
        let place = gap.place.as_ref();
        place.map_or(Value::Empty, |place| {
            Value::Quoted(place.text().replace('`', ""))
        })
    };
    let python = |gap: &ExplainedGap| Value::quoted(gap.frame.clone());
    #[rustfmt::skip]
    let columns: &[CellColumn<&ExplainedGap>] = &[
        ("start", "Starts at", &|gap| Value::Ns(idle.start_ns(gap))),
        ("length", "Length", &|gap| Value::Ns(gap.gap.span.length())),
        ("cause", "Cause", &|gap| cause(gap)),
        ("before", "Before", &|gap| activity(gap.gap.before)),
        ("before_stream", "Stream", &|gap| stream(gap.gap.before)),
        ("after", "After", &|gap| activity(gap.gap.after)),
        ("after_stream", "Stream", &|gap| stream(gap.gap.after)),
        ("launch_call", "Launched by", &|gap| quoted(gap.launch)),
        ("launch_after", "Launched at", &|gap| Value::ns(gap.launch_after_ns)),
        ("waited_in", "CPU waited in", &|gap| quoted(gap.waited_in)),
        ("operator", "In operator", &|gap| operator(gap)),
        ("python", "In", &|gap| python(gap)),
        ("code", "Code that ran", &|gap| code(gap)),
    ];
    let gaps: Vec<&ExplainedGap> = gaps.collect();
    let after = gaps.iter().map(|gap| work(gap.gap.after));
    let events = after.map(|after| after.map(|after| trace.events.uid(after.event)));
    Table {
        events: events.collect(),
        ..Table::of("top_gaps", "Longest gaps", gaps, columns)
    }
}

/// Idle time by the code that ran in it.
pub(super) fn code_table(
    input: &Input,
    idle: &Idle,
    key: &'static str,
    title: &str,
    rows: &[&CodeRow],
) -> Table {
    let quoted = |text: Option<&str>| {
        let text = text.map(|text| format::middle_ellipsis(text, 60));
        Value::quoted(text)
    };
    let kind = |row: &CodeRow| {
        let is_launching = row.is_mostly(IdleCause::LaunchBound);
        let kind = match row.activity {
            Some(activity) => activity.label(),
            None if row.is_one_off => "First use",
            None if row.place.is_generated => "Code around compiled kernels",
            None if is_launching => "Kernel launches",
            None => "CPU work",
        };
        match row.place.library {
            Some(library) => Value::Text(format!("{kind} ({library})")),
            None => Value::Text(kind.to_owned()),
        }
    };
    let of_idle = |ns: i64| Value::percent(percent_of(ns, idle.timeline.idle_ns));
    #[rustfmt::skip]
    let columns: &[CellColumn<&CodeRow>] = &[
        ("function", "Function", &|row| quoted(Some(&row.place.function))),
        ("file", "File and line", &|row| quoted(row.place.file.as_deref())),
        ("caller", "Called by", &|row| quoted(row.place.caller.as_deref().map(|by| by.replace('`', "")).as_deref())),
        ("module", "Module", &|row| quoted(row.place.module.as_deref())),
        ("kind", "Kind", &|row| kind(row)),
        ("gaps", "Gaps", &|row| Value::Count(row.all.count)),
        ("idle_time", "Idle time", &|row| Value::Ns(row.all.ns)),
        ("percent_of_idle", "% of idle", &|row| of_idle(row.all.ns)),
        ("percent_of_total", "% of run", &|row| Value::Percent(idle.percent(row.all.ns))),
        ("longest", "Longest", &|row| Value::Ns(row.longest_ns)),
    ];
    let rows: Vec<&CodeRow> = rows.iter().take(MAX_ROWS).copied().collect();
    let events = rows
        .iter()
        .map(|row| Some(input.profile.trace.events.uid(row.event)));
    Table {
        events: events.collect(),
        ..Table::of(key, title, rows, columns)
    }
}

/// The same with a row for idle time without recorded code, so that the rows add up.
fn with_unknown(idle: &Idle, of: usize, mut table: Table) -> Table {
    let unknown = idle.code.unknown.get(of).copied().unwrap_or_default();
    let ns = unknown.all.ns;
    if ns <= 0 {
        return table;
    }
    let kind = if of == 0 { "CPU work" } else { "First use" };
    let cell = |column: &str| match column {
        "function" => Value::Quoted("(nothing recorded)".to_owned()),
        "kind" => Value::Text(kind.to_owned()),
        "gaps" => Value::Count(unknown.all.count),
        "idle_time" => Value::Ns(ns),
        "percent_of_idle" => Value::percent(percent_of(ns, idle.timeline.idle_ns)),
        "percent_of_total" => Value::Percent(idle.percent(ns)),
        "longest" => Value::Ns(unknown.longest_ns),
        _ => Value::Empty,
    };
    let row = table
        .columns
        .iter()
        .map(|column| cell(column.key))
        .collect();
    table.rows.push(row);
    table.events.push(None);
    table
}

/// The functions in which the CPU was during most of the gaps of a cause, if they say more than its finding.
pub(super) fn code_of_cause(input: &Input, idle: &Idle, cause: IdleCause) -> Option<Table> {
    let rows = idle.code.rows.iter();
    let mut rows: Vec<&CodeRow> = rows.filter(|row| row.is_mostly(cause)).collect();
    rows.truncate(ROWS_OF_CAUSE);
    let title = "What the CPU did";
    (!rows.is_empty()).then(|| code_table(input, idle, "code", title, &rows))
}

/// Where the longest gap is.
pub(super) fn longest_ends_with(input: &Input, gap: &ExplainedGap) -> Option<String> {
    let profile = input.profile;
    let operator = profile.gpu.get(gap.gap.after?)?.parent_op;
    let operator = operator.and_then(|op| profile.tree.event(op));
    let (verb, event) = match gap.waited_in {
        Some(wait) => ("follows", wait),
        None => ("ends with the launch of", operator.or(gap.launch)?),
    };
    let caller = gap
        .frame
        .clone()
        .or_else(|| waiting_operator(input, gap.waited_in?));
    let place = caller.map_or(String::new(), |caller| format!(" in `{caller}`"));
    Some(format!(
        "The longest gap, {}, {verb} `{}`{place}.",
        format::time_ns(gap.gap.span.length()),
        name_of(input, profile.trace.events.name(event))
    ))
}

/// The operator that waits; among those that read a value, the outermost: `aten::is_nonzero`.
fn waiting_operator(input: &Input, wait: EventId) -> Option<String> {
    let (trace, tree) = (&input.profile.trace, &input.profile.tree);
    let operators = tree.ops_around(trace, wait);
    let names: Vec<StringId> = operators.map(|event| trace.events.name(event)).collect();
    let mut outermost = names.iter().rev();
    let reads = |name: &&StringId| {
        let activity = CpuActivity::of_span(Category::CpuOp, trace.strings.get(**name));
        matches!(
            activity,
            Some(CpuActivity::ReadBack | CpuActivity::DynamicShape)
        )
    };
    let name = outermost.find(reads).or(names.first())?;
    Some(name_of(input, *name))
}

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
    let title = ("synchronization_points", "Where the CPU waited before gaps");
    let columns = [("call", "Call"), ("operator", "Operator")];
    tallied(idle, title, &columns, rows)
}

fn kernels(idle: &Idle) -> Table {
    #[rustfmt::skip]
    let columns: &[CellColumn<&(Family, Tally)>] = &[
        ("category", "Category", &|(family, _)| Value::Text(family.label().to_owned())),
        ("kernels", "Kernels", &|(_, tally)| Value::Count(tally.count)),
        ("kernel_time", "Time", &|(_, tally)| Value::Ns(tally.ns)),
        ("avg_kernel_time", "Mean", &|(_, tally)| Value::ns(tally.mean_ns())),
    ];
    let title = "Kernels by category";
    Table::of(
        "kernel_count_by_category",
        title,
        &idle.kernels.families,
        columns,
    )
}
