//! Equivalent operators with different names, from different vendors' libraries.

/// A function that several operators share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Counterpart {
    pub(crate) what: &'static str,
    /// Number of leading operands that all of them share; the others differ.
    pub(crate) n_operands: usize,
}

type Row = (Counterpart, &'static [&'static str]);

const fn row(what: &'static str, n_operands: usize, names: &'static [&'static str]) -> Row {
    (Counterpart { what, n_operands }, names)
}

/// Function, number of shared leading operands, operator names.
#[rustfmt::skip]
const COUNTERPARTS: &[Row] = &[
    row("attention", 3, &[
        "aten::_scaled_dot_product_flash_attention",
        "aten::_scaled_dot_product_efficient_attention",
        "aten::_scaled_dot_product_cudnn_attention",
        "aten::_scaled_dot_product_fused_attention_overrideable",
        "aten::scaled_dot_product_attention",
    ]),
    row("attention, backward", 4, &[
        "aten::_scaled_dot_product_flash_attention_backward",
        "aten::_scaled_dot_product_efficient_attention_backward",
        "aten::_scaled_dot_product_cudnn_attention_backward",
        "aten::_scaled_dot_product_fused_attention_overrideable_backward",
    ]),
    row("attention kernel", 3, &[
        "aten::_flash_attention_forward", "aten::_efficient_attention_forward",
        "aten::_cudnn_attention_forward",
    ]),
    row("attention kernel, backward", 4, &[
        "aten::_flash_attention_backward", "aten::_efficient_attention_backward",
        "aten::_cudnn_attention_backward",
    ]),
    row("convolution", 2, &[
        "aten::cudnn_convolution", "aten::miopen_convolution", "aten::_slow_conv2d_forward",
        "aten::thnn_conv2d", "aten::convolution_overrideable", "aten::convolution", "aten::_convolution",
        "aten::conv1d", "aten::conv2d", "aten::conv3d",
    ]),
    row("convolution with ReLU", 2, &[
        "aten::cudnn_convolution_relu", "aten::miopen_convolution_relu",
    ]),
    row("transposed convolution", 2, &[
        "aten::cudnn_convolution_transpose", "aten::miopen_convolution_transpose",
    ]),
    row("depthwise convolution", 2, &[
        "aten::_conv_depthwise2d", "aten::conv_depthwise3d", "aten::miopen_depthwise_convolution",
    ]),
    row("batch norm", 1, &[
        "aten::cudnn_batch_norm", "aten::miopen_batch_norm", "aten::native_batch_norm",
    ]),
    row("recurrent layer", 1, &["aten::_cudnn_rnn", "aten::miopen_rnn"]),
    row("CTC loss", 2, &["aten::_cudnn_ctc_loss", "aten::_ctc_loss"]),
];

/// The function that an operator shares with others.
pub(crate) fn counterpart(name: &str) -> Option<Counterpart> {
    let (what, _) = COUNTERPARTS
        .iter()
        .find(|(_, names)| names.contains(&name))?;
    Some(*what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_of_two_vendors_do_the_same() {
        let what = |name| counterpart(name).map(|found| found.what);
        assert_eq!(what("aten::cudnn_convolution"), Some("convolution"));
        assert_eq!(what("aten::miopen_convolution"), Some("convolution"));
        assert_eq!(what("aten::convolution"), Some("convolution"));
        assert_eq!(what("aten::mm"), None);
        let backward = what("aten::_flash_attention_backward");
        assert_eq!(what("aten::_efficient_attention_backward"), backward);
    }

    #[test]
    fn a_name_stands_once() {
        let names: Vec<&str> = COUNTERPARTS
            .iter()
            .flat_map(|(_, names)| names.iter().copied())
            .collect();
        for (at, name) in names.iter().enumerate() {
            assert!(!names[at + 1..].contains(name), "{name}");
        }
    }
}
