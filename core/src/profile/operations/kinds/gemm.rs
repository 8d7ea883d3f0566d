//! GEMMs: their sizes, and what is known from their kernels.

use crate::base::format;
use crate::base::interval::sum;
use crate::hardware::Precision;
use crate::names::gemm::{
    is_by_columns, is_layout_change, is_narrow_tensile, is_of_tensile, is_split, is_split_sum,
};
use crate::names::is_adapter;
use crate::names::tile::Tile;
pub(crate) use crate::perf::GemmSizes;
use crate::perf::{ComputeSpec, Modeled, Work};
use crate::profile::Profile;
use crate::profile::launch::launch_size;
use crate::profile::operations::Operation;
use crate::trace::StringId;

impl GemmSizes {
    /// Sizes from the parameters of the perf model or from what it knows otherwise; `None` if it has neither.
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Option<GemmSizes> {
        GemmSizes::of_params(operation).or_else(|| operation.first()?.binding?.gemm_sizes(profile))
    }

    /// Sizes from the parameters of the perf model.
    pub(crate) fn of_params(operation: &Operation) -> Option<GemmSizes> {
        GemmSizes::of_modeled(operation.known()?)
    }

    pub(crate) fn of_modeled(modeled: &Modeled) -> Option<GemmSizes> {
        let size = |name| modeled.size_of(name);
        Some(GemmSizes {
            batch: size("B").unwrap_or(1),
            m: size("M")?,
            n: size("N")?,
            k: size("K")?,
            is_grouped: false,
        })
    }

    /// Each entry of the batch has its own matrix, so there are no shared weights.
    pub(crate) fn is_batched(self) -> bool {
        self.batch > 1 && !self.is_grouped
    }

    /// Whether most of the memory traffic is its result.
    pub(crate) fn writes_most(self) -> bool {
        let (m, n, k) = (self.m as f64, self.n as f64, self.k as f64);
        m * n > (m + n) * k
    }

    /// "37 632 of 8×64×8".
    pub(crate) fn text(self) -> String {
        let GemmSizes { batch, m, n, k, .. } = self;
        match batch {
            1 => format!("{m}×{n}×{k}"),
            _ if self.is_grouped => format!("{} groups of {m}×{n}×{k}", format::count(batch)),
            _ => format!("{} of {m}×{n}×{k}", format::count(batch)),
        }
    }

    /// Number of output tiles. The first tile size is along N if C is column-major.
    pub(crate) fn tiles(self, (first, second): (u64, u64), is_by_columns: bool) -> u64 {
        let (along_first, along_second) = match is_by_columns {
            true => (self.n, self.m),
            false => (self.m, self.n),
        };
        let tiles = along_first
            .div_ceil(first)
            .saturating_mul(along_second.div_ceil(second));
        tiles.saturating_mul(self.batch)
    }
}

/// Whether all kernels of an operation run low-rank adapters beside the GEMMs of the model.
pub(crate) fn is_of_adapter(profile: &Profile, operation: &Operation) -> bool {
    let kernels = operation.kernels(profile);
    let of_adapter =
        |(name, ..): &(StringId, u64, i64)| is_adapter(profile.trace.strings.get(*name));
    !kernels.is_empty() && kernels.iter().all(of_adapter)
}

/// Bytes per activation element, by the precision that a GEMM computes in.
pub(crate) fn activation_bytes(compute: ComputeSpec) -> f64 {
    match compute.precision {
        Precision::Fp32 | Precision::Tf32 => 4.0,
        Precision::Fp8 | Precision::Int8 => 1.0,
        _ => 2.0,
    }
}

/// The part of the bytes of a GEMM or an expert GEMM that is weights; `None` if its sizes are unknown.
pub(crate) fn weight_bytes(operation: &Operation, work: Work) -> Option<f64> {
    let bytes = work.bytes?;
    let sizes = GemmSizes::of_params(operation)?;
    let chosen = operation.known()?.size_of("topk");
    let [batch, m, n, k] = [sizes.batch, sizes.m, sizes.n, sizes.k].map(|size| size as f64);
    let n = n * chosen.unwrap_or(1) as f64;
    let activations = batch * m * (n + k) * activation_bytes(work.compute?);
    Some((bytes - activations).max(0.0))
}

/// A row or column pitch that is not a multiple of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct OddPitch {
    /// Which size it is, such as "N"; the operand if its rows are padded.
    pub(crate) of: &'static str,
    pub(crate) elements: u64,
    /// The number of elements that it should be a multiple of.
    pub(crate) multiple: u64,
    /// Rows are padded: their pitch is larger than their length.
    pub(crate) is_apart: bool,
}

