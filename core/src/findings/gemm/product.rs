//! Sizes of products, and what they alone tell.

use crate::assess::Thresholds;
use crate::base::format;
use crate::hardware::Precision;
use crate::perf::{ComputeSpec, Unit};
use crate::profile::Profile;
use crate::profile::operations::Operation;

/// Sizes of one product: C (M × N) = A (M × K) · B (K × N), a batch of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) batch: u64,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
    /// The batch is one of groups, each with weights of its own.
    pub(super) is_grouped: bool,
}

impl Product {
    /// From the parameters of the model, or from what it knows besides; `None` for what has neither.
    pub(super) fn of(profile: &Profile, operation: &Operation) -> Option<Product> {
        Product::of_params(operation).or_else(|| {
            let sizes = operation.first()?.binding?.product(profile)?;
            Some(Product {
                batch: sizes.batch,
                m: sizes.m,
                n: sizes.n,
                k: sizes.k,
                is_grouped: sizes.is_grouped,
            })
        })
    }

    /// From the parameters of the model.
    pub(super) fn of_params(operation: &Operation) -> Option<Product> {
        let modelled = operation.modelled.as_ref()?;
        let size = |wanted: &str| modelled.param(wanted)?.size();
        Some(Product {
            batch: size("B").unwrap_or(1),
            m: size("M")?,
            n: size("N")?,
            k: size("K")?,
            is_grouped: false,
        })
    }

    /// Very many matrices, two of whose sizes are small.
    pub(super) fn is_tiny_batched(self, thresholds: &Thresholds) -> bool {
        let sizes = [self.m, self.n, self.k].into_iter();
        let is_small = |size: &u64| *size as f64 <= thresholds.gemm_tiny_dim;
        !self.is_grouped
            && self.batch as f64 >= thresholds.gemm_tiny_batch
            && sizes.filter(is_small).count() >= 2
    }

    pub(super) fn text(self) -> String {
        let Product { batch, m, n, k, .. } = self;
        match batch {
            1 => format!("{m}×{n}×{k}"),
            _ if self.is_grouped => format!("{} groups of {m}×{n}×{k}", format::count(batch)),
            _ => format!("{} of {m}×{n}×{k}", format::count(batch)),
        }
    }

    /// Output tiles of a kernel; the first size of a tile lies along N where C is seen by columns.
    pub(super) fn tiles(self, (first, second): (u64, u64), is_by_columns: bool) -> u64 {
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

/// A distance along memory that is no multiple of 16 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct OddPitch {
    /// Which size it is: "N"; the operand where its rows lie further apart than they are long.
    pub(super) of: &'static str,
    /// Elements.
    pub(super) elements: u64,
    /// Of how many elements it should be a multiple.
    pub(super) multiple: u64,
    /// The rows lie further apart than they are long.
    pub(super) is_apart: bool,
}

/// Where rows or columns along memory do not begin at whole vectors of 16 bytes: the result first.
pub(super) fn odd_pitches(
    operation: &Operation,
    product: Product,
    spec: ComputeSpec,
) -> Vec<OddPitch> {
    let multiple = match spec.precision {
        Precision::Fp64 => 2,
        Precision::Fp32 | Precision::Tf32 => 4,
        Precision::Fp16 | Precision::Bf16 => 8,
        Precision::Fp8 | Precision::Int8 => 16,
        Precision::Fp6 | Precision::Fp4 => 32,
    };
    let Product { m, n, k, .. } = product;
    // Of an operand of rows × columns: the contiguous size, and the distance to the next.
    let contiguous = |stride: &str, rows: (&'static str, u64), columns: (&'static str, u64)| {
        let modelled = operation.modelled.as_ref();
        let strides = modelled.and_then(|modelled| last_two(modelled.param(stride)?.sizes()?));
        match strides {
            // Nothing lies behind a single row.
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
        // A vector has no rows to begin anywhere.
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

/// The last two of some strides.
fn last_two(strides: &[i64]) -> Option<(u64, u64)> {
    let [.., first, second] = strides else {
        return None;
    };
    Some((u64::try_from(*first).ok()?, u64::try_from(*second).ok()?))
}

/// Eight-bit and narrower products, by type or by name.
pub(super) fn is_quantised(name: &str, spec: Option<ComputeSpec>) -> bool {
    const WORDS: &[&str] = &[
        "w8a8", "int8", "fp8", "w4a16", "w4a4", "fp4", "int4", "4bit", "_int_mm", "gptq", "awq",
        "marlin",
    ];
    let name = name.to_ascii_lowercase();
    let is_narrow = spec.is_some_and(|spec| {
        use Precision::{Fp4, Fp8, Int8};
        spec.unit == Unit::Matrix && matches!(spec.precision, Fp8 | Fp4 | Int8)
    });
    is_narrow || WORDS.iter().any(|word| name.contains(word))
}
