//! The hardware table. One row per GPU; all rates are dense (without sparsity).

mod amd;
mod intel;
mod nvidia;
mod workstation;

use std::borrow::Cow;
use std::sync::LazyLock;

use super::{Basis, Confidence, GpuSpec, Precision, Rates, Text, Unit, Vendor};

/// Every GPU with a profile. If a device name matches several rows, the first one is used.
pub static GPUS: LazyLock<Vec<GpuSpec>> = LazyLock::new(|| {
    let makers = [
        (Vendor::Nvidia, nvidia::rows()),
        (Vendor::Nvidia, workstation::rows()),
        (Vendor::Amd, amd::rows()),
        (Vendor::Intel, intel::rows()),
    ];
    let rows = makers.into_iter().flat_map(|(vendor, rows)| {
        let made = move |row| GpuSpec {
            vendor: Some(vendor),
            ..row
        };
        rows.into_iter().map(made)
    });
    rows.collect()
});

/// A row with its id, name and device name patterns; the figures are added afterwards.
fn gpu(id: &'static str, name: &'static str, patterns: &'static [&'static str]) -> GpuSpec {
    GpuSpec {
        id: Cow::Borrowed(id),
        name: Cow::Borrowed(name),
        vendor: None,
        patterns,
        n_sms: None,
        compute: None,
        memory_gb: None,
        mem_bw_gbps: 0.0,
        mem_bw_basis: Basis::Peak,
        link_gbps: None,
        n_peers: None,
        source: Text::default(),
        confidence: Confidence::Vendor,
        rates: Vec::new(),
    }
}

/// Builder methods for the figures of a row.
impl GpuSpec {
    fn chip(mut self, n_sms: u32, compute: (u32, u32)) -> GpuSpec {
        self.n_sms = Some(n_sms);
        self.compute(compute)
    }

    fn compute(mut self, compute: (u32, u32)) -> GpuSpec {
        self.compute = Some(compute);
        self
    }

    /// Memory in GB, its bandwidth in GB/s, and the bandwidth of the links in GB/s, both directions combined.
    fn memory(mut self, gb: f64, gbps: f64, link_gbps: Option<f64>) -> GpuSpec {
        self.memory_gb = Some(gb);
        (self.mem_bw_gbps, self.link_gbps) = (gbps, link_gbps);
        self
    }

    /// Each of so many other GPUs has a link of its own.
    fn peers(mut self, n: u32) -> GpuSpec {
        self.n_peers = Some(n);
        self
    }

    /// The source of the figures and of the peaks that follow.
    fn source(mut self, confidence: Confidence, source: &'static str) -> GpuSpec {
        (self.source, self.confidence) = (Cow::Borrowed(source), confidence);
        self
    }

    /// Peaks of the matrix units: `"fp16 125, int8 250"`.
    fn matrix_peaks(self, peaks: &str) -> GpuSpec {
        let provenance = (self.confidence, self.source.clone());
        self.rates((Unit::Matrix, Basis::Peak), provenance, peaks)
    }

    /// Peaks of the vector units.
    fn vector_peaks(self, peaks: &str) -> GpuSpec {
        let provenance = (self.confidence, self.source.clone());
        self.rates((Unit::Vector, Basis::Peak), provenance, peaks)
    }

    /// Measured rates of matrix and vector units.
    fn measured(
        self,
        confidence: Confidence,
        source: &'static str,
        [matrix, vector]: [&str; 2],
    ) -> GpuSpec {
        let provenance = (confidence, Text::Borrowed(source));
        self.rates(
            (Unit::Matrix, Basis::Achievable),
            provenance.clone(),
            matrix,
        )
        .rates((Unit::Vector, Basis::Achievable), provenance, vector)
    }

