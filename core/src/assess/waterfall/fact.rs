//! A cause without a factor, and its phrase.

use crate::base::format;

/// Attention kernels process at least this many queries at once, if there are that many.
pub(super) const BLOCK_OF_QUERIES: u64 = 64;

/// A cause without a factor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fact {
    /// Rows in memory that are not 16-byte aligned.
    Misaligned {
        /// Sizes and strides that are not multiples: "N", 1025.
        sizes: Vec<(String, u64)>,
        /// The number of elements that they should be a multiple of.
        multiple: u64,
    },
    /// Its kernel was built for an older generation of GPUs.
    OldGeneration {
        /// That generation.
        kernel: &'static str,
        /// That of the GPU.
        gpu: &'static str,
    },
    /// A fallback kernel, used if no tuned one fits.
    Fallback,
    /// A kernel on vector units.
    VectorUnits,
    /// Few steps along K.
    FewKSteps {
        /// The length of the sum for each element of the result.
        k: u64,
        /// How much of it the kernel processes in one step.
        tile: u64,
    },
    /// Several steps along K, but so few that filling the pipeline takes a part of the time.
    ShortK {
        /// The length of the sum for each element of the result.
        k: u64,
        /// How much of it the kernel processes in one step.
        tile: u64,
    },
    /// How fast tiles read the operands, mostly from caches.
    TileReads {
        /// The tile.
        tile: (u64, u64),
        /// That rate relative to the memory bandwidth, in percent.
        percent: u64,
    },
    /// Copies between the memories of CPU and GPU.
    OverLink,
    /// Rows that are short for one workgroup each: number of elements.
    ShortRows(i64),
    /// Kernels with several names that do its work one after another: how many.
    SeveralKernels(usize),
    /// Each element requires an exponential or the like.
    Transcendental,
    /// Fewer workgroups than compute units.
    FewWorkgroups {
        /// Workgroups.
        workgroups: u64,
        /// Compute units.
        units: u32,
    },
    /// Fewer workgroups of an attention kernel than compute units, even with small blocks of queries.
    FewBlocks {
        /// Workgroups.
        workgroups: u64,
        /// Compute units.
        units: u32,
    },
    /// The number of channels that a group of a convolution reads.
    FewChannels(u64),
    /// A kernel size above 3: "7×7".
    LargeKernel(String),
    /// A type of 32 bits or more, and how much faster 16 bits would be.
    WideType {
        /// "FP32".
        precision: &'static str,
        /// The 16-bit rate relative to its own, in percent.
        rate_percent: u64,
    },
    /// A kernel size that differs between dimensions: "1×7".
    Asymmetric(String),
    /// A dilated convolution, and its dilation: "2".
    Dilated(String),
    /// A depthwise convolution: each channel separately.
    Depthwise,
    /// A grouped convolution, and its number of groups.
    Grouped(u64),
    /// An image with few positions.
    SmallImage(u64),
    /// Channels-first memory layout.
    ChannelsFirst,
    /// Its kernel reads element by element because operands are not contiguous, or have several types.
    NotVectorized,
    /// An operand that is not contiguous along its last dimension.
    NotContiguous,
    /// Rows that are not 16-byte aligned, so they are read element by element: number of elements.
    MisalignedRows(i64),
    /// A loop over rows that reads them again for each reduction.
    RowLoop,
    /// Attention with a head dimension that gives matrix units few FLOPs for each exponential.
    Softmax {
        /// The head dimension.
        head: u64,
    },
    /// Attention that leaves out this percentage of its scores at random.
    Dropout(u64),
    /// A sequence so short that attention has little to do.
    ShortSequence(u64),
    /// Gathers elements from all over a tensor.
    Gather,
    /// Writes elements all over a tensor.
    Scatter,
    /// The times of calls differ by more than a fifth.
    Differs {
        /// The median call.
        median_ns: i64,
        /// The 95th percentile.
        p95_ns: i64,
    },
}

