//! Products in a type that the GPU has no matrix units for: the framework computes them another way,
//! and how fast that could be no figure tells.

use super::Input;
use super::compute::{Draft, finding, time_and_share};
use super::finding::{Finding, Impact};
use super::memory_bound::{called_from, n_calls, operations_table, time_ns};
use super::narrower::matrix_rate_16_bit;
use super::outcome::Row;
use crate::base::format;
use crate::base::interval::sum;
use crate::hardware::Precision;
use crate::hardware::roofline::roofline;
use crate::perf::{ComputeSpec, Unit, Work};

/// The type of a product that the chosen GPU has no units for; `None` for all other work.
pub(super) fn missing_units(input: &Input, row: &Row) -> Option<Precision> {
    let gpu = input.gpu()?;
    let work = input.judged.get(row.operation)?.work?;
    work.bytes.filter(|bytes| *bytes > 0.0)?;
    let spec = work.compute.filter(|spec| spec.unit == Unit::Matrix)?;
    let rate = gpu.matrix_rate(spec.precision, input.options.basis);
    (work.flops > 0.0 && rate.is_none()).then_some(spec.precision)
}

/// What is found of rows of one operator in such a type. A type of 16 bits gives way to the other one;
/// a narrower one saves memory alone.
pub(super) fn emulated(
    input: &Input,
    name: &str,
    rows: &[&Row],
    precision: Precision,
) -> Option<Finding> {
    let gpu = input.gpu()?;
    let (instead, _) = matrix_rate_16_bit(input)?;
    let is_16_bit = matches!(precision, Precision::Bf16 | Precision::Fp16);
    let (from, to) = (precision.label(), instead.label());
    let model = match is_16_bit {
        true => format!(
            "run it in {to}, for which the GPU has them (autocast in that type, in training with a scaler of gradients)."
        ),
        false => format!(
            "choose {to} where arithmetic is what takes the time: here {from} saves memory alone."
        ),
    };
    let mut reasoning = vec![format!(
        "The {} has matrix units for {to} and none for {from}, so that no roof can be told.",
        gpu.name
    )];
    reasoning.extend(called_from(input, rows));
    let mut found = finding(
        input,
        rows,
        true,
        Draft {
            pattern: "no_units_for_type",
            title: format!("Products in {from}, which the GPU has no units for"),
            issue: format!(
                "`{name}` takes {} in {}, in {from}, for which the GPU has no matrix units.",
                time_and_share(time_ns(rows), input),
                format::counted(n_calls(rows), "call")
            ),
            model,
            kernel: "nothing to tune before the type is settled.".to_owned(),
            reasoning,
            tables: vec![operations_table(input, rows)],
        },
    )?;
    let won = rows
        .iter()
        .filter_map(|row| Some((row.operation, won_in(input, row, instead)?)));
    let won: Vec<(usize, i64)> = won.filter(|_| is_16_bit).collect();
    let all_ns = sum(won.iter().map(|(_, ns)| *ns));
    found.impact = (all_ns > 0).then(|| Impact::at_most(all_ns));
    found.savings = won
        .into_iter()
        .map(|(operation, ns)| (operation, Impact::at_most(ns).mid_ns))
        .collect();
    Some(found)
}

/// What a row would win at the roof of another type of as many bits.
fn won_in(input: &Input, row: &Row, precision: Precision) -> Option<i64> {
    let work = input.judged.get(row.operation)?.work?;
    let then = Work {
        compute: Some(ComputeSpec {
            unit: Unit::Matrix,
            precision,
        }),
        ..work
    };
    let roof = roofline(&then, input.gpu()?, input.options.basis)?;
    let left_ns = (roof.time_us * 1e3 * row.n_calls as f64).round() as i64;
    Some(row.time_ns.saturating_sub(left_ns).max(0))
}

#[cfg(test)]
mod tests {
    use super::super::samples::{Calls, found, patterns};

    /// 2·4096³ operations at the 65 TFLOPS that a T4 has in FP16: 2.11 ms of 30.
    #[test]
    fn bf16_on_a_gpu_without_it_is_told_to_be_fp16() {
        let args = r#""Input Dims": [[4096, 4096], [4096, 4096]], "Input type": ["c10::BFloat16", "c10::BFloat16"]"#;
        let calls = Calls::new().call("aten::mm", args, "gemmSN_NN_kernel", 30_000);
        let outcome = calls.outcome_on("T4", "gemm");
        assert_eq!(patterns(&outcome), ["no_units_for_type"]);
        let finding = found(&outcome, "no_units_for_type");
        assert_eq!(
            finding.issue,
            "`aten::mm` takes 30.0 ms (100 % of compute) in 1 call, in BF16, for which the GPU has \
             no matrix units."
        );
        assert!(
            finding.model.starts_with("run it in FP16"),
            "{}",
            finding.model
        );
        let impact = finding.impact.unwrap();
        assert!(
            (27_880_000..27_890_000).contains(&impact.high_ns),
            "{impact:?}"
        );
        // With such units it is a product like others.
        let outcome = calls.outcome_on("A10", "gemm");
        assert_eq!(patterns(&outcome), ["compute_bound_gap"]);
    }

    #[test]
    fn attention_and_convolutions_are_told_as_well() {
        let qkv = "[2, 16, 2048, 64]";
        let bf16 = r#""c10::BFloat16""#;
        let attention = format!(
            r#""Input Dims": [{qkv}, {qkv}, {qkv}, [], []], "Input type": [{bf16}, {bf16}, {bf16}, "", ""], "Concrete Inputs": ["", "", "", "0.0", "False"]"#
        );
        let outcome = Calls::new()
            .call(
                "aten::_scaled_dot_product_flash_attention",
                &attention,
                "flash_fwd",
                30_000,
            )
            .outcome_on("V100-32GB", "sdpa_fwd");
        assert_eq!(patterns(&outcome), ["no_units_for_type"]);
        let convolution = r#""Input Dims": [[32, 64, 56, 56], [64, 64, 3, 3], [], [], [], [], [], [], []], "Input type": ["c10::BFloat16", "c10::BFloat16", "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"], "Concrete Inputs": ["", "", "", "[1, 1]", "[1, 1]", "[1, 1]", "False", "[0, 0]", "1"]"#;
        let outcome = Calls::new()
            .call(
                "aten::convolution",
                convolution,
                "implicit_convolve_sgemm",
                30_000,
            )
            .outcome_on("T4", "convolution");
        assert_eq!(patterns(&outcome), ["no_units_for_type"]);
    }
}
