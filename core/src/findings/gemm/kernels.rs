//! What the kernels of a product tell of it, by their names and by how they were launched.

use super::super::Input;
use crate::profile::launch::launch_size;
use crate::profile::operations::Operation;

/// Kernels that copy operands into another layout.
pub(super) fn is_layout_change(kernel: &str) -> bool {
    let kernel = kernel.to_ascii_lowercase();
    [
        "batched_transpose",
        "transpose_",
        "nchwtonhwc",
        "nhwctonchw",
    ]
    .iter()
    .any(|part| kernel.contains(part))
        && !kernel.contains("gemm")
}

/// Kernels that add up the parts of a product that was split along K.
pub(super) fn is_split_sum(kernel: &str) -> bool {
    ["PostGSU", "splitKreduce", "splitk_reduce", "SplitKReduce"]
        .iter()
        .any(|part| kernel.contains(part))
}

/// Kernels of a product that is split along K. Tensile writes how many parts there are ("GSU8"), or
/// that parts go to whichever unit is free ("SK3").
pub(super) fn is_split(kernel: &str) -> bool {
    let lower = kernel.to_ascii_lowercase();
    let is_said = || {
        ["splitk", "streamk"]
            .iter()
            .any(|part| lower.contains(part))
    };
    let of_tensile = || {
        is_of_tensile(kernel)
            && (number_behind(kernel, "_GSU").is_some_and(|parts| parts > 1)
                || number_behind(kernel, "_SK").is_some_and(|mode| mode > 0))
    };
    is_split_sum(kernel) || is_said() || of_tensile()
}

/// Kernels of hipBLASLt and rocBLAS.
fn is_of_tensile(kernel: &str) -> bool {
    kernel.contains("Cijk_")
}

/// The first number that stands right behind a mark.
fn number_behind(text: &str, mark: &str) -> Option<u64> {
    text.match_indices(mark).find_map(|(at, _)| {
        let rest = text.get(at + mark.len()..)?;
        let end = rest
            .find(|c: char| !c.is_ascii_digit())
            .unwrap_or(rest.len());
        rest.get(..end)?.parse().ok()
    })
}

/// Whether Tensile's name says eight bits or fewer: the types stand behind the indices, as in
/// "Cijk_Alik_Bljk_F8BS_BH".
pub(super) fn is_narrow_tensile(kernel: &str) -> bool {
    let types = || kernel.get(kernel.find("Cijk_")?..)?.split('_').nth(3);
    let is_narrow = |types: &str| {
        ["F8", "B8", "I8", "F6", "F4"]
            .iter()
            .any(|one| types.starts_with(one))
    };
    types().is_some_and(is_narrow)
}

/// Whether the first size of a kernel's tile lies along N. The vendors' libraries know matrices by
/// columns, so that PyTorch has them compute Cᵀ = Bᵀ·Aᵀ.
pub(super) fn is_by_columns(op: &str, kernel: &str) -> bool {
    op.starts_with("aten::") || is_of_tensile(kernel) || kernel.starts_with("nvjet")
}

/// Workgroups of the longest of Tensile's kernels, where its launch was written down. Others round
/// theirs up, or keep as many as there are units.
pub(super) fn workgroups(input: &Input, operation: &Operation) -> Option<u64> {
    let (profile, trace) = (input.profile, &input.profile.trace);
    let name = |event| trace.strings.get(trace.events.name(event));
    let work = operation.work().filter_map(|id| profile.gpu.get(id));
    let of_tensile = work.filter(|work| is_of_tensile(trace.strings.get(work.name)));
    let longest = of_tensile.max_by_key(|work| (work.span.length(), work.event))?;
    let (grid, block) = launch_size(trace, longest.event)?;
    let all = |sizes: [u64; 3]| sizes.into_iter().try_fold(1_u64, u64::checked_mul);
    let counts_threads = longest
        .launched_by
        .is_some_and(|call| name(call).contains("hipExtModuleLaunch"));
    match counts_threads {
        true => all(grid)?.checked_div(all(block)?),
        false => all(grid),
    }
}

/// The output tile, first and second size, where the name of a kernel has it: "MT256x128x64",
/// "tilesize256x128x64", "_128x256_", "128x64_32x6".
pub(super) fn output_tile(kernel: &str) -> Option<(u64, u64)> {
    for mark in ["MT", "tilesize"] {
        let found = kernel
            .match_indices(mark)
            .find_map(|(at, _)| two_sizes(kernel.get(at + mark.len()..)?));
        if found.is_some() {
            return found;
        }
    }
    // Other families of kernels write it between underscores, before the tile along K and its stages.
    let (first, second) = kernel.split('_').find_map(two_sizes)?;
    // Two compute units share the tile of CUTLASS's kernels of that name.
    let first = if kernel.contains("_2sm") {
        first / 2
    } else {
        first
    };
    (first >= 8 && second >= 8).then_some((first, second))
}

/// "256x128" at the start of a text.
fn two_sizes(text: &str) -> Option<(u64, u64)> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let first = digits(text);
    let rest = text.get(first..)?.strip_prefix('x')?;
    let second = digits(rest);
    let size = |text: &str| text.parse().ok().filter(|size| (1..=1024).contains(size));
    Some((size(text.get(..first)?)?, size(rest.get(..second)?)?))
}
