//! Why nothing is merged with a replay.

use serde::Serialize;

use crate::base::format;

/// Why nothing is merged with a replay.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub enum Why {
    /// No capture launches the same kernels; the closest one has this many in common.
    Unlike {
        /// Number of matching kernels.
        n_matched: u64,
    },
    /// Captures of several sizes launch the same kernels, and the number of tokens in the step is unknown.
    Ambiguous {
        /// The sizes.
        sizes: Vec<u64>,
    },
    /// The step has more tokens than any capture.
    TooSmall {
        /// The largest capture.
        captured: u64,
        /// The tokens of the step.
        tokens: u64,
    },
}

impl Why {
    /// The reason as a clause, to follow a colon.
    pub(super) fn clause(&self) -> String {
        let count = |n: u64| format::count(n);
        match self {
            Why::Unlike { n_matched: 0 } => "no capture launches these kernels".to_owned(),
            Why::Unlike { n_matched } => format!(
                "no capture launches these kernels; {} of them at most match in order",
                count(*n_matched)
            ),
            Why::Ambiguous { sizes } if sizes.len() < 2 => {
                "several captures with other shapes launch these kernels, and the trace does not show which one it is".to_owned()
            }
            Why::Ambiguous { sizes } => {
                let sizes: Vec<String> = sizes.iter().map(|size| count(*size)).collect();
                format!(
                    "captures of several sizes ({}) launch these kernels, and no annotation says how many tokens the step has",
                    sizes.join(", ")
                )
            }
            Why::TooSmall { captured: 0, tokens } => format!(
                "the step has {} tokens, and no capture is that large",
                count(*tokens)
            ),
            Why::TooSmall { captured, tokens } => format!(
                "the step has {} tokens, and the largest capture of these kernels has {}",
                count(*tokens),
                count(*captured)
            ),
        }
    }
}
