//! Words of the sentences about convolutions, and the table of their shapes.

use super::layout::channels_last_switch;
use super::{Observed, band};
use crate::assess::waterfall::{Cause, Detail, Waterfall};
use crate::findings::engine::narrower::instead_of_32_bits;
use crate::findings::prelude::*;
use crate::names::convolution::is_layout_change;
use crate::profile::operations::kinds::convolution::{
    ConvolutionKind, ConvolutionShape, channels_last,
};

/// "; it is depthwise 7×7", if its shape is more than a kernel size.
pub(super) fn special(shape: &ConvolutionShape) -> String {
    match shape.text() {
        plain if plain == shape.kernel_text() => String::new(),
        text => format!("; it is {text}"),
    }
}

/// "C_in = 3 computed as 4", or "392×48 results in 128×128 tiles": the larger padding of the longest row.
pub(super) fn padded(input: &Input, observed: &Observed) -> String {
    let waterfall = Waterfall::of(input, observed.row.operation);
    let steps = waterfall.iter().flat_map(|waterfall| &waterfall.steps);
    let padding =
        steps.filter(|step| matches!(step.cause, Cause::TilePadding | Cause::PaddedDimension));
    match padding.max_by_key(|step| step.ns).map(|step| step.detail) {
        Some(Detail::Tile {
            result: (m, n),
            tile: (first, second),
        }) => {
            format!("{m}×{n} results in {first}×{second} tiles")
        }
        Some(Detail::Padded {
            dimension,
            size,
            padded,
        }) => {
            format!("{dimension} = {size} computed as {padded}")
        }
        _ => "convolutions computed with padding".to_owned(),
    }
}

/// "8 tiles on 304 compute units", for the longest row.
pub(super) fn on_units(input: &Input, observed: &Observed) -> String {
    let waterfall = Waterfall::of(input, observed.row.operation);
    let step = waterfall
        .as_ref()
        .and_then(|all| all.step(Cause::WaveQuantization));
    match step.map(|step| step.detail) {
        Some(Detail::Waves {
            workgroups, units, ..
        }) => {
            let workgroups = format::counted(workgroups, "workgroup");
            format!("{workgroups} on {units} compute units")
        }
        _ => "Partly filled waves of workgroups".to_owned(),
    }
}

pub(super) fn short_kernel(name: &str) -> String {
    format::middle_ellipsis(&format::kernel_name(name), 80)
}

/// The word "advice": what to do, depending on whether the longest row cuts images into patches.
pub(super) fn patches_or(group: &Group<Observed<'static>>, otherwise: &str) -> Words {
    let is_patches = group.first().has(ConvolutionShape::is_patches);
    let gemm = "compute it as one GEMM over patches: cut the image by a reshape, and multiply it with the filter as a matrix (`linear`)";
    vec![either("advice", is_patches, gemm, otherwise)]
}

/// "let the DNN library try its algorithms for these shapes (…); keep channels multiples of 8 and tensors
/// in `torch.channels_last`".
pub(super) fn search_and_keep(group: &Group<Observed<'static>>) -> String {
    let is_odd = |shape: &ConvolutionShape| odd_channels(shape).is_some();
    let odd = group.any(|observed| observed.has(is_odd));
    let multiple = odd.then(|| "channels multiples of 8".to_owned());
    let switch = channels_last_switch(group.input);
    let format = wanted_format(group).map(|format| format!("tensors in `{format}`{switch}"));
    let kept: Vec<String> = [multiple, format].into_iter().flatten().collect();
    let search = "let the DNN library try its algorithms for these shapes (`torch.backends.cudnn.benchmark = True`)";
    let mut means = vec![search.to_owned()];
    if !kept.is_empty() {
        means.push(format!("keep {}", kept.join(" and ")));
    }
    if group.first().is_wide {
        means.push(instead_of_32_bits(group.input, &group.rows));
    }
    means.join("; ")
}

pub(super) fn odd_channels(shape: &ConvolutionShape) -> Option<u64> {
    let channels = [shape.channels(), shape.out_channels()];
    channels.into_iter().find(|channels| channels % 8 != 0)
}

/// ", where 40–60 % is usual for kernel size 1×1 and 60–80 % for kernel size 7×7".
pub(super) fn usual(group: &Group<Observed<'static>>) -> String {
    let mut kinds: Vec<(ConvolutionKind, String)> = Vec::new();
    for observed in &group.observed {
        let (Some(kind), Some(shape)) = (observed.kind, &observed.shape) else {
            continue;
        };
        if !kinds.iter().any(|(known, _)| *known == kind) {
            let band = band(kind).text();
            let is_usual = if kinds.is_empty() { " is usual" } else { "" };
            let label = match kind {
                ConvolutionKind::Depthwise => "depthwise convolutions".to_owned(),
                _ => format!("kernel size {}", shape.kernel_text()),
            };
            kinds.push((kind, format!("{band}{is_usual} for {label}")));
        }
    }
    let texts: Vec<String> = kinds.into_iter().map(|(_, text)| text).collect();
    match texts.is_empty() {
        true => String::new(),
        false => format!(", where {}", format::listed(&texts)),
    }
}

/// The channels-last memory format for the first convolution known to be channels-first.
pub(super) fn wanted_format(group: &Group<Observed<'static>>) -> Option<&'static str> {
    let shapes = group
        .observed
        .iter()
        .filter_map(|observed| observed.shape.as_ref());
    let mut apart = shapes.filter(|shape| shape.is_channels_last == Some(false));
    apart.find_map(|shape| channels_last(shape.n_dims()))
}

pub(super) fn details(input: &Input, observed: &Observed) -> impl Iterator<Item = String> {
    let mut kernels = observed.operation.kernel_names(input.profile).into_iter();
    let longest = kernels
        .find(|name| !is_layout_change(name))
        .map(short_kernel);
    let (changes, layout) = (observed.layout.1 > 0, format::time_ns(observed.layout.1));
    let odd = observed.shape.as_ref().and_then(odd_channels);
    let sentences = [
        longest.map(|name| format!("Its longest kernel is `{name}`.")),
        changes.then(|| format!("Of its time, {layout} is in kernels that change the layout.")),
        observed.has(ConvolutionShape::is_patches).then(|| "Its stride equals its kernel size, so that patches do not overlap: the same result is one GEMM over patches.".to_owned()),
        odd.filter(|_| !observed.is_wide).map(|odd| format!("{odd} channels are not a multiple of 8: misaligned for 16-bit matrix units.")),
    ];
    sentences.into_iter().flatten()
}

pub(super) fn shapes(group: &Group<Observed<'static>>) -> Table {
    const MAX_ROWS: usize = 10;
    let sizes = |observed: &Observed| observed.shape.as_ref().map(ConvolutionShape::sizes);
    #[rustfmt::skip]
    let columns: &[CellColumn<&Observed>] = &[
        ("shape", "Input and filter", &|observed| sizes(observed).map_or(Value::Empty, Value::Text)),
        ("kind", "Kind", &|observed| Value::Text(observed.class())),
        ("calls", "Calls", &|observed| Value::Count(observed.row.n_calls)),
        ("time", "Time", &|observed| Value::Ns(observed.row.time_ns)),
        ("efficiency", "% roofline", &|observed| Value::percent(observed.row.efficiency_percent)),
        ("layout", "Layout changes", &|observed| Value::Ns(observed.layout.1)),
    ];
    let longest = group.observed.iter().copied().take(MAX_ROWS);
    Table::of("shapes", "Shapes", longest, columns)
}
