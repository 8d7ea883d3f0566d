//! Hardware profiles: what a GPU can do, and which GPU a trace was recorded on.
//!
//! Peak and achievable figures are kept separate and never mixed silently: half of a measured 708 TFLOPS and half of a
//! printed 989 TFLOPS are not the same achievement. Wherever a percentage is shown, the [`Basis`] of its figure is
//! shown too.

mod detect;
mod file;
pub mod roofline;
mod table;
mod work;

pub use detect::{by_name as of_name, candidates, detect};
pub(crate) use detect::{completed, part_of_a_gpu, vendor_of};
pub use file::{MAX_FILE_BYTES, parse};
pub use table::GPUS;
pub use work::{ComputeSpec, Unit, Work};

use std::borrow::Cow;
use std::sync::Arc;

use crate::base::labels::labeled;

labeled! {
    /// The maker of a GPU.
    pub enum Vendor {
        /// NVIDIA.
        Nvidia => "NVIDIA",
        /// AMD.
        Amd => "AMD",
        /// Intel.
        Intel => "Intel",
    }
}

labeled! {
    /// A number format of the arithmetic units, the widest first.
    pub enum Precision {
        /// IEEE double.
        Fp64 => "FP64",
        /// IEEE single.
        Fp32 => "FP32",
        /// Single with a 10-bit mantissa; matrix units only.
        Tf32 => "TF32",
        /// IEEE half.
        Fp16 => "FP16",
        /// bfloat16.
        Bf16 => "BF16",
        /// 8-bit floats.
        Fp8 => "FP8",
        /// 6-bit floats.
        Fp6 => "FP6",
        /// 4-bit floats.
        Fp4 => "FP4",
        /// 8-bit integers.
        Int8 => "INT8",
    }
}

impl Precision {
    /// Elements in 16 bytes, the alignment of operands.
    pub(crate) fn in_16_bytes(self) -> u64 {
        match self {
            Precision::Fp64 => 2,
            Precision::Fp32 | Precision::Tf32 => 4,
            Precision::Fp16 | Precision::Bf16 => 8,
            Precision::Fp8 | Precision::Int8 => 16,
            Precision::Fp6 | Precision::Fp4 => 32,
        }
    }

    /// Its name in files: "bf16".
    pub fn key(self) -> String {
        self.label().to_ascii_lowercase()
    }

    /// The precision with this name in files.
    pub(crate) fn of_key(key: &str) -> Option<Precision> {
        Precision::ALL.into_iter().find(|known| known.key() == key)
    }

    /// The keys of all of them, for a sentence.
    pub fn keys() -> String {
        Precision::ALL.map(Precision::key).join(", ")
    }
}

labeled! {
    /// What a figure means.
    #[derive(Default, serde::Serialize, serde::Deserialize)]
    pub enum Basis {
        /// Units × clock: never reached.
        Peak => "peak",
        /// The best that a tuned library was measured to reach.
        #[default]
        Achievable => "achievable",
    }
}

impl Basis {
    /// The basis to fall back to if there is no figure on this one.
    pub fn other(self) -> Basis {
        match self {
            Basis::Peak => Basis::Achievable,
            Basis::Achievable => Basis::Peak,
        }
    }
}

labeled! {
    /// How far to trust a figure.
    pub enum Confidence {
        /// Printed by the vendor, or exactly half of a printed sparse figure.
        Vendor => "vendor figure",
        /// Derived from the vendor's architecture papers, or differing between them.
        Derived => "derived figure",
        /// Measured or printed by a third party.
        ThirdParty => "third-party figure",
        /// Given by the user.
        User => "user's figure",
    }
}

/// Text of the built-in table, or of a user's file.
pub type Text = Cow<'static, str>;

/// Dense arithmetic rates of one unit from one source, in TFLOPS (integers: TOPS). A precision that is not listed is
/// unsupported or unknown.
#[derive(Debug, Clone, PartialEq)]
pub struct Rates {
    /// Matrix units (tensor cores, matrix cores), or vector units.
    pub unit: Unit,
    /// At their peak, or as measured.
    pub basis: Basis,
    /// One entry per precision.
    pub tflops: Vec<(Precision, f64)>,
    /// Their source.
    pub source: Text,
    /// How far to trust them.
    pub confidence: Confidence,
}

/// One arithmetic rate with its basis and source.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Dense TFLOPS (TOPS for integers).
    pub tflops: f64,
    /// Peak or achievable.
    pub basis: Basis,
    /// Its source.
    pub source: Text,
    /// How far to trust it.
    pub confidence: Confidence,
}

