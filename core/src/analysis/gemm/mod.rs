//! Products of matrices: which are far from the roof, and what their shapes say about it.

use super::compute::{
    Draft, Gate, at_efficiency, by_gap, efficiency, finding, is_bottleneck, is_large, is_wide,
    outcome, shapes, time_and_share, won_by_16_bit,
};
use super::finding::{Finding, Impact};
use super::order::tensors;
use super::origin::Origin;
use super::outcome::{Outcome, Row, Status};
use super::value::{Table, Value};
use super::{AnalysisKind, Input};
use crate::format;
use crate::gpu::Precision;
use crate::operations::Operation;
use crate::perf::{ComputeSpec, Unit};
use crate::report::Thresholds;
use crate::roofline::Bound;

/// Sizes of one product: C (M × N) = A (M × K) · B (K × N), a batch of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Product {
    batch: u64,
    m: u64,
    n: u64,
    k: u64,
}

impl Product {
    /// From the parameters of the model; `None` for grouped products and what has none.
    fn of(operation: &Operation) -> Option<Product> {
        let params = &operation.modelled.as_ref()?.params;
        let size = |wanted: &str| {
            let (_, value) = params.iter().find(|(name, _)| *name == wanted)?;
            value.parse::<u64>().ok().filter(|size| *size > 0)
        };
        Some(Product {
            batch: size("B").unwrap_or(1),
            m: size("M")?,
            n: size("N")?,
            k: size("K")?,
        })
    }

    /// Very many matrices, two of whose sizes are small.
    fn is_tiny_batched(self, thresholds: &Thresholds) -> bool {
        let sizes = [self.m, self.n, self.k].into_iter();
        let is_small = |size: &u64| *size as f64 <= thresholds.gemm_tiny_dim;
        self.batch as f64 >= thresholds.gemm_tiny_batch && sizes.filter(is_small).count() >= 2
    }

    fn text(self) -> String {
        let Product { batch, m, n, k } = self;
        match batch {
            1 => format!("{m}×{n}×{k}"),
            _ => format!("{} of {m}×{n}×{k}", format::count(batch)),
        }
    }

    /// Output tiles of a kernel.
    fn tiles(self, (rows, columns): (u64, u64)) -> u64 {
        let tiles = self
            .m
            .div_ceil(rows)
            .saturating_mul(self.n.div_ceil(columns));
        tiles.saturating_mul(self.batch)
    }
}

/// What the shapes or kernels of a product show. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Gemv,
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
    /// Rows and columns of an output tile, by the name of the longest kernel.
    tile: Option<(u64, u64)>,
    /// Time in kernels that change a layout, and in kernels that add up parts of split products.
    layout_ns: i64,
    split_ns: i64,
}

/// Whether an operation multiplies very many matrices so small that the choice of the kernel
/// decides how fast that is.
pub(crate) fn is_tiny_batched(operation: &Operation, thresholds: &Thresholds) -> bool {
    Product::of(operation).is_some_and(|product| product.is_tiny_batched(thresholds))
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
        row.class = match classes.is_empty() {
            true => "regular".to_owned(),
            false => classes.join(", "),
        };
    }
    facts(input, &mut outcome, &seen);
    outcome.findings = findings(input, &seen, &gate);
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
    let product = Product::of(operation);
    let strings = &input.profile.trace.strings;
    let kernels = operation.kernels(input.profile);
    let tile = kernels
        .iter()
        .find_map(|(name, ..)| output_tile(strings.get(*name)));
    let time_of = |is_it: fn(&str) -> bool| {
        let kernels = kernels
            .iter()
            .filter(|(name, ..)| is_it(strings.get(*name)));
        crate::interval::sum(kernels.map(|(.., ns)| *ns))
    };
    let layout_ns = time_of(is_layout_change);
    let split_ns = time_of(is_split_sum);

    let mut patterns = Vec::new();
    if let Some(product) = product {
        let Product { m, n, .. } = product;
        let (wide, narrow) = (m.max(n), m.min(n));
        if narrow == 1 {
            patterns.push(Pattern::Gemv);
        } else if product.is_tiny_batched(thresholds) {
            patterns.push(Pattern::TinyBatched);
        } else if wide as f64 >= thresholds.gemm_skinny_ratio * narrow as f64 {
            patterns.push(Pattern::Skinny);
        }
        let n_units = input.gpu().and_then(|gpu| gpu.n_sms);
        if let (Some(tile), Some(n_units)) = (tile, n_units)
            && product.tiles(tile) < u64::from(n_units)
        {
            patterns.push(Pattern::FewTiles);
        }
        // Products of a column and a row have nothing to pad: they write, and hardly read.
        if product.k > 1 && spec.is_some_and(|spec| !is_aligned(operation, product, spec)) {
            patterns.push(Pattern::Misaligned);
        }
    }
    if layout_ns as f64 > LAYOUT_SHARE * row.time_ns as f64 {
        patterns.push(Pattern::LayoutInside);
    }
    if uses_16_bit && spec.is_some_and(is_wide) {
        patterns.push(Pattern::WidePrecision);
    }
    if is_quantised(operation.short_name(input.profile), spec) {
        patterns.push(Pattern::Quantised);
    }
    Some(Seen {
        row,
        operation,
        product,
        patterns,
        tile,
        layout_ns,
        split_ns,
    })
}