/// Rows or columns that do not start 16-byte aligned, those of the result first.
pub(crate) fn odd_pitches(
    operation: &Operation,
    sizes: GemmSizes,
    spec: ComputeSpec,
) -> Vec<OddPitch> {
    let multiple = spec.precision.in_16_bytes();
    let GemmSizes { m, n, k, .. } = sizes;
    // For an operand of rows × columns: the contiguous dimension, and the pitch.
    let contiguous = |stride: &str, rows: (&'static str, u64), columns: (&'static str, u64)| {
        let modeled = operation.known();
        match modeled.and_then(|modeled| last_two(modeled.param(stride)?.sizes()?)) {
            // A single row has no pitch.
            _ if rows.1 == 1 && columns.1 == 1 => None,
            Some((1, distance)) if distance != 1 => Some((rows, distance)),
            Some((distance, _)) if rows.1 > 1 => Some((columns, distance)),
            _ => Some((columns, columns.1)),
        }
    };
    let a = contiguous("stride_A", ("M", m), ("K", k)).map(|found| ("A", found));
    let b = contiguous("stride_B", ("K", k), ("N", n)).map(|found| ("B", found));
    let c = Some(("C", (("N", n), n)));
    let mut found: Vec<OddPitch> = Vec::new();
    for (operand, ((name, size), distance)) in [c, b, a].into_iter().flatten() {
        // A vector has no rows to align.
        if size == 1 {
            continue;
        }
        let is_odd = distance % multiple != 0;
        let is_apart = distance != size;
        let of = if is_apart { operand } else { name };
        if is_odd && !found.iter().any(|known| known.of == of) {
            found.push(OddPitch {
                of,
                elements: distance,
                multiple,
                is_apart,
            });
        }
    }
    found
}

fn last_two(strides: &[i64]) -> Option<(u64, u64)> {
    let [.., first, second] = strides else {
        return None;
    };
    let strides = (u64::try_from(*first).ok()?, u64::try_from(*second).ok()?);
    // A placeholder, or the strides of a vector, which has no rows.
    Some(strides).filter(|strides| *strides != (1, 1))
}

/// What is known from the names and launches of the kernels of a GEMM.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct GemmKernels {
    /// The output tile of the longest kernel that has it in its name.
    pub(crate) tile: Option<(u64, u64)>,
    /// Number of output tiles.
    pub(crate) n_tiles: Option<u64>,
    /// Number of parts that run in parallel: tiles, or more if the number of workgroups is known.
    pub(crate) n_parts: Option<u64>,
    /// Split along K, by the name of a kernel or because there are at least twice as many workgroups as tiles.
    pub(crate) is_split: bool,
    /// A kernel computes in 8 bits or fewer.
    pub(crate) is_narrow: bool,
    /// Time in kernels that change a layout.
    pub(crate) layout_ns: i64,
    /// Time in kernels that add up the partial results of a split-K GEMM.
    pub(crate) split_ns: i64,
}

impl GemmKernels {
    pub(crate) fn of(
        profile: &Profile,
        operation: &Operation,
        sizes: Option<GemmSizes>,
    ) -> GemmKernels {
        let strings = &profile.trace.strings;
        let op = operation.short_name(profile);
        let kernels = operation.kernels(profile).into_iter();
        let kernels: Vec<(&str, i64)> = kernels
            .map(|(kernel, _, ns)| (strings.get(kernel), ns))
            .collect();
        let is_any = |is_it: fn(&str) -> bool| kernels.iter().any(|(kernel, _)| is_it(kernel));
        let time_of = |is_it: fn(&str) -> bool| {
            let such = kernels.iter().filter(|(kernel, _)| is_it(kernel));
            sum(such.map(|(_, ns)| *ns))
        };
        let mut tiles = kernels
            .iter()
            .filter_map(|(kernel, _)| Some((Tile::of(kernel)?.output, is_by_columns(op, kernel))));
        let tiled = tiles.next();
        let n_tiles = sizes
            .zip(tiled)
            .map(|(sizes, (tile, is_by_columns))| sizes.tiles(tile, is_by_columns));
        let workgroups = workgroups(profile, operation);
        let has_parts = n_tiles
            .zip(workgroups)
            .is_some_and(|(tiles, workgroups)| workgroups >= tiles.saturating_mul(2));
        GemmKernels {
            tile: tiled.map(|(tile, _)| tile),
            n_tiles,
            n_parts: n_tiles.map(|tiles| tiles.max(workgroups.unwrap_or(0))),
            is_split: is_any(is_split) || has_parts,
            is_narrow: is_any(is_narrow_tensile),
            layout_ns: time_of(is_layout_change),
            split_ns: time_of(is_split_sum),
        }
    }

    /// Number of tiles in the last wave over the compute units, and number of waves; `None` if the tiles are unknown or
    /// the GEMM is split along K.
    pub(crate) fn last_wave(&self, n_units: u32) -> Option<(u64, u64)> {
        let tiles = self.n_tiles.filter(|tiles| *tiles > 0 && !self.is_split)?;
        let n_units = u64::from(n_units);
        let waves = tiles.div_ceil(n_units);
        Some((tiles - (waves - 1) * n_units, waves))
    }
}

/// Number of workgroups of the longest Tensile kernel, if its launch size was recorded. Other libraries round it up or
/// launch one workgroup per compute unit.
fn workgroups(profile: &Profile, operation: &Operation) -> Option<u64> {
    let trace = &profile.trace;
    let name = |event| trace.name(event);
    let work = operation.activity(profile);
    let of_tensile = work.filter(|work| is_of_tensile(trace.strings.get(work.name)));
    let longest = of_tensile.max_by_key(|work| (work.span.length(), work.event))?;
    let (grid, block) = launch_size(trace, longest.event)?;
    let all = |sizes: [u64; 3]| sizes.into_iter().try_fold(1_u64, u64::checked_mul);
    let counts_threads = longest
        .launched_by
        .is_some_and(|call| name(call).contains("hipExtModuleLaunch"));
    match counts_threads {
        true => all(grid)?.checked_div(all(block)?),
        false => all(grid),
    }
}
