//! Factors on the roofline time of an operation, from its sizes and from how its kernel tiles them.

use super::{Cause, Detail};
use crate::assess::waterfall::fastest::FastestBySize;
use crate::assess::{Evaluation, Input};
use crate::hardware::roofline::{Bound, peak_tflops};
use crate::hardware::{Basis, ComputeSpec, Precision, Unit};
use crate::names::Family;
use crate::names::attention::{head_dimension, pads_head_dimension};
use crate::names::convolution::ConvolutionPass;
use crate::names::gemm::{is_by_columns, is_of_tensile};
use crate::names::tile::{Split, Tile};
use crate::names::words::holds;
use crate::profile::operations::Operation;
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::profile::operations::kinds::convolution::ConvolutionShape;
use crate::profile::operations::kinds::gemm::GemmSizes;
use crate::profile::operations::measured::{MainKernel, Measured, Sizes};

/// A kernel may exceed the figures of its GPU by a little.
const BEYOND: f64 = 1.1;

/// A factor on the roofline time of the arithmetic, or of the memory traffic.
pub(super) struct Factor {
    pub(super) cause: Cause,
    pub(super) of: Bound,
    pub(super) factor: f64,
    pub(super) detail: Detail,
}

/// The work of a kernel as a GEMM: `m` × `n` results, each a sum over `k`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Tiled {
    pub(super) batch: u64,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    /// Whether the first size of a tile is along N; `None` if unknown.
    is_by_columns: Option<bool>,
}

/// All known factors of an operation, in the order of [`Cause`].
pub(super) fn factors(
    input: &Input,
    at: usize,
    operation: &Operation,
    evaluation: &Evaluation,
    measured: &Measured,
) -> Vec<Factor> {
    let mut found = Vec::new();
    if let Some(kernel) = &measured.main {
        // The work of other main kernels is not padded by this one's tile.
        let share = measured.main_share;
        let name = input.profile.trace.strings.get(kernel.name);
        let mut of_compute = |cause, factor: f64, detail| {
            if factor > 1.0 {
                found.push(Factor {
                    cause,
                    of: Bound::Compute,
                    factor: 1.0 + (factor - 1.0) * share,
                    detail,
                });
            }
        };
        if let Some(factor) = slower_unit(input, evaluation, kernel) {
            of_compute(Cause::SlowerUnit, factor, Detail::None);
        }
        match &measured.sizes {
            Sizes::Attention(sizes) => {
                for (cause, factor, detail) in of_attention(input, sizes, kernel, name) {
                    of_compute(cause, factor, detail);
                }
            }
            _ if operation.family == Family::Moe => {
                if let Some((factor, detail)) = of_experts(operation, kernel) {
                    of_compute(Cause::PaddedDimension, factor, detail);
                }
            }
            _ => {
                let op = operation.short_name(input.profile);
                if let Some((tiled, tile)) = Tiled::of(measured, op, name).zip(kernel.tile) {
                    let (factor, detail) = tiled.padding(tile);
                    of_compute(Cause::TilePadding, factor, detail);
                    let waves = tiled
                        .workgroups(kernel, name, tile)
                        .filter(|n| are_enough(input, operation, evaluation, measured, *n));
                    let waves =
                        waves.and_then(|n| wave_factor(input, n, Some(tiled.n_tiles(tile))));
                    if let Some((factor, detail)) = waves {
                        of_compute(Cause::WaveQuantization, factor, detail);
                    }
                    let padded =
                        channels(measured, operation, evaluation).or_else(|| tiled.padded_k(tile));
                    if let Some((factor, detail)) = padded {
                        of_compute(Cause::PaddedDimension, factor, detail);
                    }
                }
            }
        }
    }
    found.extend(read_again(input, operation));
    found.extend(small_size(input, at, operation, evaluation));
    found
}

