//! The kernels of the sample, with the names PyTorch's have on an H100, and how long each takes:
//! what the shapes ask for, over a usual fraction of what the hardware can do.

/// BF16 tensor cores of the H100 SXM, TFLOPS.
const MATRIX_TFLOPS: f64 = 989.4;
/// Its memory, GB/s.
const MEM_BW_GBPS: f64 = 3350.0;
/// NVLink, one direction, GB/s.
const LINK_GBPS: f64 = 450.0;
/// PCIe 5 × 16 as copies reach it, GB/s.
const HOST_GBPS: f64 = 53.0;
/// Streaming multiprocessors.
const N_SMS: i64 = 132;

/// One piece of GPU activity.
#[derive(Debug, Clone)]
pub(super) struct Kernel {
    pub(super) name: &'static str,
    pub(super) dur_ns: i64,
    pub(super) grid: i64,
    pub(super) block: i64,
}

/// How the operands of a product lie in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Product {
    /// Activations by weights, with a bias added.
    Forward,
    /// Gradient by weights.
    InputGradient,
    /// Gradient by activations.
    WeightGradient,
}

/// A matrix product of m × k by k × n in BF16.
pub(super) fn gemm(product: Product, m: i64, n: i64, k: i64) -> Kernel {
    let tiles = ceil_div(m, 128) * ceil_div(n, 256);
    // The last wave of tiles leaves SMs without work.
    let waves = ceil_div(tiles, N_SMS);
    let occupied = tiles as f64 / (waves * N_SMS) as f64;
    let flops = 2.0 * (m * n * k) as f64;
    Kernel {
        name: match product {
            Product::Forward => "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_bias_TNT",
            Product::InputGradient => "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT",
            Product::WeightGradient => "nvjet_tst_128x256_64x4_1x2_h_bz_coopB_NTT",
        },
        dur_ns: ns(flops, MATRIX_TFLOPS * 1e3 * 0.72 * occupied),
        grid: tiles,
        block: 384,
    }
}

/// Causal flash attention over `heads` (batch included).
pub(super) fn flash_forward(heads: i64, length: i64, head_dim: i64) -> Kernel {
    Kernel {
        name: "void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<128, 128, 64, 4, cutlass::bfloat16_t> >, true, true, false, false, false, true, false, false>(pytorch_flash::Flash_fwd_params)",
        dur_ns: ns(
            attention_flops(heads, length, head_dim),
            MATRIX_TFLOPS * 1e3 * 0.38,
        ),
        grid: heads * ceil_div(length, 128),
        block: 128,
    }
}

/// Its backward: five products for the forward's two.
pub(super) fn flash_backward(heads: i64, length: i64, head_dim: i64) -> [Kernel; 3] {
    let elements = heads * length * head_dim;
    [
        memory(
            "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, pytorch_flash::Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params)",
            4 * elements,
        ),
        Kernel {
            name: "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<pytorch_flash::Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t>, true, true, false, false, true, true, false>(pytorch_flash::Flash_bwd_params)",
            dur_ns: ns(
                2.5 * attention_flops(heads, length, head_dim),
                MATRIX_TFLOPS * 1e3 * 0.33,
            ),
            grid: heads * ceil_div(length, 128),
            block: 256,
        },
        memory(
            "void pytorch_flash::flash_bwd_convert_dq_kernel<pytorch_flash::Flash_bwd_kernel_traits<128, 64, 128, 8, 2, 4, 2, false, false, cutlass::bfloat16_t> >(pytorch_flash::Flash_bwd_params, int)",
            6 * elements,
        ),
    ]
}

/// A kernel that lasts as long as its memory traffic.
pub(super) fn memory(name: &'static str, bytes: i64) -> Kernel {
    Kernel {
        name,
        dur_ns: 1_600 + ns(bytes as f64, MEM_BW_GBPS * 0.86),
        grid: ceil_div(bytes, 8_192),
        block: 256,
    }
}

/// A copy from pinned memory of the CPU.
pub(super) fn copy_to_device(bytes: i64) -> Kernel {
    Kernel {
        name: "Memcpy HtoD (Pinned -> Device)",
        dur_ns: 1_200 + ns(bytes as f64, HOST_GBPS),
        grid: 0,
        block: 0,
    }
}

/// A copy to the CPU.
pub(super) fn copy_to_host(bytes: i64) -> Kernel {
    Kernel {
        name: "Memcpy DtoH (Device -> Pageable)",
        dur_ns: 1_400 + ns(bytes as f64, HOST_GBPS),
        grid: 0,
        block: 0,
    }
}

/// A ring all-reduce of `bytes` among `n_gpus`.
pub(super) fn all_reduce(bytes: i64, n_gpus: i64) -> Kernel {
    let sent = 2.0 * (n_gpus - 1) as f64 / n_gpus as f64 * bytes as f64;
    Kernel {
        name: "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        dur_ns: 9_000 + ns(sent, LINK_GBPS * 0.8),
        grid: 24,
        block: 512,
    }
}

fn attention_flops(heads: i64, length: i64, head_dim: i64) -> f64 {
    // Two products of 2·n·n·d each; the causal mask leaves half.
    2.0 * (heads * length * length * head_dim) as f64
}

/// Nanoseconds for an amount at a rate per nanosecond (GB/s, or TFLOPS × 1000).
fn ns(amount: f64, rate: f64) -> i64 {
    (amount / rate).round() as i64
}

fn ceil_div(amount: i64, by: i64) -> i64 {
    (amount + by - 1) / by
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hardware::{Basis, Precision, find};

    #[test]
    fn the_figures_are_those_of_the_hardware_table() {
        let h100 = find("H100").unwrap();
        let matrix = h100.matrix(Precision::Bf16, Basis::Peak).unwrap();
        assert_eq!(Some(matrix.tflops), Some(MATRIX_TFLOPS));
        assert_eq!(Some(h100.mem_bw_gbps), Some(MEM_BW_GBPS));
        assert_eq!(h100.link_gbps, Some(2.0 * LINK_GBPS));
        assert_eq!(h100.n_sms.map(i64::from), Some(N_SMS));
    }

    #[test]
    fn no_kernel_beats_the_hardware() {
        // 2 · 8192 · 8192 · 2048 FLOPs need 278 µs at the peak.
        let product = gemm(Product::Forward, 8192, 8192, 2048);
        assert!((278_000..500_000).contains(&product.dur_ns), "{product:?}");
        // 67 MB need 20 µs.
        let norm = memory("norm", 67_000_000);
        assert!((20_000..30_000).contains(&norm.dur_ns), "{norm:?}");
    }
}
