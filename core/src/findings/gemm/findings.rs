//! Findings about products.

use super::super::Input;
use super::super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, is_large, least_ns,
    shapes, time_and_share, won_by_16_bit,
};
use super::super::finding::{Finding, Impact};
use super::super::memory_bound::{
    called_from, is_launch_scale, n_calls, operations_table, small_kernels, time_ns, unmodelled,
};
use super::super::narrower::{instead_of_32_bits, narrower_cache, narrower_weights, width};
use super::super::no_units::missing_units;
use super::super::order::tensors;
use super::super::origin::Origin;
use super::super::outcome::Row;
use super::advice::{
    less_activations, less_result, less_weights, less_work, padding, quantised, wider,
};
use super::product::Product;
use super::{Pattern, Seen};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};
use crate::hardware::roofline::Bound;

pub(super) fn findings(
    input: &Input,
    seen: &[Seen],
    gate: &Gate,
    uses_16_bit: bool,
) -> Vec<Finding> {
    const NAMED: [Pattern; 9] = [
        Pattern::TinyBatched,
        Pattern::Gemv,
        Pattern::Outer,
        Pattern::LayoutInside,
        Pattern::WidePrecision,
        Pattern::FewTiles,
        // What is padded can be as skinny as before, and faster.
        Pattern::Misaligned,
        Pattern::Skinny,
        Pattern::Quantised,
    ];
    let is_candidate = |seen: &Seen| {
        let (row, patterns) = (seen.row, &seen.patterns);
        // Products of nothing, as of an expert without tokens, have nothing to gain.
        let mut operands = tensors(input, seen.operation).into_iter();
        if operands.any(|operand| operand.shape.contains(&0)) {
            return false;
        }
        if is_launch_scale(input, row) || missing_units(input, row).is_some() {
            return false;
        }
        // What is measured, or wins by another type, needs no distance from the roof.
        let needs_no_gap = patterns
            .iter()
            .any(|pattern| matches!(pattern, Pattern::LayoutInside | Pattern::WidePrecision));
        let is_large = is_large(input, row, gate);
        // That weights are narrow says nothing against a product.
        let is_odd = patterns.iter().any(|one| *one != Pattern::Quantised);
        is_bottleneck(input, row, gate)
            || (is_large && !row.is_anomaly && needs_no_gap)
            || (is_large && row.efficiency_percent.is_none() && is_odd)
    };
    let mut left: Vec<&Seen> = seen.iter().filter(|seen| is_candidate(seen)).collect();
    let mut findings = Vec::new();
    for pattern in NAMED {
        let (with, without): (Vec<&Seen>, Vec<&Seen>) = left
            .iter()
            .partition(|seen| seen.patterns.contains(&pattern));
        left = without;
        findings.extend(named(input, pattern, &with, uses_16_bit));
    }
    let rows: Vec<&Row> = left.iter().map(|seen| seen.row).collect();
    for (bound, _, rows) in by_gap(&rows) {
        let seen: Vec<&Seen> = left
            .iter()
            .copied()
            .filter(|seen| rows.iter().any(|row| row.operation == seen.row.operation))
            .collect();
        findings.extend(unnamed(input, bound, &seen));
    }
    let others = seen.iter().filter(|seen| !is_candidate(seen));
    let others: Vec<&Row> = others.map(|seen| seen.row).collect();
    findings.extend(unmodelled(input, &others, gate, "product"));
    let short = |row: &&Row| is_launch_scale(input, row) && !row.is_anomaly;
    let short: Vec<&Row> = others.into_iter().filter(short).collect();
    findings.extend(short_products(input, &short));
    findings
}

