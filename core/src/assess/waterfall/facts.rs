//! Finds the causes without a factor: properties of an operation that are known to make such kernels slow.

use super::fact::{BLOCK_OF_QUERIES, Fact};
use super::factors::{Tiled, are_enough};
use crate::assess::{Evaluation, Input};
use crate::hardware::roofline::Bound;
use crate::hardware::{Precision, Unit, Vendor};
use crate::names::attention::{self, splits_keys};
use crate::names::tile::{Generation, Tile};
use crate::names::words::{contains_any, holds};
use crate::names::{Family, LoopKind, OtherKind};
use crate::perf::{Tensor, dropout_of, element_bytes, is_tf32_kernel};
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::convolution::{ConvolutionKind, ConvolutionShape};
use crate::profile::operations::kinds::gemm::{GemmSizes, OddPitch, odd_pitches};
use crate::profile::operations::kinds::reduction::Axis;
use crate::profile::operations::measured::{MainKernel, Measured, Sizes};

/// Up to this number of steps along K, prologue and epilogue take most of the time.
const FEW_K_STEPS: u64 = 4;

/// Up to this share of the compute units, the number of workgroups is small.
const FEW_WORKGROUPS: f64 = 0.9;

/// Up to this number of steps along K, filling the pipeline takes a significant part of the time.
const SHORT_K_STEPS: u64 = 16;

/// Up to this row size in bytes, a workgroup has little to read.
const SHORT_ROW_BYTES: f64 = 2048.0;

/// Parts of names of kernels that compute an exponential, a logarithm or the like for each element.
const TRANSCENDENTAL: &[&str] = &[
    "gelu", "silu", "sigmoid", "tanh", "exp", "log", "erf", "pow", "sin", "cos", "softplus", "mish",
];

/// Up to this number of channels, most of what a matrix unit processes at once is empty.
const FEW_CHANNELS: u64 = 4;

/// Up to this number of image positions, the GEMM is short.
const FEW_POSITIONS: u64 = 64;

/// Below this number of tokens, a low efficiency of attention is expected.
const SHORT_SEQUENCE: u64 = 512;

/// Up to this head dimension, softmax takes a large part of the time.
const NARROW_HEAD: u64 = 128;

/// The facts about an operation, most certain first.
pub(super) fn facts(
    input: &Input,
    operation: &Operation,
    evaluation: &Evaluation,
    measured: &Measured,
) -> Vec<Fact> {
    let mut found = Vec::new();
    if let Sizes::Gemm(sizes) = &measured.sizes
        && let Some(spec) = evaluation.work.and_then(|work| work.compute)
        && sizes.k > 1
    {
        found.extend(misaligned(&odd_pitches(operation, *sizes, spec), *sizes));
    }
    found.extend(of_rows(input, operation));
    let of_kernel = |kernel| of_kernel(input, operation, evaluation, measured, kernel);
    let of_kernel = measured.main.as_ref().map_or(Vec::new(), of_kernel);
    match &measured.sizes {
        Sizes::Convolution(shape) => {
            // Its shape comes before what follows from it: few channels make a short sum.
            let follows = |fact: &Fact| {
                use Fact::{FewKSteps, ShortK, TileReads};
                matches!(fact, FewKSteps { .. } | ShortK { .. } | TileReads { .. })
            };
            let (following, others): (Vec<Fact>, Vec<Fact>) =
                of_kernel.into_iter().partition(follows);
            found.extend(others);
            found.extend(of_convolution(shape));
            found.extend(following);
        }
        _ => found.extend(of_kernel),
    }
    if let Sizes::Attention(sizes) = &measured.sizes {
        let tokens = sizes.queries().max(sizes.keys()) as u64;
        found.extend((tokens < SHORT_SEQUENCE).then_some(Fact::ShortSequence(tokens)));
        found.extend(dropout(input, operation));
        // Attention that mostly reads its operands has time for exponentials.
        let computes = evaluation.roofline.is_some_and(|roofline| {
            let compute_us = roofline.compute_us.unwrap_or(0.0);
            compute_us * 4.0 >= roofline.memory_us
        });
        let is_narrow = sizes.d_qk <= NARROW_HEAD;
        found.extend((is_narrow && computes).then_some(Fact::Softmax { head: sizes.d_qk }));
    }
    if evaluation.is_over_link {
        found.push(Fact::OverLink);
    }
    if matches!(measured.sizes, Sizes::Other)
        && operation.tensors(input.profile).iter().any(is_strided)
    {
        found.push(Fact::NotContiguous);
    }
    found.extend(wide_type(input, operation, evaluation, measured));
    let spread = &measured.spread;
    if spread.above_median_ns > 0 {
        found.push(Fact::Differs {
            median_ns: spread.median_ns,
            p95_ns: spread.p95_ns,
        });
    }
    found
}

