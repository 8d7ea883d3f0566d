//! What the names of kernels tell of the product that they belong to.

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

/// Kernels of a product that is split along K.
pub(super) fn is_split(kernel: &str) -> bool {
    is_split_sum(kernel) || kernel.to_ascii_lowercase().contains("splitk")
}

/// Rows and columns of the output tile, where the name of a kernel has them: "MT256x128x64",
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
    // Other families of kernels write it between underscores. A tile is at least 16 wide.
    kernel
        .split('_')
        .filter_map(two_sizes)
        .find(|(rows, columns)| *rows >= 16 && *columns >= 16)
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
