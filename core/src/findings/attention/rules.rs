//! The rules for attention.

use super::Observed;
use super::band::Verdict;
use crate::assess::waterfall::Cause;
use crate::findings::engine::assessment::Band;
use crate::findings::engine::compute::{impact_of_steps, saved_by_16_bit};
use crate::findings::engine::narrower::{
    are_flash_kernels_experimental, has_flash_kernels, is_in_32_bits, narrower_cache, sixteen_bit,
    width,
};
use crate::findings::prelude::*;
use crate::hardware::{GpuSpec, Vendor};
use crate::names::attention::{
    AttentionKernel, head_dimension, is_flash_2, pads_head_dimension, splits_keys,
};
use crate::profile::operations::kinds::attention::AttentionSizes;
use crate::profile::operations::origin::Origin;

impl Subject for Observed<'static> {
    type Of<'a> = Observed<'a>;

    const ROW: RowOf<Self> = |observed| Some(observed.row);

    fn words(group: &Group<Self>) -> Words {
        let first = group.first();
        let more = match group.observed.len() - 1 {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let sizes = first.sizes.map(|sizes| format!(" ({})", sizes.text()));
        let (sizes, name) = (sizes.unwrap_or_default(), first.name(group.input));
        let usual = first
            .band
            .map(|band| format!(", where {} are usual", band.text()));
        vec![
            ("subject", format!("`{name}`{sizes}{more}")),
            ("usual", usual.unwrap_or_default()),
            either("backward", first.is_backward, " (backward)", ""),
        ]
    }

    fn tables(_: &Group<Self>) -> Vec<Table> {
        Vec::new()
    }

    fn reasoning(group: &Group<Self>) -> Vec<String> {
        reasoning(group.input, group.first())
    }
}

