//! The hardware table. One literal per GPU; all rates are dense (without sparsity).

use super::Confidence::{Derived, ThirdParty};
use super::Precision::{Bf16, Fp4, Fp8, Fp16, Fp32, Fp64, Int8, Tf32};
use super::Vendor::{Amd, Nvidia};
use super::{Confidence, GpuSpec, Precision, Rates};

/// Every GPU with a profile. Where a device name fits several rows, the first one counts.
pub const GPUS: &[GpuSpec] = &[
    GpuSpec {
        id: "A100-40GB",
        name: "NVIDIA A100 40 GB",
        vendor: Nvidia,
        patterns: &["A100 SXM4 40GB", "A100 PCIE 40GB"],
        n_sms: 108,
        compute: (8, 0),
        memory_gb: 40.0,
        mem_bw_gbps: 1555.0,
        link_gbps: Some(600.0),
        source: A100,
        matrix_peak: vendor(A100_MATRIX, A100),
        matrix_achievable: None,
        vector_peak: vendor(A100_VECTOR, A100),
    },
    GpuSpec {
        id: "A100-80GB-PCIe",
        name: "NVIDIA A100 PCIe 80 GB",
        vendor: Nvidia,
        patterns: &["A100 80GB PCIe"],
        n_sms: 108,
        compute: (8, 0),
        memory_gb: 80.0,
        mem_bw_gbps: 1935.0,
        link_gbps: Some(600.0),
        source: A100,
        matrix_peak: vendor(A100_MATRIX, A100),
        matrix_achievable: None,
        vector_peak: vendor(A100_VECTOR, A100),
    },
    GpuSpec {
        id: "A100-80GB",
        name: "NVIDIA A100 SXM 80 GB",
        vendor: Nvidia,
        patterns: &["A100 SXM4 80GB", "A100 SXM 80GB"],
        n_sms: 108,
        compute: (8, 0),
        memory_gb: 80.0,
        mem_bw_gbps: 2039.0,
        link_gbps: Some(600.0),
        source: A100,
        matrix_peak: vendor(A100_MATRIX, A100),
        matrix_achievable: None,
        vector_peak: vendor(A100_VECTOR, A100),
    },
    GpuSpec {
        id: "H100",
        name: "NVIDIA H100 SXM",
        vendor: Nvidia,
        patterns: &["H100 80GB HBM3", "H100 SXM5", "H100 SXM"],
        n_sms: 132,
        compute: (9, 0),
        memory_gb: 80.0,
        mem_bw_gbps: 3350.0,
        link_gbps: Some(900.0),
        source: H100,
        matrix_peak: vendor(HOPPER_SXM_MATRIX, H100),
        matrix_achievable: None,
        vector_peak: vendor(HOPPER_SXM_VECTOR, H100),
    },
    GpuSpec {
        id: "H100-PCIe",
        name: "NVIDIA H100 PCIe",
        vendor: Nvidia,
        patterns: &["H100 PCIe", "H100 80GB HBM2e"],
        n_sms: 114,
        compute: (9, 0),
        memory_gb: 80.0,
        mem_bw_gbps: 2039.0,
        link_gbps: Some(600.0),
        source: H100,
        matrix_peak: vendor(
            &[
                (Fp64, 51.0),
                (Tf32, 378.0),
                (Fp16, 756.0),
                (Bf16, 756.0),
                (Fp8, 1513.0),
                (Int8, 1513.0),
            ],
            H100,
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 26.0), (Fp32, 51.0)], H100),
    },
    GpuSpec {
        id: "H100-NVL",
        name: "NVIDIA H100 NVL",
        vendor: Nvidia,
        patterns: &["H100 NVL"],
        n_sms: 132,
        compute: (9, 0),
        memory_gb: 94.0,
        mem_bw_gbps: 3900.0,
        link_gbps: Some(600.0),
        source: H100,
        matrix_peak: vendor(
            &[
                (Fp64, 60.0),
                (Tf32, 417.5),
                (Fp16, 835.5),
                (Bf16, 835.5),
                (Fp8, 1670.5),
                (Int8, 1670.5),
            ],
            H100,
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 30.0), (Fp32, 60.0)], H100),
    },
    GpuSpec {
        id: "H200",
        name: "NVIDIA H200 SXM",
        vendor: Nvidia,
        patterns: &["H200"],
        n_sms: 132,
        compute: (9, 0),
        memory_gb: 141.0,
        mem_bw_gbps: 4800.0,
        link_gbps: Some(900.0),
        source: H200,
        matrix_peak: vendor(HOPPER_SXM_MATRIX, H200),
        matrix_achievable: None,
        vector_peak: vendor(HOPPER_SXM_VECTOR, H200),
    },
    GpuSpec {
        id: "B200",
        name: "NVIDIA B200",
        vendor: Nvidia,
        patterns: &["B200"],
        n_sms: 148,
        compute: (10, 0),
        memory_gb: 180.0, // usable of 192
        mem_bw_gbps: 8000.0,
        link_gbps: Some(1800.0),
        source: B200,
        matrix_peak: Rates {
            tflops: &[
                (Fp64, 37.0),
                (Tf32, 1100.0),
                (Fp16, 2250.0),
                (Bf16, 2250.0),
                (Fp8, 4500.0),
                (Fp4, 9000.0),
                (Int8, 4500.0),
            ],
            source: B200,
            confidence: Derived,
        },
        matrix_achievable: Some(Rates {
            tflops: &[
                (Fp64, 36.0),
                (Fp32, 66.0),
                (Fp16, 1347.0),
                (Bf16, 1401.0),
                (Fp8, 2816.0),
                (Fp4, 5912.0),
                (Int8, 2927.0),
            ],
            source: "microbenchmark by TraceLens contributors",
            confidence: ThirdParty,
        }),
        vector_peak: Rates {
            tflops: &[(Fp64, 37.0), (Fp32, 75.0)],
            source: B200,
            confidence: Derived,
        },
    },
    GpuSpec {
        id: "MI210",
        name: "AMD Instinct MI210",
        vendor: Amd,
        patterns: &["MI210"],
        n_sms: 104,
        compute: (9, 0),
        memory_gb: 64.0,
        mem_bw_gbps: 1638.0,
        link_gbps: Some(300.0),
        source: MI210,
        matrix_peak: vendor(
            &[
                (Fp64, 45.3),
                (Fp32, 45.3),
                (Fp16, 181.0),
                (Bf16, 181.0),
                (Int8, 181.0),
            ],
            MI210,
        ),
        matrix_achievable: None,
        vector_peak: vendor(&[(Fp64, 22.6), (Fp32, 22.6)], MI210),
    },
    GpuSpec {
        id: "MI300X",
        name: "AMD Instinct MI300X",
        vendor: Amd,
        patterns: &["MI300X"],
        n_sms: 304,
        compute: (9, 4),
        memory_gb: 192.0,
        mem_bw_gbps: 5300.0,
        link_gbps: Some(896.0),
        source: MI300X,
        matrix_peak: vendor(CDNA3_MATRIX, MI300X),
        matrix_achievable: Some(vendor(
            &[(Fp16, 654.0), (Bf16, 708.0), (Fp8, 1273.0)],
            AMD_MEASURED,
        )),
        vector_peak: vendor(CDNA3_VECTOR, MI300X),
    },
    GpuSpec {
        id: "MI325X",
        name: "AMD Instinct MI325X",
        vendor: Amd,
        patterns: &["MI325X"],
        n_sms: 304,
        compute: (9, 4),
        memory_gb: 256.0,
        mem_bw_gbps: 6000.0,
        link_gbps: Some(896.0),
        source: MI325X,
        matrix_peak: vendor(CDNA3_MATRIX, MI325X),
        matrix_achievable: Some(vendor(
            &[(Fp16, 794.0), (Bf16, 843.0), (Fp8, 1519.0)],
            AMD_MEASURED,
        )),
        vector_peak: vendor(CDNA3_VECTOR, MI325X),
    },
];

