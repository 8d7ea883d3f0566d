//! Intel's accelerators.
//!
//! The Max 1550 is chosen by name only: PyTorch sees each of its two stacks as a device unless told
//! otherwise, and a trace does not say which.

use super::{
    Confidence::{Derived, ThirdParty},
    GpuSpec,
    Precision::{Bf16, Fp8, Fp16, Fp32, Fp64, Int8, Tf32},
    Rates,
    Vendor::Intel,
};

pub(super) const INTEL: &[GpuSpec] = &[
    GpuSpec {
        id: "Max-1550",
        name: "Intel Data Center GPU Max 1550",
        vendor: Intel,
        patterns: &[],
        n_sms: None,
        compute: None,
        memory_gb: 128.0,
        mem_bw_gbps: 3277.0,
        link_gbps: None,
        source: "Intel Data Center GPU Max 1550 figures, both stacks",
        matrix_peak: Rates {
            tflops: &[(Tf32, 419.0), (Fp16, 839.0), (Bf16, 839.0), (Int8, 1678.0)],
            source: "Intel Data Center GPU Max 1550 figures, both stacks",
            confidence: Derived,
        },
        matrix_achievable: None,
        vector_peak: Rates {
            tflops: &[(Fp64, 52.0), (Fp32, 52.0)],
            source: "Intel Data Center GPU Max 1550 figures, both stacks",
            confidence: Derived,
        },
    },
    GpuSpec {
        id: "Gaudi-2",
        name: "Intel Gaudi 2",
        vendor: Intel,
        patterns: &["Gaudi 2", "Gaudi2", "HL 225"],
        n_sms: None,
        compute: None,
        memory_gb: 96.0,
        mem_bw_gbps: 2450.0,
        link_gbps: Some(600.0),
        source: "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8",
        matrix_peak: Rates {
            tflops: &[(Fp16, 432.0), (Bf16, 432.0), (Fp8, 865.0)],
            source: "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8",
            confidence: Derived,
        },
        matrix_achievable: None,
        vector_peak: Rates {
            tflops: &[(Fp32, 11.0)],
            source: "Intel Gaudi 2 white paper; third parties print 835 TFLOPS FP8",
            confidence: Derived,
        },
    },
    GpuSpec {
        id: "Gaudi-3",
        name: "Intel Gaudi 3",
        vendor: Intel,
        patterns: &["Gaudi 3", "Gaudi3", "HL 325L"],
        n_sms: None,
        compute: None,
        memory_gb: 128.0,
        mem_bw_gbps: 3700.0,
        link_gbps: Some(1200.0),
        source: "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS",
        matrix_peak: Rates {
            tflops: &[(Fp16, 1835.0), (Bf16, 1835.0), (Fp8, 1835.0)],
            source: "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS",
            confidence: ThirdParty,
        },
        matrix_achievable: None,
        vector_peak: Rates {
            tflops: &[(Fp32, 14.0)],
            source: "Intel Gaudi 3 white paper; later briefs print 1678 TFLOPS",
            confidence: ThirdParty,
        },
    },
];