pub(super) const RULES: &[Rule<Observed>] = &[
    Rule {
        key: "wide_precision",
        when: "it computes in FP32 or FP64, and matrix units for 16-bit types would be faster",
        applies: |input, observed| {
            is_in_32_bits(input, &[observed.row])
                && saved_by_16_bit(input, observed.row).is_some_and(|ns| ns > 0)
        },
        title: "Attention in {width}{backward}",
        issue: "{subject}: {time}{at}, in {width}.",
        model: "run it in {types} (autocast): the fastest attention kernels do not support wider types.",
        kernel: "nothing to tune before the type is settled.",
        words: |group| {
            vec![
                ("width", width(group.input, &group.rows).to_owned()),
                ("types", sixteen_bit(group.input)),
            ]
        },
        saves: Saves::Each(|input, observed| {
            saved_by_16_bit(input, observed.row).map(Impact::at_most)
        }),
        ..Rule::BASE
    },
    Rule {
        key: "not_flash",
        when: "it is below the usual efficiency for its length, in a slower kernel than the GPU has",
        applies: |input, observed| is_below(observed) && is_slower_kernel(input, observed),
        title: "{math?Attention without a fused kernel|Attention in a slower fused kernel}{backward}",
        issue: "{subject}: {time}{at}{usual}, {math?in GEMMs and a softmax that write all scores to memory|in a {kind} kernel}.",
        model: "{mask?the mask in memory ({mask}) rules out a {fast} kernel: `is_causal`, packed sequences or a compiled mask (`flex_attention`) replace most masks|{head?flash kernels are built for head dimensions up to 256, not for {head}: use more heads of a smaller dimension, if the architecture can still change|find out why no {flash?flash|fused} kernel is chosen: {packed?it takes packed sequences, too; a bias in memory, an unusual head dimension or type rule it out|a mask in memory, an unusual head dimension or type rule it out; `is_causal` or packed sequences replace most masks}}}.",
        kernel: "{head?tune this kernel for its head dimension with the reproducer|{math?one kernel for these sizes keeps the scores on chip|if the mask is needed, profile this kernel with the reproducer}}.",
        words: |group| {
            let first = group.first();
            // Packed sequences already replace a mask.
            let is_packed = first.sizes.is_some_and(|sizes| sizes.n_packed.is_some());
            let mask = first.mask(group.input).map(|sizes| {
                let sizes: Vec<String> = sizes.iter().map(i64::to_string).collect();
                sizes.join("×")
            });
            let head = first.sizes.map(|sizes| sizes.d_qk);
            let head = head.filter(|head| *head > WIDEST_FLASH_HEAD);
            vec![
                ("kind", first.kernel.label().to_owned()),
                ("mask", mask.unwrap_or_default()),
                ("head", head.map_or(String::new(), |head| head.to_string())),
                either("fast", has_flash_kernels(group.input), "flash", "fused"),
                holds("flash", has_flash_kernels(group.input)),
                holds("packed", is_packed),
                holds("math", first.kernel == AttentionKernel::Math),
            ]
        },
        saves: BAND,
        ..Rule::BASE
    },
    Rule {
        key: "decode",
        when: "few queries attend to many keys, at a low % of the memory bandwidth",
        applies: |input, observed| {
            // Candidates are never anomalies.
            observed.is_decode && super::gate(input).is_slow(observed.row)
        },
        title: "Decode attention at a low % of the memory bandwidth{backward}",
        issue: "{subject}: {time}{at}; few queries attend to many keys, so it mostly reads keys and values.",
        model: "decode more requests at once, {or_cache?|or }generate several tokens a step (speculative decoding){or_cache}.",
        kernel: "{split?the keys are split over the GPU already: try other numbers of splits, and|the keys should be split over the whole GPU (split-KV, Flash-Decoding);} compare its bandwidth with the best element-wise operation of this trace.",
        words: |group| {
            let cache = narrower_cache(group.input, &group.rows);
            let or_cache = cache.map(|bits| format!(", or keep the KV cache in {bits}"));
            let mut kernels = group.first().kernels.iter();
            vec![
                ("or_cache", or_cache.unwrap_or_default()),
                holds("split", kernels.any(|name| splits_keys(name))),
            ]
        },
        saves: Saves::Each(|_, observed| {
            let percent = observed.row.steady_percent()?;
            Some(Impact::of_efficiency(observed.row.steady_ns(), percent))
        }),
        ..Rule::BASE
    },
    Rule {
        key: "head_dimension",
        when: "its kernel computes a larger head dimension, which takes much of its time, or it is below the usual efficiency for its length",
        applies: |_, observed| {
            let is_much = observed.cause == Some(Cause::PaddedDimension);
            (is_much || is_below(observed)) && observed.padded_head().is_some()
        },
        title: "Head dimension {head} computed as {padded}{backward}",
        issue: "{subject}: {time}{at}{usual}; the head dimension {head} is computed as {padded}.",
        model: "if the architecture can still change, use a head dimension of {padded}, or of the next smaller size that kernels are built for: it takes the same time or less. Padding the tensors does not help.",
        kernel: "a kernel built for {head} wastes less computation on padding; tune it with the reproducer.",
        words: |group| {
            let (head, padded) = group.first().padded_head().unwrap_or_default();
            vec![("head", head.to_string()), ("padded", padded.to_string())]
        },
        saves: Saves::Steps(&[Cause::PaddedDimension]),
        ..Rule::BASE
    },
    Rule {
        key: "uncommon_head_dimension",
        when: "it is below the usual efficiency for its length, and its head dimension is neither 64 nor 128",
        applies: |_, observed| is_below(observed) && odd_head(observed).is_some(),
        title: "Attention with head dimension {head}{backward}",
        issue: "{subject}: {time}{at}{usual}; the head dimension is {head}.",
        model: "most attention kernels are tuned for 64 and 128: use one of them if the architecture can still change{older?; its kernel is FlashAttention-2, made for the previous GPU generation: try the attention of the DNN library (`sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`), or a newer FlashAttention|}.",
        kernel: "tune a kernel for this head dimension with the reproducer.",
        words: |group| {
            let head = odd_head(group.first());
            let is_older = is_of_previous_generation(group.input, group.first());
            vec![
                ("head", head.unwrap_or(0).to_string()),
                holds("older", is_older),
            ]
        },
        saves: BAND,
        ..Rule::BASE
    },
    Rule {
        key: "partly_filled_gpu",
        when: "it is below the usual efficiency for its length, because its workgroups do not fill the compute units",
        applies: |input, observed| {
            let is_few = observed.is_short_of_workgroups(input);
            is_below(observed) && (is_few || observed.cause == Some(Cause::WaveQuantization))
        },
        title: "{workgroups} for {units} compute units{backward}",
        issue: "{subject}: {time}{at}{usual}.",
        model: "larger batches give the GPU more queries, heads or sequences at once.",
        kernel: "smaller blocks of queries, or keys split over workgroups, use more of the compute units.",
        words: |group| {
            let (workgroups, units) = group.first().workgroups().unwrap_or_default();
            vec![
                ("workgroups", format::counted(workgroups, "workgroup")),
                ("units", units.to_string()),
            ]
        },
        saves: Saves::Each(|_, observed| {
            let steps = [Cause::TilePadding, Cause::WaveQuantization];
            let of_steps = || impact_of_steps(observed.waterfall.as_ref()?, &steps);
            // Without a waterfall step: up to the share of the units that have nothing to do.
            let of_units = || {
                let (workgroups, units) = observed.few_workgroups()?;
                let idle = 1.0 - workgroups as f64 / f64::from(units);
                let most_ns = (observed.row.time_ns as f64 * idle) as i64;
                let usual = Impact::of_usual(observed.row, observed.band?)?.within(most_ns);
                Some(Impact::at_most(usual.high_ns))
            };
            match observed.cause {
                Some(_) => of_steps(),
                None => of_units(),
            }
        }),
        ..Rule::BASE
    },
    Rule {
        key: "few_keys",
        when: "many queries attend to few keys, and it is far below the memory bandwidth, which bounds it",
        applies: |_, observed| is_below(observed) && observed.has_few_keys,
        title: "Attention over few keys below the memory bandwidth{backward}",
        issue: "{subject}: {time}{at}{usual}; {queries} queries attend to {keys} keys, so it mostly reads queries and writes results.",
        model: "compare the attention backends for these sizes (`torch.nn.attention.sdpa_kernel`): with one block of keys, kernels differ in how they load and store rather than in how they multiply.",
        kernel: "keep all keys and values on chip, and load the next block of queries while one is computed; a block that {keys} keys fill computes less padding.",
        words: |group| {
            let sizes = group.first().sizes;
            let text = |of: fn(&AttentionSizes) -> f64| {
                sizes.map_or(String::new(), |sizes| format!("{:.0}", of(&sizes)))
            };
            vec![
                ("queries", text(AttentionSizes::queries)),
                ("keys", text(AttentionSizes::keys)),
            ]
        },
        saves: BAND,
        ..Rule::BASE
    },
    Rule {
        when: "most of its gap is a warm-up, or calls that take longer than the median",
        applies: |_, observed| matches!(observed.cause, Some(Cause::WarmUp | Cause::Spread)),
        title: "Some attention calls take far longer than others{backward}",
        issue: "{subject}: {time}{at}{usual}.",
        ..Rule::CALLS_DIFFER
    },
    Rule {
        key: "short_sequences",
        when: "it is far below the usual efficiency for its length, and its sequences are short",
        applies: |input, observed| {
            let line = input.options.thresholds.sdpa_short_length;
            is_below(observed) && observed.sizes.is_some_and(|sizes| sizes.length() < line)
        },
        title: "Short sequences below their usual efficiency{backward}",
        issue: "{subject}: {time}{at}{usual} for sequences this short.",
        model: "pack more sequences or heads into one call, so that the GPU has more to do at once.",
        kernel: "low efficiency is expected at this length, but not this low: profile it with the reproducer.",
        saves: BAND,
        ..Rule::BASE
    },
    Rule {
        key: "below_usual_efficiency",
        when: "it is below the usual efficiency for its length, and none of the rules above applies",
        applies: |_, observed| is_below(observed),
        title: "Attention below its usual efficiency{backward}",
        issue: "{subject}: {time}{at}{usual}.",
        model: "{dropout?leave out dropout inside of attention, where training allows it (`dropout_p=0.0`); |}{older?its kernel is FlashAttention-2, made for the previous GPU generation: try the attention of the DNN library (`sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`), or a newer FlashAttention|{other?the framework has a second library of flash kernels for this GPU: try it (`torch.backends.cuda.preferred_rocm_fa_library(\"ck\")`)|check that the fastest attention kernel available is chosen for this type, mask and head dimension}}.",
        kernel: "tune tile sizes and kernel selection with the reproducer.",
        words: |group| {
            let first = group.first();
            vec![
                holds("older", is_of_previous_generation(group.input, first)),
                holds("other", has_other_flash_library(group.input, first)),
                holds("dropout", first.has_dropout()),
            ]
        },
        saves: BAND,
        ..Rule::BASE
    },
    Rule {
        key: "other_attention",
        when: "it is linear attention, or attention in a window, below 40 % of roofline",
        applies: |input, observed| {
            observed.band.is_none()
                && !observed.is_decode
                && super::gate(input).is_slow(observed.row)
                && observed.kernel != AttentionKernel::Paged
        },
        title: "{linear?Linear attention|Attention} at a low % of roofline{backward}",
        issue: "{subject}: {time}{at}{linear?, in {kernels} that pass states on in memory}{main?; {main}}.",
        model: "{linear?larger chunks pass on fewer states, where the library lets you choose; for short sequences compare its recurrent form|let the library tune its tiles for this window and GPU; a window that is as large as a tile, or a multiple of it, computes fewer scores that are not needed}.",
        kernel: "compare the time of each kernel with the bytes that it moves, with the reproducer.",
        words: |group| {
            let first = group.first();
            let n_kernels = first.kernels.len() as u64;
            vec![
                holds("linear", first.kernel == AttentionKernel::Linear),
                ("main", main_kernel(group.input, first)),
                ("kernels", format::counted(n_kernels, "kernel")),
            ]
        },
        // Their kernels do not reach what flash attention does.
        saves: Saves::Usual(Band(20.0, 40.0)),
        ..Rule::BASE
    },
];

