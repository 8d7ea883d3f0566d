//! The position of an operation relative to the roofline, or why that is unknown.

use super::{DetailsSubject, Instance, Part};
use crate::assess::rates::mean_rate;
use crate::base::format;
use crate::findings::Assessment;
use crate::hardware::roofline::Bound;
use crate::profile::Profile;
use crate::profile::operations::recorded_flops::recorded_flops;
use crate::report::Report;

const NO_GPU: &str =
    "No GPU is chosen: choose one under GPU at the top of the page to see % of roofline.";
const NO_ARGUMENTS: &str = "Its shapes were not recorded, so its FLOPs and bytes are unknown: record with record_shapes=True.";
const NO_OPERATOR: &str = "No operator above it is known, so its FLOPs and bytes are unknown. ProfilerActivity.CPU records operators, record_shapes=True their shapes.";
const SLIDING_WINDOW: &str = "It uses sliding-window attention, and the window size is not recorded, so its FLOPs and bytes are unknown.";
const READS_LESS: &str = "It reads less than the full context: reading all keys and values would exceed the memory bandwidth, so its FLOPs and bytes are unknown.";
const NO_MODEL: &str = "There is no FLOP/byte model for such a call.";
const OVER_LINK: &str =
    "It copies between memories over a link, whose bandwidth is not in the GPU's figures.";
/// The GPU has no figure, or the bytes are unknown.
const NO_FIGURE: &str =
    "The GPU has no figure for this arithmetic, or the bytes moved are not known.";
const NO_TIME: &str = "Its calls have no GPU time.";
const SEVERAL_SHAPES: &str =
    "The % of roofline is computed for one set of shapes: see the operations below.";
const PART_OF_OPERATION: &str = "The % of roofline is computed for whole operations: see the operations below that run this kernel.";
const NO_CALLER: &str = "No call is known that launched it, so its FLOPs and bytes are unknown.";
const AROUND_OPERATIONS: &str =
    "The % of roofline is computed for single operations: see those inside, below.";
const COMMUNICATION: &str =
    "Communication has no roofline: how long it takes depends on other GPUs and the links to them.";
const NO_WORK: &str = "Nothing that it calls runs on the GPU.";

/// The position of an operation relative to the roofline.
#[derive(Debug, Default)]
pub(super) struct Position {
    /// The answer in a sentence, or why there is none.
    pub(super) verdict: String,
    /// Whether the roofline and the efficiency of the calls are known.
    pub(super) is_known: bool,
    /// The percentage of roofline, if it is plausible.
    pub(super) efficiency_percent: Option<f64>,
}

impl Position {
    /// The position of a subject in a report. For anything but an operation, the reason why it has none is derived from
    /// the operations that it has GPU activity of.
    pub(super) fn of(
        profile: &Profile,
        report: &Report,
        subject: DetailsSubject,
        instances: &[Instance],
        parts: &[Part],
    ) -> Position {
        let known = match subject {
            DetailsSubject::Operation(at) => of_operation(profile, report, at),
            _ if instances.iter().all(|instance| instance.work.is_empty()) => Err(NO_WORK),
            DetailsSubject::Kernel(key) if key.launcher.is_none() => Err(NO_CALLER),
            // All GPU time belongs to operations, except that of collectives.
            _ if parts.is_empty() => Err(COMMUNICATION),
            DetailsSubject::Operator(_) => Err(SEVERAL_SHAPES),
            DetailsSubject::Kernel(_) => Err(PART_OF_OPERATION),
            DetailsSubject::Call(_) => Err(AROUND_OPERATIONS),
        };
        known.unwrap_or_else(|why| {
            let counted = match subject {
                DetailsSubject::Operation(at) => counted_by_profiler(profile, report, at),
                _ => None,
            };
            Position {
                verdict: format!("{why}{}", counted.unwrap_or_default()),
                ..Position::default()
            }
        })
    }
}

/// The profiler's own FLOP count, if no model provides one.
fn counted_by_profiler(profile: &Profile, report: &Report, at: usize) -> Option<String> {
    let operation = profile.operations().get(at)?;
    report
        .evaluations
        .get(at)
        .filter(|evaluation| evaluation.work.is_none())?;
    let flops = recorded_flops(profile, operation)?;
    let rate = mean_rate(&operation.times_us, Some(flops));
    let rate = rate.map_or(String::new(), |rate| format!(", {}", format::tflops(rate)));
    Some(format!(
        " The profiler itself counted {} a call{rate}; without its bytes there is no roofline.",
        format::flops(flops)
    ))
}

fn of_operation(profile: &Profile, report: &Report, at: usize) -> Result<Position, &'static str> {
    let operation = profile.operations().get(at).ok_or(NO_MODEL)?;
    let evaluation = report.evaluations.get(at).ok_or(NO_MODEL)?;
    evaluation.work.ok_or(match operation {
        _ if operation.sees_window => SLIDING_WINDOW,
        _ if !operation.is_linked => NO_CALLER,
        _ if operation.is_kernel() => NO_OPERATOR,
        _ if operation.key.args.is_none() => NO_ARGUMENTS,
        _ => NO_MODEL,
    })?;
    if evaluation.reads_less {
        return Err(READS_LESS);
    }
    if evaluation.is_over_link && evaluation.roofline.is_some() {
        return Err(OVER_LINK);
    }
    let options = &report.options;
    let roofline = evaluation.roofline.ok_or(match options.gpu {
        None => NO_GPU,
        Some(_) => NO_FIGURE,
    })?;
    let percent = evaluation.achieved.ok_or(NO_TIME)?.percent_of_roofline;
    // It is unknown how the sizes of a model are padded.
    let is_least = operation
        .estimate
        .as_ref()
        .is_some_and(|known| known.is_least);
    let share = match is_least && !evaluation.is_anomaly {
        true => format!("At least {}", format::percent(percent)),
        false => format::percent(percent),
    };
    if evaluation.is_anomaly {
        return Ok(Position {
            verdict: format!(
                "{share} of its roofline: shapes, times or GPU figures are not those of this run, or the data stays in caches."
            ),
            is_known: true,
            efficiency_percent: None,
        });
    }
    // The analysis of its kind knows what is typical.
    let by_kind = report.analyses.assessment(at);
    let alone = Assessment::of(percent, &options.thresholds);
    let assessment = by_kind.unwrap_or(alone);
    let among = match assessment == alone {
        true => "",
        false => " for its kind",
    };
    let bound = match roofline.bound {
        Bound::Compute => "compute",
        Bound::Memory => "memory",
    };
    Ok(Position {
        verdict: format!(
            "{share} of its roofline, bound by {bound}: {}{among}.",
            assessment.label()
        ),
        is_known: true,
        efficiency_percent: Some(percent),
    })
}
