//! Which GPU a trace was recorded on.

use super::{Basis, Confidence, GPUS, GpuSpec, Precision, Vendor};
use crate::trace::{ByName, Category, DeviceProperties, Trace};

/// The profile of a trace's devices; `None` if it cannot be determined, or if the devices differ.
///
/// The name decides if it is given. Some ROCm traces leave it empty: then compute unit count, memory and compute
/// version must match exactly one profile.
pub fn detect(devices: &[DeviceProperties]) -> Option<&'static GpuSpec> {
    let (first, rest) = devices.split_first()?;
    let gpu = detect_one(first)?;
    rest.iter()
        .all(|device| detect_one(device) == Some(gpu))
        .then_some(gpu)
}

/// ROCm's names for a GPU that it does not recognize.
const NO_NAMES: [&str; 2] = ["", "AMD Radeon Graphics"];

fn detect_one(device: &DeviceProperties) -> Option<&'static GpuSpec> {
    let gpu = if NO_NAMES.contains(&device.name.trim()) {
        by_size(device)?
    } else {
        by_name_and_memory(device)?
    };
    // A slice of a GPU (MIG, or a partition of an MI300X) has the name of the whole GPU but only part of its
    // performance.
    let whole = device
        .n_sms
        .zip(gpu.n_sms)
        .is_none_or(|(device, whole)| device >= whole);
    whole.then_some(gpu)
}

/// The compute units of a device that has only a part of those of the GPU with its name, and the number of all of them.
pub(crate) fn part_of_a_gpu(devices: &[DeviceProperties]) -> Option<(u32, u32)> {
    let device = devices.first()?;
    let units = device.n_sms.zip(by_name(&device.name)?.n_sms);
    units.filter(|(device, whole)| device < whole)
}

/// Whether a device may be from the vendor of a GPU. Different vendors can use the same compute version.
fn may_be_made_by(device: &DeviceProperties, gpu: &GpuSpec) -> bool {
    let is_same = |vendor: Vendor| vendor.label() == device.vendor;
    device.vendor.is_empty() || gpu.vendor.is_none_or(is_same)
}

/// The GPUs of the table that unnamed devices may be: those with the same compute version and, if known, size. Empty if
/// the trace has no version.
pub fn candidates(devices: &[DeviceProperties]) -> Vec<&'static GpuSpec> {
    let nameless = devices.first().filter(|device| device.name.is_empty());
    let version = nameless.and_then(|device| device.compute_major.zip(device.compute_minor));
    let is_one = |gpu: &&GpuSpec| {
        let n_sms = nameless.and_then(|device| device.n_sms);
        let is_of_vendor = nameless.is_none_or(|device| may_be_made_by(device, gpu));
        gpu.compute == version && is_of_vendor && (n_sms.is_none() || gpu.n_sms == n_sms)
    };
    match version {
        Some(_) => GPUS.iter().filter(is_one).collect(),
        None => Vec::new(),
    }
}

/// A user's own profile, with what it leaves open taken from the device of the trace, which it may well describe: the
/// maker, the compute version and the number of compute units. `None` if there is nothing to add.
pub(crate) fn completed(gpu: &GpuSpec, devices: &[DeviceProperties]) -> Option<GpuSpec> {
    let device = devices.first()?;
    let known = detect_one(device);
    let of_device = device.compute_major.zip(device.compute_minor);
    let completed = GpuSpec {
        vendor: gpu.vendor.or_else(|| maker(device)),
        compute: gpu.compute.or(of_device),
        n_sms: gpu.n_sms.or(device.n_sms),
        n_peers: gpu.n_peers.or(known.and_then(|known| known.n_peers)),
        ..gpu.clone()
    };
    (gpu.confidence == Confidence::User && completed != *gpu).then_some(completed)
}

/// Who makes the GPUs that a trace was recorded on: as its devices say, else as the runtime that was called.
pub(crate) fn vendor_of(trace: &Trace) -> Option<Vendor> {
    let mut of_call = ByName::new(vendor_of_call);
    let mut calls = trace.events.of_category(Category::is_runtime);
    let of_device = trace.devices.first().and_then(maker);
    of_device.or_else(|| calls.find_map(|call| of_call.of(trace, call)))
}