/// Rows that are misaligned or short, of an operation that works on one after another.
fn of_rows(input: &Input, operation: &Operation) -> Option<Fact> {
    if !is_by_rows(input, operation) {
        return None;
    }
    match row_of(&operation.tensors(input.profile))? {
        (elements, bytes) if bytes % 16.0 != 0.0 => Some(Fact::MisalignedRows(elements)),
        (elements, bytes) if bytes <= SHORT_ROW_BYTES => Some(Fact::ShortRows(elements)),
        _ => None,
    }
}

/// Whether an operation works on one row of its largest operand after another.
fn is_by_rows(input: &Input, operation: &Operation) -> bool {
    // Norms over channels and pooling work along other dimensions, gradients of tables along an index.
    const OTHERS: &[&str] = &[
        "batch_norm",
        "group_norm",
        "groupnorm",
        "instance_norm",
        "pool",
        "embedding",
    ];
    let is_along_axis = matches!(operation.family, Family::Reduction | Family::Normalization);
    let strided = || Axis::of(input.profile, operation).and_then(|axis| axis.is_strided);
    is_along_axis && !holds(operation.short_name(input.profile), OTHERS) && strided() != Some(true)
}

/// Dropout inside of attention.
fn dropout(input: &Input, operation: &Operation) -> Option<Fact> {
    let known = operation.known()?.param("dropout");
    let share = dropout_of(known, &operation.arguments(input.profile)?)?;
    (share > 0.0).then(|| Fact::Dropout((share * 100.0).round() as u64))
}

/// Work of the matrix units in FP32 or FP64, although 16 bits are faster.
fn wide_type(
    input: &Input,
    operation: &Operation,
    evaluation: &Evaluation,
    measured: &Measured,
) -> Option<Fact> {
    let spec = evaluation
        .work?
        .compute
        .filter(|spec| spec.unit == Unit::Matrix)?;
    let (gpu, basis) = (input.gpu()?, input.options.basis);
    let is_wide = matches!(
        spec.precision,
        Precision::Fp64 | Precision::Fp32 | Precision::Tf32
    );
    let narrow = [Precision::Bf16, Precision::Fp16].into_iter();
    let over = |narrow| gpu.times_the_rate(narrow, spec.precision, basis);
    let over = narrow.filter_map(over).next()?;
    // Where the memory is what takes the time, the rate of the units is not.
    let is_computing = evaluation
        .roofline
        .is_some_and(|roofline| roofline.bound == Bound::Compute);
    let is_tf32 = measured.main.as_ref().is_some_and(|kernel| {
        spec.precision == Precision::Fp32
            && is_tf32_kernel(input.profile.trace.strings.get(kernel.name))
    });
    let precision = if is_tf32 {
        Precision::Tf32
    } else {
        spec.precision
    };
    let is_avoidable = is_wide && is_computing && !operation.is_complex(input.profile);
    (is_avoidable && over > 1.0).then(|| Fact::WideType {
        precision: precision.label(),
        rate_percent: (over * 100.0).round() as u64,
    })
}

