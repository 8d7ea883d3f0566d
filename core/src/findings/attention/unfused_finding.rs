//! What attention in separate operations takes, and what one kernel would.

use super::super::Input;
use super::super::compute::{priority, time_and_share};
use super::super::finding::{Confidence, Finding, Impact};
use super::super::origin::Origin;
use super::super::outcome::{Outcome, Row};
use super::super::run_time;
use super::band::Band;
use super::unfused::{Instance, Part};
use crate::base::format;
use crate::base::interval::{percent_of, sum};
use crate::base::sort::Arrange;
use crate::base::value::{Table, Value};
use crate::findings::finding::Effect;
use crate::hardware::roofline::roofline;
use crate::perf::FusedAttention;
use crate::trace::Category;

/// Where no band tells, because the queries are few: between what is a bottleneck and what good
/// kernels reach.
const DECODE_HIGH_PERCENT: f64 = 80.0;

/// What one fused call would take on the roof, and what of it is usual.
struct Fused {
    roof_ns: f64,
    band: Band,
}

/// `None` without a GPU or without shapes.
fn fused(input: &Input, instance: &Instance, is_backward: bool) -> Option<Fused> {
    let thresholds = &input.options.thresholds;
    let sizes = instance.sizes?;
    let work = instance.fused_work(is_backward)?;
    let roof = roofline(&work, input.gpu()?, input.options.basis)?;
    let length = sizes.n_q.min(sizes.n_kv) as f64;
    let is_decode = sizes.n_q as f64 <= thresholds.sdpa_decode_queries && sizes.n_kv > sizes.n_q;
    let band = match is_decode {
        true => Band {
            low: thresholds.gate_efficiency_percent,
            high: DECODE_HIGH_PERCENT,
        },
        false => Band::of_length(length),
    };
    Some(Fused {
        roof_ns: roof.time_us * 1e3,
        band: match is_backward {
            true => band.scaled(thresholds.sdpa_backward_percent),
            false => band,
        },
    })
}

/// All instances of equal sizes.
struct Group {
    sizes: Option<FusedAttention>,
    n: u64,
    time_ns: i64,
    /// On the roof; `None` where that is not known of one of them.
    roof_ns: Option<f64>,
    band: Option<Band>,
    impact: Option<Impact>,
}

impl Group {
    /// What fused calls would take: at the upper and at the lower end of the band.
    fn fused_ns(&self) -> Option<(i64, i64)> {
        let at = |percent: f64| {
            let roof_ns = self.roof_ns?;
            Some(((roof_ns / percent * 100.0).min(self.time_ns as f64)).round() as i64)
        };
        let band = self.band?;
        Some((at(band.high)?, at(band.low)?))
    }
}

