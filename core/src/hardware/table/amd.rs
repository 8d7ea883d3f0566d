//! AMD's GPUs: Instinct, then Radeon.
//!
//! On Radeon, PyTorch counts pairs of compute units, and a workgroup has such a pair.

use super::super::Confidence::Vendor as Printed;
use super::super::GpuSpec;
use super::gpu;

#[rustfmt::skip]
pub(super) fn rows() -> Vec<GpuSpec> {
    vec![
        gpu("MI100", "AMD Instinct MI100", &["MI100"]).chip(120, (9, 0)).memory(32.0, 1229.0, Some(276.0)).peers(3)
            .source(Printed, "AMD Instinct MI100 datasheet").matrix_peaks("fp32 46.1, fp16 184.6, bf16 92.3, int8 184.6").vector_peaks("fp64 11.5, fp32 23.1"),
        gpu("MI210", "AMD Instinct MI210", &["MI210"]).chip(104, (9, 0)).memory(64.0, 1638.0, Some(300.0)).peers(3)
            .source(Printed, MI210).matrix_peaks("fp64 45.3, fp32 45.3, fp16 181, bf16 181, int8 181").vector_peaks("fp64 22.6, fp32 22.6"),
        gpu("MI250", "AMD Instinct MI250, one GCD", &["MI250"]).chip(104, (9, 0)).memory(64.0, 1638.0, None)
            .source(Printed, "AMD Instinct MI250 datasheet, half of the card: PyTorch sees each die as a device").matrix_peaks("fp64 45.3, fp32 45.3, fp16 181, bf16 181, int8 181").vector_peaks("fp64 22.6, fp32 22.6"),
        gpu("MI250X", "AMD Instinct MI250X, one GCD", &["MI250X"]).chip(110, (9, 0)).memory(64.0, 1638.0, None)
            .source(Printed, "AMD Instinct MI250X datasheet, half of the card: PyTorch sees each die as a device").matrix_peaks("fp64 47.9, fp32 47.9, fp16 191.5, bf16 191.5, int8 191.5").vector_peaks("fp64 23.9, fp32 23.9"),
        gpu("MI250X-card", "AMD Instinct MI250X, whole card", &[]).compute((9, 0)).memory(128.0, 3277.0, Some(800.0))
            .source(Printed, "AMD Instinct MI250X datasheet").matrix_peaks("fp64 95.7, fp32 95.7, fp16 383, bf16 383, int8 383").vector_peaks("fp64 47.9, fp32 47.9"),
        gpu("MI300A", "AMD Instinct MI300A", &["MI300A"]).chip(228, (9, 4)).memory(128.0, 5300.0, None)
            .source(Printed, "AMD Instinct MI300A datasheet").matrix_peaks("fp64 122.6, fp32 122.6, tf32 490.3, fp16 980.6, bf16 980.6, fp8 1961.2, int8 1961.2").vector_peaks("fp64 61.3, fp32 122.6"),
        gpu("MI300X", "AMD Instinct MI300X", &["MI300X"]).chip(304, (9, 4)).memory(192.0, 5300.0, Some(896.0)).peers(7)
            .source(Printed, MI300X).matrix_peaks(CDNA3_MATRIX).vector_peaks(CDNA3_VECTOR).measured(Printed, AMD_MEASURED, ["fp16 654, bf16 708, fp8 1273", ""]),
        gpu("MI325X", "AMD Instinct MI325X", &["MI325X"]).chip(304, (9, 4)).memory(256.0, 6000.0, Some(896.0)).peers(7)
            .source(Printed, MI325X).matrix_peaks(CDNA3_MATRIX).vector_peaks(CDNA3_VECTOR).measured(Printed, AMD_MEASURED, ["fp16 794, bf16 843, fp8 1519", ""]),
        gpu("MI350X", "AMD Instinct MI350X", &["MI350X"]).chip(256, (9, 5)).memory(288.0, 8000.0, Some(1075.0)).peers(7)
            .source(Printed, "AMD Instinct MI350X datasheet").matrix_peaks("fp64 72.1, fp16 2306.9, bf16 2306.9, fp8 4613.7, fp4 9227, int8 4613.7").vector_peaks("fp64 72.1, fp32 144.2"),
        gpu("MI355X", "AMD Instinct MI355X", &["MI355X"]).chip(256, (9, 5)).memory(288.0, 8000.0, Some(1075.0)).peers(7)
            .source(Printed, "AMD Instinct MI355X datasheet").matrix_peaks("fp64 78.6, fp16 2516.6, bf16 2516.6, fp8 5033.2, fp4 10066, int8 5033.2").vector_peaks("fp64 78.6, fp32 157.3"),
        gpu("RX-7900-XTX", "AMD Radeon RX 7900 XTX", &["RX 7900 XTX"]).chip(48, (11, 0)).memory(24.0, 960.0, None)
            .source(Printed, "AMD Radeon RX 7900 XTX product page; BF16, INT8: GPUOpen, Using the Matrix Cores of AMD RDNA 4").matrix_peaks("fp16 122.8, bf16 122.8, int8 122.8").vector_peaks("fp32 61.4"),
        gpu("PRO-W7900", "AMD Radeon PRO W7900", &["PRO W7900"]).chip(48, (11, 0)).memory(48.0, 864.0, None)
            .source(Printed, "AMD Radeon PRO W7900 datasheet; BF16, INT8: GPUOpen, Using the Matrix Cores of AMD RDNA 4").matrix_peaks("fp16 122.6, bf16 122.6, int8 122.6").vector_peaks("fp32 61.3"),
        gpu("RX-9070-XT", "AMD Radeon RX 9070 XT", &["RX 9070 XT"]).chip(32, (12, 0)).memory(16.0, 640.0, None)
            .source(Printed, "AMD Radeon RX 9070 XT product page; BF16: GPUOpen, Using the Matrix Cores of AMD RDNA 4").matrix_peaks("fp16 195, bf16 195, fp8 389, int8 389").vector_peaks("fp32 48.7"),
        gpu("AI-PRO-R9700", "AMD Radeon AI PRO R9700", &["AI PRO R9700"]).chip(32, (12, 0)).memory(32.0, 640.0, None)
            .source(Printed, "AMD Radeon AI PRO R9700 product page; BF16: GPUOpen, Using the Matrix Cores of AMD RDNA 4").matrix_peaks("fp16 191, bf16 191, fp8 383, int8 383").vector_peaks("fp32 47.8"),
    ]
}

const MI210: &str = "AMD Instinct MI210 datasheet";
const MI300X: &str = "AMD Instinct MI300X datasheet";
const MI325X: &str = "AMD Instinct MI325X datasheet";
const AMD_MEASURED: &str = "measured with hipBLASLt: AMD, Measuring Max-Achievable FLOPs, part 2";
const CDNA3_MATRIX: &str =
    "fp64 163.4, fp32 163.4, tf32 653.7, fp16 1307.4, bf16 1307.4, fp8 2614.9, int8 2614.9";
const CDNA3_VECTOR: &str = "fp64 81.7, fp32 163.4";