/// The largest head dimension of the framework's flash kernels.
const WIDEST_FLASH_HEAD: u64 = 256;

/// The gap to the usual efficiency for the length.
const BAND: Saves<Observed> = Saves::Each(|_, observed| {
    let usual = Impact::of_usual(observed.row, observed.band?)?;
    let waterfall = observed.waterfall.as_ref();
    // One kernel replaces all of those that compute it separately, which are helpers of the longest in the waterfall.
    let waterfall = waterfall.filter(|_| observed.kernel != AttentionKernel::Math);
    let most_ns = waterfall.map_or(observed.row.time_ns, |all| all.ns(Cause::Unexplained));
    Some(usual.within(most_ns))
});

/// "82.3 % of it in `chunk_fwd_kernel_h`", if one of several kernels takes most of the time; else empty.
fn main_kernel(input: &Input, observed: &Observed) -> String {
    let kernels = observed.operation.kernels(input.profile);
    let Some((name, _, ns)) = kernels.first().filter(|_| kernels.len() > 1) else {
        return String::new();
    };
    let percent = percent_of(*ns, observed.operation.kernel_ns);
    let name = format::kernel_name(input.profile.trace.strings.get(*name));
    percent
        .filter(|percent| *percent >= 50.0)
        .map_or(String::new(), |percent| {
            let name = format::middle_ellipsis(&name, 60);
            format!("{} of it in `{name}`", format::percent(percent))
        })
}

