//! The GPU that a report compares with, and how reliable its figures are.

use std::sync::Arc;

use crate::base::format;
use crate::base::group::counted;
use crate::base::map::Set;
use crate::hardware::{self, Basis, Confidence, Figure, GpuSpec, Precision};
use crate::profile::{Profile, launch};
use crate::report::ReportOptions;
use crate::trace::{DeviceProperties, StringId};

/// The GPU that a report compares with.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// Its specification; `None` if it is neither detected from the trace nor chosen.
    pub gpu: Option<Arc<GpuSpec>>,
    /// The devices that were used, named as in the trace, "8 × AMD Instinct MI300X"; `None` if the trace does not name
    /// them.
    pub recorded_on: Option<String>,
    /// States that the report compares with a different GPU than the recorded one, and what efficiencies and savings
    /// then mean: a sentence or two.
    pub mismatch: Option<String>,
    /// Its figures.
    pub figures: Vec<HardwareFigure>,
    /// What the figures are and their sources, or how to provide some.
    pub basis: String,
    /// A caution if efficiencies do not all have the same basis.
    pub caveat: Option<String>,
}

/// A figure with its name, both as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardwareFigure {
    /// What it is.
    pub label: String,
    /// How much, with its unit.
    pub value: String,
    /// Peak or achievable; `None` if neither applies.
    pub basis: Option<Basis>,
}

impl Hardware {
    pub(super) fn new(profile: &Profile, options: &ReportOptions) -> Hardware {
        let recorded_on = recorded_on(profile);
        let detected = hardware::detect(&profile.trace.devices);
        let gpu = options.gpu.as_deref();
        let other = gpu.and_then(|gpu| recorded_instead_of(gpu, detected));
        let (figures, basis) = match gpu {
            Some(gpu) => (
                figures(gpu, options.basis),
                basis(gpu, options.basis, other),
            ),
            None => {
                let devices = &profile.trace.devices;
                (
                    Vec::new(),
                    missing(detected, recorded_on.as_deref(), devices),
                )
            }
        };
        Hardware {
            gpu: options.gpu.clone(),
            mismatch: gpu.zip(other).map(|(gpu, other)| mismatch(gpu, other)),
            recorded_on,
            figures,
            basis,
            caveat: None,
        }
    }
}

/// The GPU that a trace was recorded on, if it is not the one compared with. A user's own figures may well describe the
/// recorded GPU.
fn recorded_instead_of<'a>(gpu: &GpuSpec, detected: Option<&'a GpuSpec>) -> Option<&'a GpuSpec> {
    detected.filter(|detected| *detected != gpu && gpu.confidence != Confidence::User)
}

fn mismatch(gpu: &GpuSpec, recorded: &GpuSpec) -> String {
    format!(
        "Recorded on the {}, compared with the roofline of the {}: efficiencies and savings show how far \
         its times are from what the {} could do, not what can be saved where it ran.",
        recorded.name, gpu.name, gpu.name
    )
}

/// The devices that were used; more may have been visible. Events have their device number as process id. If no such
/// number matches a device, or nothing ran, all devices count.
fn used(profile: &Profile) -> Vec<&DeviceProperties> {
    let trace = &profile.trace;
    let work = profile.gpu.iter();
    let processes: Set<StringId> = work
        .filter_map(|(_, work)| launch::process(trace, work.event))
        .collect();
    let numbers = processes.into_iter().map(|pid| trace.strings.get(pid));
    let numbers: Set<i64> = numbers.flat_map(str::parse).collect();
    let devices = || trace.devices.iter().enumerate();
    let used: Vec<&DeviceProperties> = devices()
        .filter(|(at, device)| {
            let number = device.id.or_else(|| i64::try_from(*at).ok());
            number.is_some_and(|number| numbers.contains(&number))
        })
        .map(|(_, device)| device)
        .collect();
    match used.is_empty() {
        true => trace.devices.iter().collect(),
        false => used,
    }
}

/// The cached result of [`recorded_on`].
struct DeviceNames(Option<String>);

/// Names of the devices that were used, in order of appearance, each with its count.
pub(in crate::report) fn recorded_on(profile: &Profile) -> Option<String> {
    let found = profile.once(|| DeviceNames(names_of_used(profile)));
    found.0.clone()
}

fn names_of_used(profile: &Profile) -> Option<String> {
    let names = used(profile).into_iter().map(|device| device.name.trim());
    let names = counted(names.filter(|name| !name.is_empty())).into_iter();
    let names = format::joined(
        names.map(|(name, count)| match count {
            1 => name.to_owned(),
            _ => format!("{count} × {name}"),
        }),
        ", ",
    );
    (!names.is_empty()).then_some(names)
}

/// The precisions whose matrix rates are shown.
const SHOWN: [Precision; 3] = [Precision::Bf16, Precision::Fp16, Precision::Fp8];

