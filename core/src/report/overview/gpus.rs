//! How sentences refer to the GPU or the GPUs of a trace.

use crate::assess::Timelines;
use crate::base::format;
use crate::base::interval::percent_of;
use crate::profile::Profile;
use crate::profile::gpu::timeline::GpuTimeline;

/// How a sentence refers to the GPUs of a trace.
pub(super) struct Gpus {
    pub(super) subject: String,
    pub(super) is: &'static str,
    pub(super) it: &'static str,
    /// How busy each GPU is, in a sentence, if there are several.
    pub(super) each: Option<String>,
    pub(super) on_average: &'static str,
    /// The average over GPUs if there are several.
    pub(super) of_one: GpuTimeline,
}

impl Gpus {
    pub(super) fn new(whole: &GpuTimeline, timelines: &Timelines, profile: &Profile) -> Gpus {
        let of_one = timelines.of_one_gpu().unwrap_or(*whole);
        match timelines.gpus.len() {
            0 => Gpus {
                subject: "The GPU".to_owned(),
                is: "is",
                it: "it",
                each: None,
                on_average: "",
                of_one,
            },
            n_gpus => Gpus {
                subject: format!("The {n_gpus} GPUs taken together"),
                is: "are",
                it: "they",
                each: Some(each_busy(profile, timelines)),
                on_average: " on average per GPU",
                of_one,
            },
        }
    }
}

/// How busy each of several GPUs is, in a sentence: `GPU 0 is busy 50.0 %, GPU 1 48.0 %.`
fn each_busy(profile: &Profile, timelines: &Timelines) -> String {
    /// If there are more, they are shown as a range.
    const MOST_NAMED: usize = 4;
    let busy = |of_gpu: &GpuTimeline| percent_of(of_gpu.busy_ns, of_gpu.total_ns());
    let gpus = timelines.gpus.iter();
    let gpus: Vec<(&str, f64)> = gpus
        .filter_map(|(gpu, of_gpu)| Some((profile.trace.strings.get(*gpu), busy(of_gpu)?)))
        .collect();
    let shares = || gpus.iter().map(|(_, share)| *share);
    if gpus.len() > MOST_NAMED {
        return format!(
            "Each is busy {} to {}.",
            format::percent(shares().fold(f64::INFINITY, f64::min)),
            format::percent(shares().fold(0.0, f64::max))
        );
    }
    let named = format::joined(
        gpus.iter().enumerate().map(|(at, (gpu, share))| match at {
            0 => format!("GPU {gpu} is busy {}", format::percent(*share)),
            _ => format!("GPU {gpu} {}", format::percent(*share)),
        }),
        ", ",
    );
    format!("{named}.")
}
