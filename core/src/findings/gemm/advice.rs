//! Advice about changing the model's GEMMs, and what tiles show.

use super::Observed;
use crate::assess::waterfall::{Cause, Detail, Fact};
use crate::findings::engine::narrower::{
    has_sparsity, is_in_32_bits, less_arithmetic, narrower_cache, narrower_types, narrower_weights,
    sixteen_bit,
};
use crate::findings::prelude::*;
use crate::profile::cpu::autograd::Passes;
use crate::profile::operations::kinds::gemm::{GemmSizes, OddPitch};

/// "`aten::bmm` (37 632 of 8×64×8)" for the longest row, and how many more.
pub(super) fn subject(group: &Group<Observed<'static>>) -> String {
    let first = group.first();
    let name = format::middle_ellipsis(first.operation.short_name(group.input.profile), 60);
    let sizes = first.sizes.map(GemmSizes::text);
    let sizes = match sizes.unwrap_or_else(|| shapes(group.input, first.operation)) {
        none if none.is_empty() => none,
        sizes => format!(" ({sizes})"),
    };
    match group.observed.len() - 1 {
        0 => format!("`{name}`{sizes}"),
        n => format!("`{name}`{sizes}, with {n} more like it,"),
    }
}

pub(super) fn sizes(group: &Group<Observed<'static>>) -> Table {
    const MAX_ROWS: usize = 10;
    let size = |observed: &Observed, of: fn(GemmSizes) -> u64| {
        observed
            .sizes
            .map_or(Value::Empty, |sizes| Value::Count(of(sizes)))
    };
    let tile = |observed: &Observed| {
        let tile = observed.kernels.tile;
        tile.map_or(Value::Empty, |(first, second)| {
            Value::Text(format!("{first}×{second}"))
        })
    };
    #[rustfmt::skip]
    let columns: &[CellColumn<&Observed>] = &[
        ("batch", "Batch", &|observed| size(observed, |sizes| sizes.batch)),
        ("m", "M", &|observed| size(observed, |sizes| sizes.m)),
        ("n", "N", &|observed| size(observed, |sizes| sizes.n)),
        ("k", "K", &|observed| size(observed, |sizes| sizes.k)),
        ("calls", "Calls", &|observed| Value::Count(observed.row.n_calls)),
        ("time", "Time", &|observed| Value::Ns(observed.row.time_ns)),
        ("efficiency", "% roofline", &|observed| Value::percent(observed.row.efficiency_percent)),
        ("tile", "Output tile", &|observed| tile(observed)),
    ];
    let longest = group.observed.iter().copied().take(MAX_ROWS);
    Table::of("products", "Sizes", longest, columns)
}

/// A last wave of tiles is mentioned if it leaves this share of all waves idle.
const IDLE_SHARE: f64 = 0.2;

/// Padding from this factor on is named in the title of a finding.
const WORTH_A_TITLE: f64 = 1.1;

pub(super) fn less_work(group: &Group<Observed<'static>>) -> String {
    let (input, rows) = (group.input, &group.rows[..]);
    let mut means: Vec<String> = less_arithmetic(input, rows).into_iter().collect();
    // Sparsity only works for the types that sparse matrix units support, and activations are rarely sparse.
    let is_batched = group.is_mostly(Observed::is_batched);
    if has_sparsity(input, rows) && !is_batched && !is_in_32_bits(input, rows) {
        means.push("sparsity where weights are sparse".to_owned());
    }
    let means = means.join(", or ");
    let generic = "larger batches help where the last wave of tiles is nearly empty";
    let n_units = input.n_units();
    let wave = n_units.and_then(|n_units| group.first().kernels.last_wave(n_units));
    let Some(((tiles, waves), n_units)) = wave.zip(n_units) else {
        return match means.is_empty() {
            true => generic.to_owned(),
            false => format!("{means}; {generic}"),
        };
    };
    let idle = (1.0 - tiles as f64 / f64::from(n_units)) / waves as f64;
    let filled = format!(
        "the last of {waves} waves has {} for {n_units} compute units: sizes or batches that fill it do more in the same time",
        format::counted(tiles, "tile")
    );
    match (idle >= IDLE_SHARE && waves > 1, means.is_empty()) {
        (true, true) => filled,
        (true, false) => format!("{filled}; {means}"),
        (false, true) => generic.to_owned(),
        (false, false) => means,
    }
}