fn figures(gpu: &GpuSpec, basis: Basis) -> Vec<HardwareFigure> {
    let mut figures = Vec::new();
    let mut add = |label: String, value: String, basis| {
        figures.push(HardwareFigure {
            label,
            value,
            basis,
        });
    };
    add(
        "Memory bandwidth".to_owned(),
        format::bandwidth_gbps(gpu.mem_bw_gbps),
        Some(gpu.mem_bw_basis),
    );
    let mut add_rate = |label: String, figure: Option<Figure>| {
        if let Some(figure) = figure {
            add(label, format::tflops(figure.tflops), Some(figure.basis));
        }
    };
    for precision in SHOWN {
        let label = format!("{} matrix", precision.label());
        add_rate(label, gpu.matrix_rate(precision, basis));
    }
    let vector = gpu.vector_rate(Precision::Fp32, basis);
    add_rate("FP32 vector".to_owned(), vector);
    if let Some(ridge) = gpu.ridge_flops_per_byte(basis) {
        let value = format!("{} FLOP/byte", format::number(ridge));
        add("Ridge, BF16".to_owned(), value, None);
    }
    if let Some(memory_gb) = gpu.memory_gb {
        add("Memory".to_owned(), format!("{memory_gb} GB"), None);
    }
    figures
}

/// The sources of the figures, with a caution if the trace was recorded on another GPU.
fn basis(gpu: &GpuSpec, wanted: Basis, recorded: Option<&GpuSpec>) -> String {
    let first = sources(gpu, wanted, wanted);
    let rest = sources(gpu, wanted, wanted.other());
    let named = |basis: Basis| match basis {
        Basis::Peak => "peaks",
        Basis::Achievable => "achievable figures",
    };
    let mut text = match (first.is_empty(), rest.is_empty()) {
        (false, false) => format!(
            "These are {} where known ({}), and {} otherwise ({}).",
            named(wanted),
            first.join("; "),
            named(wanted.other()),
            rest.join("; ")
        ),
        (false, true) => format!("All figures are {} ({}).", named(wanted), first.join("; ")),
        (true, _) => format!(
            "All figures are {} ({}).",
            named(wanted.other()),
            rest.join("; ")
        ),
    };
    if let Some(recorded) = recorded {
        text.push_str(&format!(
            " They are not those of the GPU the trace was recorded on, {}.",
            recorded.name
        ));
    }
    text
}

/// The sources of those figures, among the ones shown for the wanted basis, that have the given basis.
fn sources(gpu: &GpuSpec, wanted: Basis, basis: Basis) -> Vec<String> {
    let matrix = SHOWN.map(|precision| gpu.matrix_rate(precision, wanted));
    let vector = gpu.vector_rate(Precision::Fp32, wanted);
    let mut sources = Vec::new();
    for figure in matrix.into_iter().chain([vector]).flatten() {
        let source = cited(&figure.source, figure.confidence);
        if figure.basis == basis && !sources.contains(&source) {
            sources.push(source);
        }
    }
    let memory = cited(&gpu.source, gpu.confidence);
    if gpu.mem_bw_basis == basis && !sources.contains(&memory) {
        sources.push(memory);
    }
    sources
}

/// A source, marked if it is not the vendor's own statement.
fn cited(source: &str, confidence: Confidence) -> String {
    match confidence {
        Confidence::Vendor | Confidence::User => source.to_owned(),
        Confidence::Derived | Confidence::ThirdParty => {
            format!("{source}; {}", confidence.label())
        }
    }
}