/// Many products about as short as their launch. Each remains a kernel, or a part of one, so that no
/// more is won than what they take beyond the least that a kernel takes.
fn short_products(input: &Input, rows: &[&Row]) -> Option<Finding> {
    let mean_ns = time_ns(rows) / i64::try_from(n_calls(rows).max(1)).unwrap_or(i64::MAX);
    let mut found = small_kernels(
        input,
        rows,
        Draft {
            pattern: "many_small_products",
            title: "Many short products".to_owned(),
            issue: format!(
                "{} of products take {} each on average: {}{}.",
                format::counted(n_calls(rows), "call"),
                format::time_ns(mean_ns),
                time_and_share(time_ns(rows), input),
                at_efficiency(efficiency(rows))
            ),
            model: "join products of one input (fused projections), batch those of equal sizes (`bmm`, a grouped product), or give each more rows (larger batches).".to_owned(),
            kernel: "nothing to tune in kernels about as short as their launch; their number is the cost.".to_owned(),
            reasoning: called_from(input, rows).into_iter().collect(),
            tables: vec![operations_table(input, rows)],
        },
    )?;
    let most = |operation: usize| {
        let row = rows.iter().find(|row| row.operation == operation);
        row.map_or(0, |row| row.time_ns - least_ns(row))
    };
    let won: Vec<(usize, i64)> = found
        .savings
        .iter()
        .map(|(operation, ns)| (*operation, (*ns).min(most(*operation))))
        .collect();
    let all_ns = sum(rows.iter().map(|row| row.time_ns - least_ns(row)));
    found.impact = found.impact.map(|impact| impact.at_most_of(all_ns));
    found.savings = won;
    Some(found)
}

/// "aten::bmm, 37 632 of 8×64×8" of the longest, and how many more.
fn subject(input: &Input, seen: &[&Seen]) -> String {
    let Some(first) = seen.first() else {
        return String::new();
    };
    let name = format::middle_ellipsis(first.operation.short_name(input.profile), 60);
    let sizes = match first.product {
        Some(product) => product.text(),
        None => shapes(input, first.operation),
    };
    let more = match seen.len() - 1 {
        0 => String::new(),
        n => format!(", with {n} more like it,"),
    };
    match sizes.is_empty() {
        true => format!("`{name}`{more}"),
        false => format!("`{name}` ({sizes}){more}"),
    }
}

/// "N = 30 522" of all sizes, or the distance of rows.
fn odd_text(seen: &Seen) -> String {
    let each = seen.odd.iter().map(|odd| match odd.is_apart {
        true => format!(
            "rows of {} {} elements apart",
            odd.of,
            format::count(odd.elements)
        ),
        false => format!("{} = {}", odd.of, format::count(odd.elements)),
    });
    each.collect::<Vec<String>>().join(", ")
}

fn sum_ns(seen: &[&Seen]) -> i64 {
    sum(seen.iter().map(|seen| seen.row.time_ns))
}

/// What the data shows of each product, and where the longest is called.
fn reasoning(input: &Input, seen: &[&Seen]) -> Vec<String> {
    let mut sentences = Vec::new();
    if let Some(first) = seen.first() {
        let origin = Origin::of(input, first.operation);
        match (origin.role, origin.path()) {
            (Some(role), Some(path)) => {
                sentences.push(format!("It is called from {} (`{path}`).", role.label()));
            }
            (None, Some(path)) => sentences.push(format!("It is called from `{path}`.")),
            _ => {}
        }
        if let (Some(tiles), Some(tile), Some(n_units)) =
            (first.n_tiles, first.tile, input.n_units())
        {
            let rounds = match first.is_split {
                true => "each of them split along K".to_owned(),
                false => {
                    let rounds = tiles as f64 / f64::from(n_units);
                    format!("{} rounds", format::number(rounds))
                }
            };
            sentences.push(format!(
                "Its kernel writes tiles of {}×{}: {} for {n_units} compute units, {rounds}.",
                tile.0,
                tile.1,
                format::counted(tiles, "tile")
            ));
        }
        if first.split_ns > 0 {
            sentences.push(format!(
                "Part of it, {}, adds up products that were split along K.",
                format::time_ns(first.split_ns)
            ));
        }
    }
    sentences.push(
        "A trace does not show why a kernel is slow: a reproducer under a hardware profiler does."
            .to_owned(),
    );
    sentences
}

/// Whether most of the time is in products with a matrix for each entry of a batch: that is no
/// weight, which all entries would share.
fn is_mostly_batched(seen: &[&Seen]) -> bool {
    let is_batched = |seen: &&&Seen| {
        let product = seen.product;
        product.is_some_and(|product| product.batch > 1 && !product.is_grouped)
    };
    let batched: Vec<&Seen> = seen.iter().filter(is_batched).copied().collect();
    sum_ns(&batched) > sum_ns(seen) / 2
}

