//! What the profiler recorded an event as.

use crate::base::labels::labeled;

labeled! {
    /// What the profiler recorded an event as (`cat`).
    pub enum Category {
        /// A PyTorch operator on the CPU.
        CpuOp => "CPU op",
        /// A call to the device runtime: CUDA, HIP, or another vendor's.
        Runtime => "runtime call",
        /// A call to the device driver.
        Driver => "driver call",
        /// A Python frame (recorded with `with_stack`).
        PythonFunction => "Python function",
        /// A kernel on a GPU stream.
        Kernel => "kernel",
        /// A copy on a GPU stream.
        GpuMemcpy => "GPU memory copy",
        /// A fill on a GPU stream.
        GpuMemset => "GPU memory fill",
        /// A range that the program named (`record_function`, `ProfilerStep#`).
        UserAnnotation => "annotation",
        /// Such a range as it appears on the GPU.
        GpuUserAnnotation => "GPU annotation",
        /// Cost of the profiler itself.
        Overhead => "profiler overhead",
        /// Any other category; nothing is computed from it.
        Other => "other",
    }
}

impl Category {
    /// From the trace's `cat` text.
    pub fn parse(cat: &str) -> Category {
        match cat {
            // Capitalized by PyTorch 1.8 to 1.11.
            "cpu_op" | "Operator" => Category::CpuOp,
            "cuda_runtime" | "hpu_op" | "Runtime" => Category::Runtime,
            "cuda_driver" => Category::Driver,
            "python_function" => Category::PythonFunction,
            "kernel" | "mtia_ccp_events" | "Kernel" => Category::Kernel,
            "gpu_memcpy" | "Memcpy" => Category::GpuMemcpy,
            "gpu_memset" | "Memset" => Category::GpuMemset,
            "user_annotation" => Category::UserAnnotation,
            "gpu_user_annotation" | "User" => Category::GpuUserAnnotation,
            "overhead" => Category::Overhead,
            // Each device type has its own: `xpu_runtime`, `mtia_runtime`, `privateuse1_driver`.
            _ if cat.ends_with("_runtime") => Category::Runtime,
            _ if cat.ends_with("_driver") => Category::Driver,
            _ => Category::Other,
        }
    }

    /// The text that [`Category::parse`] reads as it.
    pub fn cat(self) -> &'static str {
        match self {
            Category::CpuOp => "cpu_op",
            Category::Runtime => "cuda_runtime",
            Category::Driver => "cuda_driver",
            Category::PythonFunction => "python_function",
            Category::Kernel => "kernel",
            Category::GpuMemcpy => "gpu_memcpy",
            Category::GpuMemset => "gpu_memset",
            Category::UserAnnotation => "user_annotation",
            Category::GpuUserAnnotation => "gpu_user_annotation",
            Category::Overhead => "overhead",
            Category::Other => "Trace",
        }
    }

    /// Whether the profiler is known to write this `cat`, even if nothing is computed from it.
    pub fn is_known(cat: &str) -> bool {
        const UNUSED: [&str; 9] = [
            "",
            "Trace",
            "cpu_instant_event",
            "cuda_event",
            "external_correlation",
            "collective_comm",
            "gpu_pm_counter",
            "mtia_counters",
            "mtia_insight",
        ];
        Category::parse(cat) != Category::Other
            || UNUSED.contains(&cat)
            // For every device type: `cuda_sync`.
            || cat.ends_with("_sync")
            || cat.ends_with("_profiler_range")
    }

    /// A kernel, copy or fill: activity of the GPU itself.
    #[inline]
    pub fn is_gpu(self) -> bool {
        matches!(
            self,
            Category::Kernel | Category::GpuMemcpy | Category::GpuMemset
        )
    }

    /// A runtime or driver call, which can launch GPU activity.
    #[inline]
    pub fn is_runtime(self) -> bool {
        matches!(self, Category::Runtime | Category::Driver)
    }
}

#[cfg(test)]
mod tests {
    use super::Category::{self, Driver, Kernel, Other, Runtime};

    #[test]
    fn every_kind_of_device_has_its_own_calls() {
        let cases = [
            ("cuda_runtime", Runtime),
            ("cuda_driver", Driver),
            ("xpu_runtime", Runtime),
            ("xpu_driver", Driver),
            ("mtia_runtime", Runtime),
            ("mtia_ccp_events", Kernel),
            ("privateuse1_runtime", Runtime),
            ("privateuse1_driver", Driver),
            ("hpu_op", Runtime),
            ("hip_runtime", Runtime),
            ("cuda_sync", Other),
            ("driver_note", Other),
        ];
        for (cat, category) in cases {
            assert_eq!(Category::parse(cat), category, "{cat}");
        }
    }

    #[test]
    fn every_category_is_read_from_its_text() {
        for category in Category::ALL {
            assert_eq!(Category::parse(category.cat()), category);
        }
    }

    #[test]
    fn what_is_known_need_not_be_used() {
        for cat in [
            "cpu_op",
            "Operator",
            "xpu_driver",
            "Trace",
            "cuda_sync",
            "cuda_event",
        ] {
            assert!(Category::is_known(cat), "{cat}");
        }
        for cat in ["Acme", "cpu", "KERNEL"] {
            assert!(!Category::is_known(cat), "{cat}");
        }
    }
}