const A100: &str = "NVIDIA A100 datasheet";
const H100: &str = "NVIDIA H100 datasheet";
const H200: &str = "NVIDIA H200 datasheet";
const B200: &str = "NVIDIA HGX B200 figures, half of sparse; NVIDIA prints 7.7 to 8 TB/s";
const MI210: &str = "AMD Instinct MI210 datasheet";
const MI300X: &str = "AMD Instinct MI300X datasheet";
const MI325X: &str = "AMD Instinct MI325X datasheet";
const AMD_MEASURED: &str = "measured with hipBLASLt: AMD, Measuring Max-Achievable FLOPs, part 2";

const A100_MATRIX: &[(Precision, f64)] = &[
    (Fp64, 19.5),
    (Tf32, 156.0),
    (Fp16, 312.0),
    (Bf16, 312.0),
    (Int8, 624.0),
];
const A100_VECTOR: &[(Precision, f64)] = &[(Fp64, 9.7), (Fp32, 19.5)];

const HOPPER_SXM_MATRIX: &[(Precision, f64)] = &[
    (Fp64, 67.0),
    (Tf32, 494.7),
    (Fp16, 989.4),
    (Bf16, 989.4),
    (Fp8, 1978.9),
    (Int8, 1978.9),
];
const HOPPER_SXM_VECTOR: &[(Precision, f64)] = &[(Fp64, 34.0), (Fp32, 67.0)];

