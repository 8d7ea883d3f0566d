//! The GPU that a report judges by, and what its figures are worth.

use std::sync::Arc;

use crate::format;
use crate::gpu::{self, Basis, Confidence, Figure, GpuSpec, Precision};
use crate::profile::Profile;
use crate::report::ReportOptions;

/// The GPU that a report judges by.
#[derive(Debug, Clone, PartialEq)]
pub struct Hardware {
    /// The profile; `None` when it is neither told by the trace nor chosen.
    pub gpu: Option<Arc<GpuSpec>>,
    /// The device as the trace names it, "8 × AMD Instinct MI300X"; `None` when it does not.
    pub recorded_on: Option<String>,
    /// Its figures.
    pub figures: Vec<HardwareFigure>,
    /// What the figures are and where they stand, or how to get some.
    pub basis: String,
    /// A word of caution where efficiencies are not all on one basis.
    pub caveat: Option<String>,
}

/// A figure with its name, both for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HardwareFigure {
    /// What it is.
    pub label: String,
    /// How much, with its unit.
    pub value: String,
    /// Peak or achievable; `None` for what is neither.
    pub basis: Option<Basis>,
}

impl Hardware {
    pub(super) fn new(profile: &Profile, options: &ReportOptions) -> Hardware {
        let recorded_on = recorded_on(profile);
        let detected = gpu::detect(&profile.trace.devices);
        let (figures, basis) = match &options.gpu {
            Some(gpu) => (
                figures(gpu, options.basis),
                basis(gpu, options.basis, detected),
            ),
            None => (Vec::new(), missing(detected, recorded_on.as_deref())),
        };
        Hardware {
            gpu: options.gpu.clone(),
            recorded_on,
            figures,
            basis,
            caveat: None,
        }
    }
}

/// Names of the devices, in order of appearance, each with how many there are.
pub(in crate::report) fn recorded_on(profile: &Profile) -> Option<String> {
    let mut names: Vec<(&str, usize)> = Vec::new();
    for device in &profile.trace.devices {
        let name = device.name.trim();
        if name.is_empty() {
            continue;
        }
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => names.push((name, 1)),
        }
    }
    let names: Vec<String> = names
        .into_iter()
        .map(|(name, count)| match count {
            1 => name.to_owned(),
            _ => format!("{count} × {name}"),
        })
        .collect();
    (!names.is_empty()).then(|| names.join(", "))
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
    if let Some(ridge) = gpu.ridge_flops_per_byte(Precision::Bf16, basis) {
        let value = format!("{} FLOP/B", format::number(ridge));
        add("Ridge, BF16".to_owned(), value, None);
    }
    if let Some(memory_gb) = gpu.memory_gb {
        add("Memory".to_owned(), format!("{memory_gb} GB"), None);
    }
    figures
}

/// Where the figures come from; and a word of caution where the trace names another GPU.
fn basis(gpu: &GpuSpec, wanted: Basis, detected: Option<&GpuSpec>) -> String {
    let first = sources(gpu, wanted, wanted);
    let rest = sources(gpu, wanted, wanted.other());
    let named = |basis: Basis| match basis {
        Basis::Peak => "peaks",
        Basis::Achievable => "achievable figures",
    };
    let mut text = match (first.is_empty(), rest.is_empty()) {
        (false, false) => format!(
            "Where they are known, these are {} ({}); the others are {} ({}).",
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
    // A user's figures may well be those of this very GPU.
    if let Some(detected) = detected
        && detected != gpu
        && gpu.confidence != Confidence::User
    {
        text.push_str(&format!(
            " They are not those of the GPU the trace was recorded on, {}.",
            detected.name
        ));
    }
    text
}

/// Where those of the figures shown under the wanted basis stand that are on a basis.
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

/// A source, with a mark where it is not the vendor's own word.
fn cited(source: &str, confidence: Confidence) -> String {
    match confidence {
        Confidence::Vendor | Confidence::User => source.to_owned(),
        Confidence::Derived | Confidence::ThirdParty => {
            format!("{source}; {}", confidence.label())
        }
    }
}

fn missing(detected: Option<&GpuSpec>, recorded_on: Option<&str>) -> String {
    match recorded_on {
        Some(name) => match detected {
            Some(gpu) => format!("The trace was recorded on {}; choose it to compare.", gpu.name),
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
            gpu: gpu.and_then(gpu::find).map(Arc::from),
            ..ReportOptions::default()
        };
        Hardware::new(&profile, &options)
    }

    #[test]
    fn achievable_figures_are_told_from_peaks() {
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
                ("Ridge, BF16", "134 FLOP/B", None),
                ("Memory", "192 GB", None),
            ]
        );
        assert!(hardware.basis.starts_with(
            "Where they are known, these are achievable figures (measured with hipBLASLt"
        ));
        assert!(
            hardware
                .basis
                .ends_with("the others are peaks (AMD Instinct MI300X datasheet).")
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
    }

    #[test]
    fn without_a_profile_the_way_out_is_said() {
        assert_eq!(
            hardware(r#"[{"name": "NVIDIA GeForce GTX 970"}]"#, None).basis,
            "The trace was recorded on NVIDIA GeForce GTX 970, for which there are no figures here; \
             choose a GPU to compare with one."
        );
        assert_eq!(
            hardware("[]", None).basis,
            "The trace does not say which GPU it was recorded on; \
             choose one to compare with what it can do."
        );
        assert!(hardware("[]", None).figures.is_empty());
    }
}
