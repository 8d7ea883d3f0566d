//! The part of the Compare view above its tables.

use dormer_core::base::format;
use dormer_core::base::interval::percent_of;
use dormer_core::compare::{Comparison, PartKind, Step, TraceProperties, Which};
use dormer_core::names::Family;
use dormer_core::report::overview::{Limit, SplitKind, split};

use crate::protocol::{CompareFacts, ComparedSide, VerdictCount, WaterfallStep, sheet};

/// Waterfall steps that are named individually.
const STEPS: usize = 12;

/// Everything except the tables and files.
pub(super) fn facts(comparison: &Comparison) -> CompareFacts {
    let total = comparison.parts.total;
    let longest = total.reference.max(total.target);
    let (steps, scale_from) = waterfall(comparison);
    CompareFacts {
        headline: comparison.headline("The target", "the reference"),
        sentences: sentences(comparison),
        losses: match comparison.is_same() {
            true => Vec::new(),
            false => comparison.lost(),
        },
        sides: [Which::Reference, Which::Target]
            .into_iter()
            .map(|which| {
                let about = comparison.sides.get(which);
                side(which, about, *total.get(which), longest)
            })
            .collect(),
        limits: limits(comparison),
        steps,
        scale_from,
        verdicts: verdicts(comparison),
        findings: super::gaps::findings(comparison),
        waste: super::gaps::waste(comparison),
        ..CompareFacts::default()
    }
}

/// What limits trust in either trace, each with its side.
fn limits(comparison: &Comparison) -> Vec<Limit> {
    let sides = [Which::Reference, Which::Target].into_iter();
    let limits = sides.flat_map(|which| {
        let about = comparison.sides.get(which);
        about.limits.iter().map(move |limit| Limit {
            label: format!("{}: {}", role(which), limit.label),
            ..limit.clone()
        })
    });
    limits.collect()
}

/// How much of the difference the hardware explains, and caveats.
fn sentences(comparison: &Comparison) -> Vec<String> {
    if comparison.is_same() {
        return Vec::new();
    }
    let explained = &comparison.explained;
    let operations = format::counted(explained.n_operations as u64, "operation");
    let [reference, expected, target] = [
        explained.scaled_ns,
        explained.expected_ns,
        explained.times.target,
    ]
    .map(format::time_ns);
    let take = match explained.n_operations {
        1 => "takes",
        _ => "take",
    };
    let for_as_many = match explained.by_calls_ns() {
        0 => "",
        _ => " for as many calls",
    };
    let how_much = match explained.n_operations {
        0 => None,
        _ if comparison.is_same_gpu => Some(format!(
            "Both ran on the same GPU, so the same call should take the same time: {operations} {take} {target} where {expected} is expected."
        )),
        _ => Some(format!(
            "The hardware predicts {expected} for {operations} that {take} {reference} in the reference{for_as_many}; the target takes {target}."
        )),
    };
    let sides = comparison.sides.as_ref().map(|side| side.window.as_ref());
    let target = sides.target.map(|of| &of.window);
    let no_step = target.filter(|_| sides.reference.is_none()).and_then(|of| {
        if of.step.is_some() {
            return Some("The reference has no step of that name: the step is compared with the whole reference.");
        }
        let is_gpu = of.device.is_some();
        is_gpu.then_some("The reference has no such GPU among several: the GPU is compared with the whole reference.")
    });
    let no_step = no_step.map(str::to_owned);
    let caveats = comparison.caveats_of_both().into_iter();
    let work = comparison.work.as_ref().map(|work| work.sentence());
    let first = work.into_iter().chain(how_much);
    first.chain(caveats).chain(no_step).collect()
}

fn role(which: Which) -> &'static str {
    match which {
        Which::Reference => "Reference",
        Which::Target => "Target",
    }
}

fn side(which: Which, about: &TraceProperties, total_ns: i64, longest_ns: i64) -> ComparedSide {
    ComparedSide {
        role: role(which).to_owned(),
        name: about.name.clone(),
        device: about.platform.clone().unwrap_or_default(),
        total: match about.timeline {
            Some(_) => format::time_ns(total_ns),
            None => String::new(),
        },
        percent: percent_of(total_ns, longest_ns).unwrap_or_default(),
        split: about.timeline.as_ref().map(split).unwrap_or_default(),
    }
}

