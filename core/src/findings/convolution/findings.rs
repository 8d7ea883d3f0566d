//! Findings about convolutions.

use super::super::Input;
use super::super::compute::{
    Draft, Gate, at_efficiency, efficiency, finding, is_large, time_and_share, won_by_16_bit,
};
use super::super::finding::{Finding, Impact, Priority};
use super::super::layout::channels_last;
use super::super::memory_bound::unmodelled;
use super::super::narrower::{instead_of_32_bits, width};
use super::super::origin::Origin;
use super::super::outcome::Row;
use super::super::run_time;
use super::super::unmodelled::missing_units;
use super::class::{Class, Shape};
use super::{Adjacent, Seen, layout_finding, subject};
use crate::base::format;
use crate::base::interval::sum;
use crate::base::value::{Table, Value};

/// Why a convolution is worth looking at. The first that fits names a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pattern {
    Fallback,
    WidePrecision,
    FewChannels,
    Depthwise,
    NarrowGroups,
    SmallSpatial,
    BelowBand,
    UnknownShape,
}

/// Groups of fewer channels leave parts of the tiles of matrix units empty.
const NARROW_GROUP: u64 = 32;

const PATTERNS: [Pattern; 8] = [
    Pattern::Fallback,
    Pattern::WidePrecision,
    Pattern::FewChannels,
    Pattern::Depthwise,
    Pattern::NarrowGroups,
    Pattern::SmallSpatial,
    Pattern::BelowBand,
    Pattern::UnknownShape,
];

impl Pattern {
    fn key(self) -> &'static str {
        match self {
            Pattern::Fallback => "fallback_kernel",
            Pattern::WidePrecision => "wide_precision",
            Pattern::FewChannels => "few_input_channels",
            Pattern::Depthwise => "depthwise",
            Pattern::NarrowGroups => "narrow_groups",
            Pattern::SmallSpatial => "small_spatial",
            Pattern::BelowBand => "below_usual_efficiency",
            Pattern::UnknownShape => "slow_convolution",
        }
    }

    fn of(input: &Input, one: &Seen) -> Option<Pattern> {
        let thresholds = &input.options.thresholds;
        let class = one.shape.as_ref().map(Shape::class);
        let gate = Gate {
            time_ms: thresholds.conv_gate_ms,
            efficiency_percent: class.map_or(thresholds.gate_efficiency_percent, |class| {
                class.gate(thresholds)
            }),
        };
        if one.row.is_anomaly || !is_large(input, one.row, &gate) {
            return None;
        }
        // What is under its band and over the gate is a note, no bottleneck.
        let low = class.map_or(gate.efficiency_percent, |class| class.band().0);
        let is_low = one
            .row
            .efficiency_percent
            .is_some_and(|percent| percent < low.max(gate.efficiency_percent));
        if missing_units(input, one.row).is_some() {
            return None;
        }
        if one.fallback.is_some() && (is_low || one.row.efficiency_percent.is_none()) {
            return Some(Pattern::Fallback);
        }
        if one.is_wide() && won_by_16_bit(input, one.row).is_some_and(|ns| ns > 0) {
            return Some(Pattern::WidePrecision);
        }
        if !is_low {
            return None;
        }
        let Some(shape) = one.shape.as_ref() else {
            return Some(Pattern::UnknownShape);
        };
        Some(if shape.is_depthwise() {
            Pattern::Depthwise
        } else if shape.groups > 1 && shape.group_channels() < NARROW_GROUP {
            Pattern::NarrowGroups
        } else if shape.channels() as f64 <= thresholds.conv_few_channels {
            Pattern::FewChannels
        } else if shape.positions() as f64 <= thresholds.conv_small_spatial {
            Pattern::SmallSpatial
        } else {
            Pattern::BelowBand
        })
    }
}