fn odd_head(observed: &Observed) -> Option<u64> {
    observed.sizes?.odd_head()
}

fn is_below(observed: &Observed) -> bool {
    observed.verdict == Some(Verdict::Below)
}

fn is_slower_kernel(input: &Input, observed: &Observed) -> bool {
    match observed.kernel {
        AttentionKernel::Math => true,
        AttentionKernel::MemoryEfficient => has_flash_kernels(input),
        _ => false,
    }
}

/// Whether FlashAttention-2 runs on a GPU newer than those that it was written for.
fn is_of_previous_generation(input: &Input, observed: &Observed) -> bool {
    let is_newer = |gpu: &GpuSpec| {
        let compute = gpu.compute.map(|(major, _)| major);
        gpu.vendor == Some(Vendor::Nvidia) && matches!(compute, Some(9 | 10))
    };
    input.gpu().is_some_and(is_newer) && observed.kernels.iter().any(|name| is_flash_2(name))
}

/// Whether the framework runs its Triton kernels on an AMD GPU, for which it has others, too.
fn has_other_flash_library(input: &Input, observed: &Observed) -> bool {
    let is_amd = input.vendor() == Some(Vendor::Amd);
    let is_of_framework = observed
        .operation
        .short_name(input.profile)
        .starts_with("aten::");
    is_amd
        && !are_flash_kernels_experimental(input)
        && is_of_framework
        && observed
            .kernels
            .iter()
            .any(|name| pads_head_dimension(name))
}

pub(super) fn reasoning(input: &Input, observed: &Observed) -> Vec<String> {
    let origin = Origin::of(input.profile, observed.operation);
    let path = origin
        .path()
        .map(|path| format!("It is called from `{path}`."));
    let kernel = observed.kernels.first().map(|name| {
        let name = format::middle_ellipsis(&format::kernel_name(name), 80);
        format!("Its longest kernel is `{name}`.")
    });
    let usual = || {
        let (band, verdict, sizes) = (observed.band?, observed.verdict?, observed.sizes?);
        let reached = format::percent(observed.row.efficiency_percent?);
        let (band, verdict) = (band.text(), verdict.label());
        let with = match observed.has_few_keys {
            true => format!("with {:.0} keys", sizes.keys()),
            false => format!("at a length of {:.0}", sizes.length()),
        };
        Some(format!(
            "It reaches {reached} of roofline; {with}, {band} are usual: {verdict}."
        ))
    };
    let padding = || {
        let made_for = observed
            .kernels
            .iter()
            .find_map(|name| head_dimension(name))?;
        let head = observed.sizes?.d_qk;
        let share = format::percent((1.0 - head as f64 / made_for as f64) * 100.0);
        (made_for > head).then(|| format!("Its name says that it is made for a head dimension up to {made_for}: {share} of its arithmetic is on padding."))
    };
    let sentences = [path, kernel, usual(), padding(), Some(NOT_SHOWN.to_owned())];
    sentences.into_iter().flatten().collect()
}
