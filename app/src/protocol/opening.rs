//! A file on its way to being open.

use serde::{Deserialize, Serialize};

use super::{Choice, GpuLine, Overview, ReferenceOpened, StepLine};

/// What the worker is doing.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum OpeningStep {
    /// Fetching the file from the page's own site.
    Fetching,
    /// Reading and parsing the file.
    #[default]
    Reading,
    /// Building the call tree and joining kernels to their ops.
    Profiling,
    /// Putting the tables together.
    Reporting,
}

impl OpeningStep {
    /// How far it is, the bytes of the file tell.
    pub fn counts_bytes(self) -> bool {
        matches!(self, OpeningStep::Fetching | OpeningStep::Reading)
    }

    /// For people.
    pub fn label(self) -> &'static str {
        match self {
            OpeningStep::Fetching => "Fetching the trace",
            OpeningStep::Reading => "Reading the trace",
            OpeningStep::Profiling => "Building the call tree",
            OpeningStep::Reporting => "Analyzing GPU time",
        }
    }
}

/// How far opening has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// What is being done.
    pub step: OpeningStep,
    /// Bytes of the file read.
    pub bytes_read: f64,
    /// Bytes of the file.
    pub bytes_total: f64,
    /// Events found.
    pub events: f64,
}

/// How fast a file is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Bytes of the file in a second.
    pub bytes_per_s: f64,
    /// Seconds until all of it is read; `None` where its size is not known.
    pub left_s: Option<f64>,
}

impl Progress {
    /// Before this nothing is said: it would jump.
    const SETTLED_MS: f64 = 500.0;

    /// How fast it is read, so many milliseconds after reading began; `None` too early to tell, and once
    /// all is read.
    pub fn pace(&self, elapsed_ms: f64) -> Option<Pace> {
        if !self.step.counts_bytes() || elapsed_ms < Self::SETTLED_MS || self.bytes_read <= 0.0 {
            return None;
        }
        let bytes_per_s = self.bytes_read / elapsed_ms * 1e3;
        let left = self.bytes_total - self.bytes_read;
        Some(Pace {
            bytes_per_s,
            left_s: (self.bytes_total > 0.0).then(|| left.max(0.0) / bytes_per_s),
        })
    }
}

/// Why a file cannot be analyzed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What was found, what was expected, and the way out.
    pub sentence: String,
    /// Where: the byte in the decompressed text, digits grouped.
    pub at_byte: Option<String>,
}

/// A file that was not opened, or not added, while others may be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Its name; `None` where the sentence names what it is about.
    pub name: Option<String>,
    /// Why.
    pub failure: Failure,
}

impl LeftOut {
    /// A file that cannot be analyzed.
    pub fn new(name: String, failure: Failure) -> LeftOut {
        LeftOut {
            name: Some(name),
            failure,
        }
    }
}

/// A file of many that came at once.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateFile {
    /// Its name, with the folders that it came in.
    pub path: String,
    pub bytes: f64,
}

/// Why several traces are not opened.
pub const TOO_MANY: &str = "open one trace, or two to compare";

/// Whether another trace is open.
pub type IsBeside = bool;

/// Takes off a capture that is merged with the open trace, or the configuration of its model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct TakeOff {
    /// The capture's name; `None` for the configuration.
    pub name: Option<String>,
    /// The user's choice.
    pub choice: Choice,
}

/// A trace that is open, and everything the header and the Overview show of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// What its file is called.
    pub file_name: String,
    /// It holds captures of GPU graphs and no GPU activity.
    pub is_capture: bool,
    /// What it is compared with, by its file's name, where both came together.
    pub reference: Option<(String, ReferenceOpened)>,
    /// Files that came with it and are not used.
    pub left_out: Vec<LeftOut>,
    /// Events in the file, digits grouped.
    pub events: String,
    /// The GPUs that can be chosen, in the table's order.
    pub gpus: Vec<String>,
    /// The GPU that the trace names, if Dormer knows it.
    pub detected: Option<String>,
    /// How many GPU events no launching CPU call was found for, digits grouped; `None` where that leaves
    /// nothing to choose.
    pub unlinked: Option<String>,
    /// GPU activity was recorded.
    pub has_gpu_events: bool,
    /// Parts of the run that the program named.
    pub steps: Vec<StepLine>,
    /// The GPUs of a trace of several.
    pub gpus_alone: Vec<GpuLine>,
    /// The report under the user's choice.
    pub overview: Overview,
    /// Bytes of wasm memory the worker holds.
    pub wasm_bytes: f64,
}

/// What a trace was opened without: everything that its findings decide.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    /// The report under the user's choice, whole.
    pub overview: Overview,
    /// Bytes of wasm memory the worker holds.
    pub wasm_bytes: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_is_told_while_reading_once_it_has_settled() {
        let progress = Progress {
            step: OpeningStep::Reading,
            bytes_read: 40e6,
            bytes_total: 100e6,
            events: 1e6,
        };
        let told = |bytes_per_s, left_s| {
            Some(Pace {
                bytes_per_s,
                left_s,
            })
        };
        assert_eq!(progress.pace(499.0), None);
        assert_eq!(progress.pace(2000.0), told(20e6, Some(3.0)));
        let of_unknown_size = Progress {
            bytes_total: 0.0,
            ..progress
        };
        assert_eq!(of_unknown_size.pace(2000.0), told(20e6, None));
        let is_read = Progress {
            step: OpeningStep::Profiling,
            ..progress
        };
        assert_eq!(is_read.pace(2000.0), None);
    }
}
