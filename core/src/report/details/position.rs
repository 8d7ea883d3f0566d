//! Where an operation stands under the roofline, or why that cannot be told.

use super::{Instance, Part, Subject};
use crate::assess::Judged;
use crate::base::format;
use crate::findings::Assessment;
use crate::hardware::roofline::{Achieved, Bound, Roofline};
use crate::perf::Work;
use crate::profile::Profile;
use crate::profile::operations::Operation;
use crate::report::Report;

/// Where an operation stands under the roofline.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Position {
    /// Under, or above, a roofline that is known.
    Known {
        /// The work of one call.
        work: Work,
        /// The roofline over it.
        roof: Roofline,
        /// How close the calls come.
        achieved: Achieved,
        /// Operations a second, in 10¹².
        tflops_per_s: Option<f64>,
        /// Bytes a second, in 10¹².
        tb_per_s: Option<f64>,
        /// What to think of it; `None` for more than the hardware can do.
        assessment: Option<Assessment>,
    },
    /// No roof: why, and the work of a call where that is known.
    Unknown(NoRoof, Option<Work>),
}

/// Why it cannot be told how close to the hardware something is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoRoof {
    /// No GPU is chosen, and the trace names none that is known.
    Gpu,
    /// The arguments were not recorded.
    Arguments,
    /// A kernel without an operator above it.
    Operator,
    /// Nothing says how much work such a call is.
    Model,
    /// It copies between host and GPU.
    Link,
    /// The GPU has no figure for such arithmetic, or the bytes are not known.
    Figure,
    /// The calls have no GPU time.
    Time,
    /// It stands for operations of several shapes.
    SeveralShapes,
    /// A kernel is a part of an operation.
    PartOfOperation,
    /// Nobody knows what called the kernel.
    Caller,
    /// Other operations are inside.
    AroundOperations,
    /// It waits for other GPUs.
    Communication,
    /// Nothing runs on the GPU for it.
    NoWork,
}

impl NoRoof {
    /// A sentence for people.
    pub fn sentence(self) -> &'static str {
        match self {
            NoRoof::Gpu => {
                "No GPU is chosen to measure by: choose one under GPU at the top of the page."
            }
            NoRoof::Arguments => {
                "Its shapes were not recorded, so its FLOPs and bytes are unknown: record with record_shapes=True."
            }
            NoRoof::Operator => {
                "No operator above it is known, so its FLOPs and bytes are unknown. ProfilerActivity.CPU records operators, record_shapes=True their shapes."
            }
            NoRoof::Model => "There is no FLOP/byte model for such a call.",
            NoRoof::Link => {
                "It copies between memories: how fast that can be depends on the link, of which the GPU's figures say nothing."
            }
            NoRoof::Figure => {
                "The GPU has no figure for this arithmetic, or the bytes moved are not known."
            }
            NoRoof::Time => "Its calls have no GPU time.",
            NoRoof::SeveralShapes => "A roofline is over one shape: see the operations below.",
            NoRoof::PartOfOperation => {
                "A roofline is over a whole operation: see the operations below that run this kernel."
            }
            NoRoof::Caller => {
                "No call is known that launched it, so its FLOPs and bytes are unknown."
            }
            NoRoof::AroundOperations => {
                "A roofline is over one operation: see those inside, below."
            }
            NoRoof::Communication => {
                "Communication has no roofline: how long it takes depends on other GPUs and the links to them."
            }
            NoRoof::NoWork => "Nothing that it calls runs on the GPU.",
        }
    }
}

impl Position {
    /// Of a subject under a report: of an operation by itself, of anything else by what it has
    /// GPU activity of.
    pub(super) fn of(
        profile: &Profile,
        report: &Report,
        subject: Subject,
        instances: &[Instance],
        parts: &[Part],
    ) -> Position {
        let unknown = |why| Position::Unknown(why, None);
        match subject {
            Subject::Operation(at) => {
                let operation = profile.operations().get(at);
                let judged = report.judged.get(at);
                judged
                    .zip(operation)
                    .map_or(unknown(NoRoof::Model), |(judged, operation)| {
                        Position::of_judged(report, judged, at, operation)
                    })
            }
            _ if instances.iter().all(|instance| instance.work.is_empty()) => {
                unknown(NoRoof::NoWork)
            }
            Subject::Kernel(key) if key.launcher.is_none() => unknown(NoRoof::Caller),
            // All GPU time belongs to operations but that of collectives.
            _ if parts.is_empty() => unknown(NoRoof::Communication),
            Subject::Operator(_) => unknown(NoRoof::SeveralShapes),
            Subject::Kernel(_) => unknown(NoRoof::PartOfOperation),
            Subject::Call(_) => unknown(NoRoof::AroundOperations),
        }
    }

    fn of_judged(report: &Report, judged: &Judged, at: usize, operation: &Operation) -> Position {
        let Some(work) = judged.work else {
            let why = match operation {
                _ if !operation.is_linked => NoRoof::Caller,
                _ if operation.is_kernel() => NoRoof::Operator,
                _ if operation.key.args.is_none() => NoRoof::Arguments,
                _ => NoRoof::Model,
            };
            return Position::Unknown(why, None);
        };
        if judged.is_over_link && judged.roof.is_some() {
            return Position::Unknown(NoRoof::Link, Some(work));
        }
        let Some(roof) = judged.roof else {
            let why = match report.options.gpu {
                None => NoRoof::Gpu,
                Some(_) => NoRoof::Figure,
            };
            return Position::Unknown(why, Some(work));
        };
        let Some(achieved) = judged.achieved else {
            return Position::Unknown(NoRoof::Time, Some(work));
        };
        let thresholds = &report.options.thresholds;
        Position::Known {
            work,
            roof,
            achieved,
            tflops_per_s: judged.tflops_per_s,
            tb_per_s: judged.tb_per_s,
            assessment: (!judged.is_anomaly).then(|| {
                // What is usual of its kind is known to the analysis of its kind.
                let by_kind = report.analyses.assessment(at);
                by_kind.unwrap_or_else(|| Assessment::of(achieved.roof_percent, thresholds))
            }),
        }
    }

    /// The share of the roofline, where it is to be believed.
    pub fn efficiency_percent(&self) -> Option<f64> {
        match self {
            Position::Known {
                achieved,
                assessment: Some(_),
                ..
            } => Some(achieved.roof_percent),
            _ => None,
        }
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> String {
        match self {
            Position::Unknown(why, _) => why.sentence().to_owned(),
            Position::Known {
                achieved,
                assessment: None,
                ..
            } => format!(
                "{} of its roofline: faster than the GPU can be, so shapes, times or the figures of the GPU must be wrong.",
                format::percent(achieved.roof_percent)
            ),
            Position::Known {
                roof,
                achieved,
                assessment: Some(assessment),
                ..
            } => {
                let bound = match roof.bound {
                    Bound::Compute => "arithmetic",
                    Bound::Memory => "memory",
                };
                format!(
                    "{} of its roofline, bound by {bound}: {}.",
                    format::percent(achieved.roof_percent),
                    assessment.label()
                )
            }
        }
    }
}
