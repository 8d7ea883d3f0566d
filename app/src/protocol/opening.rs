//! A file that is being opened.

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
    /// Building the call tree and linking kernels to their ops.
    Profiling,
    /// Building the tables.
    Reporting,
}

impl OpeningStep {
    /// Whether progress is measured in bytes of the file.
    pub fn counts_bytes(self) -> bool {
        matches!(self, OpeningStep::Fetching | OpeningStep::Reading)
    }

    /// Its label for people.
    pub fn label(self) -> &'static str {
        match self {
            OpeningStep::Fetching => "Fetching the trace",
            OpeningStep::Reading => "Reading the trace",
            OpeningStep::Profiling => "Building the call tree",
            OpeningStep::Reporting => "Analyzing GPU time",
        }
    }
}

/// Progress of opening.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Progress {
    /// The current step.
    pub step: OpeningStep,
    /// Bytes read so far.
    pub bytes_read: f64,
    /// Size of the file in bytes.
    pub bytes_total: f64,
    /// Events found so far.
    pub events: f64,
}

/// How fast a file is read.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Bytes of the file per second.
    pub bytes_per_s: f64,
    /// Seconds until the whole file is read; `None` if its size is unknown.
    pub left_s: Option<f64>,
}

impl Progress {
    /// No pace is shown before this time, because it would fluctuate.
    const SETTLED_MS: f64 = 500.0;

    /// The pace this many milliseconds after reading started; `None` if it is too early to tell, and after reading.
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
    /// What was found, what was expected, and how to fix it.
    pub sentence: String,
    /// The byte offset in the decompressed text, with digit grouping.
    pub at_byte: Option<String>,
}

impl Failure {
    /// A failure that is not at a certain byte.
    pub fn new(sentence: impl Into<String>) -> Failure {
        Failure {
            sentence: sentence.into(),
            at_byte: None,
        }
    }
}

/// A file that was not opened or added, although others may have been.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rejected {
    /// Its name; `None` if the sentence names the file.
    pub name: Option<String>,
    /// Why.
    pub failure: Failure,
}

impl Rejected {
    /// A file that cannot be analyzed.
    pub fn new(name: String, failure: Failure) -> Rejected {
        Rejected {
            name: Some(name),
            failure,
        }
    }
}

/// One of several files that were dropped or selected together.
#[derive(Debug, Clone, PartialEq)]
pub struct CandidateFile {
    /// Its name, including its folders.
    pub path: String,
    pub bytes: f64,
}

/// Why several traces are not opened.
pub const TOO_MANY: &str = "open one trace, or two to compare";

/// Whether another trace is open.
pub type IsAnotherOpen = bool;

/// Removes a capture that is merged with the open trace, or the configuration of its model.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RemoveCapture {
    /// The capture's name; `None` for the configuration.
    pub name: Option<String>,
    /// The user's options.
    pub choice: Choice,
}

/// A trace that is open, and everything the header and the Overview show of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Opened {
    /// Its file name.
    pub file_name: String,
    /// Its rank, if it is one of a job's.
    pub rank: Option<u64>,
    /// Whether it has only captures of GPU graphs and no GPU activity.
    pub is_capture: bool,
    /// The reference and its file name, if both were opened together.
    pub reference: Option<(String, ReferenceOpened)>,
    /// Files that were opened with it and are not used.
    pub rejected: Vec<Rejected>,
    /// Events in the file, with digit grouping.
    pub events: String,
    /// The selectable GPUs, in the table's order.
    pub gpus: Vec<String>,
    /// The GPU named in the trace, if Dormer knows it.
    pub detected: Option<String>,
    /// Number of GPU events without a known launching CPU call, with digit grouping; `None` if there is no choice to
    /// offer.
    pub unlinked: Option<String>,
    /// Whether GPU activity was recorded.
    pub has_gpu_events: bool,
    /// Parts of the run that the program named, such as steps.
    pub steps: Vec<StepLine>,
    /// The GPUs, if the trace has several.
    pub gpus_alone: Vec<GpuLine>,
    /// The report with the user's options.
    pub overview: Overview,
    /// Wasm memory of the worker, in bytes.
    pub wasm_bytes: f64,
}

/// What a trace was opened without: everything that depends on its findings.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Analyzed {
    /// The complete report with the user's options.
    pub overview: Overview,
    /// Wasm memory of the worker, in bytes.
    pub wasm_bytes: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pace_is_known_while_reading_once_it_has_settled() {
        let progress = Progress {
            step: OpeningStep::Reading,
            bytes_read: 40e6,
            bytes_total: 100e6,
            events: 1e6,
        };
        let expected = |bytes_per_s, left_s| {
            Some(Pace {
                bytes_per_s,
                left_s,
            })
        };
        assert_eq!(progress.pace(499.0), None);
        assert_eq!(progress.pace(2000.0), expected(20e6, Some(3.0)));
        let of_unknown_size = Progress {
            bytes_total: 0.0,
            ..progress
        };
        assert_eq!(of_unknown_size.pace(2000.0), expected(20e6, None));
        let is_read = Progress {
            step: OpeningStep::Profiling,
            ..progress
        };
        assert_eq!(is_read.pace(2000.0), None);
    }
}