/// Which strides make rows of operands or of the result misaligned, and other sizes that are not multiples either.
fn misaligned(odd: &[OddPitch], sizes: GemmSizes) -> Option<Fact> {
    let multiple = odd.first()?.multiple;
    let all = [("M", sizes.m), ("N", sizes.n), ("K", sizes.k)];
    let is_odd = |size: u64| size > 1 && !size.is_multiple_of(multiple);
    let mut found: Vec<(String, u64)> = Vec::new();
    for (name, size) in all.into_iter().filter(|(_, size)| is_odd(*size)) {
        found.push((name.to_owned(), size));
    }
    let apart = odd.iter().filter(|odd| odd.is_apart);
    found.extend(apart.map(|odd| (format!("pitch of {}", odd.of), odd.elements)));
    Some(Fact::Misaligned {
        sizes: found,
        multiple,
    })
}

fn of_kernel(
    input: &Input,
    operation: &Operation,
    evaluation: &Evaluation,
    measured: &Measured,
    kernel: &MainKernel,
) -> Vec<Fact> {
    let mut found = Vec::from_iter(old_generation(input, kernel));
    if kernel.is_fallback {
        found.push(Fact::Fallback);
    } else if kernel.is_on_vector_units {
        found.push(Fact::VectorUnits);
    }
    let name = input.profile.trace.strings.get(kernel.name);
    let tiled = Tiled::of(measured, operation.short_name(input.profile), name);
    let parts = match tiled.zip(kernel.tile) {
        Some((tiled, tile)) => {
            found.extend(tile.k.and_then(|k_tile| steps_along_k(tiled.k, k_tile)));
            found.extend(tile_reads(input, operation, evaluation, tiled, tile));
            tiled
                .workgroups(kernel, name, tile)
                .filter(|n| are_enough(input, operation, evaluation, measured, *n))
        }
        None => kernel.workgroups(),
    };
    // Workgroups and compute units, if too few of the former are known.
    let few = |workgroups: Option<u64>| {
        workgroups
            .zip(input.n_units())
            .filter(|(workgroups, units)| *workgroups as f64 <= f64::from(*units) * FEW_WORKGROUPS)
    };
    if let Some((workgroups, units)) = few(parts) {
        found.push(Fact::FewWorkgroups { workgroups, units });
    }
    let blocks = blocks_of_queries(measured, name).filter(|_| parts.is_none());
    if let Some((workgroups, units)) = few(blocks) {
        found.push(Fact::FewBlocks { workgroups, units });
    }
    found.extend(access_by_name(input, operation, measured, name));
    // The gradients of a convolution are separate kernels that only share their inputs.
    let is_one = !matches!(measured.sizes, Sizes::Convolution(_));
    if measured.n_main_kinds > 1 && is_one {
        found.push(Fact::SeveralKernels(measured.n_main_kinds));
    }
    let is_scalar = contains_any(name, &["elementwise_kernel", "unrolled_"]);
    if is_scalar && !name.contains("vectorized_")
        || name.contains("CatArrayBatchedCopy") && !contains_any(name, &["_aligned", "_vectorized"])
    {
        found.push(Fact::NotVectorized);
    }
    found
}

/// That a kernel was built for an older generation of NVIDIA's GPUs, which differ in their matrix instructions.
fn old_generation(input: &Input, kernel: &MainKernel) -> Option<Fact> {
    let gpu = input.gpu()?;
    let is_nvidia = gpu.vendor == Some(Vendor::Nvidia);
    let gpu = Generation::of_gpu(gpu.compute?)?;
    let built_for = kernel
        .generation
        .filter(|_| is_nvidia && !kernel.is_on_vector_units)?;
    (!built_for.suits(gpu)).then(|| Fact::OldGeneration {
        kernel: built_for.label(),
        gpu: gpu.label(),
    })
}

/// What the name of a kernel says about how it reads and writes, and what it computes for each element.
fn access_by_name(
    input: &Input,
    operation: &Operation,
    measured: &Measured,
    name: &str,
) -> Vec<Fact> {
    let mut found = Vec::new();
    if LoopKind::of(name) == LoopKind::Reduction {
        found.push(Fact::RowLoop);
    }
    // Implicit GEMMs, and attention over paged caches, index their operands as well; they do not move rows.
    if !matches!(measured.sizes, Sizes::Other) {
        return found;
    }
    // A selection gathers what it found; its time is that of reading rows.
    let is_selection = holds(name, &["gathertopk", "gatherkth", "gathermedian"]);
    if !is_selection && holds(name, &["gather", "index", "embedding", "scatter"]) {
        let kind = OtherKind::of(operation.short_name(input.profile), operation.family);
        found.push(match kind == OtherKind::Scatter {
            true => Fact::Scatter,
            false => Fact::Gather,
        });
    }
    if holds(name, TRANSCENDENTAL) {
        found.push(Fact::Transcendental);
    }
    found
}