/// The gradients of layer and RMS norms in two kernels: one reads the input and the gradient of the result and writes
/// that of the input; the other reads both again for the gradients of scale and shift.
fn read_again(input: &Input, operation: &Operation) -> Option<Factor> {
    const NORMS: &[&str] = &["layer_norm", "layernorm", "rms_norm", "rmsnorm"];
    let sums_up = |kernel: &&str| holds(kernel, &["gammabetabackward", "gradgammabeta"]);
    let is_by_rows = holds(operation.short_name(input.profile), NORMS);
    let kernels = operation.kernel_names(input.profile);
    let has_both = kernels.iter().any(sums_up) && !kernels.iter().all(sums_up);
    (is_by_rows && has_both).then_some(Factor {
        cause: Cause::ReadAgain,
        of: Bound::Memory,
        factor: 5.0 / 3.0,
        detail: Detail::None,
    })
}

/// For work on vector units although matrix units support its type (possibly only as TF32, which then is its roofline):
/// the peak of the matrix units divided by that of the vector units.
fn slower_unit(input: &Input, evaluation: &Evaluation, kernel: &MainKernel) -> Option<f64> {
    let spec = evaluation.work?.compute?;
    let gpu = input.gpu()?;
    if spec.unit != Unit::Matrix || !kernel.is_on_vector_units {
        return None;
    }
    let precision = match spec.precision {
        Precision::Fp64 => Precision::Fp64,
        _ => Precision::Fp32,
    };
    let vector = ComputeSpec {
        unit: Unit::Vector,
        precision,
    };
    let basis = input.options.basis;
    let (best, _) = peak_tflops(spec, gpu, basis)?;
    let (used, _) = peak_tflops(vector, gpu, basis)?;
    Some(best / used)
}

impl Tiled {
    /// `None` for anything but GEMMs and convolutions.
    pub(super) fn of(measured: &Measured, op: &str, kernel: &str) -> Option<Tiled> {
        match &measured.sizes {
            Sizes::Gemm(GemmSizes { batch, m, n, k, .. }) => Some(Tiled {
                batch: *batch,
                m: *m,
                n: *n,
                k: *k,
                is_by_columns: is_by_columns(op, kernel).then_some(true),
            }),
            Sizes::Convolution(shape) => Some(Tiled::of_convolution(shape, kernel)),
            Sizes::Attention(_) | Sizes::Other => None,
        }
    }

    /// The implicit GEMM of a convolution: forward N·P·Q × C_out with sums over C_in·R·S, each group separately. The
    /// gradient of the input has the input positions as rows, that of the filter the channels.
    fn of_convolution(shape: &ConvolutionShape, kernel: &str) -> Tiled {
        let groups = shape.groups.max(1);
        let (c_in, c_out) = (shape.channels() / groups, shape.out_channels() / groups);
        let taps = shape.taps();
        let batch = shape.input.first().copied().unwrap_or(1);
        let read: u64 = shape.input.iter().skip(2).product();
        let (read, written) = (batch * read, batch.saturating_mul(shape.positions()));
        let [m, n, k] = match ConvolutionPass::of_kernel(kernel) {
            ConvolutionPass::Data => [read, c_in, c_out.saturating_mul(taps)],
            ConvolutionPass::Filter => [c_out, c_in.saturating_mul(taps), written],
            ConvolutionPass::Forward if shape.is_transposed => [written, c_out, c_in * taps],
            ConvolutionPass::Forward => [written, c_out, c_in.saturating_mul(taps)],
        };
        Tiled {
            batch: groups,
            m: m.max(1),
            n: n.max(1),
            k: k.max(1),
            is_by_columns: None,
        }
    }

    /// Tiles along M and along N.
    fn tiles(self, (first, second): (u64, u64)) -> ([u64; 2], f64) {
        let of = |along_m: u64, along_n: u64| {
            let tiles = [self.m.div_ceil(along_m), self.n.div_ceil(along_n)];
            let computed = (tiles[0] * along_m) as f64 * (tiles[1] * along_n) as f64;
            (tiles, computed / (self.m as f64 * self.n as f64))
        };
        let (rows, columns) = (of(first, second), of(second, first));
        match self.is_by_columns {
            Some(true) => columns,
            Some(false) => rows,
            None if columns.1 < rows.1 => columns,
            None => rows,
        }
    }

    /// The number of output tiles of the whole batch.
    pub(super) fn n_tiles(self, tile: Tile) -> u64 {
        let ([rows, columns], _) = self.tiles(tile.output);
        rows.saturating_mul(columns).saturating_mul(self.batch)
    }