fn missing(
    detected: Option<&GpuSpec>,
    recorded_on: Option<&str>,
    devices: &[DeviceProperties],
) -> String {
    let candidates = hardware::candidates(devices);
    match recorded_on {
        None if !candidates.is_empty() => {
            let names = format::joined(candidates.iter().map(|gpu| &*gpu.name), ", ");
            format!("The trace does not say which GPU it was recorded on, only its version, which fits {names}; choose one to compare with what it can do.")
        }
        Some(name) => match detected {
            Some(gpu) => format!("The trace was recorded on {}; choose it to compare.", gpu.name),
            None if let Some((units, all)) = hardware::part_of_a_gpu(devices) => format!(
                "The trace was recorded on a part of {name}, {units} of {all} compute units, for which there are no figures here; choose a GPU to compare with one."
            ),
            None => format!(
                "The trace was recorded on {name}, for which there are no figures here; choose a GPU to compare with one."
            ),
        },
        None => "The trace does not say which GPU it was recorded on; choose one to compare with what it can do.".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;

    fn hardware(devices: &str, gpu: Option<&str>) -> Hardware {
        let json = format!("{{\"deviceProperties\": {devices}, \"traceEvents\": []}}");
        let profile = Profile::new(import(json.as_bytes()).unwrap());
        let options = ReportOptions {
            gpu: gpu.and_then(hardware::find).map(Arc::from),
            ..ReportOptions::default()
        };
        Hardware::new(&profile, &options)
    }

    #[test]
    fn achievable_figures_are_distinguished_from_peaks() {
        let devices = r#"[{"name": "AMD Instinct MI300X"}, {"name": "AMD Instinct MI300X"}]"#;
        let hardware = hardware(devices, Some("MI300X"));
        assert_eq!(
            hardware.recorded_on.as_deref(),
            Some("2 × AMD Instinct MI300X")
        );
        let figures: Vec<(&str, &str, Option<Basis>)> = hardware
            .figures
            .iter()
            .map(|figure| (figure.label.as_str(), figure.value.as_str(), figure.basis))
            .collect();
        assert_eq!(
            figures,
            [
                ("Memory bandwidth", "5.30 TB/s", Some(Basis::Peak)),
                ("BF16 matrix", "708 TFLOPS", Some(Basis::Achievable)),
                ("FP16 matrix", "654 TFLOPS", Some(Basis::Achievable)),
                ("FP8 matrix", "1\u{202F}273 TFLOPS", Some(Basis::Achievable)),
                ("FP32 vector", "163 TFLOPS", Some(Basis::Peak)),
                ("Ridge, BF16", "134 FLOP/byte", None),
                ("Memory", "192 GB", None),
            ]
        );
        assert!(
            hardware
                .basis
                .starts_with("These are achievable figures where known (measured with hipBLASLt")
        );
        assert!(
            hardware
                .basis
                .ends_with("and peaks otherwise (AMD Instinct MI300X datasheet).")
        );
    }

    #[test]
    fn another_gpu_than_the_recorded_one_is_pointed_out() {
        let hardware = hardware(r#"[{"name": "NVIDIA H200"}]"#, Some("A100-80GB"));
        assert_eq!(
            hardware.basis,
            "All figures are peaks (NVIDIA A100 datasheet). \
             They are not those of the GPU the trace was recorded on, NVIDIA H200 SXM."
        );
        let mismatch = hardware.mismatch.unwrap();
        assert!(
            mismatch.starts_with(
                "Recorded on the NVIDIA H200 SXM, compared with the roofline of the NVIDIA A100"
            ),
            "{mismatch}"
        );
    }

    #[test]
    fn the_recorded_gpu_and_a_users_figures_are_no_mismatch() {
        let h200 = r#"[{"name": "NVIDIA H200"}]"#;
        assert_eq!(hardware(h200, Some("H200")).mismatch, None);
        assert_eq!(hardware(h200, None).mismatch, None);
        assert_eq!(hardware("[]", Some("H200")).mismatch, None);
    }

    /// Four devices were visible; some were used.
    #[test]
    fn devices_without_work_do_not_count() {
        let recorded_on = |events: &str| {
            let devices: Vec<String> = (0..4)
                .map(|id| format!(r#"{{"id": {id}, "name": "NVIDIA H100 80GB HBM3"}}"#))
                .collect();
            let json = format!(
                r#"{{"deviceProperties": [{}], "traceEvents": [{events}]}}"#,
                devices.join(", ")
            );
            let profile = Profile::new(import(json.as_bytes()).unwrap());
            recorded_on(&profile).unwrap()
        };
        let kernel = |device: &str| {
            format!(
                r#"{{"ph": "X", "cat": "kernel", "name": "k", "pid": {device}, "tid": 7, "ts": 0, "dur": 5}}"#
            )
        };
        assert_eq!(recorded_on(&kernel("2")), "NVIDIA H100 80GB HBM3");
        let two = format!("{}, {}", kernel("0"), kernel("3"));
        assert_eq!(recorded_on(&two), "2 × NVIDIA H100 80GB HBM3");
        // It is unknown which device it is.
        assert_eq!(recorded_on(&kernel("4711")), "4 × NVIDIA H100 80GB HBM3");
        assert_eq!(recorded_on(""), "4 × NVIDIA H100 80GB HBM3");
    }

    #[test]
    fn without_a_profile_the_way_out_is_said() {
        assert_eq!(
            hardware(r#"[{"name": "NVIDIA GeForce GTX 970"}]"#, None).basis,
            "The trace was recorded on NVIDIA GeForce GTX 970, for which there are no figures here; \
             choose a GPU to compare with one."
        );
        assert_eq!(
            hardware(r#"[{"name": "AMD Instinct MI300X", "numSms": 38}]"#, None).basis,
            "The trace was recorded on a part of AMD Instinct MI300X, 38 of 304 compute units, \
             for which there are no figures here; choose a GPU to compare with one."
        );
        assert_eq!(
            hardware("[]", None).basis,
            "The trace does not say which GPU it was recorded on; \
             choose one to compare with what it can do."
        );
        assert!(hardware("[]", None).figures.is_empty());
    }
}