/// The finding; `None` where no attention is in parts, or fusing it would win nothing.
pub(super) fn finding(input: &Input, instances: &[Instance], is_backward: bool) -> Option<Finding> {
    let first = instances.first()?;
    let operations = input.profile.operations();
    let mut by_operation: Vec<(i64, f64, Option<Part>)> = vec![(0, 0.0, None); operations.len()];
    let mut groups: Vec<Group> = Vec::new();
    let (mut roof_ns, mut modelled_ns) = (0.0, 0_i64);
    let mut all: Option<Impact> = None;
    for instance in instances {
        let time_ns = instance.time_ns(input);
        let fused = fused(input, instance, is_backward);
        let impact = match &fused {
            Some(fused) => {
                roof_ns += fused.roof_ns;
                modelled_ns = modelled_ns.saturating_add(time_ns);
                Some(Impact::of_band(
                    time_ns,
                    fused.roof_ns,
                    fused.band.low,
                    fused.band.high,
                ))
            }
            None if input.gpu().is_some() => Some(Impact::heuristic(time_ns)),
            // Scores would not go to memory; what products take in a fused kernel is not known.
            None => Some(Impact::at_most(other_than_products_ns(input, instance))),
        };
        let group = groups
            .iter_mut()
            .find(|group| group.sizes == instance.sizes);
        match group {
            Some(group) => {
                group.n += 1;
                group.time_ns = group.time_ns.saturating_add(time_ns);
                group.roof_ns = group
                    .roof_ns
                    .zip(fused.as_ref())
                    .map(|(sum, fused)| sum + fused.roof_ns);
                group.impact = group.impact.zip(impact).map(|(a, b)| a.plus(b));
            }
            None => groups.push(Group {
                sizes: instance.sizes,
                n: 1,
                time_ns,
                roof_ns: fused.as_ref().map(|fused| fused.roof_ns),
                band: fused.as_ref().map(|fused| fused.band),
                impact,
            }),
        }
        all = all.into_iter().chain(impact).reduce(Impact::plus);
        // Each call's share of what its attention saves.
        let saved = impact.map_or(0.0, |impact| impact.mid_ns as f64);
        for (placed, part) in &instance.calls {
            let ns = placed.kernel_ns(input);
            if let Some(sum) = by_operation.get_mut(placed.operation) {
                sum.0 = sum.0.saturating_add(ns);
                sum.1 += saved * ns as f64 / time_ns.max(1) as f64;
                sum.2 = sum.2.or(Some(*part));
            }
        }
    }
    if all.is_some_and(|impact| impact.high_ns == 0) {
        return None;
    }
    groups.arrange_by_key(|group| std::cmp::Reverse(group.time_ns));
    let time_ns = sum(groups.iter().map(|group| group.time_ns));
    let mut parts: Vec<(usize, i64, i64)> = by_operation
        .iter()
        .enumerate()
        .filter(|(_, (ns, ..))| *ns > 0)
        .map(|(at, (ns, saved, _))| (at, *ns, saved.round() as i64))
        .collect();
    parts.arrange_by_key(|&(at, ns, _)| (std::cmp::Reverse(ns), at));
    // How close the parts come to the roof over one kernel.
    let efficiency = (modelled_ns > 0).then(|| roof_ns / modelled_ns as f64 * 100.0);
    let share = input
        .computation_ns()
        .map(|all| time_ns as f64 / all as f64 * 100.0);
    let &(longest, ..) = parts.first()?;
    let row = row(input, longest, time_ns, 1);
    let is_called = is_math(input, first);
    Some(Finding {
        pattern: "unfused_attention",
        priority: priority(
            input,
            &Row {
                percent_of_compute: share,
                efficiency_percent: efficiency,
                ..row
            },
            true,
        ),
        // Sizes prove what the order of calls only suggests.
        confidence: Some(match first.sizes {
            Some(_) => Confidence::High,
            None => Confidence::Medium,
        }),
        title: match is_backward {
            true => "Attention in separate operations (backward)".to_owned(),
            false => "Attention in separate operations".to_owned(),
        },
        issue: issue(input, instances, &parts, time_ns, is_backward),
        model: match (is_backward, is_called) {
            (true, _) => "fuse the forward pass (`torch.nn.functional.scaled_dot_product_attention`): its backward pass is one fused kernel, too.",
            (false, true) => "`scaled_dot_product_attention` is called, but takes its unfused path: check type, mask, dropout and head dimension against what the fused kernels accept.",
            (false, false) => "compute it with `torch.nn.functional.scaled_dot_product_attention`, or another fused attention: the scores then never go to memory.",
        }
        .to_owned(),
        kernel: "until then softmax and batched products can be tuned one by one, with 10–30 % to win by experience."
            .to_owned(),
        reasoning: reasoning(input, first, &groups, all),
        operations: parts.iter().map(|(at, ..)| *at).collect(),
        events: first
            .calls
            .iter()
            .filter_map(|(placed, _)| Some(placed.row(input)?.event))
            .collect(),
        time_ns,
        efficiency_percent: efficiency,
        impact: all,
        savings: parts.iter().map(|&(at, _, saved)| (at, saved)).collect(),
        effect: Effect::KernelTime,
        apart: Vec::new(),
        replay: None,
        tables: vec![parts_table(input, instances), groups_table(&groups)],
    })
}