pub(super) fn fewer_bytes(group: &Group<Observed<'static>>) -> String {
    let (input, rows) = (group.input, &group.rows[..]);
    let writes_most = group.first().sizes.is_some_and(GemmSizes::writes_most);
    if group.is_mostly(Observed::is_batched) {
        // Each entry of a batch has a matrix of its own, so there are no shared weights.
        let narrower = narrower_types(input, rows).filter(|_| !writes_most);
        let narrower = narrower.map_or(String::new(), |types| {
            format!("; keep its operands in a narrower type ({types})")
        });
        return format!(
            "fuse it with what follows it (in attention, a fused attention kernel does){narrower}"
        );
    }
    if writes_most {
        let narrower = match is_in_32_bits(input, rows) {
            true => format!(", and write it in {}", sixteen_bit(input)),
            false => String::new(),
        };
        return format!(
            "most of what it moves is the result that it writes: let the GEMM add to its target (`addmm`, `baddbmm`), fuse what follows into it, or merge what it computes into the weights once (low-rank adapters){narrower}"
        );
    }
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, effect)| {
        format!(" weights in {types} {effect} what is read;")
    });
    format!("larger batches reuse each weight more often;{narrower} fuse the epilogue")
}

/// Advice for matrix-vector multiplication per batch entry.
pub(super) fn in_cache(input: &Input, rows: &[&Row]) -> String {
    let cache = match narrower_cache(input, rows) {
        Some(bits) => format!("share keys and values between heads, or keep the cache in {bits}"),
        None => "or share keys and values between heads".to_owned(),
    };
    format!(
        "where this is attention over a KV cache, use a fused decode attention kernel (split over the cache length), {cache}"
    )
}

/// Advice for multiplying weights by a vector.
pub(super) fn weights_in(input: &Input, rows: &[&Row]) -> String {
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, _)| {
        format!(", or narrow the weights ({types})")
    });
    format!("batch more vectors (requests, tokens, output columns) into one GEMM{narrower}")
}

/// Advice for GEMMs far longer than wide: what their short side consists of.
pub(super) fn wider(input: &Input, observed: &Observed, rows: &[&Row]) -> String {
    let is_short_of_rows = observed.sizes.is_some_and(|sizes| sizes.m < sizes.n);
    if !is_short_of_rows {
        return "join it with GEMMs of the same input (fused projections), so that the short side grows".to_owned();
    }
    let narrower = narrower_weights(input, rows).map_or(String::new(), |(types, effect)| {
        format!("; where it reads weights, {types} {effect} what is read")
    });
    format!(
        "more rows in one GEMM (larger batches, several tokens at once) make the short side grow{narrower}"
    )
}

/// "N = 30 522" for all sizes, or the pitch of rows.
pub(super) fn odd_dimensions(observed: &Observed) -> String {
    let each = observed.odd.iter().map(|odd| {
        let elements = format::count(odd.elements);
        match odd.is_apart {
            true => format!("Row stride of {} = {elements}", odd.of),
            false => format!("{} = {elements}", odd.of),
        }
    });
    each.collect::<Vec<String>>().join(", ")
}

pub(super) fn alignment(observed: &Observed) -> String {
    let (apart, odd): (Vec<&OddPitch>, Vec<&OddPitch>) =
        observed.odd.iter().partition(|odd| odd.is_apart);
    let mut means = Vec::new();
    if let Some(first) = odd.first() {
        let each = odd.iter().map(|odd| {
            let next = odd.elements.next_multiple_of(odd.multiple);
            let [now, next] = [odd.elements, next].map(format::count);
            format!("{} ({now}) to {next}", odd.of)
        });
        let each = each.collect::<Vec<String>>().join(" and ");
        let meaning = match observed.is_batched() {
            true => {
                "in attention it is the sequence length, which can be padded or packed, and a fused attention kernel needs neither"
            }
            false => {
                "in weights it is the hidden size or the vocabulary, in activations the number of tokens"
            }
        };
        means.push(format!(
            "pad {each}, the next multiple of {}, preferably a multiple of 64: {meaning}",
            first.multiple
        ));
    }
    means.extend(apart.into_iter().map(|OddPitch { of, multiple, elements, .. }| {
        let now = format::count(*elements);
        format!("make the row stride of {of} a multiple of {multiple} elements (now {now}): make it contiguous, or pad the tensor it is a view of")
    }));
    means.join("; ")
}

/// "153 tiles on 304 compute units", for the longest row.
pub(super) fn tiles_on_units(observed: &Observed) -> String {
    let Some((workgroups, units, are_tiles)) = workgroups_on_units(observed) else {
        return "Partly filled waves of tiles".to_owned();
    };
    let what = if are_tiles { "tile" } else { "workgroup" };
    format!(
        "{} on {units} compute units",
        format::counted(workgroups, what)
    )
}

