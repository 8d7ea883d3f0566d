//! Intel's accelerators.
//!
//! By default PyTorch sees each of the two stacks of a Max 1550 as a device; its memory tells whether it does.

use super::super::Confidence::{Derived, ThirdParty};
use super::super::GpuSpec;
use super::gpu;

#[rustfmt::skip]
pub(super) fn rows() -> Vec<GpuSpec> {
    vec![
        gpu("Max-1550-stack", "Intel Data Center GPU Max 1550, one stack", &["GPU Max 1550"]).memory(64.0, 1638.0, None)
            .source(Derived, "Intel Data Center GPU Max 1550 figures, half of the card").matrix_peaks("tf32 209.5, fp16 419.5, bf16 419.5, int8 839").vector_peaks("fp64 26, fp32 26"),
        gpu("Max-1550", "Intel Data Center GPU Max 1550", &["GPU Max 1550"]).memory(128.0, 3277.0, None)
            .source(Derived, "Intel Data Center GPU Max 1550 figures, both stacks").matrix_peaks("tf32 419, fp16 839, bf16 839, int8 1678").vector_peaks("fp64 52, fp32 52"),
        gpu("Gaudi-2", "Intel Gaudi 2", &["Gaudi 2", "Gaudi2", "HL 225"]).memory(96.0, 2450.0, Some(600.0))
            .source(Derived, "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8").matrix_peaks("fp16 432, bf16 432, fp8 865").vector_peaks("fp32 11"),
        gpu("Gaudi-3", "Intel Gaudi 3", &["Gaudi 3", "Gaudi3", "HL 325L"]).memory(128.0, 3700.0, Some(1200.0))
            .source(ThirdParty, "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS").matrix_peaks("fp16 1835, bf16 1835, fp8 1835").vector_peaks("fp32 14"),
    ]
}
