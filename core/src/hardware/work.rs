//! What an operator asks of a GPU: floating-point operations, bytes, and the units that do it.

use super::Precision;
use crate::base::labels::labelled;

/// What an operator does, whatever the hardware.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Work {
    /// Floating-point operations. A multiplication with an addition counts two.
    pub flops: f64,
    /// Bytes to and from memory, each operand once; `None` where an element's size is unknown.
    pub bytes: Option<f64>,
    /// The units that do the operations; `None` for arithmetic without a peak, such as that on
    /// 64-bit integers.
    pub compute: Option<ComputeSpec>,
}

impl Work {
    /// A share of it, or several times as much.
    pub(crate) fn times(self, factor: f64) -> Work {
        Work {
            flops: self.flops * factor,
            bytes: self.bytes.map(|bytes| bytes * factor),
            ..self
        }
    }

    /// Operations for each byte; `None` where no bytes are known or none move.
    pub fn flops_per_byte(&self) -> Option<f64> {
        self.bytes
            .filter(|bytes| *bytes > 0.0)
            .map(|bytes| self.flops / bytes)
    }
}

/// Which units, in which precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ComputeSpec {
    /// Matrix or vector units.
    pub unit: Unit,
    /// The precision of the operands.
    pub precision: Precision,
}

impl ComputeSpec {
    /// As the reference writes it: "matrix_bf16".
    pub fn label(self) -> String {
        format!("{}_{}", self.unit.label(), self.precision.key())
    }
}

labelled! {
    /// Units of a GPU.
    pub enum Unit {
        /// Tensor cores, matrix cores.
        Matrix => "matrix",
        /// Everything else.
        Vector => "vector",
    }
}