/// Time of all that is no product.
fn other_than_products_ns(input: &Input, instance: &Instance) -> i64 {
    let others = instance
        .calls
        .iter()
        .filter(|(_, part)| *part != Part::Product);
    sum(others.map(|(placed, _)| placed.kernel_ns(input)))
}

/// Whether the framework's own attention operator is around it.
fn is_math(input: &Input, instance: &Instance) -> bool {
    let profile = input.profile;
    let (trace, tree) = (&profile.trace, &profile.tree);
    let Some(node) = instance
        .softmax
        .row(input)
        .and_then(|row| tree.node_of(row.event))
    else {
        return false;
    };
    tree.ancestors(node).any(|above| {
        tree.category(trace, above) == Category::CpuOp
            && tree.event(above).is_some_and(|event| {
                let name = trace.strings.get(trace.events.name(event));
                name.contains("scaled_dot_product")
            })
    })
}

/// Names what it is made of, how long it takes and how often it happens.
fn issue(
    input: &Input,
    instances: &[Instance],
    parts: &[(usize, i64, i64)],
    time_ns: i64,
    is_backward: bool,
) -> String {
    /// More names say little.
    const MAX_NAMES: usize = 5;
    let operations = input.profile.operations();
    let mut names: Vec<String> = Vec::new();
    for (at, ..) in parts {
        let Some(operation) = operations.get(*at) else {
            continue;
        };
        let name = format::kernel_name(operation.short_name(input.profile));
        let name = format!("`{}`", format::middle_ellipsis(&name, 50));
        if !names.contains(&name) && names.len() < MAX_NAMES {
            names.push(name);
        }
    }
    let last = names.pop().unwrap_or_default();
    let names = match names.is_empty() {
        true => last,
        false => format!("{} and {last}", names.join(", ")),
    };
    let what = match is_backward {
        true => "The backward pass of attention",
        false => "Attention",
    };
    format!(
        "{what} runs as {names}, {} in all: {}.",
        format::counted(instances.len() as u64, "time"),
        time_and_share(time_ns, input)
    )
}

fn reasoning(
    input: &Input,
    first: &Instance,
    groups: &[Group],
    impact: Option<Impact>,
) -> Vec<String> {
    let mut sentences = Vec::new();
    let operation = |first: &Instance| input.profile.operations().get(first.softmax.operation);
    let origin = operation(first).map(|operation| Origin::of(input, operation));
    if let Some(path) = origin.and_then(|origin| origin.path()) {
        sentences.push(format!("The first is in `{path}`."));
    }
    match groups.first().and_then(|group| group.sizes) {
        Some(sizes) => sentences.push(format!(
            "The softmax works on what the product before it writes and the product after it reads: {} scores of {}×{} for each of {} heads.",
            format::count(sizes.scores().unwrap_or(0)),
            sizes.n_q,
            sizes.n_kv,
            format::count(sizes.batch)
        )),
        None => sentences.push(
            "Shapes were not recorded: that it is attention follows from the order of the calls alone."
                .to_owned(),
        ),
    }
    let fused: Option<Vec<(i64, i64)>> = groups.iter().map(Group::fused_ns).collect();
    if let Some(fused) = fused {
        let fast = sum(fused.iter().map(|(fast, _)| *fast));
        let slow = sum(fused.iter().map(|(_, slow)| *slow));
        sentences.push(format!(
            "One kernel for the same sizes would take {} to {} at the efficiency that is usual for these lengths; all scores are counted, though a causal mask would halve them.",
            format::time_ns(fast),
            format::time_ns(slow)
        ));
    } else if impact.is_some() && input.gpu().is_none() {
        sentences.push(
            "Without a GPU profile the saving counts what is not a product; how long the products take inside one kernel is not known."
                .to_owned(),
        );
    }
    // Where sizes tell, they say more than experience does.
    if groups.iter().any(|group| group.fused_ns().is_none()) {
        sentences
            .push("By experience a fused kernel makes attention 3 to 10 times faster.".to_owned());
    }
    sentences
}

