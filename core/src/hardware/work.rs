//! The work of an operator: floating-point operations, bytes, and the units that do it.

use super::Precision;
use crate::base::labels::labeled;

/// The work of an operator, independent of the hardware.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Floating-point operations. A multiply-add counts as two.
    pub flops: f64,
    /// Bytes to and from memory, each operand once; `None` if the size of an element is unknown.
    pub bytes: Option<f64>,
    /// The units that do the operations; `None` for arithmetic without a peak, such as on 64-bit integers.
    pub compute: Option<ComputeSpec>,
}

impl Work {
    /// The work scaled by a factor.
    pub(crate) fn times(self, factor: f64) -> Work {
        Work {
            flops: self.flops * factor,
            bytes: self.bytes.map(|bytes| bytes * factor),
            ..self
        }
    }

    /// Arithmetic intensity; `None` if bytes are unknown or zero.
    pub fn flops_per_byte(&self) -> Option<f64> {
        self.bytes
            .filter(|bytes| *bytes > 0.0)
            .map(|bytes| self.flops / bytes)
    }
}

/// A type of compute unit and a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeSpec {
    /// Matrix or vector units.
    pub unit: Unit,
    /// The precision of the operands.
    pub precision: Precision,
}

impl ComputeSpec {
    /// As in TraceLens: "matrix_bf16".
    pub fn label(self) -> String {
        format!("{}_{}", self.unit.label(), self.precision.key())
    }
}

labeled! {
    /// Compute units of a GPU.
    pub enum Unit {
        /// Tensor cores, matrix cores.
        Matrix => "matrix",
        /// Everything else.
        Vector => "vector",
    }
}
