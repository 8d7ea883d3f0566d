//! NVIDIA's cards for workstations and games.
//!
//! GeForce cards add FP16 and BF16 products up in FP32 at half their rate, and that is what PyTorch
//! asks for; the rates here are those.

use super::{
    Confidence::Derived,
    GpuSpec,
    Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32},
    Rates,
    Vendor::Nvidia,
    vendor,
};

pub(super) const WORKSTATION: &[GpuSpec] = &[
    GpuSpec {
        id: "RTX-A6000",
        name: "NVIDIA RTX A6000",
        vendor: Nvidia,
        patterns: &["RTX A6000"],
        n_sms: Some(84),
        compute: Some((8, 6)),
        memory_gb: 48.0,
        mem_bw_gbps: 768.0,
        link_gbps: Some(112.5),
        source: "NVIDIA RTX A6000 datasheet",
        matrix_peak: vendor(
            &[(Tf32, 77.4), (Fp16, 154.8), (Bf16, 154.8), (Int8, 309.7)],
            "NVIDIA RTX A6000 datasheet",
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 0.6), (Fp32, 38.7)], "NVIDIA RTX A6000 datasheet"),
    },
    GpuSpec {
        id: "RTX-6000-Ada",
        name: "NVIDIA RTX 6000 Ada",
        vendor: Nvidia,
        patterns: &["RTX 6000 Ada"],
        n_sms: Some(142),
        compute: Some((8, 9)),
        memory_gb: 48.0,
        mem_bw_gbps: 960.0,
        link_gbps: Some(64.0),
        source: "NVIDIA RTX 6000 Ada datasheet",
        matrix_peak: vendor(
            &[(Tf32, 182.0), (Fp16, 364.0), (Bf16, 364.0), (Fp8, 728.0)],
            "NVIDIA RTX 6000 Ada datasheet",
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp32, 91.1)], "NVIDIA RTX 6000 Ada datasheet"),
    },
    GpuSpec {
        id: "RTX-PRO-6000",
        name: "NVIDIA RTX PRO 6000 Blackwell",
        vendor: Nvidia,
        patterns: &["RTX PRO 6000 Blackwell"],
        n_sms: Some(188),
        compute: Some((12, 0)),
        memory_gb: 96.0,
        mem_bw_gbps: 1792.0,
        link_gbps: Some(128.0),
        source: "NVIDIA RTX PRO 6000 Blackwell datasheet; it prints no dense matrix rates",
        matrix_peak: Rates {
            tflops: &[],
            source: "NVIDIA RTX PRO 6000 Blackwell datasheet; it prints no dense matrix rates",
            confidence: Derived,
        },
        matrix_achievable: None,
        vector_peak: Rates {
            tflops: &[(Fp32, 125.0)],
            source: "NVIDIA RTX PRO 6000 Blackwell datasheet; it prints no dense matrix rates",
            confidence: Derived,
        },
    },
    GpuSpec {
        id: "RTX-3090",
        name: "NVIDIA GeForce RTX 3090",
        vendor: Nvidia,
        patterns: &["RTX 3090"],
        n_sms: Some(82),
        compute: Some((8, 6)),
        memory_gb: 24.0,
        mem_bw_gbps: 936.0,
        link_gbps: Some(112.5),
        source: AMPERE,
        matrix_peak: vendor(
            &[(Tf32, 35.6), (Fp16, 71.0), (Bf16, 71.0), (Int8, 284.0)],
            AMPERE,
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 0.56), (Fp32, 35.6)], AMPERE),
    },
    GpuSpec {
        id: "RTX-4090",
        name: "NVIDIA GeForce RTX 4090",
        vendor: Nvidia,
        patterns: &["RTX 4090"],
        n_sms: Some(128),
        compute: Some((8, 9)),
        memory_gb: 24.0,
        mem_bw_gbps: 1008.0,
        link_gbps: Some(64.0),
        source: ADA,
        matrix_peak: vendor(
            &[
                (Tf32, 82.6),
                (Fp16, 165.2),
                (Bf16, 165.2),
                (Fp8, 330.3),
                (Int8, 660.6),
            ],
            ADA,
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 1.29), (Fp32, 82.6)], ADA),
    },
    GpuSpec {
        id: "RTX-5090",
        name: "NVIDIA GeForce RTX 5090",
        vendor: Nvidia,
        patterns: &["RTX 5090"],
        n_sms: Some(170),
        compute: Some((12, 0)),
        memory_gb: 32.0,
        mem_bw_gbps: 1792.0,
        link_gbps: Some(128.0),
        source: BLACKWELL,
        matrix_peak: Rates {
            tflops: &[
                (Tf32, 104.8),
                (Fp16, 209.5),
                (Bf16, 209.5),
                (Fp8, 419.0),
                (Fp4, 1676.0),
                (Int8, 838.0),
            ],
            source: BLACKWELL,
            confidence: Derived,
        },
        matrix_achievable: None,
        vector_peak: Rates {
            tflops: &[(Fp64, 1.64), (Fp32, 104.8)],
            source: BLACKWELL,
            confidence: Derived,
        },
    },
];

const AMPERE: &str = "NVIDIA Ampere GA102 white paper";
const ADA: &str = "NVIDIA Ada white paper";
const BLACKWELL: &str = "NVIDIA RTX Blackwell white paper, half of sparse";