fn named(input: &Input, pattern: Pattern, seen: &[&Seen], uses_16_bit: bool) -> Option<Finding> {
    let first = seen.first()?;
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum_ns(seen), input);
    let at = at_efficiency(efficiency(&rows));
    let layout_ns = sum(seen.iter().map(|seen| seen.layout_ns));
    let cache = narrower_cache(input, &rows);
    let cache = match cache {
        Some(bits) => format!("share keys and values between heads, or keep the cache in {bits}"),
        None => "or share keys and values between heads".to_owned(),
    };
    let weights = narrower_weights(input, &rows).map_or(String::new(), |(types, _)| {
        format!(", or narrow the weights ({types})")
    });
    let width = width(input, &rows);
    let (among, although) = match uses_16_bit {
        true => (
            " among 16-bit ones",
            "although most products of this trace are narrower",
        ),
        false => ("", "on a GPU with 16-bit matrix units"),
    };
    let wide_title = format!("Products in {width}{among}");
    let (title, issue, model, kernel) = match pattern {
        Pattern::TinyBatched => (
            "Tiny batched products",
            format!("{subject} multiplies many tiny matrices: {time}{at}."),
            "merge the batch into fewer, larger products, or use a fused operation that does not need them (for attention over short axes a fused attention kernel); `torch.compile` may do it.".to_owned(),
            "have the batched kernel for these sizes looked at with the reproducer; each product fills a small part of one tile.",
        ),
        Pattern::Gemv if is_mostly_batched(seen) => (
            "Products of a matrix and a vector",
            format!(
                "{subject} has one row or column in each entry of the batch, and each entry a matrix of its own, read for a single product: {time}{at}."
            ),
            format!(
                "where this is attention over a cache, use a fused attention kernel for decoding (split over the length of the cache), {cache}: the time is that of reading it."
            ),
            "a batched matrix-vector kernel should come near the memory bandwidth; compare it with the best element-wise operation of this trace.",
        ),
        Pattern::Gemv => (
            "Products of a matrix and a vector",
            format!(
                "{subject} has one row or column, so each weight is read for a single product: {time}{at}."
            ),
            format!(
                "batch more requests or tokens into one product{weights}: the time is that of reading the weights."
            ),
            "a matrix-vector kernel should come near the memory bandwidth; compare it with the best element-wise operation of this trace.",
        ),
        Pattern::Outer => (
            "Outer products",
            format!(
                "{subject} multiplies a column by a row, and does little but write the result: {time}{at}."
            ),
            "write it as a multiplication with broadcasting, fused with what follows (`torch.compile`), or compute it once and keep it (tables of positions).".to_owned(),
            "an element-wise kernel does the same, and should come near the memory bandwidth.",
        ),
        Pattern::LayoutInside => (
            "Layout changes inside products",
            format!(
                "{subject} spends {} of {} in kernels that change the layout of its operands.",
                format::time_ns(layout_ns),
                format::time_ns(sum_ns(seen))
            ),
            "keep the operand in the layout that the product wants (make it contiguous once, where it is created).".to_owned(),
            "a product kernel that reads this layout makes the copy unnecessary.",
        ),
        Pattern::WidePrecision => (
            wide_title.as_str(),
            format!(
                "{subject} runs in {width} {although}: {time}{at}."
            ),
            format!("{}.", instead_of_32_bits(input, &rows)),
            "nothing to tune before the type is settled.",
        ),
        Pattern::Skinny => (
            "Tall and skinny products",
            format!("{subject} is far longer than wide: {time}{at}."),
            wider(input, first, &rows),
            match first.is_split {
                true => "have smaller tiles, or another split along K, tried for these sizes.",
                false => "have tile sizes and a split along K tried for these sizes.",
            },
        ),
        Pattern::FewTiles => (
            "Too few output tiles for the GPU",
            format!("{subject} has fewer output tiles than the GPU has compute units: {time}{at}."),
            "larger batches, or fused projections, give the GPU more tiles to work on.".to_owned(),
            "smaller tiles, or a split along K, would use more of the compute units.",
        ),
        Pattern::Misaligned => (
            "Sizes that fill no whole vectors",
            format!(
                "{subject} has sizes that are no multiples of 16 bytes along memory, {}: {time}{at}.",
                odd_text(first)
            ),
            padding(first),
            "check which kernel is chosen for the padded size; an aligned one is often several times faster.",
        ),
        Pattern::Quantised => (
            "Quantised products far from the roof",
            format!("{subject} is quantised: {time}{at}."),
            quantised(&rows),
            "tune the quantised kernel for these sizes with the reproducer.",
        ),
    };
    let mut found = finding(
        input,
        &rows,
        true,
        Draft {
            pattern: pattern.key(),
            title: title.to_owned(),
            issue,
            model,
            kernel: kernel.to_owned(),
            reasoning: reasoning(input, seen),
            tables: vec![products(seen)],
        },
    )?;
    match pattern {
        Pattern::LayoutInside => {
            found.impact = Some(Impact::measured(layout_ns));
            found.savings = seen
                .iter()
                .map(|seen| (seen.row.operation, seen.layout_ns))
                .collect();
        }
        Pattern::WidePrecision => {
            let saved: Vec<(usize, i64)> = seen
                .iter()
                .filter_map(|seen| Some((seen.row.operation, won_by_16_bit(input, seen.row)?)))
                .collect();
            let all_ns = sum(saved.iter().map(|(_, ns)| *ns));
            found.impact = (!saved.is_empty()).then(|| Impact::at_most(all_ns));
            found.savings = saved
                .into_iter()
                .map(|(operation, ns)| (operation, Impact::at_most(ns).mid_ns))
                .collect();
        }
        _ => {}
    }
    if first.row.is_anomaly {
        return None;
    }
    Some(found)
}

