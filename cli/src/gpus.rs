//! `dormer gpus`: the hardware profiles.

use std::io::Write;

use dormer_core::base::format;
use dormer_core::hardware::{Basis, Figure, GPUS, GpuSpec, Precision};

use crate::stdout::Out;
use crate::{Failure, text};

/// Prints one line per GPU.
pub(crate) fn run(out: &mut Out) -> Result<(), Failure> {
    #[rustfmt::skip]
    let heads = ["--gpu", "~device", ">memory", ">bandwidth", ">BF16 matrix", ">FP8 matrix", ">FP32 vector"];
    let rows: Vec<[String; 7]> = GPUS.iter().map(row).collect();
    text::write(out, heads, &rows)?;
    writeln!(
        out,
        "\nRates are dense. * marks an achievable rate, as measured with a tuned library; the others are peaks."
    )?;
    Ok(())
}

fn row(gpu: &GpuSpec) -> [String; 7] {
    [
        gpu.id.to_string(),
        gpu.name.to_string(),
        gpu.memory_gb
            .map_or("–".to_owned(), |gb| format!("{gb} GB")),
        format::bandwidth_gbps(gpu.mem_bw_gbps),
        rate(gpu.matrix_rate(Precision::Bf16, Basis::Achievable)),
        rate(gpu.matrix_rate(Precision::Fp8, Basis::Achievable)),
        rate(gpu.vector_rate(Precision::Fp32, Basis::Achievable)),
    ]
}

/// A rate in TFLOPS; a dash if the GPU does not support the mode.
fn rate(figure: Option<Figure>) -> String {
    figure.map_or("–".to_owned(), |figure| {
        let mark = if figure.basis == Basis::Achievable {
            "*"
        } else {
            " "
        };
        format!("{}{mark}", format::tflops(figure.tflops))
    })
}