/// Who makes a device.
fn maker(device: &DeviceProperties) -> Option<Vendor> {
    let of_table = || detect_one(device).and_then(|gpu| gpu.vendor);
    let name = device
        .name
        .split(|letter: char| !letter.is_ascii_alphanumeric());
    let named: Vec<&str> = name.collect();
    let mut vendors = Vendor::ALL.into_iter();
    vendors
        .find(|vendor| named.contains(&vendor.label()) || device.vendor == vendor.label())
        .or_else(of_table)
}

/// Whose runtime a call belongs to: `hipLaunchKernel`, `cudaMemcpyAsync`, `cuLaunchKernel`, `urEnqueueKernelLaunch`.
fn vendor_of_call(name: &str) -> Option<Vendor> {
    const PREFIXES: [(&str, Vendor); 6] = [
        ("hip", Vendor::Amd),
        ("cuda", Vendor::Nvidia),
        ("cu", Vendor::Nvidia),
        ("ur", Vendor::Intel),
        ("ze", Vendor::Intel),
        ("pi", Vendor::Intel),
    ];
    let is_of = |prefix: &str| {
        let rest = name.strip_prefix(prefix);
        rest.is_some_and(|rest| rest.starts_with(|letter: char| letter.is_ascii_uppercase()))
    };
    let mut prefixes = PREFIXES.into_iter();
    prefixes
        .find(|(prefix, _)| is_of(prefix))
        .map(|(_, vendor)| vendor)
}

/// The GPU of the table for a device name as written by profilers.
pub fn by_name(name: &str) -> Option<&'static GpuSpec> {
    let mut gpus = GPUS.iter();
    gpus.find(|gpu| gpu.patterns.iter().any(|pattern| fits(pattern, name)))
}

/// The same, for a device: if several GPUs have its name, the one with its memory.
fn by_name_and_memory(device: &DeviceProperties) -> Option<&'static GpuSpec> {
    let is_named = |gpu: &&GpuSpec| {
        let mut patterns = gpu.patterns.iter();
        patterns.any(|pattern| fits(pattern, &device.name))
    };
    let mut named = GPUS.iter().filter(is_named);
    let of_size = named.find(|gpu| has_memory(device, gpu));
    of_size.or_else(|| by_name(&device.name))
}

/// Whether a device has the memory of a GPU: the driver reports a few percent less than the GiB in the product's name.
fn has_memory(device: &DeviceProperties, gpu: &GpuSpec) -> bool {
    let nominal = gpu.memory_gb.map(|gb| gb * f64::from(1 << 30));
    let memory = device.total_memory.map(|memory| memory as f64);
    let ratio = memory
        .zip(nominal)
        .map(|(memory, nominal)| memory / nominal);
    ratio.is_some_and(|ratio| (ratio - 1.0).abs() < 0.05)
}

/// Words in a name that mean a different GPU: slices (MIG), faster or slower variants (Ti, Super, D, Max-Q, laptop,
/// workstation), and the H20 with HBM3e.
const OTHER_GPUS: &[&str] = &["mig", "ti", "super", "d", "q", "laptop", "ws", "3e"];

/// Whether all words of the pattern are words of the name, so that "H200" does not match "GH200".
fn fits(pattern: &str, name: &str) -> bool {
    let words = |text: &str| -> Vec<String> {
        text.split(|letter: char| !letter.is_ascii_alphanumeric())
            .filter(|word| !word.is_empty())
            .map(str::to_ascii_lowercase)
            .collect()
    };
    let name = words(name);
    let is_another = name.iter().any(|word| OTHER_GPUS.contains(&word.as_str()));
    !is_another && words(pattern).iter().all(|word| name.contains(word))
}

fn by_size(device: &DeviceProperties) -> Option<&'static GpuSpec> {
    let n_sms = device.n_sms?;
    let compute = (device.compute_major?, device.compute_minor?);
    let mut fitting = GPUS.iter().filter(|gpu| {
        gpu.n_sms == Some(n_sms)
            && may_be_made_by(device, gpu)
            && gpu.compute == Some(compute)
            && has_memory(device, gpu)
    });
    let gpu = fitting.next()?;
    fitting
        .all(|other| has_figures_of(other, gpu))
        .then_some(gpu)
}