/// Whether most of what the longest moves is its result.
fn writes_most(seen: &[&Seen]) -> bool {
    let product = seen.first().and_then(|seen| seen.product);
    product.is_some_and(|Product { m, n, k, .. }| {
        let (m, n, k) = (m as f64, n as f64, k as f64);
        m * n > (m + n) * k
    })
}

fn unnamed(input: &Input, bound: Option<Bound>, seen: &[&Seen]) -> Option<Finding> {
    let is_split = seen.first()?.is_split;
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum_ns(seen), input);
    let at = at_efficiency(efficiency(&rows));
    let (pattern, title, model, kernel) = match bound {
        Some(Bound::Compute) => (
            "compute_bound_gap",
            "Compute-bound products far from the roof",
            less_work(input, seen, &rows, is_mostly_batched(seen)),
            match is_split {
                true => {
                    "tune tile sizes and the split along K for these shapes with the reproducer, and check that the library chose the best kernel it has."
                }
                false => {
                    "tune tile sizes for these shapes with the reproducer, and check that the library chose the best kernel it has."
                }
            },
        ),
        _ => (
            "memory_bound_gap",
            "Memory-bound products far from the roof",
            match (is_mostly_batched(seen), writes_most(seen)) {
                (true, writes) => less_activations(input, &rows, writes),
                (false, true) => less_result(input, &rows),
                (false, false) => less_weights(input, &rows),
            },
            match is_split {
                true => {
                    "the kernel reads slower than the memory allows: have smaller tiles, another split along K, and other kernels of the library tried for these shapes."
                }
                false => {
                    "the kernel reads slower than the memory allows: have it compared with other kernels of the library for these shapes."
                }
            },
        ),
    };
    finding(
        input,
        &rows,
        false,
        Draft {
            pattern,
            title: title.to_owned(),
            issue: format!("{subject} takes {time}{at}."),
            model,
            kernel: kernel.to_owned(),
            reasoning: reasoning(input, seen),
            tables: vec![products(seen)],
        },
    )
}

/// Sizes and tiles of some products.
fn products(seen: &[&Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 10;
    let mut table = Table::new(
        "products",
        "Sizes",
        &[
            ("batch", "Batch"),
            ("m", "M"),
            ("n", "N"),
            ("k", "K"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("efficiency", "Of the roof"),
            ("tile", "Output tile"),
        ],
    );
    let size = |size: Option<u64>| size.map_or(Value::Empty, Value::Count);
    table.rows = seen
        .iter()
        .take(MAX_ROWS)
        .map(|seen| {
            let product = seen.product;
            vec![
                size(product.map(|product| product.batch)),
                size(product.map(|product| product.m)),
                size(product.map(|product| product.n)),
                size(product.map(|product| product.k)),
                Value::Count(seen.row.n_calls),
                Value::Ns(seen.row.time_ns),
                Value::percent(seen.row.efficiency_percent),
                seen.tile.map_or(Value::Empty, |(rows, columns)| {
                    Value::Text(format!("{rows}×{columns}"))
                }),
            ]
        })
        .collect();
    table
}