/// Whether it is the gradient of a weight, whose K is the number of tokens: in the backward pass, and longest along K.
fn sums_over_tokens(input: &Input, observed: &Observed) -> bool {
    let is_long = |sizes: GemmSizes| sizes.k > sizes.m && sizes.k > sizes.n;
    let mut passes = Passes::new(input.profile);
    let mut calls = input.operation(observed.row.operation).calls.iter();
    observed.sizes.is_some_and(is_long) && calls.all(|call| passes.is_backward(call.event))
}

/// Workgroups, compute units, and whether each workgroup is a tile.
fn workgroups_on_units(observed: &Observed) -> Option<(u64, u32, bool)> {
    let step = observed
        .step(Cause::WaveQuantization)
        .map(|step| step.detail);
    let few = || {
        let (workgroups, units) = observed.few_workgroups()?;
        Some((workgroups, units, false))
    };
    match step {
        Some(Detail::Waves {
            workgroups,
            units,
            tiles,
        }) => Some((workgroups, units, tiles == Some(workgroups))),
        _ => few(),
    }
}

/// What gives the compute units more to do, or the last wave.
pub(super) fn more_tiles(input: &Input, observed: &Observed) -> String {
    if sums_over_tokens(input, observed) {
        return "nothing to gain in the model: it is the gradient of a weight, and a larger batch only makes K longer".to_owned();
    }
    let last_wave = || {
        let (workgroups, units, are_tiles) = workgroups_on_units(observed)?;
        let units = u64::from(units);
        let waves = workgroups.div_ceil(units.max(1));
        let rest = workgroups.checked_sub(waves.checked_sub(1)?.checked_mul(units)?)?;
        let what = if are_tiles { "tile" } else { "workgroup" };
        (waves > 1).then(|| {
            format!(
                "the last of {} has {} for {units} compute units: sizes or batches that fill it do more in the same time, and sizes just small enough do without it",
                format::counted(waves, "wave"),
                format::counted(rest, what)
            )
        })
    };
    last_wave()
        .unwrap_or_else(|| "larger batches or fused projections give the GPU more tiles".to_owned())
}

/// How to use more of the compute units: a split along K is only suggested if K is long enough.
pub(super) fn fill_units(observed: &Observed) -> &'static str {
    let mut facts = observed
        .waterfall
        .iter()
        .flat_map(|waterfall| &waterfall.facts);
    match facts.any(|fact| matches!(fact, Fact::FewKSteps { .. })) {
        true => "smaller tiles use more of the compute units; K is too short to be split",
        false => "smaller tiles, split-K or stream-K use more of the compute units",
    }
}

/// "8×8 results in 64×112 tiles" for the longest row if that takes time; otherwise "Tiny batched GEMMs of 16×16×64", or
/// "Padded tiles".
pub(super) fn padded(observed: &Observed) -> String {
    let steps = observed
        .waterfall
        .iter()
        .flat_map(|waterfall| &waterfall.steps);
    let mut padded = steps.filter(|step| step.factor >= WORTH_A_TITLE && step.ns > 0);
    let says = padded.find_map(|step| match step.detail {
        Detail::Tile {
            result: (m, n),
            tile: (first, second),
        } => Some(format!("{m}×{n} results in {first}×{second} tiles")),
        Detail::Padded {
            dimension,
            size,
            padded,
        } => Some(format!("{dimension} = {size} computed as {padded}")),
        _ => None,
    });
    says.unwrap_or_else(|| match observed.is_batched() {
        true => observed.sizes.map_or(
            "Tiny batched GEMMs".to_owned(),
            |GemmSizes { m, n, k, .. }| format!("Tiny batched GEMMs of {m}×{n}×{k}"),
        ),
        false => "Padded tiles".to_owned(),
    })
}

/// Sentences about the tiles of the longest row, and about its split along K.
pub(super) fn tile_sentences(input: &Input, observed: &Observed) -> Vec<String> {
    let (kernels, n_units) = (&observed.kernels, input.n_units());
    let mut sentences = Vec::new();
    if let (Some(n), Some((m_tile, n_tile)), Some(n_units)) =
        (kernels.n_tiles, kernels.tile, n_units)
    {
        let waves = format::number(n as f64 / f64::from(n_units));
        let waves = match kernels.is_split {
            true => "each of them split along K".to_owned(),
            false => format!("{waves} waves"),
        };
        let n_tiles = format::counted(n, "tile");
        sentences.push(format!(
            "Its kernel writes tiles of {m_tile}×{n_tile}: {n_tiles} for {n_units} compute units, {waves}."
        ));
    }
    if kernels.split_ns > 0 {
        let split = format::time_ns(kernels.split_ns);
        sentences.push(format!("Part of it, {split}, is the split-K reduction."));
    }
    sentences
}
