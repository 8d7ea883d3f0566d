//! The waterfall as text.

use super::facts::BLOCK_OF_QUERIES;
use super::{Cause, Detail, Fact, Step, Waterfall};
use crate::base::format;

/// Below this, the bandwidth of an operation says how short its kernel is, not how fast it reads.
const LEAST_BANDWIDTH_PERCENT: f64 = 5.0;

/// A step as text.
#[derive(Debug, Clone, PartialEq)]
pub struct StepLine {
    /// Its cause; "Roofline" and "Measured" at the ends.
    pub label: &'static str,
    /// Its name in files.
    pub key: &'static str,
    /// The time that it adds.
    pub ns: i64,
    /// By what factor the time increases.
    pub factor: f64,
    /// The sizes that it follows from; may be empty.
    pub text: String,
}

/// The steps between the roofline time and the measured time.
pub fn step_lines(waterfall: &Waterfall) -> Vec<StepLine> {
    let line = |step: &Step| StepLine {
        label: step.cause.label(),
        key: step.cause.key(),
        ns: step.ns,
        factor: step.factor,
        text: step.text(),
    };
    waterfall.steps.iter().map(line).collect()
}

impl Waterfall {
    /// The reasons for the steps, and the causes without a factor, each as a phrase.
    pub fn causes(&self) -> Vec<String> {
        let steps = self.steps.iter().map(|step| step.text());
        let facts = self.facts.iter().map(Fact::text);
        steps.chain(facts).filter(|text| !text.is_empty()).collect()
    }
}

impl Fact {
    /// The fact as a phrase: "K = 32 in steps of 64".
    pub fn text(&self) -> String {
        match self {
            Fact::Misaligned { sizes, multiple } => {
                let each = sizes.iter();
                let each =
                    each.map(|(of, elements)| format!("{of} = {}", format::count(*elements)));
                let each: Vec<String> = each.collect();
                let each = each.join(", ");
                format!("{each}, no multiple of {multiple}: rows are not 16-byte aligned")
            }
            Fact::OldGeneration { kernel, gpu } => {
                format!("its kernel was built for {kernel}, the GPU is {gpu}")
            }
            Fact::Fallback => "its kernel is what is left where no tuned one fits".to_owned(),
            Fact::VectorUnits => "its kernel runs on vector units".to_owned(),
            Fact::FewKSteps { k, tile } => {
                let steps = format::counted(k.div_ceil(*tile), "step");
                format!(
                    "K = {} is {steps} of {tile}: prologue and epilogue take most of the time",
                    format::count(*k)
                )
            }
            Fact::ShortK { k, tile } => {
                let steps = format::counted(k.div_ceil(*tile), "step");
                format!(
                    "K = {} is {steps} of {tile}: filling the pipeline takes a part of the time",
                    format::count(*k)
                )
            }
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

impl Step {
    /// Whether its factor tells more than its time. Measured times have none, and that of hardly any data is any number.
    pub fn has_factor(&self) -> bool {
        let is_of_little_data = matches!(self.detail, Detail::Bandwidth { percent, .. } if percent < LEAST_BANDWIDTH_PERCENT);
        !self.cause.is_measured() && self.cause != Cause::LaunchScale && !is_of_little_data
    }

    /// The sizes that it follows from: "8×8 results in tiles of 64×112".
    pub fn text(&self) -> String {
        match self.detail {
            Detail::None if self.cause == Cause::LaunchScale => {
                "kernels below 10 µs, of which about 2 µs are their launch".to_owned()
            }
            Detail::None if self.cause == Cause::ReadAgain => {
                "a kernel of its own for the gradients of scale and shift".to_owned()
            }
            Detail::None => String::new(),
            Detail::Tile {
                result: (m, n),
                tile: (first, second),
            } => {
                let [m, n] = [m, n].map(format::count);
                format!("{m}×{n} in tiles of {first}×{second}")
            }
            Detail::Waves {
                tiles,
                workgroups,
                units,
            } => {
                let waves = format::number(workgroups as f64 / f64::from(units));
                let split = tiles
                    .filter(|tiles| *tiles < workgroups)
                    .map(|tiles| format!("{}, split along K: ", format::counted(tiles, "tile")));
                let what = match tiles == Some(workgroups) {
                    true => format::counted(workgroups, "tile"),
                    false => format::counted(workgroups, "workgroup"),
                };
                let split = split.unwrap_or_default();
                format!("{split}{what} on {units} compute units, {waves} waves")
            }
            Detail::Padded {
                dimension,
                size,
                padded,
            } => {
                let [size, padded] = [size, padded].map(format::count);
                format!("{dimension} {size} computed as {padded}")
            }
            // So little data takes no time to move: the kernel has a shortest time.
            Detail::Bandwidth { percent, least_ns } if percent < LEAST_BANDWIDTH_PERCENT => {
                format!(
                    "the fastest other operation on as little data takes {}",
                    format::time_ns(least_ns)
                )
            }
            Detail::Bandwidth { percent, .. } => {
                let percent = format::percent(percent);
                format!(
                    "the fastest other operation of about this size reaches {percent} of the bandwidth"
                )
            }
            Detail::Helper {
                kind,
                n,
                n_other_kinds,
            } => {
                let more = match n_other_kinds {
                    0 => String::new(),
                    n => format!(", and {}", format::counted(n as u64, "other kind")),
                };
                format!("{}{more}", format::counted(n, kind.label()))
            }
            Detail::Calls {
                median_ns,
                longest_ns,
            } => {
                let [median, longest] = [median_ns, longest_ns].map(format::time_ns);
                match self.cause {
                    Cause::WarmUp => format!("first call {longest}, median {median}"),
                    _ => format!("median {median}, longest {longest}"),
                }
            }
        }
    }
}

/// "a 7×7", "an 8×8", "an 11×11": as the first number is read.
fn with_article(sizes: &str) -> String {
    let first = sizes.split('×').next().unwrap_or_default();
    let is_vowel = first.starts_with('8') || matches!(first, "11" | "18");
    format!("{} {sizes}", if is_vowel { "an" } else { "a" })
}
