//! Intel's accelerators.
//!
//! The Max 1550 is chosen by name only: PyTorch sees each of its two stacks as a device unless told
//! otherwise, and a trace does not say which.

use super::{
    Basis::Peak,
    Confidence::{Derived, ThirdParty},
    GpuSpec,
    Precision::{Bf16, Fp8, Fp16, Fp32, Fp64, Int8, Tf32},
    Vendor::Intel,
    rates, text,
};

pub(super) const INTEL: &[GpuSpec] = &[
    GpuSpec {
        id: text("Max-1550"),
        name: text("Intel Data Center GPU Max 1550"),
        vendor: Some(Intel),
        patterns: &[],
        n_sms: None,
        compute: None,
        memory_gb: Some(128.0),
        mem_bw_gbps: 3277.0,
        mem_bw_basis: Peak,
        link_gbps: None,
        source: text("Intel Data Center GPU Max 1550 figures, both stacks"),
        confidence: Derived,
        matrix_peak: Some(rates(
            &[(Tf32, 419.0), (Fp16, 839.0), (Bf16, 839.0), (Int8, 1678.0)],
            "Intel Data Center GPU Max 1550 figures, both stacks",
            Derived,
        )),
        matrix_achievable: None,
        vector_peak: Some(rates(
            &[(Fp64, 52.0), (Fp32, 52.0)],
            "Intel Data Center GPU Max 1550 figures, both stacks",
            Derived,
        )),
        vector_achievable: None,
    },
    GpuSpec {
        id: text("Gaudi-2"),
        name: text("Intel Gaudi 2"),
        vendor: Some(Intel),
        patterns: &["Gaudi 2", "Gaudi2", "HL 225"],
        n_sms: None,
        compute: None,
        memory_gb: Some(96.0),
        mem_bw_gbps: 2450.0,
        mem_bw_basis: Peak,
        link_gbps: Some(600.0),
        source: text("Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8"),
        confidence: Derived,
        matrix_peak: Some(rates(
            &[(Fp16, 432.0), (Bf16, 432.0), (Fp8, 865.0)],
            "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8",
            Derived,
        )),
        matrix_achievable: None,
        vector_peak: Some(rates(
            &[(Fp32, 11.0)],
            "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8",
            Derived,
        )),
        vector_achievable: None,
    },
    GpuSpec {
        id: text("Gaudi-3"),
        name: text("Intel Gaudi 3"),
        vendor: Some(Intel),
        patterns: &["Gaudi 3", "Gaudi3", "HL 325L"],
        n_sms: None,
        compute: None,
        memory_gb: Some(128.0),
        mem_bw_gbps: 3700.0,
        mem_bw_basis: Peak,
        link_gbps: Some(1200.0),
        source: text("Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS"),
        confidence: ThirdParty,
        matrix_peak: Some(rates(
            &[(Fp16, 1835.0), (Bf16, 1835.0), (Fp8, 1835.0)],
            "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS",
            ThirdParty,
        )),
        matrix_achievable: None,
        vector_peak: Some(rates(
            &[(Fp32, 14.0)],
            "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS",
            ThirdParty,
        )),
        vector_achievable: None,
    },
];
