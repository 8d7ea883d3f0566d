//! Findings about attention that is one kernel already.

use super::super::Input;
use super::super::compute::{
    Draft, Gate, at_efficiency, efficiency, finding, is_large, is_wide, time_and_share,
    won_by_16_bit,
};
use super::super::finding::{Finding, Impact};
use super::super::narrower::{has_flash_kernels, narrower_cache, sixteen_bit, width};
use super::super::origin::Origin;
use super::super::outcome::Row;
use super::super::unmodelled::{unmodelled, unmodelled_in_cache};

use super::kind::Kind;
use super::sizes::Sizes;
use super::{Seen, Verdict};
use crate::base::format;
use crate::base::interval::sum;
use crate::hardware::{GpuSpec, Vendor};

/// Why an attention is worth looking at. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    WidePrecision,
    NotFlash,
    Decode,
    HeadDimension,
    Short,
    BelowBand,
}

const PATTERNS: [Pattern; 6] = [
    Pattern::WidePrecision,
    Pattern::NotFlash,
    Pattern::Decode,
    Pattern::HeadDimension,
    Pattern::Short,
    Pattern::BelowBand,
];

impl Pattern {
    fn key(self) -> &'static str {
        match self {
            Pattern::WidePrecision => "wide_precision",
            Pattern::NotFlash => "not_flash",
            Pattern::Decode => "decode",
            Pattern::HeadDimension => "head_dimension",
            Pattern::Short => "short_sequences",
            Pattern::BelowBand => "below_usual_efficiency",
        }
    }

    fn of(input: &Input, one: &Seen) -> Option<Pattern> {
        let thresholds = &input.options.thresholds;
        let gate = Gate {
            time_ms: thresholds.sdpa_gate_ms,
            efficiency_percent: thresholds.gate_efficiency_percent,
        };
        if !one.kind.has_scores() || one.row.is_anomaly || !is_large(input, one.row, &gate) {
            return None;
        }
        if one.spec.is_some_and(is_wide) && won_by_16_bit(input, one.row).is_some_and(|ns| ns > 0) {
            return Some(Pattern::WidePrecision);
        }
        if one.is_decode {
            let is_slow = one
                .row
                .efficiency_percent
                .is_some_and(|percent| percent < gate.efficiency_percent);
            return is_slow.then_some(Pattern::Decode);
        }
        if one.verdict != Some(Verdict::Below) {
            return None;
        }
        let length = one.sizes.map_or(f64::INFINITY, |sizes| sizes.length());
        let is_slower = match one.kind {
            Kind::Math => true,
            Kind::MemoryEfficient => has_flash_kernels(input),
            _ => false,
        };
        Some(if is_slower {
            Pattern::NotFlash
        } else if one.odd_head().is_some() {
            Pattern::HeadDimension
        } else if length < thresholds.sdpa_short_length {
            Pattern::Short
        } else {
            Pattern::BelowBand
        })
    }
}

/// Findings by pattern.
pub(super) fn findings(input: &Input, seen: &[Seen], is_backward: bool) -> Vec<Finding> {
    let patterns: Vec<Option<Pattern>> = seen.iter().map(|one| Pattern::of(input, one)).collect();
    let mut findings = Vec::new();
    for pattern in PATTERNS {
        let of_pattern: Vec<&Seen> = seen
            .iter()
            .zip(&patterns)
            .filter(|(_, found)| **found == Some(pattern))
            .map(|(one, _)| one)
            .collect();
        findings.extend(named(input, pattern, &of_pattern, is_backward));
    }
    findings.extend(of_unknown_work(input, seen, is_backward));
    findings
}

