//! Names of calls without the parts that vary between runs: addresses, line numbers, instance numbers.

use std::borrow::Cow;

use super::MODULE;
use super::frames::Frame;
use crate::base::format::without_number;

/// Folders of installed packages: their location is irrelevant to the call.
const INSTALLED: [&str; 2] = ["site-packages/", "dist-packages/"];

/// A name without addresses, line numbers, package locations and instance numbers.
///
/// ```text
/// /opt/lib/python3.12/site-packages/torch/_ops.py(123): __call__   torch/_ops.py: __call__
/// <built-in method mm of type object at 0x7f31c0de>                <built-in method mm of type object at 0x>
/// nn.Module: Linear_12                                             nn.Module: Linear
/// ```
pub(crate) fn normal(recorded: &str) -> Cow<'_, str> {
    if let Some(module) = recorded.strip_prefix(MODULE) {
        return Cow::Owned(format!("{MODULE}{}", without_number(module)));
    }
    let mut name = Cow::Borrowed(recorded);
    if let Some(frame) = without_line(&name) {
        name = Cow::Owned(frame);
    }
    match name.contains("0x") {
        true => Cow::Owned(without_addresses(&name)),
        false => name,
    }
}

/// A Python frame, `PATH(LINE): FUNCTION`, without its line and machine-specific folders: those above installed
/// packages, and all folders of an absolute path.
fn without_line(name: &str) -> Option<String> {
    let Frame { path, function, .. } = Frame::of(name)?;
    let package = INSTALLED
        .iter()
        .find_map(|folder| path.split_once(folder))
        .map(|(_, package)| package);
    let is_absolute = path.starts_with('/') || path.contains(":\\");
    let path = match package {
        Some(package) => package,
        None if is_absolute => path.rsplit(['/', '\\']).next().unwrap_or(path),
        None => path,
    };
    Some(format!("{path}: {function}"))
}

fn without_addresses(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for (at, piece) in name.split("0x").enumerate() {
        let piece = match at {
            0 => piece,
            _ => {
                out.push_str("0x");
                piece.trim_start_matches(|letter: char| letter.is_ascii_hexdigit())
            }
        };
        out.push_str(piece);
    }
    out
}

/// Strips the running number that PyTorch's compiler gives to the kernels of a graph: `triton_poi_fused_add_mul` for
/// `triton_poi_fused_add_mul_3`. It counts all kernels of the graph, so the number of the same kernel changes if
/// another kernel is added before it.
pub(crate) fn unnumbered(name: &str) -> &str {
    if !name.starts_with("triton_") || !name.contains("_fused_") {
        return name;
    }
    let is_digit = |letter: char| letter.is_ascii_digit();
    let stem = name.trim_end_matches(is_digit);
    match stem.strip_suffix('_') {
        Some(stem) if stem.len() + 1 < name.len() => stem,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_run_decides_is_left_out() {
        #[rustfmt::skip]
        let cases = [
            ("aten::mm", "aten::mm"),
            ("train.py(12): step", "train.py: step"),
            ("/opt/lib/python3.12/site-packages/torch/_ops.py(1123): __call__", "torch/_ops.py: __call__"),
            ("/home/me/model/train.py(12): step", "train.py: step"),
            ("C:\\me\\train.py(12): step", "train.py: step"),
            ("torch/nn/modules/module.py(1750): _call_impl", "torch/nn/modules/module.py: _call_impl"),
            ("<string>(1): <module>", "<string>: <module>"),
            ("odd.py(x): y", "odd.py(x): y"),
            ("nn.Module: Linear_12", "nn.Module: Linear"),
            ("<built-in method mm of type object at 0x7f31c0de>", "<built-in method mm of type object at 0x>"),
            ("f at 0xAB, g at 0x01", "f at 0x, g at 0x"),
        ];
        for (recorded, expected) in cases {
            assert_eq!(normal(recorded), expected);
        }
    }

    #[test]
    fn running_numbers_of_generated_kernels_do_not_tell() {
        for (name, expected) in [
            ("triton_poi_fused_add_mul_12", "triton_poi_fused_add_mul"),
            ("triton_red_fused__softmax_0", "triton_red_fused__softmax"),
            ("triton_poi_fused_add_", "triton_poi_fused_add_"),
            ("triton_attention_2", "triton_attention_2"),
            ("my_fused_kernel_2", "my_fused_kernel_2"),
        ] {
            assert_eq!(unnumbered(name), expected);
        }
    }
}