/// The number of workgroups of an attention kernel whose tile is unknown: at most that of the smallest blocks of
/// queries that kernels usually use; `None` if keys may be split as well.
fn blocks_of_queries(measured: &Measured, name: &str) -> Option<u64> {
    let Sizes::Attention(sizes) = &measured.sizes else {
        return None;
    };
    let has_tile = attention::tile(name).is_some();
    (sizes.n_packed.is_none() && !splits_keys(name) && !has_tile)
        .then(|| sizes.blocks(BLOCK_OF_QUERIES))
}

/// Tiles that read operands faster than the memory could, which means that the kernel is limited by caches.
fn tile_reads(
    input: &Input,
    operation: &Operation,
    evaluation: &Evaluation,
    tiled: Tiled,
    tile: Tile,
) -> Option<Fact> {
    let in_16_bytes = evaluation.work?.compute?.precision.in_16_bytes();
    let bytes = tiled.read_bytes(tile, 16.0 / in_16_bytes as f64);
    let call_s = operation.kernel_ns as f64 / operation.calls.len() as f64 / 1e9;
    let percent = bytes / call_s / (input.gpu()?.mem_bw_gbps * 1e9) * 100.0;
    (percent >= 100.0).then_some(Fact::TileReads {
        tile: tile.output,
        percent: percent as u64,
    })
}

/// The cost of few steps along K.
fn steps_along_k(k: u64, tile: u64) -> Option<Fact> {
    let steps = k.div_ceil(tile);
    let few = (steps <= FEW_K_STEPS).then_some(Fact::FewKSteps { k, tile });
    few.or((steps <= SHORT_K_STEPS).then_some(Fact::ShortK { k, tile }))
}

fn of_convolution(shape: &ConvolutionShape) -> Vec<Fact> {
    let mut found = Vec::new();
    let channels = shape.group_channels();
    if shape.is_depthwise() {
        found.push(Fact::Depthwise);
    } else {
        if channels <= FEW_CHANNELS {
            found.push(Fact::FewChannels(channels));
        }
        if shape.groups > 1 {
            found.push(Fact::Grouped(shape.groups));
        }
    }
    if shape.is_asymmetric() {
        found.push(Fact::Asymmetric(shape.kernel_text()));
    } else if shape.kind() == ConvolutionKind::Large {
        found.push(Fact::LargeKernel(shape.kernel_text()));
    }
    if shape.dilation.iter().any(|dilation| *dilation > 1) {
        let dilation: Vec<String> = shape.dilation.iter().map(u64::to_string).collect();
        found.push(Fact::Dilated(dilation.join("×")));
    }
    if shape.positions() <= FEW_POSITIONS {
        found.push(Fact::SmallImage(shape.positions()));
    }
    if shape.is_channels_last == Some(false) {
        found.push(Fact::ChannelsFirst);
    }
    found
}

/// The rows of the largest operand: elements and bytes.
fn row_of(tensors: &[Tensor]) -> Option<(i64, f64)> {
    let largest = tensors.iter().max_by(|a, b| a.n().total_cmp(&b.n()))?;
    let row = *largest.shape.last().filter(|_| largest.shape.len() > 1)?;
    let bytes = row as f64 * element_bytes(largest.dtype)?;
    (row > 1).then_some((row, bytes))
}

/// Whether neighbors along the last dimension are not adjacent in memory.
fn is_strided(tensor: &Tensor) -> bool {
    let last = tensor
        .shape
        .last()
        .zip(tensor.strides.and_then(<[i64]>::last));
    last.is_some_and(|(size, stride)| *size > 1 && *stride > 1)
}