/// Layout changes that take a smaller share of an operation are no pattern.
const LAYOUT_SHARE: f64 = 0.05;

/// Whether the sizes along which memory is contiguous fill whole vectors: multiples of 16 bytes.
fn is_aligned(operation: &Operation, product: Product, spec: ComputeSpec) -> bool {
    let per_vector = match spec.precision {
        Precision::Fp64 => 2,
        Precision::Fp32 | Precision::Tf32 => 4,
        Precision::Fp16 | Precision::Bf16 => 8,
        Precision::Fp8 | Precision::Int8 => 16,
        Precision::Fp6 | Precision::Fp4 => 32,
    };
    let is_transposed = |stride: &str| {
        let params = operation.modelled.as_ref().map(|modelled| &modelled.params);
        let stride = params.and_then(|params| params.iter().find(|(name, _)| *name == stride));
        // "(1, 1024)": the first of the last two dimensions is contiguous.
        stride.is_some_and(|(_, text)| {
            let mut last_two = text.trim_matches(['(', ')']).rsplit(", ").take(2);
            let (last, before) = (last_two.next(), last_two.next());
            before == Some("1") && last != Some("1")
        })
    };
    let a = match is_transposed("stride_A") {
        true => product.m,
        false => product.k,
    };
    let b = match is_transposed("stride_B") {
        true => product.k,
        false => product.n,
    };
    [a, b, product.n].iter().all(|size| size % per_vector == 0)
}

/// Kernels that copy operands into another layout.
fn is_layout_change(kernel: &str) -> bool {
    let kernel = kernel.to_ascii_lowercase();
    [
        "batched_transpose",
        "transpose_",
        "nchwtonhwc",
        "nhwctonchw",
    ]
    .iter()
    .any(|part| kernel.contains(part))
        && !kernel.contains("gemm")
}

/// Kernels that add up the parts of a product that was split along K.
fn is_split_sum(kernel: &str) -> bool {
    ["PostGSU", "splitKreduce", "splitk_reduce", "SplitKReduce"]
        .iter()
        .any(|part| kernel.contains(part))
}

/// Eight-bit and narrower products, by type or by name.
fn is_quantised(name: &str, spec: Option<ComputeSpec>) -> bool {
    const WORDS: &[&str] = &[
        "w8a8", "int8", "fp8", "w4a16", "w4a4", "fp4", "int4", "_int_mm", "gptq", "awq", "marlin",
    ];
    let name = name.to_ascii_lowercase();
    let is_narrow = spec.is_some_and(|spec| {
        use Precision::{Fp4, Fp8, Int8};
        spec.unit == Unit::Matrix && matches!(spec.precision, Fp8 | Fp4 | Int8)
    });
    is_narrow || WORDS.iter().any(|word| name.contains(word))
}

/// Rows and columns of the output tile, where the name of a kernel has them: "MT256x128x64",
/// "tilesize256x128x64", "_128x256_", "128x64_32x6".
fn output_tile(kernel: &str) -> Option<(u64, u64)> {
    for mark in ["MT", "tilesize"] {
        let found = kernel
            .match_indices(mark)
            .find_map(|(at, _)| two_sizes(kernel.get(at + mark.len()..)?));
        if found.is_some() {
            return found;
        }
    }
    // Other families of kernels write it between underscores. A tile is at least 16 wide.
    kernel
        .split('_')
        .filter_map(two_sizes)
        .find(|(rows, columns)| *rows >= 16 && *columns >= 16)
}

