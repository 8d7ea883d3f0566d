//! Each rule, from a trace with one such attention.

mod fused;
mod serving;
mod unfused;

use crate::base::value::Value;
use crate::findings::engine::finding::{Estimate, Finding, Impact};
use crate::findings::engine::outcome::{Outcome, Status};
use crate::findings::samples::{
    Calls, assert_contains, assert_contains_none, found, only, patterns,
};

const FLASH: &str = "aten::_scaled_dot_product_flash_attention";
const EFFICIENT: &str = "aten::_scaled_dot_product_efficient_attention";

/// Equal Q, K and V.
const LONG: &str = "8x16x4096x64*3";
/// One query for each of 32 requests, and 8 192 keys.
const DECODE: &str = "32x32x1x128, 32x8x8192x128*2";

/// Arguments of `aten::_scaled_dot_product_flash_attention`.
fn args(qkv: &str) -> String {
    format!("{qkv}, =0.0, =False")
}

fn call(op: &str, args: &str, kernel: &str, us: impl Into<f64>) -> Calls {
    Calls::new().call(op, args, kernel, us)
}

/// Flash attention over Q, K and V, `us` long, on an MI300X.
fn flash(qkv: &str, us: f64) -> Outcome {
    call(FLASH, &args(qkv), "attn_fwd", us).outcome("sdpa_fwd")
}

/// A column of the table of bands.
fn band(outcome: &Outcome, column: &str) -> String {
    let table = &outcome.tables[0];
    let at = table.columns.iter().position(|one| one.key == column);
    table.rows[0][at.unwrap()].text()
}

fn verdict(outcome: &Outcome) -> String {
    band(outcome, "verdict")
}

/// Asserts the three values of the saving.
#[track_caller]
fn saves(finding: &Finding, expected: impl Fn(f64) -> f64, percents: [f64; 3]) {
    let impact = finding.impact.unwrap();
    let saved = [impact.low_ns, impact.mid_ns, impact.high_ns];
    for (saved, percent) in saved.into_iter().zip(percents) {
        let off = saved as f64 - expected(percent);
        assert!(off.abs() < 100.0, "{percent} %: {impact:?}");
    }
}
