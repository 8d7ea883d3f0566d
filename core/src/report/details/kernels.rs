//! What runs on the GPU for a subject, by name.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Instance;
use crate::base::sort::Arrange;
use crate::names::{Library, library_of};
use crate::profile::Profile;
use crate::profile::launch::{GpuId, launch_size};
use crate::trace::{EventId, StringId};

/// A kernel, copy or fill by its name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelUse {
    /// Its name.
    pub name: StringId,
    /// The library it comes from; `None` where names do not tell.
    pub library: Option<Library>,
    /// How often it ran.
    pub count: u64,
    /// Sum of its durations.
    pub gpu_ns: i64,
    /// The streams it ran on, ascending.
    pub streams: Vec<i64>,
    /// Grids and blocks it was launched with, the most frequent first; empty where they were not
    /// recorded.
    pub sizes: Vec<LaunchSize>,
    /// The longest run.
    pub longest: EventId,
}

impl KernelUse {
    /// The mean duration.
    pub fn mean_ns(&self) -> i64 {
        i64::try_from(self.count)
            .ok()
            .and_then(|count| self.gpu_ns.checked_div(count))
            .unwrap_or(0)
    }
}

/// How a kernel was launched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LaunchSize {
    /// Blocks in each direction.
    pub grid: [u64; 3],
    /// Threads of a block in each direction.
    pub block: [u64; 3],
    /// How often.
    pub count: u64,
}

/// The kernels of some runs, the longest first.
pub(super) fn of(profile: &Profile, instances: &[Instance]) -> Vec<KernelUse> {
    let mut index: HashMap<StringId, usize, FxBuildHasher> = HashMap::default();
    let mut kernels: Vec<KernelUse> = Vec::new();
    let mut longest_ns: Vec<i64> = Vec::new();
    for id in instances.iter().flat_map(|instance| &instance.work) {
        let Some(work) = profile.gpu.get(*id) else {
            continue;
        };
        let row = *index.entry(work.name).or_insert(kernels.len());
        if row == kernels.len() {
            kernels.push(KernelUse {
                name: work.name,
                library: library(profile, *id),
                count: 0,
                gpu_ns: 0,
                streams: Vec::new(),
                sizes: Vec::new(),
                longest: work.event,
            });
            longest_ns.push(work.span.length());
        }
        let kernel = &mut kernels[row];
        kernel.count += 1;
        kernel.gpu_ns = kernel.gpu_ns.saturating_add(work.span.length());
        if work.span.length() > longest_ns[row] {
            longest_ns[row] = work.span.length();
            kernel.longest = work.event;
        }
        if let Some(stream) = work.stream
            && !kernel.streams.contains(&stream)
        {
            kernel.streams.push(stream);
        }
        if let Some((grid, block)) = launch_size(&profile.trace, work.event) {
            let known = kernel.sizes.iter_mut();
            match { known }.find(|size| size.grid == grid && size.block == block) {
                Some(size) => size.count += 1,
                None => kernel.sizes.push(LaunchSize {
                    grid,
                    block,
                    count: 1,
                }),
            }
        }
    }
    for kernel in &mut kernels {
        kernel.streams.arrange();
        // Stable: of equal counts the first to be launched.
        kernel
            .sizes
            .arrange_by_key(|size| std::cmp::Reverse(size.count));
    }
    kernels.arrange_by_key(|kernel| std::cmp::Reverse(kernel.gpu_ns));
    kernels
}

/// The library that made a kernel, or that the operator above it chose.
fn library(profile: &Profile, id: GpuId) -> Option<Library> {
    let strings = &profile.trace.strings;
    let op = profile.ops.op_of(id).and_then(|op| profile.ops.get(op));
    let kernel = strings.get(profile.gpu.get(id)?.name);
    crate::names::library_of_kernel(kernel)
        .or_else(|| library_of(op.map(|op| strings.get(op.name)), Some(kernel)))
}