const CDNA3_MATRIX: &[(Precision, f64)] = &[
    (Fp64, 163.4),
    (Fp32, 163.4),
    (Tf32, 653.7),
    (Fp16, 1307.4),
    (Bf16, 1307.4),
    (Fp8, 2614.9),
    (Int8, 2614.9),
];
const CDNA3_VECTOR: &[(Precision, f64)] = &[(Fp64, 81.7), (Fp32, 163.4)];

/// Rates that the vendor printed.
const fn vendor(tflops: &'static [(Precision, f64)], source: &'static str) -> Rates {
    Rates {
        tflops,
        source,
        confidence: Confidence::Vendor,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gpu::{detect, find};
    use crate::trace::DeviceProperties;

    #[test]
    fn every_row_is_whole() {
        for gpu in GPUS {
            assert!(gpu.name.starts_with(gpu.vendor.label()), "{}", gpu.id);
            assert!(!gpu.source.is_empty(), "{}", gpu.id);
            assert!(gpu.n_sms > 0 && gpu.memory_gb > 0.0 && gpu.mem_bw_gbps > 0.0);
            assert!(gpu.link_gbps.is_none_or(|link| link > 0.0), "{}", gpu.id);
            let all = [
                Some(gpu.matrix_peak),
                gpu.matrix_achievable,
                Some(gpu.vector_peak),
            ];
            for rates in all.into_iter().flatten() {
                assert!(!rates.source.is_empty(), "{}", gpu.id);
                for (row, (precision, tflops)) in rates.tflops.iter().enumerate() {
                    assert!(*tflops > 0.0, "{} {precision:?}", gpu.id);
                    assert!(
                        rates.tflops[..row].iter().all(|(one, _)| one != precision),
                        "{} lists {precision:?} twice",
                        gpu.id
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_achievable_is_below_the_peak() {
        for gpu in GPUS {
            for (precision, achievable) in
                gpu.matrix_achievable.map_or(&[][..], |rates| rates.tflops)
            {
                let peak = gpu
                    .matrix_peak
                    .tflops
                    .iter()
                    .find(|(one, _)| one == precision);
                assert!(
                    peak.is_none_or(|(_, peak)| achievable < peak),
                    "{} {precision:?}",
                    gpu.id
                );
            }
        }
    }

    #[test]
    fn every_row_is_found_by_id_name_and_device() {
        for gpu in GPUS {
            assert_eq!(find(gpu.id), Some(gpu));
            assert_eq!(find(gpu.name), Some(gpu));
            for pattern in gpu.patterns {
                let device = DeviceProperties {
                    name: (*pattern).to_owned(),
                    ..DeviceProperties::default()
                };
                assert_eq!(detect(&[device]), Some(gpu), "{pattern}");
            }
        }
    }
}