    /// The bytes that all tiles read, mostly from caches: all of K for their rows and columns.
    pub(super) fn read_bytes(self, tile: Tile, element_bytes: f64) -> f64 {
        let (first, second) = tile.output;
        let each = (first + second) as f64 * self.k as f64 * element_bytes;
        self.n_tiles(tile) as f64 * each
    }

    fn padding(self, tile: Tile) -> (f64, Detail) {
        let (_, factor) = self.tiles(tile.output);
        let detail = Detail::Tile {
            result: (self.m, self.n),
            tile: tile.output,
        };
        (factor, detail)
    }

    /// The number of workgroups to distribute; `None` if their number is unknown, or if all units are busy to the end.
    pub(super) fn workgroups(self, kernel: &MainKernel, name: &str, tile: Tile) -> Option<u64> {
        let tiles = self.n_tiles(tile);
        // Kernels other than Tensile's round their number up, or use as many as there are units. The gradient of a
        // filter has few tiles and a long K, which its launch splits.
        let is_of_filter = ConvolutionPass::of_kernel(name) == ConvolutionPass::Filter;
        let launched = kernel
            .workgroups()
            .filter(|_| is_of_tensile(name) || is_of_filter);
        let split = match kernel.split {
            Split::None => 1,
            Split::Parts(parts) => parts,
            Split::Unknown => kernel.launch.map(|(grid, _)| grid[2]).filter(|z| *z > 1)?,
            Split::Stream => return None,
        };
        let parts = tiles.saturating_mul(split);
        let split_by_launch = launched.filter(|launched| *launched >= parts.saturating_mul(2));
        Some(split_by_launch.unwrap_or(parts)).filter(|parts| *parts > 0)
    }

    /// Steps along K; the last one may be partly filled.
    fn padded_k(self, tile: Tile) -> Option<(f64, Detail)> {
        let padded = self.k.next_multiple_of(tile.k?);
        let detail = Detail::Padded {
            dimension: "K",
            size: self.k,
            padded,
        };
        Some((padded as f64 / self.k as f64, detail))
    }
}

/// The tokens of each expert are padded to the rows of a tile. How many an expert got is unknown: the mean is taken.
fn of_experts(operation: &Operation, kernel: &MainKernel) -> Option<(f64, Detail)> {
    let known = operation.known()?;
    let size = |wanted: &str| known.param(wanted)?.size();
    let [tokens, chosen, experts] = [size("M")?, size("topk")?, size("E")?];
    let size = tokens
        .saturating_mul(chosen)
        .div_ceil(experts.max(1))
        .max(1);
    let padded = size.next_multiple_of(kernel.tile?.output.0);
    let detail = Detail::Padded {
        dimension: "tokens of an expert",
        size,
        padded,
    };
    Some((padded as f64 / size as f64, detail))
}

/// Few channels of a convolution are padded to 16 bytes, unless it is faster than that would be.
fn channels(
    measured: &Measured,
    operation: &Operation,
    evaluation: &Evaluation,
) -> Option<(f64, Detail)> {
    let Sizes::Convolution(shape) = &measured.sizes else {
        return None;
    };
    let in_16_bytes = evaluation.work?.compute?.precision.in_16_bytes();
    let size = shape.group_channels().max(1);
    let padded = size.next_multiple_of(in_16_bytes);
    let detail = Detail::Padded {
        dimension: "C_in",
        size,
        padded,
    };
    let factor = padded as f64 / size as f64;
    let call_us = operation.kernel_ns as f64 / 1e3 / operation.calls.len().max(1) as f64;
    let padded_us = evaluation.roofline?.compute_us? * factor;
    let is_padded = size < in_16_bytes && !shape.is_depthwise() && padded_us <= call_us * BEYOND;
    is_padded.then_some((factor, detail))
}

