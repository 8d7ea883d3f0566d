//! NVIDIA's data center GPUs, the oldest first.

use super::super::Confidence::{Derived, ThirdParty, Vendor as Printed};
use super::super::GpuSpec;
use super::gpu;

#[rustfmt::skip]
pub(super) fn rows() -> Vec<GpuSpec> {
    vec![
        gpu("V100-16GB", "NVIDIA V100 SXM2 16 GB", &["V100 SXM2 16GB"]).chip(80, (7, 0)).memory(16.0, 900.0, Some(300.0))
            .source(Printed, "NVIDIA V100 datasheet").matrix_peaks("fp16 125").vector_peaks("fp64 7.8, fp32 15.7"),
        gpu("V100-32GB", "NVIDIA V100 SXM2 32 GB", &["V100 SXM2 32GB"]).chip(80, (7, 0)).memory(32.0, 900.0, Some(300.0))
            .source(Printed, "NVIDIA V100 datasheet").matrix_peaks("fp16 125").vector_peaks("fp64 7.8, fp32 15.7"),
        gpu("V100-16GB-PCIe", "NVIDIA V100 PCIe 16 GB", &["V100 PCIE 16GB"]).chip(80, (7, 0)).memory(16.0, 900.0, Some(32.0))
            .source(Printed, "NVIDIA V100 datasheet").matrix_peaks("fp16 112").vector_peaks("fp64 7, fp32 14"),
        gpu("V100-32GB-PCIe", "NVIDIA V100 PCIe 32 GB", &["V100 PCIE 32GB"]).chip(80, (7, 0)).memory(32.0, 900.0, Some(32.0))
            .source(Printed, "NVIDIA V100 datasheet").matrix_peaks("fp16 112").vector_peaks("fp64 7, fp32 14"),
        gpu("T4", "NVIDIA T4", &["T4"]).chip(40, (7, 5)).memory(16.0, 320.0, Some(32.0))
            .source(Printed, "NVIDIA T4 datasheet; some editions print 300 GB/s").matrix_peaks("fp16 65, int8 130").vector_peaks("fp64 0.25, fp32 8.1"),
        gpu("A10", "NVIDIA A10", &["A10"]).chip(72, (8, 6)).memory(24.0, 600.0, Some(64.0))
            .source(Printed, "NVIDIA A10 datasheet").matrix_peaks("tf32 62.5, fp16 125, bf16 125, int8 250").vector_peaks("fp64 0.98, fp32 31.2"),
        gpu("A10G", "NVIDIA A10G", &["A10G"]).chip(80, (8, 6)).memory(24.0, 600.0, Some(64.0))
            .source(Printed, "NVIDIA A10G datasheet").matrix_peaks("tf32 35, fp16 70, bf16 70, int8 140").vector_peaks("fp32 35"),
        gpu("A30", "NVIDIA A30", &["A30"]).chip(56, (8, 0)).memory(24.0, 933.0, Some(200.0))
            .source(Printed, "NVIDIA A30 datasheet").matrix_peaks("fp64 10.3, tf32 82, fp16 165, bf16 165, int8 330").vector_peaks("fp64 5.2, fp32 10.3"),
        gpu("A40", "NVIDIA A40", &["A40"]).chip(84, (8, 6)).memory(48.0, 696.0, Some(112.5))
            .source(Printed, "NVIDIA A40 datasheet").matrix_peaks("tf32 74.8, fp16 149.7, bf16 149.7, int8 299").vector_peaks("fp32 37.4"),
        gpu("A100-40GB", "NVIDIA A100 40 GB", &["A100 SXM4 40GB", "A100 PCIE 40GB", "A100 PG509 200"]).chip(108, (8, 0)).memory(40.0, 1555.0, Some(600.0))
            .source(Printed, A100).matrix_peaks(A100_MATRIX).vector_peaks(A100_VECTOR),
        gpu("A100-80GB-PCIe", "NVIDIA A100 PCIe 80 GB", &["A100 80GB PCIe"]).chip(108, (8, 0)).memory(80.0, 1935.0, Some(600.0))
            .source(Printed, A100).matrix_peaks(A100_MATRIX).vector_peaks(A100_VECTOR),
        gpu("A100-80GB", "NVIDIA A100 SXM 80 GB", &["A100 SXM4 80GB", "A100 SXM 80GB"]).chip(108, (8, 0)).memory(80.0, 2039.0, Some(600.0))
            .source(Printed, A100).matrix_peaks(A100_MATRIX).vector_peaks(A100_VECTOR),
        gpu("A800", "NVIDIA A800 SXM 80 GB", &["A800 SXM4 80GB"]).chip(108, (8, 0)).memory(80.0, 2039.0, Some(400.0))
            .source(Derived, "NVIDIA A100 datasheet, with the links of an A800").matrix_peaks(A100_MATRIX).vector_peaks(A100_VECTOR),
        gpu("L4", "NVIDIA L4", &["L4"]).chip(58, (8, 9)).memory(24.0, 300.0, Some(64.0))
            .source(Printed, "NVIDIA L4 datasheet").matrix_peaks("tf32 60, fp16 121, bf16 121, fp8 242.5, int8 242.5").vector_peaks("fp64 0.47, fp32 30.3"),
        gpu("L20", "NVIDIA L20", &["L20"]).chip(92, (8, 9)).memory(48.0, 864.0, Some(64.0))
            .source(ThirdParty, "figures of resellers").matrix_peaks("tf32 59.8, fp16 119.5, bf16 119.5, fp8 239, int8 239").vector_peaks("fp32 59.8"),
        gpu("L40S", "NVIDIA L40S", &["L40S"]).chip(142, (8, 9)).memory(48.0, 864.0, Some(64.0))
            .source(Printed, "NVIDIA L40S datasheet").matrix_peaks("tf32 183, fp16 362, bf16 362, fp8 733, int8 733").vector_peaks("fp64 1.4, fp32 91.6"),
        gpu("H100", "NVIDIA H100 SXM", &["H100 80GB HBM3", "H100 SXM5", "H100 SXM"]).chip(132, (9, 0)).memory(80.0, 3350.0, Some(900.0))
            .source(Printed, H100).matrix_peaks(HOPPER_SXM_MATRIX).vector_peaks(HOPPER_SXM_VECTOR),
        gpu("H100-PCIe", "NVIDIA H100 PCIe", &["H100 PCIe", "H100 80GB HBM2e"]).chip(114, (9, 0)).memory(80.0, 2039.0, Some(600.0))
            .source(Printed, H100).matrix_peaks("fp64 51, tf32 378, fp16 756, bf16 756, fp8 1513, int8 1513").vector_peaks("fp64 26, fp32 51"),
        gpu("H100-NVL", "NVIDIA H100 NVL", &["H100 NVL"]).chip(132, (9, 0)).memory(94.0, 3900.0, Some(600.0))
            .source(Printed, H100).matrix_peaks(HOPPER_NVL_MATRIX).vector_peaks(HOPPER_NVL_VECTOR),
        gpu("H200-NVL", "NVIDIA H200 NVL", &["H200 NVL"]).chip(132, (9, 0)).memory(141.0, 4800.0, Some(900.0))
            .source(Printed, H200).matrix_peaks(HOPPER_NVL_MATRIX).vector_peaks(HOPPER_NVL_VECTOR),
        gpu("H200", "NVIDIA H200 SXM", &["H200"]).chip(132, (9, 0)).memory(141.0, 4800.0, Some(900.0))
            .source(Printed, H200).matrix_peaks(HOPPER_SXM_MATRIX).vector_peaks(HOPPER_SXM_VECTOR),
        gpu("H800-PCIe", "NVIDIA H800 PCIe", &["H800 PCIe"]).chip(114, (9, 0)).memory(80.0, 2039.0, None)
            .source(Derived, "NVIDIA H100 datasheet, without the links and FP64 of an H100").matrix_peaks("tf32 378, fp16 756, bf16 756, fp8 1513, int8 1513").vector_peaks("fp32 51"),
        gpu("H800", "NVIDIA H800 SXM", &["H800"]).chip(132, (9, 0)).memory(80.0, 3350.0, Some(400.0))
            .source(Derived, "NVIDIA H100 datasheet, with the links and FP64 of an H800").matrix_peaks("fp64 1, tf32 494.7, fp16 989.4, bf16 989.4, fp8 1978.9, int8 1978.9").vector_peaks("fp64 1, fp32 66.9"),
        gpu("H20", "NVIDIA H20", &["H20"]).chip(78, (9, 0)).memory(96.0, 4000.0, Some(900.0))
            .source(ThirdParty, "figures of resellers; NVIDIA publishes none").matrix_peaks("tf32 74, fp16 148, bf16 148, fp8 296, int8 296").vector_peaks("fp64 1, fp32 44"),
        gpu("GH200-96GB", "NVIDIA GH200 96 GB", &["GH200 480GB", "GH200 120GB", "GH200 96GB"]).chip(132, (9, 0)).memory(96.0, 4000.0, Some(900.0))
            .source(Printed, "NVIDIA GH200 datasheet").matrix_peaks(HOPPER_SXM_MATRIX).vector_peaks(HOPPER_SXM_VECTOR),
        gpu("GH200-144GB", "NVIDIA GH200 144 GB", &["GH200 144G", "GH200 144GB"]).chip(132, (9, 0)).memory(144.0, 4900.0, Some(900.0))
            .source(Printed, "NVIDIA GH200 datasheet").matrix_peaks(HOPPER_SXM_MATRIX).vector_peaks(HOPPER_SXM_VECTOR),
        gpu("B100", "NVIDIA B100", &["B100"]).compute((10, 0)).memory(192.0, 8000.0, Some(1800.0))
            .source(Derived, "NVIDIA Blackwell architecture brief, half of sparse").matrix_peaks("tf32 875, fp16 1750, bf16 1750, fp8 3500, fp4 7000, int8 3500").vector_peaks("fp64 30, fp32 60"),
        // usable of 192
        gpu("B200", "NVIDIA B200", &["B200"]).chip(148, (10, 0)).memory(180.0, 8000.0, Some(1800.0))
            .source(Derived, B200).matrix_peaks("fp64 37, tf32 1100, fp16 2250, bf16 2250, fp8 4500, fp4 9000, int8 4500").vector_peaks("fp64 37, fp32 75").measured(ThirdParty, B200_MEASURED, ["fp64 36, fp16 1347, bf16 1401, fp8 2816, fp4 5912, int8 2927", "fp32 66"]),
        gpu("GB200", "NVIDIA GB200, one GPU", &["GB200"]).compute((10, 0)).memory(186.0, 8000.0, Some(1800.0))
            .source(Derived, "NVIDIA GB200 NVL72 figures, half of sparse; 80 to 90 TFLOPS FP32 are printed").matrix_peaks("tf32 1250, fp16 2500, bf16 2500, fp8 5000, fp4 10000, int8 5000").vector_peaks("fp64 40, fp32 80"),
        gpu("B300", "NVIDIA B300", &["B300"]).compute((10, 3)).memory(288.0, 8000.0, Some(1800.0))
            .source(ThirdParty, "sources differ: FP4 13 to 14 PFLOPS, INT8 left out").matrix_peaks("tf32 1125, fp16 2250, bf16 2250, fp8 4500, fp4 14000").vector_peaks("fp64 1.2, fp32 75"),
        gpu("GB300", "NVIDIA GB300, one GPU", &["GB300"]).compute((10, 3)).memory(288.0, 8000.0, Some(1800.0))
            .source(ThirdParty, "sources differ: 279 to 288 GB; INT8 left out").matrix_peaks("tf32 1250, fp16 2500, bf16 2500, fp8 5000, fp4 15000").vector_peaks("fp64 1.3, fp32 80"),
    ]
}

const A100: &str = "NVIDIA A100 datasheet";
const H100: &str = "NVIDIA H100 datasheet";
const H200: &str = "NVIDIA H200 datasheet";
const B200: &str = "NVIDIA HGX B200 figures, half of sparse; NVIDIA prints 7.7 to 8 TB/s";
const B200_MEASURED: &str = "microbenchmark by TraceLens contributors";
const A100_MATRIX: &str = "fp64 19.5, tf32 156, fp16 312, bf16 312, int8 624";
const A100_VECTOR: &str = "fp64 9.7, fp32 19.5";
const HOPPER_SXM_MATRIX: &str =
    "fp64 67, tf32 494.7, fp16 989.4, bf16 989.4, fp8 1978.9, int8 1978.9";
const HOPPER_SXM_VECTOR: &str = "fp64 34, fp32 67";
const HOPPER_NVL_MATRIX: &str =
    "fp64 60, tf32 417.5, fp16 835.5, bf16 835.5, fp8 1670.5, int8 1670.5";
const HOPPER_NVL_VECTOR: &str = "fp64 30, fp32 60";