/// "256x128" at the start of a text.
fn two_sizes(text: &str) -> Option<(u64, u64)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    let rest = text.get(first..)?.strip_prefix('x')?;
    let second = digits(rest);
    let size = |text: &str| text.parse().ok().filter(|size| (1..=1024).contains(size));
    Some((size(text.get(..first)?)?, size(rest.get(..second)?)?))
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
    let split_ns = crate::interval::sum(seen.iter().map(|seen| seen.split_ns));
    let layout_ns = crate::interval::sum(seen.iter().map(|seen| seen.layout_ns));
    let peak = input
        .gpu()
        .and_then(|gpu| gpu.matrix_rate(Precision::Bf16, input.options.basis));
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
        peak.map_or(Value::Empty, |figure| Value::Tflops(figure.tflops)),
    );
    outcome.fact(
        "peak_hbm_bw",
        "Memory bandwidth",
        bandwidth.map_or(Value::Empty, Value::GbPerS),
    );
}

fn findings(input: &Input, seen: &[Seen], gate: &Gate) -> Vec<Finding> {
    const NAMED: [Pattern; 8] = [
        Pattern::TinyBatched,
        Pattern::Gemv,
        Pattern::LayoutInside,
        Pattern::WidePrecision,
        Pattern::FewTiles,
        Pattern::Skinny,
        Pattern::Misaligned,
        Pattern::Quantised,
    ];
    let is_candidate = |seen: &&Seen| {
        let (row, first) = (seen.row, seen.patterns.first());
        // Products of nothing, as of an expert without tokens, have nothing to gain.
        let mut operands = tensors(input, seen.operation).into_iter();
        if operands.any(|operand| operand.shape.contains(&0)) {
            return false;
        }
        // What is measured, or wins by another type, needs no distance from the roof.
        let needs_no_gap = seen
            .patterns
            .iter()
            .any(|pattern| matches!(pattern, Pattern::LayoutInside | Pattern::WidePrecision));
        let is_large = is_large(input, row, gate);
        is_bottleneck(input, row, gate)
            || (is_large && !row.is_anomaly && needs_no_gap)
            || (is_large && row.efficiency_percent.is_none() && first.is_some())
    };
    let mut left: Vec<&Seen> = seen.iter().filter(is_candidate).collect();
    let mut findings = Vec::new();
    for pattern in NAMED {
        let (with, without): (Vec<&Seen>, Vec<&Seen>) = left
            .iter()
            .partition(|seen| seen.patterns.contains(&pattern));
        left = without;
        findings.extend(named(input, pattern, &with));
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
    findings
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
    format!("`{name}` ({sizes}){more}")
}

fn sum_ns(seen: &[&Seen]) -> i64 {
    crate::interval::sum(seen.iter().map(|seen| seen.row.time_ns))
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
        if let (Some(product), Some(tile), Some(n_units)) = (
            first.product,
            first.tile,
            input.gpu().and_then(|gpu| gpu.n_sms),
        ) {
            let tiles = product.tiles(tile);
            let rounds = tiles as f64 / f64::from(n_units);
            sentences.push(format!(
                "Its kernel writes tiles of {}×{}: {} for {n_units} compute units, {} rounds.",
                tile.0,
                tile.1,
                format::counted(tiles, "tile"),
                format::number(rounds)
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
    let is_batched = |seen: &&&Seen| seen.product.is_some_and(|product| product.batch > 1);
    let batched: Vec<&Seen> = seen.iter().filter(is_batched).copied().collect();
    sum_ns(&batched) > sum_ns(seen) / 2
}

fn named(input: &Input, pattern: Pattern, seen: &[&Seen]) -> Option<Finding> {
    let first = seen.first()?;
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum_ns(seen), input);
    let at = at_efficiency(efficiency(&rows));
    let layout_ns = crate::interval::sum(seen.iter().map(|seen| seen.layout_ns));
    let (title, issue, model, kernel) = match pattern {
        Pattern::TinyBatched => (
            "Tiny batched products",
            format!("{subject} multiplies many tiny matrices: {time}{at}."),
            "merge the batch into fewer, larger products, or use a fused operation that does not need them (for attention over short axes a fused attention kernel); `torch.compile` may do it.",
            "have the batched kernel for these sizes looked at with the reproducer; each product fills a small part of one tile.",
        ),
        Pattern::Gemv if is_mostly_batched(seen) => (
            "Products of a matrix and a vector",
            format!(
                "{subject} has one row or column in each entry of the batch, and each entry a matrix of its own, read for a single product: {time}{at}."
            ),
            "where this is attention over a cache, use a fused attention kernel for decoding (split over the length of the cache), share keys and values between heads, or keep the cache in 8 bits: the time is that of reading it.",
            "a batched matrix-vector kernel should come near the memory bandwidth; compare it with the best element-wise operation of this trace.",
        ),
        Pattern::Gemv => (
            "Products of a matrix and a vector",
            format!(
                "{subject} has one row or column, so each weight is read for a single product: {time}{at}."
            ),
            "batch more requests or tokens into one product, or narrow the weights (8 or 4 bits): the time is that of reading them.",
            "a matrix-vector kernel should come near the memory bandwidth; compare it with the best element-wise operation of this trace.",
        ),
        Pattern::LayoutInside => (
            "Layout changes inside products",
            format!(
                "{subject} spends {} of {} in kernels that change the layout of its operands.",
                format::time_ns(layout_ns),
                format::time_ns(sum_ns(seen))
            ),
            "keep the operand in the layout that the product wants (make it contiguous once, where it is created).",
            "a product kernel that reads this layout makes the copy unnecessary.",
        ),
        Pattern::WidePrecision => (
            "Products in 32 bits among 16-bit ones",
            format!(
                "{subject} runs in 32 bits although most products of this trace are narrower: {time}."
            ),
            "run it in BF16 or FP16 (autocast), or allow TF32 where the accuracy suffices.",
            "nothing to tune before the type is settled.",
        ),
        Pattern::Skinny => (
            "Tall and skinny products",
            format!("{subject} is far longer than wide: {time}{at}."),
            "join it with its neighbours (fused projections, larger batches) so that the short side grows.",
            "have tile sizes and a split along K tried for these sizes.",
        ),
        Pattern::FewTiles => (
            "Too few output tiles for the GPU",
            format!("{subject} has fewer output tiles than the GPU has compute units: {time}{at}."),
            "larger batches, or fused projections, give the GPU more tiles to work on.",
            "smaller tiles, or a split along K, would use more of the compute units.",
        ),
        Pattern::Misaligned => (
            "Sizes that fill no whole vectors",
            format!(
                "{subject} has sizes that are no multiples of 16 bytes along memory: {time}{at}."
            ),
            "pad the dimension (hidden size, vocabulary, heads) to the next multiple of 8 elements, better 64.",
            "check which kernel is chosen for the padded size; an aligned one is often several times faster.",
        ),
        Pattern::Quantised => (
            "Quantised products far from the roof",
            format!("{subject} is quantised: {time}{at}."),
            "check that the quantisation pays at this size: its scheme and its scales cost time of their own.",
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
            model: model.to_owned(),
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
            let all_ns = crate::interval::sum(saved.iter().map(|(_, ns)| *ns));
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

fn unnamed(input: &Input, bound: Option<Bound>, seen: &[&Seen]) -> Option<Finding> {
    let rows: Vec<&Row> = seen.iter().map(|seen| seen.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum_ns(seen), input);
    let at = at_efficiency(efficiency(&rows));
    let (pattern, title, model, kernel) = match bound {
        Some(Bound::Compute) => (
            "compute_bound_gap",
            "Compute-bound products far from the roof",
            "narrower types (FP8, INT8) where the accuracy allows, or sparsity where weights are sparse; larger batches help where the last round of tiles is nearly empty.",
            "tune tile sizes for these shapes with the reproducer, and check that the library chose the best kernel it has.",
        ),
        _ => (
            "memory_bound_gap",
            "Memory-bound products far from the roof",
            "larger batches reuse each weight more often; 8-bit or 4-bit weights halve or quarter what is read; fuse the epilogue.",
            "the kernel reads slower than the memory allows: have it compared with other kernels of the library for these shapes.",
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
            model: model.to_owned(),
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

#[cfg(test)]
mod tests;