/// Attention whose work nothing tells. What is in a paged cache is a value, and only shapes are
/// recorded.
fn of_unknown_work<'a>(input: &Input, seen: &[Seen<'a>], is_backward: bool) -> Vec<Finding> {
    let gate = Gate {
        time_ms: input.options.thresholds.sdpa_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    let (paged, others): (Vec<&Seen<'a>>, Vec<&Seen<'a>>) =
        seen.iter().partition(|one| one.kind == Kind::Paged);
    let rows = |seen: Vec<&Seen<'a>>| seen.into_iter().map(|one| one.row).collect::<Vec<&Row>>();
    let what = match is_backward {
        true => "backward pass of attention",
        false => "attention",
    };
    let mut findings = unmodelled(input, &rows(others), &gate, what);
    let paged = rows(paged);
    findings.extend(unmodelled_in_cache(input, &paged, &gate));
    findings
}

fn named(input: &Input, pattern: Pattern, seen: &[&Seen], is_backward: bool) -> Option<Finding> {
    let first = seen.first()?;
    let rows: Vec<&Row> = seen.iter().map(|one| one.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum(rows.iter().map(|row| row.time_ns)), input);
    let at = at_efficiency(efficiency(&rows));
    let takes = if seen.len() == 1 { "takes" } else { "take" };
    let usual = first.band.map_or(String::new(), |band| {
        format!(", where {} are usual", band.text())
    });
    let head = first.odd_head().unwrap_or(0);
    let width = width(input, &rows);
    let wide_title = format!("Attention in {width}");
    let (title, issue, model, kernel) = match pattern {
        Pattern::WidePrecision => (
            wide_title.as_str(),
            format!("{subject} {takes} {time}{at}, in {width}."),
            format!(
                "run it in {} (autocast): the fastest attention kernels take 16-bit types only.",
                sixteen_bit(input)
            ),
            "nothing to tune before the type is settled.",
        ),
        Pattern::NotFlash => (
            "Attention by the slower of the fused kernels",
            format!(
                "{subject} {takes} {time}{at}{usual}, in a {} kernel.",
                first.kind.label()
            ),
            not_flash(input, first),
            "if the mask is needed, have this kernel looked at with the reproducer.",
        ),
        Pattern::Decode => (
            "Decoding attention reads slowly",
            format!(
                "{subject} {takes} {time}{at}: few queries for many keys, so that it reads keys and values and does little else."
            ),
            match narrower_cache(input, &rows) {
                Some(bits) => format!(
                    "decode more requests at once, generate several tokens a step (speculative decoding), or keep the cache in {bits}."
                ),
                None => "decode more requests at once, or generate several tokens a step (speculative decoding).".to_owned(),
            },
            match splits_keys(input, first) {
                true => "the keys are split over the GPU already: have other numbers of splits tried, and compare what it reads a second with the best element-wise operation of this trace.",
                false => "the keys should be split over the whole GPU; compare what it reads a second with the best element-wise operation of this trace.",
            },
        ),
        Pattern::HeadDimension => (
            "Attention with an uncommon head dimension",
            format!("{subject} {takes} {time}{at}{usual}; the head dimension is {head}."),
            "64 and 128 are what most attention kernels are tuned for: choose one of them where the model is still open, or pad to what the kernel is made for.".to_owned(),
            "have a kernel for this head dimension looked at with the reproducer.",
        ),
        Pattern::Short => (
            "Attention over short sequences below what is usual for them",
            format!("{subject} {takes} {time}{at}{usual} for sequences this short."),
            "pack more sequences or heads into one call, so that the GPU has more to do at once.".to_owned(),
            "low efficiency is expected at this length, but not this low: have the reproducer looked at.",
        ),
        Pattern::BelowBand => (
            "Attention below what is usual for its length",
            format!("{subject} {takes} {time}{at}{usual}."),
            match is_of_generation_before(input, first) {
                true => "its kernel is FlashAttention-2, made for the generation before this GPU: try the attention of the DNN library (`sdpa_kernel(SDPBackend.CUDNN_ATTENTION)`), or a newer FlashAttention.",
                false => "check that the fastest attention kernel available is chosen for this type, mask and head dimension.",
            }
            .to_owned(),
            "have tile sizes and the choice of the kernel looked at with the reproducer.",
        ),
    };
    let title = match is_backward {
        true => format!("{title} (backward)"),
        false => title.to_owned(),
    };
    let mut found = finding(
        input,
        &rows,
        true,
        Draft {
            pattern: pattern.key(),
            title,
            issue,
            model,
            kernel: kernel.to_owned(),
            reasoning: reasoning(input, first),
            tables: Vec::new(),
        },
    )?;
    let impact_of = |one: &Seen| -> Option<Impact> {
        match pattern {
            Pattern::WidePrecision => won_by_16_bit(input, one.row).map(Impact::at_most),
            Pattern::Decode => Some(Impact::of_efficiency(
                one.row.time_ns,
                one.row.efficiency_percent?,
            )),
            _ => {
                let roof_ns = one.row.time_ns as f64 * one.row.efficiency_percent? / 100.0;
                let band = one.band?;
                Some(Impact::of_band(
                    one.row.time_ns,
                    roof_ns,
                    band.low,
                    band.high,
                ))
            }
        }
    };
    let impacts: Vec<(usize, Impact)> = seen
        .iter()
        .filter_map(|one| Some((one.row.operation, impact_of(one)?)))
        .collect();
    let all = impacts.iter().map(|(_, impact)| *impact);
    found.impact = all.reduce(Impact::plus);
    found.savings = impacts
        .into_iter()
        .map(|(operation, impact)| (operation, impact.mid_ns))
        .collect();
    Some(found)
}

/// Whether FlashAttention-2, as PyTorch and its own package have it, runs on a GPU whose matrix units
/// take other instructions than those that it was made for.
fn is_of_generation_before(input: &Input, one: &Seen) -> bool {
    let is_newer = |gpu: &GpuSpec| {
        let compute = gpu.compute.map(|(major, _)| major);
        gpu.vendor == Some(Vendor::Nvidia) && matches!(compute, Some(9 | 10))
    };
    let strings = &input.profile.trace.strings;
    let kernels = one.operation.kernels(input.profile);
    let mut names = kernels.iter().map(|(name, ..)| strings.get(*name));
    input.gpu().is_some_and(is_newer)
        && names.any(|name| name.contains("flash::flash_fwd") || name.contains("flash::flash_bwd"))
}

/// How the fastest kernel would be chosen: packed sequences already are in place of a mask.
fn not_flash(input: &Input, one: &Seen) -> String {
    let faster = match has_flash_kernels(input) {
        true => "flash",
        false => "fused",
    };
    let is_packed = one.sizes.is_some_and(|sizes| sizes.n_packed.is_some());
    let why = match is_packed {
        true => {
            "it takes packed sequences, too, and a bias in memory, an unusual head dimension or type keep it away."
        }
        false => {
            "a mask in memory, an unusual head dimension or type keep it away; `is_causal` or packed sequences replace most masks."
        }
    };
    format!("find out why no {faster} kernel is chosen: {why}")
}

/// Whether a kernel says that the keys of a query are split, and their results put together again.
fn splits_keys(input: &Input, one: &Seen) -> bool {
    let strings = &input.profile.trace.strings;
    let kernels = one.operation.kernels(input.profile);
    let mut names = kernels
        .iter()
        .map(|(name, ..)| strings.get(*name).to_ascii_lowercase());
    names.any(|name| {
        ["splitkv", "split_kv", "splitk", "combine"]
            .iter()
            .any(|word| name.contains(word))
    })
}

/// "`aten::…` (16×16×559×64)" of the longest, and how many more.
fn subject(input: &Input, seen: &[&Seen]) -> String {
    let Some(first) = seen.first() else {
        return String::new();
    };
    let name = format::middle_ellipsis(first.operation.short_name(input.profile), 60);
    let sizes = first
        .sizes
        .map(|sizes: Sizes| format!(" ({})", sizes.text()));
    let more = match seen.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("`{name}`{}{more}", sizes.unwrap_or_default())
}

/// What the data shows of one attention.
pub(super) fn reasoning(input: &Input, one: &Seen) -> Vec<String> {
    let mut sentences = Vec::new();
    let origin = Origin::of(input, one.operation);
    if let Some(path) = origin.path() {
        sentences.push(format!("It is called from `{path}`."));
    }
    let strings = &input.profile.trace.strings;
    let kernels = one.operation.kernels(input.profile);
    if let Some((name, ..)) = kernels.first() {
        let name = format::middle_ellipsis(&format::kernel_name(strings.get(*name)), 80);
        sentences.push(format!("Its longest kernel is `{name}`."));
    }
    if let (Some(band), Some(verdict), Some(sizes), Some(percent)) =
        (one.band, one.verdict, one.sizes, one.row.efficiency_percent)
    {
        sentences.push(format!(
            "It reaches {} of the roof; at a length of {:.0}, {} are usual: {}.",
            format::percent(percent),
            sizes.length(),
            band.text(),
            verdict.label()
        ));
    }
    if let (Some(made_for), Some(sizes)) = (one.kernel_head, one.sizes)
        && made_for > sizes.d_qk
    {
        let share = (1.0 - sizes.d_qk as f64 / made_for as f64) * 100.0;
        sentences.push(format!(
            "Its name says that it is made for head dimensions up to {made_for}: {} of its arithmetic is on padding.",
            format::percent(share)
        ));
    }
    sentences.push(
        "A trace does not show why a kernel is slow: a reproducer under a hardware profiler does."
            .to_owned(),
    );
    sentences
}
