//! The rules for convolutions.

use super::layout::channels_last_switch;
use super::words::{
    details, odd_channels, on_units, padded, patches_or, search_and_keep, shapes, short_kernel,
    special, usual, wanted_format,
};
use super::{Observed, band, gate};
use crate::assess::waterfall::Cause;
use crate::findings::calls_differ;
use crate::findings::engine::compute::saved_by_16_bit;
use crate::findings::engine::narrower::{instead_of_32_bits, width};
use crate::findings::engine::run_time;
use crate::findings::prelude::*;
use crate::profile::operations::kinds::convolution::{ConvolutionKind, ConvolutionShape};

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        let first = group.first().shape.as_ref();
        let count =
            |of: fn(&ConvolutionShape) -> u64, noun| format::counted(first.map_or(0, of), noun);
        let format = wanted_format(group).map_or(String::new(), |format| {
            let switch = channels_last_switch(group.input);
            format!("try `{format}`{switch}, which helps most of these kernels; ")
        });
        vec![
            ("usual", usual(group)),
            ("kind", first.map_or(String::new(), ConvolutionShape::text)),
            either(
                "transposed",
                first.is_some_and(|shape| shape.is_transposed),
                "Transposed convolutions: ",
                "",
            ),
            (
                "channels",
                count(ConvolutionShape::channels, "input channel"),
            ),
            ("group", count(ConvolutionShape::group_channels, "channel")),
            ("positions", count(ConvolutionShape::positions, "position")),
            ("format", format),
            ("special", first.map_or(String::new(), special)),
        ]
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        let from = called_from(group.input, &group.rows).into_iter();
        let sentences = from.chain(details(group.input, group.first()));
        sentences.chain([NOT_SHOWN.to_owned()]).collect()
    }

    fn tables(group: &Group<Self>) -> Vec<Table> {
        vec![shapes(group)]
    }
}

/// Groups of at most this many channels leave parts of the matrix-unit tiles empty.
const NARROW_GROUP: u64 = 32;