/// Layout changes first, then what is below its band, by pattern, then what no model counts.
pub(super) fn findings(
    input: &Input,
    seen: &[Seen],
    adjacent: &Adjacent,
    time_ns: i64,
) -> Vec<Finding> {
    let layout = layout_finding::finding(input, seen, adjacent, time_ns);
    let mut findings: Vec<Finding> = layout.into_iter().collect();
    let patterns: Vec<Option<Pattern>> = seen.iter().map(|one| Pattern::of(input, one)).collect();
    for pattern in PATTERNS {
        let of_pattern: Vec<&Seen> = seen
            .iter()
            .zip(&patterns)
            .filter(|(_, found)| **found == Some(pattern))
            .map(|(one, _)| one)
            .collect();
        findings.extend(named(input, pattern, &of_pattern));
    }
    let left: Vec<&Row> = seen
        .iter()
        .zip(&patterns)
        .filter(|(_, found)| found.is_none())
        .map(|(one, _)| one.row)
        .collect();
    let gate = Gate {
        time_ms: input.options.thresholds.conv_gate_ms,
        efficiency_percent: input.options.thresholds.gate_efficiency_percent,
    };
    findings.extend(unmodelled(input, &left, &gate, "convolution"));
    findings
}

fn named(input: &Input, pattern: Pattern, seen: &[&Seen]) -> Option<Finding> {
    let first = seen.first()?;
    let rows: Vec<&Row> = seen.iter().map(|one| one.row).collect();
    let subject = subject(input, seen);
    let time = time_and_share(sum(rows.iter().map(|row| row.time_ns)), input);
    let at = at_efficiency(efficiency(&rows));
    let takes = if seen.len() == 1 { "takes" } else { "take" };
    let usual = usual(seen);
    let patches = first.shape.as_ref().is_some_and(Shape::is_patches).then(|| {
        "compute it as what it is, one matrix product over patches: cut the image by a reshape, and multiply it with the filter as a matrix (`linear`).".to_owned()
    });
    let fallback = first.fallback.as_deref().unwrap_or_default();
    let fallback = format::middle_ellipsis(&format::kernel_name(fallback), 80);
    let channels = first.shape.as_ref().map_or(0, Shape::channels);
    let are_multiples = seen
        .iter()
        .filter_map(|one| one.shape.as_ref())
        .all(|shape| {
            let channels = [shape.channels(), shape.out_channels()];
            channels.into_iter().all(|channels| channels % 8 == 0)
        });
    let width = width(input, &rows);
    let wide_title = format!("Convolutions in {width}");
    let (title, issue, model, kernel) = match pattern {
        Pattern::Fallback => (
            "Convolutions by a fallback kernel",
            format!("{subject} {takes} {time}{at} in `{fallback}`{usual}."),
            "let the DNN library try its algorithms for these shapes once (benchmark mode), and check type, layout and groups against what its fast kernels accept.".to_owned(),
            "its name says that nothing better was found for this shape: add a tuned kernel for it.",
        ),
        Pattern::WidePrecision => (
            wide_title.as_str(),
            format!("{subject} {takes} {time}{at}, in {width} on a GPU with 16-bit matrix units."),
            format!("{}.", instead_of_32_bits(input, &rows)),
            "nothing to tune before the type is settled.",
        ),
        Pattern::FewChannels => (
            "Convolutions of few input channels",
            format!(
                "{subject} {takes} {time}{at}{usual}; there are {} only.",
                format::counted(channels, "input channel")
            ),
            patches.unwrap_or_else(|| {
                "pad the channels of the input and of the filter with zeros to 4 or 8, or fold neighbouring positions into channels.".to_owned()
            }),
            "have a kernel for few channels looked at with the reproducer.",
        ),
        Pattern::Depthwise => (
            "Depthwise convolutions far from the roof",
            format!("{subject} {takes} {time}{at}{usual}; each channel is computed by itself."),
            match wanted_format(seen) {
                Some(format) => format!(
                    "the layout `{format}` helps most depthwise kernels; beyond that the model would need fewer or wider groups."
                ),
                None => "the model would need fewer or wider groups.".to_owned(),
            },
            "depthwise convolutions need kernels of their own: have the reproducer looked at.",
        ),
        Pattern::NarrowGroups => (
            "Convolutions in narrow groups",
            format!(
                "{subject} {takes} {time}{at}; a group has {}, which fill a part of the tiles of matrix units.",
                format::counted(
                    first.shape.as_ref().map_or(0, Shape::group_channels),
                    "channel"
                )
            ),
            match wanted_format(seen) {
                Some(format) => format!(
                    "fewer, wider groups, where the model is still open; the layout `{format}` helps most kernels for groups."
                ),
                None => "fewer, wider groups, where the model is still open.".to_owned(),
            },
            "have a kernel for groups this narrow looked at with the reproducer.",
        ),
        Pattern::SmallSpatial => (
            "Convolutions on small images",
            format!(
                "{subject} {takes} {time}{at}{usual}; an image has {} only.",
                format::counted(first.shape.as_ref().map_or(0, Shape::positions), "position")
            ),
            patches.unwrap_or_else(|| "larger batches give the GPU more to do at once.".to_owned()),
            "splitting the sum over channels, or smaller tiles, would use more of the GPU: have the reproducer looked at.",
        ),
        Pattern::BelowBand => (
            "Convolutions below what is usual for their kind",
            format!("{subject} {takes} {time}{at}{usual}."),
            match wanted_format(seen) {
                _ if patches.is_some() => patches.unwrap_or_default(),
                format => {
                    let multiple = (!are_multiples).then(|| "channels multiples of 8".to_owned());
                    let format = format.map(|format| format!("tensors in `{format}`"));
                    let kept: Vec<String> = [multiple, format].into_iter().flatten().collect();
                    match kept.is_empty() {
                        true => "fuse what follows (`torch.compile`).".to_owned(),
                        false => format!(
                            "keep {}, and fuse what follows (`torch.compile`).",
                            kept.join(" and ")
                        ),
                    }
                }
            },
            "let the DNN library try its algorithms for these shapes (benchmark mode), then have the reproducer looked at.",
        ),
        Pattern::UnknownShape => (
            "Convolutions far from the roof",
            format!("{subject} {takes} {time}{at}."),
            "see whether a convolution of the framework or its DNN library does the same work."
                .to_owned(),
            "have the kernel looked at with the reproducer.",
        ),
    };
    let mut found = finding(
        input,
        &rows,
        true,
        Draft {
            pattern: pattern.key(),
            title: title.to_owned(),
            issue,
            model,
            kernel: kernel.to_owned(),
            reasoning: reasoning(input, first),
            tables: vec![shapes(seen)],
        },
    )?;
    let thresholds = &input.options.thresholds;
    let is_fair = |one: &&Seen| {
        let gate = one
            .shape
            .as_ref()
            .map_or(thresholds.gate_efficiency_percent, |shape| {
                shape.class().gate(thresholds)
            });
        one.row
            .efficiency_percent
            .is_some_and(|percent| percent >= gate)
    };
    if pattern != Pattern::WidePrecision && seen.iter().all(is_fair) {
        // Below its band, yet no bottleneck: worth a reproducer, not more.
        found.priority = Priority::Low;
    }
    let impacts: Vec<(usize, Impact)> = seen
        .iter()
        .filter_map(|one| Some((one.row.operation, impact(input, pattern, one)?)))
        .collect();
    let all = impacts.iter().map(|(_, impact)| *impact);
    found.impact = all.reduce(Impact::plus);
    found.savings = impacts
        .into_iter()
        .map(|(operation, impact)| (operation, impact.mid_ns))
        .collect();
    Some(found)
}

