//! The axis of a reduction, from its arguments.

use crate::profile::Profile;
use crate::profile::operations::Operation;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Axis {
    /// Elements of the input.
    pub(crate) elements: f64,
    /// Number of results, each reduced separately.
    pub(crate) results: f64,
    /// Whether elements that are adjacent in memory belong to different results; `None` for a single element.
    pub(crate) is_strided: Option<bool>,
}

/// Position of the dimensions argument: `sum(x, dims)`, `norm(x, p, dims)`.
#[rustfmt::skip]
const DIMS: &[(usize, &[&str])] = &[
    (1, &[
        "aten::sum", "aten::mean", "aten::amax", "aten::amin", "aten::max", "aten::min",
        "aten::argmax", "aten::argmin", "aten::prod", "aten::all", "aten::any", "aten::std",
        "aten::var", "aten::var_mean", "aten::std_mean", "aten::logsumexp", "aten::_softmax",
        "aten::_log_softmax", "aten::_safe_softmax", "aten::softmax", "aten::log_softmax",
    ]),
    (2, &["aten::norm", "aten::linalg_vector_norm"]),
];

impl Axis {
    /// Reads the axis; `None` if the arguments do not contain it.
    pub(crate) fn of(profile: &Profile, operation: &Operation) -> Option<Axis> {
        let name = profile.trace.strings.get(operation.key.name);
        let (position, _) = DIMS.iter().find(|(_, names)| names.contains(&name))?;
        let arguments = operation.arguments(profile)?;
        let x = arguments.tensor(0)?;
        // `max(x, y)` compares two tensors.
        if arguments.tensor(*position).is_some() {
            return None;
        }
        let dims = arguments.integer_dims(*position).unwrap_or_default();
        let n_dims = x.shape.len() as i64;
        let is_reduced = |dim: usize| {
            let dim = dim as i64;
            dims.is_empty()
                || dims
                    .iter()
                    .any(|asked| *asked == dim || *asked + n_dims == dim)
        };
        let contiguous = || x.shape.iter().rposition(|size| *size > 1);
        let kept = x
            .shape
            .iter()
            .enumerate()
            .filter(|(dim, _)| !is_reduced(*dim));
        // Where strides are not recorded, tensors count as contiguous.
        let innermost = x.strides.map_or_else(contiguous, |strides| {
            let laid = x.shape.iter().zip(strides).enumerate();
            laid.filter(|(_, (size, stride))| **size > 1 && **stride > 0)
                .min_by_key(|(dim, (_, stride))| (**stride, std::cmp::Reverse(*dim)))
                .map(|(dim, _)| dim)
        });
        Some(Axis {
            elements: x.n(),
            results: kept.map(|(_, size)| *size as f64).product(),
            is_strided: innermost.map(|dim| !is_reduced(dim)),
        })
    }
}