/// A GPU as PyTorch sees one device: a row of the table, or a user's own profile.
#[derive(Debug, Clone, PartialEq)]
pub struct GpuSpec {
    /// What `--gpu` takes: "MI300X".
    pub id: Text,
    /// For people: "AMD Instinct MI300X".
    pub name: Text,
    /// Who makes it; `None` if a user does not say.
    pub vendor: Option<Vendor>,
    /// Device names that mean this GPU. A pattern matches if all its words are in the name.
    pub patterns: &'static [&'static str],
    /// Streaming multiprocessors or compute units; `None` if the vendor does not publish it.
    pub n_sms: Option<u32>,
    /// Compute capability, or the first two parts of the gfx version; `None` if it has neither.
    pub compute: Option<(u32, u32)>,
    /// Memory, as in the product's name.
    pub memory_gb: Option<f64>,
    /// Memory bandwidth, GB/s.
    pub mem_bw_gbps: f64,
    /// Whether the bandwidth is a peak or achievable.
    pub mem_bw_basis: Basis,
    /// Bandwidth of the links to other GPUs, both directions combined, GB/s.
    pub link_gbps: Option<f64>,
    /// The number of other GPUs that each have a fixed part of these links; `None` if a switch lets one use them all.
    pub n_peers: Option<u32>,
    /// Source of the memory, bandwidth and link figures.
    pub source: Text,
    /// How far to trust them.
    pub confidence: Confidence,
    /// At most one entry per unit and basis.
    pub rates: Vec<Rates>,
}

/// What the links of a GPU to others in its host carry in one direction, in GB/s.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Links {
    gbps: f64,
    n_peers: Option<u32>,
}

impl Links {
    /// All of them together.
    pub fn gbps(self) -> f64 {
        self.gbps
    }

    /// Those that a group of so many ranks uses; all of them if the size is unknown.
    pub(crate) fn gbps_among(self, n_ranks: Option<f64>) -> f64 {
        let peers = self.n_peers.map(f64::from).zip(n_ranks);
        let used = peers.map(|(all, ranks)| (ranks - 1.0) / all);
        self.gbps
            * used
                .filter(|used| *used > 0.0)
                .map_or(1.0, |used| used.min(1.0))
    }
}

impl GpuSpec {
    /// The listed rate of the matrix units; `None` if the GPU has no such mode or no such figure.
    pub fn matrix(&self, precision: Precision, basis: Basis) -> Option<Figure> {
        self.listed(Unit::Matrix, precision, basis)
    }

    fn listed(&self, unit: Unit, precision: Precision, basis: Basis) -> Option<Figure> {
        let mut all = self.rates.iter();
        let rates = all.find(|rates| rates.unit == unit && rates.basis == basis)?;
        let (_, tflops) = rates.tflops.iter().find(|(known, _)| *known == precision)?;
        Some(Figure {
            tflops: *tflops,
            basis,
            source: rates.source.clone(),
            confidence: rates.confidence,
        })
    }

    /// The rate to compare GEMMs with: on this basis if known, else on the other.
    ///
    /// AMD's matrix units support FP32 GEMMs. NVIDIA's compute them as TF32 if the program allows it: that is the
    /// roofline, because a trace does not show whether it does. Without either mode, and in FP64 without a matrix mode,
    /// the vector units do them.
    pub fn matrix_rate(&self, precision: Precision, basis: Basis) -> Option<Figure> {
        let own = self.either(Unit::Matrix, precision, basis);
        own.or_else(|| match precision {
            Precision::Fp32 => self
                .either(Unit::Matrix, Precision::Tf32, basis)
                .or_else(|| self.vector_rate(precision, basis)),
            Precision::Fp64 => self.vector_rate(precision, basis),
            _ => None,
        })
    }

    /// Its links to others; `None` if it has none, or if they are unknown.
    pub fn links(&self) -> Option<Links> {
        // The figure is the sum of both directions.
        let gbps = self.link_gbps.filter(|gbps| *gbps > 0.0)? / 2.0;
        let n_peers = self.n_peers;
        Some(Links { gbps, n_peers })
    }

    /// How many times the rate of matrix units in one type is that in another. Where only one basis of the latter is
    /// known, both are on that: a peak is no measure for what is achievable.
    pub(crate) fn times_the_rate(&self, of: Precision, to: Precision, basis: Basis) -> Option<f64> {
        let to = self.matrix_rate(to, basis)?;
        Some(self.matrix_rate(of, to.basis)?.tflops / to.tflops)
    }