/// Time by part.
fn parts_table(input: &Input, instances: &[Instance]) -> Table {
    let mut table = Table::new(
        "parts",
        "Parts",
        &[("part", "Part"), ("calls", "Calls"), ("time", "Time")],
    );
    for part in Part::ALL {
        let calls = instances.iter().flat_map(|instance| &instance.calls);
        let calls: Vec<_> = calls.filter(|(_, is)| *is == part).collect();
        if calls.is_empty() {
            continue;
        }
        table.rows.push(vec![
            Value::Text(part.label().to_owned()),
            Value::Count(calls.len() as u64),
            Value::Ns(sum(calls.iter().map(|(placed, _)| placed.kernel_ns(input)))),
        ]);
    }
    table
}

/// Sizes, and what fused calls would take.
fn groups_table(groups: &[Group]) -> Table {
    let mut table = Table::new(
        "sizes",
        "What one kernel would take",
        &[
            ("heads", "Batch×heads"),
            ("n_q", "Queries"),
            ("n_kv", "Keys"),
            ("d", "Width"),
            ("instances", "Times"),
            ("time", "Time"),
            ("usual", "Usual efficiency"),
            ("fused", "Fused, at best"),
            ("fused_low", "Fused, at worst"),
        ],
    );
    let size = |group: &Group, of: fn(FusedAttention) -> u64| {
        group
            .sizes
            .map_or(Value::Empty, |sizes| Value::Count(of(sizes)))
    };
    table.rows = groups
        .iter()
        .map(|group| {
            let fused = group.fused_ns();
            vec![
                size(group, |sizes| sizes.batch),
                size(group, |sizes| sizes.n_q),
                size(group, |sizes| sizes.n_kv),
                size(group, |sizes| sizes.d_qk),
                Value::Count(group.n),
                Value::Ns(group.time_ns),
                group
                    .band
                    .map_or(Value::Empty, |band| Value::Text(band.text())),
                fused.map_or(Value::NO_NS, |(fast, _)| Value::Ns(fast)),
                fused.map_or(Value::NO_NS, |(_, slow)| Value::Ns(slow)),
            ]
        })
        .collect();
    table
}

fn row(input: &Input, operation: usize, time_ns: i64, n_calls: u64) -> Row {
    Row {
        operation,
        time_ns,
        n_calls,
        percent_of_category: 0.0,
        percent_of_compute: input
            .computation_ns()
            .and_then(|all| percent_of(time_ns, all)),
        percent_of_total: input
            .total_ns()
            .and_then(|all| percent_of(run_time::of_operation(input, operation, time_ns), all)),
        efficiency_percent: None,
        assessment: None,
        bound: None,
        is_anomaly: false,
        variation: None,
        class: String::new(),
    }
}

/// Adds the operations that attention in parts is made of, with the time of those of their calls
/// that are in it. They count in the analyses of their own kind: `time_ns` of the outcome is without
/// them.
pub(super) fn add_rows(input: &Input, outcome: &mut Outcome, instances: &[Instance]) {
    let mut sums: Vec<(i64, u64, Option<Part>)> =
        vec![(0, 0, None); input.profile.operations().len()];
    for (placed, part) in instances.iter().flat_map(|instance| &instance.calls) {
        if let Some(sum) = sums.get_mut(placed.operation) {
            sum.0 = sum.0.saturating_add(placed.kernel_ns(input));
            sum.1 += 1;
            sum.2 = sum.2.or(Some(*part));
        }
    }
    let mut rows: Vec<Row> = sums
        .iter()
        .enumerate()
        .filter_map(|(at, &(ns, n_calls, part))| {
            Some(Row {
                class: part?.class().to_owned(),
                ..row(input, at, ns, n_calls)
            })
        })
        .collect();
    if rows.is_empty() {
        return;
    }
    rows.arrange_by_key(|row| (std::cmp::Reverse(row.time_ns), row.operation));
    // Beside fused attention their time is held against its time, by themselves against their own.
    let all_ns = match outcome.time_ns {
        0 => sum(rows.iter().map(|row| row.time_ns)),
        fused_ns => fused_ns,
    };
    for row in &mut rows {
        row.percent_of_category = row.time_ns as f64 / all_ns.max(1) as f64 * 100.0;
    }
    outcome.rows.append(&mut rows);
}
