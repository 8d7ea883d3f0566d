//! One of the two traces, and its name.

use crate::profile::Profile;
use crate::report::Report;

/// One of the two compared traces, as read and analyzed with its own GPU.
#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    /// Its name in tables and prose; the two names differ.
    pub name: &'a str,
    /// The profile of the trace.
    pub profile: &'a Profile,
    /// Its report: [`Report::options`] has the GPU, the basis and the events that count.
    pub report: &'a Report,
}

impl<'a> Side<'a> {
    /// From a profile and its report.
    pub fn new(name: &'a str, profile: &'a Profile, report: &'a Report) -> Side<'a> {
        Side {
            name,
            profile,
            report,
        }
    }
}

/// File name endings that indicate the file type.
const ENDINGS: [&str; 4] = [".gz", ".zip", ".json", ".pt.trace"];

/// Names for the reference and the target, never equal: the file names, otherwise the devices, otherwise their roles.
pub fn names(files: [&str; 2], devices: [Option<&str>; 2]) -> [String; 2] {
    let files = files.map(base_name);
    let devices = devices.map(|device| device.unwrap_or_default().trim());
    let is_distinct = |[reference, target]: &[&str; 2]| {
        !reference.is_empty() && !target.is_empty() && reference != target
    };
    let names = [files, devices].into_iter().find(is_distinct);
    names.unwrap_or(["reference", "target"]).map(str::to_owned)
}

/// The name of a file without folders and endings.
pub(crate) fn base_name(path: &str) -> &str {
    let mut name = path.rsplit(['/', '\\']).next().unwrap_or_default();
    for ending in ENDINGS {
        name = name.strip_suffix(ending).unwrap_or(name);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_then_devices_then_what_they_are() {
        let (h100, mi300) = (Some("NVIDIA H100"), Some("AMD MI300X"));
        let neither = ["reference", "target"];
        #[rustfmt::skip]
        let cases = [
            (["a/h100.json.gz", "b/mi300.zip"], [h100, mi300], ["h100", "mi300"]),
            (["run.1.pt.trace.json", "C:\\run.2.json"], [h100, mi300], ["run.1", "run.2"]),
            (["a/trace.json", "b/trace.json.gz"], [h100, mi300], ["NVIDIA H100", "AMD MI300X"]),
            (["trace.json", "trace.json"], [h100, h100], neither),
            (["trace.json", "trace.json"], [None, mi300], neither),
            ([".json", "trace.json"], [None, None], neither),
        ];
        for (files, devices, expected) in cases {
            assert_eq!(names(files, devices), expected, "{files:?}");
        }
    }
}