/// The common part of the rules. If efficiency is below the band but it is no bottleneck, it only gets a reproducer.
const BASE: Rule<Observed> = Rule {
    issue: "{figures}{usual}.",
    saves: Saves::Each(|input, observed| observed.impact(input)),
    priority: |group, priority| {
        let is_fair = |observed: &Observed| {
            let gate = gate(group.input, observed.kind).efficiency_percent;
            let percent = observed.row.efficiency_percent;
            percent.is_some_and(|percent| percent >= gate)
        };
        match group.any(|observed| !is_fair(observed)) {
            true => priority,
            false => Priority::Low,
        }
    },
    ..Rule::BASE
};

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "fallback_kernel",
        when: "the name of a kernel says that it is taken where nothing better fits",
        applies: |_, observed| {
            observed.fallback.is_some()
                && (observed.is_low || observed.row.efficiency_percent.is_none())
        },
        title: "Convolutions by a fallback kernel",
        issue: "{figures}{usual}; it runs in `{fallback}`.",
        model: "let the DNN library try its algorithms for these shapes once (benchmark mode), and check type, layout and groups against what its fast kernels accept.",
        kernel: "its name says that nothing better was found for this shape: add a tuned kernel for it.",
        words: |group| {
            let fallback = group.first().fallback.unwrap_or_default();
            vec![("fallback", short_kernel(fallback))]
        },
        saves: Saves::Each(|input, observed| observed.impact_of_fallback(input)),
        ..BASE
    },
    Rule {
        key: "helper_kernels",
        when: "most of its gap is kernels beside the one that computes, mostly type conversions",
        applies: |_, observed| {
            observed.cause == Some(Cause::Helpers)
                && observed.is_mostly_beside()
                && observed.converts
        },
        title: "Type conversions beside convolutions",
        model: "let the DNN library try its algorithms for these shapes (`torch.backends.cudnn.benchmark = True`): this one computes in a wider type than its tensors have, and converts them.",
        kernel: "a convolution that converts as it reads its operands and writes its result makes these kernels unnecessary.",
        saves: Saves::Measured(|_, observed| observed.others_ns),
        ..BASE
    },
    Rule {
        key: "helper_kernels",
        when: "most of its gap is kernels beside the one that computes, such as an addition of the bias",
        applies: |input, observed| {
            let is_beside = observed.cause == Some(Cause::Helpers) && observed.is_mostly_beside();
            is_beside && !observed.saves_most_in_16_bits(input)
        },
        title: "Helper kernels beside convolutions",
        model: "compile the module (`torch.compile`), which merges bias and activation into one kernel; in inference fold batch norms and scales into filter and bias, and leave out a bias that a batch norm removes.",
        kernel: "a convolution that adds the bias and applies the activation as it writes its result makes these kernels unnecessary.",
        saves: Saves::Measured(|_, observed| observed.others_ns),
        ..BASE
    },
    Rule {
        key: "slower_unit",
        when: "its kernel runs on vector units although the matrix units take its type",
        applies: |_, observed| observed.cause == Some(Cause::SlowerUnit) && !observed.is_wide,
        title: "Convolutions on vector units",
        issue: "{figures}{usual}{special}.",
        model: "{advice}.",
        kernel: "check why the library takes this kernel: alignment, layout or an unsupported type.",
        words: |group| {
            patches_or(
                group,
                &format!(
                    "channels that are multiples of 8 let the library select a kernel for matrix units; {}",
                    search_and_keep(group)
                ),
            )
        },
        saves: Saves::Steps(&[Cause::SlowerUnit]),
        ..BASE
    },
    Rule {
        key: "partly_filled_gpu",
        when: "most of its gap is that its workgroups do not fill the compute units",
        applies: |input, observed| {
            observed.cause == Some(Cause::WaveQuantization)
                && !observed.saves_most_in_16_bits(input)
        },
        title: "{transposed}{workgroups}",
        issue: "{figures}{usual}{special}.",
        model: "{filter?let the DNN library try its algorithms for these shapes (`torch.backends.cudnn.benchmark = True`): the gradient of a filter is as small as the filter, whatever the batch, so only a split of its sums fills the GPU|larger batches give the GPU more to do at once}.",
        kernel: "smaller tiles, or a split over {filter?images and positions|channels}, use more of the compute units.",
        words: |group| {
            vec![
                ("workgroups", on_units(group.input, group.first())),
                holds("filter", group.first().is_of_filter(group.input)),
            ]
        },
        saves: Saves::Steps(&[Cause::TilePadding, Cause::WaveQuantization]),
        ..BASE
    },
    Rule {
        key: "padded",
        when: "most of its gap is padding: tiles beyond the result, channels that the kernel cannot cut",
        applies: |input, observed| {
            let is_padded = matches!(
                observed.cause,
                Some(Cause::TilePadding | Cause::PaddedDimension)
            );
            is_padded && !observed.saves_most_in_16_bits(input)
        },
        title: "{transposed}{padded}",
        issue: "{figures}{usual}{special}.",
        model: "{advice}.",
        kernel: "a smaller tile, or one with another aspect ratio, wastes less computation on padding.",
        words: |group| {
            let most = group.input.options.thresholds.conv_few_channels;
            let is_few = |shape: &ConvolutionShape| shape.channels() as f64 <= most;
            // Images have as many channels as they have.
            let first = group.first();
            let otherwise = match () {
                () if first.has(is_few) => {
                    "fold neighboring positions into channels (`pixel_unshuffle`, with the filter rearranged to match)"
                }
                () if first.has(|shape| odd_channels(shape).is_some()) => {
                    "channels that are multiples of 8, or of the tile, do more in the same time"
                }
                () => {
                    "layers with as many channels as a tile has do more in the same time, if the architecture can still change"
                }
            };
            let narrower = match first.is_wide {
                true => format!("; {}", instead_of_32_bits(group.input, &group.rows)),
                false => String::new(),
            };
            let mut words = patches_or(group, &format!("{otherwise}{narrower}"));
            words.push(("padded", padded(group.input, group.first())));
            words
        },
        saves: Saves::Steps(&[Cause::TilePadding, Cause::PaddedDimension]),
        ..BASE
    },
    Rule {
        key: "calls_differ",
        when: "most of its gap is a warm-up, or calls that take longer than the median",
        applies: |_, observed| matches!(observed.cause, Some(Cause::WarmUp | Cause::Spread)),
        title: "Some convolution calls take far longer than others",
        model: calls_differ::advice!(
            "let the DNN library choose its algorithm before recording (warm up with the same shapes)"
        ),
        kernel: calls_differ::FASTER_ELSEWHERE,
        words: |group| calls_differ::words(group.input, &group.rows),
        saves: Saves::Steps(&[Cause::Spread]),
        has_reproducer: false,
        ..BASE
    },
    Rule {
        key: "depthwise",
        when: "each channel is computed by itself",
        applies: |_, observed| observed.is_low && observed.has(ConvolutionShape::is_depthwise),
        title: "Depthwise convolutions at a low % of roofline",
        issue: "{figures}{usual}; each channel is computed by itself.",
        model: "{format}use fewer or wider groups, if the architecture can still change.",
        kernel: "depthwise convolutions need dedicated kernels: profile the one that runs, with the reproducer.",
        ..BASE
    },
    Rule {
        key: "narrow_groups",
        when: "a group has at most 32 channels",
        applies: |_, observed| {
            let is_narrow = |shape: &ConvolutionShape| {
                shape.groups > 1 && shape.group_channels() <= NARROW_GROUP
            };
            observed.is_low && observed.has(is_narrow)
        },
        title: "Convolutions in groups of {group}",
        issue: "{figures}; a group has {group}, which fill a part of the tiles of matrix units.",
        model: "{format}use fewer, wider groups, if the architecture can still change.",
        kernel: "tune a kernel for groups this narrow with the reproducer.",
        // There is no usual efficiency for groups this narrow: at most that of depthwise ones.
        saves: Saves::AtMost(|_, observed| {
            let roofline_ns =
                observed.row.time_ns as f64 * observed.row.efficiency_percent? / 100.0;
            let usual = Impact::of_band(
                observed.computing_ns(),
                roofline_ns,
                band(ConvolutionKind::Depthwise),
            );
            Some(usual.low_ns)
        }),
        ..BASE
    },
    Rule {
        key: "few_input_channels",
        when: "it has at most 4 input channels",
        applies: |input, observed| {
            let most = input.options.thresholds.conv_few_channels;
            observed.is_low && observed.has(|shape| shape.channels() as f64 <= most)
        },
        title: "Convolutions of {channels}",
        issue: "{figures}{usual}; there {is_one?is|are} only {channels}.",
        model: "{advice}.",
        kernel: "tune a kernel for few input channels with the reproducer.",
        words: |group| {
            let mut words = patches_or(
                group,
                "pad the channels of the input and of the filter with zeros to 4 or 8, or fold neighboring positions into channels",
            );
            let is_one = group.first().has(|shape| shape.channels() == 1);
            words.push(holds("is_one", is_one));
            words
        },
        ..BASE
    },
    Rule {
        key: "dilated",
        when: "its filter has gaps: a dilation above 1",
        applies: |_, observed| {
            observed.is_low && observed.has(|shape| shape.dilation.iter().any(|step| *step > 1))
        },
        title: "Dilated convolutions",
        issue: "{figures}{usual}; with a dilation of {dilation} its filter reads positions that lie apart.",
        model: "{format}strided or stacked convolutions reach the same receptive field without dilation, if the architecture can still change.",
        kernel: "many fast kernels do not support dilation: check which one the DNN library chose, and profile it with the reproducer.",
        words: |group| {
            let dilation = group.first().shape.iter().flat_map(|shape| &shape.dilation);
            let dilation: Vec<String> = dilation.map(u64::to_string).collect();
            vec![("dilation", dilation.join("×"))]
        },
        ..BASE
    },
    Rule {
        key: "asymmetric",
        when: "its kernel is longer in one dimension than in the other",
        applies: |_, observed| observed.is_low && observed.has(ConvolutionShape::is_asymmetric),
        title: "Convolutions with a {size} kernel",
        issue: "{figures}{usual}; its kernel is {size}.",
        model: "{format}use square filters, or fold one dimension into the batch, if the architecture can still change: GPU kernels for these are faster.",
        kernel: "few GPU kernels are tuned for filters this long and narrow: profile the one that runs, with the reproducer.",
        words: |group| {
            let shape = group.first().shape.as_ref();
            let size = shape.map_or(String::new(), ConvolutionShape::kernel_text);
            vec![("size", size)]
        },
        ..BASE
    },
    Rule {
        key: "small_spatial",
        when: "its result has at most 196 positions (14 × 14)",
        applies: |input, observed| {
            let most = input.options.thresholds.conv_small_spatial;
            observed.is_low && observed.has(|shape| shape.positions() as f64 <= most)
        },
        title: "Convolutions on small images",
        issue: "{figures}{usual}; an image has only {positions}.",
        model: "{advice}.",
        kernel: "split-K over channels, or smaller tiles, would use more of the GPU: try them with the reproducer.",
        words: |group| patches_or(group, "larger batches give the GPU more to do at once"),
        ..BASE
    },
    Rule {
        key: "wide_precision",
        when: "it computes in FP32 or wider, and 16-bit matrix units save more than its usual efficiency would",
        applies: |input, observed| observed.saves_most_in_16_bits(input),
        title: "Convolutions in {width}",
        issue: "{figures}, in {width} on a GPU with 16-bit matrix units.",
        model: "{instead}.",
        kernel: "nothing to tune before the type is settled.",
        words: |group| {
            vec![
                ("width", width(group.input, &group.rows).to_owned()),
                ("instead", instead_of_32_bits(group.input, &group.rows)),
            ]
        },
        saves: Saves::AtMost(|input, observed| {
            let ns = saved_by_16_bit(input, observed.row)?;
            Some(run_time::part(
                ns,
                observed.computing_ns(),
                observed.row.time_ns,
            ))
        }),
        priority: |_, priority| priority,
        ..BASE
    },
    Rule {
        key: "below_usual_efficiency",
        when: "it is of no kind above",
        applies: |_, observed| observed.is_low && observed.shape.is_some(),
        title: "Convolutions ({kind}) below the usual efficiency",
        model: "{advice}.",
        kernel: "compare it with the other algorithms of the DNN library, then profile the kernel with the reproducer.",
        words: |group| patches_or(group, &search_and_keep(group)),
        ..BASE
    },
    Rule {
        key: "slow_convolution",
        when: "its shape is unknown",
        applies: |_, observed| observed.is_low,
        title: "Convolutions at a low % of roofline",
        issue: "{figures}.",
        model: "see whether a convolution of the framework or its DNN library does the same work.",
        kernel: "profile the kernel with the reproducer.",
        ..BASE
    },
];
