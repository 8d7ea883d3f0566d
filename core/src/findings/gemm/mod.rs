//! Products of matrices: which are far from the roof, and what their shapes say about it.

mod advice;
mod findings;
mod kernels;
mod product;
#[cfg(test)]
mod tests;

use super::compute::{Gate, is_wide, outcome, won_by_16_bit};
use super::memory_bound::launch_scale_note;
use super::narrower::{is_complex, matrix_rate_16_bit};
use super::outcome::{Outcome, Row, Status};
use super::{AnalysisKind, Input};
use crate::assess::Thresholds;
use crate::base::interval::sum;
use crate::base::value::Value;
use crate::hardware::Precision;
use crate::profile::operations::Operation;
use findings::findings;
use kernels::{
    is_by_columns, is_layout_change, is_narrow_tensile, is_split, is_split_sum, output_tile,
    workgroups,
};
use product::{OddPitch, Product, is_quantised, odd_pitches};

/// Layout changes that take a smaller share of an operation are no pattern.
const LAYOUT_SHARE: f64 = 0.05;

/// Tiles for up to this share of the compute units are few; above it nearly all have work.
const FEW_TILES: f64 = 0.75;

/// What the shapes or kernels of a product show. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Gemv,
    Outer,
    TinyBatched,
    LayoutInside,
    WidePrecision,
    Skinny,
    FewTiles,
    Misaligned,
    Quantised,
}

impl Pattern {
    fn key(self) -> &'static str {
        match self {
            Pattern::Gemv => "gemv",
            Pattern::Outer => "outer_product",
            Pattern::TinyBatched => "tiny_batched",
            Pattern::LayoutInside => "layout_change_inside",
            Pattern::WidePrecision => "wide_precision",
            Pattern::Skinny => "tall_skinny",
            Pattern::FewTiles => "few_output_tiles",
            Pattern::Misaligned => "misaligned",
            Pattern::Quantised => "quantised",
        }
    }

    /// In the column of types.
    fn class(self) -> &'static str {
        match self {
            Pattern::Gemv => "matrix × vector",
            Pattern::Outer => "outer product",
            Pattern::TinyBatched => "tiny batched",
            Pattern::LayoutInside => "layout change inside",
            Pattern::WidePrecision => "32-bit",
            Pattern::Skinny => "tall and skinny",
            Pattern::FewTiles => "few output tiles",
            Pattern::Misaligned => "misaligned",
            Pattern::Quantised => "quantised",
        }
    }
}

/// What is known of one product.
struct Seen<'a> {
    row: &'a Row,
    operation: &'a Operation,
    product: Option<Product>,
    patterns: Vec<Pattern>,
    /// The output tile, by the name of the longest kernel that tells it.
    tile: Option<(u64, u64)>,
    /// How many of them there are.
    n_tiles: Option<u64>,
    /// Distances along memory that are no whole vectors.
    odd: Vec<OddPitch>,
    /// Time in kernels that change a layout, and in kernels that add up parts of split products.
    layout_ns: i64,
    split_ns: i64,
    /// A kernel says that it is split along K, or twice as many workgroups run as there are tiles.
    is_split: bool,
}

impl Seen<'_> {
    /// Tiles in the last round over the compute units, and how many rounds there are; `None` where the
    /// tiles are not known, or each is split.
    fn last_round(&self, n_units: u32) -> Option<(u64, u64)> {
        let tiles = self.n_tiles.filter(|tiles| *tiles > 0 && !self.is_split)?;
        let n_units = u64::from(n_units);
        let rounds = tiles.div_ceil(n_units);
        Some((tiles - (rounds - 1) * n_units, rounds))
    }
}

/// Whether an operation multiplies very many matrices so small that the choice of the kernel
/// decides how fast that is.
pub(crate) fn is_tiny_batched(operation: &Operation, thresholds: &Thresholds) -> bool {
    Product::of_params(operation).is_some_and(|product| product.is_tiny_batched(thresholds))
}