/// ", where 40–60 % are usual for a window of 1×1 and 60–80 % for a window of 7×7": each kind by its
/// longest.
fn usual(seen: &[&Seen]) -> String {
    let mut kinds: Vec<(Class, String)> = Vec::new();
    for one in seen {
        let Some(class) = one.shape.as_ref().map(Shape::class) else {
            continue;
        };
        if !kinds.iter().any(|(known, _)| *known == class) {
            kinds.push((class, one.kind_text()));
        }
    }
    let mut texts = kinds.into_iter().enumerate().map(|(at, (class, kind))| {
        let (low, high) = class.band();
        let are_usual = if at == 0 { " are usual" } else { "" };
        format!("{low:.0}–{high:.0} %{are_usual} for {kind}")
    });
    let Some(first) = texts.next() else {
        return String::new();
    };
    let rest: Vec<String> = texts.collect();
    match rest.split_last() {
        None => format!(", where {first}"),
        Some((last, [])) => format!(", where {first} and {last}"),
        Some((last, between)) => format!(", where {first}, {} and {last}", between.join(", ")),
    }
}

/// The format of PyTorch that would have the channels last of those whose channels lie apart; `None`
/// where they are last already, where strides do not tell, and where there is none.
fn wanted_format(seen: &[&Seen]) -> Option<&'static str> {
    let apart = |shape: &&Shape| shape.is_channels_last == Some(false);
    let mut apart = seen
        .iter()
        .filter_map(|one| one.shape.as_ref())
        .filter(apart);
    apart.find_map(|shape| channels_last(shape.n_dims()))
}