impl Fact {
    /// The fact as a phrase: "K = 32 in steps of 64".
    pub fn text(&self) -> String {
        match self {
            Fact::Misaligned { sizes, multiple } => {
                let each = sizes.iter();
                let each = each.map(|(of, n)| format!("{of} = {}", format::count(*n)));
                let each = each.collect::<Vec<String>>().join(", ");
                format!("{each}, no multiple of {multiple}: rows are not 16-byte aligned")
            }
            Fact::OldGeneration { kernel, gpu } => {
                format!("its kernel was built for {kernel}, the GPU is {gpu}")
            }
            Fact::Fallback => "its kernel is what is left where no tuned one fits".to_owned(),
            Fact::VectorUnits => "its kernel runs on vector units".to_owned(),
            Fact::FewKSteps { k, tile } => format!(
                "{}: prologue and epilogue take most of the time",
                steps_of_k(*k, *tile)
            ),
            Fact::ShortK { k, tile } => format!(
                "{}: filling the pipeline takes a part of the time",
                steps_of_k(*k, *tile)
            ),
            Fact::TileReads {
                tile: (first, second),
                percent,
            } => format!(
                "tiles of {first}×{second} read operands at {}× the memory bandwidth, from caches: larger tiles read less",
                format::number(*percent as f64 / 100.0)
            ),
            Fact::OverLink => "it copies between the memories of CPU and GPU".to_owned(),
            Fact::ShortRows(elements) => {
                let elements = format::count(u64::try_from(*elements).unwrap_or(0));
                format!("rows of {elements} elements are short for a workgroup each")
            }
            Fact::SeveralKernels(n) => {
                format!(
                    "{n} kernels one after the other read again what the last one wrote or read"
                )
            }
            Fact::Transcendental => {
                "each element costs an exponential, a logarithm or the like".to_owned()
            }
            Fact::FewWorkgroups { workgroups, units } => {
                let share = format::percent(*workgroups as f64 / f64::from(*units) * 100.0);
                let workgroups = format::counted(*workgroups, "workgroup");
                format!("{workgroups} for {units} compute units can use at most {share} of the GPU")
            }
            Fact::FewBlocks { workgroups, units } => format!(
                "only {} for {units} compute units, unless keys are split or blocks have fewer than {BLOCK_OF_QUERIES} queries",
                format::counted(*workgroups, "workgroup")
            ),
            Fact::FewChannels(channels) => format!("C_in = {channels}"),
            Fact::LargeKernel(kernel) if !kernel.contains('×') => {
                format!("a kernel of size {kernel}")
            }
            Fact::LargeKernel(kernel) => format!("{} kernel", with_article(kernel)),
            Fact::WideType {
                precision,
                rate_percent,
            } => format!(
                "{precision}: types of 16 bits have {}× its rate",
                format::number(*rate_percent as f64 / 100.0)
            ),
            Fact::Asymmetric(kernel) => {
                format!("{} kernel, longer in one dimension", with_article(kernel))
            }
            Fact::Dilated(dilation) => {
                format!("dilation {dilation}: what it reads is not contiguous")
            }
            Fact::Depthwise => "depthwise: matrix units have one channel to sum over".to_owned(),
            Fact::Grouped(groups) => {
                format!("{} groups, each a narrow GEMM", format::count(*groups))
            }
            Fact::SmallImage(positions) => {
                format!("{} for each image", format::counted(*positions, "position"))
            }
            Fact::ChannelsFirst => "channels-first operands".to_owned(),
            Fact::NotVectorized => "its kernel reads element by element, not in vectors".to_owned(),
            Fact::NotContiguous => "an operand is not contiguous".to_owned(),
            Fact::MisalignedRows(elements) => {
                let elements = format::count(u64::try_from(*elements).unwrap_or(0));
                format!("rows of {elements} elements are not 16-byte aligned")
            }
            Fact::RowLoop => "a looped reduction: rows are read again for each pass".to_owned(),
            Fact::Softmax { head } => format!(
                "head dimension {head}: each exponential comes with only {} FLOPs of the matrix units",
                format::count(4 * head)
            ),
            Fact::Dropout(percent) => {
                format!("dropout of {percent} %: each score takes a random number")
            }
            Fact::ShortSequence(tokens) => format!(
                "{} tokens: a low efficiency is expected below 512",
                format::count(*tokens)
            ),
            Fact::Gather => "elements are gathered from all over a tensor".to_owned(),
            Fact::Scatter => "elements are written all over a tensor".to_owned(),
            Fact::Differs { median_ns, p95_ns } => format!(
                "its calls differ: median {}, 95th percentile {}",
                format::time_ns(*median_ns),
                format::time_ns(*p95_ns)
            ),
        }
    }
}

/// "K = 32 is 1 step of 64".
fn steps_of_k(k: u64, tile: u64) -> String {
    let steps = format::counted(k.div_ceil(tile), "step");
    format!("K = {} is {steps} of {tile}", format::count(k))
}

/// "a 7×7", "an 8×8", "an 11×11": as the first number is read.
fn with_article(sizes: &str) -> String {
    let first = sizes.split('×').next().unwrap_or_default();
    let is_vowel = first.starts_with('8') || matches!(first, "11" | "18");
    format!("{} {sizes}", if is_vowel { "an" } else { "a" })
}