/// The steps including both ends, and where their scale starts.
fn waterfall(comparison: &Comparison) -> (Vec<WaterfallStep>, Option<String>) {
    let steps = comparison.parts.waterfall(STEPS);
    let total = comparison.parts.total;
    let [reference, target] = [&comparison.sides.reference, &comparison.sides.target];
    // A time that was not recorded is not zero.
    let is_known = reference.timeline.is_some() && target.timeline.is_some();
    if steps.is_empty() || !is_known {
        return (Vec::new(), None);
    }
    let ends = steps.iter().flat_map(|step| [step.from_ns, step.to_ns]);
    let all: Vec<i64> = ends.chain([total.reference, total.target]).collect();
    let least = all.iter().copied().min().unwrap_or(0).min(total.reference);
    let most = all.iter().copied().max().unwrap_or(0);
    let from_ns = scale_start(least, most);
    let width = (most - from_ns).max(1) as f64;
    let at = |ns: i64| ((ns - from_ns) as f64 * 100.0 / width).clamp(0.0, 100.0);
    let end = |which: Which| WaterfallStep {
        label: role(which).to_owned(),
        kind: "total".to_owned(),
        token: String::new(),
        span: (0.0, at(*total.get(which))),
        reference: String::new(),
        target: String::new(),
        difference: format::time_ns(*total.get(which)),
        row: None,
    };
    let step = |step: &Step| {
        let difference = step.times.difference();
        let times = step.times.map(format::time_ns);
        WaterfallStep {
            label: format::kernel_name(&step.label),
            kind: match difference {
                0 => "equal",
                1.. => "slower",
                _ => "faster",
            }
            .to_owned(),
            token: token(step),
            span: (
                at(step.from_ns.min(step.to_ns)),
                at(step.from_ns.max(step.to_ns)),
            ),
            reference: times.reference,
            target: times.target,
            difference: format::signed_time_ns(difference),
            row: row(step),
        }
    };
    let steps = std::iter::once(end(Which::Reference))
        .chain(steps.iter().map(step))
        .chain([end(Which::Target)])
        .collect();
    (steps, (from_ns > 0).then(|| format::time_ns(from_ns)))
}

/// If the steps are small relative to the totals, the scale starts near the totals; otherwise at zero.
fn scale_start(least: i64, most: i64) -> i64 {
    /// The scale starts at zero unless the lowest value is more than this many times the spread of the steps.
    const PART: i64 = 2;
    let spread = most.saturating_sub(least);
    match least > spread.saturating_mul(PART) {
        // Below the lowest value, add space so that both ends are visible as bars.
        true => least.saturating_sub(spread / PART),
        false => 0,
    }
}

/// The table of operations that has a step, and its row there.
fn row(step: &Step) -> Option<(String, u32)> {
    let (table, at) = match step.kind? {
        PartKind::Matched(at) => (sheet::OPERATIONS, at),
        PartKind::Unmatched(Which::Target, at) => (sheet::TARGET_ONLY, at),
        PartKind::Unmatched(Which::Reference, at) => (sheet::REFERENCE_ONLY, at),
        _ => return None,
    };
    Some((table.to_owned(), u32::try_from(at).ok()?))
}

fn token(step: &Step) -> String {
    let of_kind = match step.kind {
        Some(PartKind::Unattributed | PartKind::Tuning) => Some(Family::Unattributed.token()),
        Some(PartKind::ExposedCommunication) => Some(SplitKind::ExposedCommunication.token()),
        Some(PartKind::ExposedCopies) => Some(SplitKind::ExposedCopies.token()),
        Some(PartKind::Idle) => Some(SplitKind::Idle.token()),
        _ => None,
    };
    let token = step.family.map(Family::token).or(of_kind);
    token.unwrap_or_default().to_owned()
}

/// The verdicts on operations, the most urgent first.
fn verdicts(comparison: &Comparison) -> Vec<VerdictCount> {
    let counts = comparison.operations.verdicts().into_iter();
    counts
        .map(|count| VerdictCount {
            key: count.verdict.key().to_owned(),
            label: count.verdict.label_on(comparison.is_same_gpu).to_owned(),
            count: format::count(count.n_operations as u64),
            difference: format::signed_time_ns(count.times.difference()),
        })
        .collect()
}