/// What the kernels that compute would win. Layout changes are worth a finding of their own, so
/// that their time is left out here.
fn impact(input: &Input, pattern: Pattern, one: &Seen) -> Option<Impact> {
    let computing_ns = one.row.time_ns.saturating_sub(one.layout.1).max(0);
    if pattern == Pattern::WidePrecision {
        let won_ns = won_by_16_bit(input, one.row)?;
        let won_ns = run_time::part(won_ns, computing_ns, one.row.time_ns);
        return Some(Impact::at_most(won_ns));
    }
    // What is usual of groups this narrow is not known.
    if pattern == Pattern::NarrowGroups {
        return None;
    }
    let Some(percent) = one.row.efficiency_percent else {
        return input.gpu().map(|_| Impact::heuristic(computing_ns));
    };
    Some(match &one.shape {
        Some(shape) => {
            let (low, high) = shape.class().band();
            let roof_ns = one.row.time_ns as f64 * percent / 100.0;
            Impact::of_band(computing_ns, roof_ns, low, high)
        }
        // What is usual for its kind is not known.
        None => Impact::of_efficiency(computing_ns, percent),
    })
}

/// What the data shows of one convolution.
fn reasoning(input: &Input, one: &Seen) -> Vec<String> {
    let mut sentences = Vec::new();
    let origin = Origin::of(input, one.operation);
    if let Some(path) = origin.path() {
        sentences.push(format!("It is called from `{path}`."));
    }
    let strings = &input.profile.trace.strings;
    let kernels = one.operation.kernels(input.profile);
    let computing = kernels
        .iter()
        .map(|(name, ..)| strings.get(*name))
        .find(|name| !super::is_layout_change(name));
    if let Some(name) = computing {
        let name = format::middle_ellipsis(&format::kernel_name(name), 80);
        sentences.push(format!("Its longest kernel is `{name}`."));
    }
    if one.layout.1 > 0 {
        sentences.push(format!(
            "Of its time, {} is in kernels that change the layout.",
            format::time_ns(one.layout.1)
        ));
    }
    if one.shape.as_ref().is_some_and(Shape::is_patches) {
        sentences.push(
            "Its windows do not overlap (the stride equals the window): the same result is one matrix product over patches."
                .to_owned(),
        );
    }
    let odd = one.shape.as_ref().and_then(|shape| {
        let channels = [shape.channels(), shape.out_channels()];
        channels.into_iter().find(|channels| channels % 8 != 0)
    });
    if let Some(odd) = odd.filter(|_| !one.is_wide()) {
        sentences.push(format!(
            "{odd} channels are no multiple of 8, which 16-bit matrix units are made for."
        ));
    }
    sentences.push(
        "A trace does not show why a kernel is slow: a reproducer under a hardware profiler does."
            .to_owned(),
    );
    sentences
}

/// Shapes of some convolutions.
fn shapes(seen: &[&Seen]) -> Table {
    /// More rows are in the sheets.
    const MAX_ROWS: usize = 10;
    let mut table = Table::new(
        "shapes",
        "Shapes",
        &[
            ("shape", "Input and filter"),
            ("kind", "Kind"),
            ("calls", "Calls"),
            ("time", "Time"),
            ("efficiency", "Of the roof"),
            ("layout", "Changing layouts"),
        ],
    );
    table.rows = seen
        .iter()
        .take(MAX_ROWS)
        .map(|one| {
            let sizes = one.shape.as_ref().map(Shape::sizes);
            vec![
                sizes.map_or(Value::Empty, Value::Text),
                Value::Text(one.class_text()),
                Value::Count(one.row.n_calls),
                Value::Ns(one.row.time_ns),
                Value::percent(one.row.efficiency_percent),
                Value::Ns(one.layout.1),
            ]
        })
        .collect();
    table
}

impl Seen<'_> {
    /// "a 3×3 window", for sentences about what is usual.
    fn kind_text(&self) -> String {
        match &self.shape {
            Some(shape) if shape.is_depthwise() => "depthwise convolutions".to_owned(),
            Some(shape) => {
                let window: Vec<String> = shape.window().iter().map(u64::to_string).collect();
                format!("a window of {}", window.join("×"))
            }
            None => "convolutions".to_owned(),
        }
    }
}
