//! What wrote a trace.

use crate::base::labels::labeled;

labeled! {
    /// Which program wrote a trace. It decides names and what is available, but never a number.
    #[derive(Default)]
    pub enum Source {
        /// PyTorch's profiler, as JSON.
        #[default]
        Kineto => "the PyTorch profiler",
        /// PyTorch's profiler, as a Perfetto trace.
        KinetoPerfetto => "the PyTorch profiler, in Perfetto's format",
        /// ROCm's rocprofv3.
        Rocprofv3 => "rocprofv3",
        /// Anything else that writes Perfetto traces.
        Perfetto => "a program that writes Perfetto traces",
        /// The profiler of XLA: JAX, PyTorch/XLA, TensorFlow.
        Xla => "the XLA profiler",
    }
}

impl Source {
    /// Whether PyTorch wrote it, so that the report may refer to PyTorch's operators and settings.
    pub(crate) fn is_pytorch(self) -> bool {
        matches!(self, Source::Kineto | Source::KinetoPerfetto)
    }
}