/// Whether this many workgroups, each on one compute unit, can do the work of the main kernel in its time. Where they
/// cannot, it runs more than its name and sizes tell.
pub(super) fn are_enough(
    input: &Input,
    operation: &Operation,
    evaluation: &Evaluation,
    measured: &Measured,
    workgroups: u64,
) -> bool {
    let least_us = || {
        let work = evaluation.work?;
        let (tflops, _) = peak_tflops(work.compute?, input.gpu()?, Basis::Peak)?;
        let share = workgroups as f64 / f64::from(input.n_units()?);
        // The gradients of a convolution are kernels with as many FLOPs each.
        let n_kernels = match &measured.sizes {
            Sizes::Convolution(_) => measured.n_main_kinds.max(1),
            _ => 1,
        };
        Some(work.flops / n_kernels as f64 / (tflops * 1e6 * share.min(1.0)))
    };
    let call_us = operation.kernel_ns as f64 / 1e3 / operation.calls.len().max(1) as f64;
    least_us().is_none_or(|least_us| least_us <= call_us * measured.main_share * BEYOND)
}

/// The time of all waves divided by the time of evenly distributed workgroups.
fn wave_factor(input: &Input, workgroups: u64, tiles: Option<u64>) -> Option<(f64, Detail)> {
    let units = input.n_units().filter(|units| *units > 0)?;
    let waves = workgroups.div_ceil(u64::from(units));
    let factor = waves as f64 * f64::from(units) / workgroups as f64;
    Some((
        factor,
        Detail::Waves {
            tiles,
            workgroups,
            units,
        },
    ))
}

/// Queries and keys are padded to tiles, blocks of queries are distributed over the units, and the head dimension is
/// padded to the sizes that the kernel is built for.
fn of_attention(
    input: &Input,
    sizes: &AttentionSizes,
    kernel: &MainKernel,
    name: &str,
) -> Vec<(Cause, f64, Detail)> {
    let mut found = Vec::new();
    let (queries, keys) = (
        sizes.queries().max(1.0) as u64,
        sizes.keys().max(1.0) as u64,
    );
    let tile = crate::names::attention::tile(name);
    if let Some((along_q, along_kv)) = tile {
        let padded = |size: u64, tile: u64| size.next_multiple_of(tile) as f64 / size as f64;
        let factor = padded(queries, along_q) * padded(keys, along_kv);
        let detail = Detail::Tile {
            result: (queries, keys),
            tile: (along_q, along_kv),
        };
        found.push((Cause::TilePadding, factor, detail));
    }
    let workgroups = kernel
        .workgroups()
        .or(tile.map(|(along_q, _)| sizes.blocks(along_q)));
    if let Some((factor, detail)) = workgroups.and_then(|n| wave_factor(input, n, None)) {
        found.push((Cause::WaveQuantization, factor, detail));
    }
    let head = sizes.d_qk.max(1);
    let built_for = head_dimension(name)
        .or_else(|| pads_head_dimension(name).then(|| head.next_power_of_two()));
    if let Some(padded) = built_for.filter(|padded| *padded > head) {
        let detail = Detail::Padded {
            dimension: "head dimension",
            size: head,
            padded,
        };
        found.push((Cause::PaddedDimension, padded as f64 / head as f64, detail));
    }
    found
}

/// Memory-bound work of a size at which no other operation of this trace is faster.
fn small_size(
    input: &Input,
    at: usize,
    operation: &Operation,
    evaluation: &Evaluation,
) -> Option<Factor> {
    /// Beyond the variation of times.
    const CLEARLY: f64 = 1.1;
    let roofline = evaluation
        .roofline
        .filter(|roofline| roofline.bound == Bound::Memory)?;
    let bytes = evaluation.work?.bytes?;
    let gpu_bandwidth = input.gpu()?.mem_bw_gbps * 1e9;
    let all = FastestBySize::of(input.profile);
    let best = all.best(bytes, at)?;
    let own = bytes / (operation.kernel_ns as f64 / operation.calls.len() as f64 / 1e9);
    // Calls of the same operator with other shapes are as slow for the same reasons, unless they are clearly faster.
    let is_same = input.operation(best.operation).key.name == operation.key.name;
    let least = if is_same { own * CLEARLY } else { own };
    // Anything faster than the memory is read from a cache; a slower operation is not a reference.
    let best = best.bytes_per_s.min(gpu_bandwidth);
    (best > least && roofline.time_us > 0.0).then(|| Factor {
        cause: Cause::SmallSize,
        of: Bound::Memory,
        factor: gpu_bandwidth / best,
        detail: Detail::Bandwidth {
            percent: best / gpu_bandwidth * 100.0,
            least_ns: (bytes / best * 1e9).round() as i64,
        },
    })
}