    /// Parses the rates of a row; empty text means none.
    fn rates(
        mut self,
        (unit, basis): (Unit, Basis),
        (confidence, source): (Confidence, Text),
        text: &str,
    ) -> GpuSpec {
        let rate = |rate: &str| {
            let (precision, tflops) = rate.split_once(' ')?;
            Some((Precision::of_key(precision)?, tflops.parse().ok()?))
        };
        let tflops = text.split(", ").map(rate).collect::<Option<_>>();
        self.rates.extend(tflops.map(|tflops| Rates {
            unit,
            basis,
            tflops,
            source,
            confidence,
        }));
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{detect, find};
    use crate::trace::DeviceProperties;

    #[test]
    fn every_row_is_whole() {
        for gpu in GPUS.iter() {
            let id = &gpu.id;
            let vendor = gpu.vendor.map(Vendor::label);
            assert!(
                vendor.is_some_and(|vendor| gpu.name.starts_with(vendor)),
                "{id}"
            );
            assert!(!gpu.source.is_empty(), "{id}");
            assert!(gpu.n_sms.is_none_or(|n_sms| n_sms > 0), "{id}");
            assert!(
                gpu.memory_gb.is_some_and(|memory| memory > 0.0) && gpu.mem_bw_gbps > 0.0,
                "{id}"
            );
            assert!(gpu.link_gbps.is_none_or(|link| link > 0.0), "{id}");
            let is_peak = |rates: &&Rates| rates.basis == Basis::Peak;
            assert_eq!(gpu.rates.iter().filter(is_peak).count(), 2, "{id}");
            for rates in &gpu.rates {
                assert!(!rates.source.is_empty(), "{id}");
                for (row, (precision, tflops)) in rates.tflops.iter().enumerate() {
                    assert!(*tflops > 0.0, "{id} {precision:?}");
                    assert!(
                        rates.tflops[..row].iter().all(|(one, _)| one != precision),
                        "{id} lists {precision:?} twice"
                    );
                }
            }
        }
    }

    #[test]
    fn what_is_achievable_is_below_the_peak_and_vector_units_are_no_faster_than_matrix_units() {
        for gpu in GPUS.iter() {
            for rates in &gpu.rates {
                let is_fit = |figure: f64, peak: f64| match (rates.unit, rates.basis) {
                    (Unit::Matrix, Basis::Achievable) => figure < peak,
                    (Unit::Vector, Basis::Peak) => figure <= peak,
                    _ => true,
                };
                for (precision, figure) in &rates.tflops {
                    let peak = gpu.matrix(*precision, Basis::Peak);
                    let fits = peak.is_none_or(|peak| is_fit(*figure, peak.tflops));
                    assert!(fits, "{} {precision:?}", gpu.id);
                }
            }
        }
    }

    #[test]
    fn every_row_is_found_by_id_name_and_device() {
        for gpu in GPUS.iter() {
            assert_eq!(find(&gpu.id), Some(gpu));
            assert_eq!(find(&gpu.name), Some(gpu));
            for pattern in gpu.patterns {
                let memory = gpu.memory_gb.map(|gb| (gb * f64::from(1 << 30)) as u64);
                let device = DeviceProperties {
                    name: (*pattern).to_owned(),
                    total_memory: memory,
                    ..DeviceProperties::default()
                };
                assert_eq!(detect(&[device]), Some(gpu), "{pattern}");
            }
        }
    }

    #[test]
    fn ids_and_names_are_unique() {
        assert!(GPUS.len() >= 35);
        for (row, gpu) in GPUS.iter().enumerate() {
            for other in &GPUS[..row] {
                assert_ne!(gpu.id, other.id);
                assert_ne!(gpu.name, other.name);
            }
        }
    }

    /// PyTorch's device name for each GPU, in the order of the table.
    const DEVICES: &[(&str, &str)] = &[
        ("V100-16GB", "Tesla V100-SXM2-16GB"),
        ("V100-32GB", "Tesla V100-SXM2-32GB"),
        ("V100-16GB-PCIe", "Tesla V100-PCIE-16GB"),
        ("V100-32GB-PCIe", "Tesla V100-PCIE-32GB"),
        ("T4", "Tesla T4"),
        ("A10", "NVIDIA A10"),
        ("A10G", "NVIDIA A10G"),
        ("A30", "NVIDIA A30"),
        ("A40", "NVIDIA A40"),
        ("A100-40GB", "NVIDIA A100-SXM4-40GB"),
        ("A100-80GB-PCIe", "NVIDIA A100 80GB PCIe"),
        ("A100-80GB", "NVIDIA A100-SXM4-80GB"),
        ("A800", "NVIDIA A800-SXM4-80GB"),
        ("L4", "NVIDIA L4"),
        ("L20", "NVIDIA L20"),
        ("L40S", "NVIDIA L40S"),
        ("H100", "NVIDIA H100 80GB HBM3"),
        ("H100-PCIe", "NVIDIA H100 PCIe"),
        ("H100-NVL", "NVIDIA H100 NVL"),
        ("H200-NVL", "NVIDIA H200 NVL"),
        ("H200", "NVIDIA H200"),
        ("H800-PCIe", "NVIDIA H800 PCIe"),
        ("H800", "NVIDIA H800"),
        ("H20", "NVIDIA H20"),
        ("GH200-96GB", "NVIDIA GH200 480GB"),
        ("GH200-144GB", "NVIDIA GH200 144G HBM3e"),
        ("B100", "NVIDIA B100"),
        ("B200", "NVIDIA B200"),
        ("GB200", "NVIDIA GB200"),
        ("B300", "NVIDIA B300 SXM6 AC"),
        ("GB300", "NVIDIA GB300"),
        ("RTX-A6000", "NVIDIA RTX A6000"),
        ("RTX-6000-Ada", "NVIDIA RTX 6000 Ada Generation"),
        (
            "RTX-PRO-6000",
            "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        ),
        ("RTX-3080", "NVIDIA GeForce RTX 3080"),
        ("RTX-3090", "NVIDIA GeForce RTX 3090"),
        ("RTX-4080", "NVIDIA GeForce RTX 4080"),
        ("RTX-4090", "NVIDIA GeForce RTX 4090"),
        ("RTX-5080", "NVIDIA GeForce RTX 5080"),
        ("RTX-5090", "NVIDIA GeForce RTX 5090"),
        ("MI100", "AMD Instinct MI100"),
        ("MI210", "AMD Instinct MI210"),
        ("MI250", "AMD Instinct MI250"),
        ("MI250X", "AMD Instinct MI250X"),
        ("MI300A", "AMD Instinct MI300A"),
        ("MI300X", "AMD Instinct MI300X"),
        ("MI325X", "AMD Instinct MI325X"),
        ("MI350X", "AMD Instinct MI350X"),
        ("MI355X", "AMD Instinct MI355X"),
        ("RX-7900-XTX", "AMD Radeon RX 7900 XTX"),
        ("PRO-W7900", "AMD Radeon PRO W7900"),
        ("RX-9070-XT", "AMD Radeon RX 9070 XT"),
        ("AI-PRO-R9700", "AMD Radeon AI PRO R9700"),
        ("Max-1550-stack", "Intel(R) Data Center GPU Max 1550"),
        ("Max-1550", "Intel(R) Data Center GPU Max 1550"),
        ("Gaudi-2", "HL-225"),
        ("Gaudi-3", "HL-325L"),
    ];

    #[test]
    fn every_row_is_recognized_by_its_device() {
        let recognized = GPUS.iter().filter(|gpu| !gpu.patterns.is_empty());
        assert!(
            recognized
                .map(|gpu| &*gpu.id)
                .eq(DEVICES.iter().map(|(id, _)| *id))
        );
        for (id, name) in DEVICES {
            let device = DeviceProperties {
                name: (*name).to_owned(),
                n_sms: find(id).and_then(|gpu| gpu.n_sms),
                total_memory: find(id)
                    .and_then(|gpu| gpu.memory_gb)
                    .map(|gb| (gb * f64::from(1 << 30)) as u64),
                ..DeviceProperties::default()
            };
            assert_eq!(detect(&[device]).map(|gpu| &*gpu.id), Some(*id), "{name}");
        }
    }

    /// Without a name, a GPU is identified by its size if only one GPU has that size.
    #[test]
    fn every_row_of_a_size_of_its_own_is_recognized_without_a_name() {
        let mut nameless = Vec::new();
        for gpu in GPUS.iter() {
            let (Some(n_sms), Some((major, minor))) = (gpu.n_sms, gpu.compute) else {
                continue;
            };
            let device = DeviceProperties {
                n_sms: Some(n_sms),
                total_memory: Some((gpu.memory_gb.unwrap() * 0.99 * f64::from(1 << 30)) as u64),
                compute_major: Some(major),
                compute_minor: Some(minor),
                ..DeviceProperties::default()
            };
            match detect(&[device]) {
                Some(detected) if detected.id == gpu.id => {}
                _ => nameless.push(&*gpu.id),
            }
        }
        // Same die, about the same memory.
        let twins = [
            "V100-16GB",
            "V100-32GB",
            "V100-16GB-PCIe",
            "V100-32GB-PCIe",
            "A40",
            "A100-80GB-PCIe",
            "A100-80GB",
            "A800",
            "L40S",
            "H100-NVL",
            "H200-NVL",
            "H200",
            "H800-PCIe",
            "H800",
            "GH200-96GB",
            "GH200-144GB",
            "RTX-A6000",
            "RTX-6000-Ada",
            "MI250",
            "MI350X",
            "MI355X",
        ];
        assert_eq!(nameless, twins);
    }
}