pub(super) fn run(input: &Input, kind: &'static AnalysisKind) -> Result<Outcome, String> {
    let mut outcome = outcome(input, kind);
    if outcome.status != Status::Done {
        return Ok(outcome);
    }
    let gate = Gate {
        time_ms: input.options.thresholds.gemm_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let uses_16_bit = uses_16_bit(input, &outcome.rows);
    let rows = outcome.rows.clone();
    let seen: Vec<Seen> = rows
        .iter()
        .filter_map(|row| look(input, row, uses_16_bit))
        .collect();
    for (row, seen) in outcome.rows.iter_mut().zip(&seen) {
        let classes: Vec<&str> = seen
            .patterns
            .iter()
            .map(|pattern| pattern.class())
            .collect();
        // Without sizes nothing tells that they are regular.
        row.class = match (classes.is_empty(), seen.product) {
            (true, Some(_)) => "regular".to_owned(),
            (true, None) => String::new(),
            (false, _) => classes.join(", "),
        };
    }
    facts(input, &mut outcome, &seen);
    outcome.findings = findings(input, &seen, &gate, uses_16_bit);
    outcome.notes.extend(launch_scale_note(input, &rows));
    if input.gpu().is_none() {
        outcome.notes.push(
            "No GPU profile is chosen, so how far products are from the roof is not known."
                .to_owned(),
        );
    }
    Ok(outcome)
}

/// Whether most of the time of modelled products is in 16-bit or narrower types.
fn uses_16_bit(input: &Input, rows: &[Row]) -> bool {
    let (mut narrow_ns, mut all_ns) = (0_i64, 0_i64);
    for row in rows {
        let spec = input
            .judged
            .get(row.operation)
            .and_then(|judged| judged.work?.compute);
        let Some(spec) = spec else { continue };
        all_ns = all_ns.saturating_add(row.time_ns);
        if !is_wide(spec) {
            narrow_ns = narrow_ns.saturating_add(row.time_ns);
        }
    }
    narrow_ns > all_ns / 2
}

fn look<'a>(input: &Input<'a>, row: &'a Row, uses_16_bit: bool) -> Option<Seen<'a>> {
    let thresholds = &input.options.thresholds;
    let operation = input.profile.operations().get(row.operation)?;
    let judged = input.judged.get(row.operation)?;
    let spec = judged.work.and_then(|work| work.compute);
    let product = Product::of(input.profile, operation);
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile);
    let name = operation.short_name(input.profile);
    let tiled = kernels.iter().find_map(|(kernel, ..)| {
        let kernel = strings.get(*kernel);
        Some((output_tile(kernel)?, is_by_columns(name, kernel)))
    });
    let n_tiles = product
        .zip(tiled)
        .map(|(product, (tile, is_by_columns))| product.tiles(tile, is_by_columns));
    let workgroups = workgroups(input, operation);
    let time_of = |is_it: fn(&str) -> bool| {
        let kernels = kernels
            .iter()
            .filter(|(name, ..)| is_it(strings.get(*name)));
        sum(kernels.map(|(.., ns)| *ns))
    };
    let layout_ns = time_of(is_layout_change);
    let split_ns = time_of(is_split_sum);
    let is_any = |is_it: fn(&str) -> bool| {
        let mut names = kernels.iter().map(|(name, ..)| strings.get(*name));
        names.any(is_it)
    };
    let has_parts = n_tiles
        .zip(workgroups)
        .is_some_and(|(tiles, workgroups)| workgroups >= tiles.saturating_mul(2));
    let is_split = is_any(is_split) || has_parts;

    let mut patterns = Vec::new();
    let mut odd = Vec::new();
    if let Some(product) = product {
        let Product { m, n, .. } = product;
        let (wide, narrow) = (m.max(n), m.min(n));
        if narrow == 1 {
            patterns.push(Pattern::Gemv);
        } else if product.k == 1 {
            patterns.push(Pattern::Outer);
        } else if product.is_tiny_batched(thresholds) {
            patterns.push(Pattern::TinyBatched);
        } else if wide as f64 >= thresholds.gemm_skinny_ratio * narrow as f64 {
            patterns.push(Pattern::Skinny);
        }
        let n_units = input.n_units();
        if let (Some(tiles), Some(n_units)) = (n_tiles, n_units)
            && tiles.max(workgroups.unwrap_or(0)) as f64 <= FEW_TILES * f64::from(n_units)
            && !is_split
            && product.k > 1
        {
            patterns.push(Pattern::FewTiles);
        }
        // Products of a column and a row have nothing to pad: they write, and hardly read.
        if let Some(spec) = spec.filter(|_| product.k > 1) {
            odd = odd_pitches(operation, product, spec);
        }
        if !odd.is_empty() {
            patterns.push(Pattern::Misaligned);
        }
    }
    if layout_ns as f64 > LAYOUT_SHARE * row.time_ns as f64 {
        patterns.push(Pattern::LayoutInside);
    }
    // A column times a row is no arithmetic that units of another type would do faster.
    let is_outer = product.is_some_and(|product| product.k == 1);
    if spec.is_some_and(is_wide) && !is_outer && !is_complex(input, operation) {
        // What is in 64 bits in all of a trace is so on purpose.
        let is_single = spec.is_some_and(|spec| spec.precision != Precision::Fp64);
        let wins = || won_by_16_bit(input, row).is_some_and(|ns| ns > 0);
        if uses_16_bit || (is_single && wins()) {
            patterns.push(Pattern::WidePrecision);
        }
    }
    if is_quantised(name, spec) || is_any(is_narrow_tensile) {
        patterns.push(Pattern::Quantised);
    }
    Some(Seen {
        row,
        operation,
        product,
        patterns,
        tile: tiled.map(|(tile, _)| tile),
        n_tiles,
        odd,
        layout_ns,
        split_ns,
        is_split,
    })
}

fn facts(input: &Input, outcome: &mut Outcome, seen: &[Seen]) {
    let has = |pattern| move |seen: &&Seen| seen.patterns.contains(&pattern);
    let quantised = seen.iter().filter(has(Pattern::Quantised)).count() as u64;
    let without_model = outcome
        .rows
        .iter()
        .filter(|row| {
            let judged = input.judged.get(row.operation);
            judged.is_none_or(|judged| judged.work.is_none())
        })
        .count() as u64;
    let split_ns = sum(seen.iter().map(|seen| seen.split_ns));
    let layout_ns = sum(seen.iter().map(|seen| seen.layout_ns));
    let peak = matrix_rate_16_bit(input);
    let bandwidth = input.gpu().map(|gpu| gpu.mem_bw_gbps);
    outcome.fact(
        "quantized_count",
        "Quantised products",
        Value::Count(quantised),
    );
    outcome.fact(
        "missing_perf_model_count",
        "Products of unknown work",
        Value::Count(without_model),
    );
    outcome.fact(
        "split_k_reduce",
        "Adding up split products",
        Value::Ns(split_ns),
    );
    outcome.fact(
        "layout_change",
        "Changing layouts inside",
        Value::Ns(layout_ns),
    );
    outcome.fact(
        "peak_maf",
        "Matrix rate, 16-bit",
        peak.map_or(Value::NO_TFLOPS, |(_, figure)| Value::Tflops(figure.tflops)),
    );
    outcome.fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::NO_GBPS, Value::GbPerS),
    );
}
