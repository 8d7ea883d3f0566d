//! Sizes of products, and what they alone tell.

use crate::format;
use crate::gpu::Precision;
use crate::operations::Operation;
use crate::perf::{ComputeSpec, Unit};
use crate::report::Thresholds;

/// Sizes of one product: C (M × N) = A (M × K) · B (K × N), a batch of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Product {
    pub(super) batch: u64,
    pub(super) m: u64,
    pub(super) n: u64,
    pub(super) k: u64,
}

impl Product {
    /// From the parameters of the model; `None` for grouped products and what has none.
    pub(super) fn of(operation: &Operation) -> Option<Product> {
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
    pub(super) fn is_tiny_batched(self, thresholds: &Thresholds) -> bool {
        let sizes = [self.m, self.n, self.k].into_iter();
        let is_small = |size: &u64| *size as f64 <= thresholds.gemm_tiny_dim;
        self.batch as f64 >= thresholds.gemm_tiny_batch && sizes.filter(is_small).count() >= 2
    }

    pub(super) fn text(self) -> String {
        let Product { batch, m, n, k } = self;
        match batch {
            1 => format!("{m}×{n}×{k}"),
            _ => format!("{} of {m}×{n}×{k}", format::count(batch)),
        }
    }

    /// Output tiles of a kernel.
    pub(super) fn tiles(self, (rows, columns): (u64, u64)) -> u64 {
        let tiles = self
            .m
            .div_ceil(rows)
            .saturating_mul(self.n.div_ceil(columns));
        tiles.saturating_mul(self.batch)
    }
}

/// Whether the sizes along which memory is contiguous fill whole vectors: multiples of 16 bytes.
pub(super) fn is_aligned(operation: &Operation, product: Product, spec: ComputeSpec) -> bool {
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

/// Eight-bit and narrower products, by type or by name.
pub(super) fn is_quantised(name: &str, spec: Option<ComputeSpec>) -> bool {
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
