//! Copies that gather and split the parameters of a model that is sharded over several GPUs.

use crate::perf::input::product;
use crate::perf::{Modeled, OpInput, dtype, moved};

/// `_chunk_cat(tensors, dim, n, out)`: copies gradients of any size into one buffer, padded, and in the buffer's type.
/// If their sizes are not recorded, they are assumed to fill it. Their type follows from the kernel's name, else it is
/// that of the buffer.
pub(super) fn chunk_cat(input: &OpInput) -> Option<Modeled> {
    let out = input.tensor(3)?;
    let read = match input.tensor_list(0) {
        Some(tensors) => tensors.into_iter().map(product).sum(),
        None => out.n(),
    };
    let bytes = || {
        let size = read_bytes(input.kernels).or_else(|| dtype::bytes(out.dtype))?;
        Some(read * size + out.bytes()?)
    };
    Some(moved(bytes()))
}

/// `split_with_sizes_copy(x, sizes, dim, out)`: all of it is read and written once.
pub(super) fn split_copy(input: &OpInput) -> Option<Modeled> {
    Some(moved(input.tensor(0)?.bytes().map(|bytes| 2.0 * bytes)))
}

/// Bytes of an element that `chunk_cat_cuda_kernel<result, read>` reads.
fn read_bytes(kernels: &[&str]) -> Option<f64> {
    let (_, types) = kernels
        .iter()
        .find_map(|kernel| kernel.split_once("chunk_cat_cuda_kernel<"))?;
    let (_, read) = types.split_once(", ")?;
    let (read, _) = read.split_once(['>', ','])?;
    dtype::bytes(read)
}