    /// The rate to compare all other work with: on this basis if known, else on the other.
    ///
    /// FP16 and BF16 without a figure of their own count as FP32: PyTorch's element-wise kernels convert to FP32 to
    /// compute.
    pub fn vector_rate(&self, precision: Precision, basis: Basis) -> Option<Figure> {
        let own = self.either(Unit::Vector, precision, basis);
        own.or_else(|| match precision {
            Precision::Fp16 | Precision::Bf16 => self.either(Unit::Vector, Precision::Fp32, basis),
            _ => None,
        })
    }

    /// FLOPs per byte above which GEMMs in BF16 are compute-bound, not memory-bound.
    pub(crate) fn ridge_flops_per_byte(&self, basis: Basis) -> Option<f64> {
        let figure = self.matrix_rate(Precision::Bf16, basis)?;
        Some(figure.tflops * 1e3 / self.mem_bw_gbps)
    }

    fn either(&self, unit: Unit, precision: Precision, basis: Basis) -> Option<Figure> {
        let other = || self.listed(unit, precision, basis.other());
        self.listed(unit, precision, basis).or_else(other)
    }
}

/// Lets a row of the table be stored like a user's own profile.
impl From<&GpuSpec> for Arc<GpuSpec> {
    fn from(gpu: &GpuSpec) -> Arc<GpuSpec> {
        Arc::new(gpu.clone())
    }
}

/// The profile for a name that a user typed: an id or a full name; case and punctuation do not matter.
pub fn find(name: &str) -> Option<&'static GpuSpec> {
    let letters = |text: &str| -> String {
        text.chars()
            .filter(char::is_ascii_alphanumeric)
            .map(|letter| letter.to_ascii_lowercase())
            .collect()
    };
    let wanted = letters(name);
    let mut gpus = GPUS.iter();
    gpus.find(|gpu| wanted == letters(&gpu.id) || wanted == letters(&gpu.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_as_people_type_them() {
        let cases = [
            ("MI300X", Some("MI300X")),
            ("mi300x", Some("MI300X")),
            ("h100-pcie", Some("H100-PCIe")),
            ("H100 PCIe", Some("H100-PCIe")),
            ("AMD Instinct MI325X", Some("MI325X")),
            ("MI300", None),
            ("", None),
        ];
        for (name, id) in cases {
            assert_eq!(find(name).map(|gpu| &*gpu.id), id, "{name}");
        }
    }

    #[test]
    fn achievable_is_preferred_and_says_so() {
        let best = |gpu, precision| {
            let figure = find(gpu)?.matrix_rate(precision, Basis::Achievable)?;
            Some((figure.tflops, figure.basis))
        };
        let achievable = Some((708.0, Basis::Achievable));
        assert_eq!(best("MI300X", Precision::Bf16), achievable);
        let peak = find("MI300X").unwrap().matrix(Precision::Bf16, Basis::Peak);
        assert_eq!(peak.map(|peak| peak.tflops), Some(1307.4));
        let h100 = find("H100").unwrap();
        assert_eq!(best("H100", Precision::Bf16), Some((989.4, Basis::Peak)));
        assert_eq!(h100.matrix(Precision::Bf16, Basis::Achievable), None);
        assert_eq!(best("H100", Precision::Fp4), None);
    }

    #[test]
    fn half_precision_vectors_compute_in_single() {
        let h100 = find("H100").unwrap();
        let rate = |precision| h100.vector_rate(precision, Basis::Peak);
        assert_eq!(rate(Precision::Bf16), rate(Precision::Fp32));
        assert_eq!(rate(Precision::Int8), None);
    }

    #[test]
    fn products_in_single_and_double_precision_have_a_roof() {
        let rate = |gpu, precision| {
            let figure = find(gpu)?.matrix_rate(precision, Basis::Peak)?;
            Some(figure.tflops)
        };
        let cases = [
            ("MI300X", Precision::Fp32, Some(163.4)),
            ("H100", Precision::Fp32, Some(494.7)),
            ("T4", Precision::Fp32, Some(8.1)),
            ("B200", Precision::Fp32, Some(1100.0)),
            ("H100", Precision::Fp64, Some(67.0)),
            ("A10", Precision::Fp64, Some(0.98)),
            ("A10", Precision::Fp8, None),
        ];
        for (gpu, precision, tflops) in cases {
            assert_eq!(rate(gpu, precision), tflops, "{gpu} {precision:?}");
        }
    }

    #[test]
    fn the_ridge_of_mi300x() {
        // 708 TFLOPS over 5.3 TB/s.
        let ridge = find("MI300X")
            .unwrap()
            .ridge_flops_per_byte(Basis::Achievable);
        assert!(ridge.is_some_and(|ridge| (ridge - 133.58).abs() < 0.01));
    }
}
