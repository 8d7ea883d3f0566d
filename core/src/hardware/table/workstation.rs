//! NVIDIA's workstation and gaming GPUs.
//!
//! GeForce GPUs run FP16 and BF16 GEMMs with FP32 accumulation, which PyTorch requests, at half rate. The rates here
//! are with FP32 accumulation.

use super::super::Confidence::{Derived, ThirdParty, Vendor as Printed};
use super::super::GpuSpec;
use super::gpu;

#[rustfmt::skip]
pub(super) fn rows() -> Vec<GpuSpec> {
    vec![
        gpu("RTX-A6000", "NVIDIA RTX A6000", &["RTX A6000"]).chip(84, (8, 6)).memory(48.0, 768.0, Some(112.5))
            .source(Printed, "NVIDIA RTX A6000 datasheet").matrix_peaks("tf32 77.4, fp16 154.8, bf16 154.8, int8 309.7").vector_peaks("fp64 0.6, fp32 38.7"),
        gpu("RTX-6000-Ada", "NVIDIA RTX 6000 Ada", &["RTX 6000 Ada"]).chip(142, (8, 9)).memory(48.0, 960.0, Some(64.0))
            .source(Printed, "NVIDIA RTX 6000 Ada datasheet").matrix_peaks("tf32 182, fp16 364, bf16 364, fp8 728").vector_peaks("fp32 91.1"),
        gpu("RTX-PRO-6000", "NVIDIA RTX PRO 6000 Blackwell Workstation", &["RTX PRO 6000 Blackwell Workstation"]).chip(188, (12, 0)).memory(96.0, 1792.0, Some(128.0))
            .source(ThirdParty, PRO_BLACKWELL_MATRIX).matrix_peaks("tf32 251.9, fp16 503.8, bf16 503.8, fp8 1007.6, fp4 2015.2, int8 1007.6").source(Derived, PRO_BLACKWELL).vector_peaks("fp32 125"),
        gpu("RTX-3080", "NVIDIA GeForce RTX 3080", &["RTX 3080"]).chip(68, (8, 6)).memory(10.0, 760.0, Some(64.0))
            .source(Printed, AMPERE).matrix_peaks("tf32 29.8, fp16 59.5, bf16 59.5, int8 238").vector_peaks("fp64 0.47, fp32 29.8"),
        gpu("RTX-3090", "NVIDIA GeForce RTX 3090", &["RTX 3090"]).chip(82, (8, 6)).memory(24.0, 936.0, Some(112.5))
            .source(Printed, AMPERE).matrix_peaks("tf32 35.6, fp16 71, bf16 71, int8 284").vector_peaks("fp64 0.56, fp32 35.6"),
        gpu("RTX-4080", "NVIDIA GeForce RTX 4080", &["RTX 4080"]).chip(76, (8, 9)).memory(16.0, 716.8, Some(64.0))
            .source(Printed, ADA).matrix_peaks("tf32 48.7, fp16 97.5, bf16 97.5, fp8 194.9, int8 389.9").vector_peaks("fp64 0.76, fp32 48.7"),
        gpu("RTX-4090", "NVIDIA GeForce RTX 4090", &["RTX 4090"]).chip(128, (8, 9)).memory(24.0, 1008.0, Some(64.0))
            .source(Printed, ADA).matrix_peaks("tf32 82.6, fp16 165.2, bf16 165.2, fp8 330.3, int8 660.6").vector_peaks("fp64 1.29, fp32 82.6"),
        gpu("RTX-5080", "NVIDIA GeForce RTX 5080", &["RTX 5080"]).chip(84, (12, 0)).memory(16.0, 960.0, Some(128.0))
            .source(Derived, BLACKWELL).matrix_peaks("tf32 56.3, fp16 112.6, bf16 112.6, fp8 225.1, fp4 900.4, int8 450.2").vector_peaks("fp64 0.88, fp32 56.3"),
        gpu("RTX-5090", "NVIDIA GeForce RTX 5090", &["RTX 5090"]).chip(170, (12, 0)).memory(32.0, 1792.0, Some(128.0))
            .source(Derived, BLACKWELL).matrix_peaks("tf32 104.8, fp16 209.5, bf16 209.5, fp8 419, fp4 1676, int8 838").vector_peaks("fp64 1.64, fp32 104.8"),
    ]
}

const AMPERE: &str = "NVIDIA Ampere GA102 white paper";
const ADA: &str = "NVIDIA Ada white paper";
const BLACKWELL: &str = "NVIDIA RTX Blackwell white paper, half of sparse";
const PRO_BLACKWELL: &str = "NVIDIA RTX PRO 6000 Blackwell datasheet";
const PRO_BLACKWELL_MATRIX: &str = "hmc-tech.com; NVIDIA prints 4000 TOPS of sparse FP4 only";