/// Whether two GPUs have the same memory bandwidth and peaks, as one die that is sold under two names.
fn has_figures_of(other: &GpuSpec, gpu: &GpuSpec) -> bool {
    let peaks = |gpu: &GpuSpec| {
        let precisions = [
            Precision::Fp32,
            Precision::Fp16,
            Precision::Bf16,
            Precision::Fp8,
        ];
        precisions.map(|precision| {
            gpu.matrix(precision, Basis::Peak)
                .map(|figure| figure.tflops)
        })
    };
    other.mem_bw_gbps.total_cmp(&gpu.mem_bw_gbps).is_eq() && peaks(other) == peaks(gpu)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> DeviceProperties {
        DeviceProperties {
            name: name.to_owned(),
            ..DeviceProperties::default()
        }
    }

    fn sized(n_sms: u32, total_memory: u64, compute: (u32, u32)) -> DeviceProperties {
        DeviceProperties {
            n_sms: Some(n_sms),
            total_memory: Some(total_memory),
            compute_major: Some(compute.0),
            compute_minor: Some(compute.1),
            ..DeviceProperties::default()
        }
    }

    fn id(device: DeviceProperties) -> Option<&'static str> {
        detect(&[device]).map(|gpu| &*gpu.id)
    }

    /// In addition to the names that each row of the table is recognized by.
    #[test]
    fn by_name() {
        #[rustfmt::skip]
        let cases = [
            ("NVIDIA H100 SXM5 80GB", Some("H100")),
            ("NVIDIA H100 80GB HBM2e", Some("H100-PCIe")),
            ("NVIDIA A100-PCIE-40GB", Some("A100-40GB")),
            // The board number instead of the product name.
            ("NVIDIA A100-PG509-200", Some("A100-40GB")),
            ("A100-PG509-200", Some("A100-40GB")),
            ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", None),
            ("NVIDIA GB300-WS", None),
            ("NVIDIA RTX PRO 6000 Blackwell Server Edition", None),
            ("NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition", None),
            ("AMD Instinct MI300X VF", Some("MI300X")),
            ("NVIDIA GeForce RTX 4090 D", None),
            ("NVIDIA GeForce RTX 3090 Ti", None),
            ("NVIDIA GeForce GTX 970", None),
        ];
        for (name, expected) in cases {
            assert_eq!(id(named(name)), expected, "{name}");
        }
    }

    #[test]
    fn a_version_alone_leaves_some_to_choose_from() {
        let device = DeviceProperties {
            compute_major: Some(9),
            compute_minor: Some(0),
            ..DeviceProperties::default()
        };
        let ids = |vendor| {
            let device = DeviceProperties {
                vendor,
                ..device.clone()
            };
            let all = candidates(&[device]);
            all.iter().map(|gpu| &*gpu.id).collect::<Vec<&str>>()
        };
        // Two vendors have a compute version 9.0.
        for (vendor, has_h100, has_mi210) in [
            ("", true, true),
            ("NVIDIA", true, false),
            ("AMD", false, true),
        ] {
            let ids = ids(vendor);
            let has = |id| ids.contains(&id);
            assert_eq!(
                (has("H100"), has("MI210")),
                (has_h100, has_mi210),
                "{vendor}"
            );
            assert!(!has("A100"), "{ids:?}");
        }
        assert!(candidates(&[named("NVIDIA H100 SXM5 80GB")]).is_empty());
        assert!(candidates(&[]).is_empty());
    }

    #[test]
    fn by_size_when_there_is_no_name() {
        let cases = [
            (304, 206_141_652_992, (9, 4), Some("MI300X")),
            (304, 205_571_227_648, (9, 4), Some("MI300X")),
            (304, 274_861_129_728, (9, 4), Some("MI325X")),
            (132, 85_018_279_936, (9, 0), Some("H100")),
            // An H200 or a GH200.
            (132, 150_754_820_096, (9, 0), None),
            (104, 68_702_699_520, (9, 0), Some("MI210")),
            (104, 85_018_279_936, (9, 0), None),
            // Two boards of the same size with different memory: undetermined.
            (108, 85_899_345_920, (8, 0), None),
            (304, 206_141_652_992, (9, 5), None),
        ];
        for (n_sms, memory, compute, expected) in cases {
            assert_eq!(
                id(sized(n_sms, memory, compute)),
                expected,
                "{n_sms} {memory}"
            );
        }
    }

    #[test]
    fn a_name_of_all_of_a_vendor_is_none() {
        let device = DeviceProperties {
            name: "AMD Radeon Graphics".to_owned(),
            ..sized(304, 206_141_652_992, (9, 4))
        };
        assert_eq!(id(device), Some("MI300X"));
        assert_eq!(id(named("AMD Radeon Graphics")), None);
    }

    #[test]
    fn the_runtime_tells_the_vendor() {
        let vendor_of = |device: DeviceProperties, call: &str| {
            let mut trace = crate::testing::Timetable::new()
                .runtime(call, 1, 10..20)
                .trace();
            trace.devices = vec![device];
            super::vendor_of(&trace)
        };
        let calls = [
            ("hipExtModuleLaunchKernel", Some(Vendor::Amd)),
            ("cudaLaunchKernel", Some(Vendor::Nvidia)),
            ("cuLaunchKernelEx", Some(Vendor::Nvidia)),
            ("urEnqueueKernelLaunch", Some(Vendor::Intel)),
            ("custom", None),
            ("launch", None),
        ];
        for (call, expected) in calls {
            assert_eq!(vendor_of(named("GPU"), call), expected, "{call}");
        }
        // What the device says comes first.
        let device = named("AMD Radeon RX 6600");
        assert_eq!(vendor_of(device, "cudaLaunchKernel"), Some(Vendor::Amd));
    }

    /// A card of two dies may be one device or two.
    #[test]
    fn memory_decides_between_gpus_of_one_name() {
        for (gib, expected) in [(64, "Max-1550-stack"), (128, "Max-1550")] {
            let device = DeviceProperties {
                total_memory: Some(gib << 30),
                ..named("Intel(R) Data Center GPU Max 1550")
            };
            assert_eq!(id(device), Some(expected));
        }
    }

    #[test]
    fn a_part_of_a_gpu_is_not_the_gpu() {
        let partition = DeviceProperties {
            n_sms: Some(38),
            ..named("AMD Instinct MI300X")
        };
        assert_eq!(detect(std::slice::from_ref(&partition)), None);
        assert_eq!(part_of_a_gpu(&[partition]), Some((38, 304)));
        assert_eq!(part_of_a_gpu(&[named("AMD Instinct MI300X")]), None);
    }

    #[test]
    fn a_users_profile_has_the_maker_and_units_of_the_recorded_device() {
        let own =
            r#"{"name": "Node 7", "mem_bw_gbps": 5300, "peak_tflops": {"matrix_bf16": 1307}}"#;
        let own = crate::hardware::parse(own).unwrap();
        let device = DeviceProperties {
            name: "AMD Instinct MI300X".to_owned(),
            ..sized(38, 206_141_652_992, (9, 4))
        };
        let completed = completed(&own, &[device]).unwrap();
        assert_eq!(completed.vendor, Some(Vendor::Amd));
        assert_eq!(
            (completed.compute, completed.n_sms),
            (Some((9, 4)), Some(38))
        );
        // A row of the table stays as it is.
        let h100 = super::by_name("NVIDIA H100 80GB HBM3").unwrap();
        assert_eq!(
            super::completed(h100, &[named("AMD Instinct MI300X")]),
            None
        );
        assert_eq!(super::completed(&own, &[]), None);
    }

    #[test]
    fn all_devices_must_agree() {
        let h100 = named("NVIDIA H100 80GB HBM3");
        let h200 = named("NVIDIA H200");
        assert_eq!(
            detect(&[h100.clone(), h100.clone()]).map(|gpu| &*gpu.id),
            Some("H100")
        );
        assert_eq!(detect(&[h100, h200]), None);
        assert_eq!(detect(&[]), None);
    }
}
