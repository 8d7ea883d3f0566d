//! Operators that only allocate, and runtime calls that allocate memory from the driver.

use super::words::contains_any;

/// Operators that allocate on behalf of their caller.
const ALLOCATING: &[&str] = &[
    "aten::empty",
    "aten::empty_like",
    "aten::empty_strided",
    "aten::empty_permuted",
    "aten::new_empty",
    "aten::new_empty_strided",
    "aten::resize_",
    "aten::resize_as_",
];

/// Whether an operator only allocates memory for its caller.
pub(crate) fn is_allocating(op: &str) -> bool {
    ALLOCATING.contains(&op)
}

/// What a runtime call does with the memory of the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum DriverCall {
    /// Allocates memory from the driver.
    Allocate,
    /// Frees it, which waits for the GPU.
    Free,
    /// Maps allocated memory into a growing segment, or unmaps it.
    Map,
}

impl DriverCall {
    /// From the name of the call; `None` for all other calls, and for pinned CPU memory.
    pub(crate) fn of_name(name: &str) -> Option<DriverCall> {
        let starts = ["cuda", "hip", "cuMem", "xpu"];
        let is_runtime = starts.iter().any(|start| name.starts_with(start));
        if !is_runtime || name.contains("Host") || name.contains("Async") {
            return None;
        }
        let is = |words: &[&str]| contains_any(name, words);
        match () {
            () if is(&["Malloc", "MemAlloc", "MemCreate"]) => Some(DriverCall::Allocate),
            () if is(&["Free", "MemRelease"]) => Some(DriverCall::Free),
            () if is(&["MemMap", "MemUnmap", "MemSetAccess"]) => Some(DriverCall::Map),
            () => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_to_the_driver_by_name() {
        use DriverCall::{Allocate, Free, Map};
        let cases = [
            ("cudaMalloc", Some(Allocate)),
            ("hipExtMallocWithFlags", Some(Allocate)),
            ("cuMemAlloc_v2", Some(Allocate)),
            ("hipFree", Some(Free)),
            ("cuMemCreate", Some(Allocate)),
            ("hipMemSetAccess", Some(Map)),
            ("cuMemUnmap", Some(Map)),
            ("cuMemRelease", Some(Free)),
            ("cudaFreeHost", None),
            ("hipHostMalloc", None),
            ("cudaMallocAsync", None),
            ("cudaLaunchKernel", None),
            ("malloc", None),
        ];
        for (name, call) in cases {
            assert_eq!(DriverCall::of_name(name), call, "{name}");
        }
    }
}
